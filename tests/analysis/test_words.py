"""Class-based TF-IDF: hand values, the formula and a plain slow twin."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.findings.distinctive_words import DistinctiveWord, class_based_tfidf, count_words

# A handful of float64 operations on numbers near one.
ROUNDING = 1e-12


def distinctive_words(
    texts_by_group: Mapping[Any, Sequence[str]], *, top: int = 10, stop_words: str | Sequence[str] | None = "english"
) -> dict[Any, tuple[DistinctiveWord, ...]]:
    """Those of each group of texts against all others."""
    texts = [text for group in texts_by_group.values() for text in group]
    labels = np.repeat(np.arange(len(texts_by_group)), [len(group) for group in texts_by_group.values()])
    words = count_words(texts, stop_words=stop_words).by_group(labels, len(texts_by_group), top=top)
    return dict(zip(texts_by_group, words, strict=True))


def test_hand_values() -> None:
    # Two groups of 4 and 2 words: A = 3. "cat" occurs 3 + 0 times, "dog" 1 + 1, "sun" 0 + 1.
    words = distinctive_words({"a": ["cat cat", "Cat dog"], "b": ["dog sun"]})
    assert [w.word for w in words["a"]] == ["cat", "dog"]
    assert words["a"][0].weight == pytest.approx(3 / 4 * math.log(1 + 3 / 3), abs=ROUNDING)
    assert words["a"][1].weight == pytest.approx(1 / 4 * math.log(1 + 3 / 2), abs=ROUNDING)
    assert [w.word for w in words["b"]] == ["sun", "dog"]
    assert words["b"][0].weight == pytest.approx(1 / 2 * math.log(1 + 3 / 1), abs=ROUNDING)
    assert words["a"][0] == DistinctiveWord("cat", words["a"][0].weight, count=3, texts=2)


def test_contrast_hand_values() -> None:
    # A = 2, "cat" 1 against 1 (no difference), "dog" 1 on the left, "sun" 1 on the right: weight 1/2 * log(1 + 2).
    counts = count_words(["cat dog", "unused words", "cat sun"])
    left, right = counts.contrast([0], [2])
    assert [(w.word, w.count, w.texts) for w in left] == [("dog", 1, 1)]
    assert [(w.word, w.count, w.texts) for w in right] == [("sun", 1, 1)]
    assert left[0].weight == pytest.approx(math.log(3) / 2, abs=ROUNDING)


def test_table_of_counts_against_the_formula() -> None:
    table = np.array([[5, 0, 1], [0, 0, 2], [0, 0, 0]])
    weights = class_based_tfidf(table).toarray()
    average = (6 + 2) / 2
    expected = [
        [5 / 6 * math.log(1 + average / 5), 0, 1 / 6 * math.log(1 + average / 3)],
        [0, 0, math.log(1 + average / 3)],
        [0, 0, 0],
    ]
    np.testing.assert_allclose(weights, expected, rtol=0, atol=ROUNDING)


def test_ties_follow_the_alphabet_and_top_cuts() -> None:
    words = distinctive_words({"a": ["pear apple fig"], "b": ["rock stone"]}, top=2)
    assert [w.word for w in words["a"]] == ["apple", "fig"]


def test_groups_and_texts_without_words() -> None:
    words = distinctive_words({"a": ["the of and"], "b": [], "c": ["apple", ""]})
    assert words["a"] == words["b"] == ()
    assert [w.word for w in words["c"]] == ["apple"]
    assert distinctive_words({"a": ["", "!"]}) == {"a": ()}
    assert distinctive_words({}) == {}


def test_stop_words_are_a_choice() -> None:
    texts = {"a": ["the the cat"], "b": ["a dog"]}
    assert distinctive_words(texts, stop_words=None)["a"][0].word == "the"
    assert [w.word for w in distinctive_words(texts, stop_words=["cat"])["a"]] == ["the"]
    assert [w.word for w in distinctive_words(texts)["a"]] == ["cat"]


def test_other_scripts_are_counted() -> None:
    words = distinctive_words({"a": ["Кошка спит"], "b": ["собака спит"]})
    assert words["a"][0].word == "кошка"


def test_words_of_one_text_can_be_left_out_without_moving_the_others() -> None:
    counts = count_words(["cat dog", "cat sun", "dog"])
    every = counts.by_group([0, 0, 1], 2)
    common = counts.by_group([0, 0, 1], 2, min_texts=2)
    assert common == [tuple(word for word in every[0] if word.word == "cat"), ()]


def test_negative_label_leaves_a_text_out() -> None:
    counts = count_words(["cat", "dog", "sun"])
    without = counts.by_group(np.array([0, -1, 1]), 2)
    assert without == list(distinctive_words({0: ["cat"], 1: ["sun"]}).values())


@pytest.mark.parametrize("labels", [[0, 1], [[0, 1, 1]], [0.0, 1.0, 1.0], [0, 1, 2]])
def test_wrong_labels(labels: list[object]) -> None:
    with pytest.raises(InputError):
        count_words(["cat", "dog", "sun"]).by_group(labels, 2)


@pytest.mark.parametrize(("first", "second"), [([0], [0]), ([3], [0]), ([-1], [0])])
def test_wrong_contrast(first: list[int], second: list[int]) -> None:
    with pytest.raises(InputError):
        count_words(["cat", "dog", "sun"]).contrast(first, second)


def slow_twin(groups: list[list[str]]) -> list[list[tuple[str, float]]]:
    """The same weights with counters and loops."""
    counted = [Counter(re.findall(r"\w\w+", " ".join(texts).lower())) for texts in groups]
    lengths = [sum(c.values()) for c in counted if c]
    total: Counter[str] = sum(counted, Counter())
    return [
        sorted(
            (
                (word, count / sum(c.values()) * math.log(1 + sum(lengths) / len(lengths) / total[word]))
                for word, count in c.items()
            ),
            key=lambda pair: pair[0],
        )
        for c in counted
    ]


texts_of_groups = st.lists(
    st.lists(st.lists(st.sampled_from(["aa", "bb", "cc", "dd", "ee"]), max_size=6).map(" ".join), max_size=4),
    min_size=1,
    max_size=4,
)


@settings(deadline=None, max_examples=60)
@given(texts_of_groups)
def test_agrees_with_the_slow_twin(groups: list[list[str]]) -> None:
    fast = distinctive_words(dict(enumerate(groups)), top=100, stop_words=None)
    for index, expected in enumerate(slow_twin(groups)):
        found = sorted((w.word, w.weight) for w in fast[index])
        assert [w for w, _ in found] == [w for w, _ in expected]
        np.testing.assert_allclose([v for _, v in found], [v for _, v in expected], rtol=0, atol=ROUNDING)


@given(texts_of_groups)
def test_order_of_groups_and_texts_does_not_matter(groups: list[list[str]]) -> None:
    named = {f"g{i}": texts for i, texts in enumerate(groups)}
    turned = {name: named[name][::-1] for name in reversed(named)}
    before, after = distinctive_words(named, stop_words=None), distinctive_words(turned, stop_words=None)
    for name in named:
        assert {w.word for w in before[name]} == {w.word for w in after[name]}
        np.testing.assert_allclose([w.weight for w in before[name]], [w.weight for w in after[name]], atol=ROUNDING)
