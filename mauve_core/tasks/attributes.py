"""Judge what the clusters of a stored run capture of its columns, and keep the table beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.base.validation import NotBlank, Within
from mauve_core.experiments.attributes_over_k import SPLITS, AttributeTable, attributes_run
from mauve_core.experiments.attributes_over_k.table import ATTACHMENT
from mauve_core.tasks.base import RunTask, Splits


@dataclass(frozen=True)
class AttributesTask(RunTask):
    """What a stored run's clusters capture; the fields are parameters of ``attributes_over_k.attributes_run``."""

    kind: ClassVar[str] = "attributes"
    titled: ClassVar[str] = "attributes of"

    columns: tuple[str, ...] | None = None
    ks: tuple[Annotated[int, Within(2)], ...] | None = None
    source: NotBlank = HUMAN
    candidate: NotBlank | None = None
    splits: Splits = SPLITS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.columns is not None and len(set(self.columns)) < len(self.columns):
            received = ", ".join(self.columns)
            raise InputError("The columns cannot be used", allowed="no duplicates", received=received)
        if self.ks == ():
            raise InputError("No number of clusters is given", allowed="one or more, or None for the default ones")

    def compute(self, progress: Progress = silent) -> AttributeTable:
        """Judge the run's clusters and keep the table."""
        table = attributes_run(
            self.load(),
            self.ks,
            self.columns,
            source=self.source,
            candidate=self.candidate,
            splits=self.splits,
            progress=progress,
        )
        return self.keep(ATTACHMENT, table, progress)
