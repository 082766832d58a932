"""Sweeps of parameters of estimators without bins (neighbors, components, bandwidth), and the task of all sweeps.

JMLR 2023, figure 9 and section 7.3.1, for MAUVE itself rather than its correlation with other scores. A point is a
method's score with one parameter changed, from the estimators, random streams and texts left out of
``analyses.method_scores``; at the default it equals that method's score exactly. A score has its standard deviation
over texts, from a delete-a-group jackknife that fits the estimator again, and over seeds if the estimator draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from mauve_core.analyses.measure_terms import GROUPS, group_of
from mauve_core.analyses.method_fits import DRAWING
from mauve_core.analyses.method_scores import STAGE, MethodScore, scorer
from mauve_core.analyses.methods import ESTIMATORS, Method
from mauve_core.analyses.sweeps import (
    Sweep,
    attachment_name,
    numbers_within,
    positive_values,
    require_axis,
    require_positive,
    sweep_run,
    whole_values,
)
from mauve_core.analyses.tasks import Amount, RunTask, settings_in_words
from mauve_core.base.config import ESTIMATOR_AXES, HUMAN, METHOD_SEEDS, Axis, EstimatorAxis
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import As, NotBlank, Seeds, Settings, dataclass_to_json, from_json
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.features import FeatureStore
from mauve_core.estimators.ratio_estimators import COMPONENTS, NEIGHBOURS
from mauve_core.runs import Run
from mauve_core.runs.checkpoints import FinishedParts
from mauve_core.runs.features import stored_features
from mauve_core.texts.pairing import keys_of, unit_names

# By axis: each estimator that has the parameter, and its name in ``estimators.ratio_estimators``.
PARAMETER: dict[EstimatorAxis, dict[str, str]] = {
    "neighbors": {"knn": "k"},
    "components": {"knn": "components", "kde": "components", "gaussian": "components"},
    "bandwidth": {"kde": "times"},
}

# Values that ``mauve-lens methods`` uses.
DEFAULTS: dict[EstimatorAxis, float] = {"neighbors": NEIGHBOURS, "components": COMPONENTS, "bandwidth": 1}

# Multiples of the chosen bandwidth: beyond these, ratios are those of single neighbors, or all 1.
BANDWIDTH_RANGE = (0.01, 100.0)

_USUAL: dict[EstimatorAxis, tuple[float, ...]] = {
    "neighbors": (5, 10, 25, 50, 100, 200),
    "components": (2, 5, 10, 20, 50, 100),
    "bandwidth": (0.25, 0.5, 1, 2, 4),
}


@dataclass(frozen=True)
class EstimatorPoint:
    """One candidate's MAUVE by one estimator at one value.

    Attributes
    ----------
    value : float
        Value of the parameter.
    method : str
        A name of :data:`mauve_core.analyses.methods.ESTIMATORS`; all other parts of the method are defaults.
    candidate : str
        Its name.
    score : MethodScore
        With ``sd_texts`` over texts and, if the estimator draws, ``sd_seeds`` over seeds.
    notes : tuple of str
        Choices and events of the estimator, such as the bandwidth.
    """

    value: float
    method: str
    candidate: str
    score: MethodScore
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.method not in ESTIMATORS:
            raise InputError("No estimator of that name", allowed=", ".join(ESTIMATORS), received=repr(self.method))


@dataclass(frozen=True)
class EstimatorSweep:
    """MAUVE of a run's candidates over one parameter of the estimators that have it.

    Attributes
    ----------
    over : {"neighbors", "components", "bandwidth"}
        The parameter.
    points : tuple of EstimatorPoint
        Grouped by estimator and candidate, each in ascending value.
    settings : mapping
        Fixed settings and inputs of the numbers, as plain JSON.
    notes : tuple of str
        Estimators, what the spread covers, and exclusions with reasons.
    """

    over: EstimatorAxis
    points: tuple[EstimatorPoint, ...]
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def estimators(self) -> tuple[str, ...]:
        """Names of the estimators, in order."""
        return tuple(dict.fromkeys(point.method for point in self.points))

    @property
    def candidates(self) -> tuple[str, ...]:
        """Candidates of any point, in run order."""
        return tuple(dict.fromkeys(point.candidate for point in self.points))

    @property
    def values(self) -> tuple[float, ...]:
        """All values of any point, ascending."""
        return tuple(sorted({point.value for point in self.points}))

    def line(self, estimator: str, candidate: str) -> tuple[EstimatorPoint, ...]:
        """The points of one estimator and candidate in ascending value; may be empty."""
        return tuple(point for point in self.points if (point.method, point.candidate) == (estimator, candidate))


def estimator_sweep(
    run: Run,
    over: EstimatorAxis,
    values: Sequence[float] | None = None,
    *,
    seeds: int | None = None,
    feature_store: FeatureStore | None = None,
    finished: FinishedParts | None = None,
    progress: Progress = silent,
) -> EstimatorSweep:
    """Score every candidate of a run at several values of one parameter of the estimators that have it.

    Parameters
    ----------
    over : {"neighbors", "components", "bandwidth"}
        "neighbors": k of nearest neighbors. "components": principal components of nearest neighbors, kernel density
        and Gaussian. "bandwidth": that of kernel density, as a multiple of the one chosen by log loss.
    values : sequence of numbers, optional
        Default: :func:`usual_parameters`.
    seeds : int, optional
        Seeds of an estimator that draws; default as for ``methods_run``.
    finished : FinishedParts, optional
        Saves and restores finished points.
    progress : callable
        Counts points; may raise CancelledError.

    Returns
    -------
    EstimatorSweep
        MAUVE in [0, 1] by KL divergence, with each estimator's own constant c and density ratios averaged over both
        samples.

    Raises
    ------
    InputError
        No such axis, values out of range, fewer than 1 seed, features that were not kept, or no usable point. A
        single point that the features do not suit is left out with a note.
    """
    axis, count = require_estimator_axis(over), METHOD_SEEDS if seeds is None else seeds
    wanted = _values(run, axis, usual_parameters(run, axis) if values is None else values, feature_store)
    score = scorer(run, seeds=count, feature_store=feature_store)
    names = [candidate.name for candidate in run.comparison.candidates]
    todo = [(estimator, name, value) for estimator in PARAMETER[axis] for name in names for value in wanted]
    points, left_out = list[EstimatorPoint](), list[str]()
    for done, (estimator, name, value) in enumerate(todo):
        progress(STAGE, done, len(todo))
        key = f"{estimator} {value!r} {name}"
        point = _stored_point(finished, key)
        if point is None:
            try:
                found, notes = score(Method(estimator), name, {PARAMETER[axis][estimator]: value})
            except InputError as error:
                left_out.append(f"{ESTIMATORS[estimator].title} of {name} at {value:g} is left out: {error}")
                continue
            point = EstimatorPoint(float(value), estimator, name, found, notes)
            if finished is not None:
                finished.keep(key, dataclass_to_json(point))
        points.append(point)
    progress(STAGE, len(todo), len(todo))
    if not points:
        raise InputError("No point of this sweep could be scored", received=left_out[0])
    return EstimatorSweep(
        axis,
        tuple(points),
        _settings(run, axis, count),
        (*_notes(axis, points, count, run.comparison.words.items), *left_out),
    )


def usual_parameters(run: Run, over: EstimatorAxis) -> tuple[float, ...]:
    """Default values of an axis that the run's texts allow."""
    axis = require_estimator_axis(over)
    high = _most_neighbors(run) if axis == "neighbors" else _USUAL[axis][-1]
    if axis == "components" and (features := run.features(HUMAN)) is not None:
        high = features.shape[1]
    return tuple(float(value) for value in _USUAL[axis] if value <= high) or (float(high),)


def require_estimator_axis(over: object) -> EstimatorAxis:
    """Validate ``over``; InputError lists the axes."""
    for axis in ESTIMATOR_AXES:
        if over == axis:
            return axis
    raise InputError("There is no such sweep of estimators", allowed=", ".join(ESTIMATOR_AXES), received=repr(over))


def stored_estimator_sweep(run: Run, over: EstimatorAxis) -> EstimatorSweep | None:
    """The run's stored sweep over that axis, or None; InputError if ``over`` is no axis.

    StorageError or InputError if the stored sweep is damaged.
    """
    values = run.attachment(attachment_name(require_estimator_axis(over)))
    if values is None:
        return None
    sweep = from_json(EstimatorSweep, values)
    run.require_sources(sweep.candidates, "The sweep")
    if sweep.over != over or not sweep.points:
        raise InputError("The sweep is over a different setting", allowed=over, received=sweep.over)
    require_positive(sweep.values)
    return sweep


def _values(run: Run, axis: EstimatorAxis, values: Sequence[float], store: FeatureStore | None) -> tuple[float, ...]:
    """Distinct values, ascending; InputError with the range that the texts allow."""
    if axis == "bandwidth":
        return numbers_within("The bandwidth's multiple", values, *BANDWIDTH_RANGE)
    if axis == "neighbors":
        return whole_values("The number of neighbors", values, 1, _most_neighbors(run))
    dimension = stored_features(run, store)[HUMAN].shape[1]
    return whole_values("The number of principal components", values, 1, dimension)


def _most_neighbors(run: Run) -> int:
    """Fewer than the texts of both sides, also after any group has been left out."""
    prompts = unit_names(keys_of(run.corpora))
    sizes = {name: np.bincount(group_of(own), minlength=GROUPS) for name, own in prompts.items()}
    pairs = (sizes[HUMAN] + sizes[candidate.name] for candidate in run.comparison.candidates)
    return min(int(pair.sum() - pair.max()) for pair in pairs) - 1


def _settings(run: Run, axis: EstimatorAxis, seeds: int) -> dict[str, Any]:
    comparison = run.comparison
    return {
        "run": run.id,
        "created": run.created,
        "estimators": {
            name: {"scale": ESTIMATORS[name].scale, "expectation": Method(name).expectation} for name in PARAMETER[axis]
        },
        "default": DEFAULTS[axis],
        "seeds": seeds,
        "groups": GROUPS,
        "config": comparison.config.as_dict(),
        "sources": {source.name: {"n": source.n, "digest": source.digest} for source in comparison.sources},
    }


def _notes(axis: EstimatorAxis, points: Sequence[EstimatorPoint], seeds: int, items: str) -> list[str]:
    named = [f"{ESTIMATORS[name].title} (c = {ESTIMATORS[name].scale:g})" for name in PARAMETER[axis]]
    drawn = [ESTIMATORS[name].title for name in PARAMETER[axis] if name in DRAWING]
    over = f", and over {seeds} seeds" if seeds > 1 else "; one seed shows no spread over seeds"
    return [
        f"{', '.join(named)}; KL divergence, density ratios averaged over both samples.",
        f"Spread over {items}: they are left out in {GROUPS} groups and the estimator is fitted again. "
        + (f"{', '.join(drawn)} draws points: its score is a mean over seeds{over}." if drawn else "It draws nothing."),
        _FIXED[axis](points),
    ]


def _on_bandwidth(points: Sequence[EstimatorPoint]) -> str:
    first = {point.candidate: note for point in reversed(points) for note in point.notes if "bandwidth" in note}
    return f"{COMPONENTS} principal components. " + " ".join(
        f"{candidate}: {note}." for candidate, note in reversed(first.items())
    )


# What stays fixed on each axis.
_FIXED: dict[EstimatorAxis, Callable[[Sequence[EstimatorPoint]], str]] = {
    "neighbors": lambda _: f"The default is {NEIGHBOURS} neighbors; there are {COMPONENTS} principal components.",
    "components": lambda _: (
        f"The default is {COMPONENTS} components. Nearest neighbors: {NEIGHBOURS} neighbors; kernel density chooses "
        "its bandwidth at each number of components."
    ),
    "bandwidth": _on_bandwidth,
}


def _stored_point(finished: FinishedParts | None, key: str) -> EstimatorPoint | None:
    found = None if finished is None else finished.get(key)
    with suppress(InputError):  # if the stored point is invalid, compute it again
        return None if found is None else from_json(EstimatorPoint, found)
    return None


@dataclass(frozen=True)
class SweepTask(RunTask):
    """A sweep of a stored run; the fields are parameters of :func:`mauve_core.analyses.sweeps.sweep_run`.

    For an axis of :data:`mauve_core.base.config.ESTIMATOR_AXES`, of ``estimator_sweep``, which uses no device.
    """

    kind: ClassVar[str] = "sweep"
    kept: ClassVar[str] = "finished points and features already computed"

    over: Axis
    values: tuple[float, ...] | None = None
    seeds: Seeds | None = None
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values is not None:
            positive_values("The setting", self.values)

    @property
    def title(self) -> str:
        return f"{self.over} sweep of {self.run}"

    def amount(self, run: Run) -> Amount | None:
        """The texts at all values; None where the values are not given."""
        if self.values is None:
            return None
        texts = sum(source.n for source in run.comparison.sources)
        each = f"{len(self.values)} value{'s' * (len(self.values) > 1)} of {run.comparison.words.count(texts)}"
        seeds = self.seeds or run.comparison.config.score.seeds
        like = self.over, f"{seeds} seeds", settings_in_words(run.comparison.config)
        return Amount(like, len(self.values) * texts, each, "all" if self.over == "length" else "none")

    def compute(self, progress: Progress = silent) -> Sweep | EstimatorSweep:
        """Sweep and keep the result; an unfinished sweep of the same settings resumes."""
        run = self.load()
        digests = [source.digest for source in run.comparison.sources]
        finished = FinishedParts({"sweep": self.to_json(), "created": run.created, "digests": digests})
        sweep = self._sweep(run, finished, progress)
        self.keep(run, attachment_name(self.over), sweep, progress)
        finished.discard()
        return sweep

    def _sweep(self, run: Run, finished: FinishedParts, progress: Progress) -> Sweep | EstimatorSweep:
        for axis in ESTIMATOR_AXES:
            if self.over == axis:
                return estimator_sweep(run, axis, self.values, seeds=self.seeds, finished=finished, progress=progress)
        return sweep_run(
            run,
            require_axis(self.over),
            self.values,
            seeds=self.seeds,
            device=self.device,
            finished=finished,
            progress=progress,
        )
