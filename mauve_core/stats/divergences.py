"""From two histograms to a divergence frontier and its scores: smoothing, KL, MAUVE, frontier integral, mid-point.

P is the human side, Q the model; R = l P + (1 - l) Q is the mixture with weight l on P. The frontier is the set of
points (KL(Q || R), KL(P || R)) for l in (0, 1): type I, the model writes what humans do not, and type II, humans write
what the model misses (NeurIPS 2021, equation 1; JMLR 2023, section 3.1). MAUVE is the area under (exp(-c KL(Q || R)),
exp(-c KL(P || R))) with the points (1, 0) and (0, 1) (JMLR 2023, equation 5): :func:`mauve` by the trapezoidal rule on
the published grid, so that values compare (off by up to 0.003), :func:`mauve_area` to 1e-6. Logarithms are natural.

A divergence is summed as x log(x / y) - x + y over the bins. No term is negative and each depends on x and y - x alone,
so nothing turns negative and nothing cancels if the histograms nearly agree; :func:`error_shares` alone has signs.

Add-b smoothing gives (c + b) / (n + b k): b = 1/2 is the Krichevsky-Trofimov estimator of MAUVE* (JMLR 2023, equation 9
and table 2), 1 the Laplace estimator. In Braess-Sauer, b depends on the bin's own count; the modified Good-Turing
estimator also uses the number of bins with that count (Orlitsky and Suresh, NeurIPS 2015; JMLR 2023, section 4.1).

Resamples form few different pairs of counts, so a term is computed once a pair and summed by a sparse product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import expit, rel_entr, xlogy

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks

# Smoothings of published MAUVE and of MAUVE*: name -> texts added to every bin.
ADDED_COUNT = {"none": 0.0, "krichevsky-trofimov": 0.5}

# Every named smoothing -> its title. ``add-<b>``, such as ``add-0.1``, is also accepted.
SMOOTHINGS = {
    "none": "Empirical frequencies",
    "krichevsky-trofimov": "Krichevsky-Trofimov (add 1/2)",
    "laplace": "Laplace (add 1)",
    "braess-sauer": "Braess-Sauer",
    "good-turing": "Modified Good-Turing",
}

_ADD = "add-"
_CONSTANTS = {**ADDED_COUNT, "laplace": 1.0}
# Texts added to a bin with no text, with one text, with more (JMLR 2023, table 2).
_BRAESS_SAUER = (0.5, 1.0, 0.75)


def added_count(smoothing: str) -> float | None:
    """The constant b of an add-b smoothing, or None if the added amount depends on the counts.

    Parameters
    ----------
    smoothing : str
        A key of :data:`SMOOTHINGS`, or ``add-<b>`` with a positive finite b.

    Raises
    ------
    InputError
        The name is unknown.
    """
    if smoothing in SMOOTHINGS:
        return _CONSTANTS.get(smoothing)
    try:
        b = float(smoothing.removeprefix(_ADD)) if smoothing.startswith(_ADD) else np.nan
    except ValueError:
        b = np.nan
    if not 0 < b < np.inf:
        allowed = f"{', '.join(SMOOTHINGS)} or {_ADD}<b> with a positive number b"
        raise InputError("Unknown smoothing", allowed=allowed, received=repr(smoothing))
    return b


def probabilities(counts: ArrayLike, smoothing: str = "none") -> NDArray[np.float64]:
    """The probability of each bin.

    Parameters
    ----------
    counts : (..., k) array
        Texts in each bin, not negative. Weighted counts need not be whole, except for ``braess-sauer`` and
        ``good-turing``, which use the number of bins with one text, two texts and so on.
    smoothing : str
        As in :func:`added_count`.

    Returns
    -------
    (..., k) float64 array
        Rows sum to 1. Bins of equal counts have equal probabilities; all but ``good-turing`` keep the order of counts.

    Raises
    ------
    InputError
        A count is negative, not finite or, if required, not whole; an unsmoothed row is empty; the name is unknown.
    """
    added = added_count(smoothing)
    array = _checks.numbers(counts, "The array of counts").astype(np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InputError("Counts have no bins", allowed="an array of shape (..., k)", received=f"shape {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        raise InputError("Counts are not usable", allowed="finite numbers that are not negative")
    if added is None:
        if (array != np.floor(array)).any():
            raise InputError(f"Counts are not usable with {smoothing} smoothing", allowed="whole numbers")
        array = _BY_COUNT[smoothing](array)
    else:
        array += added
    totals = array.sum(axis=-1, keepdims=True)
    if (totals <= 0).any():
        raise InputError("A histogram is empty", allowed="at least one text in it", todo="Give texts on both sides")
    return np.asarray(array / totals)


def _braess_sauer(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(counts + np.array(_BRAESS_SAUER)[np.minimum(counts, 2).astype(np.intp)])


def _good_turing(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(..., k) unnormalized masses.

    With phi(t) the number of bins with t texts, a bin with c texts keeps the mass c if c > phi(c + 1). Otherwise the
    phi(c) bins like it share (phi(c + 1) + 1) (c + 1).
    """
    rows = counts.reshape(-1, counts.shape[-1])
    order = np.argsort(rows, axis=-1)
    ascending = np.take_along_axis(rows, order, axis=-1)
    first = np.ones(rows.shape, dtype=np.bool_)
    first[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    start = np.flatnonzero(first)  # of each run of equal counts within a row
    values, bins = ascending.ravel()[start], np.diff(start, append=rows.size)
    follows = np.flatnonzero((np.diff(values) == 1) & (start[1:] % rows.shape[1] > 0))
    with_one_more = np.zeros(values.size)
    with_one_more[follows] = bins[follows + 1]
    mass = np.where(values > with_one_more, values, (with_one_more + 1) * (values + 1) / bins)
    masses = np.empty_like(rows)
    np.put_along_axis(masses, order, np.repeat(mass, bins).reshape(rows.shape), axis=-1)
    return masses.reshape(counts.shape)


_BY_COUNT: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "braess-sauer": _braess_sauer,
    "good-turing": _good_turing,
}


_Array = NDArray[np.float64]
# (x, step, y) with y = x + step -> y f(x / y) element by element; arrays of one shape.
Terms = Callable[[_Array, _Array, _Array], _Array]

# |y / x - 1| below which a series replaces the logarithm; at 0.1 the logarithm has lost one digit of sixteen.
_NEAR = 0.1
# Terms of that series: the first omitted one is below (0.1 / 1.9)^14 / 17 = 8e-20 of the value.
_LOG_TERMS = 7
# Cap on y / x against overflow; beyond it x log(y / x) is far below the rounding of y - x.
_LARGEST_RATIO = 1e300
# |y / x - 1| below which a signed term uses y - x; beyond it y / x keeps the digits.
_SIGNED_NEAR = 0.5
# |p - q| / (p + q) below which the frontier integral is a series.
_INTEGRAL_NEAR = 0.5
# Terms of that series, all positive: the first omitted one is below 0.25^24 / 1200 = 3e-18 of the value.
_INTEGRAL_TERMS = 24


def kl_divergence(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """KL(P || Q) = sum p log(p / q) in nats.

    Parameters
    ----------
    p, q : (..., k) array
        Probability vectors; leading axes broadcast.

    Returns
    -------
    (...) float64 array
        In [0, inf]; inf if a bin has p > 0 and q = 0.

    Raises
    ------
    InputError
        The inputs are not probability vectors over the same bins.
    """
    left, right = _checks.distributions(p, q)
    return np.asarray(relative_terms(left, right - left, right).sum(axis=-1))


def error_shares(p: ArrayLike, q: ArrayLike, weight: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each bin's share of the two errors at one point of the frontier (JMLR 2023, section 3.1).

    With r = weight p + (1 - weight) q, a bin's term is q log(q / r) for KL(Q || R) (type I) and p log(p / r) for
    KL(P || R) (type II). It is positive if its side, Q or P, has more than the mixture, negative if it has less (the
    bin then offsets part of the error), and zero if both agree or the side is empty. Type I thus points to what the
    model writes too often, type II to what it misses. The terms sum to the two divergences.

    Parameters
    ----------
    p, q : (..., k) array
        Human side and candidate.
    weight : float in [0, 1]
        Weight of P in the mixture.

    Returns
    -------
    type_1, type_2 : (..., k) float64 arrays
        In nats, relative error of each term below 1e-13; at least -weight p and -(1 - weight) q, and at most
        -q log(1 - weight) and -p log(weight), so inf only at weight 1 and 0.

    Raises
    ------
    InputError
        The inputs are not probability vectors over the same bins, or the weight lies outside [0, 1].
    """
    if not 0 <= weight <= 1:
        raise InputError("The mixture weight is not usable", allowed="a number from 0 to 1", received=repr(weight))
    left, right = _checks.distributions(p, q)
    rest = 1 - weight
    difference, mixture = left - right, weight * left + rest * right
    return _signed_terms(right, weight * difference, mixture), _signed_terms(left, -rest * difference, mixture)


def mid_point(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """Mid_KL: half the sum of the two errors at weight 1/2, the Jensen-Shannon divergence (JMLR 2023, section 3.2).

    Parameters and errors are those of :func:`kl_divergence`.

    Returns
    -------
    (...) float64 array
        In nats, in [0, log 2]; symmetric in p and q.
    """
    type_1, type_2 = mixture_terms(*_checks.distributions(p, q), 0.5, 0.5)
    return np.asarray(np.minimum((type_1 + type_2).sum(axis=-1) / 2, np.log(2)))


def frontier_integral(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """FI_KL: twice the integral over the weight l of l KL(P || R) + (1 - l) KL(Q || R) (JMLR 2023, section 3.2).

    The closed form is a sum over bins of (p + q) / 2 - p q log(p / q) / (p - q). With m = (p + q) / 2 and
    u = (p - q) / (p + q) a term is m (1 - (1 - u^2) atanh(u) / u) = m sum_j 2 u^(2 j) / (4 j^2 - 1), j = 1, 2, ...
    This series of positive terms is used where the closed form cancels. Parameters and
    errors are those of :func:`kl_divergence`.

    Returns
    -------
    (...) float64 array
        In [0, 1]; symmetric in p and q; 0 only for equal and 1 only for disjoint histograms.
    """
    terms = integral_terms(*_checks.distributions(p, q))
    return np.asarray(np.minimum(terms.sum(axis=-1), 1.0))


def integral_terms(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """(..., k) non-negative terms whose sum is :func:`frontier_integral`, unchecked; symmetric in p and q."""
    total = p + q
    u = np.divide(np.abs(p - q), total, out=np.zeros_like(total), where=total > 0)
    near = np.minimum(u, _INTEGRAL_NEAR) ** 2
    series = np.zeros_like(near)
    for j in range(_INTEGRAL_TERMS, 0, -1):
        series = (series + 2 / (4 * j * j - 1)) * near
    far = np.maximum(u, _INTEGRAL_NEAR)
    closed = 1 - (1 + far) * ((1 - far) * np.log1p(far) - xlogy(1 - far, 1 - far)) / (2 * far)
    return np.asarray(total / 2 * np.where(u < _INTEGRAL_NEAR, series, closed))


def mixture_terms(
    p: _Array, q: _Array, weight: float | _Array, rest: float | _Array, terms: Terms | None = None
) -> tuple[_Array, _Array]:
    """Non-negative terms of both errors for r = weight p + rest q with weight + rest = 1, unchecked; shapes broadcast.

    They are q log(q / r) - q + r of KL(Q || R), then p log(p / r) - p + r of KL(P || R). Use them for sums only;
    :func:`error_shares` gives shares. ``rest`` keeps a weight close to 1 exact, which ``1 - weight`` would round.
    ``terms`` of another f-divergence replace :func:`relative_terms`.
    """
    terms = terms or relative_terms
    difference, mixture = p - q, weight * p + rest * q
    shape = mixture.shape
    type_1 = terms(np.broadcast_to(q, shape), weight * difference, mixture)
    type_2 = terms(np.broadcast_to(p, shape), -rest * difference, mixture)
    return type_1, type_2


def mixture_errors(
    p: _Array, q: _Array, weight: float | _Array, rest: float | _Array, terms: Terms | None = None
) -> tuple[_Array, _Array]:
    """KL(Q || R) and KL(P || R), or those of ``terms``: sums over bins of :func:`mixture_terms`, unchecked."""
    type_1, type_2 = mixture_terms(p, q, weight, rest, terms)
    return np.asarray(type_1.sum(axis=-1)), np.asarray(type_2.sum(axis=-1))


def _signed_terms(x: NDArray[np.float64], step: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """x log(x / y) for y = x + step, element by element; -x log(1 + step / x) near x = y, to avoid cancellation."""
    t = np.full_like(step, np.inf)
    with np.errstate(over="ignore", under="ignore"):
        np.divide(step, x, out=t, where=x > 0)
        near = np.abs(t) < _SIGNED_NEAR
        terms = rel_entr(x, y)
    np.copyto(terms, -x * np.log1p(np.where(near, t, 0.0)), where=near)
    return np.asarray(terms + 0.0)  # no -0.0


def relative_terms(
    x: NDArray[np.float64], step: NDArray[np.float64], y: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """x log(x / y) - x + y for y = x + step, element by element, unchecked: the kernel of every divergence here.

    For t = step / x it is x (t - log(1 + t)). With s = t / (2 + t), log(1 + t) = 2 atanh(s) and t - 2 s = t s give
    t - log(1 + t) = s (t - 2 s^2 (1/3 + s^2/5 + s^4/7 + ...)), which keeps full precision for small t.

    Parameters
    ----------
    x : array of numbers >= 0
    step : array of the same shape, >= -x
    y : array of the same shape, >= 0, optional
        Give it if known: where y is far smaller than x, x + step loses its digits.

    Returns
    -------
    float64 array
        Non-negative; y where x = 0, inf where y = 0 < x.
    """
    y = x + step if y is None else y
    positive = x > 0
    t, ratio = np.zeros_like(step), np.ones_like(step)
    with np.errstate(over="ignore", under="ignore"):
        np.divide(step, x, out=t, where=positive)
        np.divide(y, x, out=ratio, where=positive)
    near = positive & (np.abs(t) < _NEAR)
    with np.errstate(divide="ignore"):
        logarithm = np.log(np.minimum(ratio, _LARGEST_RATIO, out=ratio))
    lost = (ratio < 1 / _LARGEST_RATIO) & positive & (y > 0)
    if lost.any():
        logarithm[lost] = np.log(y[lost]) - np.log(x[lost])
    logarithm *= x
    terms = np.subtract(step, logarithm, out=logarithm)
    np.copyto(terms, y, where=~positive)
    np.copyto(t, 0.0, where=~near)
    s = t / (2 + t)
    square = s * s
    series = np.full_like(square, 1 / (2 * _LOG_TERMS + 1))
    for j in range(_LOG_TERMS - 1, 0, -1):
        series *= square
        series += 1 / (2 * j + 1)
    series *= square
    series *= 2
    np.copyto(terms, x * s * (t - series), where=near)
    return terms


REFERENCE_SIZE = 25
REFERENCE_MARGIN = 1e-6
MOST_WEIGHTS = 1_000_000


def reference_weights(size: int = REFERENCE_SIZE) -> NDArray[np.float64]:
    """(size,) evenly spaced weights from 1e-6 to 1 - 1e-6, the grid of published MAUVE values."""
    size = _checks.whole("The number of mixture weights", size, low=2)
    if size > MOST_WEIGHTS:
        raise InputError("There are too many mixture weights", allowed=f"2 to {MOST_WEIGHTS:,}", received=f"{size:,}")
    return np.linspace(REFERENCE_MARGIN, 1 - REFERENCE_MARGIN, size)


REFERENCE_WEIGHTS = reference_weights()
REFERENCE_WEIGHTS.setflags(write=False)

# Numbers handled at once: eight float64 arrays of this size stay in a core's cache.
_BLOCK = 1 << 15
# The area integrates over the log odds of the weight from -45 to 45; the rest is below c exp(-45).
_REACH = 45.0
_NODES = 8
_FIRST_PANELS = 32
_LAST_PANELS = 1 << 14
# Two successive refinements of the area must agree to this.
_AREA_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Frontier:
    """Points of one divergence frontier, or of many with the same weights.

    Attributes
    ----------
    weights : (m,) float64 array
        Weight of P in the mixture, increasing.
    type_1, type_2 : (..., m) float64 arrays
        KL(Q || R) and KL(P || R) in nats, in [0, inf].
    """

    weights: NDArray[np.float64]
    type_1: NDArray[np.float64]
    type_2: NDArray[np.float64]

    def curve(self, scale: float = 5.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Exponentiate the frontier, in increasing order of the weight of P.

        Parameters
        ----------
        scale : float > 0
            The constant c.

        Returns
        -------
        x, y : (..., m + 2) float64 arrays in [0, 1]
            exp(-c type_1), decreasing, and exp(-c type_2), increasing, with (1, 0) added first and (0, 1) last.
        """
        c = _checks.positive("The scale", scale)
        ends = np.zeros((*self.type_1.shape[:-1], 1)), np.ones((*self.type_1.shape[:-1], 1))
        with np.errstate(under="ignore"):
            x, y = np.exp(-c * self.type_1), np.exp(-c * self.type_2)
        return np.concatenate([ends[1], x, ends[0]], axis=-1), np.concatenate([ends[0], y, ends[1]], axis=-1)


def divergence_frontier(p: ArrayLike, q: ArrayLike, weights: ArrayLike = REFERENCE_WEIGHTS) -> Frontier:
    """Compute both errors along a grid of mixture weights.

    Parameters
    ----------
    p, q : (..., k) array
        Human side and candidate; leading axes broadcast.
    weights : (m,) array
        Increasing numbers in [0, 1].

    Returns
    -------
    Frontier
        type_1 and type_2 of shape (..., m), relative error below 1e-13.

    Raises
    ------
    InputError
        The inputs are not probability vectors over the same bins, or the weights do not increase within [0, 1].
    """
    return frontier_of_terms(p, q, weights)


def frontier_of_terms(p: ArrayLike, q: ArrayLike, weights: ArrayLike, terms: Terms | None = None) -> Frontier:
    """:func:`divergence_frontier`, errors included, of the f-divergence with these ``terms``; by default KL."""
    grid = _checks.mixture_weights(weights)
    left, right = _checks.distributions(p, q)
    shape, k = left.shape[:-1], left.shape[-1]
    left, right = left.reshape(-1, k), right.reshape(-1, k)
    errors = np.empty((2, left.shape[0], grid.size))
    for part in _checks.row_blocks(len(left), max(1, _BLOCK // k)):
        for column, weight in enumerate(grid):
            errors[:, part, column] = mixture_errors(left[part], right[part], weight, 1 - weight, terms)
    type_1, type_2 = errors.reshape(2, *shape, grid.size)
    return Frontier(grid, type_1, type_2)


def error_sums(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """(..., 2, m) sums over the bins of q log(q / r) and of p log(p / r) at each weight of the grid, unchecked.

    p and q (..., k) are at least 0 and need not sum to 1: they may be a subset of the bins. KL(Q || R) = sum q log q -
    sum q log r, and KL(P || R) likewise, so both take one logarithm, log r, and are several times as fast as
    ``divergence_frontier``. Being differences of sums, they are accurate to about 1e-14 nats in absolute, not relative,
    terms, and may be as far below 0. Enough for rankings.
    """
    p, q = np.broadcast_arrays(p, q)
    shape, k = p.shape[:-1], p.shape[-1]
    left, right = p.reshape(-1, k), q.reshape(-1, k)
    errors = np.empty((len(left), 2, REFERENCE_WEIGHTS.size))
    for part in _checks.row_blocks(len(left), max(1, _BLOCK // k)):
        sides = right[part], left[part]
        own = [xlogy(side, side).sum(axis=-1) for side in sides]
        for column, weight in enumerate(REFERENCE_WEIGHTS):
            mixture = weight * left[part] + (1 - weight) * right[part]
            mixture[mixture == 0] = 1.0  # empty on both sides, where 0 log 0 = 0
            np.log(mixture, out=mixture)
            for kind, side in enumerate(sides):
                errors[part, kind, column] = own[kind] - np.einsum("ij,ij->i", side, mixture)
    return errors.reshape(*shape, 2, REFERENCE_WEIGHTS.size)


def mauve(p: ArrayLike, q: ArrayLike, scale: float = 5.0) -> NDArray[np.float64]:
    """MAUVE on the reference grid, comparable with published values (JMLR 2023, equation 5).

    Parameters
    ----------
    p, q : (..., k) array
        Human side and candidate; leading axes broadcast.
    scale : float > 0
        The constant c.

    Returns
    -------
    (...) float64 array
        In [0, 1], exactly 1 for equal histograms; symmetric in p and q.

    Raises
    ------
    InputError
        The inputs are not probability vectors over the same bins, or the scale is not positive.
    """
    return trapezoid_area(*divergence_frontier(p, q).curve(scale))


def mauve_area(p: ArrayLike, q: ArrayLike, scale: float = 5.0) -> float:
    """Area under the exponentiated frontier to 1e-6 or better, independent of any grid.

    With s the log odds of the weight, the area is the integral of -y dx/ds. The integrand is smooth on the whole line
    for any histograms and any scale, even if a bin is empty on one side and the frontier runs to infinity. Beyond
    |s| = 45 the curve lies within c exp(-45) of the lines x = 1 and y = 1, because r >= weight p gives
    KL(P || R) <= -log(weight), and likewise for Q. A composite Gauss-Legendre rule doubles its panels until it settles.

    Parameters
    ----------
    p, q : (k,) array
    scale : float > 0

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    InputError
        The inputs are not two probability vectors, or the scale is not positive or too large for the rule to settle.
    """
    left, right = _checks.distributions(p, q)
    if left.ndim != 1:
        raise InputError(
            "mauve_area takes one pair of histograms", allowed="shape (k,)", received=f"shape {left.shape}"
        )
    c = _checks.positive("The scale", scale)
    before, panels = np.inf, _FIRST_PANELS
    while panels <= _LAST_PANELS:
        area = _area_under_panels(left, right, c, panels)
        if abs(area - before) < _AREA_TOLERANCE:
            return float(min(max(area, 0.0), 1.0))
        before, panels = area, 2 * panels
    raise InputError("The area does not converge at this scale", received=repr(scale), todo="Choose a smaller scale")


def trapezoid_area(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """(...) area under curves of (..., m) points from (1, 0) to (0, 1), clipped to [0, 1] against rounding."""
    steps = x[..., :-1] - x[..., 1:]
    area = (steps * (y[..., :-1] + y[..., 1:])).sum(axis=-1) / 2
    return np.asarray(np.clip(area, 0.0, 1.0))


def _area_under_panels(p: NDArray[np.float64], q: NDArray[np.float64], c: float, panels: int) -> float:
    nodes, node_weights = np.polynomial.legendre.leggauss(_NODES)
    edges = np.linspace(-_REACH, _REACH, panels + 1)
    half = _REACH / panels
    log_odds = (edges[:-1, None] + half * (1 + nodes)).ravel()
    area = 0.0
    factors = np.tile(half * node_weights, panels)
    for part in _checks.row_blocks(log_odds.size, max(1, _BLOCK // p.size)):
        x, y, slope = _curve_at(p, q, c, log_odds[part])
        area += float((factors[part] * y * x * slope).sum())
    last_x, last_y, _ = _curve_at(p, q, c, np.array([_REACH]))
    return area + float(last_x[0] * last_y[0])


def _curve_at(
    p: NDArray[np.float64], q: NDArray[np.float64], c: float, log_odds: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """x, y and -d log(x) / ds at each of the (m,) log odds; computes 1 - weight without cancellation."""
    weight, rest = expit(log_odds)[:, None], expit(-log_odds)[:, None]
    type_1, type_2 = mixture_errors(p, q, weight, rest)
    mixture = weight * p + rest * q
    ratio = np.divide(q * (p - q), mixture, out=np.zeros_like(mixture), where=mixture > 0)
    slope = -c * (ratio.sum(axis=-1) * (weight * rest)[:, 0])
    with np.errstate(under="ignore"):
        return np.exp(-c * type_1), np.exp(-c * type_2), slope


# Look codes up in a table instead of sorting if the table is at most this many times as long as the cells.
_DENSE = 4


@dataclass(frozen=True, eq=False)
class CountPairs:
    """The distinct pairs of counts of many pairs of histograms, and the bins that have them.

    Attributes
    ----------
    p, q : (u,) int64 arrays
        The pairs.
    n, m : (u,) int64 arrays
        Total counts of the histograms that have the pair: histograms of unequal totals share no pair.
    k : int
    shape : tuple of int
        Shape of the array of histograms, without its last axis.
    member : (rows, u) sparse matrix
        Number of bins of each row with each pair.
    """

    p: NDArray[np.int64]
    q: NDArray[np.int64]
    n: NDArray[np.int64]
    m: NDArray[np.int64]
    k: int
    shape: tuple[int, ...]
    member: Any

    def probabilities(self, added: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(u,) probabilities of a bin with each pair, with ``added`` texts added to every bin."""
        p, q = self.p.astype(np.float64), self.q.astype(np.float64)
        return (p + added) / (self.n + added * self.k), (q + added) / (self.m + added * self.k)

    def sums(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """(..., columns) sums over the bins of each row; ``table`` is (u, columns), one row per pair."""
        return np.asarray(self.member @ table).reshape(*self.shape, table.shape[1])


def count_pairs(p_counts: NDArray[np.integer], q_counts: NDArray[np.integer]) -> CountPairs:
    """Find the distinct pairs of counts of histograms.

    Parameters
    ----------
    p_counts, q_counts : (..., k) int arrays
        Not negative.

    Raises
    ------
    InputError
        The arrays differ in shape.
    """
    if p_counts.shape != q_counts.shape or p_counts.size == 0:
        received = f"{p_counts.shape} and {q_counts.shape}"
        raise InputError("The histograms do not match", allowed="two arrays of the same shape", received=received)
    shape, k = p_counts.shape[:-1], p_counts.shape[-1]
    totals, of_row = np.unique(
        [counts.reshape(-1, k).sum(axis=1) for counts in (p_counts, q_counts)], axis=1, return_inverse=True
    )
    radix, span = int(q_counts.max()) + 1, (int(p_counts.max()) + 1) * (int(q_counts.max()) + 1)
    codes = p_counts.astype(np.int64).ravel()
    codes *= radix
    codes += q_counts.ravel()
    if totals.shape[1] > 1:
        codes += np.repeat(of_row.ravel() * span, k)
    pairs, index = _unique(codes)
    rows = codes.size // k
    ends = np.arange(0, codes.size + 1, k, dtype=np.int32 if codes.size < 2**31 else np.int64)
    member = csr_array((np.ones(codes.size), index, ends), shape=(rows, pairs.size))
    n, m = totals[:, pairs // span]
    return CountPairs(pairs % span // radix, pairs % radix, n, m, k, shape, member)


def _unique(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """np.unique with the inverse, without sorting if the codes are small."""
    largest = int(codes.max())
    if largest >= _DENSE * codes.size:
        pairs, index = np.unique(codes, return_inverse=True)
        return pairs, index.astype(np.int32)
    present = np.zeros(largest + 1, dtype=np.bool_)
    present[codes] = True
    pairs = np.flatnonzero(present)
    number = np.empty(largest + 1, dtype=np.int32)
    number[pairs] = np.arange(pairs.size, dtype=np.int32)
    return pairs, number[codes]
