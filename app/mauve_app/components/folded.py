"""Parts of a page that are made only when they are open."""

from __future__ import annotations

import streamlit as st
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer


def part(title: str, key: str, icon: str, *, asked: bool) -> ExpanderContainer:
    """A folded part: look at its ``open`` before drawing in it. At first it is open if a link asks for what it has."""
    return st.expander(title, icon=f":material/{icon}:", key=key, expanded=asked, on_change="rerun")
