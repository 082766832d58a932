"""Measure the texts of a stored run, and keep the measurements beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import NotBlank
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import names_files
from mauve_core.experiments.text_measures import MEASURES
from mauve_core.experiments.text_measures.base import Measurements
from mauve_core.experiments.text_measures.stored import ATTACHMENT, answering, measure_run
from mauve_core.runs import Run
from mauve_core.tasks.amounts import Amount
from mauve_core.tasks.base import RunTask


@dataclass(frozen=True)
class MeasureTask(RunTask):
    """Measures of a stored run; the fields are parameters of ``experiments.text_measures.stored.measure_run``."""

    kind: ClassVar[str] = "measures"
    titled: ClassVar[str] = "measures of"
    attachment: ClassVar[str] = ATTACHMENT
    kept: ClassVar[str] = "sources already scored by the model"

    measures: tuple[str, ...] | None = None
    model: NotBlank | None = None
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = [name for name in self.measures or () if name not in MEASURES]
        if unknown or self.measures == ():
            wrong = f"No measure is named {', '.join(unknown)}" if unknown else "No measure is chosen"
            raise InputError(wrong, allowed=", ".join(MEASURES))

    def amount(self, run: Run) -> Amount:
        """All texts, under the same measures and model."""
        texts = sum(source.n for source in run.comparison.sources)
        return Amount((*sorted(self.measures or MEASURES), f"model {self.model}"), texts, f"{texts:,} texts")

    def compute(self, progress: Progress = silent) -> Measurements:
        """Measure, and keep the result with earlier measurements; errors as in ``measure_run``."""
        return measure_run(self.load(), self.measures, model=self.model, device=self.device, progress=progress)

    def _answer(self, run: Run) -> Measurements | None:
        """The stored measurements, if nothing is missing. With a model from files, all is measured: they may have
        changed.
        """
        if self.model is not None and names_files(self.model):
            return None
        return answering(run, self.measures, model=self.model)
