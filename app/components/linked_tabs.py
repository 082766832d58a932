"""Tabs of which the URL says which one is open, so that a link shows the same one. Only that one shall be made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import streamlit as st
from streamlit.elements.lib.mutable_tab_container import TabContainer

from app.url import session

Name = TypeVar("Name", bound=str)


def show(field: str, titles: Mapping[Name, str], key: str) -> Sequence[TabContainer]:
    """The tabs in the order of ``titles``; to open one reruns the page, or the fragment in which they stand.

    Parameters
    ----------
    field : str
        Field of :class:`app.url.state.State` that holds the open one, a key of ``titles``.
    key : str
        Of the tabs in the session.
    """
    opened = titles[getattr(session.current(), field)]
    return st.tabs(list(titles.values()), default=opened, key=key, on_change=_write, args=(field, titles, key))


def _write(field: str, titles: Mapping[Name, str], key: str) -> None:
    session.update(**{field: next(name for name, title in titles.items() if title == st.session_state[key])})
