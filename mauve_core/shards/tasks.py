"""Tasks by name: what an engine carries out, anywhere and in any order within a pass; and the process that does it.

A worker of the local engine runs ``python -m mauve_core.shards.tasks``: it reads tasks from its standard input and
answers each on its output. So nothing of the program that asked for it runs again in it: neither a script without a
guard, nor the page of the app that Streamlit puts in the place of the main module.
"""

from __future__ import annotations

import os
import pickle
import re
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from mauve_core.shards import cluster_texts, clustering, encoding, timing
from mauve_core.shards.plan import Work, record_of
from mauve_core.stats.threads import single_threaded_blas


@dataclass(frozen=True)
class Task:
    """One task of a pass.

    Attributes
    ----------
    name : str
        As in ``TASKS``.
    args : tuple
        Plain values, after the work folder.
    output : Path
        The record, which is written last; a task whose output exists is done.
    what : str
        What it works on, for messages.
    device : str or None
        Where its model runs, as for :func:`mauve_core.encoders.devices.resolve_devices`; None if it has no model for
        a GPU. All tasks of a pass have the same one.
    """

    name: str
    args: tuple[Any, ...]
    output: Path
    what: str
    device: str | None = None


TASKS: Mapping[str, Callable[..., None]] = {
    "estimate": timing.time_shard,
    "encode": encoding.encode_shard,
    "project": clustering.project_shard,
    "start": clustering.start,
    "sum": clustering.sum_batch,
    "label": clustering.label_shard,
    "keep": cluster_texts.keep_rows,
    "fetch": cluster_texts.fetch_texts,
    "count": cluster_texts.count_phrases,
}


def shard_task(work: Work, name: str, args: tuple[Any, ...], shard: tuple[str, int], path: Path) -> Task:
    """A task about a shard, a side and a number, which writes a file and its record."""
    return Task(name, args, record_of(path), f"shard {work.plan.sides[shard[0]][shard[1]]}")


def remaining(tasks: Sequence[Task]) -> list[Task]:
    """The tasks that are not done."""
    return [task for task in tasks if not task.output.exists()]


def carry_out(folder: str, name: str, args: tuple[Any, ...]) -> int:
    """Carry out one task in this process, on one thread; return the most memory it has had so far, in bytes.

    The last digit of a sum depends on how it is divided over threads, so every engine gives a task one.
    """
    _one_thread(name)
    with single_threaded_blas():
        TASKS[name](_work(folder), *args)
    return peak_memory()


def peak_memory() -> int:
    """The most resident memory that this process has had, in bytes; 0 where the system is not Linux.

    Elsewhere the system tells it only together with that of the process which started this one.
    """
    try:
        status = Path("/proc/self/status").read_text("ascii", "replace")
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


@lru_cache(maxsize=1)
def _work(folder: str) -> Work:
    return Work.open(Path(folder))


def _one_thread(name: str) -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    if name in ("encode", "estimate"):
        import torch

        torch.set_num_threads(1)


def main() -> None:
    """Answer until the input ends, which it does when the engine lets go or dies.

    A request is ``(folder, name, args)``, an answer the most memory in bytes or the error; both are pickled. What a
    library prints goes to standard error.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine is interrupted with it, and ends it
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer: int | BaseException = carry_out(*request)
        except BaseException as error:  # noqa: BLE001 - the engine raises it
            error.add_note(f"In a worker:\n{traceback.format_exc()}")
            answer = error
        _send(answers, answer)


def _send(answers: BinaryIO, answer: int | BaseException) -> None:
    try:
        data = pickle.dumps(answer)
        pickle.loads(data)  # an error whose arguments are not those of its class can be written and not read
    except Exception:  # noqa: BLE001 - whatever its class raises
        data = pickle.dumps(RuntimeError("".join(traceback.format_exception_only(answer))))  # type: ignore[arg-type]
    answers.write(data)
    answers.flush()


if __name__ == "__main__":
    main()
