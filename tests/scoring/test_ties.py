"""Letters of a leaderboard, and what is said of them and of pairs whose interval and test disagree."""

from __future__ import annotations

import dataclasses
from itertools import combinations

import pytest

from mauve_core.scoring.result import Candidate, Comparison, Difference
from mauve_core.scoring.serialization import to_json
from mauve_core.scoring.tables import (
    disagreement_sentence,
    letters_of,
    letters_sentence,
    places_sentence,
    standings,
    to_table,
)
from mauve_core.stats.scores import SCORES
from tests.handmade import estimate, make_comparison

NAMES = ("worst", "best", "middle")


def comparison(*apart: set[str], tested: bool = True) -> Comparison:
    """Three candidates with intervals that overlap for neighbors alone, and tests that tell ``apart`` those pairs."""
    template = make_comparison()
    base = template.candidates[0]
    ends = {"worst": (0.1, 0.4), "best": (0.6, 0.9), "middle": (0.3, 0.7)}
    candidates = []
    for name in NAMES:
        low, high = ends[name]
        scores = dict.fromkeys(SCORES, estimate((low + high) / 2, low, high))
        candidates.append(Candidate(dataclasses.replace(base.source, name=name), scores, scores, base.partitions))
    differences = tuple(
        Difference("mauve", one, other, 0.2, 0.1, 0.3, 0.01, 0.04 if {one, other} in apart else 0.06, 0.2, False, 9)
        for one, other in combinations(NAMES, 2)
    )
    return dataclasses.replace(template, candidates=tuple(candidates), differences=differences if tested else ())


def letters(found: Comparison) -> dict[str, str]:
    return {standing.candidate.name: standing.letters for standing in standings(found)}


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        ([], {"best": "a", "middle": "a", "worst": "a"}),
        ([{"best", "worst"}], {"best": "a", "middle": "ab", "worst": "b"}),
        ([{"best", "middle"}], {"best": "a", "middle": "b", "worst": "ab"}),
        ([{"best", "worst"}, {"middle", "worst"}], {"best": "a", "middle": "a", "worst": "b"}),
        (list(map(set, combinations(NAMES, 2))), {"best": "a", "middle": "b", "worst": "c"}),
    ],
)
def test_tests_decide_letters_which_come_in_the_order_of_the_leaderboard(
    apart: list[set[str]], expected: dict[str, str]
) -> None:
    found = comparison(*apart)
    assert list(letters(found)) == ["best", "middle", "worst"]
    assert letters(found) == expected
    assert {each["name"]: each["letters"] for each in to_json(found)["candidates"]} == expected


def test_intervals_decide_letters_where_differences_were_not_tested() -> None:
    assert letters(comparison(tested=False)) == {"best": "a", "middle": "ab", "worst": "b"}


def test_the_table_has_the_letters_and_says_what_they_mean() -> None:
    found = comparison({"best", "worst"})
    rows = [line.split() for line in to_table(found).splitlines()]
    assert rows[0][:3] == ["Rank", "Letters", "Candidate"]
    assert [row[:4] for row in rows[1:4:2]] == [["1", "=", "a", "best"], ["1", "=", "ab", "middle"]]
    assert rows[5][:3] == ["3", "b", "worst"]
    assert "Candidates that share a letter are not told apart." in to_table(found).replace("\n", " ")
    untested = to_table(comparison(tested=False)).replace("\n", " ")
    assert "Candidates that share a letter have overlapping intervals." in untested
    assert "told apart" not in untested


def test_one_candidate_has_no_letter() -> None:
    found = comparison()
    alone = dataclasses.replace(found, candidates=found.candidates[:1], differences=())
    assert letters(alone) == {"worst": ""}
    assert letters_sentence(alone) == ""
    assert places_sentence(alone) == "Rank: there is one candidate, so nothing is ranked."
    assert "Letters" not in to_table(alone)
    assert to_table(alone).splitlines()[1].split()[:2] == ["1", "worst"]


def test_letters_go_on_after_z() -> None:
    named = letters_of(range(110), lambda one, other: False)
    assert [named[place] for place in (0, 25, 26, 51, 52, 103, 104)] == ["a", "z", "A", "Z", "a1", "Z1", "a2"]
    assert len(set(named)) == 110


def test_the_table_says_what_the_interval_is_one_of() -> None:
    assert "below it the 95% bootstrap interval over texts at this n and k (" in to_table(comparison())


def difference(low: float, high: float, p_adjusted: float) -> Difference:
    return Difference("mauve", "a", "b", (low + high) / 2, low, high, 0.01, p_adjusted, 0.2, False, 9)


@pytest.mark.parametrize(
    ("found", "count"),
    [
        ([difference(0.1, 0.3, 0.05), difference(-0.1, 0.3, 0.06), difference(-0.3, -0.1, 0.05)], None),
        ([difference(0.1, 0.3, 0.06)], "1 pair"),
        ([difference(-0.1, 0.3, 0.05), difference(0.1, 0.3, 0.05)], None),  # whose interval reaches 0 is not told apart
        ([difference(-0.3, -0.1, 0.06), difference(0.1, 0.3, 0.06), difference(-0.1, 0.1, 1)], "2 pairs"),
        ([difference(0.0, 0.3, 0.06)], None),  # 0 is in the interval
    ],
)
def test_an_interval_alone_tells_nothing_apart(found: list[Difference], count: str | None) -> None:
    said = disagreement_sentence(found)
    opening = f"Where an interval excludes 0 and the two are not told apart ({count}), Holm's correction"
    assert said.startswith(opening) if count else said == ""
