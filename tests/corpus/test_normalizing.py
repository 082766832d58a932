"""Normalizing: what each step does, that a second time changes nothing, that both sides count what changed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import from_json
from mauve_core.texts import Corpus, corpus_from_texts
from mauve_core.texts.normalizing import count_marks, first_words, normalize, without_echo
from mauve_core.texts.normalizing_steps import EMPTIED, STEPS, Change, parse_steps, steps_of, title_of_step

ALL = tuple(f"{name}:3" if name == "words" else name for name in STEPS)
# Parts of which texts are made that come to look like marks only when others are removed.
PIECES = [
    *("a", "b", "é", "e\u0301", " ", "  ", "\n", "\r\n", "\u2028", "\t", "“", "’", '"', "'", "``", "''", ".", "1", "<"),
    *("<s>", "</s>", "<|endoftext|>", "<un", "##k>", " ##k", "Ġ", "Ċ", "▁", " ,", " n't", "@", "@-@", " @,@ "),
    *("-LRB-", "-LSB-", "UNK"),
]


def side(name: str, texts: Sequence[str], prompts: Sequence[str] | None = None) -> Corpus:
    return corpus_from_texts(texts, name=name, prompts=prompts)


def one(text: str, *steps: str, prompt: str = "") -> str:
    """The text after the steps, in a corpus with another text that keeps it from being empty."""
    found = normalize({HUMAN: side("h", [text, "zz"], [prompt, ""])}, steps)[HUMAN]
    return found.texts[0] if found.ids[0] == "1" else ""


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        ("unicode", "Zu\u0308rich", "Zürich"),
        ("token-marks", "one , two do n't", "one, two don't"),
        ("token-marks", "state @-@ of the 1 @,@ 000", "state-of the 1,000"),
        ("token-marks", "one<|endoftext|>", "one"),
        ("token-marks", "one<|endoftext|>two <s> three", "one two three"),
        ("token-marks", "oneĠtwoĊthree", "one two\nthree"),
        ("token-marks", "`` one '' -LRB- two -RRB-", '" one " ( two )'),
        ("token-marks", "It's one, two; don't.", "It's one, two; don't."),
        ("token-marks", "play ##ing", "playing"),
        ("token-marks", "one <un ##k> two", "one two"),
        ("line-breaks", "one \n\n  two\rthree  four", "one two three  four"),
        ("line-breaks", "one\u2028two", "one two"),
        ("quotes", "“It’s «one»,” ‘two’ „three‟", '"It\'s "one"," \'two\' "three"'),
        ("whitespace", "\n  one  two\t\u00a0", "one  two"),
        ("words:2", "one — two, three", "one — two,"),
        ("words:5", " one two ", " one two "),
    ],
)
def test_what_a_step_does(step: str, text: str, expected: str) -> None:
    assert one(text, step) == expected


@pytest.mark.parametrize(
    ("text", "prompt", "expected"),
    [
        ("Once upon a time", "Once upon", " a time"),
        ("  Once\n upon a time", "Once upon ", " a time"),
        ("Once upon a time", "Once upon ", "a time"),
        ("Once upon Once upon a time", "Once upon", " a time"),
        ("Onceupon a time", "Once upon", "Onceupon a time"),
        ("Once upon a time", "upon", "Once upon a time"),
        ("story", "stor", "y"),
        ("one", "", "one"),
        ("one", "  ", "one"),
    ],
)
def test_an_echoed_prompt_is_removed(text: str, prompt: str, expected: str) -> None:
    assert without_echo(text, prompt) == expected


def plain_words(text: str) -> list[str]:
    return [word for word in text.split() if any(sign.isalnum() or sign == "_" for sign in word)]


@given(st.text(alphabet="a1.é— \n_", max_size=40), st.integers(1, 6))
def test_the_first_words_against_counting(text: str, number: int) -> None:
    cut = first_words(text, number)
    assert text.startswith(cut)
    assert plain_words(cut) == plain_words(text)[:number]
    assert cut == text or cut.split()[-1] == plain_words(cut)[-1]


@given(
    st.lists(st.sampled_from(PIECES), max_size=14),
    st.sampled_from(["", "a", "a b", "a "]),
    st.sets(st.sampled_from(ALL)),
)
def test_a_second_time_changes_nothing(pieces: list[str], prompt: str, steps: set[str]) -> None:
    """And no step leaves what it is there to remove."""
    corpora = {HUMAN: side("h", ["".join(pieces) + "zz", "z"], [prompt, ""]), "m": side("m", ["z", "y"])}
    once = normalize(corpora, tuple(steps))
    again = normalize(once, tuple(steps))
    assert [again[name].texts for name in again] == [once[name].texts for name in once]
    assert [again[name].normalized for name in again] == [once[name].normalized for name in once]
    for text, own in zip(once[HUMAN].texts, once[HUMAN].prompts or (), strict=True):
        assert "unicode" not in steps or unicodedata.is_normalized("NFC", text)
        assert "token-marks" not in steps or count_marks(text) == 0
        assert "line-breaks" not in steps or len(text.splitlines()) == 1
        assert "quotes" not in steps or not re.search("[“”„‘’‚«»]", text)
        assert "whitespace" not in steps or text == text.strip()
        assert "words:3" not in steps or len(plain_words(text)) <= 3
        assert "echo" not in steps or not own.strip() or without_echo(text, own) == text


def test_both_sides_count_what_changed() -> None:
    """By hand: two of three and one of four; the last model text is nothing but a prompt, and two become equal."""
    corpora = {
        HUMAN: side("h", [" one", "two\n", "three"], ["p", "q", "r"]),
        "m": side("m", ["one\ntwo", "one two", "q", "four "], ["p", "q", "q", "r"]),
    }
    done = normalize(corpora, ("duplicates", "whitespace", "line-breaks", "echo"))
    assert done[HUMAN].texts == ("one", "two", "three")
    assert done[HUMAN].normalized == (
        Change("echo", 0, 3), Change("line-breaks", 1, 3), Change("whitespace", 2, 3), Change("duplicates", 0, 3)
    )  # fmt: skip
    assert done["m"].texts == ("one two", "four")
    assert done["m"].ids == ("1", "4")
    assert done["m"].prompts == ("p", "r")
    assert done["m"].normalized == (
        Change("echo", 1, 4), Change("line-breaks", 1, 4), Change("whitespace", 1, 4), Change(EMPTIED, 1, 4),
        Change("duplicates", 1, 3),
    )  # fmt: skip
    assert [(each.reason, each.count, each.examples) for each in done["m"].exclusions] == [
        ("empty after normalizing", 1, ("3",)),
        ("repeats an earlier text", 1, ("2",)),
    ]
    assert "Normalized: white space at both ends was removed (changed 2 of 3 texts)." in done[HUMAN].notes
    assert "Normalized: 1 of 4 texts was left out because nothing remained." in done["m"].notes
    assert corpora["m"].texts[0] == "one\ntwo", "what is given stays"


def test_prompts_of_another_side_serve_by_id() -> None:
    corpora = {HUMAN: side("h", ["x", "y"], ["Once", "Then"]), "m": side("m", ["Once x", "Then y"])}
    corpora = {name: replace(corpus, numbered=False) for name, corpus in corpora.items()}
    assert normalize(corpora, ["echo"])["m"].texts == (" x", " y")


def test_earlier_steps_are_applied_again_and_told_once() -> None:
    """A special token at the end hides the white space before it from the first time."""
    first = normalize({HUMAN: side("h", ["one <s>", " two"])}, ["whitespace"])
    second = normalize(first, ["token-marks"])[HUMAN]
    assert second.texts == ("one", "two")
    assert second.normalized == (Change("whitespace", 1, 2), Change("token-marks", 1, 2), Change("whitespace", 1, 2))
    assert steps_of(second.normalized) == ("token-marks", "whitespace")
    third = normalize({HUMAN: second}, ["token-marks"])[HUMAN]
    assert third.normalized == second.normalized
    cut = normalize(normalize({HUMAN: side("h", ["a b c", "d e f"])}, ["words:2"]), ["words:3"])[HUMAN]
    assert cut.texts == ("a b", "d e")
    assert steps_of(cut.normalized) == ("words:2",)


def test_nothing_asked_for_nothing_changed() -> None:
    corpus = side("h", [" one\n", "“two”"])
    found = normalize({HUMAN: corpus}, ())[HUMAN]
    assert (found.texts, found.normalized, found.notes) == (corpus.texts, (), corpus.notes)


def test_a_side_of_which_nothing_remains_is_refused() -> None:
    with pytest.raises(InputError, match="leaves nothing of the texts of 'h'"):
        normalize({HUMAN: side("h", ["<s>", "</s>"])}, ["token-marks"])


@pytest.mark.parametrize(
    "wrong", ["spaces", "words", "words:0", "words:-3", "words:1e3", "quotes:2", "", "words:9999999"]
)
def test_an_unknown_step_is_refused(wrong: str) -> None:
    with pytest.raises(InputError, match=r"cannot be normalized in this way. Allowed: unicode, .*words:N"):
        parse_steps(["quotes", wrong])


def test_steps_have_an_order_and_each_a_title() -> None:
    assert parse_steps(["whitespace", "quotes", "whitespace"]) == ("quotes", "whitespace")
    assert parse_steps(["duplicates", "words:1200", "echo"]) == ("echo", "words:1200", "duplicates")
    assert title_of_step("words:1200") == "length of 1,200 words"
    with pytest.raises(InputError, match="one length only"):
        parse_steps(["words:3", "words:4"])
    with pytest.raises(InputError, match="entry step of the change"):
        from_json(Change, {"step": "\x1b[31m", "count": 1, "of": 2})


def test_what_was_done_is_stored_with_the_texts(tmp_path: Path) -> None:
    corpus = normalize({HUMAN: side("h", [" one", "two two"])}, ["whitespace", "words:1"])[HUMAN]
    corpus.to_parquet(tmp_path / "h.parquet")
    again = Corpus.from_parquet(tmp_path / "h.parquet")
    assert (again.normalized, again.texts) == (corpus.normalized, ("one", "two"))
    assert again.take([1]).normalized == corpus.normalized


@pytest.mark.slow
def test_texts_made_to_take_long_do_not() -> None:
    """A quarter of a million signs that no step may read again from each of them."""
    n = 250_000
    texts = ["@" * n + "-", " " * n + "x", "\n" * n + "x", "a " * n, "<" * n, "`" * n, "“" * n, "x " + "Ġ" * n]
    found = normalize({HUMAN: side("h", texts, ["a"] * len(texts))}, ALL)[HUMAN]
    assert len(found) >= 4
    nested = normalize({HUMAN: side("h", ["1" + "@" * n + "-" + "@" * n + "2"])}, ["token-marks"])[HUMAN]
    assert nested.texts == ("1-2",)
