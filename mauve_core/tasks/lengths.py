"""Measure the texts of a stored run, cut at several lengths, and keep the table beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mauve_core.base.json_codec import NotBlank
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.text_measures.over_axis import OnAxis
from mauve_core.experiments.text_measures.over_lengths import (
    ATTACHMENT,
    LengthTable,
    checked_lengths,
    checked_names,
    lengths_run,
)
from mauve_core.tasks.base import RunTask


@dataclass(frozen=True)
class LengthsTask(RunTask):
    """Measures over length; the fields are parameters of ``experiments.text_measures.over_lengths.lengths_run``."""

    kind: ClassVar[str] = "lengths"
    titled: ClassVar[str] = "measures over length of"
    kept: ClassVar[str] = "features already computed and sources already scored by the model"

    lengths: tuple[OnAxis, ...] | None = None
    measures: tuple[str, ...] | None = None
    model: NotBlank | None = None
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_names(self.measures)
        if self.lengths is not None:
            checked_lengths(self.lengths)

    def compute(self, progress: Progress = silent) -> LengthTable:
        """Measure, and keep the table in place of an earlier one."""
        run = self.load()
        found = lengths_run(run, self.lengths, self.measures, model=self.model, device=self.device, progress=progress)
        return self.keep(run, ATTACHMENT, found, progress)
