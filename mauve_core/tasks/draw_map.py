"""Draw the map of a stored run and add it to the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.runs import Run, RunStore
from mauve_core.runs.features import stored_features
from mauve_core.tasks.base import SAVING, RunTask


@dataclass(frozen=True)
class MapTask(RunTask):
    """The map of a run that was stored without one."""

    kind: ClassVar[str] = "map"
    titled: ClassVar[str] = "map of"

    def compute(self, progress: Progress = silent) -> Run:
        """Draw the map and add it to the run."""
        return with_map(self.load(), progress)


def with_map(run: Run, progress: Progress = silent) -> Run:
    """Draw the map of a run from its stored features and add it in one step; a run with a map is returned as it is.

    Equal features and settings give equal positions on equal devices, whether the map is drawn with the scores or
    later: a run that was clustered on the CPU has its map drawn there, another one on a GPU if there is one.

    Raises
    ------
    InputError
        The features are not found, the run has no joint partition, or it was deleted or replaced in the meantime.
    StorageError, CancelledError
        The run stays as it was.
    """
    if run.comparison.projection is not None:
        return run
    if not run.comparison.joint:
        raise InputError(f"Run {run.id} has no joint partition, which its map needs", todo="Compare the texts again")
    from mauve_core.scoring.compare import CLUSTERING_DEVICE, array_device, mapped
    from mauve_core.scoring.partitioning import measured

    clustered_on = run.comparison.environment.get(CLUSTERING_DEVICE, "auto")
    used = array_device(clustered_on if clustered_on == "cpu" else "auto")
    sides = measured(stored_features(run), run.comparison.config.score, used)
    drawn = mapped(run.comparison, sides, progress, used)
    progress(SAVING, 0, 1)
    run = RunStore().add_map(run, drawn)
    progress(SAVING, 1, 1)
    return run
