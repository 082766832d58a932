"""Ratios of two kernel density estimates (JMLR 2023, section 4.2.3, equations 26 and 27).

The density at u is the mean of Gaussian kernels of one bandwidth around the points of a sample, leaving out u itself
if it belongs to the sample. Both sides have the same bandwidth, so its power in front of the sum cancels in the ratio.

The paper does not say how to choose the bandwidth h. The default minimizes the log loss of the ratios themselves: at
each point u, densities that leave u out give the probability eta_h(u) = p / (p + q) that it is human (equation 28, each
side of weight 1/2), and

    loss(h) = -1/2 mean over P of log eta_h - 1/2 mean over Q of log(1 - eta_h).

Its expectation is log 2 - JS(P, Q) plus the mean KL divergence of eta_h from the true probability, so the least loss
has the closest ratios. Leave-one-out errors of the ratio also tune other kernel estimates of it (Kanamori, Suzuki and
Sugiyama, 2012). Sides of one source get wide kernels and ratios near 1. Wide kernels blur small differences too, so
from few texts in many dimensions the divergence tends to be too small.

Rules for one density are too narrow for ratios in many dimensions, because they avoid a bias that partly cancels there.
From about five dimensions, Scott's rule, also available, leaves the points in the tails without neighbors, and noise
passes for divergence.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.ratios.log_ratios import LEAST_VARIANCE, LogRatios, principal_coordinates

# Principal components to keep; for the paper 5 or 10 are enough, and beyond about 100 the estimate is unusable.
COMPONENTS = 10
BANDWIDTHS = ("log-loss", "scott")

# Rows whose distances to all others are held at once.
BLOCK = 512
# The bandwidth search runs from a quarter of Scott's to eight times it. Texts with copies on their own side would be
# told apart best by ever narrower kernels, sides of one source by ever wider ones, with all ratios 1.
_OCTAVES = (-2.0, 3.0)
# Steps of the search, in octaves: first over the whole range, then around the best. A parabola through the last three
# losses then gives the bandwidth, so that it changes smoothly when texts are left out.
_COARSE, _FINE = 0.5, 0.125
# Points per side, evenly spaced in its order, whose log loss decides the bandwidth; all are kernel centers.
_JUDGED = 1000

_Array = NDArray[np.float64]


def kde_ratios(
    x_p: ArrayLike,
    x_q: ArrayLike,
    *,
    bandwidth: float | str = "log-loss",
    times: float = 1.0,
    components: int = COMPONENTS,
) -> LogRatios:
    """log p / q at every point from kernel densities in the principal coordinates of the union.

    Parameters
    ----------
    x_p, x_q, components
        See :func:`mauve_core.numerics.ratios.log_ratios.principal_coordinates`; two rows or more on each side.
    bandwidth : float > 0, "log-loss" or "scott"
        Standard deviation of the kernel in every direction, or how to choose it; see the module docstring.
    times : float > 0
        Factor of that bandwidth, to see how much depends on the choice.

    Returns
    -------
    LogRatios
        One per text, in order; finite and deterministic.

    Raises
    ------
    InputError
        Features, the bandwidth or its factor are not usable, a side has fewer than two rows, or a side has equal rows
        only and the bandwidth is to be chosen.
    """
    u_p, u_q, note = principal_coordinates(x_p, x_q, components, least_rows=2)
    factor = _checks.positive("The factor of the bandwidth", times)
    given, chosen = _bandwidth(u_p, u_q, bandwidth)
    width = given * factor
    if factor != 1:
        chosen = f", {factor:g} times {given:.4g}{chosen}"
    widths = np.array([width])
    at_p = log_densities(u_p, u_p, widths, own=np.arange(len(u_p))) - log_densities(u_p, u_q, widths)
    at_q = log_densities(u_q, u_p, widths) - log_densities(u_q, u_q, widths, own=np.arange(len(u_q)))
    return LogRatios(at_p[0], at_q[0], (f"bandwidth {width:.4g}{chosen}", note))


def scott_bandwidth(u_p: _Array, u_q: _Array) -> float:
    """Scott's rule for both sides: their standard deviation, pooled over sides and directions, times n^(-1 / (d + 4)).

    n is the number of points of the smaller side, d their dimension; the sides' means do not count.
    """
    squares = sum(float(((side - side.mean(axis=0)) ** 2).sum()) for side in (u_p, u_q))
    deviation = np.sqrt(squares / ((len(u_p) + len(u_q)) * u_p.shape[1]))
    return float(deviation * min(len(u_p), len(u_q)) ** (-1 / (u_p.shape[1] + 4)))


def log_densities(points: _Array, sample: _Array, widths: _Array, *, own: NDArray[np.intp] | None = None) -> _Array:
    """Log of the mean of Gaussian kernels around a sample, without the factor (2 pi)^(-d / 2) h^-d.

    Parameters
    ----------
    points, sample : (r, c), (n, c) array
    widths : (w,) array
        Bandwidths h.
    own : (r,) array of int, optional
        Index of each point in the sample, to leave it out.

    Returns
    -------
    (w, r) float64 array
        In nats, finite; the largest term is factored out of the sum, so nothing underflows.
    """
    squares, centres = (np.einsum("ij,ij->i", side, side) for side in (points, sample))
    logs = np.empty((len(widths), len(points)))
    for part in _checks.row_blocks(len(points), BLOCK):
        halves = (squares[part, None] + centres) / 2 - points[part] @ sample.T
        np.maximum(halves, 0.0, out=halves)
        if own is not None:
            halves[np.arange(len(halves)), own[part]] = np.inf
        least = halves.min(axis=1)
        halves -= least[:, None]
        for row, width in enumerate(widths):
            with np.errstate(under="ignore"):
                sums = np.exp(halves / -(width**2)).sum(axis=1)
            logs[row, part] = np.log(sums) - least / width**2
    return np.asarray(logs - np.log(len(sample) - (own is not None)))


def _bandwidth(u_p: _Array, u_q: _Array, bandwidth: float | str) -> tuple[float, str]:
    """The bandwidth and, if it was not given, a note on the choice."""
    if not isinstance(bandwidth, str):
        return _checks.positive("The bandwidth", bandwidth), ""
    if bandwidth not in BANDWIDTHS:
        raise InputError(
            "Unknown bandwidth",
            allowed=f"a positive number, {' or '.join(BANDWIDTHS)}",
            received=repr(bandwidth),
        )
    scott = scott_bandwidth(u_p, u_q)
    if scott**2 <= LEAST_VARIANCE * np.concatenate([u_p, u_q]).var(axis=0).mean():
        raise InputError(
            "No bandwidth suits sides without spread",
            allowed="rows that differ within a side",
            todo="Give a bandwidth, or compare texts that differ",
        )
    if bandwidth == "scott":
        return scott, " by Scott's rule"
    octaves = _least_loss(u_p, u_q, scott)
    edge = ", at an end of the range" if octaves in _OCTAVES else ""
    return float(scott * 2**octaves), f" by leave-one-out log loss, {2**octaves:.3g} times Scott's rule{edge}"


def _least_loss(u_p: _Array, u_q: _Array, unit: float) -> float:
    """Bandwidth of the least log loss, as log2 of its ratio to ``unit``."""
    low, high = _OCTAVES
    coarse = np.arange(low, high + _COARSE / 2, _COARSE)
    best = coarse[_log_losses(u_p, u_q, unit * 2**coarse).argmin()]
    fine = np.arange(max(low, best - _COARSE), min(high, best + _COARSE) + _FINE / 2, _FINE)
    losses = _log_losses(u_p, u_q, unit * 2**fine)
    place = int(losses.argmin())
    if place in (0, len(fine) - 1):
        return float(fine[place])
    before, least, after = losses[place - 1 : place + 2]
    slope, bend = after - before, after - 2 * least + before
    return float(fine[place] - (_FINE / 2 * slope / bend if bend > 0 else 0.0))


def _log_losses(u_p: _Array, u_q: _Array, widths: _Array) -> _Array:
    """(w,) log loss of the probability that a point belongs to its side, the point left out: the mean of both sides."""
    losses = np.zeros(len(widths))
    for own, other in ((u_p, u_q), (u_q, u_p)):
        judged = np.unique(np.linspace(0, len(own) - 1, min(len(own), _JUDGED)).astype(np.intp))
        points = own[judged]
        odds = log_densities(points, own, widths, own=judged) - log_densities(points, other, widths)
        losses += np.logaddexp(0.0, -odds).mean(axis=1) / 2
    return losses
