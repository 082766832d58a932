"""Find the few clusters that close most of the gap between two histograms, with the partition kept.

Matching a cluster gives it the human share p of the candidate's texts and scales the clusters not yet matched by one
factor, so that the sum is 1. Dropping a cluster removes the candidate's texts from it. Each step tries every remaining
cluster and takes the one with the best resulting score. The search is greedy: another set of this size may close more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.divergences.frontier import REFERENCE_WEIGHTS, Frontier, trapezoid_area
from mauve_core.numerics.divergences.kl import integral_terms, mixture_terms
from mauve_core.numerics.divergences.scores import STAR_SMOOTHING, score_counts
from mauve_core.numerics.divergences.smoothing import ADDED_COUNT, probabilities
from mauve_core.numerics.divergences.what_if import error_sums, paired_shares

_Array = NDArray[np.float64]

# Value of each score if both sides agree; the gap is the distance to it.
BEST = {"mauve": 1.0, "mauve_star": 1.0, "frontier_integral": 0.0, "mid": 0.0}

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
        A key of :data:`BEST`; each step brings it as close to its best value as possible.
    steps : int
        Largest number of steps.
    scale, smoothing
        See :func:`mauve_core.numerics.divergences.scores.score_counts`.

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
        ("score", score, BEST),
        ("smoothing", smoothing, ADDED_COUNT),
    ):
        if value not in names:
            raise InputError(f"Unknown {what}", allowed=", ".join(names), received=repr(value))
    steps, scale = _checks.whole("The number of steps", steps, low=1), _checks.positive("The scale", scale)
    paired_shares(p_counts, q_counts)  # for its checks
    p, q = np.asarray(p_counts, dtype=np.float64), np.asarray(q_counts, dtype=np.float64)
    done = np.zeros(p.size, dtype=np.bool_)
    ranked_by = STAR_SMOOTHING if score == "mauve_star" else smoothing
    first = gap = abs(BEST[score] - float(score_counts(p, q, scale=scale, smoothing=smoothing)[score]))
    chosen: list[int] = []
    after: list[_Array] = []
    while len(chosen) < steps:
        moves = _moves(p, q, done, action, ADDED_COUNT[ranked_by])
        if not moves.clusters.size:
            break
        gaps = np.abs(BEST[score] - _after(probabilities(p, ranked_by), moves, score, scale))
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
        closed = 1 - abs(BEST[score] - scores[score]) / first
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


def _after(p: _Array, moves: _Moves, score: str, scale: float) -> _Array:
    """(u,) score after each move, to about 1e-13.

    Outside the moved cluster, candidates differ by a factor only, and the sums over clusters are smooth in that
    factor. They are interpolated from Chebyshev nodes for factors near the median, and direct for the others.
    """
    factor, clusters = moves.factor, moves.clusters
    sums = np.empty((clusters.size, *_sums(p[:1], p[:1], score).shape))
    middle = np.median(factor)
    near = (factor * np.sqrt(_RANGE) >= middle) & (factor <= middle * np.sqrt(_RANGE))
    near &= near.sum() > _NODES
    if near.any():
        sums[near] = _interpolated(lambda f: _sums(p, moves.fixed + f[:, None] * moves.moving, score), factor[near])
    sums[~near] = _sums(p, moves.fixed + factor[~near, None] * moves.moving, score)
    before = moves.fixed[clusters] + factor * moves.moving[clusters]
    sums += _sums(p[clusters, None], moves.own[:, None], score) - _sums(p[clusters, None], before[:, None], score)
    sums = np.maximum(sums, 0.0)
    if score in ("frontier_integral", "mid"):
        return sums
    return trapezoid_area(*Frontier(REFERENCE_WEIGHTS, sums[..., 0, :], sums[..., 1, :]).curve(scale))


def _sums(p: _Array, q: _Array, score: str) -> _Array:
    """(...) or (..., 2, m) sums over clusters that determine the score."""
    left, right = np.broadcast_arrays(p, q)
    if score == "frontier_integral":
        return np.asarray(integral_terms(left, right).sum(axis=-1))
    if score == "mid":
        type_1, type_2 = mixture_terms(left, right, 0.5, 0.5)
        return np.asarray((type_1 + type_2).sum(axis=-1) / 2)
    return error_sums(left, right)


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
