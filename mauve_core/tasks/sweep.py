"""Sweep a stored run: compute its scores while one setting varies, and keep them beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mauve_core.base.config import ESTIMATOR_AXES, Axis
from mauve_core.base.json_codec import NotBlank, Seeds
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.sweeps.estimators import EstimatorSweep, estimator_sweep
from mauve_core.experiments.sweeps.execution import sweep_run
from mauve_core.experiments.sweeps.request import positive_values
from mauve_core.experiments.sweeps.sweep import Sweep, attachment_name, require_axis
from mauve_core.runs import Run
from mauve_core.runs.checkpoints import FinishedParts
from mauve_core.tasks.amounts import Amount, settings_in_words
from mauve_core.tasks.base import RunTask


@dataclass(frozen=True)
class SweepTask(RunTask):
    """A sweep of a stored run; the fields are parameters of :func:`mauve_core.experiments.sweeps.execution.sweep_run`.

    For an axis of :data:`mauve_core.base.config.ESTIMATOR_AXES`, of ``estimator_sweep``, which uses no device.
    """

    kind: ClassVar[str] = "sweep"
    kept: ClassVar[str] = "finished points and features already computed"

    over: Axis
    values: tuple[float, ...] | None = None
    seeds: Seeds | None = None
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values is not None:
            positive_values("The setting", self.values)

    @property
    def title(self) -> str:
        return f"{self.over} sweep of {self.run}"

    def amount(self, run: Run) -> Amount | None:
        """The texts at all values; None where the values are not given."""
        if self.values is None:
            return None
        texts = sum(source.n for source in run.comparison.sources)
        each = f"{len(self.values)} value{'s' * (len(self.values) > 1)} of {texts:,} texts"
        seeds = self.seeds or run.comparison.config.score.seeds
        like = self.over, f"{seeds} seeds", settings_in_words(run.comparison.config)
        return Amount(like, len(self.values) * texts, each, "all" if self.over == "length" else "none")

    def compute(self, progress: Progress = silent) -> Sweep | EstimatorSweep:
        """Sweep and keep the result; an unfinished sweep of the same settings resumes."""
        run = self.load()
        digests = [source.digest for source in run.comparison.sources]
        finished = FinishedParts({"sweep": self.to_json(), "created": run.created, "digests": digests})
        sweep = self._sweep(run, finished, progress)
        self.keep(run, attachment_name(self.over), sweep, progress)
        finished.discard()
        return sweep

    def _sweep(self, run: Run, finished: FinishedParts, progress: Progress) -> Sweep | EstimatorSweep:
        for axis in ESTIMATOR_AXES:
            if self.over == axis:
                return estimator_sweep(run, axis, self.values, seeds=self.seeds, finished=finished, progress=progress)
        return sweep_run(
            run,
            require_axis(self.over),
            self.values,
            seeds=self.seeds,
            device=self.device,
            finished=finished,
            progress=progress,
        )
