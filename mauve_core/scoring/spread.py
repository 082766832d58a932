"""A score with its spread: over k-means seeds, over generations, and over texts as a bootstrap interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import SCORES
from mauve_core.base.formatting import SCORE_DECIMALS, interval, with_named_spreads, with_plain_spaces, with_spread
from mauve_core.base.json_codec import Holds, NotNegative

Values = Annotated[tuple[float, ...], Holds(bool, "one number or more")]
Generations = Annotated[tuple[float, ...], Holds(lambda values: len(values) > 1, "two numbers or more")]


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
    values: Values
    generations: Generations | None = None

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


# A candidate's scores by name. Those of a later version may be among them.
Scores = Annotated[Mapping[str, Estimate], Holds(lambda scores: set(SCORES) <= set(scores), ", ".join(SCORES))]


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
    values: Values

    @classmethod
    def of(cls, values: Sequence[float] | NDArray[np.float64]) -> Self:
        """Return the spread of one or more values."""
        array = np.asarray(values, dtype=np.float64)
        sd = float(array.std(ddof=1)) if array.size > 1 else None
        return cls(float(array.mean()), sd, tuple(array.tolist()))
