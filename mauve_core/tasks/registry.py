"""Registry of all background tasks by name; a worker reads its task as plain JSON from disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.tasks.attributes import AttributesTask
from mauve_core.tasks.base import NewRunTask, Task
from mauve_core.tasks.compare_encoders import CompareEncodersTask
from mauve_core.tasks.compare_methods import CompareMethodsTask
from mauve_core.tasks.comparison import ComparisonTask
from mauve_core.tasks.draw_map import MapTask
from mauve_core.tasks.exclude_texts import ExcludeTextsTask
from mauve_core.tasks.lengths import LengthsTask
from mauve_core.tasks.measure import MeasureTask
from mauve_core.tasks.neighbours import NeighboursTask
from mauve_core.tasks.positions import PositionsTask
from mauve_core.tasks.precompute import PrecomputeTask
from mauve_core.tasks.probe import ProbeTask
from mauve_core.tasks.recompare import RecompareTask
from mauve_core.tasks.study import StudyTask
from mauve_core.tasks.sweep import SweepTask

# Every task by its kind.
KINDS: dict[str, type[Task]] = {
    task.kind: task
    for task in (
        ComparisonTask,
        MeasureTask,
        NeighboursTask,
        LengthsTask,
        SweepTask,
        CompareMethodsTask,
        ProbeTask,
        AttributesTask,
        StudyTask,
        ExcludeTextsTask,
        RecompareTask,
        PrecomputeTask,
        CompareEncodersTask,
        MapTask,
        PositionsTask,
    )
}

# By kind: work of an unfinished job that is not repeated on resuming; the other kinds start over.
KEPT = {kind: task.kept for kind, task in KINDS.items() if task.kept}

# Kinds of jobs that create a run; the others add to one.
MAKING_RUNS = tuple(kind for kind, task in KINDS.items() if issubclass(task, NewRunTask))


def read_task(kind: str, values: Mapping[str, Any]) -> Task:
    """Return the described task of that kind; InputError if the kind is unknown or the description unusable."""
    if kind not in KINDS:
        raise InputError("Unknown kind of job", allowed=", ".join(KINDS), received=repr(kind))
    return KINDS[kind].from_json(values)
