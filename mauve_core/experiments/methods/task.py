"""Methods as they are asked for, as plain JSON, and their way beside the run that they belong to."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from mauve_core.base.errors import InputError
from mauve_core.base.json_entries import check_entries
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import PACKAGED
from mauve_core.experiments.methods.direct import Models
from mauve_core.experiments.methods.evaluation import SEEDS, methods_run
from mauve_core.experiments.methods.method import PRESETS, parse_method
from mauve_core.experiments.methods.table import MethodTable
from mauve_core.store import Run, RunStore

ATTACHMENT = "methods"
"""Name under which the table is kept beside a run."""


@dataclass(frozen=True)
class MethodsTask:
    """Methods on a stored run.

    Attributes
    ----------
    run : str
        Id of the run.
    methods : tuple of str
        As :func:`mauve_core.experiments.methods.method.parse_method` reads them; the first is what others are held
        against.
    seeds, permutations : int
    human_model, candidate_model : str or None
        Causal models for direct estimation; both or none.
    device : str
        As :func:`mauve_core.experiments.methods.evaluation.methods_run` takes them.
    """

    run: str
    methods: tuple[str, ...] = tuple(method.spec for method in PRESETS["divergences"])
    seeds: int = SEEDS
    permutations: int = 0
    human_model: str | None = None
    candidate_model: str | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        for what, value in (("run's id", self.run), ("device", self.device)):
            if not isinstance(value, str) or not value.strip():
                raise InputError(f"Methods need the {what}", allowed="text", received=repr(value))
        given = (self.human_model, self.candidate_model)
        if given != (None, None) and not all(isinstance(model, str) and model.strip() for model in given):
            received = " and ".join(map(repr, given))
            raise InputError("The models of methods are not usable", allowed="both named, or none", received=received)
        if not self.methods or len({parse_method(spec) for spec in self.methods}) < len(self.methods):
            received = ", ".join(self.methods)
            raise InputError("The methods cannot be used", allowed="one or more, none twice", received=received)
        for name, low, high in (("seeds", 1, 100), ("permutations", 0, 1_000_000)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise InputError(
                    f"The number of {name} is not usable", allowed=f"{low} to {high}", received=repr(value)
                )

    @property
    def name(self) -> str:
        """What a list of jobs shows."""
        return f"methods on {self.run}"

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**dataclasses.asdict(self), "methods": list(self.methods)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The task that ``as_dict`` wrote; all but ``run`` may be left out."""
        check_entries("methods", values, {item.name for item in dataclasses.fields(cls)}, {"run"})
        chosen = values.get("methods", cls.methods)
        if not isinstance(chosen, (list, tuple)) or not all(isinstance(item, str) for item in chosen):
            raise InputError("This is no description of methods", allowed="a list of text", received=repr(chosen)[:200])
        return cls(**{**values, "methods": tuple(chosen)})

    @property
    def models(self) -> Models | None:
        """The two models, where they are named."""
        if self.human_model is None or self.candidate_model is None:
            return None
        return Models(self.human_model, self.candidate_model)

    def absolute(self) -> Self:
        """The same with absolute paths of models that are files or folders."""
        human, candidate = map(_absolute, (self.human_model, self.candidate_model))
        return dataclasses.replace(self, human_model=human, candidate_model=candidate)

    def perform(self, progress: Progress = silent) -> str:
        """As :meth:`compute`; returns the run's id."""
        self.compute(progress)
        return self.run

    def compute(self, progress: Progress = silent) -> MethodTable:
        """Score the run's candidates and keep the table beside the run, in place of an earlier one.

        Raises
        ------
        InputError, StorageError, CancelledError
            See ``RunStore.load``, ``methods_run`` and ``RunStore.attach``.
        """
        store = RunStore()
        run = store.load(self.run)
        methods = [parse_method(spec) for spec in self.methods]
        table = methods_run(
            run,
            methods,
            seeds=self.seeds,
            permutations=self.permutations,
            models=self.models,
            device=self.device,
            progress=progress,
        )
        store.attach(run.id, ATTACHMENT, table.as_dict())
        return table


def stored_methods(run: Run) -> MethodTable | None:
    """The table that was kept beside the run; None when there is none.

    Raises
    ------
    StorageError, InputError
        What was kept is damaged.
    """
    values = run.attachment(ATTACHMENT)
    return None if values is None else MethodTable.from_dict(values)


def _absolute(model: str | None) -> str | None:
    if model is None or model in PACKAGED or not Path(model).expanduser().exists():
        return model
    return str(Path(model).expanduser().absolute())
