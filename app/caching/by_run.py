"""Caches of what follows from a run: a run that was replaced or deleted on disk gives nothing of its old self.

What a run's folder looks like is part of every key. So a changed run leaves the entries of all others alone, and its
own old ones go when room is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from app.caching.bounded import kept
from mauve_core.store import COMPARISON, ID_PATTERN, RunStore

P = ParamSpec("P")
R = TypeVar("R")


def run_stamp(run_id: str) -> tuple[str, int | None]:
    """The folder of runs, and when this one was written in ns; None where it is not there."""
    root = RunStore().root
    path = root / run_id / COMPARISON
    written = path.stat().st_mtime_ns if ID_PATTERN.fullmatch(run_id) and path.is_file() else None
    return str(root), written


def kept_by_run(*, max_entries: int, show_spinner: bool | str = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """As :func:`app.caching.bounded.kept`, for functions whose first argument is the id of a run."""

    def version(run_id: str, *_: Any, **__: Any) -> tuple[str, int | None]:
        return run_stamp(run_id)

    return kept(max_entries=max_entries, show_spinner=show_spinner, version=version)
