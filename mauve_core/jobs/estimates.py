"""How long a task will take on this machine, from jobs that were done here before.

The rule: the newest job that was done on this machine, of the same kind and with the same settings
(:class:`mauve_core.analyses.tasks.Amount`), took so many seconds for its size; the task takes as many for each unit of
its own. Where the sizes differ by more than ``FARTHEST``, or no job fits, nothing is said: some work grows faster than
its size, and a wild guess is worse than none. Texts to encode and texts whose features are stored are told apart.

Only whole jobs count: not those that failed, were stopped or resumed, or turned out to encode texts, or none, against
expectation; commands that do the same work count too. They are kept in ``<home>/jobs/times.json``, because the folders
of jobs are removed. Of two that end at the same moment one may be lost, which costs an estimate.
"""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from mauve_core.analyses.tasks import Amount
from mauve_core.base.config import KINDS
from mauve_core.base.errors import InputError
from mauve_core.base.files import home, read_stored, write_atomically
from mauve_core.base.json_codec import Within, dataclass_to_json, from_json
from mauve_core.base.progress import format_seconds
from mauve_core.encoders import encoder, tokenizing
from mauve_core.encoders.by_content import encoding_stage
from mauve_core.texts.kinds import kind_of

TIMES = "times.json"
# Jobs that are remembered, the newest.
KEPT = 200

# Progress stages of encoders of texts: of language models; of word vectors and servers.
ENCODING = (encoder.STAGE, tokenizing.WORD_STAGE)

# Largest ratio of two sizes from one of which the time of the other is estimated.
FARTHEST = 4.0


@dataclass(frozen=True)
class DoneJob:
    """A job that was done: its kind, what it was, its seconds, and the machine."""

    kind: str
    amount: Amount
    seconds: Annotated[float, Within(0)]
    machine: str


@dataclass(frozen=True)
class _Times:
    jobs: tuple[DoneJob, ...] = ()


@dataclass(frozen=True)
class Estimate:
    """Seconds that a task will take, and the job that says so."""

    seconds: float
    before: DoneJob

    @property
    def text(self) -> str:
        """Return ``About 2 min (last time 95 s for 500 texts)``."""
        before = f"last time {format_seconds(self.before.seconds)} for {self.before.amount.words}"
        return f"About {format_seconds(self.seconds)} ({before})"


def estimate(kind: str, amount: Amount) -> Estimate | None:
    """Return how long a task of that kind and amount will take; None if no earlier job says so."""
    for job in reversed(_read()):
        same = job.kind == kind and job.machine == this_machine() and _is_like(job.amount, amount)
        if same and job.amount.size > 0 and 1 / FARTHEST <= amount.size / job.amount.size <= FARTHEST:
            return Estimate(job.seconds * amount.size / job.amount.size, job)
    return None


def is_known(kind: str) -> bool:
    """Whether any job of that kind was done on this machine, so that an amount is worth finding out."""
    return any(job.kind == kind and job.machine == this_machine() for job in _read())


def remember(kind: str, amount: Amount, seconds: float) -> None:
    """Keep the time of a job that was done from its beginning to its end.

    Raises
    ------
    StorageError
        The disk refused.
    """
    jobs = (*_read(), DoneJob(kind, amount, seconds, this_machine()))[-KEPT:]
    text = json.dumps(dataclass_to_json(_Times(jobs)), ensure_ascii=False)
    write_atomically(_path(), lambda stream: stream.write(text.encode()))


def is_encoding(stage: str) -> bool:
    """Whether a stage of work encodes items, rather than take their features from the store."""
    others = (encoding_stage(kind_of(name).words) for name in KINDS)
    return any(each in stage for each in (*ENCODING, *others))


def this_machine() -> str:
    """Return what tells this machine apart from others that may share the home folder."""
    return f"{platform.node()}, {os.cpu_count()} cores"


def _is_like(one: Amount, other: Amount) -> bool:
    return one.like == other.like and one.encodes == other.encodes


def _read() -> tuple[DoneJob, ...]:
    """Return the jobs kept, the oldest first; none if the file is missing or damaged, as it only serves estimates."""
    try:
        about = _path().stat()
        return _parsed(_path(), (about.st_mtime_ns, about.st_ino, about.st_size))
    except (OSError, ValueError, RecursionError, InputError):
        return ()


@lru_cache(maxsize=1)
def _parsed(path: Path, changed: tuple[int, int, int]) -> tuple[DoneJob, ...]:  # noqa: ARG001 (a page asks at every run)
    return from_json(_Times, json.loads(read_stored(path))).jobs


def _path() -> Path:
    return home().absolute() / "jobs" / TIMES
