"""Which words tell two groups of texts apart: log odds ratios with an informative Dirichlet prior.

Monroe, Colaresi and Quinn 2008, *Fightin' Words*, Political Analysis 16(4). With y of n counts in a group, and a prior
worth ``prior`` counts that has the word as often as the background does (a = prior x its share there), the log odds of
the word are log((y + a) / (n + prior - y - a)), and what is given is their difference between the groups. The prior
pulls rare words to no difference, so that they do not lead by accident.

The variance is that of the two posteriors by the delta method, 1 / (y + a) + 1 / (n + prior - y - a) for each group.
The paper leaves out the second term, which is small where a word is one token of many and is not where documents count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks


def log_odds(
    first: ArrayLike, second: ArrayLike, totals: tuple[float, float], background: ArrayLike, prior: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How much more often each word stands in the first group than in the second.

    Parameters
    ----------
    first, second : (w,) arrays
        Count of each word in either group.
    totals : (float, float)
        All counts of either group that a word could have had: its tokens, or its documents.
    background : (w,) array
        Share of each word in the background, in (0, 1).
    prior : float > 0
        Counts that the prior is worth in each group.

    Returns
    -------
    difference, sd : (w,) float64 arrays
        Difference of the log odds, natural logarithm, positive where the first group has the word more often; and its
        standard deviation. Finite.

    Raises
    ------
    InputError
        Counts that are negative or beyond their total, shares outside (0, 1), or arrays that do not fit each other.
    """
    prior = _checks.positive("The weight of the prior", prior)
    shares = _checks.numbers(background, "The array of background shares").astype(np.float64)
    if shares.ndim != 1 or not ((shares > 0) & (shares < 1)).all():
        raise InputError("The background shares are not usable", allowed="one row of numbers between 0 and 1")
    odds, variance = [], np.zeros_like(shares)
    for given, total in zip((first, second), totals, strict=True):
        counts = _checks.numbers(given, "The array of counts").astype(np.float64)
        if counts.shape != shares.shape or not ((counts >= 0) & (counts <= total)).all():
            raise InputError("The counts are not usable", allowed=f"one for each share, from 0 to {total}")
        have = counts + prior * shares
        lack = total - counts + prior * (1 - shares)
        odds.append(np.log(have / lack))
        variance += 1 / have + 1 / lack
    return odds[0] - odds[1], np.sqrt(variance)
