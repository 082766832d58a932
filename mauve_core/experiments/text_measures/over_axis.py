"""Shared by tables of measures over an axis: the number of neighbors, or the length of the texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from mauve_core.base.json_codec import Within
from mauve_core.experiments.text_measures.base import MeasureDifference, Row

# A place on the axis, such as a number of neighbors.
OnAxis = Annotated[int, Within(1)]


@dataclass(frozen=True)
class OrderOver:
    """In which order two candidates are told apart, by place on the axis.

    At each place, the two are tested, and Holm's method corrects for all pairs of candidates; it does not correct for
    the number of places.

    Attributes
    ----------
    measure : str
        Its name.
    first, second : str
        The candidates.
    larger, smaller : tuple of int
        The places at which ``first`` is told apart from ``second`` as larger, and as smaller, ascending.
    """

    measure: str
    first: str
    second: str
    larger: tuple[OnAxis, ...]
    smaller: tuple[OnAxis, ...]

    @property
    def turns(self) -> bool:
        """Whether the order depends on the place."""
        return bool(self.larger) and bool(self.smaller)


RowOver = TypeVar("RowOver", bound=Row)


class TableOver(Generic[RowOver]):
    """A table with rows by measure, then candidate, each in ascending places."""

    rows: tuple[RowOver, ...]

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures, in order."""
        return tuple(dict.fromkeys(row.measure for row in self.rows))

    @property
    def candidates(self) -> tuple[str, ...]:
        """Names of the candidates, in order."""
        return tuple(dict.fromkeys(row.candidate for row in self.rows))

    def line(self, measure: str, candidate: str) -> tuple[RowOver, ...]:
        """The rows of one measure and candidate in ascending places; empty if there are none."""
        return tuple(row for row in self.rows if (row.measure, row.candidate) == (measure, candidate))


def orders_of(
    measure: str, tests: Mapping[int, Sequence[MeasureDifference]], candidates: Sequence[str]
) -> list[OrderOver]:
    """Every two candidates with the places at which they are told apart; ``tests`` of each place."""
    larger: dict[tuple[str, str], list[int]] = {}
    smaller: dict[tuple[str, str], list[int]] = {}
    for place, found in tests.items():
        for test in found:
            pair = (test.first, test.second)
            for signs, told in ((larger, test.difference > 0), (smaller, test.difference < 0)):
                signs.setdefault(pair, []).extend([place] if told and test.told_apart else [])
    pairs = ((first, second) for i, first in enumerate(candidates) for second in candidates[i + 1 :])
    return [OrderOver(measure, *pair, tuple(larger.get(pair, ())), tuple(smaller.get(pair, ()))) for pair in pairs]


def order_in_words(orders: Sequence[OrderOver], what: str, by: str, axis: str) -> str:
    """Whether the order of the candidates depends on the axis, in a sentence.

    Parameters
    ----------
    orders : sequence of OrderOver
        Of one measure, at least one.
    what, by, axis : str
        What tells candidates apart, at the beginning of a sentence and within one; the name of the axis.
    """
    apart = sum(bool(each.larger or each.smaller) for each in orders)
    turning = sum(each.turns for each in orders)
    pairs = f"{len(orders):,} {'pair' if len(orders) == 1 else 'pairs'} of candidates"
    if not apart:
        return f"{what} tells none of the {pairs} apart at any {axis}."
    if not turning:
        return (
            f"{what} tells {apart:,} of the {pairs} apart at some {axis}, each in the same order at every such {axis}."
        )
    return (
        f"The order by {by} depends on {axis}: {turning:,} of the {pairs} {'is' if turning == 1 else 'are'} told "
        f"apart one way at some {axis} and the other way at another."
    )


def notes_over(rows: Sequence[tuple[Row, int]], title: Callable[[str], str], axis: str) -> tuple[str, ...]:
    """Every caveat of rows, with their places, once: with its measure, candidates and places unless all rows have it.

    Parameters
    ----------
    title : callable
        Name of a measure -> its title.
    axis : str
        Written before the places, such as ``k =``.
    """
    whose: dict[str, dict[tuple[str, str], list[int]]] = {}
    for row, place in rows:
        for part in filter(None, row.note.split("; ")):
            whose.setdefault(part, {}).setdefault((row.measure, row.candidate), []).append(place)
    notes = []
    for part, places_of in whose.items():
        if sum(map(len, places_of.values())) == len(rows):
            notes.append(part)
            continue
        candidates: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        for (measure, candidate), places in places_of.items():
            candidates.setdefault((measure, tuple(places)), []).append(candidate)
        notes += [
            f"{title(measure)} of {', '.join(names)} at {axis} {in_words(places)}: {part}"
            for (measure, places), names in candidates.items()
        ]
    return tuple(notes)


def in_words(places: Sequence[int]) -> str:
    """Ascending whole numbers with their runs joined: ``1 to 3, 7``."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
