"""Search all texts of a run."""

from __future__ import annotations

import re
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.analyses.selection import TextSearch, excerpt, found_texts, shares_found, spans
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.findings.clusters import wilson_interval
from mauve_core.texts import Corpus, corpus_from_texts

TEXTS = [
    "Heavy rain fell on the old town.",
    "The train's late; RAIN again.",
    "Rain's coming, and snow.",
    "A heavy\n  rain-coat, raining all day",
    "大雨が降った。",
    "It's C++ (not C).",
]


def corpus(texts: list[str], name: str = HUMAN, **metadata: list[object]) -> Corpus:
    made = corpus_from_texts(texts, name=name)
    return Corpus(made.name, made.texts, made.ids, None, pd.DataFrame(metadata, index=range(len(texts))))


def rows(search: TextSearch, texts: list[str] = TEXTS) -> list[int]:
    return np.flatnonzero(found_texts({HUMAN: corpus(texts)}, search)[HUMAN]).tolist()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [0, 1, 2, 3, 4, 5]),
        ("   ", [0, 1, 2, 3, 4, 5]),
        ("rain", [0, 1, 2, 3]),
        ("RAIN", [0, 1, 2, 3]),
        ("rain*", [0, 1, 2, 3]),
        ("raining", [3]),
        ("rainin*", [3]),
        ("tra", []),
        ("tra*", [1]),
        ("heavy rain", [0, 3]),
        ("rain heavy", [0, 3]),
        ('"heavy rain"', [0, 3]),
        ('"rain heavy"', []),
        ('"heavy rain', [0, 3]),
        ("rain -snow", [0, 1, 3]),
        ('rain -"heavy rain"', [1, 2]),
        ("-rain", [4, 5]),
        ("雨", [4]),
        ("c++", [5]),
        ("(not", [5]),
        ("*", []),
        (".", [0, 1, 2, 5]),
        ('""', [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_query_of_words_finds(query: str, expected: list[int]) -> None:
    assert rows(TextSearch(query)) == expected


def test_a_regular_expression_distinguishes_case_and_has_look_around() -> None:
    assert rows(TextSearch(r"\bRAIN\b", as_pattern=True)) == [1]
    assert rows(TextSearch(r"(?i)(?<!heavy )rain\b", as_pattern=True)) == [1, 2, 3]
    assert rows(TextSearch("", as_pattern=True)) == list(range(len(TEXTS)))


@pytest.mark.parametrize("pattern", ["(", "a{1000}{1000}", "x" * 1001, "(?P<1>a)"])
def test_an_invalid_expression_is_refused_with_its_reason(pattern: str) -> None:
    with pytest.raises(InputError, match="pattern"):
        rows(TextSearch(pattern, as_pattern=True))


@pytest.mark.slow
def test_an_expression_that_backtracks_without_end_is_stopped() -> None:
    started = time.monotonic()
    with pytest.raises(InputError, match=r"longer than 0\.2 seconds"):
        found_texts({HUMAN: corpus(["a" * 5000 + "!"])}, TextSearch("(a|a)*$", as_pattern=True), seconds=0.2)
    with pytest.raises(InputError, match=r"longer than 0\.2 seconds"):
        spans("a" * 5000 + "!", TextSearch("(a|a)*$", as_pattern=True), seconds=0.2)
    assert time.monotonic() - started < 20


@pytest.mark.slow
def test_the_time_is_that_of_all_texts_together() -> None:
    many = corpus(["a" * 24 + "!" for _ in range(2000)])
    with pytest.raises(InputError, match="one source"):
        found_texts({HUMAN: many}, TextSearch("(a|a)*$", as_pattern=True), seconds=0.3)


def test_words_have_a_limit_too_and_say_so() -> None:
    with pytest.raises(InputError, match="fewer words, or choose one source"):
        found_texts({HUMAN: corpus(["a b"])}, TextSearch("a b"), seconds=0.0)


def test_source_length_and_metadata_narrow_it_down_together() -> None:
    human = corpus(["one two", "one two three", "one"], topic=["x", None, "x"])
    model = corpus(["one two", "four"], "model", other=["x", "y"])
    both = {HUMAN: human, "model": model}

    def found(search: TextSearch) -> list[list[int]]:
        return [np.flatnonzero(mask).tolist() for mask in found_texts(both, search).values()]

    assert found(TextSearch()) == [[0, 1, 2], [0, 1]]
    assert found(TextSearch(source="model")) == [[], [0, 1]]
    assert found(TextSearch(shortest=2)) == [[0, 1], [0]]
    assert found(TextSearch(longest=2)) == [[0, 2], [0, 1]]
    assert found(TextSearch(shortest=2, longest=2)) == [[0], [0]]
    assert found(TextSearch(field="topic", value="x")) == [[0, 2], []]
    assert found(TextSearch(field="topic", value="(missing)")) == [[1], []]
    assert found(TextSearch("one", shortest=2, field="topic", value="x")) == [[0], []]
    assert not TextSearch(as_pattern=True).asks
    assert TextSearch("one").asks
    assert TextSearch(longest=3).asks


def test_shares_have_wilson_s_interval_and_leave_out_what_was_not_searched() -> None:
    both = {HUMAN: corpus(["a b", "b", "a"]), "model": corpus(["a", "c"], "model")}
    found = found_texts(both, TextSearch("a"))
    shares = shares_found(found, TextSearch("a"))
    assert [(each.source, each.found, each.n) for each in shares] == [(HUMAN, 2, 3), ("model", 1, 2)]
    low, high = wilson_interval([2, 1], [3, 2])
    assert [(each.low, each.share, each.high) for each in shares] == [(low[0], 2 / 3, high[0]), (low[1], 0.5, high[1])]
    only = TextSearch("a", source="model")
    assert [each.source for each in shares_found(found_texts(both, only), only)] == ["model"]


def test_places_are_those_of_wanted_terms_and_excerpts_stand_around_the_first() -> None:
    text = TEXTS[3]
    assert [text[start:end] for start, end in spans(text, TextSearch('"heavy rain" day -snow'))] == [
        "heavy\n  rain",
        "day",
    ]
    assert spans(text, TextSearch("x*", as_pattern=True)) == []
    places = spans(text, TextSearch("rain"))
    assert excerpt(text, places, 6, 6) == "…avy rain-coat,…"
    assert excerpt(text, places, 100, 100) == "A heavy rain-coat, raining all day"
    assert excerpt("one\ntwo three", [], 5, 7) == "one two…"


@given(st.lists(st.text(max_size=20), min_size=1, max_size=6), st.text(max_size=15))
def test_a_word_is_found_exactly_where_a_plain_search_finds_it(texts: list[str], query: str) -> None:
    """Against a plain twin for single words of letters: the word between characters that are no letters."""
    word = "".join(re.findall(r"[A-Za-z]", query)) or "a"
    texts = [f"{text} {word.upper() if number % 2 else text} x" for number, text in enumerate(texts)]
    expected = [
        number for number, text in enumerate(texts) if word.lower() in re.split(r"\W+", text.lower().replace("İ", "I"))
    ]
    ascii_only = [number for number, text in enumerate(texts) if text.isascii()]
    assert [number for number in rows(TextSearch(word), texts) if number in ascii_only] == [
        number for number in expected if number in ascii_only
    ]


@given(st.text(max_size=60), st.text(max_size=30))
def test_whatever_is_typed_is_searched_for_and_its_places_lie_in_the_text(text: str, query: str) -> None:
    search = TextSearch(query)
    found = rows(search, [text + "."])
    places = spans(text + ".", search)
    assert all(0 <= start < end <= len(text) + 1 for start, end in places)
    if found and places == []:
        assert not any(char.isalnum() for char in query) or "-" in query
