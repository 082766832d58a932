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

from mauve_core.analysis.words import DistinctiveWord, class_based_tfidf, count_words

ROUNDING = 1e-12
"""A handful of float64 operations on numbers near one."""


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


def test_words_of_one_text_can_be_left_out_without_moving_the_others() -> None:
    counts = count_words(["cat dog", "cat sun", "dog"])
    every = counts.by_group([0, 0, 1], 2)
    common = counts.by_group([0, 0, 1], 2, min_texts=2)
    assert common == [tuple(word for word in every[0] if word.word == "cat"), ()]


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
