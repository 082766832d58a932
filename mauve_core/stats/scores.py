"""The scores of a candidate, one entry each. Tables, figures, files, commands, pages and tests follow from the entries.

What of a score does not depend on the scaling constant c of MAUVE, its parts, is kept apart, so that another c takes no
new histograms. A score that is a function of sums over bins may say so: its fast ways are then used wherever there are
many histograms. The functions of P and Q are in :mod:`mauve_core.stats.divergences`, which is loaded when one is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from mauve_core.stats.divergences import CountPairs

_Array = NDArray[np.float64]
Function = Callable[[_Array, _Array], _Array]

# Smoothing of MAUVE*, which the star marks (JMLR 2023, section 6.5).
STAR_SMOOTHING = "krichevsky-trofimov"

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


def _errors(p: _Array, q: _Array) -> _Array:
    from mauve_core.stats.divergences import divergence_frontier

    frontier = divergence_frontier(p, q)
    return np.stack([frontier.type_1, frontier.type_2], axis=-2)


def _error_terms(p: _Array, q: _Array) -> _Array:
    from mauve_core.stats.divergences import REFERENCE_WEIGHTS, mixture_terms

    weights = REFERENCE_WEIGHTS[:, np.newaxis]
    return np.stack([each.T for each in mixture_terms(p, q, weights, 1 - weights)], axis=1)


def _error_sums(p: _Array, q: _Array) -> _Array:
    from mauve_core.stats.divergences import error_sums

    return error_sums(p, q)


def _area(errors: _Array, scale: float) -> _Array:
    from mauve_core.stats.divergences import REFERENCE_WEIGHTS, Frontier, trapezoid_area

    frontier = Frontier(REFERENCE_WEIGHTS, errors[..., 0, :], errors[..., 1, :])
    return trapezoid_area(*frontier.curve(scale))


def _integral(p: _Array, q: _Array) -> _Array:
    from mauve_core.stats.divergences import frontier_integral

    return frontier_integral(p, q)


def _integral_terms(p: _Array, q: _Array) -> _Array:
    from mauve_core.stats.divergences import integral_terms

    return integral_terms(p, q)


def _mid(p: _Array, q: _Array) -> _Array:
    from mauve_core.stats.divergences import mid_point

    return mid_point(p, q)


def _mid_terms(p: _Array, q: _Array) -> _Array:
    from mauve_core.stats.divergences import mixture_terms

    type_1, type_2 = mixture_terms(p, q, 0.5, 0.5)
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
    sums=_error_sums,
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
        smoothing=STAR_SMOOTHING,
    ),
    "frontier_integral": Score(
        "Frontier integral",
        "Frontier integral, 0 to 1; 0 is the closest.",
        bounds=(0.0, 1.0),
        higher_is_closer=False,
        smallest_effect=0.05,
        of=_integral,
        terms=_integral_terms,
        sums=lambda p, q: _integral_terms(p, q).sum(axis=-1),
        weighted=lambda histograms: histograms.integral,
        always=True,
    ),
    "mid": Score(
        "Mid-point",
        "Mid-point of the divergence frontier, in nats, 0 to ln 2; 0 is the closest.",
        bounds=(0.0, float(np.log(2))),
        higher_is_closer=False,
        smallest_effect=0.036,
        of=_mid,
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


def score_counts(
    p_counts: ArrayLike, q_counts: ArrayLike, *, scale: float = 5.0, smoothing: str = "none"
) -> dict[str, NDArray[np.float64]]:
    """Scores of one or many pairs of histograms over the same bins.

    Parameters
    ----------
    p_counts, q_counts : (..., k) array
        Human texts and candidate texts in each bin; leading axes broadcast.
    scale : float > 0
        The constant c of MAUVE.
    smoothing : str
        Name for :func:`mauve_core.stats.divergences.probabilities`. It applies to every score but those with a
        smoothing of their own, as ``mauve_star`` with Krichevsky-Trofimov.

    Returns
    -------
    dict of str to (...) float64 array
        By name in :data:`SCORES`, within their bounds. JMLR 2023, sections 3.2 and 6.5.

    Raises
    ------
    InputError
        Counts are negative, not finite or all zero; the numbers of bins differ; the scale or smoothing is not usable.
    """
    parts = score_parts(p_counts, q_counts, smoothing)
    return {name: score.value(parts[name], scale) for name, score in SCORES.items()}


def score_parts(
    p_counts: ArrayLike, q_counts: ArrayLike, smoothing: str = "none", pairs: CountPairs | None = None
) -> dict[str, NDArray[np.float64]]:
    """Of every score of histograms, what does not depend on the scaling constant (:class:`Score`).

    Parameters and errors are those of :func:`score_counts`. ``pairs``, ``divergences.count_pairs`` of the counts, are
    used for scores that are sums over bins, unless the smoothing needs the other counts.
    """

    from mauve_core.stats.divergences import added_count, probabilities

    @cache
    def shares(smoothed: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return probabilities(p_counts, smoothed), probabilities(q_counts, smoothed)

    @cache  # scores of the same function and smoothing have the same parts
    def parts(of: Function, terms: Function | None, smoothed: str) -> NDArray[np.float64]:
        added = added_count(smoothed)
        if pairs is None or terms is None or added is None:
            return of(*shares(smoothed))
        table = terms(*pairs.probabilities(added))
        return pairs.sums(table.reshape(len(table), -1)).reshape(*pairs.shape, *table.shape[1:])

    return {name: parts(each.of, each.terms, each.smoothing or smoothing) for name, each in SCORES.items()}
