"""Diversity of answers to many prompts: modes per prompt, their means over prompts, and the Vendi score.

A mode is a group of answers with a gap around it. Distances between answers to one prompt, pooled over prompts, are of
two kinds, near ones within a mode and far ones between modes: two normal distributions are fitted to their logarithms
(Dempster, Laird and Rubin, JRSS B 1977), which are separate if hardly any distance lies where either could have it.
Without near distances of their own, identical answers are the near ones if all others are far; where all are near,
answers to other prompts are the far ones.

Eight answers of ten equally probable modes show 5.7 of them on average, so modes that were not met are estimated from
those met once or twice (Chao, Scandinavian Journal of Statistics 1984; Chiu et al., Biometrics 2014), pooled over
prompts, since one prompt has too few. Prompts in a circle, of which neighbors are alike, are resampled in blocks
(Politis and Romano 1992). The Vendi score is the effective number of different points (Friedman and Dieng, TMLR 2023).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks

# Resamples of the prompts for the interval.
RESAMPLES = 1000

CONFIDENCE = 0.95

# Numbers of the matrices that are multiplied at once.
BLOCK = 2**22


@dataclass(frozen=True)
class ModeCount:
    """Modes of a prompt's answers.

    Attributes
    ----------
    modes : float
        Mean number of modes per prompt, estimated, those not met included; infinite if no prompt has two answers of
        one mode. Exact on average if the modes of a prompt are equally probable, in whichever number per prompt that
        leaves none too rare; otherwise a lower bound on average.
    low, high : float
        95% interval from resampled prompts. It holds the threshold fixed.
    met : float
        Mean number of modes that a prompt's answers show.
    together : float
        Probability that two answers to one prompt are of one mode; its reciprocal is the effective number of modes of
        Simpson's index, to which rare modes hardly contribute.
    """

    modes: float
    low: float
    high: float
    met: float
    together: float


def group(distances: NDArray[np.floating], threshold: float) -> NDArray[np.int64]:
    """Divide each prompt's answers into modes: answers at no more than a distance, and those linked by others.

    Parameters
    ----------
    distances : (g, m, m) array
        Between the m answers of each of g prompts, symmetric.
    threshold : float

    Returns
    -------
    (g, m) int64 array
        Equal numbers within a prompt, one mode: the place of the mode's first answer.
    """
    linked = np.asarray(distances) <= threshold
    m = linked.shape[1]
    linked[:, np.arange(m), np.arange(m)] = True
    found = np.empty(linked.shape[:2], dtype=np.int64)
    for block in _checks.row_blocks(len(linked), max(1, BLOCK // m**2)):
        reached = linked[block].astype(np.float32)
        for _ in range(max(1, math.ceil(math.log2(m)))):
            reached = (reached @ reached > 0).astype(np.float32)
        found[block] = reached.argmax(axis=2)
    return found


def count_modes(labels: ArrayLike, seed: int | SeedSequence = 0) -> ModeCount:
    """Estimate the number of modes per prompt.

    With f1 and f2 the numbers of modes met once and twice, summed over prompts, (m - 1) / m f1 (f1 - 1) / (2 (f2 + 1))
    modes were not met. That is right on average, but for rounding, if all have one probability; it is too few if not.

    Parameters
    ----------
    labels : (g, m) array of int
        Mode of each of the m answers to each of g prompts, as from :func:`group`; equal numbers mean one mode only
        within a prompt.
    seed : int or SeedSequence
        Of the resampled prompts.

    Raises
    ------
    InputError
        There is no prompt, or fewer than two answers to each.
    """
    array = np.asarray(labels)
    if array.ndim != 2 or not len(array) or array.shape[1] < 2 or array.dtype.kind not in "iu":
        raise InputError(
            "The modes of answers are not usable",
            allowed="whole numbers in one row per prompt, with at least two answers",
            received=f"{array.dtype} array of shape {array.shape}",
        )
    g, m = array.shape
    same = array[:, :, None] == array[:, None, :]
    sizes = same.sum(axis=2)
    pairs = (sizes.sum(axis=1) - m) / 2
    counts = np.stack([modes_met(array), (sizes == 1).sum(axis=1), (sizes == 2).sum(axis=1) / 2, pairs])
    rng = np.random.default_rng(_checks.seed_sequence(seed))
    weights = rng.multinomial(g, np.full(g, 1 / g), size=RESAMPLES)
    replicates = _estimate(weights @ counts.T, m)
    tails = (1 - CONFIDENCE) / 2
    low, high = np.quantile(replicates, [tails, 1 - tails], method="nearest")  # infinite ones have no mean
    modes = float(_estimate(counts.sum(axis=1)[None], m)[0])
    return ModeCount(
        modes / g, float(low) / g, float(high) / g, float(counts[0].mean()), float(pairs.mean() / (m * (m - 1) / 2))
    )


def modes_met(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """(g,) numbers of different labels in the rows of a (g, m) array."""
    ordered = np.sort(labels, axis=1)
    found: NDArray[np.int64] = 1 + (np.diff(ordered, axis=1) > 0).sum(axis=1)
    return found


def _estimate(counts: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    """Modes of all prompts together, from rows of the numbers met, met once, met twice, and of pairs of one mode."""
    met, once, twice, pairs = counts.T
    unmet = (m - 1) / m * once * (once - 1) / (2 * (twice + 1))
    found: NDArray[np.float64] = np.where(pairs > 0, met + unmet, np.inf)
    return found


# Distances of unit rows up to this are 0: float32 has such a difference between batches.
IDENTICAL = 1e-5

# A distance is uncertain if its probability of being near lies between this and one minus this.
UNCERTAIN = 0.05

# Uncertain distances, as a share of the near or of the far ones, at most: deciding them otherwise would change the
# share of near pairs, and with it the number of modes, by no more.
MOVED = 0.1

# Near and far distances, at least: of fewer, ``MOVED`` is less than one.
LEAST_PAIRS = round(1 / MOVED)

# Distances that are fitted; of more, quantiles.
SAMPLED = 20_000

# Steps of a fit, at most.
STEPS = 200

# Shares of near distances from which fits start.
STARTS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)

# Least standard deviation of a logarithm: equal distances would have none.
LEAST_SD = 0.01

# Where the gap is.
Kind = Literal["within prompts", "identical answers", "between prompts"]


@dataclass(frozen=True)
class Gap:
    """What tells answers of one mode from others.

    Attributes
    ----------
    threshold : float
        Two answers at this distance or less are of one mode.
    kind : {"within prompts", "identical answers", "between prompts"}
        The gap lies between near and far distances within prompts; between identical answers and all others; or
        between the distances within prompts, all near, and those between prompts.
    """

    threshold: float
    kind: Kind


@dataclass(frozen=True)
class _Fit:
    """Two normal distributions, the near one first."""

    share: float
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    likelihood: float

    def near(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability that each y is of the near one."""
        first, second = _log_densities(y, np.array([self.share, 1 - self.share]), self.mean, self.sd)
        found: NDArray[np.float64] = 1 / (1 + np.exp(np.clip(second - first, -700, 700)))
        return found


def find_gap(within: ArrayLike, between: ArrayLike) -> Gap | None:
    """Find the gap in the distances between answers; None if there is none, so that modes are not separate.

    Parameters
    ----------
    within : (n,) array
        Distances, not negative, of pairs of answers to one prompt, of all prompts. They may be of several writers, but
        of none that gives all prompts identical answers only.
    between : (m,) array
        Distances of pairs of answers to different prompts.

    Returns
    -------
    Gap or None
        By the first of three rules that applies.

        1. Two normal distributions fit the logarithms of the distances above 0, and uncertain ones are at most
           ``MOVED`` of the smaller group.
        2. At least ``LEAST_PAIRS`` pairs are identical and as many are not, and few of these are closer than half their
           median: at most ``MOVED`` of the smaller group.
        3. Fewer than ``LEAST_PAIRS`` pairs are identical, and 95% of the distances are less than half the median
           between prompts. By the triangle inequality, two answers so close to a third are closer to each other than
           answers to two prompts are.

    Raises
    ------
    InputError
        Distances are not one row of numbers from 0 on.
    """
    own, others = _distances(within, "within prompts"), _distances(between, "between prompts")
    positive = np.sort(own[own > IDENTICAL])
    if not positive.size:
        return None
    threshold = _between_two_kinds(positive)
    if threshold is not None:
        return Gap(threshold, "within prompts")
    repeated = own.size - positive.size
    if repeated >= LEAST_PAIRS:
        smaller, close = min(repeated, positive.size), int((positive <= np.median(positive) / 2).sum())
        return Gap(IDENTICAL, "identical answers") if smaller >= LEAST_PAIRS and close <= MOVED * smaller else None
    if others.size and np.quantile(own, 0.95) < np.median(others) / 2:
        return Gap(float(np.median(others) / 2), "between prompts")
    return None


def _distances(values: ArrayLike, what: str) -> NDArray[np.float64]:
    array = _checks.numbers(values, f"The row of distances {what}").astype(np.float64)
    if array.ndim != 1 or not np.isfinite(array).all() or (array < 0).any():
        raise InputError(f"The distances {what} are not usable", allowed="one row of finite numbers from 0 on")
    return array


def _between_two_kinds(distances: NDArray[np.float64]) -> float | None:
    """The distance at which near and far ones are equally probable; None if they are not separate."""
    if distances.size < 2 * LEAST_PAIRS:
        return None
    y = np.log(distances)
    sample = y if y.size <= SAMPLED else np.quantile(y, (np.arange(SAMPLED) + 0.5) / SAMPLED)
    fits = sorted((_fitted(sample, share) for share in STARTS), key=lambda fit: -fit.likelihood)
    return next((found for fit in fits if (found := _threshold(fit, y)) is not None), None)


def _threshold(fit: _Fit, y: NDArray[np.float64]) -> float | None:
    """Where a fit divides the y; None if too many are uncertain, or either kind has too few."""
    grid = np.linspace(fit.mean[0], fit.mean[1], 1001)
    near = fit.near(grid)
    if near[0] < 1 - UNCERTAIN or near[-1] > UNCERTAIN:
        return None
    low, cut, high = (grid[np.argmax(near < level)] for level in (1 - UNCERTAIN, 0.5, UNCERTAIN))
    smaller = min(int((y <= cut).sum()), int((y > cut).sum()))
    uncertain = int(((y > low) & (y < high)).sum())
    return float(np.exp(cut)) if smaller >= LEAST_PAIRS and uncertain <= MOVED * smaller else None


def _fitted(y: NDArray[np.float64], share: float) -> _Fit:
    """Two normal distributions fitted to sorted numbers by expectation and maximization, from one start."""
    first = min(max(round(share * y.size), 2), y.size - 2)
    near = (np.arange(y.size) < first).astype(np.float64)
    before = -np.inf
    for _ in range(STEPS):
        weights = np.stack([near, 1 - near])
        sums = weights.sum(axis=1).clip(1e-9)
        mean = weights @ y / sums
        sd = np.sqrt((weights * (y - mean[:, None]) ** 2).sum(axis=1) / sums).clip(LEAST_SD)
        logs = _log_densities(y, sums / y.size, mean, sd)
        total = np.logaddexp(*logs)
        likelihood = float(total.sum())
        near = np.exp(logs[0] - total)
        if likelihood - before < 1e-6 * y.size:
            break
        before = likelihood
    order = np.argsort(mean)
    return _Fit(float(sums[order[0]] / y.size), mean[order], sd[order], likelihood)


def _log_densities(
    y: NDArray[np.float64], shares: NDArray[np.float64], mean: NDArray[np.float64], sd: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(2, n) logarithms of either distribution's density at each y, times its share, without the common constant."""
    with np.errstate(divide="ignore"):
        constants = np.log(shares) - np.log(sd)
    found: NDArray[np.float64] = constants[:, None] - ((y - mean[:, None]) / sd[:, None]) ** 2 / 2
    return found


# Pairs of answers to different prompts that are drawn from each writer.
PAIRS = 20_000


def unit_answers(x: ArrayLike) -> NDArray[np.float64]:
    """Scale the features of answers to unit length.

    Parameters
    ----------
    x : (g, m, d) array
        Of the m answers to each of g prompts.

    Raises
    ------
    InputError
        The array has another shape, numbers are not finite, or a row is all 0.
    """
    array = np.asarray(x)
    if array.ndim != 3 or 0 in array.shape:
        raise InputError(
            "The features of answers are not usable",
            allowed="shape (g, m, d): prompts, answers, dimensions",
            received=f"shape {array.shape}",
        )
    rows = _checks.features(array.reshape(-1, array.shape[2])).astype(np.float64)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if not largest.all():
        raise InputError("A row of the features is all 0, so it has no direction", todo="Leave the text out")
    rows /= largest  # the squares of tiny numbers would vanish
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.reshape(array.shape)


def distances_within(answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """(g, m, m) Euclidean distances of unit rows between the answers to each prompt; twice the cosine distance is the
    square."""
    products = answers @ answers.transpose(0, 2, 1)
    found: NDArray[np.float64] = np.sqrt(np.clip(2 - 2 * products, 0, None))
    found[:, np.arange(answers.shape[1]), np.arange(answers.shape[1])] = 0
    return found


def distances_between(
    answers: NDArray[np.float64], pairs: int = PAIRS, seed: int | SeedSequence = 0
) -> NDArray[np.float64]:
    """(pairs,) distances of random answers to different prompts; none of a single prompt."""
    g, m, _ = answers.shape
    if g < 2:
        return np.zeros(0)
    rng = np.random.default_rng(_checks.seed_sequence(seed))
    first = rng.integers(g, size=pairs)
    other = (first + rng.integers(1, g, size=pairs)) % g
    rows, columns = np.stack([first, other]), rng.integers(m, size=(2, pairs))
    found = [
        np.einsum("nd,nd->n", answers[rows[0, each], columns[0, each]], answers[rows[1, each], columns[1, each]])
        for each in _checks.row_blocks(pairs)
    ]
    distances: NDArray[np.float64] = np.sqrt(np.clip(2 - 2 * np.concatenate(found), 0, None))
    return distances


def gap_between_modes(writers: Sequence[NDArray[np.float64]], seed: int | SeedSequence = 0) -> Gap | None:
    """Find the gap in the distances of all writers together, so that one threshold serves them all.

    Parameters
    ----------
    writers : sequence of (g, m, d) arrays
        Unit rows of each writer's answers; g and m may differ.
    seed : int or SeedSequence
        Of the pairs of answers to different prompts.
    """
    seeds = _checks.seed_sequence(seed).spawn(len(writers))
    within = [_pairs(distances_within(each)) for each in writers if each.shape[1] > 1]
    between = [distances_between(each, seed=own) for each, own in zip(writers, seeds, strict=True)]
    varied = [each for each in within if (each > IDENTICAL).any()]
    return find_gap(np.concatenate([np.zeros(0), *varied]), np.concatenate([np.zeros(0), *between]))


def modes_per_prompt(answers: NDArray[np.float64], gap: Gap | None, seed: int | SeedSequence = 0) -> ModeCount | None:
    """Count the modes of a writer's answers; None if modes are not separate and its answers not identical.

    Parameters
    ----------
    answers : (g, m, d) array
        Unit rows, m at least 2.
    gap : Gap or None
        From :func:`gap_between_modes`.
    seed : int or SeedSequence
        Of the interval.
    """
    distances = distances_within(answers)
    if gap is None and (distances > IDENTICAL).any():
        return None
    return count_modes(group(distances, IDENTICAL if gap is None else gap.threshold), seed)


def _pairs(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """All distances of two different answers, in one row."""
    rows, columns = np.triu_indices(distances.shape[1], 1)
    found: NDArray[np.float64] = distances[:, rows, columns].ravel()
    return found


@dataclass(frozen=True)
class Mean:
    """A mean and its range.

    Attributes
    ----------
    value : float
        The mean.
    low, high : float
        Its 95% interval, unless another range is named.
    """

    value: float
    low: float
    high: float


def block_mean(values: ArrayLike, block: int, seed: SeedSequence) -> Mean:
    """Mean of values, with the interval from resampled blocks (percentiles).

    Parameters
    ----------
    values : (g,) array
        In their order around the circle.
    block : int
        Neighbors that are resampled together. Values this far apart must be independent.
    seed : SeedSequence
        Of the resamples.

    Notes
    -----
    Blocks see a covariance at distance h with the weight 1 - h / block. If it falls as 1 - h / block itself, as that of
    groups that share fewer and fewer prompts, their variance is (2 block² + 1) / (3 block²) of the right one, and by
    its root the interval is widened. Where neighbors are independent it is too wide by that, at most 22%.

    Raises
    ------
    InputError
        There are no values, or not all are finite.
    """
    x = _checks.numbers(values, "values").astype(np.float64)
    block = _checks.whole("the block", block, low=1)
    if x.ndim != 1 or not x.size or not np.isfinite(x).all():
        raise InputError("The values have no mean", allowed="one or more finite numbers", received=f"shape {x.shape}")
    widened = np.sqrt(3 * block**2 / (2 * block**2 + 1))
    sums = np.sum([np.roll(x, -step) for step in range(block)], axis=0)
    drawn = np.random.default_rng(seed).integers(x.size, size=(RESAMPLES, -(-x.size // block)))
    tails = (1 - CONFIDENCE) / 2
    mean = x.mean()
    ends = mean + widened * (np.quantile(sums[drawn].mean(axis=1) / block, [tails, 1 - tails]) - mean)
    low, high = ends.clip(x.min(), x.max())  # widened, they could leave the range of the measure
    return Mean(float(mean), float(low), float(high))


def vendi_score(x: ArrayLike) -> float:
    """Exponential of the Shannon entropy of the eigenvalues of K / n, where K holds the cosine similarities.

    The n x n matrix K / n = U U^T, with U the rows of ``x`` at unit length over sqrt(n), has the same eigenvalues
    above 0 as the d x d matrix U^T U; the smaller one is decomposed.

    Parameters
    ----------
    x : (n, d) array
        No row is all 0.

    Returns
    -------
    float
        In [1, min(n, d)]: 1 if all rows point the same way, n if every two are orthogonal.

    Raises
    ------
    InputError
        The array is no table of finite numbers, or a row is all 0.
    """
    rows = _checks.features(x).astype(np.float64)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if not largest.all():
        raise InputError("A row of the features is all 0, so it has no direction", todo="Leave the row out")
    rows /= largest  # the squares of tiny numbers would vanish
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * np.sqrt(len(rows))
    matrix = rows @ rows.T if len(rows) <= rows.shape[1] else rows.T @ rows
    shares = np.linalg.eigvalsh(matrix).clip(0)
    shares = shares[shares > 0]
    entropy = -(shares * np.log(shares)).sum()
    return float(np.exp(np.clip(entropy, 0, np.log(min(len(rows), rows.shape[1])))))
