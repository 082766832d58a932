"""Marked texts: only marks are added, everything else is the text, escaped."""

from __future__ import annotations

import html
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from mauve_core.findings.distinctive_words import distinctive_phrases
from mauve_core.findings.marked_texts import marked_text, repeated_spans


def inner(text: str, *phrases: str) -> str:
    """Between the opening and the closing tag of the box, marks without their style."""
    found = re.fullmatch(r"<div style=\"[^\"<>]*\">(.*)</div>", marked_text(text, phrases), re.DOTALL)
    assert found is not None
    return re.sub(r'<mark style="[^"<>]*">', "<mark>", found.group(1))


def test_phrases_are_found_across_punctuation_and_case() -> None:
    assert inner("In New, York it's cold", "new york") == "In <mark>New, York</mark> it&#x27;s cold"
    assert inner("It's newest york", "new york", "it's") == "<mark>It&#x27;s</mark> newest york"


def test_words_of_repeated_4_grams_are_lined() -> None:
    text = "a b c d x a b c d"
    assert [text[start:end] for start, end in repeated_spans(text)] == ["a b c d", "a b c d"]
    assert inner(text) == "<mark>a b c d</mark> x <mark>a b c d</mark>"
    assert "wavy" in marked_text(text, [])
    assert "wavy" not in marked_text("a b c d x", ["a"])
    assert repeated_spans("one two three") == []


def test_a_phrase_in_a_repetition_has_both() -> None:
    shown = marked_text("a b c d x a b c d", ["b c"])
    assert inner("a b c d x a b c d", "b c").count("<mark>") == 6
    assert re.search(r'<mark style="[^"]*background:rgba[^"]*wavy[^"]*">b c</mark>', shown)


@settings(deadline=None, max_examples=80)
@given(st.text(alphabet="ab <>&\"'\n*_[]()x\u202eİ", max_size=40), st.sets(st.sampled_from(["a", "a b", "x", "<b"])))
def test_without_its_tags_it_is_the_text(text: str, phrases: set[str]) -> None:
    body = inner(text, *phrases)
    assert html.unescape(re.sub(r"</?mark>", "", body)) == text
    assert not re.search(r"<(?!/?mark>)", body)


def test_every_distinctive_phrase_is_found_in_its_texts() -> None:
    first = ["the dog's tail wags, it's New York", "a dog's tail; they don't stop"] * 10
    found, _ = distinctive_phrases(first, ["something else entirely"] * 20)
    assert found
    assert all(any("<mark>" in inner(text, phrase.text) for text in first) for phrase in found)
