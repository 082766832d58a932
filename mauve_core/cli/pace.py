"""Say before long work on a stored run how long it takes, and remember how long it took for the next time.

What is known comes from jobs of the app and commands that were done on this machine (:mod:`mauve_core.jobs.estimates`).
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import Any

from mauve_core.base.errors import MauveLensError
from mauve_core.base.formatting import printable
from mauve_core.base.progress import Progress
from mauve_core.jobs import estimates
from mauve_core.tasks.amounts import Amount
from mauve_core.tasks.base import RunTask


def compute(task: RunTask, progress: Progress, *, quiet: bool) -> Any:
    """Carry out the task; unless ``quiet``, standard error says beforehand how much work it is, and how long it takes
    if that is known.
    """
    amount = task.amount(task.load())
    if amount is None:
        return task.compute(progress)
    encoded, announced = False, quiet

    def report(stage: str, done: int, total: int) -> None:
        nonlocal encoded, announced
        if not announced:  # not earlier, as settings may still be refused
            announced = True
            sys.stderr.write(f"{printable(_sentence(task, amount))}\n")
            sys.stderr.flush()
        encoded = encoded or estimates.is_encoding(stage)
        progress(stage, done, total)

    begun = time.monotonic()
    found = task.compute(report)
    if (amount.encodes != "none") == encoded:
        with suppress(MauveLensError):  # a disk that refuses an estimate costs no result
            estimates.remember(task.kind, amount, time.monotonic() - begun)
    return found


def _sentence(task: RunTask, amount: Amount) -> str:
    known = estimates.estimate(task.kind, amount)
    lasts = "How long this takes is not known before it was done here once" if known is None else known.text
    kept = f" Ctrl-C stops it and keeps {task.kept}." if task.kept else ""
    return f"{task.title[:1].upper()}{task.title[1:]}: {amount.words}. {lasts}.{kept}"
