"""A score with its spread: over k-means seeds, over generations, and over texts as a bootstrap interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import SCORE_BOUNDS
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import SCORE_DECIMALS, interval, with_named_spreads, with_plain_spaces, with_spread
from mauve_core.base.validation import Later, NotNegative, close, require_interval, require_within


@dataclass(frozen=True)
class Estimate:
    """A score with its spread.

    Attributes
    ----------
    mean : float
        Mean over the k-means seeds.
    sd : float or None
        Standard deviation over the seeds (denominator seeds - 1); None with one seed.
    low, high : float
        Bootstrap interval over texts of the mean over seeds (see ``mauve_core.numerics.resampling.bootstrap``).
    values : tuple of float
        The score under each seed; of several generations, their mean.
    generations : tuple of float or None
        The mean over the seeds for each generation of a candidate with several; None otherwise.
    """

    mean: float
    sd: NotNegative | None
    low: float
    high: float
    values: tuple[float, ...]
    generations: Annotated[tuple[float, ...] | None, Later()] = None

    def check(self, name: str) -> None:
        """Raise InputError unless all numbers lie in the range of that score and belong together."""
        _require_spread(f"A score {name}", self)
        numbers = (self.mean, self.low, self.high, *self.values, *(self.generations or ()))
        require_within(f"A score {name}", numbers, *SCORE_BOUNDS[name])
        require_interval(f"a score {name}", self.low, self.high)
        if self.generations is not None and (
            len(self.generations) < 2 or not close(self.mean, sum(self.generations) / len(self.generations))
        ):
            raise InputError(
                f"A score {name} is not the mean of two or more generations", received=f"{self.generations}"
            )

    def __float__(self) -> float:
        return self.mean

    def __format__(self, spec: str) -> str:
        """Format the mean; without a format, mean and spread: ``0.843 ± 0.012``.

        With several generations, both spreads are named: ``0.843 ± 0.012 (seeds) ± 0.020 (5 generations)``.
        """
        if spec:
            return format(self.mean, spec)
        if self.generations is None:
            return with_spread(self.mean, self.sd, SCORE_DECIMALS)
        count = len(self.generations)
        return with_named_spreads(self.mean, self.sd, self.generations_sd, count, SCORE_DECIMALS)

    def __str__(self) -> str:
        return f"{self}"

    def __repr__(self) -> str:
        shown = f"{self} ({interval(self.low, self.high, SCORE_DECIMALS)})"
        seeds = len(self.values)
        return with_plain_spaces(f"<Estimate {shown}, {seeds:,} seed{'' if seeds == 1 else 's'}>")

    @property
    def generations_sd(self) -> float | None:
        """Standard deviation over the generations (denominator generations - 1); None without several."""
        return None if self.generations is None else float(np.std(self.generations, ddof=1))


@dataclass(frozen=True)
class SeedSpread:
    """A score under every k-means seed, or under every seed and split.

    Attributes
    ----------
    mean : float
        Mean of the values.
    sd : float or None
        Standard deviation of the values (denominator: their number - 1); None with one value.
    values : tuple of float
        By seed; if texts are split, in the order that the class with this field documents.
    """

    mean: float
    sd: NotNegative | None
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float] | NDArray[np.float64]) -> Self:
        """Return the spread of one or more values."""
        array = np.asarray(values, dtype=np.float64)
        sd = float(array.std(ddof=1)) if array.size > 1 else None
        return cls(float(array.mean()), sd, tuple(array.tolist()))

    def check(self, name: str, bounds: tuple[float, float]) -> None:
        """Raise InputError unless the values lie in that range, and mean and sd are theirs."""
        _require_spread(f"A score {name}", self)
        require_within(f"A score {name}", self.values, *bounds)


def _require_spread(what: str, stored: Estimate | SeedSpread) -> None:
    """Raise InputError unless there are values, of which mean and standard deviation are those that are stored."""
    if not stored.values:
        raise InputError(f"{what} has no value")
    found = SeedSpread.of(stored.values)
    both = found.sd is not None and stored.sd is not None and close(found.sd, stored.sd)
    if not close(found.mean, stored.mean) or not (both or found.sd is stored.sd):
        allowed = f"mean {found.mean:g} and standard deviation {found.sd}"
        raise InputError(f"{what} is not that of its values", allowed=allowed, received=f"{stored.mean:g}, {stored.sd}")
