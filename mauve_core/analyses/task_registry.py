"""Registry of all background tasks by name; a worker reads its task as plain JSON from disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mauve_core.analyses.attributes_over_k import AttributesTask
from mauve_core.analyses.comparison_task import ComparisonTask, ExcludeTextsTask, MapTask, RecompareTask
from mauve_core.analyses.encoders import CompareEncodersTask
from mauve_core.analyses.estimator_sweeps import SweepTask
from mauve_core.analyses.measures_over_lengths import LengthsTask
from mauve_core.analyses.measures_over_neighbours import NeighboursTask
from mauve_core.analyses.method_scores import CompareMethodsTask
from mauve_core.analyses.positions import PositionsTask
from mauve_core.analyses.probes import ProbeTask
from mauve_core.analyses.study import StudyTask
from mauve_core.analyses.tasks import NewRunTask, RunTask, Task
from mauve_core.analyses.text_measures import MeasureTask
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.findings.precomputed import derive


@dataclass(frozen=True)
class PrecomputeTask(RunTask):
    """Words, tests and resamples of a stored run, kept beside it (``mauve_core.findings.precomputed``)."""

    kind: ClassVar[str] = "prepare"
    titled: ClassVar[str] = "preparing"
    kept: ClassVar[str] = "words and tests already computed"

    def compute(self, progress: Progress = silent) -> None:
        """Compute what is missing and keep it."""
        derive(self.load(), progress)


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
