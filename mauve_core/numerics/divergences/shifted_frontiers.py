"""Frontiers of many resamples after a few clusters change, without a logarithm per bin and resample.

Let a and b be a bin's counts on the two sides, A and B the sums of the histograms, and R = w P + (1 - w) Q. Then

    log r = log(w / A) + log(a + e^s b),    s = log((1 - w) / w) + log(A / B),

so F(s) = sum b log(a + e^s b) and G(s) = sum a log(a + e^s b) over the bins give both errors. Texts dropped elsewhere
change a bin's term through s alone. F and G are analytic in s except at log(a / b) +- i pi. They are stored as
Chebyshev polynomials around the values of s of the grid's weights. After a change, the polynomial is evaluated at
another s, with the old terms of the changed bins removed and the new ones added. The terms of the frontier integral
work the same way; they have degree 1 and no singularity nearer than 2 i pi.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.typing import NDArray
from scipy.special import xlogy

from mauve_core.numerics.divergences.count_pairs import CountPairs
from mauve_core.numerics.divergences.frontier import REFERENCE_WEIGHTS, Frontier
from mauve_core.numerics.divergences.kl import integral_terms

_Pair = tuple[NDArray[np.float64], NDArray[np.float64]]

# Largest supported change of log(A / B): one side may lose a third of its texts.
REACH = 0.4

_LOG_ODDS = np.log((1 - REFERENCE_WEIGHTS) / REFERENCE_WEIGHTS)

_LAST = REFERENCE_WEIGHTS.size - 1
# First and last weight of the grid, one behind, and nodes. With x = pi / half the width, the error falls by x + sqrt(1
# + x^2) with each node: by 2.2 in the middle, to 1e-14; by 16 at the ends, where all but a millionth is linear in s.
_SEGMENTS = ((0, 1, 8), (1, _LAST, 40), (_LAST, _LAST + 1, 8))

_INTEGRAL_NODES = 10


@dataclass(frozen=True, eq=False)
class Bins:
    """Some bins of every histogram: their counts before and after the change, with smoothing, and their histograms.

    Attributes
    ----------
    before, after : two (B, c) float64 arrays each
        First side and second side.
    member : (seeds, c) float64 array
        1 where a bin belongs to the histogram of a seed.
    """

    before: _Pair
    after: _Pair
    member: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ShiftedSums:
    """Sums over the bins of (B, seeds) pairs of histograms as functions of s.

    Attributes
    ----------
    centre : float
        log(A / B) of the histograms.
    own : (2, B, seeds) float64 array
        Sums of a log a and of b log b.
    segments : tuple of (2, B, seeds, nodes) float64 arrays
        Coefficients of G and F for each part of the grid.
    integral : (B, seeds, nodes) float64 array
        Coefficients of the sum of the frontier integral's terms of a and e^s b, s about ``centre``.
    """

    centre: float
    own: NDArray[np.float64]
    segments: tuple[NDArray[np.float64], ...]
    integral: NDArray[np.float64]

    def serves(self, totals: _Pair) -> bool:
        """Whether all histograms of these sums, with smoothing, lie within ``REACH``."""
        return bool((np.abs(np.log(totals[0] / totals[1]) - self.centre) <= REACH).all())

    def frontier(self, totals: _Pair, bins: Bins) -> Frontier:
        """(B, seeds) frontiers with these changed bins and these sums A and B (B,); unchecked.

        Accurate to about 1e-13 nats in absolute terms, like ``frontier_by_logs``.
        """
        shift = np.log(totals[0] / totals[1])
        sums = np.concatenate(
            [
                _evaluated(coefficients, shift[:, None] - self.centre + _LOG_ODDS[first:last], *_interval(first, last))
                for coefficients, (first, last, _) in zip(self.segments, _SEGMENTS, strict=True)
            ],
            axis=-1,
        )
        odds = np.exp(_LOG_ODDS + shift[:, None])[:, None, :]
        own = self.own.copy()
        for (a, b), sign in ((bins.before, -1.0), (bins.after, 1.0)):
            logs = b[..., None] * odds
            logs += a[..., None]
            logs[logs == 0] = 1.0  # empty on both sides, where 0 log 0 = 0
            np.log(logs, out=logs)
            for index, side in enumerate((a, b)):
                sums[index] += sign * (bins.member @ (side[..., None] * logs))
                own[index] += sign * (xlogy(side, side) @ bins.member.T)
        p_total, q_total = (total[:, None, None] for total in totals)
        offset = -np.log(REFERENCE_WEIGHTS)
        type_1 = (own[1][..., None] - sums[1]) / q_total + (offset + shift[:, None, None])
        type_2 = (own[0][..., None] - sums[0]) / p_total + offset
        return Frontier(REFERENCE_WEIGHTS, np.maximum(type_1, 0.0), np.maximum(type_2, 0.0))

    def frontier_integral(self, totals: _Pair, bins: Bins) -> NDArray[np.float64]:
        """(B, seeds) frontier integrals of the same histograms."""
        ratio = (totals[0] / totals[1])[:, None]
        shift = np.log(ratio) - self.centre
        sums = _evaluated(self.integral, shift, -REACH, REACH)[..., 0]
        for (a, b), sign in ((bins.before, -1.0), (bins.after, 1.0)):
            sums += sign * (integral_terms(a, ratio * b) @ bins.member.T)
        return np.asarray(np.clip(sums / totals[0][:, None], 0.0, 1.0))


def shifted_sums(pairs: CountPairs, added: float) -> ShiftedSums:
    """Sums of (B, seeds) pairs of histograms, with ``added`` texts added to every bin."""
    a, b = pairs.p + added, pairs.q + added
    centre = float(np.log((pairs.n + added * pairs.k) / (pairs.m + added * pairs.k)).mean())
    columns, ends = [xlogy(a, a)[:, None], xlogy(b, b)[:, None]], [2]
    for first, last, nodes in _SEGMENTS:
        logs = a[:, None] + np.exp(_nodes(nodes, *_interval(first, last)) + centre) * b[:, None]
        logs = np.log(np.where(logs == 0, 1.0, logs))
        columns += [a[:, None] * logs, b[:, None] * logs]
        ends += [ends[-1] + nodes, ends[-1] + 2 * nodes]
    scaled = np.exp(_nodes(_INTEGRAL_NODES, -REACH, REACH) + centre) * b[:, None]
    columns.append(integral_terms(np.broadcast_to(a[:, None], scaled.shape), scaled))
    own, *sums = np.split(pairs.sums(np.concatenate(columns, axis=1)), ends, axis=-1)
    coefficients = [_coefficients(each) for each in sums]
    segments = tuple(np.stack(coefficients[index : index + 2]) for index in range(0, 2 * len(_SEGMENTS), 2))
    return ShiftedSums(centre, np.moveaxis(own, -1, 0), segments, coefficients[-1])


def _interval(first: int, last: int) -> tuple[float, float]:
    """Range of s for the weights of a part of the grid, at the center and ``REACH`` beyond."""
    return float(_LOG_ODDS[last - 1]) - REACH, float(_LOG_ODDS[first]) + REACH


def _nodes(number: int, low: float, high: float) -> NDArray[np.float64]:
    return np.asarray((high + low) / 2 + (high - low) / 2 * np.cos(np.pi * (np.arange(number) + 0.5) / number))


def _coefficients(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients of the polynomial through values (..., nodes) at Chebyshev nodes."""
    number = values.shape[-1]
    factors = 2 / number * chebvander(np.cos(np.pi * (np.arange(number) + 0.5) / number), number - 1)
    factors[:, 0] /= 2
    return np.asarray(values @ factors)


def _evaluated(
    coefficients: NDArray[np.float64], s: NDArray[np.float64], low: float, high: float
) -> NDArray[np.float64]:
    """(..., B, seeds, places) values of the polynomials (..., B, seeds, nodes) at s (B, places)."""
    basis = chebvander((s - (high + low) / 2) / ((high - low) / 2), coefficients.shape[-1] - 1)
    return np.asarray(coefficients @ basis.transpose(0, 2, 1))
