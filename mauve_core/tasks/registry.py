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
    task.kind: task
    for task in (
        ComparisonTask,
        MeasureTask,
        SweepTask,
        CompareMethodsTask,
        ProbeTask,
        AttributesTask,
        StudyTask,
        ExcludeTextsTask,
        RecompareTask,
        PrecomputeTask,
    )
}
"""Every task by its kind."""

KEPT = {kind: task.kept for kind, task in KINDS.items() if task.kept}
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
