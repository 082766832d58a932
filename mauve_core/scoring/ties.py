"""Which candidates are not told apart: shared ranks, and letters that candidates share exactly if they are not.

A rank holds a candidate against the first of its group alone, so two of different ranks may not be told apart either.
Letters show every pair (``mauve_core.numerics.statistics.compact_letters``).
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

import numpy as np

from mauve_core.numerics.statistics.compact_letters import shared_letters
from mauve_core.scoring.result import Comparison, Difference
from mauve_core.scoring.spread import Estimate

_LETTERS = string.ascii_lowercase + string.ascii_uppercase

_Item = TypeVar("_Item")


def overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two intervals, each (low, high), share a point."""
    return one[0] <= other[1] and other[0] <= one[1]


def shared_ranks(items: Sequence[_Item], tied: Callable[[_Item, _Item], bool]) -> list[tuple[int, bool]]:
    """Return each item's rank and whether it is shared; the best item comes first.

    The rule is that of :func:`mauve_core.scoring.tables.standings`.
    """
    leaders: list[int] = []
    for index, item in enumerate(items):
        leader = leaders[-1] if leaders else index
        leaders.append(leader if tied(item, items[leader]) else index)
    return [(leader + 1, leaders.count(leader) > 1) for leader in leaders]


def letters_of(items: Sequence[_Item], tied: Callable[[_Item, _Item], bool]) -> list[str]:
    """Return each item's letters, such as ``ab``: two share one exactly if they are tied; the best item comes first.

    After z come A to Z, then a1 to Z1, a2 and so on.
    """
    apart = np.zeros((len(items), len(items)), dtype=np.bool_)
    for row, column in combinations(range(len(items)), 2):
        apart[row, column] = apart[column, row] = not tied(items[row], items[column])
    return ["".join(map(_letter, np.flatnonzero(own).tolist())) for own in shared_letters(apart)]


def tie_rule(comparison: Comparison, score: str, estimates: Mapping[str, Estimate]) -> Callable[[str, str], bool]:
    """Return what says of two candidates that they are not told apart under a score.

    The test does (``mauve_core.scoring.differences``); of candidates of two runs, the overlap of the intervals of the
    ``estimates``.
    """

    def tied(one: str, other: str) -> bool:
        found = comparison.difference(score, one, other)
        if found is None:
            own, others = estimates[one], estimates[other]
            return overlap((own.low, own.high), (others.low, others.high))
        return not found.told_apart

    return tied


def told_apart(comparison: Comparison, score: str, one: str, other: str) -> bool:
    """Whether two candidates are told apart under a score in the partitions that are ranked."""
    estimates = {name: comparison.candidate(name).scores[score] for name in (one, other)}
    return not tie_rule(comparison, score, estimates)(one, other)


def letters_sentence(comparison: Comparison) -> str:
    """Explain the letters in a sentence; empty for one candidate."""
    if len(comparison.candidates) < 2:
        return ""
    shared = "are not told apart" if comparison.is_tested else "have overlapping intervals"
    return f"Candidates that share a letter {shared}."


def disagreement_sentence(differences: Sequence[Difference]) -> str:
    """Say that the test decides where only the interval excludes 0; empty if it nowhere does."""
    found = sum((each.low > 0 or each.high < 0) and not each.told_apart for each in differences)
    if not found:
        return ""
    pairs = "1 pair" if found == 1 else f"{found:,} pairs"
    return (
        f"Where an interval excludes 0 and the two are not told apart ({pairs}), Holm's correction for all pairs "
        "decides: an interval is of its pair alone."
    )


def _letter(number: int) -> str:
    again, place = divmod(number, len(_LETTERS))
    return f"{_LETTERS[place]}{again or ''}"
