"""The answer in a few sentences: who is closest to the human texts, and a main reason."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import score_controls
from mauve_app.components.markup import escaped
from mauve_app.url.parameters import State
from mauve_core.analysis.sentences import Name, Sentence
from mauve_core.figures.theme import short_name
from mauve_core.store import Run

KEY = "verdict"
_WORD = re.compile(r"\S+")


def show(run: Run, state: State, *, sampled: bool = False) -> None:
    """The first sentence of the run's verdict, cautions on copies and formats and a main reason, for its own settings
    whatever the reader has set; the table of formats stands below it. ``sampled``: the run is a sample of more texts.
    """
    found = cache.verdict_of(run.id)
    shown = [found.few, *found.copied, in_sentences(found.closest)[0], found.encoders, found.format, found.reason]
    changed = score_controls.settings_in_words(state, run.comparison)
    own = "At the run's own settings: " if changed else ""
    sample = "In the sample: " if sampled else ""
    with st.container(key=KEY):
        st.markdown(sample + own + _written(shown))


def show_closest(run: Run) -> None:
    """Who is closest to the human texts, at the run's own settings."""
    found = cache.verdict_of(run.id)
    st.markdown(_written([found.few, *found.copied, in_sentences(found.closest)[0], found.encoders]))


def show_rest(run: Run) -> None:
    """What the verdict says beside that: by how much the first is ahead, and what its gap is like."""
    found = cache.verdict_of(run.id)
    rest = in_sentences(found.closest)[1:]
    if rest:
        ranked = len(run.comparison.candidates) > len(found.copied) + 1
        of = " of the others" if found.copied else ""
        first = (
            f"{_name(found.leaders[0])} has the highest MAUVE{of} at the run's own settings. "
            if ranked and found.leaders
            else ""
        )
        st.caption(f"{first}{_written(rest)}")


def in_markdown(said: Sentence) -> str:
    """A sentence with names in bold and all else escaped."""
    return _written([said])


def in_sentences(sentence: Sentence) -> list[Sentence]:
    """The sentences of which one is made, in order; each is whole, and together they have all of its parts."""
    found: list[list[str]] = [[]]
    before = ""
    for part in sentence.parts:
        opens = not isinstance(part, Name) and part[:1] == " " and part[1:2].isupper()
        if opens and before.endswith("."):
            found.append([])
        before = "" if isinstance(part, Name) else part
        found[-1].append(part if found[-1] or isinstance(part, Name) else part.lstrip())
    return [Sentence(tuple(parts)) for parts in found]


def _written(sentences: Sequence[Sentence | None]) -> str:
    return " ".join(each.written(_name, _words) for each in sentences if each is not None)


def _words(text: str) -> str:
    """Escaped words of a sentence with their white space, also that which keeps a number and its spread together."""
    return _WORD.sub(lambda found: escaped(found[0]), text)


def _name(name: str) -> str:
    return f"**{escaped(short_name(name))}**"
