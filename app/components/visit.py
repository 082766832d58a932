"""Foot of the sidebar: a link to the current view, and sign-out for visitors who signed in."""

from __future__ import annotations

import streamlit as st

from app.components.browser import component
from app.components.markup import escaped
from app.server.access import Visitor

_bar = component("mauve_lens_visit", __file__, '<div class="visit"></div>')


def show(visitor: Visitor | None) -> None:
    """The buttons; the browser reads the link when it is copied, so that it is up to date."""
    if visitor is not None:
        st.caption(escaped(visitor.name))
    _bar(key="visit", data={"sign_out": visitor is not None})
