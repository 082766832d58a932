"""A sweep as it is asked for, as plain JSON, and its way beside the run that it belongs to."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mauve_core.base.config import ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.json_entries import check_entries
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.sweeps.execution import sweep_run
from mauve_core.experiments.sweeps.request import positive_values
from mauve_core.experiments.sweeps.sweep import Over, Sweep, require_axis
from mauve_core.store import Run, RunStore
from mauve_core.store.checkpoints import FinishedParts

SAVING = "Saving the sweep"


@dataclass(frozen=True)
class SweepTask:
    """A sweep of a stored run.

    Attributes
    ----------
    run : str
        Id of the run.
    over : {"length", "n", "k", "scale", "decoder"}
    values : tuple of float or None
    seeds : int or None
    device : str
        As :func:`mauve_core.experiments.sweeps.sweep_run` takes them.
    """

    run: str
    over: Over
    values: tuple[float, ...] | None = None
    seeds: int | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        require_axis(self.over)
        for what, value in (("run's id", self.run), ("device", self.device)):
            if not isinstance(value, str) or not value.strip():
                raise InputError(f"A sweep needs its {what}", allowed="text", received=repr(value))
        if self.values is not None:
            positive_values("The setting", self.values)
        if self.seeds is not None:
            ScoreConfig(seeds=self.seeds)

    @property
    def name(self) -> str:
        """What a list of jobs shows."""
        return f"{self.over} sweep of {self.run}"

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**dataclasses.asdict(self), "values": None if self.values is None else list(self.values)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The task that ``as_dict`` wrote; ``values``, ``seeds`` and ``device`` may be left out."""
        check_entries("a sweep", values, {item.name for item in dataclasses.fields(cls)}, {"run", "over"})
        chosen = values.get("values")
        if chosen is not None and not isinstance(chosen, (list, tuple)):
            raise InputError("The values of a sweep cannot be read", allowed="a list of numbers", received=repr(chosen))
        return cls(**{**values, "values": None if chosen is None else tuple(chosen)})

    def absolute(self) -> Self:
        """The same: nothing here is a path."""
        return self

    def perform(self, progress: Progress = silent) -> str:
        """As :meth:`sweep`; returns the run's id."""
        self.sweep(progress)
        return self.run

    def sweep(self, progress: Progress = silent) -> Sweep:
        """Sweep and keep the result beside the run, in place of an earlier one over the same axis.

        Raises
        ------
        InputError, StorageError, CancelledError
            See ``RunStore.load``, ``sweep_run`` and ``RunStore.attach``.
        """
        store = RunStore()
        run = store.load(self.run)
        digests = [source.digest for source in run.comparison.sources]
        finished = FinishedParts({"sweep": self.as_dict(), "created": run.created, "digests": digests})
        settings: dict[str, Any] = {"seeds": self.seeds, "device": self.device}
        sweep = sweep_run(run, self.over, self.values, **settings, finished=finished, progress=progress)
        progress(SAVING, 0, 1)
        store.attach(run.id, attachment_name(self.over), sweep.as_dict())
        finished.discard()
        progress(SAVING, 1, 1)
        return sweep


def attachment_name(over: Over) -> str:
    """Under which name a sweep is kept beside its run."""
    return f"sweep-{over}"


def stored_sweep(run: Run, over: Over) -> Sweep | None:
    """The sweep over that axis that was kept beside the run; None when there is none.

    Raises
    ------
    InputError
        ``over`` is no axis.
    StorageError, InputError
        What was kept is damaged.
    """
    values = run.attachment(attachment_name(require_axis(over)))
    if values is None:
        return None
    sweep = Sweep.from_dict(values)
    run.require_sources((point.source for point in sweep.points), "The sweep")
    if sweep.over != over or not sweep.points:
        raise InputError("The sweep is another one", allowed=over, received=sweep.over)
    if over != "decoder":  # whose lines are called after the decoders' families
        run.require_sources(sweep.candidates, "The sweep")
    return sweep
