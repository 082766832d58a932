"""Marked texts: only marks are added, everything else is the text, escaped."""

from __future__ import annotations

import html
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from mauve_core.analysis.text_marks import marked_text


def inner(text: str, *phrases: str) -> str:
    """Between the opening and the closing tag of the box, marks without their style."""
    found = re.fullmatch(r"<div style=\"[^\"<>]*\">(.*)</div>", marked_text(text, phrases), re.DOTALL)
    assert found is not None
    return re.sub(r'<mark style="[^"<>]*">', "<mark>", found.group(1))


def test_phrases_are_found_across_punctuation_and_case() -> None:
    assert inner("In New, York it's cold", "new york") == "In <mark>New, York</mark> it&#x27;s cold"
    assert inner("It's newest york", "new york", "it's") == "<mark>It&#x27;s</mark> newest york"


@settings(deadline=None, max_examples=80)
@given(st.text(alphabet="ab <>&\"'\n*_[]()x\u202eİ", max_size=40), st.sets(st.sampled_from(["a", "a b", "x", "<b"])))
def test_without_its_tags_it_is_the_text(text: str, phrases: set[str]) -> None:
    body = inner(text, *phrases)
    assert html.unescape(re.sub(r"</?mark>", "", body)) == text
    assert not re.search(r"<(?!/?mark>)", body)
