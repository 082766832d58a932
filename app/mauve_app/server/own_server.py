"""Whether this is :mod:`mauve_app.server.serve` or plain Streamlit, which lacks the app's routes and middleware."""

from __future__ import annotations

import threading

import streamlit as st

from mauve_app.server import origins

_ours = threading.Event()


def begin() -> None:
    """Called by the app's own server before it answers, and by code that shows pages without a server."""
    _ours.set()


def is_missing() -> bool:
    """Whether pages come from a server without the app's routes."""
    return not _ours.is_set()


def warn() -> None:
    """Call once per page, first: say what plain Streamlit lacks, and which command starts the app's own server.

    Plain Streamlit accepts pages of every port of this machine; here, they see nothing and find nothing to call.
    """
    if is_missing():
        if not _is_from_own_page():
            st.error("A page of another server requested this one.", icon=":material/lock:")
            st.stop()
        st.warning(
            "`streamlit run` started this server, so pages show changes by jobs and other tabs only when reloaded, "
            "runs cannot be exported here, and there is no sign-in and no security header. Stop it and run "
            "`mauve-lens app`.",
            icon=":material/dns:",
        )


def _is_from_own_page() -> bool:
    """Whether the client is a page of this server, or no browser."""
    origin, host = (st.context.headers.get(name) for name in ("Origin", "Host"))
    return origin is None or origins.is_own(origin, host)
