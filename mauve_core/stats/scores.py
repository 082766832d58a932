"""The scores of a candidate, one entry each. Tables, figures, files, commands, pages and tests follow from the entries.

What of a score does not depend on the scaling constant c of MAUVE, its parts, is kept apart, so that another c takes no
new histograms. A score that is a function of sums over bins may say so: its fast ways are then used wherever there are
many histograms. The functions of P and Q are in :mod:`mauve_core.stats.divergences`, which is loaded when one is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]
Function = Callable[[_Array, _Array], _Array]

# The middle of the published grid of mixture weights: weight 1/2.
_MIDDLE = 12


@dataclass(frozen=True)
class Score:
    """A score.

    Attributes
    ----------
    title : str
    about : str
        A sentence: what it is, its range, and which end is the closest to the human texts.
    bounds : (float, float)
        Its range, within 0 and 1.
    higher_is_closer : bool
    smallest_effect : float
        The difference that the pass of a gate excludes by default.
    of : callable
        Probabilities p and q (..., k) of people and model -> (...) parts, or (..., *c) if ``at_scale`` is given.
    at_scale : callable or None
        Parts (..., *c) and the scaling constant -> (...) score; None if the parts are the score.
    smoothing : str or None
        Its own, whatever smoothing is asked for.
    terms : callable or None
        Probabilities p and q (u,) of bins -> (u, *c) terms whose sums over bins are the parts.
    sums : callable or None
        As ``of``, for any numbers of at least 0, to about 1e-13: parts of some bins add up to those of all.
    weighted : callable or None
        ``errors`` (..., 2, m) on the published grid and ``integral`` (...) of weighted histograms -> parts.
    always : bool
        Whether every stored run has it. A run may be older than a score that was added later.
    """

    title: str
    about: str
    bounds: tuple[float, float]
    higher_is_closer: bool
    smallest_effect: float
    of: Function
    at_scale: Callable[[_Array, float], _Array] | None = None
    smoothing: str | None = None
    terms: Function | None = None
    sums: Function | None = None
    weighted: Callable[[Any], _Array] | None = None
    always: bool = False

    @property
    def best(self) -> float:
        """The score of equal sides."""
        return self.bounds[1] if self.higher_is_closer else self.bounds[0]

    def value(self, parts: _Array, scale: float) -> _Array:
        """The score (...) of its parts."""
        return np.minimum(parts, self.bounds[1]) if self.at_scale is None else self.at_scale(parts, scale)


def _divergences() -> Any:
    return import_module("mauve_core.stats.divergences")


def _errors(p: _Array, q: _Array) -> _Array:
    frontier = _divergences().divergence_frontier(p, q)
    return np.stack([frontier.type_1, frontier.type_2], axis=-2)


def _error_terms(p: _Array, q: _Array) -> _Array:
    weights = _divergences().REFERENCE_WEIGHTS[:, np.newaxis]
    return np.stack([each.T for each in _divergences().mixture_terms(p, q, weights, 1 - weights)], axis=1)


def _area(errors: _Array, scale: float) -> _Array:
    frontier = _divergences().Frontier(_divergences().REFERENCE_WEIGHTS, errors[..., 0, :], errors[..., 1, :])
    area: _Array = _divergences().trapezoid_area(*frontier.curve(scale))
    return area


def _mid_terms(p: _Array, q: _Array) -> _Array:
    type_1, type_2 = _divergences().mixture_terms(p, q, 0.5, 0.5)
    return np.asarray((type_1 + type_2) / 2)


_MAUVE = Score(
    "MAUVE",
    "MAUVE, 0 to 1; 1 is the closest to the human texts.",
    bounds=(0.0, 1.0),
    higher_is_closer=True,
    smallest_effect=0.15,
    of=_errors,
    at_scale=_area,
    terms=_error_terms,
    sums=lambda p, q: import_module("mauve_core.stats.what_if").error_sums(p, q),
    weighted=lambda histograms: histograms.errors,
    always=True,
)

# In display order. Smallest effects: less than what lies between greedy and nucleus decoding of GPT-2 large under two
# encoders (``benchmarks/gate.py``), and about equally large in the units of each.
SCORES: dict[str, Score] = {
    "mauve": _MAUVE,
    "mauve_star": replace(
        _MAUVE,
        title="MAUVE*",
        about="MAUVE*, 0 to 1: MAUVE of histograms with half a text added to every cluster; 1 is the closest.",
        smallest_effect=0.13,
        smoothing="krichevsky-trofimov",
    ),
    "frontier_integral": Score(
        "Frontier integral",
        "Frontier integral, 0 to 1; 0 is the closest.",
        bounds=(0.0, 1.0),
        higher_is_closer=False,
        smallest_effect=0.05,
        of=lambda p, q: _divergences().frontier_integral(p, q),
        terms=lambda p, q: _divergences().integral_terms(p, q),
        sums=lambda p, q: _divergences().integral_terms(p, q).sum(axis=-1),
        weighted=lambda histograms: histograms.integral,
        always=True,
    ),
    "mid": Score(
        "Mid-point",
        "Mid-point of the divergence frontier, in nats, 0 to ln 2; 0 is the closest.",
        bounds=(0.0, float(np.log(2))),
        higher_is_closer=False,
        smallest_effect=0.036,
        of=lambda p, q: _divergences().mid_point(p, q),
        terms=_mid_terms,
        sums=lambda p, q: _mid_terms(p, q).sum(axis=-1),
        weighted=lambda histograms: histograms.errors[..., _MIDDLE].sum(axis=-1) / 2,
        always=True,
    ),
}

# The score that ranks, unless another is asked for.
REFERENCE_SCORE = "mauve"

# The scores that every stored run has.
LASTING = {name for name, score in SCORES.items() if score.always}
