"""Which distance separates answers of one mode from others: a gap in the distances between answers to one prompt.

A mode is a group of answers with a gap around it. The distances between answers to one prompt, pooled over prompts,
are then of two kinds, near ones within a mode and far ones between modes. Their logarithms are fitted by two normal
distributions (Dempster, Laird and Rubin, JRSS B 1977), which are separate if hardly any distance lies where either
could have it. Without near distances of their own, identical answers are the near ones if all others are far; and
where all distances are near, as with one mode to a prompt, answers to other prompts are the far ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

# Distances of unit rows up to this are 0: float32 has such a difference between batches.
IDENTICAL = 1e-5

# A distance is uncertain if its probability of being near lies between this and one minus this.
UNCERTAIN = 0.05

# Uncertain distances, as a share of the near or of the far ones, at most: deciding them otherwise would change the
# share of near pairs, and with it the number of modes, by no more.
MOVED = 0.1

# Near and far distances, at least: of fewer, ``MOVED`` is less than one.
LEAST_PAIRS = round(1 / MOVED)

# Distances that are fitted; of more, quantiles.
SAMPLED = 20_000

# Steps of a fit, at most.
STEPS = 200

# Shares of near distances from which fits start.
STARTS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)

# Least standard deviation of a logarithm: equal distances would have none.
LEAST_SD = 0.01

# Where the gap is.
Kind = Literal["within prompts", "identical answers", "between prompts"]


@dataclass(frozen=True)
class Gap:
    """What tells answers of one mode from others.

    Attributes
    ----------
    threshold : float
        Two answers at this distance or less are of one mode.
    kind : {"within prompts", "identical answers", "between prompts"}
        The gap lies between near and far distances within prompts; between identical answers and all others; or
        between the distances within prompts, all near, and those between prompts.
    """

    threshold: float
    kind: Kind


@dataclass(frozen=True)
class _Fit:
    """Two normal distributions, the near one first."""

    share: float
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    likelihood: float

    def near(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability that each y is of the near one."""
        first, second = _log_densities(y, np.array([self.share, 1 - self.share]), self.mean, self.sd)
        found: NDArray[np.float64] = 1 / (1 + np.exp(np.clip(second - first, -700, 700)))
        return found


def find_gap(within: ArrayLike, between: ArrayLike) -> Gap | None:
    """Find the gap in the distances between answers; None if there is none, so that modes are not separate.

    Parameters
    ----------
    within : (n,) array
        Distances, not negative, of pairs of answers to one prompt, of all prompts. They may be of several writers, but
        of none that gives all prompts identical answers only.
    between : (m,) array
        Distances of pairs of answers to different prompts.

    Returns
    -------
    Gap or None
        By the first of three rules that applies.

        1. Two normal distributions fit the logarithms of the distances above 0, and uncertain ones are at most
           ``MOVED`` of the smaller group.
        2. At least ``LEAST_PAIRS`` pairs are identical and as many are not, and few of these are closer than half their
           median: at most ``MOVED`` of the smaller group.
        3. Fewer than ``LEAST_PAIRS`` pairs are identical, and 95% of the distances are less than half the median
           between prompts. By the triangle inequality, two answers so close to a third are closer to each other than
           answers to two prompts are.

    Raises
    ------
    InputError
        Distances are not one row of numbers from 0 on.
    """
    own, others = _distances(within, "within prompts"), _distances(between, "between prompts")
    positive = np.sort(own[own > IDENTICAL])
    if not positive.size:
        return None
    threshold = _between_two_kinds(positive)
    if threshold is not None:
        return Gap(threshold, "within prompts")
    repeated = own.size - positive.size
    if repeated >= LEAST_PAIRS:
        smaller, close = min(repeated, positive.size), int((positive <= np.median(positive) / 2).sum())
        return Gap(IDENTICAL, "identical answers") if smaller >= LEAST_PAIRS and close <= MOVED * smaller else None
    if others.size and np.quantile(own, 0.95) < np.median(others) / 2:
        return Gap(float(np.median(others) / 2), "between prompts")
    return None


def _distances(values: ArrayLike, what: str) -> NDArray[np.float64]:
    array = _checks.numbers(values, f"The row of distances {what}").astype(np.float64)
    if array.ndim != 1 or not np.isfinite(array).all() or (array < 0).any():
        raise InputError(f"The distances {what} are not usable", allowed="one row of finite numbers from 0 on")
    return array


def _between_two_kinds(distances: NDArray[np.float64]) -> float | None:
    """The distance at which near and far ones are equally probable; None if they are not separate."""
    if distances.size < 2 * LEAST_PAIRS:
        return None
    y = np.log(distances)
    sample = y if y.size <= SAMPLED else np.quantile(y, (np.arange(SAMPLED) + 0.5) / SAMPLED)
    fits = sorted((_fitted(sample, share) for share in STARTS), key=lambda fit: -fit.likelihood)
    return next((found for fit in fits if (found := _threshold(fit, y)) is not None), None)


def _threshold(fit: _Fit, y: NDArray[np.float64]) -> float | None:
    """Where a fit divides the y; None if too many are uncertain, or either kind has too few."""
    grid = np.linspace(fit.mean[0], fit.mean[1], 1001)
    near = fit.near(grid)
    if near[0] < 1 - UNCERTAIN or near[-1] > UNCERTAIN:
        return None
    low, cut, high = (grid[np.argmax(near < level)] for level in (1 - UNCERTAIN, 0.5, UNCERTAIN))
    smaller = min(int((y <= cut).sum()), int((y > cut).sum()))
    uncertain = int(((y > low) & (y < high)).sum())
    return float(np.exp(cut)) if smaller >= LEAST_PAIRS and uncertain <= MOVED * smaller else None


def _fitted(y: NDArray[np.float64], share: float) -> _Fit:
    """Two normal distributions fitted to sorted numbers by expectation and maximization, from one start."""
    first = min(max(round(share * y.size), 2), y.size - 2)
    near = (np.arange(y.size) < first).astype(np.float64)
    before = -np.inf
    for _ in range(STEPS):
        weights = np.stack([near, 1 - near])
        sums = weights.sum(axis=1).clip(1e-9)
        mean = weights @ y / sums
        sd = np.sqrt((weights * (y - mean[:, None]) ** 2).sum(axis=1) / sums).clip(LEAST_SD)
        logs = _log_densities(y, sums / y.size, mean, sd)
        total = np.logaddexp(*logs)
        likelihood = float(total.sum())
        near = np.exp(logs[0] - total)
        if likelihood - before < 1e-6 * y.size:
            break
        before = likelihood
    order = np.argsort(mean)
    return _Fit(float(sums[order[0]] / y.size), mean[order], sd[order], likelihood)


def _log_densities(
    y: NDArray[np.float64], shares: NDArray[np.float64], mean: NDArray[np.float64], sd: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(2, n) logarithms of either distribution's density at each y, times its share, without the common constant."""
    with np.errstate(divide="ignore"):
        constants = np.log(shares) - np.log(sd)
    found: NDArray[np.float64] = constants[:, None] - ((y - mean[:, None]) / sd[:, None]) ** 2 / 2
    return found
