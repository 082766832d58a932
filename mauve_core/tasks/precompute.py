"""What pages ask for first, found out for a run that came from elsewhere, whose file leaves it behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mauve_core.analysis.precomputed import derive
from mauve_core.base.errors import InputError
from mauve_core.base.json_entries import check_entries
from mauve_core.base.progress import Progress, silent
from mauve_core.store import RunStore


@dataclass(frozen=True)
class PrepareTask:
    """Words, tests and resamples of a stored run, kept beside it (``mauve_core.analysis.precomputed``).

    Attributes
    ----------
    run : str
        Id of the run.
    """

    run: str

    def __post_init__(self) -> None:
        if not isinstance(self.run, str) or not self.run.strip():
            raise InputError("The run's id is missing", allowed="text", received=repr(self.run))

    @property
    def name(self) -> str:
        """What a list of jobs shows."""
        return f"preparing {self.run}"

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"run": self.run}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The task that ``as_dict`` wrote."""
        check_entries("a preparation", values, {"run"}, {"run"})
        return cls(**values)

    def absolute(self) -> Self:
        """The same: nothing here is a path."""
        return self

    def perform(self, progress: Progress = silent) -> str:
        """Find out what is missing and keep it; the run's id.

        Raises
        ------
        InputError, StorageError, CancelledError
            See ``RunStore.load`` and ``derive``.
        """
        run = RunStore().load(self.run)
        derive(run, progress)
        return run.id
