"""Properties of texts: hand values, texts too short, other scripts, and a plain twin of distinct-n."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.texts.properties import NGRAM, PROPERTIES, text_properties

TEXTS = st.lists(
    st.lists(st.sampled_from(["the", "Cat", "sat", "on", ",", "don't", "mat.", "—"]), max_size=12).map(" ".join),
    max_size=6,
)


def one(text: str, name: str) -> float:
    return float(text_properties([text])[name][0])


def test_hand_values() -> None:
    text = "The cat, I think, sat on the mat."
    # Tokens: The cat , I think , sat on the mat . -> 11, of which the, I, on, the are stop words, three are marks.
    assert one(text, "length") == 8
    assert one(text, "stop_words") == pytest.approx(4 / 11)
    assert one(text, "punctuation") == pytest.approx(3 / 11)
    assert one(text, "distinct") == 1
    assert one(text, "repetition") == 0
    assert one(text, "truncated") == 0


def test_apostrophes_and_underscores_stay_in_words() -> None:
    assert one("don't stop_now", "punctuation") == 0
    assert one("don’t __init__", "punctuation") == 0
    assert one("'quoted'", "punctuation") == pytest.approx(2 / 3)


def test_other_scripts() -> None:
    assert one("Кошка спит.", "punctuation") == pytest.approx(1 / 3)
    assert one("猫は眠る。", "truncated") == 0
    assert one("कुत्ता सोता है।", "truncated") == 0


@pytest.mark.parametrize("text", ["He left.", 'He said "no!"', "(Really?)", "Well…", "*done.*", "Yes. \n", "He left.”"])
def test_finished_ends(text: str) -> None:
    assert one(text, "truncated") == 0


@pytest.mark.parametrize("text", ["He left the", "a,", '"He said', "He left:", "", "()", "end of li-"])
def test_truncated_ends(text: str) -> None:
    assert one(text, "truncated") == 1


def test_loops_and_repeated_words() -> None:
    assert one("so it goes so it goes", "repetition") == 1
    assert one("so it goes so it went", "repetition") == 0
    # a b c d a b c d a: six 4-grams, of which abcd and bcda occur twice.
    assert one("a b c d a b c d a", "distinct") == pytest.approx(4 / 6)


def test_texts_too_short_have_no_share() -> None:
    found = text_properties(["", "one two three", "   "])
    assert np.isnan(found["stop_words"][[0, 2]]).all()
    assert np.isnan(found["punctuation"][[0, 2]]).all()
    assert np.isnan(found["distinct"]).all()
    np.testing.assert_array_equal(found["length"], [0, 3, 0])


@given(TEXTS)
def test_every_property_of_every_text(texts: list[str]) -> None:
    found = text_properties(texts)
    assert list(found) == list(PROPERTIES)
    for name, values in found.items():
        assert values.shape == (len(texts),)
        assert values.dtype == np.float64
        if PROPERTIES[name].binary:
            assert set(values.tolist()) <= {0.0, 1.0}
        for text, value in zip(texts, values, strict=True):
            np.testing.assert_equal(one(text, name), value)  # whatever texts stand beside it


@given(TEXTS)
def test_distinct_against_a_plain_loop(texts: list[str]) -> None:
    for text, value in zip(texts, text_properties(texts)["distinct"], strict=True):
        words = text.split()
        grams = [tuple(words[i : i + NGRAM]) for i in range(len(words) - NGRAM + 1)]
        assert (np.isnan(value) and not grams) or value == pytest.approx(len(set(grams)) / len(grams))


@pytest.mark.parametrize("name", PROPERTIES)
def test_more_and_less_are_told_apart(name: str) -> None:
    assert PROPERTIES[name].more != PROPERTIES[name].less
    assert PROPERTIES[name].counted.count("{}") == 1
