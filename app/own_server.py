"""Whether this server is our own (:mod:`app.serve`) or Streamlit's alone, as ``streamlit run app/main.py`` starts one.

That one shows every page, but has no routes of ours and nothing that stands before Streamlit.
"""

from __future__ import annotations

import threading

import streamlit as st

_ours = threading.Event()


def begin() -> None:
    """Said by our own server before it answers, and by whoever shows pages without one."""
    _ours.set()


def is_missing() -> bool:
    """Whether pages are shown by a server without our routes."""
    return not _ours.is_set()


def warn() -> None:
    """Once a page: what its reader must do without, and the command that gives it."""
    if is_missing():
        st.warning(
            "`streamlit run` started this server, so pages do not follow jobs and other tabs until they are reloaded, "
            "runs cannot be exported here, and there is no sign-in and no security header. "
            "Stop it and run `mauve-lens app`.",
            icon=":material/dns:",
        )
