"""Divergence frontiers without bins, from estimates of log p(x) / q(x) at the points of two samples.

Every f-divergence is an expectation of a function of r = p / q (JMLR 2023, definition 1). Estimators differ only in the
source of r and return :class:`LogRatios`; the points of the expectation are a separate choice:

- ``union``, the default: the points of both samples stand for M = (P + Q) / 2, with dP/dM = 2 r / (1 + r) and
  dQ/dM = 2 / (1 + r), each in [0, 2], so no infinite ratio or single lucky point dominates. The ratios are then two
  histograms over n + m points (:func:`ratio_atoms`), to which every function of histograms applies; separate samples
  get their true -log(l).
- ``other``, as printed in equations 24, 25, 27, 29 and 46: D(P || R) = D_{f_l}(P || Q) is the mean of f_l(r) over the
  sample of Q, with f_l of equation 4. Separate samples get 1 - l instead of -log(l), heavy tails dominate the mean, and
  one point of Q without neighbors in Q makes it infinite.
- ``own``, as in section 7.3.3 for KL and given probabilities: the mean of log(p / r_l) over the sample of P, and for
  the other error over that of Q, raised to 0. Exact on average with exact ratios; with others it has no lower bound
  before that, and where one side's is 0 on the whole curve MAUVE is near 1 whatever the other's.

All are monotone in the weight, so that MAUVE lies in [0, 1], and agree for exact ratios and many points. Of the last
two, the summaries of section 3.2 are found by quadrature (section 4.2.2).
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit

from mauve_core.base.errors import InputError
from mauve_core.clusters.reduction import row_axes, scatter_axes
from mauve_core.stats import _checks
from mauve_core.stats.divergences import REFERENCE_WEIGHTS, Frontier, trapezoid_area
from mauve_core.stats.f_divergences import Generator, f_frontier, generator_of
from mauve_core.stats.threads import single_threaded_blas

_Array = NDArray[np.float64]

# Principal coordinates of P (n, c) and of Q (m, c), and a note on them.
Coordinates = tuple[_Array, _Array, str]

_KEPT: ContextVar[dict[Hashable, Coordinates] | None] = ContextVar("kept coordinates", default=None)

# The constant c of MAUVE for each estimator (JMLR 2023, section 7.3.1).
#
# That of direct estimation is read off figure 10, where scores start at 0.785. Sides without a common text have KL(P ||
# R) = -log(l) and KL(Q || R) = -log(1 - l), hence the curve ((1 - l)^c, l^c). The area below it, c B(c, c + 1) =
# Gamma(c + 1)^2 / Gamma(2 c + 1), is the least that any sides can have. It is pi / 4 = 0.7854 only for c = 1/2, where
# the curve is a quarter of a circle; on the published 25 weights it is then 0.7836.
#
# Log ratios of string models are per token here, so 0.2 for whole texts (ICLR 2023, section 5) would not do; they have
# the constant of the default estimator.
SCALES = {
    "quantised": 5.0,
    "knn": 10.0,
    "kde": 10.0,
    "classifier": 2.5,
    "gaussian": 1.0,
    "direct": 0.5,
    "strings": 5.0,
}

# Over both samples, over the sample of the side that the divergence is from, and over a side's own sample.
EXPECTATIONS = ("union", "other", "own")

# Log ratios beyond this overflow as ratios; as plain ratios they count as infinite.
_LARGEST_LOG = 700.0
# Names of the two sides in errors.
NAMES = "human features", "candidate's features"

# Variance over mean square at which float32 cannot distinguish the rows: (about 8 units of rounding) squared.
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class LogRatios:
    """Estimates of log p(x) / q(x) at points drawn from P and at points drawn from Q.

    Attributes
    ----------
    at_p : (n,) float64 array
        In nats; inf if only P is seen, -inf if only Q is.
    at_q : (m,) float64 array
    notes : tuple of str
        Choices and events of the estimator: dimensions, bandwidth, penalty, infinite ratios.

    Raises
    ------
    InputError
        A side is empty, is not one-dimensional, or holds NaN.
    """

    at_p: _Array
    at_q: _Array
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for side in ("at_p", "at_q"):
            array = _checks.numbers(getattr(self, side), "The array of log ratios").astype(np.float64, copy=False)
            if array.ndim != 1 or array.size == 0 or np.isnan(array).any():
                raise InputError(
                    "Log ratios are not usable",
                    allowed="a row of numbers, infinite ones included, for each side",
                    received=f"shape {array.shape} with {int(np.isnan(array).sum())} NaN for {side}",
                )
            object.__setattr__(self, side, array)


def ratio_atoms(ratios: LogRatios) -> tuple[_Array, _Array]:
    """P and Q as histograms over the points of both samples, P's points first.

    With M = (P + Q) / 2 estimated by the points, each side of weight 1/2, a point's probabilities are M times 2
    r / (1 + r) and M times 2 / (1 + r), divided by their sums.

    Returns
    -------
    p, q : (n + m,) float64 arrays
        Input for ``frontier.mauve``, ``divergences.frontier_integral`` and similar functions.

    Raises
    ------
    InputError
        All ratios are 0, or all are infinite: one side then has no probability anywhere, not even at its own points.
    """
    n, m = ratios.at_p.size, ratios.at_q.size
    logs = np.concatenate([ratios.at_p, ratios.at_q])
    if np.isneginf(logs).all() or np.isposinf(logs).all():
        raise InputError(
            "The ratios give one side no probability at all",
            allowed="at least one ratio above 0 and at least one finite one",
            received=f"{'0' if logs[0] < 0 else 'infinity'} at all {n + m} points",
        )
    log_share = -np.log(2 * np.repeat([n, m], [n, m]))
    with np.errstate(under="ignore"):
        # Divide by the largest first: otherwise extreme log ratios alone would vanish before the sum.
        sides = [log_share + log_expit(sign * logs) for sign in (1, -1)]
        p, q = (np.exp(side - side.max()) for side in sides)
    return p / p.sum(), q / q.sum()


def ratio_frontier(
    ratios: LogRatios,
    generator: Generator | str = "kl",
    weights: ArrayLike = REFERENCE_WEIGHTS,
    *,
    expectation: str = "union",
) -> Frontier:
    """D_f(Q || R) and D_f(P || R) along a grid of mixture weights, from ratios (JMLR 2023, equations 24 and 25).

    Parameters
    ----------
    ratios : LogRatios
    generator : Generator or str
        With a finite f(0) unless the expectation is ``other``; ``own`` takes "kl" alone.
    weights : (m,) array
        Increasing numbers in [0, 1].
    expectation : {"union", "other", "own"}
        The points of the mean; see the module docstring.

    Returns
    -------
    Frontier
        type_1 and type_2 of shape (m,), in [0, inf]; swapping the sides swaps the two, in reverse order. Between
        weights 0 and 1 ``union`` is finite for all ratios.

    Raises
    ------
    InputError
        Weights, generator or expectation are not usable; one side has no probability (``union``), or a side's own
        point has probability 0 (``own``).
    """
    if expectation == "union":
        return f_frontier(*ratio_atoms(ratios), generator, weights)
    if expectation not in EXPECTATIONS:
        raise InputError("Unknown expectation", allowed=", ".join(EXPECTATIONS), received=repr(expectation))
    chosen = generator_of(generator)
    grid = _checks.mixture_weights(weights)
    if expectation == "other":
        type_1 = [_other_mean(-ratios.at_p, chosen, 1 - weight) for weight in grid]
        type_2 = [_other_mean(ratios.at_q, chosen, weight) for weight in grid]
        return Frontier(grid, np.array(type_1), np.array(type_2))
    if chosen.name != "kl":
        raise InputError("The mean over a side's own sample is defined only for KL", allowed="kl", received=chosen.name)
    if np.isneginf(ratios.at_p).any() or np.isposinf(ratios.at_q).any():
        raise InputError(
            "A side has probability 0 at a point of its own sample",
            allowed="ratios above 0 at P's points and below infinity at Q's",
            todo='Use the expectation "union"',
        )
    type_1 = [_own_mean(-ratios.at_q, 1 - weight) for weight in grid]
    type_2 = [_own_mean(ratios.at_p, weight) for weight in grid]
    return Frontier(grid, np.array(type_1), np.array(type_2))


def direct_ratios(
    log_p_at_p: ArrayLike, log_q_at_p: ArrayLike, log_p_at_q: ArrayLike, log_q_at_q: ArrayLike
) -> LogRatios:
    """Ratios from the probabilities of two models (JMLR 2023, section 7.3.3; its mean is ``expectation="own"``).

    The human distribution is unknown. The paper replaces it by a larger language model and finds that the resulting
    scores do not follow quality. Log-likelihoods of whole texts differ by tens or hundreds of nats, so the scores
    mostly show that no text is likely under both models: they are near pi / 4, the least for the paper's constant
    c = 1/2 (:data:`SCALES`).

    Parameters
    ----------
    log_p_at_p, log_q_at_p : (n,) array
        Log-likelihoods, in nats, of the human texts under the human side's model and under the candidate; the latter
        may be -inf if the candidate's decoder never writes such a text.
    log_p_at_q, log_q_at_q : (m,) array
        Those of the candidate's texts.

    Returns
    -------
    LogRatios

    Raises
    ------
    InputError
        Arrays differ in length or hold NaN or inf, or -inf for a side's own texts under its own model (names rows).
    """
    own_p = _log_likelihoods(log_p_at_p, "human texts under the human side's model", own=True)
    other_p = _log_likelihoods(log_q_at_p, "human texts under the candidate", own=False)
    other_q = _log_likelihoods(log_p_at_q, "candidate's texts under the human side's model", own=False)
    own_q = _log_likelihoods(log_q_at_q, "candidate's texts under the candidate", own=True)
    for side, own, other in (("human", own_p, other_p), ("candidate's", own_q, other_q)):
        if own.size != other.size:
            raise InputError(
                f"The two models did not score the same {side} texts",
                allowed="one log-likelihood per text from each",
                received=f"{own.size} and {other.size}",
            )
    at_p, at_q = own_p - other_p, other_q - own_q
    return LogRatios(at_p, at_q, infinite_notes(at_p, at_q))


def principal_coordinates(x_p: ArrayLike, x_q: ArrayLike, components: int, *, least_rows: int = 1) -> Coordinates:
    """Both sides on the first principal components of their union (JMLR 2023, algorithm 2, line 2).

    Rows are centered but not scaled to unit length: algorithm 2 uses the embeddings unchanged.

    Parameters
    ----------
    x_p, x_q : (n, d) and (m, d) array
        Features of the human side and of the candidate.
    components : int
        Components to keep; all if the features have no more.
    least_rows : int
        Fewest rows of a side.

    Returns
    -------
    u_p, u_q : (n, c) and (m, c) float64 arrays
        Coordinates, the component of largest variance first; signs are arbitrary.
    note : str
        Number of components and their share of the variance.

    Raises
    ------
    InputError
        Features are not usable (names rows), too few, of different dimensions, or all equal.
    """
    wanted = _checks.whole("The number of principal components", components, low=1)
    left, right = _checks.two_samples(x_p, x_q, least_p=least_rows, least_q=least_rows, names=NAMES)
    cache = _KEPT.get()
    if cache is None:
        return _projected(left, right, wanted)
    key = (_digest(left), _digest(right), wanted)
    if key not in cache:
        cache[key] = _projected(left, right, wanted)
        for side in cache[key][:2]:
            side.flags.writeable = False
    return cache[key]


@contextmanager
def coordinates_kept(cache: dict[Hashable, Coordinates]) -> Iterator[None]:
    """Make :func:`principal_coordinates` keep its results in ``cache`` and compute those of equal features once.

    For estimators and seeds that share texts. Features are compared by content; results are bitwise equal, read-only.
    """
    token = _KEPT.set(cache)
    try:
        yield
    finally:
        _KEPT.reset(token)


def infinite_notes(at_p: _Array, at_q: _Array) -> tuple[str, ...]:
    """A note with the number of points whose ratio is 0 or infinity, if there are any."""
    human, candidate = (f"{np.isinf(side).sum()} of {side.size}" for side in (at_p, at_q))
    infinite = np.isinf(at_p).any() or np.isinf(at_q).any()
    return (f"{human} points of P and {candidate} of Q have density on one side only",) if infinite else ()


def _projected(left: NDArray[np.float32], right: NDArray[np.float32], wanted: int) -> Coordinates:
    stacked = np.concatenate([left, right])
    mean = np.asarray(stacked.mean(axis=0, dtype=np.float64))
    with single_threaded_blas():
        if len(stacked) < len(mean):
            variances, directions = row_axes(stacked - mean)
        else:
            parts = _checks.row_blocks(len(stacked))
            scatter = sum((stacked[part] - mean).T @ (stacked[part] - mean) for part in parts)
            variances, directions = scatter_axes(np.asarray(scatter), len(stacked))
    if variances.sum() <= LEAST_VARIANCE * (mean @ mean + variances.sum()):
        raise InputError("All features are equal, so there is nothing to compare", allowed="texts that differ")
    coordinates = np.empty((len(stacked), min(wanted, variances.size)))
    for part in _checks.row_blocks(len(stacked)):
        coordinates[part] = (stacked[part] - mean) @ directions[:, :wanted]
    count = coordinates.shape[1]
    note = f"{count} principal components with {variances[:count].sum() / variances.sum():.1%} of the variance"
    return coordinates[: len(left)], coordinates[len(left) :], note


def _digest(x: NDArray[np.float32]) -> tuple[tuple[int, ...], bytes]:
    return x.shape, hashlib.blake2b(np.ascontiguousarray(x).data, digest_size=16).digest()


def _other_mean(logs: _Array, generator: Generator, weight: float) -> float:
    """Mean of f_l(r) = (l r + 1 - l) f(r / (l r + 1 - l)), l = ``weight``, at points of the other sample."""
    rest = 1 - weight
    if rest == 0:
        return 0.0
    if (logs > _LARGEST_LOG).any():
        return np.inf
    with np.errstate(under="ignore", over="ignore"):
        r = np.exp(logs)
        step = -rest * np.expm1(logs)
        return max(0.0, float(generator.terms(r, step, weight * r + rest).mean()))


def _own_mean(logs: _Array, weight: float) -> float:
    """Mean of log(p / r_l) = -log(l + (1 - l) / r), l = ``weight``, at the sample's own points; at least 0."""
    with np.errstate(divide="ignore"):
        own, rest = np.log(weight), np.log1p(-weight)
    return max(0.0, float(-np.logaddexp(own, rest - logs).mean()))


def _log_likelihoods(values: ArrayLike, whose: str, *, own: bool) -> _Array:
    array = _checks.numbers(values, f"The array of log-likelihoods of {whose}").astype(np.float64)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"Log-likelihoods of {whose} are not a row of numbers", received=f"shape {array.shape}")
    refused = ~np.isfinite(array) if own else np.isnan(array) | np.isposinf(array)
    if refused.any():
        raise InputError(
            f"Log-likelihoods of {whose} are not usable",
            allowed="finite numbers" if own else "finite numbers and -inf",
            received=f"others in {_checks.name_rows(refused)}",
        )
    return array


# Points of the integral over the log odds s of the weight; its error is about exp(-2 pi^2 / 0.5), see
# ``divergences.summaries.integrated_frontier``.
_LOG_ODDS = np.arange(-36.0, 36.25, 0.5)


def ratio_mauve(ratios: LogRatios, generator: Generator | str, scale: float, *, expectation: str) -> float:
    """MAUVE_f on the published 25 weights (JMLR 2023, equation 5), in [0, 1].

    Parameters
    ----------
    ratios, generator, expectation
        See :func:`mauve_core.estimators.ratios.ratio_frontier`, which also raises the errors.
    scale : float > 0
        The constant c.
    """
    frontier = ratio_frontier(ratios, generator, REFERENCE_WEIGHTS, expectation=expectation)
    return float(trapezoid_area(*frontier.curve(scale)))


def ratio_mid(ratios: LogRatios, generator: Generator | str, *, expectation: str) -> float:
    """Mid_f, half the sum of the two errors at weight 1/2 (JMLR 2023, equation 8), in [0, inf]."""
    frontier = ratio_frontier(ratios, generator, [0.5], expectation=expectation)
    return float(frontier.type_1[0] + frontier.type_2[0]) / 2


def ratio_divergence(ratios: LogRatios, generator: Generator | str, *, expectation: str) -> float:
    """D_f(P || Q), the type II error at weight 0 (JMLR 2023, equations 24, 27, 29 and 46), in [0, inf]."""
    return float(ratio_frontier(ratios, generator, [0.0], expectation=expectation).type_2[0])


def ratio_integral(ratios: LogRatios, generator: Generator | str, *, expectation: str) -> float:
    """FI_f, twice the integral of l D_f(P || R) + (1 - l) D_f(Q || R) over the weight l (JMLR 2023, equation 7).

    Returns
    -------
    float
        In [0, inf], settled to 1e-10 of its value.

    Raises
    ------
    InputError
        As in ``ratio_frontier``, or the expectation is ``own``: its points are raised to 0 one by one, which bends the
        curve, and no fixed rule settles then.
    """
    if expectation == "own":
        raise InputError("There is no integral of means over a side's own sample", allowed="union or other")
    weight, rest = expit(_LOG_ODDS), expit(-_LOG_ODDS)
    frontier = ratio_frontier(ratios, generator, weight, expectation=expectation)
    terms = weight * rest * (weight * frontier.type_2 + rest * frontier.type_1)
    return float(2 * (_LOG_ODDS[1] - _LOG_ODDS[0]) * terms.sum())
