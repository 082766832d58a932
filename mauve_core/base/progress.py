"""Progress callbacks: how long work reports its progress, on a console or as tqdm's bars in a notebook.

A callback receives the name of the stage, the amount done and the total. It may raise
:class:`mauve_core.base.errors.CancelledError`, which stops the work and leaves finished parts in the store.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from typing import Any, Literal, Self

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import printable

# progress(stage, done, total)
Progress = Callable[[str, int, int], None]

# A console that is not a terminal shows a stage that starts over once it has lasted this long, and this often.
REPEATED_S = 30.0


class Paced(str):
    """The name of a stage, as any other, with the pace of its work in words, which consoles show.

    Attributes
    ----------
    pace : str
        Such as ``8,400 texts/s``.
    """

    __slots__ = ("pace",)
    pace: str

    def __new__(cls, stage: str, pace: str = "") -> Self:
        """The same stage for every clock, whatever its pace."""
        named = super().__new__(cls, stage)
        named.pace = pace
        return named


class Told(str):
    """A sentence in the place of a stage: reported once, and kept in sight while other stages follow."""

    __slots__ = ()


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def counted(progress: Progress, stage: str, total: int) -> Callable[[], None]:
    """Report that a stage starts; each call of the returned function reports one more part as done."""
    done = count(1)
    progress(stage, 0, total)
    return lambda: progress(stage, next(done), total)


@dataclass
class StageClock:
    """One round of a stage: ``begun`` and ``done_before`` are the time and the amount done of its first report."""

    begun: float
    done_before: int
    is_repeated: bool
    done: int = 0
    total: int = 0
    reports: int = 0
    drawn: float | None = None

    def seconds_left(self, now: float) -> float | None:
        """Return the seconds left in this round at its pace so far; None if unknown."""
        return remaining_seconds(now - self.begun, self.done - self.done_before, self.total - self.done_before)


class StageClocks:
    """The clock of every stage reported so far.

    Stages may be nested. A stage that goes on after others keeps its clock; one that starts over, because less is done
    than before or everything was, gets a new clock.
    """

    def __init__(self) -> None:
        self._clocks: dict[str, StageClock] = {}

    def clock_of(self, stage: str, done: int, total: int, now: float) -> StageClock:
        """Return the stage's clock after this report at the time ``now``, in seconds."""
        clock = self._clocks.get(stage)
        if clock is None or done < clock.done or clock.done >= clock.total:
            clock = self._clocks[stage] = StageClock(now, done, is_repeated=clock is not None)
        clock.done, clock.total = done, total
        clock.reports += 1
        return clock


class ConsoleProgress:
    """Show one line per stage on standard error, redrawn in place on a terminal, with an estimate of the time left.

    A stage that starts over is shown again once it has lasted ``interval_s``, or ``REPEATED_S`` off a terminal, where
    lines stay.
    """

    def __init__(self, interval_s: float = 1.0) -> None:
        self._interval_s = interval_s
        self._clocks = StageClocks()

    def __call__(self, stage: str, done: int, total: int) -> None:
        now, terminal = time.monotonic(), sys.stderr.isatty()
        clock = self._clocks.clock_of(stage, done, total, now)
        if not self._is_due(clock, now, terminal=terminal):
            return
        clock.drawn = now
        left = clock.seconds_left(now)
        ending = "done" if done >= total else ("" if left is None else f"about {format_seconds(left)} left")
        pace = f", {stage.pace}," if isinstance(stage, Paced) and stage.pace else ""
        counted = "" if isinstance(stage, Told) else f": {done:,} of {total:,}{pace} {ending}"
        line = f"{printable(stage)}{counted}".rstrip(" ,")
        sys.stderr.write(f"\r\033[K{line}" if terminal else f"{line}\n")
        if terminal and done >= total:
            sys.stderr.write("\n")
        sys.stderr.flush()

    def _is_due(self, clock: StageClock, now: float, *, terminal: bool) -> bool:
        if clock.done >= clock.total and (clock.drawn is not None or not clock.is_repeated):
            return True
        if not clock.is_repeated:
            return clock.drawn is None or now - clock.drawn >= self._interval_s
        interval_s = self._interval_s if terminal else max(self._interval_s, REPEATED_S)
        return now - (clock.begun if clock.drawn is None else clock.drawn) >= interval_s


def remaining_seconds(elapsed_s: float, done: int, total: int) -> float | None:
    """Estimate the seconds left from the pace so far; None if nothing is done yet."""
    return None if done <= 0 else elapsed_s * (total - done) / done


def format_seconds(seconds: float) -> str:
    """Format ``45 s``, ``3 min``, ``1 h 20 min``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


# A function, or which one: ``auto`` draws bars under IPython if tqdm is installed, and is silent elsewhere.
ProgressChoice = Progress | Literal["auto", "tqdm", "console", "none"]


def progress_for(choice: ProgressChoice) -> Progress:
    """Return the function that reports progress.

    Raises
    ------
    InputError
        The choice is unknown, or tqdm is chosen and not installed.
    """
    if callable(choice):
        return choice
    if choice == "auto":
        return BarProgress() if _is_interactive() and find_spec("tqdm") else silent
    if choice == "tqdm":
        if find_spec("tqdm") is None:
            raise InputError("Bars need the package tqdm", todo="Install it with: pip install tqdm")
        return BarProgress()
    if choice == "console":
        return ConsoleProgress()
    if choice == "none":
        return silent
    allowed = "a function (stage, done, total), or 'auto', 'tqdm', 'console' or 'none'"
    raise InputError("progress cannot be used", allowed=allowed, received=repr(choice))


class BarProgress:
    """Draw a bar for each stage; a stage that starts over, because less is done than before, gets a new one."""

    def __init__(self) -> None:
        self._bars: dict[str, Any] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        bar = self._bars.get(stage)
        if bar is not None and done < bar.n:
            bar.close()
            bar = None
        if bar is None:
            bar = self._bars[stage] = _bar_class()(total=total, desc=stage)
        bar.total = total
        bar.update(done - bar.n)
        if done >= total:
            bar.close()
            del self._bars[stage]


def _is_interactive() -> bool:
    return "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None


def _bar_class() -> Any:
    """Return the bar of notebooks where their widgets are installed, else the one of terminals."""
    return import_module("tqdm.auto" if find_spec("ipywidgets") else "tqdm.std").tqdm
