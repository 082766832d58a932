"""What-if scores: texts or clusters dropped, thinned or weighted, and the few clusters that close most of the gap.

The partition is that of all texts, so nothing is clustered again; the remaining texts would give other clusters. A
weight is the number of texts that a text counts for; MAUVE* adds its half text to the weighted counts.

The greedy list matches a cluster (the candidate gets the human share p, the clusters not yet matched are scaled by one
factor) or drops it, each time the one with the best resulting score. Another set of this size may close more.

For many resamples after a change in few clusters, let a and b be a bin's counts on the two sides and A, B the sums:

    log r = log(w / A) + log(a + e^s b),    s = log((1 - w) / w) + log(A / B),

so F(s) = sum b log(a + e^s b) and G(s) = sum a log(a + e^s b) give both errors, and texts dropped elsewhere change a
bin's term through s alone. F and G, analytic but for log(a / b) +- i pi, are stored as Chebyshev polynomials around the
values of s of the grid: after a change they are evaluated at another s, less the old terms of the changed bins plus the
new ones. The terms of the frontier integral work the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import xlogy

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks
from mauve_core.stats.divergences import ADDED_COUNT, REFERENCE_WEIGHTS, CountPairs, integral_terms, probabilities
from mauve_core.stats.scores import SCORES, Score, score_counts

# Numbers whose logarithms are taken at once, so that they stay in a core's cache.
_BLOCK = 1 << 15


def weighted_counts(labels: ArrayLike, k: int, weights: ArrayLike) -> NDArray[np.float64]:
    """Weighted number of texts in each cluster.

    Parameters
    ----------
    labels : (n,) array of int
        Cluster of each text, 0 to k - 1.
    k : int
        Clusters.
    weights : (..., n) array
        Weight of each text, finite and at least 0; a boolean mask keeps the texts where it is true.

    Returns
    -------
    (..., k) float64 array

    Raises
    ------
    InputError
        Labels lie outside 0 to k - 1, or the weights are not usable or not one per text.
    """
    k = _checks.whole("The number of clusters", k, low=1)
    clusters = np.asarray(labels)
    if (
        clusters.ndim != 1
        or clusters.dtype.kind not in "iu"
        or (clusters.size and not 0 <= clusters.min() <= clusters.max() < k)
    ):
        raise InputError("Labels are not usable", allowed=f"one row of whole numbers from 0 to {k - 1}")
    table = _weights(weights, clusters.size, "texts")
    if table.ndim == 1:
        return np.bincount(clusters, weights=table, minlength=k).astype(np.float64)
    member = csr_array((np.ones(clusters.size), (clusters, np.arange(clusters.size))), shape=(k, clusters.size))
    return np.ascontiguousarray((member @ table.reshape(-1, clusters.size).T).T).reshape(*table.shape[:-1], k)


def dropped(k: int, clusters: Sequence[int]) -> NDArray[np.float64]:
    """(k,) weights that drop the texts of these clusters."""
    weights = np.ones(_checks.whole("The number of clusters", k, low=1))
    weights[_chosen(clusters, k)] = 0.0
    return weights


def capped(p_counts: ArrayLike, q_counts: ArrayLike, ratio: float = 1.0) -> NDArray[np.float64]:
    """(k,) weights of the candidate that thin every cluster to at most ``ratio`` times its human share.

    A cluster with share q counts min(q, ratio p) before normalization; no cluster is raised. At ratio 1 the part that
    the two histograms have in common remains.
    """
    ratio = _checks.positive("The ratio", ratio)
    p, q = paired_shares(p_counts, q_counts)
    return np.minimum(np.divide(ratio * p, q, out=np.ones_like(q), where=q > 0), 1.0)


def matched(p_counts: ArrayLike, q_counts: ArrayLike, clusters: Sequence[int]) -> NDArray[np.float64]:
    """(k,) weights of the candidate that give these clusters their human shares and scale the others by one factor.

    The weights keep the total number of texts.

    Raises
    ------
    InputError
        The candidate has no text in a cluster where humans write, or none in the other clusters.
    """
    p, q = paired_shares(p_counts, q_counts)
    chosen = np.zeros(p.size, dtype=np.bool_)
    chosen[_chosen(clusters, p.size)] = True
    rest, own = float(p[~chosen].sum()), float(q[~chosen].sum())
    empty = chosen & (q == 0) & (p > 0)
    if empty.any() or (rest > 0 and own == 0):
        where = ", ".join(str(cluster) for cluster in np.flatnonzero(empty)) or "the unmatched clusters"
        raise InputError(f"The candidate has no text in {where}, so weights cannot give it any")
    weights = np.full(p.size, rest / own if own > 0 else 1.0)
    return np.where(chosen, np.divide(p, q, out=np.ones_like(q), where=q > 0), weights)


def paired_shares(p_counts: ArrayLike, q_counts: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares of one pair of histograms, each (k,); InputError if the counts are not such a pair."""
    p, q = probabilities(p_counts), probabilities(q_counts)
    if p.ndim != 1 or p.shape != q.shape:
        received = f"shapes {p.shape} and {q.shape}"
        raise InputError("The counts are not one pair of histograms", allowed="two of shape (k,)", received=received)
    return p, q


def _weights(weights: ArrayLike, size: int, what: str) -> NDArray[np.float64]:
    array = _checks.numbers(weights, "The array of weights").astype(np.float64)
    if array.ndim == 0 or array.shape[-1] != size:
        allowed, received = f"one weight for each of the {size} {what}", f"shape {array.shape}"
        raise InputError(f"The weights do not match the {what}", allowed=allowed, received=received)
    if not np.isfinite(array).all() or (array < 0).any():
        raise InputError("The weights are not usable", allowed="finite numbers that are not negative")
    return array


def _chosen(clusters: Sequence[int], k: int) -> NDArray[np.intp]:
    chosen = np.asarray(clusters, dtype=np.intp)
    if chosen.ndim != 1 or (chosen.size and not 0 <= chosen.min() <= chosen.max() < k):
        raise InputError("No cluster has that number", allowed=f"0 to {k - 1}", received=str(list(clusters)))
    return chosen


_Array = NDArray[np.float64]

ACTIONS = ("match", "drop")

# Smaller differences count as ties: above the rounding of the fast forms, below one text in a million.
_TIE = 1e-12

_NODES = 30
# Factors within this ratio of each other are interpolated. The sums are analytic except at 0 and below, so the
# polynomial's error falls by (sqrt(3) + 1) / (sqrt(3) - 1) = 3.7 with each node, to 1e-17 at 30.
_RANGE = 3.0


@dataclass(frozen=True, eq=False)
class Step:
    """One cluster of the list.

    Attributes
    ----------
    cluster : int
    filled : bool
        Whether the candidate has no text there, so that no weighting of its texts gives this result.
    scores : dict of str to float
        Every score after this step and all steps before it.
    closed : float
        Share of the gap in the chosen score that these steps close together, in (0, 1].
    """

    cluster: int
    filled: bool
    scores: dict[str, float]
    closed: float


@dataclass(frozen=True, eq=False)
class _Moves:
    """Candidates for the next step: the histogram of cluster u is ``fixed`` + factor[u] ``moving``, own[u] at u."""

    clusters: NDArray[np.intp]
    fixed: _Array
    moving: _Array
    factor: _Array
    own: _Array


def greedy(
    p_counts: ArrayLike,
    q_counts: ArrayLike,
    *,
    action: str = "match",
    score: str = "mauve",
    steps: int = 10,
    scale: float = 5.0,
    smoothing: str = "none",
) -> tuple[Step, ...]:
    """Find the clusters that close most of the gap.

    Parameters
    ----------
    p_counts, q_counts : (k,) array
        Human texts and candidate texts in each cluster, neither side empty.
    action : {"match", "drop"}
        Change to the candidate's side of a cluster. Matching also fills clusters where the candidate has no text; the
        score is then the one it would have if it wrote there.
    score : str
        A name of ``SCORES``; each step brings it as close to its best value as possible.
    steps : int
        Largest number of steps.
    scale, smoothing
        See :func:`mauve_core.stats.scores.score_counts`.

    Returns
    -------
    tuple of Step
        Fewer than ``steps`` if no remaining cluster closes more of the gap. Ties go to the lowest cluster number.

    Raises
    ------
    InputError
        The counts are not two usable histograms, or the action, score, smoothing or number of steps is invalid.
    """
    for what, value, names in (
        ("action", action, ACTIONS),
        ("score", score, SCORES),
        ("smoothing", smoothing, ADDED_COUNT),
    ):
        if value not in names:
            raise InputError(f"Unknown {what}", allowed=", ".join(names), received=repr(value))
    steps, scale = _checks.whole("The number of steps", steps, low=1), _checks.positive("The scale", scale)
    paired_shares(p_counts, q_counts)  # for its checks
    p, q = np.asarray(p_counts, dtype=np.float64), np.asarray(q_counts, dtype=np.float64)
    done = np.zeros(p.size, dtype=np.bool_)
    chosen_score = SCORES[score]
    ranked_by, equal = chosen_score.smoothing or smoothing, chosen_score.best
    first = gap = abs(equal - float(score_counts(p, q, scale=scale, smoothing=smoothing)[score]))
    chosen: list[int] = []
    after: list[_Array] = []
    while len(chosen) < steps:
        moves = _moves(p, q, done, action, ADDED_COUNT[ranked_by])
        if not moves.clusters.size:
            break
        gaps = np.abs(equal - _after(probabilities(p, ranked_by), moves, chosen_score, scale))
        if gaps.min() >= gap - _TIE:
            break
        best = int(np.flatnonzero(gaps <= gaps.min() + _TIE)[0])
        gap, cluster = float(gaps[best]), int(moves.clusters[best])
        done[cluster] = True
        chosen.append(cluster)
        after.append(_changed(p, q, done, action))
    if not chosen:
        return ()
    table = score_counts(p, np.stack(after), scale=scale, smoothing=smoothing)
    result = []
    for index, cluster in enumerate(chosen):
        scores = {name: float(values[index]) for name, values in table.items()}
        closed = 1 - abs(equal - scores[score]) / first
        result.append(Step(cluster, bool(q[cluster] == 0), scores, closed))
    return tuple(result)


def _changed(p: _Array, q: _Array, done: NDArray[np.bool_], action: str) -> _Array:
    """(k,) counts of the candidate after matching or dropping the clusters that are done."""
    if action == "drop":
        return np.where(done, 0.0, q)
    factor = q.sum() * p[~done].sum() / (p.sum() * q[~done].sum())
    return np.asarray(np.where(done, q.sum() * p / p.sum(), factor * q))


def _moves(p: _Array, q: _Array, done: NDArray[np.bool_], action: str, added: float) -> _Moves:
    """Possible next moves, with ``added`` texts in every cluster."""
    # The first of several clusters with equal counts on both sides stands for all: they would tie.
    left = np.flatnonzero(~done)
    clusters = np.sort(left[np.unique(np.stack([p, q])[:, left], axis=1, return_index=True)[1]])
    if action == "drop":
        remaining = np.where(done, 0.0, q)
        clusters = clusters[(remaining[clusters] > 0) & (remaining[clusters] < remaining.sum())]
        factor = 1 / (remaining.sum() - remaining[clusters] + added * p.size)
        return _Moves(clusters, np.zeros_like(p), remaining + added, factor, added * factor)
    # Sums of counts are exact, so rounding does not decide whether anything is left to scale. If nothing is left, the
    # rest has no human share or cannot get it, and the move changes nothing.
    human, model = p[~done].sum() - p[clusters], q[~done].sum() - q[clusters]
    clusters, human, model = clusters[model > 0], human[model > 0], model[model > 0]
    n, share = q.sum(), p / p.sum()
    total, factor = n + added * p.size, n * human / (p.sum() * model)
    fixed, moving = np.where(done, n * share, 0.0) + added, np.where(done, 0.0, q)
    return _Moves(clusters, fixed / total, moving / total, factor, (n * share[clusters] + added) / total)


def _after(p: _Array, moves: _Moves, score: Score, scale: float) -> _Array:
    """(u,) score after each move, to about 1e-13.

    Outside the moved cluster, candidates differ by a factor only, and the sums over clusters are smooth in that
    factor. They are interpolated from Chebyshev nodes for factors near the median, and direct for the others. A score
    without such sums is computed of every candidate.
    """
    factor, clusters, summed = moves.factor, moves.clusters, score.sums
    if summed is None:
        found = []
        for part in _checks.row_blocks(clusters.size, max(1, _BLOCK // p.size)):
            q = moves.fixed + factor[part, None] * moves.moving
            q[np.arange(len(q)), clusters[part]] = moves.own[part]
            found.append(score.value(score.of(np.broadcast_to(p, q.shape), q), scale))
        return np.concatenate(found)
    sums = np.empty((clusters.size, *summed(p[:1], p[:1]).shape))
    middle = np.median(factor)
    near = (factor * np.sqrt(_RANGE) >= middle) & (factor <= middle * np.sqrt(_RANGE))
    near &= near.sum() > _NODES
    if near.any():
        sums[near] = _interpolated(lambda f: summed(p, moves.fixed + f[:, None] * moves.moving), factor[near])
    sums[~near] = summed(p, moves.fixed + factor[~near, None] * moves.moving)
    before = moves.fixed[clusters] + factor * moves.moving[clusters]
    sums += summed(p[clusters, None], moves.own[:, None]) - summed(p[clusters, None], before[:, None])
    return score.value(np.maximum(sums, 0.0), scale)


def _interpolated(function: Callable[[_Array], _Array], x: _Array) -> _Array:
    """The function at x (u,), from the polynomial through its values at Chebyshev nodes between the extremes of x."""
    centre, half = (x.max() + x.min()) / 2, (x.max() - x.min()) / 2
    nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    values = function(centre + half * nodes)
    factors = 2 / _NODES * chebvander(nodes, _NODES - 1)
    factors[:, 0] /= 2
    positions = np.divide(x - centre, half, out=np.zeros_like(x), where=half > 0)
    found = chebvander(positions, _NODES - 1) @ (factors.T @ values.reshape(_NODES, -1))
    return np.asarray(found.reshape(x.size, *values.shape[1:]))


_Pair = tuple[NDArray[np.float64], NDArray[np.float64]]

# Largest supported change of log(A / B): one side may lose a third of its texts.
REACH = 0.4

_LOG_ODDS = np.log((1 - REFERENCE_WEIGHTS) / REFERENCE_WEIGHTS)

_LAST = REFERENCE_WEIGHTS.size - 1
# First and last weight of the grid, one behind, and nodes. With x = pi / half the width, the error falls by x + sqrt(1
# + x^2) with each node: by 2.2 in the middle, to 1e-14; by 16 at the ends, where all but a millionth is linear in s.
_SEGMENTS = ((0, 1, 8), (1, _LAST, 40), (_LAST, _LAST + 1, 8))

_INTEGRAL_NODES = 10


@dataclass(frozen=True, eq=False)
class Bins:
    """Some bins of every histogram: their counts before and after the change, with smoothing, and their histograms.

    Attributes
    ----------
    before, after : two (B, c) float64 arrays each
        First side and second side.
    member : (seeds, c) float64 array
        1 where a bin belongs to the histogram of a seed.
    """

    before: _Pair
    after: _Pair
    member: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ShiftedSums:
    """Sums over the bins of (B, seeds) pairs of histograms as functions of s.

    Attributes
    ----------
    centre : float
        log(A / B) of the histograms.
    own : (2, B, seeds) float64 array
        Sums of a log a and of b log b.
    segments : tuple of (2, B, seeds, nodes) float64 arrays
        Coefficients of G and F for each part of the grid.
    integral : (B, seeds, nodes) float64 array
        Coefficients of the sum of the frontier integral's terms of a and e^s b, s about ``centre``.
    """

    centre: float
    own: NDArray[np.float64]
    segments: tuple[NDArray[np.float64], ...]
    integral: NDArray[np.float64]

    def serves(self, totals: _Pair) -> bool:
        """Whether all histograms of these sums, with smoothing, lie within ``REACH``."""
        return bool((np.abs(np.log(totals[0] / totals[1]) - self.centre) <= REACH).all())

    def errors(self, totals: _Pair, bins: Bins) -> NDArray[np.float64]:
        """(B, seeds, 2, m) :func:`error_sums` with these changed bins and these sums A and B (B,); unchecked.

        Accurate to about 1e-13 nats in absolute terms.
        """
        shift = np.log(totals[0] / totals[1])
        sums = np.concatenate(
            [
                _evaluated(coefficients, shift[:, None] - self.centre + _LOG_ODDS[first:last], *_interval(first, last))
                for coefficients, (first, last, _) in zip(self.segments, _SEGMENTS, strict=True)
            ],
            axis=-1,
        )
        odds = np.exp(_LOG_ODDS + shift[:, None])[:, None, :]
        own = self.own.copy()
        for (a, b), sign in ((bins.before, -1.0), (bins.after, 1.0)):
            logs = b[..., None] * odds
            logs += a[..., None]
            logs[logs == 0] = 1.0  # empty on both sides, where 0 log 0 = 0
            np.log(logs, out=logs)
            for index, side in enumerate((a, b)):
                sums[index] += sign * (bins.member @ (side[..., None] * logs))
                own[index] += sign * (xlogy(side, side) @ bins.member.T)
        p_total, q_total = (total[:, None, None] for total in totals)
        offset = -np.log(REFERENCE_WEIGHTS)
        type_1 = (own[1][..., None] - sums[1]) / q_total + (offset + shift[:, None, None])
        type_2 = (own[0][..., None] - sums[0]) / p_total + offset
        return np.stack([type_1, type_2], axis=-2)

    def frontier_integral(self, totals: _Pair, bins: Bins) -> NDArray[np.float64]:
        """(B, seeds) frontier integrals of the same histograms."""
        ratio = (totals[0] / totals[1])[:, None]
        shift = np.log(ratio) - self.centre
        sums = _evaluated(self.integral, shift, -REACH, REACH)[..., 0]
        for (a, b), sign in ((bins.before, -1.0), (bins.after, 1.0)):
            sums += sign * (integral_terms(a, ratio * b) @ bins.member.T)
        return np.asarray(np.clip(sums / totals[0][:, None], 0.0, 1.0))


def shifted_sums(pairs: CountPairs, added: float) -> ShiftedSums:
    """Sums of (B, seeds) pairs of histograms, with ``added`` texts added to every bin."""
    a, b = pairs.p + added, pairs.q + added
    centre = float(np.log((pairs.n + added * pairs.k) / (pairs.m + added * pairs.k)).mean())
    columns, ends = [xlogy(a, a)[:, None], xlogy(b, b)[:, None]], [2]
    for first, last, nodes in _SEGMENTS:
        logs = a[:, None] + np.exp(_nodes(nodes, *_interval(first, last)) + centre) * b[:, None]
        logs = np.log(np.where(logs == 0, 1.0, logs))
        columns += [a[:, None] * logs, b[:, None] * logs]
        ends += [ends[-1] + nodes, ends[-1] + 2 * nodes]
    scaled = np.exp(_nodes(_INTEGRAL_NODES, -REACH, REACH) + centre) * b[:, None]
    columns.append(integral_terms(np.broadcast_to(a[:, None], scaled.shape), scaled))
    own, *sums = np.split(pairs.sums(np.concatenate(columns, axis=1)), ends, axis=-1)
    coefficients = [_coefficients(each) for each in sums]
    segments = tuple(np.stack(coefficients[index : index + 2]) for index in range(0, 2 * len(_SEGMENTS), 2))
    return ShiftedSums(centre, np.moveaxis(own, -1, 0), segments, coefficients[-1])


def _interval(first: int, last: int) -> tuple[float, float]:
    """Range of s for the weights of a part of the grid, at the center and ``REACH`` beyond."""
    return float(_LOG_ODDS[last - 1]) - REACH, float(_LOG_ODDS[first]) + REACH


def _nodes(number: int, low: float, high: float) -> NDArray[np.float64]:
    return np.asarray((high + low) / 2 + (high - low) / 2 * np.cos(np.pi * (np.arange(number) + 0.5) / number))


def _coefficients(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients of the polynomial through values (..., nodes) at Chebyshev nodes."""
    number = values.shape[-1]
    factors = 2 / number * chebvander(np.cos(np.pi * (np.arange(number) + 0.5) / number), number - 1)
    factors[:, 0] /= 2
    return np.asarray(values @ factors)


def _evaluated(
    coefficients: NDArray[np.float64], s: NDArray[np.float64], low: float, high: float
) -> NDArray[np.float64]:
    """(..., B, seeds, places) values of the polynomials (..., B, seeds, nodes) at s (B, places)."""
    basis = chebvander((s - (high + low) / 2) / ((high - low) / 2), coefficients.shape[-1] - 1)
    return np.asarray(coefficients @ basis.transpose(0, 2, 1))
