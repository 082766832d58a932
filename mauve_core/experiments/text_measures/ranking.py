"""Who is closest to people by a text measure: ranks by the gap |T(Q) - T(P)|, with ties, and what they rest on.

Ranks follow the rule of the leaderboard (:func:`mauve_core.scoring.tables.standings`): from the smallest gap on, a
candidate ties with its group's first unless the test of their gaps tells the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mauve_core.base.formatting import decimals_of, printable
from mauve_core.base.words import TEXTS, Words
from mauve_core.experiments.text_measures.base import MeasureDifference, Measurements, Row
from mauve_core.scoring.result import SIGNIFICANT
from mauve_core.scoring.tables import shared_ranks


@dataclass(frozen=True)
class MeasureStanding:
    """A candidate's place by the gap of one measure.

    Attributes
    ----------
    rank : int
        1 has the smallest gap; tied candidates share a rank; 0 without a gap.
    tied : bool
        Whether another candidate has the same rank.
    row : Row
    """

    rank: int
    tied: bool
    row: Row


def measure_standings(measurements: Measurements, measure: str, order: Sequence[str]) -> list[MeasureStanding]:
    """Rank the candidates by gap, the smallest first; those without a gap come last, in ``order``."""
    rows = [row for name in order if (row := measurements.row(measure, name)) is not None]
    gaps = {row.candidate: row.gap for row in rows if row.gap is not None}
    ranked = sorted((row for row in rows if row.gap is not None), key=lambda row: gaps[row.candidate].value)
    apart = _told_apart(measurements, measure)
    ranks = shared_ranks([row.candidate for row in ranked], lambda *pair: frozenset(pair) not in apart)
    placed = [MeasureStanding(rank, shared, row) for (rank, shared), row in zip(ranks, ranked, strict=True)]
    return placed + [MeasureStanding(0, False, row) for row in rows if row.gap is None]


def ranked_tests(measurements: Measurements, measure: str, order: Sequence[str]) -> list[MeasureDifference]:
    """The tests of gaps, or of values without T(P), each seen from the candidate placed first, the best pairs first."""
    found = measurements.tests(measure) or measurements.tests(measure, "value")
    places = {each.row.candidate: place for place, each in enumerate(measure_standings(measurements, measure, order))}
    turned = [each.seen_from(min(each.first, each.second, key=places.__getitem__)) for each in found]
    return sorted(turned, key=lambda each: (places[each.first], places[each.second]))


def closest_sentence(
    measurements: Measurements,
    measure: str,
    order: Sequence[str],
    name_of: Callable[[str], str] = printable,
    words: Words = TEXTS,
) -> str:
    """Say who is closest to people by the measure and who is not told apart from it; empty if nothing is ranked.

    Parameters
    ----------
    name_of : callable
        Writes a candidate's name for where the sentence is shown.
    words : Words
        What the run compares.
    """
    closest = words.said("Closest to people")
    ranked = [each.row.candidate for each in measure_standings(measurements, measure, order) if each.rank]
    if len(ranked) < 2 or not measurements.tests(measure):
        return ""
    apart = _told_apart(measurements, measure)
    best, *others = ranked
    untold = [name for name in others if frozenset((best, name)) not in apart]
    if not untold:
        return f"{closest}: {name_of(best)}, told apart from every other candidate."
    if len(untold) == len(others) > 1:
        return f"Smallest gap: {name_of(best)}, but no other candidate is told apart from it."
    return f"{closest}: {name_of(best)}. Not told apart from it: {_listed(list(map(name_of, untold)))}."


def _told_apart(measurements: Measurements, measure: str) -> set[frozenset[str]]:
    """Every two candidates whose gaps the test tells apart."""
    return {frozenset((each.first, each.second)) for each in measurements.tests(measure) if each.told_apart}


def test_decimals(tests: Sequence[MeasureDifference]) -> int:
    """Decimals of differences shown together: those of the middle one, taking an interval as four spreads wide."""
    own = sorted(
        decimals_of(each.difference, None if each.low is None or each.high is None else (each.high - each.low) / 4)
        for each in tests
    )
    return own[len(own) // 2]


def measure_tests_sentence(tests: Sequence[MeasureDifference]) -> str:
    """Explain how differences under one measure were tested, in a sentence or two."""
    gaps = any(each.of == "gap" for each in tests)
    equal = "both T(A) = T(B) and T(P) midway between the two are rejected" if gaps else "T(A) = T(B) is rejected"
    return (
        f"Told apart: {equal} (jackknife t test over groups of prompts; p at most {SIGNIFICANT:g} after Holm's "
        "correction for all pairs)."
    )


def _listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
