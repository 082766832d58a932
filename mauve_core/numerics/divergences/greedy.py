"""Which few clusters close most of the gap between two histograms, one after the other, the partition kept.

Matching a cluster gives it the human share p of the candidate's texts, and the clusters not matched yet are thinned or
raised alike to make the sum 1. Dropping a cluster takes the candidate's texts in it away. Each step tries every cluster
that is left and takes the one after which the score is best: the list is greedy, and some other set of as many clusters
may close more.
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
from mauve_core.numerics.divergences.what_if import _shares, error_sums

BEST = {"mauve": 1.0, "mauve_star": 1.0, "frontier_integral": 0.0, "mid": 0.0}
"""Each score where the two sides agree: what is left to it is the gap."""

ACTIONS = ("match", "drop")

_TIE = 1e-12
"""Scores that differ by less are equal: more than the rounding of their fast forms, less than a text of a million."""

_NODES = 30
_RANGE = 3.0
"""Factors within this ratio of each other are interpolated: the sums are analytic but for 0 and what is below, so that
the polynomial's error falls by (sqrt(3) + 1) / (sqrt(3) - 1) = 3.7 with each node, to 1e-17 at 30."""


@dataclass(frozen=True, eq=False)
class Step:
    """One cluster of the list.

    Attributes
    ----------
    cluster : int
    filled : bool
        Whether the candidate has no text there, so that no weight of its texts could do it.
    scores : dict of str to float
        Every score after this step and all before it.
    closed : float
        Share of the gap of the chosen score that they close together, in (0, 1].
    """

    cluster: int
    filled: bool
    scores: dict[str, float]
    closed: float


@dataclass(frozen=True, eq=False)
class _Moves:
    """Candidates for the next step: cluster u's histogram is ``fixed`` + factor[u] ``moving``, but own[u] in itself."""

    clusters: NDArray[np.intp]
    fixed: NDArray[np.float64]
    moving: NDArray[np.float64]
    factor: NDArray[np.float64]
    own: NDArray[np.float64]


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
    """The clusters that close most of the gap.

    Parameters
    ----------
    p_counts, q_counts : (k,) array
        Human texts and candidate texts in each cluster, neither side empty.
    action : {"match", "drop"}
        What is done to the candidate's side of a cluster. Matching also fills a cluster where the candidate has no
        text: the score is then what it would be if the candidate wrote there.
    score : str
        A key of :data:`BEST`: what every step brings as close to its best value as it can.
    steps : int
        At most so many.
    scale, smoothing
        As in :func:`mauve_core.numerics.divergences.scores.score_counts`.

    Returns
    -------
    tuple of Step
        Fewer than ``steps`` where no cluster that is left closes more of the gap. Of clusters that close equally much,
        the one of the smallest number.

    Raises
    ------
    InputError
        Counts that are not two usable histograms, or an action, score, smoothing or number that is not allowed.
    """
    for what, given, names in (
        ("action", action, ACTIONS),
        ("score", score, BEST),
        ("smoothing", smoothing, ADDED_COUNT),
    ):
        if given not in names:
            raise InputError(f"No {what} of that name", allowed=", ".join(names), received=repr(given))
    steps, scale = _checks.whole("The number of steps", steps, low=1), _checks.positive("The scale", scale)
    _shares(p_counts, q_counts)
    p, q = np.asarray(p_counts, dtype=np.float64), np.asarray(q_counts, dtype=np.float64)
    done = np.zeros(p.size, dtype=np.bool_)
    ranked_by = STAR_SMOOTHING if score == "mauve_star" else smoothing
    first = gap = abs(BEST[score] - float(score_counts(p, q, scale=scale, smoothing=smoothing)[score]))
    chosen: list[int] = []
    after: list[NDArray[np.float64]] = []
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
    found = []
    for index, cluster in enumerate(chosen):
        scores = {name: float(values[index]) for name, values in table.items()}
        closed = 1 - abs(BEST[score] - scores[score]) / first
        found.append(Step(cluster, bool(q[cluster] == 0), scores, closed))
    return tuple(found)


def _changed(
    p: NDArray[np.float64], q: NDArray[np.float64], done: NDArray[np.bool_], action: str
) -> NDArray[np.float64]:
    """(k,) counts of the candidate with the clusters that are done matched or dropped."""
    if action == "drop":
        return np.where(done, 0.0, q)
    factor = q.sum() * p[~done].sum() / (p.sum() * q[~done].sum())
    return np.asarray(np.where(done, q.sum() * p / p.sum(), factor * q))


def _moves(
    p: NDArray[np.float64], q: NDArray[np.float64], done: NDArray[np.bool_], action: str, added: float
) -> _Moves:
    """What can be done next, with ``added`` texts in every cluster."""
    # Of clusters with equal counts on both sides the first one stands for all: they would tie.
    left = np.flatnonzero(~done)
    clusters = np.sort(left[np.unique(np.stack([p, q])[:, left], axis=1, return_index=True)[1]])
    if action == "drop":
        kept = np.where(done, 0.0, q)
        clusters = clusters[(kept[clusters] > 0) & (kept[clusters] < kept.sum())]
        factor = 1 / (kept.sum() - kept[clusters] + added * p.size)
        return _Moves(clusters, np.zeros_like(p), kept + added, factor, added * factor)
    # From counts, whose sums are exact: that nothing is left to thin must not depend on rounding. Where nothing is left
    # the rest cannot be given its human share, or has none, and then the move changes nothing.
    human, model = p[~done].sum() - p[clusters], q[~done].sum() - q[clusters]
    clusters, human, model = clusters[model > 0], human[model > 0], model[model > 0]
    n, share = q.sum(), p / p.sum()
    total, factor = n + added * p.size, n * human / (p.sum() * model)
    fixed, moving = np.where(done, n * share, 0.0) + added, np.where(done, 0.0, q)
    return _Moves(clusters, fixed / total, moving / total, factor, (n * share[clusters] + added) / total)


def _after(p: NDArray[np.float64], moves: _Moves, score: str, scale: float) -> NDArray[np.float64]:
    """(u,) the score after each move, to some 1e-13.

    All candidates but for the moved cluster differ by a factor alone, and the sums over clusters are smooth in it: they
    are taken at Chebyshev nodes and interpolated for factors near the median, and taken for each of the others.
    """
    factor, at = moves.factor, moves.clusters
    sums = np.empty((at.size, *_sums(p[:1], p[:1], score).shape))
    middle = np.median(factor)
    near = (factor * np.sqrt(_RANGE) >= middle) & (factor <= middle * np.sqrt(_RANGE))
    near &= near.sum() > _NODES
    if near.any():
        sums[near] = _interpolated(lambda f: _sums(p, moves.fixed + f[:, None] * moves.moving, score), factor[near])
    sums[~near] = _sums(p, moves.fixed + factor[~near, None] * moves.moving, score)
    before = moves.fixed[at] + factor * moves.moving[at]
    sums += _sums(p[at, None], moves.own[:, None], score) - _sums(p[at, None], before[:, None], score)
    sums = np.maximum(sums, 0.0)
    if score in ("frontier_integral", "mid"):
        return sums
    return trapezoid_area(*Frontier(REFERENCE_WEIGHTS, sums[..., 0, :], sums[..., 1, :]).curve(scale))


def _sums(p: NDArray[np.float64], q: NDArray[np.float64], score: str) -> NDArray[np.float64]:
    """(...) or (..., 2, m) sums over clusters that the score is a function of."""
    left, right = np.broadcast_arrays(p, q)
    if score == "frontier_integral":
        return np.asarray(integral_terms(left, right).sum(axis=-1))
    if score == "mid":
        type1, type2 = mixture_terms(left, right, 0.5, 0.5)
        return np.asarray((type1 + type2).sum(axis=-1) / 2)
    return error_sums(left, right)


def _interpolated(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]], x: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The function at x (u,), by the polynomial through its values at Chebyshev nodes between the ends of x."""
    centre, half = (x.max() + x.min()) / 2, (x.max() - x.min()) / 2
    nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    values = function(centre + half * nodes)
    factors = 2 / _NODES * chebvander(nodes, _NODES - 1)
    factors[:, 0] /= 2
    positions = np.divide(x - centre, half, out=np.zeros_like(x), where=half > 0)
    found = chebvander(positions, _NODES - 1) @ (factors.T @ values.reshape(_NODES, -1))
    return np.asarray(found.reshape(x.size, *values.shape[1:]))
