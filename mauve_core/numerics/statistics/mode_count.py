"""How many modes a prompt's answers have, from a few answers to each of many prompts.

Eight answers of ten equally probable modes show 5.7 of them on average, so modes that were not met are estimated from
those met once or twice (Chao, Scandinavian Journal of Statistics 1984; corrected for bias, Chiu et al., Biometrics
2014). The counts are pooled over prompts, since those of one are too few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

# Resamples of the prompts for the interval.
RESAMPLES = 1000

CONFIDENCE = 0.95

# Numbers of the matrices that are multiplied at once.
BLOCK = 2**22


@dataclass(frozen=True)
class ModeCount:
    """Modes of a prompt's answers.

    Attributes
    ----------
    modes : float
        Mean number of modes per prompt, estimated, those not met included; infinite if no prompt has two answers of
        one mode. Exact on average if the modes of a prompt are equally probable, in whichever number per prompt that
        leaves none too rare; otherwise a lower bound on average.
    low, high : float
        95% interval from resampled prompts. It holds the threshold fixed.
    met : float
        Mean number of modes that a prompt's answers show.
    together : float
        Probability that two answers to one prompt are of one mode; its reciprocal is the effective number of modes of
        Simpson's index, to which rare modes hardly contribute.
    """

    modes: float
    low: float
    high: float
    met: float
    together: float


def group(distances: NDArray[np.floating], threshold: float) -> NDArray[np.int64]:
    """Divide each prompt's answers into modes: answers at no more than a distance, and those linked by others.

    Parameters
    ----------
    distances : (g, m, m) array
        Between the m answers of each of g prompts, symmetric.
    threshold : float

    Returns
    -------
    (g, m) int64 array
        Equal numbers within a prompt, one mode: the place of the mode's first answer.
    """
    linked = np.asarray(distances) <= threshold
    m = linked.shape[1]
    linked[:, np.arange(m), np.arange(m)] = True
    found = np.empty(linked.shape[:2], dtype=np.int64)
    for block in _checks.row_blocks(len(linked), max(1, BLOCK // m**2)):
        reached = linked[block].astype(np.float32)
        for _ in range(max(1, math.ceil(math.log2(m)))):
            reached = (reached @ reached > 0).astype(np.float32)
        found[block] = reached.argmax(axis=2)
    return found


def count_modes(labels: ArrayLike, seed: int | SeedSequence = 0) -> ModeCount:
    """Estimate the number of modes per prompt.

    With f1 and f2 the numbers of modes met once and twice, summed over prompts, (m - 1) / m f1 (f1 - 1) / (2 (f2 + 1))
    modes were not met. That is right on average, but for rounding, if all have one probability; it is too few if not.

    Parameters
    ----------
    labels : (g, m) array of int
        Mode of each of the m answers to each of g prompts, as from :func:`group`; equal numbers mean one mode only
        within a prompt.
    seed : int or SeedSequence
        Of the resampled prompts.

    Raises
    ------
    InputError
        There is no prompt, or fewer than two answers to each.
    """
    array = np.asarray(labels)
    if array.ndim != 2 or not len(array) or array.shape[1] < 2 or array.dtype.kind not in "iu":
        raise InputError(
            "The modes of answers are not usable",
            allowed="whole numbers in one row per prompt, with at least two answers",
            received=f"{array.dtype} array of shape {array.shape}",
        )
    g, m = array.shape
    same = array[:, :, None] == array[:, None, :]
    sizes = same.sum(axis=2)
    pairs = (sizes.sum(axis=1) - m) / 2
    counts = np.stack([modes_met(array), (sizes == 1).sum(axis=1), (sizes == 2).sum(axis=1) / 2, pairs])
    rng = np.random.default_rng(_checks.seed_sequence(seed))
    weights = rng.multinomial(g, np.full(g, 1 / g), size=RESAMPLES)
    replicates = _estimate(weights @ counts.T, m)
    tails = (1 - CONFIDENCE) / 2
    low, high = np.quantile(replicates, [tails, 1 - tails], method="nearest")  # infinite ones have no mean
    modes = float(_estimate(counts.sum(axis=1)[None], m)[0])
    return ModeCount(
        modes / g, float(low) / g, float(high) / g, float(counts[0].mean()), float(pairs.mean() / (m * (m - 1) / 2))
    )


def modes_met(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """(g,) numbers of different labels in the rows of a (g, m) array."""
    ordered = np.sort(labels, axis=1)
    found: NDArray[np.int64] = 1 + (np.diff(ordered, axis=1) > 0).sum(axis=1)
    return found


def _estimate(counts: NDArray[np.float64], m: int) -> NDArray[np.float64]:
    """Modes of all prompts together, from rows of the numbers met, met once, met twice, and of pairs of one mode."""
    met, once, twice, pairs = counts.T
    unmet = (m - 1) / m * once * (once - 1) / (2 * (twice + 1))
    found: NDArray[np.float64] = np.where(pairs > 0, met + unmet, np.inf)
    return found
