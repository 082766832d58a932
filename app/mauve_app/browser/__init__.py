"""Parts of pages that run in the browser: scripts, and the styles of what they draw, in the files of this folder."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

FOLDER = Path(__file__).parent


def component(name: str, file: str, html: str = "") -> ComponentRenderer:
    """The component of ``file.js``; with ``html`` to draw into, also of ``file.css``."""
    css = (FOLDER / f"{file}.css").read_text(encoding="utf-8") if html else None
    return st.components.v2.component(name, html=html, css=css, js=(FOLDER / f"{file}.js").read_text(encoding="utf-8"))
