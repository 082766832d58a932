"""What each cluster adds to the errors at a point of the frontier, to the frontier integral, and to MAUVE.

A cluster's share is its own term of a sum over clusters, and removing the cluster means that this term is left out of
the sum while all others, and p and q, stay as they are. So shares add up to the total, and a share is what the total
falls by when the cluster is removed. With r = l p + (1 - l) q (JMLR 2023, section 3.1):

    type I    q log(q / r)    of KL(Q || R): positive where the model writes more than the mixture, else negative
    type II   p log(p / r)    of KL(P || R): positive where humans write more than the mixture, else negative
    both      l p log(p / r) + (1 - l) q log(q / r)    of l KL(P || R) + (1 - l) KL(Q || R): never negative
    integral  twice the integral of that over l, of the frontier integral (JMLR 2023, section 3.2): never negative

MAUVE is no such sum: it is an area under exp(-c KL(Q || R)), exp(-c KL(P || R)). Its derivatives by the errors at each
point of the grid turn shares of the errors into shares of MAUVE, to first order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.numerics import _checks
from mauve_core.numerics.divergences.frontier import REFERENCE_WEIGHTS, divergence_frontier
from mauve_core.numerics.divergences.kl import error_shares, integral_terms, mixture_terms


@dataclass(frozen=True, eq=False)
class Ledger:
    """Shares of every cluster at one mixture weight, in nats but for the integral, which lies in [0, 1].

    Attributes
    ----------
    weight : float
        l, the weight of P in the mixture.
    type1, type2 : (..., k) float64 arrays
        Of KL(Q || R) and KL(P || R), signed; infinite at l = 1 and l = 0 alone.
    both : (..., k) float64 array
        Of l KL(P || R) + (1 - l) KL(Q || R), at least 0 and finite; 0 at l = 0 and l = 1.
    integral : (..., k) float64 array
        Of the frontier integral, at least 0; the same at every weight.
    """

    weight: float
    type1: NDArray[np.float64]
    type2: NDArray[np.float64]
    both: NDArray[np.float64]
    integral: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MauveShares:
    """How MAUVE answers to each cluster, to first order.

    Attributes
    ----------
    terms : (..., k) float64 array
        Shares of the gap: how fast MAUVE rises as the cluster's terms leave the errors at all points of the frontier at
        once. Negative where the cluster offsets more than it adds. They sum to -c dMAUVE/dc.
    mass : (..., k) float64 array
        How fast MAUVE rises as texts are added to the candidate's side of the cluster, in units of its share q, all
        other clusters thinned alike. Infinite where q = 0 < p. The mean weighted by q is 0.
    """

    terms: NDArray[np.float64]
    mass: NDArray[np.float64]


def ledger(p: ArrayLike, q: ArrayLike, weight: float) -> Ledger:
    """Each cluster's shares at one point of the frontier.

    Parameters
    ----------
    p, q : (..., k) array
        Human side and candidate; leading axes broadcast. Clusters may be empty on either side.
    weight : float in [0, 1]
        l, the weight of P in the mixture.

    Returns
    -------
    Ledger
        Relative error of a share below 1e-13.

    Raises
    ------
    InputError
        Not probability vectors over the same clusters, or a weight outside [0, 1].
    """
    left, right = _checks.distributions(p, q)
    type1, type2 = error_shares(left, right, weight)
    return Ledger(weight, type1, type2, _both(left, right, weight), integral_terms(left, right))


def mauve_shares(p: ArrayLike, q: ArrayLike, scale: float = 5.0) -> MauveShares:
    """First-order shares of MAUVE on the reference grid.

    Parameters
    ----------
    p, q : (..., k) array
        Human side and candidate; leading axes broadcast.
    scale : float > 0
        The constant c.

    Raises
    ------
    InputError
        Not probability vectors over the same clusters, or a scale that is not positive.
    """
    left, right = _checks.distributions(p, q)
    by_type1, by_type2 = _area_slopes(left, right, scale)
    terms, mass, thinned = np.zeros_like(left), np.zeros_like(left), np.zeros(left.shape[:-1])
    for column, weight in enumerate(REFERENCE_WEIGHTS):
        first, second = by_type1[..., column], by_type2[..., column]
        type1, type2 = error_shares(left, right, weight)
        terms -= first[..., None] * type1 + second[..., None] * type2
        slope1, slope2 = _error_slopes(left, right, weight, type1)
        mass += _times(first, slope1) + _times(second, slope2)
        # The slopes' mean weighted by q, formed from slope2 so that an empty cluster's infinite slope stays out of it.
        held = (right * slope2).sum(axis=-1)
        thinned += first * (type1.sum(axis=-1) - held * weight / (1 - weight)) + second * held
    return MauveShares(terms, mass - thinned[..., None])


def _both(p: NDArray[np.float64], q: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
    """l p log(p / r) + (1 - l) q log(q / r): what the non-negative terms add beyond it, r - l p - (1 - l) q, is 0."""
    if weight in (0, 1):
        return np.zeros_like(p)
    type1, type2 = mixture_terms(p, q, weight, 1 - weight)
    return weight * type2 + (1 - weight) * type1


def _area_slopes(
    p: NDArray[np.float64], q: NDArray[np.float64], scale: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(..., m) derivatives of the trapezoidal area by KL(Q || R) and by KL(P || R) at each weight; none is positive."""
    x, y = divergence_frontier(p, q).curve(scale)
    by_type1 = -scale * x[..., 1:-1] * (y[..., 2:] - y[..., :-2]) / 2
    by_type2 = -scale * y[..., 1:-1] * (x[..., :-2] - x[..., 2:]) / 2
    return by_type1, by_type2


def _error_slopes(
    p: NDArray[np.float64], q: NDArray[np.float64], weight: float, type1: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(..., k) derivatives of both errors by q: log(q / r) + l p / r and -(1 - l) p / r, by their limits at q = 0."""
    mixture = weight * p + (1 - weight) * q
    ratio = np.divide(p, mixture, out=np.zeros_like(p), where=mixture > 0)
    logarithm = np.where(p > 0, -np.inf, -np.log(1 - weight))
    np.divide(type1, q, out=logarithm, where=q > 0)
    return logarithm + weight * ratio, -(1 - weight) * ratio


def _times(factor: NDArray[np.float64], slopes: NDArray[np.float64]) -> NDArray[np.float64]:
    """(...) times (..., k), 0 where the factor is 0 and the slope infinite."""
    scaled = np.broadcast_to(factor[..., None], slopes.shape)
    return np.multiply(scaled, slopes, out=np.zeros_like(slopes), where=scaled != 0)
