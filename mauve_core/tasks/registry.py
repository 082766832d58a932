"""Everything that a background job can do, by name; a task is plain JSON on disk, which is how a worker reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress
from mauve_core.experiments.attributes_over_k import AttributesTask
from mauve_core.experiments.methods import MethodsTask
from mauve_core.experiments.robustness import ProbesTask
from mauve_core.experiments.sweeps import SweepTask
from mauve_core.experiments.text_measures.stored import MeasuresTask
from mauve_core.tasks.comparison import ComparisonTask
from mauve_core.tasks.exclude_texts import WithoutTask
from mauve_core.tasks.precompute import PrepareTask
from mauve_core.tasks.recompare import AgainTask
from mauve_core.tasks.study import StudyTask


class Task(Protocol):
    """Work that can be described, checked before it begins, and carried out."""

    @property
    def name(self) -> str:
        """What it makes, in words."""

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values that ``from_dict`` reads back."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The task so described; InputError when it is not usable."""

    def absolute(self) -> Self:
        """The same with absolute paths, for a process that runs in another folder."""

    def perform(self, progress: Progress = ...) -> str:
        """Carry it out; the id of the run that was made or added to."""


KINDS: dict[str, type[Task]] = {
    "comparison": ComparisonTask,
    "measures": MeasuresTask,
    "sweep": SweepTask,
    "methods": MethodsTask,
    "probes": ProbesTask,
    "attributes": AttributesTask,
    "study": StudyTask,
    "without": WithoutTask,
    "again": AgainTask,
    "prepare": PrepareTask,
}

KEPT: dict[str, str] = {
    "comparison": "the texts that were encoded",
    "measures": "the sources that the model has read",
    "sweep": "its finished points and the texts that were encoded",
    "probes": "the texts that were encoded",
    "study": "the texts that were written, encoded and read",
    "again": "the texts that were encoded",
    "prepare": "the words and tests that were found out",
}
"""What of an unfinished job is not done again when it is resumed, by kind; the others begin anew."""


def read_task(kind: str, values: Mapping[str, Any]) -> Task:
    """The task of that kind so described.

    Raises
    ------
    InputError
        There is no such kind, or the description is not usable.
    """
    if kind not in KINDS:
        raise InputError("No work of that kind", allowed=", ".join(KINDS), received=repr(kind))
    return KINDS[kind].from_dict(values)
