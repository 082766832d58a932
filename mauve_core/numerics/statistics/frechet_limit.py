"""The Fréchet distance that two sources would have, of which n texts or images a side are known.

The distance between two samples exceeds that between their sources by about c/n, where c grows with the number of
features and differs between models, so that a ranking at one n need not be that at another. Chong and Forsyth,
*Effectively Unbiased FID and Inception Score and Where to Find Them*, CVPR 2020, fit a line in 1/n to the distances of
subsets from a tenth of the texts up to all of them, and take its value at 1/n = 0.

Here the line goes through n and n less one group of texts, averaged over all groups (Quenouille's jackknife). Every
text is left out once, so that no chance enters; and close to n the line has the slope at n, whereas one from far below
keeps more of the bias where n is not much larger than the number of features. Both sides lose a group at once, so the
bias of both is taken off; Chong and Forsyth vary the generated side alone. The same G + 1 distances give the spread.

A line through n/2 and n checks this: where the distance does not fall as 1/n yet, it ends higher.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.resampling.jackknife import jackknife_estimate, jackknife_sd, t_interval
from mauve_core.numerics.transport.costs import frechet_cost

# Groups of texts if none are given.
GROUPS = 20

# Fewest texts a side: one in each group.
LEAST = GROUPS

# Rows of both sides that are kept while each group is left out.
Parts = Sequence[tuple[NDArray[np.integer], NDArray[np.integer]]]


@dataclass(frozen=True)
class FrechetLimit:
    """The distance between the sources, estimated.

    Attributes
    ----------
    value : float
        In squared feature units; below 0 about as often as above for equal sources.
    sd, low, high : float
        Standard deviation over samples of texts, and an interval of Student's t.
    at_n : float
        The distance of all texts.
    from_half : float
        Where the line through n/2 and n ends.
    left_out : (G,) float64 array
        The distance without each group.
    """

    value: float
    sd: float
    low: float
    high: float
    at_n: float
    from_half: float
    left_out: NDArray[np.float64]

    @property
    def bends(self) -> bool:
        """Whether the two lines end farther apart than chance explains, so that ``value`` is likely too large."""
        return not self.low <= self.from_half <= self.high


def frechet_limit(
    x_p: ArrayLike,
    x_q: ArrayLike,
    *,
    seed: SeedSequence,
    parts: Parts = (),
    confidence: float = 0.95,
    known: tuple[float, NDArray[np.float64]] | None = None,
) -> FrechetLimit:
    """Estimate the distance between the sources of two samples.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
        At least :data:`LEAST` rows each.
    seed : SeedSequence
        Draws the halves, and the groups if there are no ``parts``.
    parts : sequence of (rows of x_p, rows of x_q), optional
        Rows to keep while each group is left out; each row is missing once. By default, :data:`GROUPS` random groups.
    confidence : float
        In (0, 1).
    known : (float, (parts,) array), optional
        The distance of the samples and those of the ``parts``, if they have been computed.

    Raises
    ------
    InputError
        The features do not fit together, a side has too few rows, or the parts do not leave out each row once.
    """
    sides = _checks.wide_samples(x_p, x_q, least_p=LEAST, least_q=LEAST)
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(len(side)) for side in sides]
    parts = parts or _left_out_in_turn(drawn)
    sizes = _group_sizes(parts, sides)
    if known is None:
        at_n = frechet_cost(*sides)
        left_out = np.array([frechet_cost(sides[0][rows], sides[1][columns]) for rows, columns in parts])
    else:
        at_n, left_out = known
    halves = [frechet_cost(sides[0][drawn[0][half::2]], sides[1][drawn[1][half::2]]) for half in (0, 1)]
    value, sd = jackknife_estimate(at_n, left_out, sizes), jackknife_sd(at_n, left_out, sizes)
    low, high = t_interval(value, sd, len(sizes), confidence)
    return FrechetLimit(value, sd, low, high, at_n, 2 * at_n - float(np.mean(halves)), left_out)


def _left_out_in_turn(drawn: Sequence[NDArray[np.int64]]) -> Parts:
    first, second = (
        [np.sort(np.delete(order, slice(group, None, GROUPS))) for group in range(GROUPS)] for order in drawn
    )
    return list(zip(first, second, strict=True))


def _group_sizes(parts: Parts, sides: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    """(G,) rows that each part leaves out, of both sides together; InputError unless each row is left out once."""
    kept = [np.array([np.bincount(rows[side], minlength=len(x)) for rows in parts]) for side, x in enumerate(sides)]
    if any((each > 1).any() or (each.sum(axis=0) != len(parts) - 1).any() for each in kept):
        raise InputError(
            "The parts are not usable", allowed="rows of each side, of which each is missing in exactly one part"
        )
    return np.asarray(sum((1 - each).sum(axis=1) for each in kept), dtype=np.int64)
