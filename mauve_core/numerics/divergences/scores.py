"""Scores of a candidate from counts, for one pair of histograms or many."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.numerics.divergences.frontier import mauve
from mauve_core.numerics.divergences.kl import frontier_integral, mid_point
from mauve_core.numerics.divergences.smoothing import probabilities

# Smoothing of MAUVE*, which the star marks (JMLR 2023, section 6.5).
STAR_SMOOTHING = "krichevsky-trofimov"


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
        Name for :func:`mauve_core.numerics.divergences.smoothing.probabilities`. It applies to every score but
        ``mauve_star``, which always uses Krichevsky-Trofimov.

    Returns
    -------
    dict of str to (...) float64 array
        ``mauve`` and ``mauve_star`` in [0, 1] (1: equal), ``frontier_integral`` in [0, 1] and ``mid`` in [0, log 2]
        nats (0: equal). JMLR 2023, sections 3.2 and 6.5.

    Raises
    ------
    InputError
        Counts are negative, not finite or all zero; the numbers of bins differ; the scale or smoothing is not usable.
    """
    p, q = probabilities(p_counts, smoothing), probabilities(q_counts, smoothing)
    plain = mauve(p, q, scale)
    if smoothing == STAR_SMOOTHING:
        star = plain.copy()
    else:
        star = mauve(probabilities(p_counts, STAR_SMOOTHING), probabilities(q_counts, STAR_SMOOTHING), scale)
    return {"mauve": plain, "mauve_star": star, "frontier_integral": frontier_integral(p, q), "mid": mid_point(p, q)}
