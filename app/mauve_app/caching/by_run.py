"""Caches of values derived from a run.

The state of the run's folder is part of every key. A run that is replaced or deleted on disk therefore never returns
stale values, and leaves the entries of other runs alone. Its old entries go when room is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from mauve_app.caching.bounded import kept
from mauve_core.store import COMPARISON, ID_PATTERN, RunStore

P = ParamSpec("P")
R = TypeVar("R")


def run_stamp(run_id: str) -> tuple[str, int | None]:
    """The folder of runs and the run's modification time in ns; None if the run does not exist."""
    root = RunStore().root
    path = root / run_id / COMPARISON
    written = path.stat().st_mtime_ns if ID_PATTERN.fullmatch(run_id) and path.is_file() else None
    return str(root), written


def kept_by_run(*, max_entries: int, show_spinner: bool | str = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Like :func:`mauve_app.caching.bounded.kept`, for functions whose first argument is a run id."""

    def version(run_id: str, *_: Any, **__: Any) -> tuple[str, int | None]:
        return run_stamp(run_id)

    return kept(max_entries=max_entries, show_spinner=show_spinner, version=version)
