"""Everything that a background job can do, by name; a task is plain JSON on disk, which is how a worker reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.tasks.attributes import AttributesTask
from mauve_core.tasks.base import Task
from mauve_core.tasks.compare_methods import CompareMethodsTask
from mauve_core.tasks.comparison import ComparisonTask
from mauve_core.tasks.exclude_texts import ExcludeTextsTask
from mauve_core.tasks.measure import MeasureTask
from mauve_core.tasks.precompute import PrecomputeTask
from mauve_core.tasks.probe import ProbeTask
from mauve_core.tasks.recompare import RecompareTask
from mauve_core.tasks.study import StudyTask
from mauve_core.tasks.sweep import SweepTask

KINDS: dict[str, type[Task]] = {
    "comparison": ComparisonTask,
    "measures": MeasureTask,
    "sweep": SweepTask,
    "methods": CompareMethodsTask,
    "probes": ProbeTask,
    "attributes": AttributesTask,
    "study": StudyTask,
    "without": ExcludeTextsTask,
    "again": RecompareTask,
    "prepare": PrecomputeTask,
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
    return KINDS[kind].from_json(values)
