"""f-divergences of histograms, their frontiers with three summaries, and five divergences of cluster distributions.

D_f(P || Q) = sum q f(p / q) for a convex f >= 0 with f(1) = f'(1) = 0. A bin with q = 0 adds p f*(0), f*(t) = t f(1 /
t) (JMLR 2023, definition 1). A :class:`Generator` is a function of both probabilities and their difference y - x that
returns one bin's term y f(x / y): no quotient overflows, no logarithm cancels, and no term is negative.

The frontier is (D_f(Q || R), D_f(P || R)) for R = l P + (1 - l) Q (definition 4); its summaries are the area MAUVE_f,
the integral FI_f and the mid-point Mid_f (equations 5, 7, 8), which need a finite f(0). f*(0) = inf is not asked for.
Where the paper contradicts itself, its definitions are followed: D(P || l P + (1 - l) Q) has the generator (1 - l)^2 (t
- 1)^2 / (l t + 1 - l) for chi2 (example 2(d) and table 1 omit (1 - l)^2); and the generator printed for FI_chi2 in
section 3.3 is that of another integral, available as ``fi-chi2-printed``.

The five (Pimentel, Meister and Cotterell, ICLR 2023, equations 4 to 8) are forward, backward and exponentiated KL,
Jensen-Shannon, and AUC = 1 - MAUVE. P is the human side; logarithms are natural.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks
from mauve_core.stats.divergences import (
    REFERENCE_WEIGHTS,
    Frontier,
    Terms,
    frontier_integral,
    frontier_of_terms,
    kl_divergence,
    mauve,
    mid_point,
    mixture_errors,
    relative_terms,
    trapezoid_area,
)

_Array = NDArray[np.float64]

# u = |p - q| / (p + q) below which a series gives artanh(u) / u - 1; at 0.5 the closed form has lost one digit.
_NEAR = 0.5
# Terms of that series, all positive: the rest is below 0.25^28 / 57 = 2.5e-19, of a value above 1/3.
_EXCESS_TERMS = 28
# Quotient of two bins beyond which their logarithms are taken separately, to avoid overflow.
_LARGEST_RATIO = 1e300
# Weight on P of the registered member of a family: at 1/2 skew-js is js, and interpolated-chi2 is le-cam.
_WEIGHT = 0.25


@dataclass(frozen=True)
class Generator:
    """A generator f of an f-divergence; equal generators have equal names.

    Attributes
    ----------
    name, title : str
        Name in settings and name for display.
    terms : callable
        (x, step, y) with y = x + step -> y f(x / y) element by element, unchecked, non-negative; arrays of one shape.
    curvature : callable
        Second derivative at an array of numbers > 0, unchecked.
    at_zero, conjugate_at_zero : float
        f(0) and f*(0), in (0, inf]. Their sum is the largest value of the divergence.
    symmetric : bool
        Whether f = f*, so that the divergence is symmetric in p and q.
    source : str
        Source of the definition.
    """

    name: str
    title: str = field(compare=False)
    terms: Terms = field(compare=False, repr=False)
    curvature: Callable[[_Array], _Array] = field(compare=False, repr=False)
    at_zero: float = field(compare=False)
    conjugate_at_zero: float = field(compare=False)
    symmetric: bool = field(compare=False)
    source: str = field(compare=False)

    def f(self, t: ArrayLike) -> NDArray[np.float64]:
        """f(t) for numbers t in [0, inf], in [0, inf]; relative error below 1e-12, even for t near 1."""
        array = _arguments(t)
        inside = np.atleast_1d(np.where(np.isinf(array), 1.0, array))
        values = self.terms(inside, 1 - inside, np.ones_like(inside)).reshape(array.shape)
        return np.where(np.isinf(array), np.inf, values)

    def conjugate(self, t: ArrayLike) -> NDArray[np.float64]:
        """f*(t) = t f(1 / t) for numbers t in [0, inf], in [0, inf]."""
        array = _arguments(t)
        inside = np.atleast_1d(np.where(np.isinf(array), 1.0, array))
        values = self.terms(np.ones_like(inside), inside - 1, inside).reshape(array.shape)
        return np.where(np.isinf(array), np.inf, values)

    def second(self, t: ArrayLike) -> NDArray[np.float64]:
        """f''(t) for finite t > 0. Total variation has a kink at 1: inf at 1 and 0 elsewhere."""
        array = _arguments(t)
        if (array == 0).any() or np.isinf(array).any():
            raise InputError("The second derivative is not defined at the border", allowed="finite numbers above 0")
        with np.errstate(over="ignore", under="ignore"):
            return self.curvature(np.atleast_1d(array)).reshape(array.shape)


def interpolated_kl(weight: float) -> Generator:
    """KL(P || l P + (1 - l) Q) for l = ``weight`` in (0, 1): a coordinate of the frontier (example 2(b))."""
    own, rest = _weight(weight)

    def terms(x: _Array, step: _Array, y: _Array) -> _Array:
        return relative_terms(x, rest * step, own * x + rest * y)

    def curvature(t: _Array) -> _Array:
        return np.asarray(rest**2 / (t * (own * t + rest) ** 2))

    limits = rest, float(-np.log(own) - rest)
    title = f"Interpolated KL, weight {own} on P"
    return Generator(f"interpolated-kl-{own}", title, terms, curvature, *limits, False, "JMLR 2023, example 2(b)")


def interpolated_chi2(weight: float) -> Generator:
    """chi2(P || l P + (1 - l) Q) for l = ``weight`` in (0, 1), with the factor (1 - l)^2 (see above)."""
    own, rest = _weight(weight)

    def terms(x: _Array, step: _Array, y: _Array) -> _Array:
        return _squared_quotient(rest * step, np.sqrt(own * x + rest * y))

    def curvature(t: _Array) -> _Array:
        return np.asarray(2 * rest**2 / (own * t + rest) ** 3)

    limits = rest, rest**2 / own
    title, source = f"Interpolated χ², weight {own} on P", "JMLR 2023, example 2(d)"
    return Generator(f"interpolated-chi2-{own}", title, terms, curvature, *limits, own == rest, source)


def skew_js(weight: float) -> Generator:
    """l KL(P || R) + (1 - l) KL(Q || R) for R = l P + (1 - l) Q, l = ``weight`` in (0, 1) (example 2(c))."""
    own, rest = _weight(weight)

    def terms(x: _Array, step: _Array, y: _Array) -> _Array:
        mixture = own * x + rest * y
        type_1, type_2 = relative_terms(y, -own * step, mixture), relative_terms(x, rest * step, mixture)
        return np.asarray(own * type_2 + rest * type_1)

    def curvature(t: _Array) -> _Array:
        return np.asarray(own * rest / (t * (own * t + rest)))

    limits = float(-rest * np.log(rest)), float(-own * np.log(own))
    title, source = f"Skew Jensen-Shannon, weight {own} on P", "JMLR 2023, example 2(c)"
    return Generator(f"skew-js-{own}", title, terms, curvature, *limits, own == rest, source)


def generator_of(generator: Generator | str) -> Generator:
    """Look up a generator by name; return a Generator unchanged.

    Parameters
    ----------
    generator : Generator or str
        A key of :data:`GENERATORS`, or the name of a family of :data:`FAMILIES` with its weight: ``skew-js-0.1``.

    Raises
    ------
    InputError
        The name is unknown, or the weight lies outside (0, 1).
    """
    if isinstance(generator, Generator):
        return generator
    if generator in GENERATORS:
        return GENERATORS[generator]
    for family, make in FAMILIES.items():
        if generator.startswith(f"{family}-"):
            try:
                return make(float(generator.removeprefix(f"{family}-")))
            except ValueError as error:
                raise InputError(
                    f"The weight of {family} is not usable", allowed="a number between 0 and 1", received=generator
                ) from error
    allowed = f"{', '.join(GENERATORS)}; {', '.join(f'{family}-<weight>' for family in FAMILIES)}"
    raise InputError("Unknown generator", allowed=allowed, received=repr(generator))


def f_divergence(p: ArrayLike, q: ArrayLike, generator: Generator | str = "kl") -> NDArray[np.float64]:
    """D_f(P || Q) = sum q f(p / q) (JMLR 2023, definition 1), in nats if f has a logarithm.

    Parameters
    ----------
    p, q : (..., k) array
        Probability vectors; leading axes broadcast.
    generator : Generator or str
        See :func:`generator_of`.

    Returns
    -------
    (...) float64 array
        In [0, f(0) + f*(0)], relative error below 1e-12; 0 for equal histograms, never negative.

    Raises
    ------
    InputError
        The inputs are not probability vectors over the same bins, or the generator is unknown.
    """
    chosen = generator_of(generator)
    left, right = _checks.distributions(p, q)
    sums = chosen.terms(left, right - left, right).sum(axis=-1)
    return np.asarray(np.minimum(sums, chosen.at_zero + chosen.conjugate_at_zero))


def _weight(weight: float) -> tuple[float, float]:
    if not 0 < weight < 1:
        raise InputError("The weight on P is not usable", allowed="a number between 0 and 1", received=repr(weight))
    return float(weight), 1 - float(weight)


def _arguments(t: ArrayLike) -> _Array:
    array = _checks.numbers(t, "The array of arguments").astype(np.float64, copy=False)
    if not (array >= 0).all():
        raise InputError("The generator is not defined for some arguments", allowed="numbers from 0 to infinity")
    return array


def _chi2(_x: _Array, step: _Array, y: _Array) -> _Array:
    return _squared_quotient(step, np.sqrt(y))


def _hellinger(x: _Array, step: _Array, y: _Array) -> _Array:
    return _squared_quotient(step, np.sqrt(x) + np.sqrt(y))


def _variation(_x: _Array, step: _Array, _y: _Array) -> _Array:
    return np.abs(step) / 2


def _kink(t: _Array) -> _Array:
    return np.where(t == 1, np.inf, 0.0)


def _le_cam(x: _Array, step: _Array, y: _Array) -> _Array:
    return _squared_quotient(step, np.sqrt(x + y)) / 2


def _squared_quotient(step: _Array, root: _Array) -> _Array:
    """(step / root)^2, and 0 where step is 0."""
    quotient = np.zeros_like(step)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        np.divide(step, root, out=quotient, where=step != 0)
        return np.asarray(quotient * quotient)


def _spread(x: _Array, step: _Array, y: _Array) -> tuple[_Array, _Array]:
    """u = |x - y| / (x + y) and (artanh(u) / u - 1) / u^2, which is 1/3 + u^2/5 + u^4/7 + ... and infinite at u = 1."""
    total = x + y
    u = np.divide(np.abs(step), total, out=np.zeros_like(total), where=total > 0)
    square = np.where(u < _NEAR, u, 0.0) ** 2
    series = np.zeros_like(square)
    for j in range(_EXCESS_TERMS, 0, -1):
        series = series * square + 1 / (2 * j + 1)
    low, high = np.minimum(x, y), np.maximum(x, y)
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        logarithm = np.log(np.divide(high, low, out=np.ones_like(low), where=low > 0))
        extreme = low * _LARGEST_RATIO < high
        logarithm = np.where(extreme, np.log(high) - np.log(low), logarithm)
        far = np.maximum(u, _NEAR)
        closed = (logarithm / (2 * far) - 1) / far**2
    return u, np.where(u < _NEAR, series, closed)


def _bend(x: _Array, step: _Array, y: _Array) -> tuple[_Array, _Array]:
    """u and 1 - (1 - u^2) (artanh(u) / u - 1) / u^2, which rises from 2/3 at u = 0 to 1 at u = 1."""
    u, excess = _spread(x, step, y)
    total = x + y
    shares = [np.divide(2 * side, total, out=np.zeros_like(total), where=total > 0) for side in (x, y)]
    product = shares[0] * shares[1]
    return u, 1 - np.multiply(product, excess, out=np.zeros_like(product), where=product > 0)


def _integral(x: _Array, step: _Array, y: _Array) -> _Array:
    """(x + y) / 2 - x y log(x / y) / (x - y) = (x + y) u^2 / 2 times the bend."""
    u, bend = _bend(x, step, y)
    return np.asarray((x + y) / 2 * u * u * bend)


def _twice(x: _Array, step: _Array, y: _Array) -> _Array:
    return 2 * _integral(x, step, y)


def _integral_second(t: _Array) -> _Array:
    return np.asarray(_bend(t, 1 - t, np.ones_like(t))[1] / (t * (t + 1)))


def _printed(x: _Array, step: _Array, y: _Array) -> _Array:
    """(x^2 + x y + y^2) log(x / y) / (x - y) - 3 (x + y) / 2 = (x + y) u^2 / 2 (1 + (3 + u^2) excess)."""
    u, excess = _spread(x, step, y)
    scale = (x + y) / 2 * u * u
    return np.multiply(scale, 1 + (3 + u * u) * excess, out=np.zeros_like(scale), where=scale > 0)


def _printed_second(t: _Array) -> _Array:
    u, excess = _spread(t, 1 - t, np.ones_like(t))
    return np.asarray(12 * excess / (t + 1) ** 3 + (t + 1) * (1 + 3 * u * u) / (4 * t * t))


# Generators with a weight on P.
FAMILIES: dict[str, Callable[[float], Generator]] = {
    "interpolated-kl": interpolated_kl,
    "interpolated-chi2": interpolated_chi2,
    "skew-js": skew_js,
}


def _symmetric(
    name: str, title: str, terms: Terms, curvature: Callable[[_Array], _Array], limit: float, source: str
) -> Generator:
    return Generator(name, title, terms, curvature, limit, limit, True, f"JMLR 2023, {source}")


_KL, _CHI2 = "JMLR 2023, example 2(a)", "JMLR 2023, example 2(d), weight 0"
_FIXED = (
    Generator("kl", "Kullback-Leibler", relative_terms, lambda t: 1 / t, 1.0, np.inf, False, _KL),
    Generator("chi2", "χ²", _chi2, lambda t: np.full_like(t, 2.0), 1.0, np.inf, False, _CHI2),
    replace(skew_js(0.5), name="js", title="Jensen-Shannon"),
    _symmetric("squared-hellinger", "Squared Hellinger", _hellinger, lambda t: t**-1.5 / 2, 1.0, "table 1"),
    _symmetric("total-variation", "Total variation", _variation, _kink, 0.5, "section 7.4.1"),
    _symmetric("le-cam", "Le Cam", _le_cam, lambda t: 4 / (t + 1) ** 3, 0.5, "section 3.2 and table 1"),
    _symmetric("fi-kl", "Frontier integral of KL", _integral, _integral_second, 0.5, "equation 33"),
    _symmetric("fi-chi2", "Frontier integral of χ²", _twice, lambda t: 2 * _integral_second(t), 1.0, "equation 7"),
    _symmetric("fi-chi2-printed", "Printed integral of χ²", _printed, _printed_second, np.inf, "section 3.3"),
)

# Name -> generator; the entry of a family has weight 1/4 on P.
GENERATORS: dict[str, Generator] = {
    **{generator.name: generator for generator in _FIXED},
    **{family: make(_WEIGHT) for family, make in FAMILIES.items()},
}


# The constant s of AUC on distributions over clusters (ICLR 2023, section 5).
CLUSTER_SCALE = 5.0

# Smoothing of the cluster counts behind the five divergences (ICLR 2023, section 5).
CLUSTER_SMOOTHING = "laplace"

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
