"""Frontiers of any f-divergence with their three summaries, and five divergences between cluster distributions.

The f-divergence frontier is the set of points (D_f(Q || R), D_f(P || R)) for R = l P + (1 - l) Q (JMLR 2023,
definition 4). Its summaries are the area MAUVE_f (equation 5), the integral FI_f (equation 7) and the mid-point Mid_f
(equation 8). All need a finite f(0). Definition 4 also asks for f*(0) = inf, which this module does not require: it
only sends the curve to infinity if a bin is empty on one side. KL uses ``frontier`` and ``kl``.

The five divergences (Pimentel, Meister and Cotterell, ICLR 2023, equations 4 to 8) are forward, backward and
exponentiated KL, Jensen-Shannon, and AUC = 1 - MAUVE. P is the human side; logarithms are natural.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.divergences.frontier import (
    REFERENCE_WEIGHTS,
    Frontier,
    frontier_of_terms,
    mauve,
    trapezoid_area,
)
from mauve_core.numerics.divergences.generators import Generator, f_divergence, generator_of
from mauve_core.numerics.divergences.kl import frontier_integral, kl_divergence, mid_point, mixture_errors

# The constant s of AUC on distributions over clusters (ICLR 2023, section 5).
CLUSTER_SCALE = 5.0

# Smoothing of the cluster counts behind the five divergences (ICLR 2023, section 5).
CLUSTER_SMOOTHING = "laplace"

_Array = NDArray[np.float64]

# The integral runs over the log odds of the weight from -36 to 36; the rest is exp(-36) = 2e-16 of it.
_REACH = 36.0
# Spacing of its points before the first refinement; the error there is about exp(-2 pi^2 / 0.75) = 4e-12.
_FIRST_STEP = 0.75
_REFINEMENTS = 6
# Two successive refinements of the integral must agree to this relative to its value.
_SETTLED = 1e-10
# Numbers handled at once.
_BLOCK = 1 << 15


def f_frontier(
    p: ArrayLike, q: ArrayLike, generator: Generator | str = "kl", weights: ArrayLike = REFERENCE_WEIGHTS
) -> Frontier:
    """D_f(Q || R) and D_f(P || R) along a grid of mixture weights (JMLR 2023, definition 4).

    Parameters
    ----------
    p, q : (..., k) array
        Human side and candidate; leading axes broadcast.
    generator : Generator or str
        With a finite f(0).
    weights : (m,) array
        Increasing numbers in [0, 1].

    Returns
    -------
    Frontier
        type_1 and type_2 of shape (..., m), relative error below 1e-12.

    Raises
    ------
    InputError
        The inputs are not probability vectors over the same bins, the weights do not increase within [0, 1], or the
        generator is unknown or has infinite f(0).
    """
    chosen = _finite(generator)
    return frontier_of_terms(p, q, weights, chosen.terms)


def mauve_f(p: ArrayLike, q: ArrayLike, generator: Generator | str = "kl", scale: float = 5.0) -> NDArray[np.float64]:
    """MAUVE_f: the area under (exp(-c D_f(Q || R)), exp(-c D_f(P || R))) on the published 25 weights (equation 5).

    Parameters
    ----------
    p, q, generator
        See :func:`f_frontier`.
    scale : float > 0
        The constant c. Different generators need different constants.

    Returns
    -------
    (...) float64 array
        In [0, 1], 1 for equal histograms; symmetric in p and q. With "kl" it equals ``frontier.mauve``.

    Raises
    ------
    InputError
        As in :func:`f_frontier`, or a scale that is not positive.
    """
    return trapezoid_area(*f_frontier(p, q, generator).curve(scale))


def frontier_integral_f(p: ArrayLike, q: ArrayLike, generator: Generator | str = "kl") -> NDArray[np.float64]:
    """FI_f: twice the integral over the weight l of l D_f(P || R) + (1 - l) D_f(Q || R) (equation 7).

    KL, chi2 and total variation have a closed form; all others use :func:`integrated_frontier`. That of chi2 is twice
    that of KL, because l (1 - l)^2 + (1 - l) l^2 = l (1 - l); that of total variation is two thirds of the divergence.
    Parameters and errors are those of :func:`f_frontier`.

    Returns
    -------
    (...) float64 array
        In the range given by :func:`ranges`; symmetric in p and q.
    """
    chosen = _finite(generator)
    closed = _CLOSED_INTEGRALS.get(chosen.name)
    if closed is not None:
        return closed(p, q)
    return np.asarray(np.minimum(integrated_frontier(p, q, chosen), _largest_integral(chosen)))


def integrated_frontier(p: ArrayLike, q: ArrayLike, generator: Generator | str) -> NDArray[np.float64]:
    """FI_f by quadrature alone, settled to 1e-10 of its value.

    The integral runs over the log odds s of the weight l, with dl = l (1 - l) ds. The integrand vanishes at both ends
    and is smooth on the whole line for any histograms: its poles and branch points, where a mixture of two bins
    vanishes, all lie on Im s = pi. Equally spaced points are then the best rule; with step h their error is about
    exp(-2 pi^2 / h) (Trefethen and Weideman, SIAM Review 2014). The step is halved until two results agree.
    Parameters are those of :func:`f_frontier`.

    Returns
    -------
    (...) float64 array
        Non-negative.

    Raises
    ------
    InputError
        As in :func:`f_frontier`, or the rule does not settle.
    """
    chosen = _finite(generator)
    left, right = _checks.distributions(p, q)
    shape, k = left.shape[:-1], left.shape[-1]
    rows = zip(left.reshape(-1, k), right.reshape(-1, k), strict=True)
    return np.array([_settled_integral(chosen, *pair) for pair in rows], dtype=np.float64).reshape(shape)


def mid_f(p: ArrayLike, q: ArrayLike, generator: Generator | str = "kl") -> NDArray[np.float64]:
    """Mid_f: half the sum of the two errors at weight 1/2 (equation 8). KL gives Jensen-Shannon, chi2 Le Cam.

    Parameters and errors are those of :func:`f_frontier`.

    Returns
    -------
    (...) float64 array
        In [0, (f(0) + f(2)) / 2]; symmetric in p and q.
    """
    chosen = _finite(generator)
    if chosen.name == "kl":
        return mid_point(p, q)
    type_1, type_2 = mixture_errors(*_checks.distributions(p, q), 0.5, 0.5, chosen.terms)
    return np.asarray(np.minimum((type_1 + type_2) / 2, ranges(chosen)["mid"][1]))


@lru_cache(maxsize=64)
def ranges(generator: Generator | str) -> Mapping[str, tuple[float, float]]:
    """Smallest and largest values of the divergence and of its frontier's summaries (properties 6 to 8).

    Parameters
    ----------
    generator : Generator or str
        With a finite f(0).

    Returns
    -------
    mapping of str to (float, float)
        ``divergence``, ``mauve``, ``frontier_integral`` and ``mid``. Equal histograms reach one end and disjoint ones
        the other; disjoint ones reach the end of MAUVE only as the scale grows.

    Raises
    ------
    InputError
        The generator is unknown or has infinite f(0).
    """
    chosen = _finite(generator)
    mid = (chosen.at_zero + float(chosen.f(2.0))) / 2
    return MappingProxyType(
        {
            "divergence": (0.0, chosen.at_zero + chosen.conjugate_at_zero),
            "mauve": (0.0, 1.0),
            "frontier_integral": (0.0, _largest_integral(chosen)),
            "mid": (0.0, mid),
        }
    )


def forward_kl(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """(...) KL(P || Q) of (..., k) histograms, in [0, inf]: infinite if humans write what the model never does."""
    return kl_divergence(p, q)


def backward_kl(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """(...) KL(Q || P) of (..., k) histograms, in [0, inf]: infinite if the model writes what humans never do."""
    return kl_divergence(q, p)


def exponentiated_kl(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """(...) exp(KL(P || Q)) of (..., k) histograms, in [1, inf]: perplexity relative to that of the human side."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(kl_divergence(p, q)))


def jensen_shannon(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """(...) Jensen-Shannon divergence of (..., k) histograms, in [0, log 2]."""
    return mid_point(p, q)


def auc(p: ArrayLike, q: ArrayLike, scale: float = CLUSTER_SCALE) -> NDArray[np.float64]:
    """(...) 1 - MAUVE of (..., k) histograms on the published weights, in [0, 1]; ``scale`` is the constant s.

    Resolution is 1e-16 of 1, so nearly equal histograms may give the value of equal ones.
    """
    return np.asarray(1 - mauve(p, q, scale))


# The five divergences of ICLR 2023 by name, AUC with the constant for clusters; larger is farther apart.
FIVE: dict[str, Callable[[ArrayLike, ArrayLike], NDArray[np.float64]]] = {
    "forward-kl": forward_kl,
    "backward-kl": backward_kl,
    "exponentiated-kl": exponentiated_kl,
    "jensen-shannon": jensen_shannon,
    "auc": auc,
}

# Range of each.
FIVE_BOUNDS = {
    "forward-kl": (0.0, np.inf),
    "backward-kl": (0.0, np.inf),
    "exponentiated-kl": (1.0, np.inf),
    "jensen-shannon": (0.0, float(np.log(2))),
    "auc": (0.0, 1.0),
}


def _finite(generator: Generator | str) -> Generator:
    chosen = generator_of(generator)
    if not np.isfinite(chosen.at_zero):
        raise InputError(
            "This generator has no frontier", allowed="a generator with a finite f(0)", received=chosen.name
        )
    return chosen


def _settled_integral(generator: Generator, p: _Array, q: _Array) -> float:
    step = _FIRST_STEP
    value = step * _integrand(generator, p, q, np.arange(-_REACH, _REACH + step, step))
    for _ in range(_REFINEMENTS):
        step /= 2
        between = np.arange(-_REACH + step, _REACH, 2 * step)
        before, value = value, value / 2 + step * _integrand(generator, p, q, between)
        if abs(value - before) <= _SETTLED * value:
            return value
    raise InputError("The frontier integral does not converge", received=generator.name)


def _integrand(generator: Generator, p: _Array, q: _Array, log_odds: _Array) -> float:
    """Sum over the (m,) log odds of 2 l (1 - l) (l D_f(P || R) + (1 - l) D_f(Q || R))."""
    total = 0.0
    for part in _checks.row_blocks(log_odds.size, max(1, _BLOCK // p.size)):
        weight, rest = expit(log_odds[part]), expit(-log_odds[part])
        type_1, type_2 = mixture_errors(p, q, weight[:, None], rest[:, None], generator.terms)
        total += 2 * float((weight * rest * (weight * type_2 + rest * type_1)).sum())
    return total


@lru_cache(maxsize=64)
def _largest_integral(generator: Generator) -> float:
    """FI_f of disjoint histograms, its maximum: 4 times the integral of l f*(l), plus 2 f(0) / 3 (property 7c)."""
    ends = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    closed = _CLOSED_INTEGRALS.get(generator.name)
    return _settled_integral(generator, *ends) if closed is None else float(closed(*ends))


def _chi2_integral(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(2 * frontier_integral(p, q))


def _variation_integral(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(f_divergence(p, q, "total-variation") * (2 / 3))


_CLOSED_INTEGRALS = {"kl": frontier_integral, "chi2": _chi2_integral, "total-variation": _variation_integral}
