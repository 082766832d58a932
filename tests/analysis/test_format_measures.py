"""Format of single texts: one case made by hand, or several, for each number."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.findings.format_checks import excluded_empty, format_measures, repeats
from mauve_core.texts import corpus_from_texts


def number(name: str, text: str, prompt: str = "") -> float:
    return float(format_measures([text], [prompt]).numbers[name][0])


NAN = float("nan")

CASES = [
    ("leading_space", " Hello.", 1),
    ("leading_space", "\u3000Hello.", 1),
    ("leading_space", "Hello. ", 0),
    ("trailing_space", "Hello.\n", 1),
    ("trailing_space", " Hello.", 0),
    ("words", "One, two - three\nfour...", 4),
    ("words", "He said : `` no '' .", 3),
    ("words", "OneĠtwoĠthree<|endoftext|>", 3),
    ("words", "...", 0),
    ("cut_off", "It ended. ", 0),
    ("cut_off", 'It ended."', 0),
    ("cut_off", "(It ended)", 0),
    ("cut_off", "终了。", 0),
    ("cut_off", "It ended.</s>", 0),
    ("cut_off", "It ended, and", 1),
    ("cut_off", "", 1),
    ("line_breaks", "\none two\r\n\nthree four five\n", 2 / 5 * 100),
    ("line_breaks", " one two ", 0),
    ("line_breaks", "", NAN),
    ("curly_quotes", "“It’s” 'so'", 3 / 5),
    ("curly_quotes", "no such sign", NAN),
    ("upper_case", "ABcd 12", 0.5),
    ("upper_case", "ÀÉàé", 0.5),
    ("upper_case", "12", NAN),
    ("lower_start", '"and so', 1),
    ("lower_start", " And so", 0),
    ("lower_start", "1st", NAN),
    ("lower_start", "終了", NAN),
    ("lower_start", "<s>And", 0),
    ("non_ascii", "naïve", 1 / 5),
    ("non_ascii", "日本 \U00020000 ab", 3 / 5),
    ("non_ascii", "plain — “signs”", 0),
    ("marks", "one , two do n't", 2 / 4 * 100),
    ("marks", "one @-@ two<|endoftext|>", 2 / 2 * 100),
    ("marks", "oneĠtwoĊthree", 2 / 3 * 100),
    ("marks", "ĠOne two", 1 / 2 * 100),
    ("marks", "I <unk> it </s>", 2 / 2 * 100),
    ("marks", "It's one, two; don't.", 0),
]


@pytest.mark.parametrize(("name", "text", "expected"), CASES)
def test_a_case_made_by_hand(name: str, text: str, expected: float) -> None:
    assert number(name, text) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "prompt", "expected"),
    [
        ("Once upon\na  time there", "Once upon a time", 1),
        (" Once upon a time", " Once upon a time\n", 1),
        ("there was", "Once upon a time", 0),
        ("Once", "Once upon", 0),
        ("Once", " ", NAN),
        ("", "Once", 0),
    ],
)
def test_an_echo(text: str, prompt: str, expected: float) -> None:
    assert number("echo", text, prompt) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The end of the road is in the hills.", "English"),
        ("Das ist der Weg, und die Stadt ist nicht weit.", "German"),
        ("C'est la fin de la route dans les montagnes et le ciel est bleu.", "French"),
        ("El final de la calle está en los montes y el cielo.", "Spanish"),
        ("Это конец дороги.", "Cyrillic"),
        ("これは道の終わりです。", "Japanese"),
        ("这是道路的尽头。", "Han"),
        ("이것은 길의 끝이다.", "Korean"),
        ("هذه نهاية الطريق", "Arabic"),
        ("river engine planet", ""),
        ("", ""),
    ],
)
def test_a_guess_of_the_language(text: str, language: str) -> None:
    assert format_measures([text]).languages == (language,)


def test_repetitions_and_empty_texts() -> None:
    side = corpus_from_texts(["a b", "c d", "a b", " ", "a b", ""], name="side")
    assert excluded_empty(side) == 2
    rng = np.random.default_rng(0)
    assert repeats(side, 100, rng).tolist() == [0, 0, 1, 1, 1, 1]
    assert repeats(side, 3, rng).size == 3


def test_hostile_texts_are_measured() -> None:
    texts = ["\ud800 half", "\x00\x1b[31m\u202e", "", " " * 10_000, "a" * 2_000_000, "!" * 200_000 + "a", "<|" * 50_000]
    texts += ["Ġ" * 10_000, "\n" * 10_000, "'" * 10_000, "\U0010ffff" * 100, "é" * 100_000]
    found = format_measures(texts, ["\ud800"] * len(texts))
    assert len(found.languages) == len(texts)
    for values in found.numbers.values():
        assert values.shape == (len(texts),)
        assert not np.isinf(values).any()
    assert found.numbers["echo"][0] == 1
    assert format_measures([]).numbers["words"].shape == (0,)
