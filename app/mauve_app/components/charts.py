"""Figures with their data as CSV and an image in the format that the reader chose."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from mauve_app.url import session
from mauve_core.figures.draw import enlarged
from mauve_core.figures.theme import mode_bar
from mauve_core.reporting.spreadsheets import csv_bytes

_IMAGE_FORMAT = "image_format"
# Size of what is drawn on a slide, by that on a page.
_ON_SLIDES = 1.3


def image_format_picker() -> None:
    """Sidebar picker of the image format that every figure's camera button uses."""
    st.segmented_control(
        "Save figures as",
        ["PNG", "SVG"],
        default="PNG",
        required=True,
        key=_IMAGE_FORMAT,
        persist_state="session",
        help="Used by the camera button that appears over every figure.",
    )


def show_chart(figure: go.Figure, *, key: str, file_name: str, selecting: bool = False, **options: Any) -> Any:
    """Draw ``figure``; ``options`` go to ``st.plotly_chart`` (on_select, selection_mode, alt)."""
    image_format = str(st.session_state.get(_IMAGE_FORMAT) or "PNG").lower()
    config = mode_bar(safe_file_name(file_name), image_format, selecting=selecting)
    if session.current().on_slide:
        figure = enlarged(figure, _ON_SLIDES)
    return st.plotly_chart(figure, key=key, theme="streamlit", config=config, **options)


def csv_button(make: Callable[[], pd.DataFrame], *, key: str, file_name: str, label: str = "CSV") -> None:
    """A button that saves the frame that ``make`` returns; ``make`` runs only when it is pressed."""
    st.download_button(
        label,
        lambda: csv_bytes(make()),
        file_name=f"{safe_file_name(file_name)}.csv",
        mime="text/csv",
        key=key,
        icon=":material/download:",
        on_click="ignore",
        type="tertiary",
        help="Save the data of this figure",
    )


def safe_file_name(text: str) -> str:
    """Replace everything but letters, digits, dots and dashes with a dash."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.") or "mauve-lens"
