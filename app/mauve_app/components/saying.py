"""Sentences of a page in the words of the run that it shows: of texts, images or molecules."""

from __future__ import annotations

import streamlit as st

from mauve_app.caching import cache
from mauve_app.url import session
from mauve_core.base.errors import MauveLensError
from mauve_core.base.words import Words
from mauve_core.corpus.kinds import TEXT, Kind, kind_of

# Session key: the kind of the items of the page's run, by name, and who wrote those of the human side.
_OF_RUN = "kind_and_source"


def begin() -> Kind:
    """Call once per run of ``main.py``, before anything is said; returns the kind of the items of the page's run."""
    run_id = cache.opened_run_id(session.open_run())
    try:
        human = None if run_id is None else cache.load_run(run_id).comparison.human
    except MauveLensError:  # the page itself reports the error
        human = None
    st.session_state[_OF_RUN] = (TEXT, "") if human is None else (human.kind, human.source)
    return kind()


def kind() -> Kind:
    """The kind of the items of the page's run, that of texts without one."""
    return kind_of(st.session_state.get(_OF_RUN, (TEXT, ""))[0])


def words() -> Words:
    """What the items of the page's run are called, human texts without one."""
    return kind().words.against(st.session_state.get(_OF_RUN, (TEXT, ""))[1])


def said(sentence: str) -> str:
    """Say of the page's items what a sentence says of texts; names from files are filled in afterwards."""
    return words().said(sentence)
