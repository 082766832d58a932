"""Run a sweep over any axis of a stored run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mauve_core.base.config import Over
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.features import FeatureStore
from mauve_core.experiments.sweeps.clustered import over_k, over_length, over_n, usual_ks, usual_ns
from mauve_core.experiments.sweeps.request import Request, Swept
from mauve_core.experiments.sweeps.stored import over_decoder, over_scale, usual_scales
from mauve_core.experiments.sweeps.sweep import Sweep, SweepPoint, require_axis
from mauve_core.runs import Run
from mauve_core.runs.checkpoints import FinishedParts

_AXES: dict[Over, Callable[[Request], Swept]] = {
    "length": over_length,
    "n": over_n,
    "k": over_k,
    "scale": over_scale,
    "decoder": over_decoder,
}

_USUAL: dict[Over, Callable[[Request], Sequence[float]]] = {"n": usual_ns, "k": usual_ks, "scale": usual_scales}


def usual_values(run: Run, over: Over) -> tuple[float, ...] | None:
    """Default values of :func:`sweep_run`.

    None for "length", which depends on the texts, and for "decoder", which takes no values.
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

    The partition is pairwise, as published, and all other settings are the run's own. At the run's own value the
    scores equal the run's exactly.

    Parameters
    ----------
    over : {"length", "n", "k", "scale", "decoder"}
        "length": tokens to which both sides are cut. "n": texts per side, drawn again by each seed. "k": clusters.
        "scale": the constant c. "decoder": the run's own scores, by the parameter of each candidate's decoder.
    values : sequence of numbers, optional
        Default depends on the axis; "decoder" takes none.
    seeds : int, optional
        Seeds of each point; default the run's number, which is also the maximum for "scale" and "decoder".
    device : str
        For "length"; see :func:`mauve_core.encoders.encode`.
    feature_store : FeatureStore, optional
        Default the user's own; "length" reads and writes features there.
    finished : FinishedParts, optional
        Saves and restores finished points of "length", "n" and "k".
    progress : callable
        May raise CancelledError; finished features stay in the store.

    Raises
    ------
    InputError
        Values or seeds out of range; a run without encoder ("length"), without kept features ("n", "k"), or without
        two candidates of one decoder ("decoder").
    ModelUnavailableError, StorageError, CancelledError
        As raised by ``encode`` ("length").
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
    """Points grouped by line in order of first appearance, each in ascending value."""
    order = {line: index for index, line in enumerate(dict.fromkeys(point.candidate for point in points))}
    return tuple(sorted(points, key=lambda point: (order[point.candidate], point.value)))
