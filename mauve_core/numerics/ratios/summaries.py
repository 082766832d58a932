"""Summaries of frontiers whose points are means over one sample: MAUVE, the frontier integral, the mid-point, D(P, Q).

``log_ratios.ratio_frontier`` gives the points of such a frontier; JMLR 2023, section 4.2.2, computes the summaries of
section 3.2 from them by numerical quadrature. With the expectation over both samples the ratios are two histograms
instead, and the functions of histograms apply to them.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from mauve_core.base.errors import InputError
from mauve_core.numerics.divergences.frontier import REFERENCE_WEIGHTS, trapezoid_area
from mauve_core.numerics.divergences.generators import Generator
from mauve_core.numerics.ratios.log_ratios import LogRatios, ratio_frontier

# Points of the integral over the log odds s of the weight; its error is about exp(-2 pi^2 / 0.5), see
# ``divergences.summaries.integrated_frontier``.
_LOG_ODDS = np.arange(-36.0, 36.25, 0.5)


def ratio_mauve(ratios: LogRatios, generator: Generator | str, scale: float, *, expectation: str) -> float:
    """MAUVE_f on the published 25 weights (JMLR 2023, equation 5), in [0, 1].

    Parameters
    ----------
    ratios, generator, expectation
        See :func:`mauve_core.numerics.ratios.log_ratios.ratio_frontier`, which also raises the errors.
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
