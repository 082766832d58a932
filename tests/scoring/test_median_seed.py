"""The seed that is shown by default: the median of the candidate's MAUVE, against a plain count."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import score_in_words, seed_in_words
from tests.handmade import make_comparison


def with_values(pairwise: Sequence[float], joint: Sequence[float]) -> Comparison:
    """The comparison made by hand, with the second candidate's MAUVE under each seed, and the first's always 1/2."""
    comparison = make_comparison()
    first, second = comparison.candidates
    half = dataclasses.replace(first.joint_scores["mauve"], values=(0.5,) * len(joint))
    first = dataclasses.replace(first, joint_scores={**first.joint_scores, "mauve": half})
    scores, joint_scores = (
        {**own, "mauve": dataclasses.replace(own["mauve"], values=tuple(values))}
        for own, values in ((second.scores, pairwise), (second.joint_scores, joint))
    )
    second = dataclasses.replace(second, scores=scores, joint_scores=joint_scores)
    return dataclasses.replace(comparison, candidates=(first, second))


def plainly(values: Sequence[float]) -> int:
    """The first seed with no more than half of the values below it and at least half of them not above it."""
    for seed, value in enumerate(values):
        below = sum(other < value for other in values)
        up_to = sum(other <= value for other in values)
        if 2 * below < len(values) <= 2 * up_to:
            return seed
    raise AssertionError("there is a median")


some_values = st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5]) | st.floats(0, 1), min_size=1, max_size=9)


@given(some_values, some_values)
def test_it_is_the_lower_median_and_the_first_of_equals(pairwise: list[float], joint: list[float]) -> None:
    comparison = with_values(pairwise, joint)
    name = comparison.candidates[1].name
    assert comparison.median_seed(name) == plainly(pairwise)
    assert comparison.median_seed(name, "joint") == plainly([0.5 + value for value in joint])


def test_the_joint_one_is_the_same_for_all_candidates_and_the_median_of_their_mean() -> None:
    comparison = with_values([0.1, 0.2, 0.3], [0.2, 0.9, 0.1])
    first, second = comparison.candidates
    values = dataclasses.replace(first.joint_scores["mauve"], values=(0.1, 0.2, 0.9))  # sums: 0.3, 1.1, 1.0
    first = dataclasses.replace(first, joint_scores={**first.joint_scores, "mauve": values})
    comparison = dataclasses.replace(comparison, candidates=(first, second))
    assert [comparison.median_seed(each.name, "joint") for each in (first, second)] == [2, 2]
    assert comparison.median_seed(second.name) == 1


def test_by_hand() -> None:
    for values, expected in (
        ([0.5], 0), ([0.5, 0.4], 1), ([0.4, 0.5], 0), ([0.9, 0.1, 0.5], 2), ([0.5, 0.3, 0.3], 1), ([0.2] * 4, 0),
        ([0.4, 0.1, 0.3, 0.2], 3),
    ):  # fmt: skip
        comparison = with_values(values, values[::-1])
        assert comparison.median_seed(comparison.candidates[1].name) == expected, values


def test_a_partition_without_a_seed_is_that_one() -> None:
    for values in ([0.2, 0.1], [0.1, 0.2]):
        comparison = with_values(values, values[::-1])
        name = comparison.candidates[1].name
        for kind in ("pairwise", "joint"):
            expected = comparison.partitions(kind, name)[comparison.median_seed(name, kind)]
            assert comparison.partition(kind, name) is expected
            assert comparison.partition(kind, name, 0) is comparison.partitions(kind, name)[0]
    with pytest.raises(InputError, match="No candidate"):
        comparison.median_seed("nobody")


def test_the_words_name_the_seed_its_score_and_whether_it_is_the_median() -> None:
    comparison = with_values([0.25, 0.75], [0.5, 0.5])
    name = comparison.candidates[1].name
    assert seed_in_words(comparison, name, "pairwise", 0) == "seed 1 of 2, where it is 0.250 (the median)"
    assert seed_in_words(comparison, name, "pairwise", 1) == "seed 2 of 2, where it is 0.750"
    assert seed_in_words(comparison, name, "joint", 1) == "seed 2 of 2, where it is 0.500"
    said = "seed 1 of 2, where it is 0.500 (the median over all candidates)"
    assert seed_in_words(comparison, name, "joint", 0) == said
    assert seed_in_words(with_values([0.3], [0.3]), name, "joint", 0) == "the run's only seed"
    alone = dataclasses.replace(comparison, candidates=comparison.candidates[1:])
    assert "rank" in score_in_words(comparison, name)
    assert "rank" not in score_in_words(alone, name)
