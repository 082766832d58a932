"""Precompute what pages need first, for an imported run, whose file lacks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mauve_core.analysis.precomputed import derive
from mauve_core.base.progress import Progress, silent
from mauve_core.tasks.base import RunTask


@dataclass(frozen=True)
class PrecomputeTask(RunTask):
    """Words, tests and resamples of a stored run, kept beside it (``mauve_core.analysis.precomputed``)."""

    kind: ClassVar[str] = "prepare"
    titled: ClassVar[str] = "preparing"
    kept: ClassVar[str] = "words and tests already computed"

    def compute(self, progress: Progress = silent) -> None:
        """Compute what is missing and keep it."""
        derive(self.load(), progress)
