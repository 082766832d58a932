"""Partitions to scores with their spread: a standard deviation over k-means seeds, a bootstrap interval over texts.

Works on the labels that a comparison keeps, so that another scaling constant or smoothing needs no new clustering and
is fast enough for a slider. Two facts make it fast. A frontier does not depend on the scaling constant (JMLR 2023,
section 3.1), so the frontiers of all resamples can be kept, and only the area under exp(-c x), exp(-c y) is taken anew.
And a bin's share of an error depends on nothing but its two counts, of which there are few different pairs, so shares
are tabulated by pair and summed by a sparse product.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mauve_core.config import HUMAN, PartitionKind
from mauve_core.errors import InputError
from mauve_core.numerics.bootstrap import centred_interval, resample_weights, resampled_counts
from mauve_core.numerics.divergences import frontier_integral, mid_point, mixture_terms
from mauve_core.numerics.frontier import REFERENCE_WEIGHTS, Frontier, trapezoid_area
from mauve_core.numerics.scores import STAR_SMOOTHING
from mauve_core.numerics.smoothing import ADDED_COUNT, probabilities
from mauve_core.result import Candidate, Comparison, Estimate

SCORE_BOUNDS = {"mauve": (0.0, 1.0), "mauve_star": (0.0, 1.0), "frontier_integral": (0.0, 1.0), "mid": (0.0, np.log(2))}
"""Range of each score; the last is in nats."""


_PURPOSES = ("clustering", "bootstrap", "projection", "subsets", "methods", "permutations", "probes")


def stream(seed: int, purpose: str) -> SeedSequence:
    """The seed sequence of a purpose, one of those above, from the one seed."""
    return SeedSequence(seed).spawn(len(_PURPOSES))[_PURPOSES.index(purpose)]


@dataclass(frozen=True)
class CountSamples:
    """Histograms of one candidate: of the texts as they are, and of the bootstrap's resamples.

    Attributes
    ----------
    p, q : (seeds, k) int64 arrays
        Human and candidate counts under each k-means seed.
    p_resampled, q_resampled : (B, seeds, k) int64 arrays
        The same for each resample of the texts, which all seeds share.
    """

    p: NDArray[np.int64]
    q: NDArray[np.int64]
    p_resampled: NDArray[np.int64]
    q_resampled: NDArray[np.int64]


def sample_counts(comparison: Comparison, kind: PartitionKind = "pairwise") -> dict[str, CountSamples]:
    """Histograms and bootstrap histograms of every candidate; texts of each side are resampled independently.

    One resample of the human texts serves all candidates, so that their intervals move together. Depends on the
    stored labels and ``config.score`` alone: the same comparison gives the same numbers every time.
    """
    score = comparison.config.score
    streams = stream(score.seed, "bootstrap").spawn(1 + len(comparison.candidates))
    weights = [
        resample_weights(source.n, score.bootstrap, np.random.default_rng(child))
        for source, child in zip(comparison.sources, streams, strict=True)
    ]
    samples = {}
    for candidate, candidate_weights in zip(comparison.candidates, weights[1:], strict=True):
        partitions = comparison.joint if kind == "joint" else candidate.partitions
        name = candidate.name
        samples[name] = CountSamples(
            p=np.stack([part.counts(HUMAN) for part in partitions]),
            q=np.stack([part.counts(name) for part in partitions]),
            p_resampled=np.stack([resampled_counts(p.labels[HUMAN], p.k, weights[0]) for p in partitions], axis=1),
            q_resampled=np.stack(
                [resampled_counts(p.labels[name], p.k, candidate_weights) for p in partitions], axis=1
            ),
        )
    return samples


@dataclass(frozen=True)
class Spread:
    """A quantity of one candidate under each seed, and again for each resample of the texts.

    Attributes
    ----------
    values : (seeds,) float64 array
    resampled : (B, seeds) float64 array
    """

    values: NDArray[np.float64]
    resampled: NDArray[np.float64]


@dataclass(frozen=True)
class ScoreBasis:
    """What the scores of one candidate need under one smoothing, whatever the scaling constant.

    Attributes
    ----------
    plain, star : (Frontier, Frontier)
        Of the texts, (seeds, m), and of the resamples, (B, seeds, m); ``star`` is Krichevsky-Trofimov smoothed.
    frontier_integral, mid : Spread
    """

    plain: tuple[Frontier, Frontier]
    star: tuple[Frontier, Frontier]
    frontier_integral: Spread
    mid: Spread


def score_basis(comparison: Comparison, kind: PartitionKind, smoothing: str) -> dict[str, ScoreBasis]:
    """Everything but the scaling constant, for every candidate; worth keeping between calls of :func:`rescored`.

    Raises
    ------
    InputError
        The smoothing has no such name.
    """
    if smoothing not in ADDED_COUNT:
        raise InputError("No smoothing of that name", allowed=", ".join(ADDED_COUNT), received=repr(smoothing))
    return {name: basis_of(counts, smoothing) for name, counts in sample_counts(comparison, kind).items()}


def rescored(comparison: Comparison, kind: PartitionKind, basis: Mapping[str, ScoreBasis], scale: float) -> Comparison:
    """The comparison with the scores of that partition under ``scale`` and the smoothing of ``basis``.

    Parameters
    ----------
    kind : {"pairwise", "joint"}
        The partition that ``basis`` was made from; the scores of the other one stay as they are.
    basis : mapping
        From :func:`score_basis`.
    scale : float > 0
        The constant c of MAUVE; stands in ``config.score.scale`` of what is returned.
    """
    score = dataclasses.replace(comparison.config.score, scale=scale)
    candidates = []
    for candidate in comparison.candidates:
        estimates = estimates_of(basis[candidate.name], scale, score.confidence)
        candidates.append(_with_scores(candidate, kind, estimates))
    config = dataclasses.replace(comparison.config, score=score)
    return dataclasses.replace(comparison, candidates=tuple(candidates), config=config)


def _with_scores(candidate: Candidate, kind: PartitionKind, scores: Mapping[str, Estimate]) -> Candidate:
    if kind == "joint":
        return dataclasses.replace(candidate, joint_scores=scores)
    return dataclasses.replace(candidate, scores=scores)


def basis_of(counts: CountSamples, smoothing: str) -> ScoreBasis:
    """Everything but the scaling constant, from one candidate's histograms."""
    star = _frontiers(counts, STAR_SMOOTHING)
    p, q = probabilities(counts.p, smoothing), probabilities(counts.q, smoothing)
    p_resampled = probabilities(counts.p_resampled, smoothing)
    q_resampled = probabilities(counts.q_resampled, smoothing)
    return ScoreBasis(
        plain=star if smoothing == STAR_SMOOTHING else _frontiers(counts, smoothing),
        star=star,
        frontier_integral=Spread(frontier_integral(p, q), frontier_integral(p_resampled, q_resampled)),
        mid=Spread(mid_point(p, q), mid_point(p_resampled, q_resampled)),
    )


def _frontiers(counts: CountSamples, smoothing: str) -> tuple[Frontier, Frontier]:
    own = tabulated_frontier(counts.p, counts.q, smoothing)
    return own, tabulated_frontier(counts.p_resampled, counts.q_resampled, smoothing)


def tabulated_frontier(p_counts: NDArray[np.int64], q_counts: NDArray[np.int64], smoothing: str) -> Frontier:
    """The frontiers of many pairs of histograms of equal totals, on the reference grid.

    Parameters
    ----------
    p_counts, q_counts : (..., k) int64 arrays
        Human and candidate counts; every row of ``p_counts`` has one sum, and so has every row of ``q_counts``.
    smoothing : {"none", "krichevsky-trofimov"}

    Returns
    -------
    Frontier
        Equal to ``divergence_frontier`` of the smoothed counts, to rounding.
    """
    shape, k = p_counts.shape[:-1], p_counts.shape[-1]
    radix = int(q_counts.max()) + 1
    codes, place = np.unique((p_counts.astype(np.int64) * radix + q_counts).ravel(), return_inverse=True)
    added = ADDED_COUNT[smoothing]
    p = (codes // radix + added) / (p_counts.reshape(-1, k)[0].sum() + added * k)
    q = (codes % radix + added) / (q_counts.reshape(-1, k)[0].sum() + added * k)
    table = np.empty((codes.size, 2, REFERENCE_WEIGHTS.size))
    for column, weight in enumerate(REFERENCE_WEIGHTS):
        table[:, 0, column], table[:, 1, column] = mixture_terms(p, q, weight, 1 - weight)
    rows = place.size // k
    member = csr_array((np.ones(place.size), place.ravel(), np.arange(rows + 1) * k), shape=(rows, codes.size))
    errors = (member @ table.reshape(codes.size, -1)).reshape(*shape, 2, REFERENCE_WEIGHTS.size)
    return Frontier(REFERENCE_WEIGHTS, errors[..., 0, :], errors[..., 1, :])


def estimates_of(basis: ScoreBasis, scale: float, confidence: float) -> dict[str, Estimate]:
    """The scores of one candidate: mean and standard deviation over seeds, and the bootstrap's interval of the mean.

    The interval is centred on the mean (see :func:`mauve_core.numerics.bootstrap.centred_interval`).
    """
    spreads = {
        "mauve": Spread(*(_areas(frontier, scale) for frontier in basis.plain)),
        "mauve_star": Spread(*(_areas(frontier, scale) for frontier in basis.star)),
        "frontier_integral": basis.frontier_integral,
        "mid": basis.mid,
    }
    return {score: _estimate(spread, confidence, SCORE_BOUNDS[score]) for score, spread in spreads.items()}


def _areas(frontier: Frontier, scale: float) -> NDArray[np.float64]:
    return trapezoid_area(*frontier.curve(scale))


def _estimate(spread: Spread, confidence: float, bounds: tuple[float, float]) -> Estimate:
    mean = float(spread.values.mean())
    low, high = centred_interval(mean, spread.resampled.mean(axis=1), confidence, bounds=bounds)
    sd = float(spread.values.std(ddof=1)) if len(spread.values) > 1 else None
    return Estimate(mean, sd, low, high, tuple(float(value) for value in spread.values))
