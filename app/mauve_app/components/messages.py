"""Errors of the core as messages on the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar
from urllib.parse import urlsplit

import streamlit as st

from mauve_app.components.markup import escaped
from mauve_app.server import access
from mauve_core.base import faults
from mauve_core.base.errors import MauveLensError

P = ParamSpec("P")
T = TypeVar("T")

# Key of the message about a fault.
FAULT = "fault"


def or_error(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """What ``read`` returns for the arguments; None if it raises a MauveLensError, which the page then shows."""
    try:
        return read(*args, **kwargs)
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return None


def change(act: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Call ``act``, for example on a click, if the visitor may change things; a toast shows a MauveLensError."""
    try:
        access.require_change()
        act(*args, **kwargs)
    except MauveLensError as error:
        st.toast(escaped(str(error)), icon=":material/error:")


def uncaught(error: Exception) -> bool:
    """Streamlit's handler of what a page, a part of it or a click on it did not catch: say it, and keep a fault for a
    report. True: Streamlit need not say it too.
    """
    told = error if isinstance(error, MauveLensError) else faults.refused_by_system(error)
    if told is not None:
        st.error(escaped(str(told)), icon=":material/error:")
        return True
    page = urlsplit(st.context.url or "").path.rpartition("/")[2]
    faults.remember(error, f"page {page or 'compare'}")
    with st.container(key=FAULT):
        st.error(f"{faults.REPORT}. Reload the page to go on.", icon=":material/bug_report:")
    return True
