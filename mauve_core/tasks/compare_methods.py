"""Compare methods on a stored run, and keep a table of their results beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

from mauve_core.base.config import METHOD_SEEDS
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import NotBlank, Within
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import PACKAGED
from mauve_core.experiments.methods.direct import Models
from mauve_core.experiments.methods.evaluation import methods_run
from mauve_core.experiments.methods.method import PRESETS, parse_method
from mauve_core.experiments.methods.table import ATTACHMENT, MethodTable, stored_methods
from mauve_core.runs import Run
from mauve_core.tasks.amounts import Amount
from mauve_core.tasks.base import RunTask
from mauve_core.texts.reading import Located


def _absolute(model: str) -> str:
    """Make the model's path absolute; other model names stay."""
    path = Path(model).expanduser()
    return model if model in PACKAGED or not path.exists() else str(path.absolute())


Model = Annotated[NotBlank, Located(_absolute)]


@dataclass(frozen=True)
class CompareMethodsTask(RunTask):
    """Methods on a stored run; the fields are parameters of :func:`mauve_core.experiments.methods.evaluation.methods_run`.

    ``methods`` are in the format of :func:`mauve_core.experiments.methods.method.parse_method`; the first one is the
    reference. The models are causal ones for direct estimation; give both or none.
    """

    kind: ClassVar[str] = "methods"
    titled: ClassVar[str] = "methods on"
    attachment: ClassVar[str] = ATTACHMENT

    methods: tuple[str, ...] = tuple(method.spec for method in PRESETS["divergences"])
    seeds: Annotated[int, Within(1, 100)] = METHOD_SEEDS
    permutations: Annotated[int, Within(0, 1_000_000)] = 0
    human_model: Model | None = None
    candidate_model: Model | None = None
    device: NotBlank = "cpu"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.human_model is None) != (self.candidate_model is None):
            given = "the human side" if self.candidate_model is None else "the candidates"
            raise InputError(
                "The models for direct estimation cannot be used",
                allowed="both or neither",
                received=f"only that of {given}, {self.human_model or self.candidate_model!r}",
            )
        if not self.methods or len({parse_method(spec) for spec in self.methods}) < len(self.methods):
            received = ", ".join(self.methods)
            raise InputError("The methods cannot be used", allowed="one or more, no duplicates", received=received)

    @property
    def models(self) -> Models | None:
        """Return the two models; None if they are not named."""
        if self.human_model is None or self.candidate_model is None:
            return None
        return Models(self.human_model, self.candidate_model)

    def amount(self, run: Run) -> Amount:
        """All texts, under the same methods, with as many seeds and permutations."""
        texts = sum(source.n for source in run.comparison.sources)
        settings = f"{self.seeds} seeds", f"{self.permutations} permutations", f"{self.models}"
        return Amount((*sorted(self.methods), *settings), texts, f"{texts:,} texts")

    def compute(self, progress: Progress = silent) -> MethodTable:
        """Score the run's candidates and keep the table."""
        run = self.load()
        table = methods_run(
            run,
            [parse_method(spec) for spec in self.methods],
            seeds=self.seeds,
            permutations=self.permutations,
            models=self.models,
            device=self.device,
            progress=progress,
        )
        return self.keep(run, ATTACHMENT, table, progress)

    def _answer(self, run: Run) -> MethodTable | None:
        """The stored table, if it has every method with as many seeds and permutations; of more, those asked for.

        Direct estimation is always computed: files of models may have changed.
        """
        table, wanted = stored_methods(run), [parse_method(spec) for spec in self.methods]
        known = {} if table is None else {each.method: each for each in table.results}
        if table is None or not known.keys() >= set(wanted) or any(each.estimator == "direct" for each in wanted):
            return None
        if [table.settings.get(name) for name in ("seeds", "permutations")] != [self.seeds, self.permutations]:
            return None
        if wanted == list(known):
            return table
        return replace(table, results=tuple(known[each] for each in wanted), notes=())
