"""Progress callbacks: how long work reports its progress.

A callback receives the name of the stage, the amount done and the total. It may raise
:class:`mauve_core.base.errors.CancelledError`, which stops the work and leaves finished parts in the store.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from itertools import count

Progress = Callable[[str, int, int], None]
"""progress(stage, done, total)"""


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def counted(progress: Progress, stage: str, total: int) -> Callable[[], None]:
    """Report that a stage starts; each call of the returned function reports one more part as done."""
    done = count(1)
    progress(stage, 0, total)
    return lambda: progress(stage, next(done), total)


class ConsoleProgress:
    """Show one line per stage on standard error, redrawn in place on a terminal, with an estimate of the time left."""

    def __init__(self, interval_s: float = 1.0) -> None:
        self._interval_s = interval_s
        self._stage = ""
        self._started = 0.0
        self._drawn = -math.inf
        self._done_at_start = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._started, self._drawn, self._done_at_start = stage, now, -math.inf, done
        if done < total and now - self._drawn < self._interval_s:
            return
        self._drawn = now
        left = remaining_seconds(now - self._started, done - self._done_at_start, total - self._done_at_start)
        ending = "done" if done >= total else ("" if left is None else f"about {format_seconds(left)} left")
        terminal = sys.stderr.isatty()
        line = f"{stage}: {done} of {total} {ending}".rstrip()
        sys.stderr.write(f"\r\033[K{line}" if terminal else f"{line}\n")
        if terminal and done >= total:
            sys.stderr.write("\n")
        sys.stderr.flush()


def remaining_seconds(elapsed_s: float, done: int, total: int) -> float | None:
    """Estimate the seconds left from the pace so far; None if nothing is done yet."""
    return None if done <= 0 else elapsed_s * (total - done) / done


def format_seconds(seconds: float) -> str:
    """Format ``45 s``, ``3 min``, ``1 h 20 min``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
