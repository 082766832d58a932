"""Foot of the sidebar: sign-out for visitors who signed in."""

from __future__ import annotations

import streamlit as st

from mauve_app.browser import component
from mauve_app.components.markup import escaped
from mauve_app.server.access import Visitor

_bar = component("mauve_lens_visit", "sign_out", '<div class="visit"></div>')


def show(visitor: Visitor | None) -> None:
    """The visitor's name and the button; nothing where no sign-in is needed."""
    if visitor is not None:
        st.caption(escaped(visitor.name))
        _bar(key="visit")
