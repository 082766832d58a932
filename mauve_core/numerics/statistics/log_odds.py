"""Words that distinguish two groups of texts: log odds ratios with an informative Dirichlet prior.

Monroe, Colaresi and Quinn 2008, *Fightin' Words*, Political Analysis 16(4). A word has y of n counts in a group. The
prior is worth ``prior`` counts, of which the word has its background share, a = prior x that share. The log odds are
log((y + a) / (n + prior - y - a)), and the result is their difference between the groups. The prior pulls rare words
toward no difference, so that chance does not put them first.

The variance is that of the two posteriors by the delta method, 1 / (y + a) + 1 / (n + prior - y - a) for each group.
The paper omits the second term, which is small for tokens but not for documents.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks


def log_odds(
    first: ArrayLike, second: ArrayLike, totals: tuple[float, float], background: ArrayLike, prior: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How much more often each word occurs in the first group than in the second, as log odds.

    Parameters
    ----------
    first, second : (w,) arrays
        Count of each word in each group.
    totals : (float, float)
        All counts of each group that a word could have: its tokens, or its documents.
    background : (w,) array
        Share of each word in the background, in (0, 1).
    prior : float > 0
        Weight of the prior in each group, in counts.

    Returns
    -------
    difference, sd : (w,) float64 arrays
        Difference of the log odds, natural logarithm, positive if the first group has the word more often; and its
        standard deviation. Finite.

    Raises
    ------
    InputError
        Counts are negative or above their total, shares lie outside (0, 1), or arrays do not fit each other.
    """
    prior = _checks.positive("The weight of the prior", prior)
    shares = _checks.numbers(background, "The array of background shares").astype(np.float64)
    if shares.ndim != 1 or not ((shares > 0) & (shares < 1)).all():
        raise InputError("The background shares are not usable", allowed="one row of numbers between 0 and 1")
    odds, variance = [], np.zeros_like(shares)
    for side, total in zip((first, second), totals, strict=True):
        counts = _checks.numbers(side, "The array of counts").astype(np.float64)
        if counts.shape != shares.shape or not ((counts >= 0) & (counts <= total)).all():
            raise InputError("The counts are not usable", allowed=f"one for each share, from 0 to {total}")
        have = counts + prior * shares
        lack = total - counts + prior * (1 - shares)
        odds.append(np.log(have / lack))
        variance += 1 / have + 1 / lack
    return odds[0] - odds[1], np.sqrt(variance)
