"""Measure precision, recall, density and coverage of a stored run over k, and keep the table beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.text_measures.over_axis import OnAxis
from mauve_core.experiments.text_measures.over_neighbours import (
    ATTACHMENT,
    NeighbourTable,
    checked_names,
    neighbours_run,
)
from mauve_core.tasks.base import RunTask


@dataclass(frozen=True)
class NeighboursTask(RunTask):
    """Measures over k; the fields are parameters of ``experiments.text_measures.over_neighbours.neighbours_run``."""

    kind: ClassVar[str] = "neighbours"
    titled: ClassVar[str] = "measures over k of"

    ks: tuple[OnAxis, ...] | None = None
    measures: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_names(self.measures)
        if self.ks == ():
            raise InputError("No number of neighbors is given", allowed="one or more, or None for the default ones")

    def compute(self, progress: Progress = silent) -> NeighbourTable:
        """Measure, and keep the table in place of an earlier one."""
        run = self.load()
        return self.keep(run, ATTACHMENT, neighbours_run(run, self.ks, self.measures, progress=progress), progress)
