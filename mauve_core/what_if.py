"""The scores of a candidate with other texts, under every k-means seed and with their bootstrap intervals.

Weights belong to texts, because a cluster of one partition is no cluster of another: to drop a cluster of one seed is
to drop its texts (:func:`text_weights`), and the other seeds' partitions then show the same texts dropped. Partitions
stay those of all texts (``mauve_core.numerics.what_if``). Resamples are those of the comparison's own intervals, each
text in them counted by its weight, so that the change of a score has an interval of its own, narrower than the
difference of two intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from mauve_core.config import HUMAN, PartitionKind
from mauve_core.errors import InputError
from mauve_core.estimates import SCORE_BOUNDS, Spread, estimate_of, resamples
from mauve_core.numerics.divergences import frontier_integral
from mauve_core.numerics.frontier import REFERENCE_WEIGHTS, trapezoid_area
from mauve_core.numerics.scores import STAR_SMOOTHING, score_counts
from mauve_core.numerics.smoothing import probabilities
from mauve_core.numerics.what_if import frontier_by_logs, weighted_counts
from mauve_core.result import Comparison, Estimate, Partition


@dataclass(frozen=True)
class WhatIf:
    """Scores of one candidate as it is and with other weights.

    Attributes
    ----------
    before, after, change : mapping of str to Estimate
        By score; ``change`` is after - before, resampled together.
    texts : mapping of str to float
        What the texts of the human side and of the candidate count for together, after.
    """

    before: Mapping[str, Estimate]
    after: Mapping[str, Estimate]
    change: Mapping[str, Estimate]
    texts: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Prepared:
    """One candidate's partitions, resamples and scores as it is.

    Attributes
    ----------
    candidate : str
    partitions : tuple of Partition
        One a k-means seed.
    drawn : mapping of str to (n, B) int32 array
        Of the human side and the candidate: how often each text is drawn in each resample.
    before : mapping of str to Spread
        Every score with all weights 1.
    scale, smoothing, confidence
        Settings of the scores and of their intervals.
    """

    candidate: str
    partitions: tuple[Partition, ...]
    drawn: Mapping[str, NDArray[np.int32]]
    before: Mapping[str, Spread]
    scale: float
    smoothing: str
    confidence: float


def text_weights(partition: Partition, source: str, weights: ArrayLike) -> NDArray[np.float64]:
    """(n,) the weight of each text of ``source``, that of its cluster in ``weights`` (k,)."""
    by_cluster = np.asarray(weights, dtype=np.float64)
    if source not in partition.labels:
        raise InputError(f"No source named {source!r} in this partition", allowed=", ".join(partition.labels))
    if by_cluster.shape != (partition.k,):
        received = f"shape {by_cluster.shape}"
        raise InputError("The weights do not fit the clusters", allowed=f"shape ({partition.k},)", received=received)
    return by_cluster[partition.labels[source]]


def prepare(
    comparison: Comparison, candidate: str, kind: PartitionKind = "pairwise", smoothing: str = "none"
) -> Prepared:
    """What every what-if about a candidate needs; worth keeping between calls of :func:`what_if`.

    Parameters
    ----------
    candidate : str
    kind : {"pairwise", "joint"}
        The partitions that are kept.
    smoothing : str
        As :func:`mauve_core.numerics.smoothing.probabilities` reads it, for every score but ``mauve_star``. One that
        asks for whole counts refuses weights that are not whole.

    Raises
    ------
    InputError
        No such candidate or smoothing.
    """
    partitions = comparison.joint if kind == "joint" else comparison.candidate(candidate).partitions
    drawn = {source: np.ascontiguousarray(resamples(comparison, source).T) for source in (HUMAN, candidate)}
    ones = {source: np.ones(len(draws)) for source, draws in drawn.items()}
    score = comparison.config.score
    before = _spreads(partitions, drawn, ones, score.scale, smoothing)
    return Prepared(candidate, tuple(partitions), drawn, before, score.scale, smoothing, score.confidence)


def what_if(prepared: Prepared, *, human: ArrayLike | None = None, model: ArrayLike | None = None) -> WhatIf:
    """Score a candidate again with weights for texts.

    Parameters
    ----------
    prepared : Prepared
    human, model : (n,) array, optional
        What each text of the human side and of the candidate counts for; a mask keeps texts. None counts all once.

    Raises
    ------
    InputError
        Weights that are not usable or not one for each text, or that leave a side, or a resample of it, without texts.
    """
    weights = {
        source: np.ones(len(draws)) if given is None else _usable(given, source, len(draws))
        for (source, draws), given in zip(prepared.drawn.items(), (human, model), strict=True)
    }
    before, confidence = prepared.before, prepared.confidence
    after = _spreads(prepared.partitions, prepared.drawn, weights, prepared.scale, prepared.smoothing)
    change = {
        name: Spread(spread.values - before[name].values, spread.resampled - before[name].resampled)
        for name, spread in after.items()
    }
    either_way = {name: (low - high, high - low) for name, (low, high) in SCORE_BOUNDS.items()}
    return WhatIf(
        before={name: estimate_of(spread, confidence, SCORE_BOUNDS[name]) for name, spread in before.items()},
        after={name: estimate_of(spread, confidence, SCORE_BOUNDS[name]) for name, spread in after.items()},
        change={name: estimate_of(spread, confidence, either_way[name]) for name, spread in change.items()},
        texts={source: float(each.sum()) for source, each in weights.items()},
    )


def _usable(given: ArrayLike, source: str, n: int) -> NDArray[np.float64]:
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError(
            f"The weights of {source!r} are not usable",
            allowed=f"one finite number for each of its {n} texts, none negative and not all 0",
            received=f"shape {weights.shape}",
        )
    return weights


def _spreads(
    partitions: Sequence[Partition],
    drawn: Mapping[str, NDArray[np.int32]],
    weights: Mapping[str, NDArray[np.float64]],
    scale: float,
    smoothing: str,
) -> dict[str, Spread]:
    """Every score of the weighted texts and of their resamples; of the latter to some 1e-13."""
    p, q = (
        np.stack([weighted_counts(part.labels[source], part.k, each) for part in partitions])
        for source, each in weights.items()
    )
    values = score_counts(p, q, scale=scale, smoothing=smoothing)
    counts = [_resampled(partitions, source, drawn[source], each) for source, each in weights.items()]
    if any((side.sum(axis=-1) == 0).any() for side in counts):
        raise InputError(
            "Too few texts are left: a resample has none of them", todo="Keep more texts, or give them weights above 0"
        )
    left, right = (probabilities(side, smoothing) for side in counts)
    plain = frontier_by_logs(left, right)
    half = int(np.abs(REFERENCE_WEIGHTS - 0.5).argmin())  # the middle of the grid, where Mid is taken
    stars = [probabilities(side, STAR_SMOOTHING) for side in counts]
    resampled = {
        "mauve": trapezoid_area(*plain.curve(scale)),
        "mauve_star": trapezoid_area(*frontier_by_logs(*stars).curve(scale)),
        "frontier_integral": frontier_integral(left, right),
        "mid": np.minimum((plain.type1[..., half] + plain.type2[..., half]) / 2, SCORE_BOUNDS["mid"][1]),
    }
    return {name: Spread(values[name], resampled[name]) for name in SCORE_BOUNDS}


def _resampled(
    partitions: Sequence[Partition], source: str, drawn: NDArray[np.int32], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(B, seeds, k) weighted counts of the resamples."""
    numbers, texts = drawn.astype(np.float64), np.arange(weights.size)
    found = np.empty((drawn.shape[1], len(partitions), partitions[0].k))
    for place, part in enumerate(partitions):
        member = csr_array((weights, (part.labels[source], texts)), shape=(part.k, weights.size))
        found[:, place] = (member @ numbers).T
    return found
