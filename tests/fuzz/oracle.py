"""What must hold whatever is handed in: an answer or an error of ours in one line, in bounded time and memory.

The work is done in a forked child, so that a crash, an endless loop or a full memory is seen and harms nothing else.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mauve_core.base.errors import MauveLensError

SECONDS = 20
# Bounds of one case, above what the process takes before it. A case has a few kilobytes.
MEGABYTES = 600

# Longest message, paths left out.
CHARACTERS = 600


@dataclass(frozen=True)
class Outcome:
    """What became of one case.

    Attributes
    ----------
    answer : str
        The error's message; empty if the input was accepted.
    wrong : str
        What must not happen, for people; empty if all is well.
    """

    answer: str
    wrong: str
    seconds: float
    megabytes: float


def judged(work: Callable[[], object], paths: Path, seconds: float = SECONDS) -> Outcome:
    """Do the work in a child; files of the case lie below ``paths``."""
    reading, writing = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _in_child(work, writing)
    os.close(writing)
    answer = _answer(reading, child, seconds)
    _, status, usage = os.wait4(child, 0)
    taken = time.monotonic() - began
    megabytes = 0.0 if answer is None else max(usage.ru_maxrss / 1024 - float(answer.get("megabytes", "inf")), 0.0)
    wrong = _wrong(answer, status, megabytes, str(paths))
    return Outcome("" if answer is None else answer.get("message", ""), wrong, taken, megabytes)


def _in_child(work: Callable[[], object], writing: int) -> None:
    try:
        limit = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (_data() + (4 * MEGABYTES << 20), limit))
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        warnings.simplefilter("ignore")  # pytest makes errors of them
        answer = {"megabytes": str(_resident())}
        try:
            work()
        except MauveLensError as error:
            answer["message"] = str(error)
        except BaseException as error:  # noqa: BLE001 (whatever it is, it is what the fuzzing looks for)
            answer |= {"escaped": f"{type(error).__name__}: {error}"[:500], "trace": traceback.format_exc()[-3000:]}
        os.write(writing, json.dumps(answer).encode())
    finally:
        os._exit(0)


def _answer(reading: int, child: int, seconds: float) -> dict[str, str] | None:
    """What the child wrote; None if it died, or had to be killed, without a word."""
    end, parts = time.monotonic() + seconds, []
    with os.fdopen(reading, "rb", buffering=0) as stream:
        while True:
            ready, _, _ = select.select([stream], [], [], max(end - time.monotonic(), 0))
            if not ready:
                os.kill(child, signal.SIGKILL)
                return {"late": f"took more than {seconds:g} s"}
            part = stream.read(1 << 16)
            if not part:
                break
            parts.append(part)
    return json.loads(b"".join(parts)) if parts else None


def _wrong(answer: dict[str, str] | None, status: int, megabytes: float, paths: str) -> str:
    if answer is None:
        return f"died without a word (status {status})"
    if "late" in answer:
        return answer["late"]
    if "escaped" in answer:
        return f"{answer['escaped']}\n{answer['trace']}"
    if megabytes > MEGABYTES:
        return f"took {megabytes:.0f} MB"
    message = answer.get("message", "").replace(paths, "")
    if len(message) > CHARACTERS:
        return f"a message of {len(message)} characters: {message}"
    return f"a message that does not print: {message!r}" if not message.isprintable() else ""


def _resident() -> float:
    """Megabytes of memory of this process."""
    return _pages(1) * resource.getpagesize() / 2**20


def _data() -> int:
    """Bytes that count against RLIMIT_DATA: a file that is mapped to be read does not."""
    return _pages(5) * resource.getpagesize()


def _pages(which: int) -> int:
    if sys.platform != "linux":
        raise SystemExit("Fuzzing needs Linux: it reads /proc")
    return int(Path("/proc/self/statm").read_text().split()[which])
