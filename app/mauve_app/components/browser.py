"""Parts of pages that run in the browser: a script, and the styles of what it draws, beside the module that uses it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer


def component(name: str, module: str, html: str = "") -> ComponentRenderer:
    """The component of the ``.js`` file beside ``module``, a path; with ``html`` to draw into, also of its ``.css``."""
    script, styles = (Path(module).with_suffix(suffix) for suffix in (".js", ".css"))
    css = styles.read_text(encoding="utf-8") if html else None
    return st.components.v2.component(name, html=html, css=css, js=script.read_text(encoding="utf-8"))
