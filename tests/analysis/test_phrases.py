"""Phrases: hand values, what is counted, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.findings import distinctive_words
from mauve_core.findings.distinctive_words import PRIOR, WordCounts, count_words, distinctive_phrases
from mauve_core.stats.two_groups import log_odds
from mauve_core.texts.properties import stop_words

FIRST = ["the red house burns", "a red house", "red houses", "the red house stands"] * 5
SECOND = ["the blue boat sails", "a blue boat", "blue boats", "the blue boat sinks"] * 5


def test_hand_values_by_documents() -> None:
    (phrase, *_), _ = distinctive_phrases(FIRST, SECOND)
    # In all 20 texts of the first set and none of the second; 40 texts, the word in 20 of them.
    assert phrase.text == "red"
    difference, sd = log_odds([20], [0], (20, 20), [20.5 / 41], PRIOR)
    assert phrase.log_odds == pytest.approx(difference[0])
    assert phrase.z == pytest.approx(difference[0] / sd[0])
    assert phrase.low == pytest.approx(difference[0] - 1.959964 * sd[0], rel=1e-6)
    assert phrase.high == pytest.approx(difference[0] + 1.959964 * sd[0], rel=1e-6)
    assert (phrase.texts, phrase.other_texts, phrase.tokens, phrase.other_tokens) == (20, 0, 20, 0)


def test_hand_values_by_tokens() -> None:
    (phrase, *_), _ = distinctive_phrases(FIRST, SECOND, unit="tokens")
    # 13 tokens in four texts, 65 in twenty, on either side; 10 texts have 32.5 on average.
    difference, sd = log_odds([20], [0], (65, 65), [20.5 / 131], PRIOR * 130 / 40)
    assert phrase.text == "red"
    assert phrase.log_odds == pytest.approx(difference[0])
    assert phrase.z == pytest.approx(difference[0] / sd[0])


def test_a_text_that_repeats_a_word_counts_once_by_documents() -> None:
    first = ["spam " * 200 + "eggs", *["eggs ham"] * 19]
    second = ["ham eggs"] * 20
    assert "spam" not in {phrase.text for phrase in distinctive_phrases(first, second, min_texts=1)[0]}
    (phrase, *_), _ = distinctive_phrases(first, second, unit="tokens", min_texts=1)
    assert phrase.text == "spam"
    assert (phrase.texts, phrase.tokens) == (1, 200)


def test_the_two_sides_change_places() -> None:
    one, other = distinctive_phrases(FIRST, SECOND)
    again, first = distinctive_phrases(SECOND, FIRST)
    assert (one, other) == (first, again)


def test_phrases_do_not_repeat_themselves() -> None:
    found, _ = distinctive_phrases(FIRST, SECOND)
    for place, phrase in enumerate(found):
        for other in found[:place]:
            assert f" {phrase.text} " not in f" {other.text} "
            assert f" {other.text} " not in f" {phrase.text} "
    assert [phrase.z for phrase in found] == sorted((phrase.z for phrase in found), reverse=True)
    # The longer of two phrases in the same texts.
    texts = ["in white shoes"] * 10
    assert distinctive_phrases(texts, ["no"] * 10)[0][0].text == "in white shoes"


def test_phrases_of_stop_words_alone_are_left_out() -> None:
    first, second = ["of the sea"] * 10, ["by a lake"] * 10
    assert distinctive_phrases(first, second, stop_words=stop_words())[0][0].text == "of the sea"
    assert distinctive_phrases(["of the"] * 10, second, stop_words=stop_words())[0] == ()
    assert distinctive_phrases(["of the"] * 10, second)[0][0].text == "of the"


def test_rare_phrases_and_equal_sets() -> None:
    assert distinctive_phrases(FIRST, FIRST) == ((), ())
    assert distinctive_phrases(["unique", *FIRST], ["other", *FIRST]) == ((), ())
    assert distinctive_phrases(["!"], ["?"]) == ((), ())
    assert len(distinctive_phrases(FIRST, SECOND, top=1)[0]) == 1


def test_noise_gives_few_phrases() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(200)]
    texts = [" ".join(rng.choice(words, size=40)) for _ in range(200)]
    found = distinctive_phrases(texts[:100], texts[100:], top=1000)
    # 200 words, each with 2.5 % on either side; longer phrases are hardly ever twice in 200 texts.
    assert sum(len(side) for side in found) <= 0.05 * 200 + 5 * np.sqrt(0.05 * 0.95 * 200)


@pytest.mark.parametrize("wrong", [{"unit": "words"}, {"confidence": 0.0}, {"first": []}, {"second": []}])
def test_what_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        distinctive_phrases(**{"first": FIRST, "second": SECOND, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("mark", "'’")
def test_contractions_apart_from_their_words_are_no_phrases(mark: str) -> None:
    tokenized = [f"the city {mark}s mayor said they {mark}ll vote"] * 20
    found, _ = distinctive_phrases(tokenized, ["a letter came"] * 20, min_texts=1)
    assert not {"s", "ll"} & {word for phrase in found for word in phrase.text.split()}
    joined, _ = distinctive_phrases([f"it{mark}s late"] * 20, ["a letter came"] * 20, min_texts=1)
    assert f"it{mark}s late" in {phrase.text for phrase in joined}


@pytest.mark.parametrize("min_texts", [0, 1, 2, 5])
@pytest.mark.parametrize("unit", ["documents", "tokens"])
def test_leaving_out_rare_phrases_early_changes_nothing(
    unit: str, min_texts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(30)]
    first, second = (
        [" ".join(rng.choice(words, 12, p=share)) for _ in range(40)] for share in rng.dirichlet(np.ones(30), 2)
    )
    found = distinctive_phrases(first, second, unit=unit, min_texts=min_texts)
    assert found[0]
    assert found[1]

    def count_all(texts: Sequence[str], *, min_texts: int, **settings: Any) -> WordCounts:
        return count_words(texts, **settings)

    monkeypatch.setattr(distinctive_words, "count_words", count_all)
    assert distinctive_phrases(first, second, unit=unit, min_texts=min_texts) == found


def test_texts_without_a_common_phrase() -> None:
    assert distinctive_phrases(["one", "two"], ["three", "four"]) == ((), ())
    assert distinctive_phrases(["one"], ["two"], min_texts=3) == ((), ())
