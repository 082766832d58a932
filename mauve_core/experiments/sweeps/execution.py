"""One function for every axis: a stored run in, a sweep out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.experiments.sweeps.clustered import over_k, over_length, over_n, usual_ks, usual_ns
from mauve_core.experiments.sweeps.request import Request, Swept
from mauve_core.experiments.sweeps.stored import over_decoder, over_scale, usual_scales
from mauve_core.experiments.sweeps.sweep import Over, Sweep, SweepPoint, require_axis
from mauve_core.store import Run
from mauve_core.store.checkpoints import FinishedParts

_AXES: dict[Over, Callable[[Request], Swept]] = {
    "length": over_length,
    "n": over_n,
    "k": over_k,
    "scale": over_scale,
    "decoder": over_decoder,
}

_USUAL: dict[Over, Callable[[Request], Sequence[float]]] = {"n": usual_ns, "k": usual_ks, "scale": usual_scales}


def usual_values(run: Run, over: Over) -> tuple[float, ...] | None:
    """The values that :func:`sweep_run` takes when none are named.

    None for "length", where the texts must be read for that, and for "decoder", which takes none.
    """
    usual = _USUAL.get(require_axis(over))
    return None if usual is None else tuple(usual(Request(run, None, None, "auto", FeatureStore(), silent)))


def sweep_run(
    run: Run,
    over: Over,
    values: Sequence[float] | None = None,
    *,
    seeds: int | None = None,
    device: str = "auto",
    feature_store: FeatureStore | None = None,
    finished: FinishedParts | None = None,
    progress: Progress = silent,
) -> Sweep:
    """Score every candidate of a run against its human side at several values of one setting.

    The partition is pairwise, as published, and every other setting the run's own; where a value is the run's own too,
    so are the digits.

    Parameters
    ----------
    run : Run
    over : {"length", "n", "k", "scale", "decoder"}
        "length": both sides cut to that many tokens. "n": texts a side, drawn anew by each seed. "k": clusters.
        "scale": the constant c. "decoder": the run's own scores, by the parameter of each candidate's decoder.
    values : sequence of numbers, optional
        A few sensible ones when left out; "decoder" takes none.
    seeds : int, optional
        Seeds of each point, the run's number when left out; "scale" and "decoder" cannot have more than that.
    device : str
        For "length"; see :func:`mauve_core.encoders.encode`.
    feature_store : FeatureStore, optional
        The user's own when left out; "length" finds and keeps features there.
    finished : FinishedParts, optional
        Where points of "length", "n" and "k" are kept as they are made, and found.
    progress : callable
        May raise CancelledError; features that are finished stay in the store.

    Raises
    ------
    InputError
        Values or seeds out of their range; a run without encoder ("length"), without kept features ("n", "k"), or
        without two candidates of one decoder ("decoder").
    ModelUnavailableError, StorageError, CancelledError
        As ``encode`` raises them ("length").
    """
    axis = require_axis(over)
    store = FeatureStore() if feature_store is None else feature_store
    request = Request(run, None if values is None else tuple(values), seeds, device, store, progress, finished)
    settings = _settings(request)
    swept = _AXES[axis](request)
    notes = (*swept.notes, "One seed shows no spread.") if request.score.seeds == 1 else swept.notes
    return Sweep(axis, _in_order(swept.points), settings, notes)


def _settings(request: Request) -> dict[str, Any]:
    comparison = request.run.comparison
    return {
        "run": request.run.id,
        "created": request.run.created,
        "partition": "pairwise",
        "seeds": request.score.seeds,
        "config": comparison.config.as_dict(),
        "sources": {source.name: {"n": source.n, "digest": source.digest} for source in comparison.sources},
    }


def _in_order(points: Sequence[SweepPoint]) -> tuple[SweepPoint, ...]:
    """A line after the other, in the order in which they first come, each by growing value."""
    order = {line: index for index, line in enumerate(dict.fromkeys(point.candidate for point in points))}
    return tuple(sorted(points, key=lambda point: (order[point.candidate], point.value)))
