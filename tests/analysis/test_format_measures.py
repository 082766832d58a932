"""Format of single texts: one case made by hand, or several, for each number."""

from __future__ import annotations

import pytest

from mauve_core.analysis.format_measures import format_measures


def number(name: str, text: str, prompt: str = "") -> float:
    return float(format_measures([text], [prompt]).numbers[name][0])


NAN = float("nan")

CASES = [
    ("leading_space", " Hello.", 1),
    ("trailing_space", "Hello.\n", 1),
    ("words", "One, two - three\nfour...", 4),
    ("words", "OneĠtwoĠthree<|endoftext|>", 3),
    ("cut_off", "It ended. ", 0),
    ("cut_off", "(It ended)", 0),
    ("cut_off", "It ended.</s>", 0),
    ("cut_off", "It ended, and", 1),
    ("line_breaks", "\none two\r\n\nthree four five\n", 2 / 5 * 100),
    ("curly_quotes", "“It’s” 'so'", 3 / 5),
    ("upper_case", "ABcd 12", 0.5),
    ("upper_case", "12", NAN),
    ("lower_start", '"and so', 1),
    ("lower_start", "終了", NAN),
    ("lower_start", "<s>And", 0),
    ("non_ascii", "日本 \U00020000 ab", 3 / 5),
    ("non_ascii", "plain — “signs”", 0),
    ("marks", "one , two do n't", 2 / 4 * 100),
    ("marks", "one @-@ two<|endoftext|>", 2 / 2 * 100),
    ("marks", "I <unk> it </s>", 2 / 2 * 100),
    ("marks", "It's one, two; don't.", 0),
]


@pytest.mark.parametrize(("name", "text", "expected"), CASES)
def test_a_case_made_by_hand(name: str, text: str, expected: float) -> None:
    assert number(name, text) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "prompt", "expected"),
    [("Once upon\na  time there", "Once upon a time", 1), ("there was", "Once upon a time", 0), ("Once", " ", NAN)],
)
def test_an_echo(text: str, prompt: str, expected: float) -> None:
    assert number("echo", text, prompt) == pytest.approx(expected, nan_ok=True)
