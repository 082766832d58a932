"""Probe a stored run: measure how its score reacts to perturbed texts, and keep the table beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mauve_core.base.config import HUMAN
from mauve_core.base.config import PROBE_SPLITS as SPLITS
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import NotBlank, Seeds
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.robustness.experiment import probe_run
from mauve_core.experiments.robustness.table import ATTACHMENT, ProbeTable
from mauve_core.runs import Run
from mauve_core.tasks.amounts import Amount, settings_in_words
from mauve_core.tasks.base import RunTask, Splits
from mauve_core.texts.kinds import kind_of, parse_perturbation


@dataclass(frozen=True)
class ProbeTask(RunTask):
    """Perturbation probes of a stored run; the fields are parameters of ``experiments.robustness.experiment.probe_run``.

    ``perturbations`` are in the format of :func:`mauve_core.texts.kinds.parse_perturbation`. None stands for those
    that are usual for the run's kind of items.
    """

    kind: ClassVar[str] = "probes"
    titled: ClassVar[str] = "probes of"
    kept: ClassVar[str] = "features already computed"

    perturbations: tuple[str, ...] | None = None
    source: NotBlank = HUMAN
    rows: tuple[int, ...] | None = None
    splits: Splits = SPLITS
    seeds: Seeds | None = None
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        specs = self.perturbations or ()
        if len({parse_perturbation(spec) for spec in specs}) < len(specs):
            raise InputError("The perturbations cannot be used", allowed="no duplicates", received=", ".join(specs))

    def specs(self, run: Run) -> tuple[str, ...]:
        """Return the perturbations of that run, which may be the usual ones."""
        return kind_of(run.comparison.human.kind).probes if self.perturbations is None else self.perturbations

    def encodings(self, run: Run) -> int:
        """Return the number of changed items to encode at most; exchanges between texts run within each half."""
        n = (len(run.corpora[self.source]) if self.rows is None else len(self.rows)) // 2
        once = n if self.splits == 1 else min(2 * n, n * self.splits)
        parts = (parse_perturbation(spec).kind.part for spec in self.specs(run))
        return sum(once if part is None else n * self.splits for part in parts)

    def amount(self, run: Run) -> Amount:
        """The changed items, under the same perturbations and encoder."""
        encoder = settings_in_words(run.comparison.config.encoder)
        changed = self.encodings(run)
        words = f"{changed:,} changed {run.comparison.words.items}"
        return Amount((*sorted(self.specs(run)), encoder), changed, words, "all")

    def compute(self, progress: Progress = silent) -> ProbeTable:
        """Probe the run and keep the table."""
        run = self.load()
        table = probe_run(
            run,
            [parse_perturbation(spec) for spec in self.specs(run)],
            source=self.source,
            rows=self.rows,
            splits=self.splits,
            seeds=self.seeds,
            device=self.device,
            progress=progress,
        )
        return self.keep(run, ATTACHMENT, table, progress)
