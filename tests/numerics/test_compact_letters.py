"""Letters against their definition, and displays by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.stats.multiple_tests import shared_letters


def told_apart(m: int, *pairs: tuple[int, int]) -> NDArray[np.bool_]:
    apart = np.zeros((m, m), dtype=bool)
    for one, other in pairs:
        apart[one, other] = apart[other, one] = True
    return apart


def written(apart: NDArray[np.bool_]) -> list[str]:
    return ["".join("abcdefgh"[number] for number in np.flatnonzero(own)) for own in shared_letters(apart)]


@st.composite
def comparisons(draw: st.DrawFn) -> NDArray[np.bool_]:
    m = draw(st.integers(0, 10))
    pairs = list(combinations(range(m), 2))
    return told_apart(m, *draw(st.lists(st.sampled_from(pairs), unique=True))) if pairs else told_apart(m)


@given(comparisons())
def test_two_share_a_letter_exactly_if_they_are_not_told_apart(apart: NDArray[np.bool_]) -> None:
    letters = shared_letters(apart)
    assert letters.shape[0] == len(apart)
    assert letters.any(axis=1).all()
    for one, other in combinations(range(len(apart)), 2):
        assert (letters[one] & letters[other]).any() == (not apart[one, other])


@given(comparisons())
def test_no_letter_is_too_many_and_none_too_short(apart: NDArray[np.bool_]) -> None:
    """Each letter is the only one of some two items, or of an item by itself; nobody outside could have it as well."""
    letters = shared_letters(apart)
    together = letters.astype(int) @ letters.T
    for own in letters.T:
        assert (together[np.ix_(own, own)] == 1).any()
        assert all(apart[outside][own].any() for outside in np.flatnonzero(~own))


@given(comparisons())
def test_letters_come_in_the_order_of_the_items(apart: NDArray[np.bool_]) -> None:
    members = [np.flatnonzero(own).tolist() for own in shared_letters(apart).T]
    assert members == sorted(members)


@given(st.lists(st.floats(0, 10), max_size=12), st.floats(0, 4))
def test_items_on_a_line_have_as_few_letters_as_can_be(places: list[float], reach: float) -> None:
    """Not told apart if at most ``reach`` apart: the fewest letters are then as many as there are widest groups."""
    line = np.sort(np.array(places))[::-1]
    apart = np.abs(line[:, np.newaxis] - line) > reach
    groups = {tuple(np.flatnonzero((line <= top) & (top - line <= reach))) for top in line}
    widest = {own for own in groups if not any(set(own) < set(other) for other in groups)}
    assert {tuple(np.flatnonzero(own)) for own in shared_letters(apart).T} == widest


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        (told_apart(1), ["a"]),
        (told_apart(3), ["a", "a", "a"]),
        (told_apart(2, (0, 1)), ["a", "b"]),
        (told_apart(3, (0, 2)), ["a", "ab", "b"]),  # not transitive: the one in the middle is like both others
        (told_apart(3, (0, 1)), ["a", "b", "ab"]),  # the last one is like both others
        (told_apart(4, (0, 2), (0, 3), (1, 3)), ["a", "ab", "bc", "c"]),
        (told_apart(4, (0, 3), (1, 3), (2, 3)), ["a", "a", "a", "b"]),
        (told_apart(4, (0, 2), (1, 3)), ["ab", "ac", "cd", "bd"]),  # a ring needs a letter for each neighbor
        (told_apart(5, (0, 1), (2, 3)), ["ab", "cd", "ac", "bd", "abcd"]),
    ],
)
def test_displays_by_hand(apart: NDArray[np.bool_], expected: list[str]) -> None:
    assert written(apart) == expected


def test_nothing_has_no_letters() -> None:
    assert shared_letters(np.zeros((0, 0), dtype=bool)).shape == (0, 0)


def test_what_would_need_exponentially_many_letters_on_the_way_takes_few() -> None:
    """40 threes that are told apart within: 3^40 groups of one from each, of which 35 cover all pairs."""
    apart = np.kron(np.eye(40), np.ones((3, 3))).astype(bool)
    assert shared_letters(apart).shape[1] < 100


@pytest.mark.parametrize(
    "apart", [np.zeros((2, 3), bool), np.zeros(4, bool), np.zeros((2, 2)), np.array([[False, True], [False, False]])]
)
def test_only_a_symmetric_square_of_truth_values_is_taken(apart: NDArray[np.generic]) -> None:
    with pytest.raises(InputError, match="symmetric square"):
        shared_letters(apart)
