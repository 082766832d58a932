"""How far a score of n human and m candidate texts lies from its truth, measured by drawing texts again and again.

The population is the histogram of the texts at hand, smoothed. Of it n and m texts are drawn many times, the score is
estimated from each draw, and the mean of |estimate - truth| over the draws is the resampling error (JMLR 2023, section
7.8 and figure 21, whose population is the plain histogram). A plain histogram lacks the rare bins that no text fell
into, and the error that it predicts is often far too small; benchmarks/results/sampling_error.md holds the predictions
of several populations against the true error. Good-Turing's is the closest there.
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

REPLICATES = 1000
"""Draws unless others are asked for: the mean error then has a standard error of about a fortieth of itself or less."""

POPULATION = "good-turing"
"""The smoothing that makes the population of the texts' histogram: the one that predicts the error best."""

CELLS_AT_ONCE = 50_000
"""Cells of drawn histograms that are scored together: few enough for the processor's cache."""

_Floats = NDArray[np.float64]
_Counts = NDArray[np.int64]
Setting = tuple[ArrayLike, ArrayLike, int, int]
"""Distributions P and Q over the same bins, and the texts that are drawn from each."""


@dataclass(frozen=True)
class PlugIn:
    """The score of histograms, smoothed or not, as the estimate of the score of what they were drawn from.

    Parameters
    ----------
    title : str
        The score's name within a sentence.
    score : callable
        (..., k) and (..., k) probability vectors -> (...) scores.
    smoothing : str
        A name of :func:`mauve_core.numerics.divergences.smoothing.probabilities`; for the estimate alone.
    largest : float, optional
        The largest value of the divergence, f(0) + f*(0); None where the score is none or has no bound.
    """

    title: str
    score: Callable[[ArrayLike, ArrayLike], _Floats]
    smoothing: str = "none"
    largest: float | None = None

    def __call__(self, p_counts: _Counts, q_counts: _Counts) -> _Floats:
        """(B,) scores of (B, k) pairs of histograms."""
        return self.score(probabilities(p_counts, self.smoothing), probabilities(q_counts, self.smoothing))

    def truth(self, p: _Floats, q: _Floats) -> float:
        """The score of the distributions themselves."""
        return float(self.score(p, q))


FRONTIER = PlugIn("frontier integral", frontier_integral, largest=1.0)
"""The frontier integral of plain histograms; ``dataclasses.replace`` gives it another smoothing."""


@dataclass(frozen=True)
class SamplingError:
    """Measured errors at s settings, ready to draw; arrays of shape (s,).

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
        """Of ``mean``, as far as the finite number of draws goes."""
        return np.asarray(self.spread / np.sqrt(self.replicates))


def measured_errors(
    settings: Sequence[Setting],
    *,
    estimator: PlugIn = FRONTIER,
    replicates: int = REPLICATES,
    seed: int | SeedSequence = 0,
) -> SamplingError:
    """The error of estimates from samples of known distributions (JMLR 2023, section 7.8).

    Parameters
    ----------
    settings : sequence of (p, q, n, m)
        Each two distributions over the same k bins and the texts to draw from them.
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
        No setting; not distributions; n, m or replicates not usable; or estimates that are not finite numbers.
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
        Not whole numbers of at least one text a side, or different numbers of bins.
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
            allowed="a score that is finite whichever texts are drawn",
            todo="Smooth the histograms, or take a score that is bounded",
        )
    absolute = np.abs(away)
    return [n, m, k], [truth, absolute.mean(), absolute.std(ddof=1), away.mean(), away.std(ddof=1)]


def _scores(estimator: PlugIn, p_counts: _Counts, q_counts: _Counts) -> _Floats:
    scores = np.asarray(estimator(p_counts, q_counts), dtype=np.float64)
    if scores.shape != p_counts.shape[:1]:
        raise InputError(
            "The estimator does not give one score a pair of histograms",
            allowed=f"shape {p_counts.shape[:1]}",
            received=f"shape {scores.shape}",
        )
    return scores


def _stream(seed: int | SeedSequence, *setting: int) -> SeedSequence:
    """The stream of a setting, a child of the seed whose key is the setting itself."""
    parent = seed if isinstance(seed, SeedSequence) else SeedSequence(_checks.whole("The seed", seed, low=0))
    return SeedSequence(parent.entropy, spawn_key=(*parent.spawn_key, *setting), pool_size=parent.pool_size)
