"""How well one number tells two groups apart: the AUC with ties and repeated groups, its interval and a test.

- **AUC**: the chance that a number of the first group exceeds one of the second, ties counted as half; 1/2 for nothing.
- **Interval of numbers**: DeLong, DeLong and Clarke-Pearson's variance (Biometrics 1988), normal on the logit scale
  (Pepe 2003, *The Statistical Evaluation of Medical Tests*, 5.2.4), which stays in (0, 1).
- **Interval of yes and no** (at most two different numbers): half of the difference of two shares, with Newcombe's
  hybrid score interval (Statistics in Medicine 1998, method 10). It has a width even if the shares are 0 or 1. Numbers
  that do not overlap, so that DeLong's variance vanishes, are such answers.
- **Test**: Mann and Whitney's, normal with corrections for ties and continuity; Fisher's exact test for yes and no if
  that gives the larger p-value; never less than any permutation of so few numbers could give.
- **Numbers that belong together** (several texts of one prompt): variances of each group are multiplied by its design
  effect, the ratio of Obuchowski's variance (Biometrics 1997) to DeLong's, at least 1. The correlation *between* the
  groups (both continue one prompt) is not used: where the two of a pair resemble each other, intervals are too wide and
  the test too careful, never the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaln, logit, ndtr, ndtri
from scipy.stats import fisher_exact, rankdata

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Auc:
    """How well a number tells two groups apart.

    Attributes
    ----------
    n, m : int
        Numbers in the first and in the second group.
    auc, low, high : float
        Chance that one of the first exceeds one of the second, and its interval; all in [0, 1], 1/2 for nothing.
    p : float
        Two-sided p-value of equal distributions.
    """

    n: int
    m: int
    auc: float
    low: float
    high: float
    p: float


def auc_of(
    first: ArrayLike,
    second: ArrayLike,
    *,
    first_groups: ArrayLike | None = None,
    second_groups: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Auc:
    """Compare two groups of numbers.

    Parameters
    ----------
    first, second : (n,), (m,) arrays
        Finite numbers. With fewer than two on a side nothing is known: the interval is [0, 1] and p is 1.
    first_groups, second_groups : (n,), (m,) arrays of int, optional
        Numbers of equal code belong together; None if each stands alone.
    confidence : float in (0, 1)

    Raises
    ------
    InputError
        Numbers are not finite, codes do not fit, or the confidence lies outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise InputError("The confidence is not usable", allowed="a number in (0, 1)", received=repr(confidence))
    x, y = (_row(side) for side in (first, second))
    n, m = x.size, y.size
    groups = [_codes(codes, size) for codes, size in ((first_groups, n), (second_groups, m))]
    if n == 0 or m == 0:
        return Auc(n, m, 0.5, 0.0, 1.0, 1.0)
    ranks = rankdata(np.concatenate([x, y]))
    beats = (ranks[:n] - rankdata(x)) / m
    beaten = 1 - (ranks[n:] - rankdata(y)) / n
    auc = float(np.clip(beats.mean(), 0, 1))
    if any(np.unique(codes).size < 2 for codes in groups):
        return Auc(n, m, auc, 0.0, 1.0, 1.0)
    spreads = float(beats.var(ddof=1)), float(beaten.var(ddof=1))
    effects = [_design_effect(each, codes) for each, codes in zip((beats, beaten), groups, strict=True)]
    sizes = n / effects[0], m / effects[1]
    z = float(ndtri((1 + confidence) / 2))
    answers = _answers(x, y)
    if answers is not None or max(spreads) == 0:
        shares = answers or ((1.0, 0.0) if auc == 1 else (0.0, 1.0))
        low, high = _interval_of_shares(*shares, *sizes, z)
    else:
        sd = float(np.sqrt(spreads[0] / sizes[0] + spreads[1] / sizes[1]))
        width = z * sd / (auc * (1 - auc))
        low, high = (float(expit(logit(auc) + step)) for step in (-width, width))
    p = _mann_whitney(auc, ranks, n, m, (1 / sizes[0] + 1 / sizes[1]) / (1 / n + 1 / m))
    if answers is not None:
        yes = round(answers[0] * n), round(answers[1] * m)
        p = max(p, float(fisher_exact([[yes[0], n - yes[0]], [yes[1], m - yes[1]]])[1]))
    least = 2 * float(np.exp(gammaln(n + 1) + gammaln(m + 1) - gammaln(n + m + 1)))
    return Auc(n, m, auc, min(low, auc), max(high, auc), min(max(p, least), 1.0))


def _row(values: ArrayLike) -> _Floats:
    row = np.asarray(values, dtype=np.float64) if np.size(values) == 0 else _checks.numbers(values, "The numbers")
    row = row.astype(np.float64)
    if row.ndim != 1 or not np.isfinite(row).all():
        raise InputError("The numbers are not usable", allowed="two rows of finite numbers")
    return row


def _codes(codes: ArrayLike | None, size: int) -> NDArray[np.int64]:
    if codes is None:
        return np.arange(size)
    row = np.asarray(codes)
    if row.shape != (size,) or row.dtype.kind not in "iu":
        raise InputError("The groups do not fit the numbers", allowed=f"{size} whole numbers")
    return np.unique(row, return_inverse=True)[1].astype(np.int64)


def _design_effect(values: _Floats, codes: NDArray[np.int64]) -> float:
    """Return Obuchowski's variance of the mean by DeLong's, at least 1; without spread, texts per group."""
    n, groups = values.size, int(codes.max()) + 1
    plain = float(values.var(ddof=1)) / n
    if groups == n or plain == 0:
        return n / groups
    sums = np.bincount(codes, values - values.mean(), minlength=groups)
    return max(1.0, groups / (groups - 1) * float(sums @ sums) / n**2 / plain)


def _answers(x: _Floats, y: _Floats) -> tuple[float, float] | None:
    """Return both shares of the larger number if there are at most two: yes and no, whatever they are called."""
    least, most = min(x.min(), y.min()), max(x.max(), y.max())
    if not all(((side == least) | (side == most)).all() for side in (x, y)):
        return None
    return (0.0, 0.0) if least == most else (float((x == most).mean()), float((y == most).mean()))


def _interval_of_shares(share: float, other: float, n: float, m: float, z: float) -> tuple[float, float]:
    """Return the ends of the AUC of two shares, (1 + their difference) / 2."""
    (low, high), (other_low, other_high) = _wilson(share, n, z), _wilson(other, m, z)
    difference = share - other
    below = float(np.hypot(share - low, other_high - other))
    above = float(np.hypot(high - share, other - other_low))
    return max((1 + difference - below) / 2, 0.0), min((1 + difference + above) / 2, 1.0)


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _mann_whitney(auc: float, ranks: _Floats, n: int, m: int, design_effect: float) -> float:
    """Return the two-sided p-value; 1 if all numbers are equal."""
    total = n + m
    tied = np.unique(ranks, return_counts=True)[1].astype(np.float64)
    variance = n * m / 12 * (total + 1 - float((tied**3 - tied).sum()) / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    beyond = max(abs(auc - 0.5) * n * m - 0.5, 0.0)
    return float(2 * ndtr(-beyond / np.sqrt(variance * design_effect)))
