"""Permutation tests, the delete-a-group jackknife, scores with less bias, and intervals that hold for many estimates.

**Permutation.** If P = Q, the side of a text is an accident: sides are drawn anew, units as wholes. The observed sides
count as one of the draws, so that a p-value holds its level at any number of draws (Phipson and Smyth 2010).
**Jackknife.** A statistic of all texts and of all but one of G groups, which may differ in size, gives a standard
deviation for anything that changes smoothly with the texts (Busing, Meijer and van der Leeden, Statistics and Computing
9, 1999, (8) and (9)).
**Bias.** Resamples exceed the sample by about as much as the sample exceeds its sources, so twice an error less its
mean over resamples of units estimates that of the sources (Efron and Tibshirani 1993, section 10.6). An estimate below
0 becomes 0. Not from the papers on MAUVE; ``benchmarks/bias_reduction.py`` measures it.
**Simultaneous intervals.** An interval of one estimate does not hold for the largest of many. Half-widths have the
ratios of scales s_j, and their size is that of the largest |x_j - mean x_j| / s_j of a resample (Romano and Wolf,
Econometrica 2005, section 5). s_j is the standard deviation plus its mean over the estimates, or skewed ones that
hardly vary would decide the width of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks
from mauve_core.stats.divergences import (
    REFERENCE_WEIGHTS,
    CountPairs,
    Frontier,
    count_pairs,
    integral_terms,
    mixture_terms,
    probabilities,
)
from mauve_core.stats.units import Units, by_appearance, draw_blocks, draw_slots, resampled_counts

# Rows of the first side (b, N) and of the second (b, N) -> (b,) scores; rows in neither side are left out.
Statistic: TypeAlias = Callable[[NDArray[np.bool_], NDArray[np.bool_]], NDArray[np.float64]]

# Entries of a table of sides handled at once.
_ENTRIES = 1 << 23

# Two scores tie within this share of the largest: sums of one score in two orders differ by less.
_TIE = 1e-9


@dataclass(frozen=True)
class PermutationTest:
    """A test of P = Q.

    Attributes
    ----------
    statistic : float
        Score of the observed sides.
    p_value : float
        (1 + draws at least as far) / (1 + draws), in (0, 1].
    null : (B,) float64 array
        Score of each draw.
    n, m : int
        Texts of P and of Q.
    notes : tuple of str
        Notes on texts that no draw could move.
    """

    statistic: float
    p_value: float
    null: NDArray[np.float64]
    n: int
    m: int
    notes: tuple[str, ...] = ()


def permutation_test(
    statistic: Statistic,
    n: int,
    m: int,
    *,
    permutations: int = 999,
    seed: int | np.random.SeedSequence,
    units: ArrayLike | None = None,
    higher_is_closer: bool = False,
) -> PermutationTest:
    """Test P = Q by redrawing which n of the n + m texts are P's.

    Parameters
    ----------
    statistic : callable
        See :data:`Statistic`; rows 0 to n - 1 are P's texts, the m others Q's. Scores may be infinite.
    n, m : int
        Texts of each side.
    permutations : int
        Draws, B; the p-value is a multiple of 1 / (B + 1).
    seed : int or numpy.random.SeedSequence
    units : (n + m,) array of int, optional
        Unit of each text, which is exchanged as a whole; by default every text is one.
    higher_is_closer : bool
        For scores that are largest if P = Q, such as MAUVE.

    Returns
    -------
    PermutationTest

    Raises
    ------
    InputError
        Units are not one per text, a score is nan, or a setting is out of range.
    """
    n, m = (_checks.whole("The number of texts", count, low=1) for count in (n, m))
    permutations = _checks.whole("The number of permutations", permutations, low=1)
    sides = np.arange(n + m) < n
    codes = np.arange(n + m) if units is None else unit_codes(units, n + m)
    notes = notes_on_fixed_texts(codes, sides)
    rng = child_generator(seed)
    observed = float(_scores(statistic, sides[None], ~sides[None])[0])
    drawn = (draw_sides(sides, codes, count, rng) for count in _portions(permutations, n + m))
    null = np.concatenate([_scores(statistic, first, ~first) for first in drawn])
    farther = _as_far(-null, -observed) if higher_is_closer else _as_far(null, observed)
    return PermutationTest(observed, (1 + int(farther.sum())) / (1 + permutations), null, n, m, notes)


def histogram_statistic(
    labels: ArrayLike,
    k: int,
    score: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
    *,
    smoothing: str = "none",
) -> Statistic:
    """Make a statistic from a score of two histograms over a fixed partition.

    The partition must not depend on the sides: k-means on all texts treats them alike.

    Parameters
    ----------
    labels : (N,) array of int
        Cluster of each text, 0 to k - 1.
    k : int
        Clusters.
    score : callable
        Probabilities p (b, k) and q (b, k) -> (b,), for example ``stats.divergences.frontier_integral``.
    smoothing : str
        See :func:`mauve_core.stats.divergences.probabilities`.

    Returns
    -------
    Statistic
    """

    def statistic(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.float64]:
        p, q = (
            probabilities(resampled_counts(labels, k, side.astype(np.int32)), smoothing) for side in (first, second)
        )
        return score(p, q)

    return statistic


def sequential_p_value(null: ArrayLike, observed: float, stop: int) -> float:
    """Two-sided p-value of a test that may stop early.

    Parameters
    ----------
    null : (B,) array
        Scores of the draws, in the order drawn; whoever draws may stop once ``stop`` of them are as far from 0 as the
        observed score.
    observed : float
    stop : int

    Returns
    -------
    float in (0, 1]
        ``stop`` over the number of draws that it took, or, if fewer than ``stop`` are as far, (1 + their number) /
        (1 + B). It holds its level like that of a test with a fixed number of draws (Besag and Clifford, *Sequential
        Monte Carlo p-values*, Biometrika 1991).
    """
    values = np.abs(np.asarray(null, dtype=np.float64))
    farther = np.flatnonzero(_as_far(values, abs(observed)))
    if farther.size >= stop:
        return float(stop / (farther[stop - 1] + 1))
    return float((1 + farther.size) / (1 + values.size))


def draw_sides(sides: NDArray[np.bool_], units: ArrayLike, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(count, N) tables of which texts are P's in each draw, from ``sides`` (N,) and the unit of each text."""
    return np.asarray(draw_slots(np.where(sides, 0, 1).astype(np.int32), units, 1, count, rng) == 0)


def counts_by_side(drawn: NDArray[np.integer], labels: NDArray[np.integer], k: int, sides: int) -> NDArray[np.int64]:
    """Histograms of the texts on each side, under each seed.

    Parameters
    ----------
    drawn : (B, N) array of int
        Side of each text, from 0.
    labels : (seeds, N) array of int
        Cluster of each text, 0 to k - 1.
    k, sides : int

    Returns
    -------
    (sides, B, seeds, k) int64 array
    """
    found = np.empty((sides, len(drawn), len(labels), k), dtype=np.int64)
    found[-1] = [np.bincount(own, minlength=k) for own in labels]
    for side in range(sides - 1):
        weights = (drawn == side).astype(np.int32)
        for seed, own in enumerate(labels):
            found[side, :, seed] = resampled_counts(own, k, weights)
        found[-1] -= found[side]
    return found


def draw_splits(n: int, size: int, count: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Two (count, n) tables of disjoint random subsets of ``size`` entries per row."""
    order = np.argsort(rng.random((count, n)), axis=1)
    parts = np.zeros((2, count, n), dtype=np.bool_)
    for index in range(2):
        np.put_along_axis(parts[index], order[:, index * size : (index + 1) * size], True, axis=1)
    return parts[0], parts[1]


def child_generator(seed: int | np.random.SeedSequence) -> np.random.Generator:
    """Generator from a child of the seed: whoever drew the data from the same seed gets other numbers here."""
    return np.random.default_rng(_checks.seed_sequence(seed).spawn(1)[0])


def unit_codes(units: ArrayLike, count: int) -> NDArray[np.int64]:
    """(count,) number of each text's unit, from 0; InputError if there is not one unit per text."""
    array = np.asarray(units)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise InputError(
            "Units are not usable",
            allowed=f"whole numbers, one for each of the {count} texts",
            received=f"shape {array.shape}, dtype {array.dtype}",
        )
    return by_appearance(array)


def notes_on_fixed_texts(codes: NDArray[np.int64], sides: NDArray[np.bool_]) -> tuple[str, ...]:
    """Notes on the texts whose units are those of one side alone, if the other has none such."""
    of_p, of_q = np.bincount(codes, weights=sides) > 0, np.bincount(codes, weights=~sides) > 0
    p_alone, q_alone = of_p & ~of_q, of_q & ~of_p
    if p_alone.any() and q_alone.any():
        return ()
    fixed = (p_alone | q_alone)[codes]
    if not fixed.any():
        return ()
    left, right = int((fixed & sides).sum()), int((fixed & ~sides).sum())
    return (f"{left} points of P and {right} of Q have no counterpart on the other side, so they never change sides",)


def _portions(count: int, width: int) -> Iterator[int]:
    """``count`` split into blocks of rows handled at once; a generator's draws do not depend on the split."""
    rows = max(1, _ENTRIES // width)
    for start in range(0, count, rows):
        yield min(rows, count - start)


def _scores(statistic: Statistic, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.float64]:
    values = np.asarray(statistic(first, second), dtype=np.float64)
    if values.shape != first.shape[:1]:
        received = f"shape {values.shape} for {len(first)} draws"
        raise InputError("The statistic does not give a score for each draw", allowed="shape (b,)", received=received)
    if np.isnan(values).any():
        raise InputError("The statistic is NaN for some draws", allowed="scores that are numbers")
    return values


def _as_far(null: NDArray[np.float64], observed: float) -> NDArray[np.bool_]:
    """Where ``null`` is at least ``observed``, including ties up to rounding."""
    sizes = np.abs(np.append(null, observed))
    return np.asarray(null >= observed - _TIE * sizes[np.isfinite(sizes)].max(initial=0.0))


_Array = NDArray[np.float64]

_SEED = 50


def jackknife_sd(estimate: float, left_out: ArrayLike, sizes: ArrayLike) -> float:
    """Standard deviation of a statistic over samples of texts.

    Parameters
    ----------
    estimate : float
        The statistic of all texts.
    left_out : (G,) array
        The statistic without each group.
    sizes : (G,) array of int
        Texts in each group, at least 1; their sum is n.

    Returns
    -------
    float
        For a mean of independent values and groups of equal size, its square is an unbiased estimate of s^2/n.

    Raises
    ------
    InputError
        There are fewer than two groups, a group is empty, or values are not finite.
    """
    return float(np.sqrt((jackknife_parts(estimate, left_out, sizes) ** 2).sum()))


def jackknife_parts(estimate: float, left_out: ArrayLike, sizes: ArrayLike) -> NDArray[np.float64]:
    """Part of each group in :func:`jackknife_sd`, with its sign: the root of the sum of their squares.

    Statistics of several samples whose groups belong together (the same prompts) are combined by adding their parts:
    the root of the sum of squares is then the standard deviation of the combination, also where groups of one sample
    are larger than those of another.

    Returns
    -------
    (G,) float64 array

    Raises
    ------
    InputError
        As :func:`jackknife_sd`.
    """
    pseudo, ratio = _pseudo_values(estimate, left_out, sizes)
    centre = (pseudo / ratio).sum()
    parts: NDArray[np.float64] = (pseudo - centre) / np.sqrt((ratio - 1) * ratio.size)
    return parts


def jackknife_estimate(estimate: float, left_out: ArrayLike, sizes: ArrayLike) -> float:
    """The statistic without the part of its bias that falls as 1/n.

    For groups of equal size, a line in 1/n through the statistic of all texts and the mean of those without a group, at
    1/n = 0: Quenouille, *Notes on Bias in Estimation*, Biometrika 43, 1956. For others, Busing et al. (1999).

    Parameters
    ----------
    estimate, left_out, sizes
        As for :func:`jackknife_sd`.

    Returns
    -------
    float
        Outside the range of the statistic where that is near its bound.

    Raises
    ------
    InputError
        As :func:`jackknife_sd`.
    """
    pseudo, ratio = _pseudo_values(estimate, left_out, sizes)
    return float((pseudo / ratio).sum())


def difference_of_means(
    first: ArrayLike,
    second: ArrayLike,
    first_units: ArrayLike,
    second_units: ArrayLike,
    *,
    groups: int = 50,
    confidence: float = 0.95,
) -> tuple[float, float, float] | None:
    """Mean of ``first`` less that of ``second``, with an interval over units, which are never divided.

    Units are put into groups at random, such that groups have nearly as many texts of either side.

    Parameters
    ----------
    first, second : (n,) and (m,) array
        A number of each text, in [0, 1].
    first_units, second_units : (n,) and (m,) array of int
        Unit of each text; texts of one unit depend on each other, also across the sides.

    Returns
    -------
    (float, float, float) or None
        The difference and the ends of its interval; None if a side has texts of fewer than two groups.
    """
    sides = [np.asarray(values, dtype=np.float64) for values in (first, second)]
    codes = np.unique(np.concatenate([np.asarray(first_units), np.asarray(second_units)]), return_inverse=True)[1]
    units = np.split(codes, [sides[0].size])
    many = int(codes.max(initial=-1)) + 1
    sizes = [np.bincount(own, minlength=many) for own in units]
    order = np.lexsort((np.random.default_rng(_SEED).permutation(many), *sizes))
    group_of = np.empty(many, dtype=np.int64)
    group_of[order[::-1]] = np.arange(many) % max(min(groups, many), 1)
    parts, filled = np.zeros((2, groups)), []
    for part, values, own in zip(parts, sides, units, strict=True):
        counts, sums = (np.bincount(group_of[own], weights, groups) for weights in (np.ones(own.size), values))
        there = counts > 0
        filled.append(int(there.sum()))
        if filled[-1] < 2:
            return None
        left_out = (sums.sum() - sums[there]) / (counts.sum() - counts[there])
        part[there] = jackknife_parts(float(values.mean()), left_out, counts[there])
    difference = float(sides[0].mean() - sides[1].mean())
    sd = float(np.sqrt(((parts[0] - parts[1]) ** 2).sum()))
    return difference, *t_interval(difference, sd, min(filled), confidence, bounds=(-1.0, 1.0))


def t_interval(
    estimate: float,
    sd: float,
    groups: int,
    confidence: float = 0.95,
    *,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[float, float]:
    """``estimate`` +- quantile of Student's t with ``groups - 1`` degrees of freedom x ``sd``, within ``bounds``.

    Raises
    ------
    InputError
        There are fewer than two groups, ``sd`` is negative, or the confidence lies outside (0, 1).
    """
    groups = _checks.whole("The number of groups", groups, low=2)
    if not 0 < confidence < 1:
        raise InputError("The confidence is not usable", allowed="a number in (0, 1)", received=repr(confidence))
    if not (0 <= sd < np.inf and np.isfinite(estimate)):
        raise InputError("The interval cannot be computed", allowed="a finite estimate and a finite sd of at least 0")
    reach = float(stdtrit(groups - 1, (1 + confidence) / 2)) * sd
    return float(np.clip(estimate - reach, *bounds)), float(np.clip(estimate + reach, *bounds))


def _pseudo_values(estimate: float, left_out: ArrayLike, sizes: ArrayLike) -> tuple[_Array, _Array]:
    """(G,) pseudo-value of each group, and n over its size, checked."""
    estimates = _checks.numbers(left_out, "The array of estimates with a group left out").astype(np.float64)
    counts = _checks.numbers(sizes, "The array of group sizes").astype(np.float64)
    if estimates.ndim != 1 or estimates.size < 2 or counts.shape != estimates.shape or counts.min() < 1:
        raise InputError(
            "The groups of the jackknife are not usable",
            allowed="two or more groups, each with an estimate and at least one text",
            received=f"estimates of shape {estimates.shape}, sizes of shape {counts.shape}",
        )
    if not (np.isfinite(estimates).all() and np.isfinite(estimate)):
        raise InputError("The estimates of the jackknife are not usable", allowed="finite numbers")
    ratio = counts.sum() / counts
    return ratio * estimate - (ratio - 1) * estimates, ratio


# Default number of resamples.
REPLICATES = 100


@dataclass(frozen=True)
class Corrected:
    """Bias-reduced estimates of one pair of histograms, or of many.

    Attributes
    ----------
    frontier : Frontier
        KL(Q || R) and KL(P || R) on the reference weights, (..., 25), at least 0.
    frontier_integral, mid : (...) float64 arrays
        In [0, 1] and in [0, log 2] nats.
    """

    frontier: Frontier
    frontier_integral: NDArray[np.float64]
    mid: NDArray[np.float64]


def bias_reduced(
    p_labels: ArrayLike,
    q_labels: ArrayLike,
    k: int,
    units: Units,
    *,
    seed: SeedSequence,
    replicates: int = REPLICATES,
) -> Corrected:
    """Estimate the frontier, the frontier integral and the mid-point of the sources of two samples in bins.

    Parameters
    ----------
    p_labels, q_labels : (n,) and (m,) arrays of int
        Bin of each text of the human side and of the candidate, 0 to k - 1.
    k : int
        Bins.
    units : Units
        Of the n and m texts.
    seed : SeedSequence
        Of the resamples; the same seed gives the same estimate.
    replicates : int
        Resamples, at least 1.

    Raises
    ------
    InputError
        Labels lie outside 0 to k - 1, their number differs from that of the units', or there is no resample.
    """
    count = _checks.whole("The number of resamples", replicates, low=1)
    parts = []
    for draws in draw_blocks(units, count, np.random.default_rng(seed)):
        on_p, on_q = draws.weights(0.0)
        of_p = resampled_counts(p_labels, k, on_p[:, : units.n])
        parts.append((of_p, resampled_counts(q_labels, k, on_q[:, units.n :])))
    p_resampled, q_resampled = (np.concatenate(side) for side in zip(*parts, strict=True))
    p, q = (np.bincount(labels, minlength=k) for labels in (p_labels, q_labels))
    return corrected(p, q, p_resampled, q_resampled)


def corrected(
    p_counts: NDArray[np.integer],
    q_counts: NDArray[np.integer],
    p_resampled: NDArray[np.integer],
    q_resampled: NDArray[np.integer],
) -> Corrected:
    """:func:`bias_reduced` from (..., k) counts of either side and (..., replicates, k) counts of their resamples."""
    own, again = _sums(count_pairs(p_counts, q_counts)), _sums(count_pairs(p_resampled, q_resampled))
    found = np.maximum(2 * own - again.mean(axis=-2), 0.0)
    size = REFERENCE_WEIGHTS.size
    return Corrected(
        Frontier(REFERENCE_WEIGHTS, found[..., :size], found[..., size : 2 * size]),
        np.minimum(found[..., -2], 1.0),
        np.minimum(found[..., -1], np.log(2)),
    )


def _sums(pairs: CountPairs) -> NDArray[np.float64]:
    """(..., 52) both errors on the reference weights, the frontier integral and the mid-point of each histogram."""
    p, q = pairs.probabilities(0.0)
    weights = REFERENCE_WEIGHTS[:, np.newaxis]
    middle = np.add(*mixture_terms(p, q, 0.5, 0.5)) / 2
    return pairs.sums(np.vstack([*mixture_terms(p, q, weights, 1 - weights), integral_terms(p, q), middle]).T)


def simultaneous_intervals(
    estimates: ArrayLike,
    replicates: ArrayLike,
    confidence: float,
    *,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intervals around the estimates that hold for all of them together, clipped to the bounds.

    Parameters
    ----------
    estimates : (k,) array
    replicates : (B, k) array
        The estimates of each resample; only their deviations from their own mean matter.
    confidence : float in (0, 1)
        Share of the resamples that deviate by less in every estimate.
    bounds : (float, float)
        Range of an estimate.

    Returns
    -------
    low, high : (k,) float64 arrays

    Raises
    ------
    InputError
        There are fewer than two resamples, the shapes do not match, values are not finite, or the confidence lies
        outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise InputError("The confidence is not usable", allowed="a number in (0, 1)", received=repr(confidence))
    values, drawn = np.asarray(estimates, dtype=np.float64), np.asarray(replicates, dtype=np.float64)
    matching = values.ndim == 1 and values.size > 0 and drawn.ndim == 2 and drawn.shape[1] == values.size
    if not matching or len(drawn) < 2 or not (np.isfinite(values).all() and np.isfinite(drawn).all()):
        raise InputError(
            "Bootstrap values are not usable",
            allowed="k finite estimates and two or more resamples of k finite values",
            received=f"shapes {values.shape} and {drawn.shape}",
        )
    deviations = np.abs(drawn - drawn.mean(axis=0))
    spread = drawn.std(axis=0)
    scale = spread + spread.mean()
    if not scale.any():
        return np.clip(values, *bounds), np.clip(values, *bounds)
    reach = np.quantile((deviations / scale).max(axis=1), confidence) * scale
    return np.clip(values - reach, *bounds), np.clip(values + reach, *bounds)
