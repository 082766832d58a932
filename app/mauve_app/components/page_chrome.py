"""Common parts of every page: title with the question it answers, styles, browser-side behavior, folded parts (made
only when they are open), and what the items of the page's run are called: texts, images or molecules.
"""

from __future__ import annotations

from typing import NoReturn

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from mauve_app import cache
from mauve_app.browser import FOLDER, component
from mauve_app.server import access
from mauve_app.url import session
from mauve_core.base.config import TEXT
from mauve_core.base.errors import MauveLensError
from mauve_core.base.words import Words
from mauve_core.runs import Run
from mauve_core.texts.kinds import Kind, kind_of

_KEY, _WEBGL = "face", "face_webgl"
_STYLES = FOLDER / "page_chrome.css"
_in_browser = component("mauve_lens_face", "page_chrome")


class EndOfPageError(Exception):
    """A page has nothing more to show; the frame around it goes on."""


def end() -> NoReturn:
    """End the page here, unlike ``st.stop``, which would end the frame around it as well."""
    raise EndOfPageError


def require_words(run: Run) -> None:
    """End the page with a sentence if the run compares items that are not texts, about which the page says nothing."""
    comparison = run.comparison
    if not comparison.has_words:
        items = comparison.words.items
        pages = ["Compare", "Measures", "Findings", "Clusters", "Gap", "Map", items.capitalize()]
        pages += ["Probes"] if kind_of(comparison.human.kind).probes else []
        others = f"{', '.join(pages[:-1])} and {pages[-1]}"
        st.info(
            f"This page is about texts, and this run compares {items}. {others} show them.",
            icon=":material/image:",
        )
        end()


def head(name: str, question: str) -> DeltaGenerator:
    """The head of a page in one row: its heading, with the question that the page answers as help; what is drawn in the
    container follows the heading.
    """
    row = st.container(horizontal=True, vertical_alignment="center", key="head")
    row.title(name, anchor=False, help=question, width="stretch")
    return row


def styles() -> None:
    """Call once per page: styles that the theme cannot express."""
    st.html(_STYLES)


def in_browser(pointed: str = "", step: str = "", *, seen: bool = False, run: str = "") -> None:
    """Call once per page: adds scrolling areas to the tab order and reports a browser without WebGL.

    Parameters
    ----------
    pointed : str
        Key of the element to mark and bring into view; empty for none.
    step : str
        Changes whenever there is something new to point at.
    seen : bool
        Let the browser remember that the tour was offered.
    run : str
        Id of a stored run for the browser to remember as the last one (``cache.LAST_RUN``); empty keeps what it has.
    """
    data = {"pointed": pointed, "step": step, "seen": seen, "run": run, "webgl": draws_webgl()}
    _in_browser(
        key=_KEY,
        data=data,
        height="content",
        default={"webgl": True},
        on_webgl_change=_remember_webgl,
    )


def draws_webgl() -> bool:
    """Whether the visitor's browser can draw a WebGL map; true until it reports otherwise."""
    return bool(st.session_state.get(_WEBGL, True))


def _remember_webgl() -> None:
    st.session_state[_WEBGL] = bool(st.session_state[_KEY]["webgl"])


def nothing_yet(what: str, why: str, how: str) -> None:
    """Placeholder of a view without data: what is missing, why it is useful, and how to get it, all in Markdown.

    Callers must escape texts from files. A read-only app does not show ``how``.
    """
    with st.container(border=True, gap="xsmall"):
        st.markdown(f"**{what}**")
        st.markdown(why)
        if access.may_change():
            st.markdown(f":material/arrow_forward: {how}")


def expander(title: str, key: str, icon: str, *, asked: bool) -> ExpanderContainer:
    """A folded part: look at its ``open`` before drawing in it. At first it is open if a link asks for what it has."""
    return st.expander(title, icon=f":material/{icon}:", key=key, expanded=asked, on_change="rerun")


# Session key: the kind of the items of the page's run, by name, and who wrote those of the human side.
_OF_RUN = "kind_and_source"


def begin_words() -> Kind:
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
