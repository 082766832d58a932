"""Measure by repeated drawing how far a score of n human and m candidate texts lies from its true value.

The population is the smoothed histogram of the given texts. From it n and m texts are drawn many times, and each draw
gives an estimate of the score. The mean of |estimate - truth| over the draws is the resampling error (JMLR 2023,
section 7.8 and figure 21, with the plain histogram as population). A plain histogram lacks the rare bins that no text
fell into, and often predicts far too small an error. benchmarks/results/sampling_error.md compares the predictions of
several populations with the true error; Good-Turing is the closest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.divergences.kl import frontier_integral
from mauve_core.numerics.divergences.smoothing import probabilities

# Default number of draws: the standard error of the mean error is then at most about a fortieth of it.
REPLICATES = 1000

# Smoothing that turns the histogram into the population; this one predicts the error best.
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
        A name of :func:`mauve_core.numerics.divergences.smoothing.probabilities`; for the estimate alone.
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
