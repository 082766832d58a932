"""Marked differences: nothing of a text is lost, nothing of it is HTML, and only what differs is marked."""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from mauve_core.findings.marked_texts import MOST_WORDS, marked

TAGS = re.compile(r"</?(?:div|del|ins)(?: style=\"[^\"]*\")?>")

texts = st.text(st.sampled_from(list("ab<>&\"' .,\n-é")), max_size=60)


def plain(markup: str) -> str:
    """What a reader sees."""
    return html.unescape(TAGS.sub("", markup))


def inside(markup: str, tag: str) -> list[str]:
    return [html.unescape(part) for part in re.findall(rf"<{tag} [^>]*>(.*?)</{tag}>", markup, re.DOTALL)]


@given(texts, texts)
def test_both_texts_are_there_letter_for_letter_and_escaped(before: str, after: str) -> None:
    found = marked(before, after)
    assert plain(found.before) == before
    assert plain(found.after) == after
    for markup in (found.before, found.after):
        assert not re.search(r"[<>]", TAGS.sub("", markup))


@given(texts, texts)
def test_what_is_not_marked_is_the_same_on_both_sides(before: str, after: str) -> None:
    found = marked(before, after)
    kept = [re.sub(rf"<{tag} [^>]*>.*?</{tag}>", "", side, flags=re.DOTALL) for tag, side in
            (("del", found.before), ("ins", found.after))]  # fmt: skip
    assert plain(kept[0]).split() == plain(kept[1]).split() or "".join(plain(kept[0]).split()) == "".join(
        plain(kept[1]).split()
    )
    assert "<ins" not in found.before
    assert "<del" not in found.after


@given(texts)
def test_equal_texts_have_no_marks(text: str) -> None:
    found = marked(text, text)
    assert "<del" not in found.before
    assert "<ins" not in found.after


def test_neighbours_share_a_mark_and_marks_stand_without_white_space() -> None:
    found = marked("See the old <cat>, please.", "See cat, thank you.")
    assert inside(found.before, "del") == ["the old <", ">", "please"]
    assert inside(found.after, "ins") == ["thank you"]


def test_a_script_in_a_text_is_text() -> None:
    found = marked("<script>alert(1)</script>", "<img src=x onerror=alert(1)>")
    for markup in (found.before, found.after):
        assert "<script" not in markup
        assert "<img" not in markup


def test_white_space_alone_is_no_difference() -> None:
    found = marked("one  two\n", "one two")
    assert "<del" not in found.before + found.after


def test_long_texts_are_shown_without_marks() -> None:
    long = "word " * (MOST_WORDS + 1)
    found = marked(long, "<b>")
    assert not found.compared
    assert plain(found.before) == long
    assert plain(found.after) == "<b>"
    assert marked("word " * (MOST_WORDS - 1), "x").compared
