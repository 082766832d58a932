"""Rank correlations that printed figures allow: each figure may be off by half a unit of its last digit.

A table prints x as a whole number of units; the unrounded figure lies in [x - 1/2, x + 1/2]. Two figures whose
intervals overlap may be in either order, so a Spearman correlation computed from the table is one of several possible
ones. This module finds all of them, or bounds them for the worst case of equation 30 (Pillutla et al., JMLR 2023), and
searches for figures that round to the table and have given correlations.

    python benchmarks/published_rounding.py      # writes data/published/rounding.csv

Orders with ties are ignored, because unrounded figures are almost never equal. An order is possible if and only if no
item follows one whose interval begins after its own ends. Sums over all possible orders are built up item by item over
the 2^n subsets of the items.

If closeness is a gap |x - t| to a printed target t, all items share the unknown t. With figures and deviations in
whole units, the overlapping pairs of intervals change only where t passes a multiple of a quarter unit, so the
multiples of an eighth in [t - 1/2, t + 1/2] stand for all t.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from mauve_core.analyses.published import DATA, REFERENCES, TOLERANCE, UNIT, settings, table
from mauve_core.base.errors import InputError
from mauve_core.stats.rank_correlation import spearman, worst_case_spearman

# Largest distance of the unrounded figure from the printed one, in units.
HALF = 0.5

# The same for drawn figures; slightly less, so that no draw lies on a border, where rounding conventions differ.
INSIDE = 0.4999

MOST_ITEMS = 14
MOST_WORST_CASE_ITEMS = 10
# Largest numbers of items, and of equal values in a reference, for exhaustive search: 2^n subsets; for the worst case
# also 2^n patterns of signs; n^n ways to order n equal values.
MOST_TIED = 5

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class Printed:
    """Printed figures of n items under one measure.

    Attributes
    ----------
    figures : (n,) float64
        In units of the last printed digit: whole numbers.
    sd : (n,) float64 or None
        Standard deviations in the same units.
    target : float or None
        Perfect figure: closeness is -|figure - target|. None: closeness is the figure itself.
    """

    figures: _Array
    sd: _Array | None = None
    target: float | None = None

    @classmethod
    def of(cls, values: ArrayLike, *, unit: float, sd: ArrayLike | None = None, target: float | None = None) -> Printed:
        """Convert figures of a table, printed to multiples of ``unit``.

        Raises
        ------
        InputError
            A figure is missing or not a multiple of ``unit``, or a deviation is negative.
        """
        figures = _in_units(values, unit)
        deviations = None if sd is None else _in_units(sd, unit)
        if deviations is not None and (deviations.shape != figures.shape or (deviations < 0).any()):
            raise InputError("Standard deviations do not match the figures", allowed="one per figure, 0 or more")
        return cls(figures, deviations, None if target is None else float(_in_units([target], unit)[0]))

    @property
    def closeness(self) -> _Array:
        """(n,) closeness of the printed figures; larger is closer."""
        return _closeness(self.figures, self.target)


@dataclass(frozen=True)
class Unrounded:
    """Figures, in units, that round to the printed ones."""

    figures: _Array
    sd: _Array | None
    target: float | None


def attainable_correlations(printed: Printed, reference: ArrayLike) -> _Array:
    """All Spearman correlations of closeness with ``reference`` that the printed figures allow.

    Parameters
    ----------
    printed : Printed
        At most ``MOST_ITEMS`` items.
    reference : (n,) array_like
        In units of its own last digit or finer. Values that print alike may be equal or in any order.

    Returns
    -------
    (v,) float64 array
        Ascending, distinct.

    Raises
    ------
    InputError
        There are too many items, or the reference has another length or all equal values.
    """
    orders = np.unique(_before(*_intervals(printed)), axis=0).tolist()
    correlations = []
    for ranks in _untied(_reference_ranks(printed, reference, MOST_ITEMS)):
        sums, weights = 0, np.rint(2 * ranks).astype(int).tolist()
        for before in orders:
            sums |= _possible_sums(before, weights)
        doubled = np.array([bit for bit in range(sums.bit_length()) if sums >> bit & 1], dtype=np.float64)
        correlations.append(_as_correlation(doubled / 2, ranks))
    return np.unique(np.concatenate(correlations).round(12))


def worst_case_range(printed: Printed, reference: ArrayLike) -> tuple[float, float]:
    """Limits of the worst case within one standard deviation, over all figures and deviations behind the printed ones.

    Returns
    -------
    low, high : float
        Some figures reach ``low``. None exceeds ``high``, which may not be reached, because the worst pattern of signs
        may differ between figures.

    Raises
    ------
    InputError
        There are no deviations or more than ``MOST_WORST_CASE_ITEMS`` items, or the reference does not fit.
    """
    ranks = _reference_ranks(printed, reference, MOST_WORST_CASE_ITEMS)
    if printed.sd is None:
        raise InputError("A worst case requires standard deviations")
    low, high = _intervals(printed)
    signs = _signs(ranks.size)[:, None, :]
    least, most = np.maximum(printed.sd - HALF, 0), printed.sd + HALF
    moved_low = low + np.where(signs > 0, least, -most)
    moved_high = high + np.where(signs > 0, most, -least)
    before = _before(moved_low, moved_high)
    orders, index = np.unique(before.reshape(-1, ranks.size), axis=0, return_inverse=True)
    smallest, largest = (
        _as_correlation(sums, ranks)[index.reshape(before.shape[:2])] for sums in _extreme_sums(orders, ranks)
    )
    return float(smallest.min()), float(largest.min(axis=0).max())


def find_unrounded(
    printed: Printed,
    references: ArrayLike,
    *,
    plain: ArrayLike,
    worst: ArrayLike,
    tolerance: float,
    draws: int = 10_000,
    seed: int = 0,
) -> Unrounded | None:
    """Figures that round to the printed ones and have all the given correlations at once, or None if none was drawn.

    Parameters
    ----------
    references : (r, n) array_like
    plain, worst : (r,) array_like
        Wanted correlation, and wanted worst case within one standard deviation, with each reference; NaN accepts any.
    tolerance : float
        Largest distance from the wanted correlation, such as half a unit of its last digit.
    draws : int
        Figures tried: most of them uniform, a third near the borders of their intervals.
    seed : int

    Raises
    ------
    InputError
        A worst case is wanted without deviations or for too many items, or the shapes do not fit.
    """
    rows = np.atleast_2d(np.asarray(references, dtype=np.float64))
    ranks = np.stack([_reference_ranks(printed, row, MOST_WORST_CASE_ITEMS) for row in rows])
    wanted, wanted_worst = (np.asarray(values, dtype=np.float64).reshape(len(rows)) for values in (plain, worst))
    needs_worst = not np.isnan(wanted_worst).all()
    if needs_worst and printed.sd is None:
        raise InputError("A worst case requires standard deviations")
    rng = np.random.default_rng(seed)
    figures = printed.figures + _offsets(rng, draws, printed.figures.size)
    sd = None if printed.sd is None else np.maximum(printed.sd + _offsets(rng, draws, printed.sd.size), 0)
    target = None if printed.target is None else printed.target + _offsets(rng, draws, 1)
    closeness = _closeness(figures, target)
    for index in np.flatnonzero(_near(_correlations(closeness, ranks), wanted, tolerance)):
        deviations = None if sd is None else sd[index]
        if needs_worst and deviations is not None:
            moved = closeness[index] + _signs(deviations.size) * deviations
            if not _near(_correlations(moved, ranks).min(axis=0)[None], wanted_worst, tolerance)[0]:
                continue
        return Unrounded(figures[index], deviations, None if target is None else float(target[index, 0]))
    return None


def _in_units(values: ArrayLike, unit: float) -> _Array:
    units = np.asarray(values, dtype=np.float64) / unit
    rounded = np.rint(units)
    # Decimals in binary are off by about 1e-16 relative; one digit too many is off by a tenth of a unit or more.
    if not np.isfinite(units).all() or (np.abs(units - rounded) > 1e-6).any():
        raise InputError("The figures are not multiples of the given unit", allowed=f"multiples of {unit:g}")
    return np.asarray(rounded, dtype=np.float64)


def _closeness(figures: _Array, target: float | _Array | None) -> _Array:
    return figures if target is None else -np.abs(figures - target)


def _reference_ranks(printed: Printed, reference: ArrayLike, most: int) -> _Array:
    ranks: _Array = rankdata(np.asarray(reference, dtype=np.float64))
    if ranks.shape != printed.figures.shape or np.ptp(ranks) == 0:
        raise InputError(
            "The reference does not match the printed figures",
            allowed="one value per figure, not all equal",
            received=f"{ranks.size} values for {printed.figures.size} figures",
        )
    if ranks.size > most:
        raise InputError("Too many items to enumerate all orders", allowed=f"at most {most}", received=str(ranks.size))
    return ranks


def _untied(ranks: _Array) -> list[_Array]:
    """The ranks with each group of equal ones split in every way, partly or not at all."""
    found = [ranks]
    for rank, size in zip(*np.unique(ranks, return_counts=True), strict=True):
        if size > MOST_TIED:
            raise InputError("Too many equal values", allowed=f"at most {MOST_TIED}", received=str(size))
        group = np.flatnonzero(ranks == rank)
        found = [_shifted(row, group, shift) for row in found for shift in _shifts(int(size))]
    return [row for row in found if np.ptp(row) > 0]


@functools.cache
def _shifts(size: int) -> list[_Array]:
    """The ranks of ``size`` values in all orders, with and without ties, minus the mean rank of equal ones."""
    ways = {tuple(rankdata(way)) for way in itertools.product(range(size), repeat=size)}
    return [np.array(way) - (size + 1) / 2 for way in sorted(ways)]


def _shifted(ranks: _Array, group: NDArray[np.intp], shift: _Array) -> _Array:
    shifted = ranks.copy()
    shifted[group] += shift
    return shifted


def _intervals(printed: Printed) -> tuple[_Array, _Array]:
    """(t, n) lowest and highest closeness of each item, one row per possible position of the target."""
    x = printed.figures[None, :]
    if printed.target is None:
        return x - HALF, x + HALF
    gap = np.abs(x - (printed.target + np.arange(-4, 5) / 8)[:, None])
    return -(gap + HALF), -np.maximum(gap - HALF, 0)


def _before(low: _Array, high: _Array) -> NDArray[np.int64]:
    """(..., n) for each item, the set of those that must precede it, as bits."""
    ordered = high[..., None, :] <= low[..., :, None]
    return np.asarray((ordered * (1 << np.arange(low.shape[-1]))).sum(axis=-1), dtype=np.int64)


def _possible_sums(before: list[int], weights: list[int]) -> int:
    """Bit s is set if some possible order has sum(place x weight) = s, with places counted from 1."""
    n = len(before)
    sums = [0] * (1 << n)
    sums[0] = 1
    for taken in range((1 << n) - 1):
        if sums[taken]:
            position = taken.bit_count() + 1
            for item in range(n):
                if not taken >> item & 1 and not before[item] & ~taken:
                    sums[taken | 1 << item] |= sums[taken] << position * weights[item]
    return sums[-1]


def _extreme_sums(before: NDArray[np.int64], weights: _Array) -> tuple[_Array, _Array]:
    """(m,) least and greatest sum(place x weight) of the possible orders, for each of m sets of constraints."""
    m, n = before.shape
    least, most = np.zeros((1 << n, m)), np.zeros((1 << n, m))
    for taken in range(1, 1 << n):
        last = [item for item in range(n) if taken >> item & 1]
        sums = taken.bit_count() * weights[last, None]
        barred = np.where(before.T[last] & ~taken, np.inf, 0.0)
        earlier = [taken ^ 1 << item for item in last]
        least[taken] = (least[earlier] + sums + barred).min(axis=0)
        most[taken] = (most[earlier] + sums - barred).max(axis=0)
    return least[-1], most[-1]


def _as_correlation(sums: _Array, ranks: _Array) -> _Array:
    """Spearman correlations from sum(place x rank) of orders without ties."""
    n = ranks.size
    spread = np.sqrt((n**3 - n) / 12 * ((ranks - ranks.mean()) ** 2).sum())
    return np.asarray((sums - n * (n + 1) ** 2 / 4) / spread)


def _signs(n: int) -> _Array:
    """(2^n, n) all patterns of -1 and 1."""
    return np.where(np.arange(1 << n)[:, None] >> np.arange(n) & 1, 1.0, -1.0)


def _offsets(rng: np.random.Generator, draws: int, n: int) -> _Array:
    """(draws, n) within half a unit; a third of the rows near the borders."""
    offsets = rng.uniform(-INSIDE, INSIDE, (draws, n))
    borders = rng.random((draws, 1)) < 1 / 3
    return np.where(borders, np.copysign(INSIDE, offsets), offsets)


def _correlations(rows: _Array, ranks: _Array) -> _Array:
    """(b, r) Spearman correlation of each row with each reference; NaN for a row of equal values."""
    left = rankdata(rows, axis=-1) - (rows.shape[-1] + 1) / 2
    right = ranks - ranks.mean(axis=1, keepdims=True)
    norms = np.sqrt((left**2).sum(axis=1)[:, None] * (right**2).sum(axis=1))
    found = np.full(norms.shape, np.nan)
    np.divide(left @ right.T, norms, out=found, where=norms > 0)
    return found


def _near(found: _Array, wanted: _Array, tolerance: float) -> NDArray[np.bool_]:
    """(b,) whether a row has every wanted correlation."""
    return np.asarray((np.isnan(wanted) | (np.abs(found - wanted) <= tolerance)).all(axis=1))


def main() -> None:
    """Write the limits and the outcome of every published correlation."""
    limits().to_csv(DATA / "rounding.csv", index=False, lineterminator="\n")


def limits() -> pd.DataFrame:
    """What the file holds: paper, table, first, second (its keys), low, high, outcome, joint."""
    return pd.DataFrame([*_of_measures(), *_of_columns()])


def _of_measures() -> Iterator[dict[str, Any]]:
    """The two correlation tables; where both use the same settings, one set of figures must explain both numbers."""
    numbers = table("correlations")
    frames = [settings(row.paper, row.domain, row.measure, row.reference) for row in numbers.itertuples()]
    numbers["settings"] = [", ".join(frame["setting"]) for frame in frames]
    found = {}
    for _, group in numbers.groupby(["domain", "measure", "settings"], sort=False):
        found |= dict(zip(group.index, _of_group(list(group.itertuples()), frames[group.index[0]]), strict=True))
    yield from (found[index] for index in sorted(found))


def _of_group(rows: list[Any], frame: pd.DataFrame) -> list[dict[str, Any]]:
    sd = None if frame["value_sd"].isna().any() else frame["value_sd"]
    human = float(frame["human"].iloc[0])
    figures = Printed.of(frame["value"], unit=UNIT, sd=sd, target=None if np.isnan(human) else human)
    signs = [1 if REFERENCES[row.reference].higher_is_closer else -1 for row in rows]
    frames = [settings(row.paper, row.domain, row.measure, row.reference) for row in rows]
    references = np.stack([sign * other["reference"] for sign, other in zip(signs, frames, strict=True)])
    found = [_judged(row, figures, reference) for row, reference in zip(rows, references, strict=True)]
    outcomes = {row["outcome"] for row in found}
    if outcomes == {"reproduced"}:
        return [row | {"joint": True} for row in found]
    plain, worst = (
        [row.spearman if row.statistic == statistic else np.nan for row in rows]
        for statistic in ("plain", "worst-case")
    )
    wanted = {"plain": plain, "worst": worst, "tolerance": TOLERANCE}
    if "different" in outcomes or find_unrounded(figures, references, **wanted) is None:
        return found
    return [
        row | {"joint": True, "outcome": "reproduced" if row["outcome"] == "reproduced" else "rounding"}
        for row in found
    ]


def _judged(row: Any, figures: Printed, reference: _Array) -> dict[str, Any]:
    """One number, judged separately."""
    published = float(row.spearman)
    if row.statistic == "worst-case" and figures.sd is not None:
        low, high = worst_case_range(figures, reference)
        outcome = "undecided" if low - TOLERANCE <= published <= high + TOLERANCE else "different"
        ours = worst_case_spearman(figures.closeness, figures.sd, reference).value
        outcome = "reproduced" if abs(ours - published) <= TOLERANCE else outcome
    else:
        low, high, outcome = _plain(figures, reference, spearman(figures.closeness, reference), published)
    names = {"paper": row.paper, "table": row.domain, "first": row.reference, "second": row.measure}
    return names | {"low": low, "high": high, "outcome": outcome, "joint": False}


def _of_columns() -> Iterator[dict[str, Any]]:
    for row in table("other_correlations").itertuples():
        first, second = table(row.table)[[row.first, row.second]].dropna().to_numpy(dtype=np.float64).T
        low, high, outcome = _plain(Printed.of(first, unit=UNIT), second, spearman(first, second), row.spearman)
        names = {"paper": row.paper, "table": row.table, "first": row.first, "second": row.second}
        yield names | {"low": low, "high": high, "outcome": outcome, "joint": False}


def _plain(figures: Printed, reference: _Array, ours: float, published: float) -> tuple[float, float, str]:
    possible = attainable_correlations(figures, reference)
    low, high = float(possible[0]), float(possible[-1])
    if abs(ours - published) <= TOLERANCE:
        return low, high, "reproduced"
    return low, high, "rounding" if (np.abs(possible - published) <= TOLERANCE).any() else "different"


if __name__ == "__main__":
    main()
