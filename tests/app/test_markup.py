"""Names from files in Markdown: nothing of them acts, and none reorders the words beside it."""

from __future__ import annotations

import unicodedata

import pytest

from app.components.markup import escaped

ISOLATE, END = "\u2068", "\u2069"


def test_what_markdown_acts_on_is_made_plain() -> None:
    assert escaped("*b* [x](y)\n<i>") == r"\*b\* \[x\]\(y\) \<i\>"
    assert escaped("größer 大") == "größer 大"


@pytest.mark.parametrize("name", ["أ", "nucleus עברית", "\u202eמ\u2069\u202e"])
def test_a_name_from_right_to_left_stands_alone(name: str) -> None:
    shown = escaped(name)
    assert shown.startswith(ISOLATE)
    assert shown.endswith(END)
    inside = {unicodedata.bidirectional(letter) for letter in shown[1:-1]}
    assert inside <= {"L", "R", "AL", "WS"}  # nothing in it could end the isolation


def test_characters_that_steer_directions_are_left_out() -> None:
    assert escaped("a\u202egniht\u2066 b") == "agniht b"
