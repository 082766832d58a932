"""Whether this server is :mod:`app.server.serve` or plain Streamlit, as ``streamlit run app/main.py`` starts it.

That one shows every page, but has no routes of ours and nothing that stands before Streamlit.
"""

from __future__ import annotations

import threading

import streamlit as st

from app.server import origins

_ours = threading.Event()


def begin() -> None:
    """Said by our own server before it answers, and by whoever shows pages without one."""
    _ours.set()


def is_missing() -> bool:
    """Whether pages are shown by a server without our routes."""
    return not _ours.is_set()


def warn() -> None:
    """Once a page, before anything else: what its reader must do without, and the command that gives it.

    Streamlit lets pages of every port of this machine connect; here they see nothing and find nothing to call.
    """
    if is_missing():
        if not _asked_by_own_page():
            st.error("A page of another server asked for this one.", icon=":material/lock:")
            st.stop()
        st.warning(
            "`streamlit run` started this server, so pages do not follow jobs and other tabs until they are reloaded, "
            "runs cannot be exported here, and there is no sign-in and no security header. "
            "Stop it and run `mauve-lens app`.",
            icon=":material/dns:",
        )


def _asked_by_own_page() -> bool:
    """Whether what connects is a page of this server, or no browser."""
    origin, host = (st.context.headers.get(name) for name in ("Origin", "Host"))
    return origin is None or origins.is_own(origin, host)
