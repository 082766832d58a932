"""Foot of the sidebar: a link to the current view, and sign-out for visitors who signed in."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app.components.markup import escaped
from app.server.access import Visitor

_HERE = Path(__file__)
_bar = st.components.v2.component(
    "mauve_lens_visit",
    html='<div class="visit"></div>',
    css=_HERE.with_suffix(".css").read_text(encoding="utf-8"),
    js=_HERE.with_suffix(".js").read_text(encoding="utf-8"),
)


def show(visitor: Visitor | None) -> None:
    """The buttons; the browser reads the link when it is copied, so that it is up to date."""
    if visitor is not None:
        st.caption(escaped(visitor.name))
    _bar(key="visit", data={"sign_out": visitor is not None})
