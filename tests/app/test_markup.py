"""Names from files in Markdown: nothing of them acts, and none reorders the words beside it."""

from __future__ import annotations

import re
import unicodedata

import pytest

from mauve_app.components.markup import escaped
from tests.payloads import PAYLOADS, plain

# What Streamlit 1.67 makes links, icons and signs of when it has read the Markdown and taken its escapes away.
TAKEN = (
    r"(?i)(https?://|www(?=\.))[-.\w]+",
    r"(?<![-.\w+])[-.\w+]+@[-\w]+(\.[-\w]+)*\.[-\w]*[^-\W\d_](?![-.\w])",
    r":[\w+-]+:",
    r"(?<!\S)(<->|->|<-|--|>=|<=|~=)(?!\S)",
)

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


@pytest.mark.parametrize("key", PAYLOADS)
def test_nothing_of_a_payload_is_taken_for_something_else(key: str) -> None:
    shown = escaped(PAYLOADS[key])
    assert not re.search(r"(?<!\\)[!-/:-@\[\]-`{-~]", shown.replace("\\\\", ""))
    read = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", shown)
    assert [taken for taken in TAKEN if re.search(taken, read)] == []
    assert plain(read) == plain(PAYLOADS[key])


@pytest.mark.parametrize("name", ["nucleus:p=0.95", "contrastive:alpha=0.6,k=5", "typos@0.5", "p>=2", "3:1", "http:x"])
def test_usual_names_get_nothing_unseen(name: str) -> None:
    assert escaped(name).replace("\\", "") == name
