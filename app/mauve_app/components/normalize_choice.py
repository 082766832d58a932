"""The steps of normalizing that a reader ticks; nothing is ticked unless someone presses."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from mauve_core.corpus.normalizing_steps import MOST_WORDS, STEPS, WORDS, parse_steps

_HELP = (
    "Changes the texts of both sides alike before they are encoded. The run records the steps and how many texts each "
    "changed; its scores cannot be compared with those of other texts."
)
_WORDS_HELP = (
    "Cuts the texts of both sides after this many words; shorter ones stay. With the number suggested, nineteen of "
    "twenty texts of every side have as many."
)


def show(key: str, *, words: int | None = None) -> tuple[str, ...]:
    """Draw the choice under a session key, and return the ticked steps; ``words`` is a suggested length."""
    left, right = st.columns([5, 2], vertical_alignment="bottom")
    left.pills(
        "Normalize both sides",
        [name for name in STEPS if name != WORDS],
        selection_mode="multi",
        format_func=lambda name: STEPS[name].title,
        key=key,
        persist_state="session",
        wrap=True,
        help=_HELP,
    )
    right.number_input(
        "Cut at words",
        1,
        MOST_WORDS,
        None,
        key=_words_key(key),
        persist_state="session",
        placeholder="not cut" if words is None else f"not cut; e.g. {words}",
        help=_WORDS_HELP,
    )
    return ticked(key)


def ticked(key: str) -> tuple[str, ...]:
    """The steps that are ticked under a key, whether they have been drawn or not."""
    words = st.session_state.get(_words_key(key))
    chosen = st.session_state.get(key) or []
    return parse_steps([*chosen, *([] if words is None else [f"{WORDS}:{int(words)}"])])


def tick(key: str, steps: Sequence[str]) -> None:
    """Tick more steps, on a press."""
    chosen = st.session_state.get(key) or []
    st.session_state[key] = [name for name in STEPS if name in chosen or name in steps]


def _words_key(key: str) -> str:
    return f"{key}_words"
