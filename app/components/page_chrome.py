"""How every page looks: its title with the question that it answers, styles, and what the browser does beside."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app.server import access

_KEY, _WEBGL = "face", "face_webgl"
_STYLES = Path(__file__).with_suffix(".css")
_in_browser = st.components.v2.component(
    "mauve_lens_face",
    html="",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
)


def title(name: str, question: str) -> None:
    """The head of a page: one heading, and below it what the page answers."""
    st.title(name, anchor=False)
    st.caption(question)


def styles() -> None:
    """Once a page: what the theme cannot say."""
    st.html(_STYLES)


def in_browser(pointed: str = "", step: str = "", *, seen: bool = False) -> None:
    """Once a page: areas that scroll get into the order of the tab key, and a browser without WebGL says so.

    Parameters
    ----------
    pointed : str
        Key of the element to mark and bring into view; empty for none.
    step : str
        Another one whenever there is something new to point at.
    seen : bool
        Let the browser remember that the tour was offered.
    """
    data = {"pointed": pointed, "step": step, "seen": seen, "webgl": draws_webgl()}
    _in_browser(key=_KEY, data=data, height="content", default={"webgl": True}, on_webgl_change=_remember_webgl)


def draws_webgl() -> bool:
    """Whether the visitor's browser can draw a map with WebGL; true until it has said that it cannot."""
    return bool(st.session_state.get(_WEBGL, True))


def _remember_webgl() -> None:
    st.session_state[_WEBGL] = bool(st.session_state[_KEY]["webgl"])


def nothing_yet(what: str, why: str, how: str) -> None:
    """What stands where a view has no data: what is missing, why one wants it, how it comes. Markdown, all three.

    Texts that come from files must be escaped by the caller. Where nothing may be changed, ``how`` is not said.
    """
    with st.container(border=True, gap="xsmall"):
        st.markdown(f"**{what}**")
        st.markdown(why)
        if access.may_change():
            st.markdown(f":material/arrow_forward: {how}")
