"""Probes as they are asked for, as plain JSON, and their way beside the run that they belong to."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.json_entries import check_entries
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.perturbations import parse_perturbation
from mauve_core.experiments.robustness.experiment import PAPER, SPLITS, probe_run
from mauve_core.experiments.robustness.table import ProbeTable
from mauve_core.store import Run, RunStore

ATTACHMENT = "probes"
"""Name under which the table is kept beside a run."""


@dataclass(frozen=True)
class ProbesTask:
    """Perturbation probes of a stored run.

    Attributes
    ----------
    run : str
        Id of the run.
    perturbations : tuple of str
        As :func:`mauve_core.experiments.perturbations.parse_perturbation` reads them.
    source : str
    rows : tuple of int or None
    splits : int
    seeds : int or None
    device : str
        As :func:`mauve_core.experiments.robustness.experiment.probe_run` takes them.
    """

    run: str
    perturbations: tuple[str, ...] = tuple(item.spec for item in PAPER)
    source: str = HUMAN
    rows: tuple[int, ...] | None = None
    splits: int = SPLITS
    seeds: int | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        for what, value in (("run's id", self.run), ("source", self.source), ("device", self.device)):
            if not isinstance(value, str) or not value.strip():
                raise InputError(f"Probes need the {what}", allowed="text", received=repr(value))
        if len({parse_perturbation(spec) for spec in self.perturbations}) < len(self.perturbations):
            received = ", ".join(self.perturbations)
            raise InputError("The perturbations cannot be used", allowed="none twice", received=received)
        if isinstance(self.splits, bool) or not isinstance(self.splits, int) or not 1 <= self.splits <= 100:
            raise InputError("The number of splits is not usable", allowed="1 to 100", received=repr(self.splits))
        if self.rows is not None and not all(isinstance(row, int) and not isinstance(row, bool) for row in self.rows):
            raise InputError("The rows cannot be read", allowed="whole numbers", received=repr(self.rows)[:200])
        if self.seeds is not None:
            ScoreConfig(seeds=self.seeds)

    @property
    def name(self) -> str:
        """What a list of jobs shows."""
        return f"probes of {self.run}"

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        lists = {"perturbations": list(self.perturbations), "rows": None if self.rows is None else list(self.rows)}
        return {**dataclasses.asdict(self), **lists}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The task that ``as_dict`` wrote; all but ``run`` may be left out."""
        check_entries("probes", values, {item.name for item in dataclasses.fields(cls)}, {"run"})
        chosen, rows = values.get("perturbations", cls.perturbations), values.get("rows")
        if not isinstance(chosen, (list, tuple)) or not all(isinstance(spec, str) for spec in chosen):
            raise InputError("The perturbations cannot be read", allowed="a list of text", received=repr(chosen))
        if rows is not None and not isinstance(rows, (list, tuple)):
            raise InputError("The rows cannot be read", allowed="a list of whole numbers", received=repr(rows))
        lists = {"perturbations": tuple(chosen), "rows": None if rows is None else tuple(rows)}
        return cls(**{**values, **lists})

    def absolute(self) -> Self:
        """The same: nothing here is a path."""
        return self

    def perform(self, progress: Progress = silent) -> str:
        """As :meth:`compute`; returns the run's id."""
        self.compute(progress)
        return self.run

    def compute(self, progress: Progress = silent) -> ProbeTable:
        """Probe the run and keep the table beside it, in place of an earlier one.

        Raises
        ------
        InputError, StorageError, CancelledError
            See ``RunStore.load``, ``probe_run`` and ``RunStore.attach``.
        """
        store = RunStore()
        run = store.load(self.run)
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
        store.attach(run.id, ATTACHMENT, table.as_dict())
        return table


def stored_probes(run: Run) -> ProbeTable | None:
    """The table that was kept beside the run; None when there is none.

    Raises
    ------
    StorageError, InputError
        What was kept is damaged.
    """
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    table = ProbeTable.from_dict(values)
    run.require_sources([table.source, *(line.name for line in table.lines if line.kind == "source")], "The table")
    return table
