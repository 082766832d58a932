"""Attributes as they are asked for, as plain JSON, and their way beside the run that they belong to."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.json_entries import check_entries
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.attributes_over_k.held_out import SPLITS, attributes_run
from mauve_core.experiments.attributes_over_k.table import AttributeTable
from mauve_core.store import Run, RunStore

ATTACHMENT = "attributes"
"""Name under which the table is kept beside a run."""

SAVING = "Saving the attributes"


@dataclass(frozen=True)
class AttributesTask:
    """What the clusters of a stored run capture.

    Attributes
    ----------
    run : str
        Id of the run.
    columns : tuple of str or None
    ks : tuple of int or None
    source : str
    candidate : str or None
    splits : int
        As :func:`mauve_core.experiments.attributes_over_k.attributes_run` takes them.
    """

    run: str
    columns: tuple[str, ...] | None = None
    ks: tuple[int, ...] | None = None
    source: str = HUMAN
    candidate: str | None = None
    splits: int = SPLITS

    def __post_init__(self) -> None:
        for what, value in (("run's id", self.run), ("source", self.source), ("candidate", self.candidate)):
            missing = value is None and what == "candidate"
            if not missing and (not isinstance(value, str) or not value.strip()):
                raise InputError(f"Attributes need the {what}", allowed="text", received=repr(value))
        if self.columns is not None and len(set(self.columns)) < len(self.columns):
            received = ", ".join(self.columns)
            raise InputError("The columns cannot be used", allowed="none twice", received=received)
        if self.ks is not None and not (self.ks and all(_is_whole(k, 2) for k in self.ks)):
            received = ", ".join(map(repr, self.ks))
            raise InputError(
                "The numbers of clusters are not usable", allowed="whole numbers from 2", received=received
            )
        if not _is_whole(self.splits, 1) or self.splits > 100:
            raise InputError("The number of splits is not usable", allowed="1 to 100", received=repr(self.splits))

    @property
    def name(self) -> str:
        """What a list of jobs shows."""
        return f"attributes of {self.run}"

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        lists = {name: None if getattr(self, name) is None else list(getattr(self, name)) for name in ("columns", "ks")}
        return {**dataclasses.asdict(self), **lists}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The task that ``as_dict`` wrote; all but ``run`` may be left out."""
        check_entries("attributes", values, {item.name for item in dataclasses.fields(cls)}, {"run"})
        columns, ks = values.get("columns"), values.get("ks")
        if columns is not None and not (
            isinstance(columns, (list, tuple)) and all(isinstance(name, str) for name in columns)
        ):
            raise InputError("The columns cannot be read", allowed="a list of text", received=repr(columns)[:200])
        if ks is not None and not isinstance(ks, (list, tuple)):
            raise InputError(
                "The numbers of clusters cannot be read", allowed="a list of whole numbers", received=repr(ks)[:200]
            )
        lists = {"columns": None if columns is None else tuple(columns), "ks": None if ks is None else tuple(ks)}
        return cls(**{**values, **lists})

    def absolute(self) -> Self:
        """The same: nothing here is a path."""
        return self

    def perform(self, progress: Progress = silent) -> str:
        """As :meth:`compute`; returns the run's id."""
        self.compute(progress)
        return self.run

    def compute(self, progress: Progress = silent) -> AttributeTable:
        """Judge the run's clusters and keep the table beside it, in place of an earlier one.

        Raises
        ------
        InputError, StorageError, CancelledError
            See ``RunStore.load``, ``attributes_run`` and ``RunStore.attach``.
        """
        store = RunStore()
        run = store.load(self.run)
        table = attributes_run(
            run,
            self.ks,
            self.columns,
            source=self.source,
            candidate=self.candidate,
            splits=self.splits,
            progress=progress,
        )
        progress(SAVING, 0, 1)
        store.attach(run.id, ATTACHMENT, table.as_dict())
        progress(SAVING, 1, 1)
        return table


def stored_attributes(run: Run) -> AttributeTable | None:
    """The table that was kept beside the run; None when there is none.

    Raises
    ------
    StorageError, InputError
        What was kept is damaged.
    """
    values = run.attachment(ATTACHMENT)
    return None if values is None else AttributeTable.from_dict(values)


def _is_whole(value: object, low: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= low
