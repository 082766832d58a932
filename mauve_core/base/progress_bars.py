"""Progress in a notebook: a bar of tqdm for each stage, chosen by itself under IPython if tqdm is installed."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from mauve_core.base.errors import InputError
from mauve_core.base.progress import ConsoleProgress, Progress, silent

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
