"""How far a score of n human and m candidate texts lies from its true value, and how many texts and clusters it needs.

**Measured**: the population is the smoothed histogram of the given texts; n and m texts are drawn from it many times,
and the error is the mean of |estimate - truth| (JMLR 2023, section 7.8 and figure 21). A plain histogram lacks the rare
bins that no text fell into and predicts too small an error; Good-Turing smoothing estimates their mass.
**Texts**: the numbers are doubled until the error is small enough; the error promised for n is the largest measured at
n or more. **Clusters**: the measured error grows with k while the loss of the best partition into 2 j bins, at most
(f(0) + f*(0)) / j (proposition 13), falls; the advice is the k with the least sum (theorem 14, equation 20). That loss
is a worst case, so the sum shows where the two balance, not how large the error is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import with_spread
from mauve_core.stats import _checks
from mauve_core.stats.divergences import frontier_integral, probabilities

# Default number of draws: the standard error of the mean error is then at most about a fortieth of it.
REPLICATES = 1000

# Smoothing that turns the histogram into the population.
POPULATION = "good-turing"

# Cells of drawn histograms scored together, few enough for the processor's cache.
CELLS_AT_ONCE = 50_000

_Floats = NDArray[np.float64]
_Counts = NDArray[np.int64]
# Distributions P and Q over the same bins, and the numbers of texts drawn from each.
Setting = tuple[ArrayLike, ArrayLike, int, int]


@dataclass(frozen=True)
class PlugIn:
    """Plug-in estimator: the score of histograms, smoothed or not, estimates the score of their distributions.

    Parameters
    ----------
    title : str
        Name of the score within a sentence.
    score : callable
        (..., k) and (..., k) probability vectors -> (...) scores.
    smoothing : str
        A name of :func:`mauve_core.stats.divergences.probabilities`; for the estimate alone.
    largest : float, optional
        Largest value of the divergence, f(0) + f*(0); None if the score is not a divergence or is unbounded.
    """

    title: str
    score: Callable[[ArrayLike, ArrayLike], _Floats]
    smoothing: str = "none"
    largest: float | None = None

    def __call__(self, p_counts: _Counts, q_counts: _Counts) -> _Floats:
        """(B,) scores of (B, k) pairs of histograms."""
        return self.score(probabilities(p_counts, self.smoothing), probabilities(q_counts, self.smoothing))

    def truth(self, p: _Floats, q: _Floats) -> float:
        """Score of the distributions themselves."""
        return float(self.score(p, q))


# The frontier integral of plain histograms; use ``dataclasses.replace`` for another smoothing.
FRONTIER = PlugIn("frontier integral", frontier_integral, largest=1.0)


@dataclass(frozen=True)
class SamplingError:
    """Measured errors at s settings, ready to plot; arrays of shape (s,).

    Parameters
    ----------
    n, m, k : int64 arrays
        Texts drawn from P and from Q, bins.
    truth : float64 array
        Score of the population.
    mean, spread : float64 arrays
        Mean and standard deviation of |estimate - truth| over the draws.
    bias, sd : float64 arrays
        Mean of estimate - truth, standard deviation of the estimate.
    replicates : int
        Draws at each setting.
    """

    n: _Counts
    m: _Counts
    k: _Counts
    truth: _Floats
    mean: _Floats
    spread: _Floats
    bias: _Floats
    sd: _Floats
    replicates: int

    @property
    def standard_error(self) -> _Floats:
        """Standard error of ``mean`` from the finite number of draws."""
        return np.asarray(self.spread / np.sqrt(self.replicates))


def measured_errors(
    settings: Sequence[Setting],
    *,
    estimator: PlugIn = FRONTIER,
    replicates: int = REPLICATES,
    seed: int | SeedSequence = 0,
) -> SamplingError:
    """Measure the error of estimates from samples of known distributions (JMLR 2023, section 7.8).

    Parameters
    ----------
    settings : sequence of (p, q, n, m)
        Two distributions over the same k bins each, and the numbers of texts to draw from them.
    estimator : PlugIn
    replicates : int
        Draws at each setting, 2 or more.
    seed : int or numpy.random.SeedSequence
        A setting's draws depend on it and on n, m and k, not on the other settings.

    Returns
    -------
    SamplingError

    Raises
    ------
    InputError
        There is no setting, rows are not distributions, n, m or replicates are invalid, or estimates not finite.
    """
    replicates = _checks.whole("The number of replicates", replicates, low=2)
    if not settings:
        raise InputError("There is no setting to measure", allowed="at least one")
    rows = [_measured(*setting, estimator, replicates, seed) for setting in settings]
    n, m, k = np.array([sizes for sizes, _ in rows], dtype=np.int64).T
    truth, mean, spread, bias, sd = np.array([figures for _, figures in rows]).T
    return SamplingError(n, m, k, truth, mean, spread, bias, sd, replicates)


def counts_pair(p_counts: ArrayLike, q_counts: ArrayLike) -> tuple[_Counts, _Counts]:
    """Two rows of counts over the same bins as int64.

    Raises
    ------
    InputError
        Counts are not whole numbers with at least one text per side, or the numbers of bins differ.
    """
    sides = [_checks.numbers(counts, "The array of counts") for counts in (p_counts, q_counts)]
    for side in sides:
        usable = side.ndim == 1 and np.isfinite(side).all() and (side >= 0).all() and (side == np.floor(side)).all()
        if not usable or side.sum() < 1:
            allowed = "one row of whole numbers that are not negative, with at least one text"
            raise InputError("Counts are not usable", allowed=allowed, received=f"shape {side.shape}")
    if sides[0].size != sides[1].size:
        received = f"{sides[0].size} and {sides[1].size} bins"
        raise InputError("The two histograms have different numbers of bins", allowed="the same", received=received)
    return sides[0].astype(np.int64), sides[1].astype(np.int64)


def _measured(
    p: ArrayLike, q: ArrayLike, n: int, m: int, estimator: PlugIn, replicates: int, seed: int | SeedSequence
) -> tuple[list[int], list[float]]:
    """(n, m, k) and (truth, mean, spread, bias, sd) of one setting."""
    left, right = _checks.distributions(p, q)
    if left.ndim != 1:
        raise InputError("Errors are measured for one pair of distributions", received=f"shape {left.shape}")
    n, m = (_checks.whole("The number of texts", size, low=1) for size in (n, m))
    k = left.size
    streams = [np.random.default_rng(child) for child in _stream(seed, n, m, k).spawn(2)]
    estimates = np.empty(replicates)
    rows = max(1, CELLS_AT_ONCE // k)
    for start in range(0, replicates, rows):
        number = min(rows, replicates - start)
        drawn = [
            rng.multinomial(size, side / side.sum(), size=number)
            for rng, size, side in zip(streams, (n, m), (left, right), strict=True)
        ]
        estimates[start : start + number] = _scores(estimator, drawn[0], drawn[1])
    truth = float(estimator.truth(left, right))
    away = estimates - truth
    if not np.isfinite(away).all():
        raise InputError(
            f"The {estimator.title} is not finite for every draw",
            allowed="a score that is finite for any draw of texts",
            todo="Smooth the histograms, or use a bounded score",
        )
    absolute = np.abs(away)
    return [n, m, k], [truth, absolute.mean(), absolute.std(ddof=1), away.mean(), away.std(ddof=1)]


def _scores(estimator: PlugIn, p_counts: _Counts, q_counts: _Counts) -> _Floats:
    scores = np.asarray(estimator(p_counts, q_counts), dtype=np.float64)
    if scores.shape != p_counts.shape[:1]:
        raise InputError(
            "The estimator does not give one score per pair of histograms",
            allowed=f"shape {p_counts.shape[:1]}",
            received=f"shape {scores.shape}",
        )
    return scores


def _stream(seed: int | SeedSequence, *setting: int) -> SeedSequence:
    """Random stream of a setting: a child of the seed, keyed by the setting itself."""
    parent = seed if isinstance(seed, SeedSequence) else SeedSequence(_checks.whole("The seed", seed, low=0))
    return SeedSequence(parent.entropy, spawn_key=(*parent.spawn_key, *setting), pool_size=parent.pool_size)


# Doublings of the given texts, a million times as many, after which the search ends.
MOST_DOUBLINGS = 20

# Halvings and doublings of the given texts that are always measured: a slope rests on four points or more.
DOUBLINGS = 3


@dataclass(frozen=True)
class Slope:
    """Slope of a line through log value against log size; standard error 0 if the values have none."""

    value: float
    standard_error: float


@dataclass(frozen=True)
class TextAdvice:
    """Advice on the number of texts.

    Parameters
    ----------
    n, m, k : int
        Given human texts and candidate texts, bins.
    error, standard_error : float
        Promised error at n and m, the largest measured there or with more texts, and its standard error.
    target : float
        Half of ``error``.
    needed_n, needed_m : int or None
        Texts that reach the target, rounded up to two digits; None if the search ended before.
    slope : Slope or None
        Slope of the error over the sizes from n on; None if an error is zero.
    curve : SamplingError
        All measurements.
    promised : (s,) float64 array
        At every size of the curve, the largest error measured there or with more texts.
    reason : str
        The advice in plain words.
    """

    n: int
    m: int
    k: int
    error: float
    standard_error: float
    target: float
    needed_n: int | None
    needed_m: int | None
    slope: Slope | None
    curve: SamplingError
    promised: _Floats
    reason: str


def errors_against_n(
    p_counts: ArrayLike,
    q_counts: ArrayLike,
    n: Sequence[int] | None = None,
    *,
    population: str = POPULATION,
    estimator: PlugIn = FRONTIER,
    replicates: int = REPLICATES,
    seed: int | SeedSequence = 0,
) -> SamplingError:
    """Measure the error at other numbers of texts, with the clusters kept.

    Parameters
    ----------
    p_counts, q_counts : (k,) array of int
        Human texts and candidate texts in each bin.
    n : sequence of int, optional
        Human texts to draw; candidate texts are in the given proportion. By default an eighth of the given texts,
        doubled up to eight times as many.
    population : str
        Smoothing that turns the counts into the population.
    estimator, replicates, seed
        See :func:`mauve_core.stats.sampling_error.measured_errors`.

    Returns
    -------
    SamplingError

    Raises
    ------
    InputError
        As ``measured_errors``, or the counts are not whole numbers with at least one text per side over the same bins.
    """
    counts = counts_pair(p_counts, q_counts)
    own = int(counts[0].sum())
    sizes = (
        doublings(own, -DOUBLINGS, DOUBLINGS)
        if n is None
        else [_checks.whole("The number of texts", size, low=1) for size in n]
    )
    p, q = (probabilities(side, population) for side in counts)
    settings = [(p, q, size, _other_size(size, counts)) for size in sizes]
    return measured_errors(settings, estimator=estimator, replicates=replicates, seed=seed)


def recommend_texts(
    p_counts: ArrayLike,
    q_counts: ArrayLike,
    *,
    population: str = POPULATION,
    estimator: PlugIn = FRONTIER,
    replicates: int = REPLICATES,
    seed: int | SeedSequence = 0,
) -> TextAdvice:
    """Find how many texts halve the error, with the same clusters.

    Parameters
    ----------
    p_counts, q_counts, population, estimator, replicates, seed
        See :func:`errors_against_n`.

    Returns
    -------
    TextAdvice

    Raises
    ------
    InputError
        As :func:`errors_against_n`.
    """
    own = int(counts_pair(p_counts, q_counts)[0].sum())

    def measure(sizes: Sequence[int]) -> SamplingError:
        return errors_against_n(
            p_counts, q_counts, sizes, population=population, estimator=estimator, replicates=replicates, seed=seed
        )

    curve = measure(doublings(own, -DOUBLINGS, DOUBLINGS))
    current = int(np.searchsorted(curve.n, own))
    power = DOUBLINGS
    while True:
        promised = np.maximum.accumulate(curve.mean[::-1])[::-1]
        if promised[-1] <= promised[current] / 2 or power == MOST_DOUBLINGS:
            return _text_advice(curve, current, promised, estimator.title)
        power += 1
        curve = _joined(curve, measure([own * 2**power]))


def log_slope(sizes: ArrayLike, values: ArrayLike, standard_errors: ArrayLike | None = None) -> Slope:
    """Exponent of a power law of the values in the sizes: unweighted least squares of log value on log size.

    Parameters
    ----------
    sizes, values : (s,) array
        Positive, two or more different sizes.
    standard_errors : (s,) array, optional
        Independent standard errors of the values, propagated to the slope to first order.

    Returns
    -------
    Slope
        Its standard error is that of the values alone and ignores how far they lie from a line.

    Raises
    ------
    InputError
        Values are not positive or not finite, or all sizes are equal.
    """
    x, y = (_checks.numbers(array, "The array").astype(np.float64) for array in (sizes, values))
    errors = np.zeros(y.shape) if standard_errors is None else _checks.numbers(standard_errors, "The array of errors")
    usable = x.ndim == 1 and x.shape == y.shape == errors.shape
    usable = usable and bool(((x > 0) & (x < np.inf) & (y > 0) & (y < np.inf) & (errors >= 0)).all())
    if not usable or np.unique(x).size < 2:
        raise InputError("A slope cannot be fitted", allowed="positive finite values at two or more positive sizes")
    off = np.log(x) - np.log(x).mean()
    weights = off / (off @ off)
    return Slope(float(weights @ np.log(y)), float(np.linalg.norm(weights * errors / y)))


def doublings(n: int, first: int, last: int) -> list[int]:
    """n times 2^first, ..., 2^last, rounded up to whole texts, without duplicates."""
    return sorted({math.ceil(n * 2.0**power) for power in range(first, last + 1)})


def _joined(first: SamplingError, second: SamplingError) -> SamplingError:
    pairs = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("n", "m", "k", "truth", "mean", "spread", "bias", "sd")
    }
    return SamplingError(**pairs, replicates=first.replicates)


def _text_advice(curve: SamplingError, current: int, promised: _Floats, title: str) -> TextAdvice:
    error, target = float(promised[current]), float(promised[current] / 2)
    n, m, k = (int(array[current]) for array in (curve.n, curve.m, curve.k))
    largest = current + int(curve.mean[current:].argmax())
    positive = bool((curve.mean[current:] > 0).all())
    slope = log_slope(curve.n[current:], curve.mean[current:], curve.standard_error[current:]) if positive else None
    met = np.flatnonzero(promised <= target)
    needed_n = needed_m = None
    if met.size:
        needed_n = _rounded_up(_crossing(curve.n, promised, target, int(met[0])))
        needed_m = -(-needed_n * m // n)
    standard_error = float(curve.standard_error[largest])
    sizes = (needed_n, needed_m, int(curve.n[-1]))
    reason = _text_reason((n, m, k), (error, standard_error), sizes, slope, title)
    return TextAdvice(n, m, k, error, standard_error, target, needed_n, needed_m, slope, curve, promised, reason)


def _crossing(sizes: NDArray[np.int64], promised: _Floats, target: float, index: int) -> float:
    """Size where the promised errors reach the target, by log-log interpolation; ``index`` is the first one below."""
    if index == 0 or promised[index] <= 0:
        return float(sizes[index])
    high, low = np.log(promised[index - 1 : index + 1])
    share = (high - np.log(target)) / (high - low)
    return float(sizes[index - 1] ** (1 - share) * sizes[index] ** share)


def _rounded_up(size: float) -> int:
    """Round up to two digits, but not a number that exceeds two digits by rounding error alone."""
    unit: int = 10 ** max(0, math.floor(math.log10(size)) - 1)
    return int(math.ceil(size * (1 - 1e-12) / unit) * unit)


def _text_reason(
    own_sizes: tuple[int, int, int],
    measured: tuple[float, float],
    needed: tuple[int | None, int | None, int],
    slope: Slope | None,
    title: str,
) -> str:
    n, m, k = own_sizes
    (error, standard_error), (needed_n, needed_m, last) = measured, needed
    start = f"At {sizes_in_words(n, m)}, k = {k:,} the resampling error of the {title} is"
    if error == 0:
        return f"{start} 0: no draw changes the score."
    start = f"{start} {with_spread(error, standard_error)}"
    if needed_n is None or needed_m is None:
        return f"{start}; halving it requires more than n = {last:,}, the largest n tried."
    power = ""
    if slope is not None:
        power = f" From there on, the error scales as n to the power {slope.value:.3f} ± {slope.standard_error:.3f}."
    return f"{start}; halving it requires about {sizes_in_words(needed_n, needed_m)} with the same k.{power}"


def sizes_in_words(n: int, m: int) -> str:
    """``n = 512``, or both numbers if they differ."""
    return f"n = {n:,}" if n == m else f"n = {n:,} of P and {m:,} of Q"


def _other_size(n: int, counts: tuple[_Counts, _Counts]) -> int:
    """Candidate texts for n human texts in the proportion of the counts, rounded up."""
    own, other = int(counts[0].sum()), int(counts[1].sum())
    return -(-n * other // own)


# Counts of P and of Q over the same bins.
Histograms = tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True)
class ClusterAdvice:
    """Advice on the number of clusters.

    Parameters
    ----------
    k : int
        Number with the smallest ``total``.
    alike : tuple of int
        Every k whose total is within two standard errors of the difference from the smallest.
    loss, total : (s,) float64 arrays
        Largest loss of the best partition into k parts, and its sum with the measured error.
    curve : SamplingError
        The measurements, in ascending order of k.
    reason : str
        The advice in plain words.
    """

    k: int
    alike: tuple[int, ...]
    loss: _Floats
    total: _Floats
    curve: SamplingError
    reason: str


def merged(p_counts: ArrayLike, q_counts: ArrayLike, k: int) -> tuple[_Counts, _Counts]:
    """Merge the bins into k groups of about equal size, neighbors in the order of p / q.

    The best partition into k parts has such groups (JMLR 2023, proof of proposition 13), because merging bins of
    nearly equal p / q loses almost nothing.

    Parameters
    ----------
    p_counts, q_counts : (bins,) array of int
    k : int
        From 1 to the number of bins.

    Returns
    -------
    p_merged, q_merged : (k,) int64 arrays

    Raises
    ------
    InputError
        The counts are not usable, or there are more groups than bins.
    """
    own, other = counts_pair(p_counts, q_counts)
    k = _checks.whole("The number of groups", k, low=1)
    if k > own.size:
        raise InputError("More groups than bins", allowed=f"at most {own.size}", received=str(k))
    p, q = own / own.sum(), other / other.sum()
    share = np.divide(p, p + q, out=np.full(p.shape, 0.5), where=p + q > 0)
    groups = np.array_split(np.argsort(share, kind="stable"), k)
    return _group_sums(own, groups), _group_sums(other, groups)


def errors_against_k(
    histograms: Sequence[Histograms],
    *,
    population: str = POPULATION,
    estimator: PlugIn = FRONTIER,
    replicates: int = REPLICATES,
    seed: int | SeedSequence = 0,
) -> SamplingError:
    """Measure the error at the given number of texts, for the same texts in several partitions.

    Parameters
    ----------
    histograms : sequence of (p_counts, q_counts)
        Both sides under each partition, such as k-means with several k, or :func:`merged`.
    population, estimator, replicates, seed
        See :func:`mauve_core.stats.sampling_error.errors_against_n`.

    Returns
    -------
    SamplingError
        Each error is relative to the truth of its own partition. Populations are smoothed one by one, so a finer
        partition may have the smaller truth.

    Raises
    ------
    InputError
        As ``errors_against_n``, or the partitions differ in their numbers of texts.
    """
    pairs = [counts_pair(*histogram) for histogram in histograms]
    totals = {(int(p.sum()), int(q.sum())) for p, q in pairs}
    if len(totals) > 1:
        received = ", ".join(f"{n} and {m} texts" for n, m in sorted(totals))
        raise InputError("The partitions do not cover the same texts", allowed="equal totals", received=received)
    settings = [
        (probabilities(p, population), probabilities(q, population), int(p.sum()), int(q.sum())) for p, q in pairs
    ]
    return measured_errors(settings, estimator=estimator, replicates=replicates, seed=seed)


def recommend_clusters(
    histograms: Sequence[Histograms],
    *,
    population: str = POPULATION,
    estimator: PlugIn = FRONTIER,
    replicates: int = REPLICATES,
    seed: int | SeedSequence = 0,
) -> ClusterAdvice:
    """Choose, among those given, the number of clusters with the smallest sum of measured error and partition loss.

    Parameters
    ----------
    histograms : sequence of (p_counts, q_counts)
        The same texts under partitions of different k.
    population, estimator, replicates, seed
        See :func:`errors_against_k`.

    Returns
    -------
    ClusterAdvice

    Raises
    ------
    InputError
        As :func:`errors_against_k`; or two partitions have the same k, or no theorem bounds the estimator's loss.
    """
    if estimator.largest is None:
        raise InputError(
            f"No bound on the loss from partitioning is known for the {estimator.title}",
            allowed="a bounded f-divergence, such as the frontier integral",
        )
    ordered = sorted(histograms, key=lambda pair: np.size(pair[0]))
    curve = errors_against_k(ordered, population=population, estimator=estimator, replicates=replicates, seed=seed)
    if (np.diff(curve.k) == 0).any():
        received = ", ".join(map(str, curve.k))
        raise InputError("Two partitions have the same number of clusters", allowed="different k", received=received)
    loss = quantisation_bound(curve.k, estimator.largest)
    total = curve.mean + loss
    best = int(total.argmin())
    errors = curve.standard_error
    near = total - total[best] <= 2 * np.hypot(errors, errors[best])
    alike = tuple(curve.k[near].tolist())
    reason = _cluster_reason(curve, best, float(loss[best]), alike, estimator.title)
    return ClusterAdvice(int(curve.k[best]), alike, loss, total, curve, reason)


def quantisation_bound(k: ArrayLike, largest: float = 1.0) -> _Floats:
    """(f(0) + f*(0)) / floor(k / 2), the largest loss of the best partition into k bins (JMLR 2023, proposition 13).

    One bin loses at most f(0) + f*(0), which is ``largest``: 1 for the frontier integral. An actual partition, such as
    k-means, may lose more than the best one.
    """
    return np.asarray(largest / np.maximum(np.asarray(k) // 2, 1))


def _cluster_reason(curve: SamplingError, best: int, loss: float, alike: tuple[int, ...], title: str) -> str:
    k, tried = int(curve.k[best]), ", ".join(f"{size:,}" for size in curve.k)
    texts = sizes_in_words(int(curve.n[best]), int(curve.m[best]))
    measured = with_spread(float(curve.mean[best]), float(curve.standard_error[best]))
    reason = (
        f"Of k = {tried}, the two errors of the {title} balance at k = {k:,}: {measured} from resampling "
        f"at {texts}, and at most {loss:.2g} lost by the best partition into {k:,} clusters."
    )
    if len(alike) > 1:
        reason += f" k = {', '.join(f'{size:,}' for size in alike)} do equally well within measurement error."
    if curve.k.size > 1 and best in (0, curve.k.size - 1):
        reason += f" It is the {'smallest' if best == 0 else 'largest'} k tried."
    return reason


def _group_sums(counts: _Counts, groups: Sequence[NDArray[np.intp]]) -> _Counts:
    return np.array([counts[group].sum() for group in groups], dtype=np.int64)
