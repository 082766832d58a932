"""Probe a stored run: measure how its score reacts to perturbed texts, and keep the table beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.base.validation import NotBlank, Seeds
from mauve_core.experiments.perturbations import parse_perturbation
from mauve_core.experiments.robustness import PAPER, SPLITS, ProbeTable, probe_run
from mauve_core.experiments.robustness.table import ATTACHMENT
from mauve_core.store import Run
from mauve_core.tasks.amounts import Amount, settings_in_words
from mauve_core.tasks.base import RunTask, Splits


@dataclass(frozen=True)
class ProbeTask(RunTask):
    """Perturbation probes of a stored run; the fields are parameters of ``experiments.robustness.probe_run``.

    ``perturbations`` are in the format of :func:`mauve_core.experiments.perturbations.parse_perturbation`.
    """

    kind: ClassVar[str] = "probes"
    titled: ClassVar[str] = "probes of"
    kept: ClassVar[str] = "texts already encoded"

    perturbations: tuple[str, ...] = tuple(item.spec for item in PAPER)
    source: NotBlank = HUMAN
    rows: tuple[int, ...] | None = None
    splits: Splits = SPLITS
    seeds: Seeds | None = None
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({parse_perturbation(spec) for spec in self.perturbations}) < len(self.perturbations):
            received = ", ".join(self.perturbations)
            raise InputError("The perturbations cannot be used", allowed="no duplicates", received=received)

    def encodings(self, run: Run) -> int:
        """Return the number of changed texts to encode at most; exchanges between texts run within each half."""
        n = (len(run.corpora[self.source]) if self.rows is None else len(self.rows)) // 2
        once = n if self.splits == 1 else min(2 * n, n * self.splits)
        parts = (parse_perturbation(spec).kind.part for spec in self.perturbations)
        return sum(once if part is None else n * self.splits for part in parts)

    def amount(self, run: Run) -> Amount:
        """The changed texts, under the same perturbations and encoder."""
        encoder = settings_in_words(run.comparison.config.encoder)
        changed = self.encodings(run)
        return Amount((*sorted(self.perturbations), encoder), changed, f"{changed:,} changed texts", "all")

    def compute(self, progress: Progress = silent) -> ProbeTable:
        """Probe the run and keep the table."""
        run = self.load()
        table = probe_run(
            run,
            [parse_perturbation(spec) for spec in self.perturbations],
            source=self.source,
            rows=self.rows,
            splits=self.splits,
            seeds=self.seeds,
            device=self.device,
            progress=progress,
        )
        return self.keep(run, ATTACHMENT, table, progress)
