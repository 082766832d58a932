"""Where a request comes from: a page of this server, no page at all, or a page of another server.

Cookies ignore ports, and a browser lets every page open a websocket to this machine. Only the browser's own statement
about the requesting page keeps another server on the same host from acting in a visitor's name: the headers ``Origin``
(RFC 6454; the Fetch standard) and ``Sec-Fetch-Site`` (W3C Fetch Metadata), which no script can change. Programs other
than browsers send neither, and have no visitor's cookies either.

Plain Streamlit checks none of that and lacks the app's routes; pages that it serves say so.
"""

from __future__ import annotations

import re
import threading
from typing import NamedTuple

import streamlit as st
from starlette.requests import HTTPConnection
from starlette.types import Scope

# ``none`` means an address that a person typed or opened from outside the browser.
_OWN_SITES = ("same-origin", "none")

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:/?#@\\\s]+)(?::([0-9]{1,5}))?", re.IGNORECASE)
_ORIGIN = re.compile(r"(https?)://(.+)", re.IGNORECASE)


class Host(NamedTuple):
    """A host name in lower case or an address without brackets, and the port if one is given."""

    name: str
    port: int | None


def host_of(written: str) -> Host | None:
    """The host that a ``Host`` header names; None if it is malformed."""
    match = _HOST.fullmatch(written)
    if match is None:
        return None
    return Host(match[1].strip("[]").lower(), None if match[2] is None else int(match[2]))


def scheme_of(connection: HTTPConnection) -> str:
    """``https`` if the browser speaks TLS with this server, or with a proxy that says so; else ``http``.

    The proxy may be anywhere, because no page can make a browser send ``X-Forwarded-Proto``.
    """
    forwarded = connection.headers.get("x-forwarded-proto", "").split(",")[0].strip().lower()
    return "https" if {"https", "wss"} & {forwarded, connection.scope.get("scheme", "http")} else "http"


def is_own(origin: str, host: str | None, scheme: str = "http") -> bool:
    """Whether a page of that origin came from the server requested as ``host``: same scheme, name and port.

    A proxy may remove TLS silently: ``http`` here can be ``https`` outside, on the same port, but never the reverse.
    """
    match = _ORIGIN.fullmatch(origin)
    page, requested = host_of(match[2]) if match else None, host_of(host or "")
    if match is None or page is None or requested is None:
        return False
    spoken = match[1].lower()
    if scheme == "https" and spoken != "https":
        return False
    default = _PORTS[spoken]
    return (page.name, page.port or default) == (requested.name, requested.port or default)


def is_foreign(connection: HTTPConnection) -> bool:
    """Whether the request is from a foreign page: another host, port or scheme, or a hidden origin (``null``)."""
    headers, scheme = connection.headers, scheme_of(connection)
    if any(site not in _OWN_SITES for site in headers.getlist("sec-fetch-site")):
        return True
    return not all(is_own(origin, headers.get("host"), scheme) for origin in headers.getlist("origin"))


def is_own_form(connection: HTTPConnection) -> bool:
    """Whether a form was sent from a page of this server; browsers say so with each POST."""
    return "origin" in connection.headers and not is_foreign(connection)


def is_link(connection: HTTPConnection) -> bool:
    """Whether a person follows a link in its own tab; the linking page cannot see the result."""
    headers = connection.headers
    followed = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
    return followed and connection.scope.get("method") in ("GET", "HEAD")


def with_plain_origin(scope: Scope) -> Scope:
    """A websocket's scope with its ``Origin``, if any, written like its ``Host``; for the app's own pages only.

    Streamlit compares the two letter by letter, and ``https://lens.example`` and ``lens.example:443`` are the same. On
    a mismatch, Streamlit asks a foreign server for this machine's address.
    """
    connection = HTTPConnection(scope)
    host, origin = connection.headers.get("host", ""), connection.headers.get("origin")
    if origin is None:
        return scope
    headers = [(name, value) for name, value in scope["headers"] if name != b"origin"]
    plain = f"{origin.partition(':')[0].lower()}://{host}"
    return {**scope, "headers": [*headers, (b"origin", plain.encode("latin-1"))]}


_own_server = threading.Event()


def begin_own_server() -> None:
    """Called by the app's own server before it answers, and by code that shows pages without a server."""
    _own_server.set()


def is_plain_streamlit() -> bool:
    """Whether pages come from a server without the app's routes."""
    return not _own_server.is_set()


def warn_of_plain_streamlit() -> None:
    """Call once per page, first: say what plain Streamlit lacks, and which command starts the app's own server.

    Plain Streamlit accepts pages of every port of this machine; here, they see nothing and find nothing to call.
    """
    if is_plain_streamlit():
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
    return origin is None or is_own(origin, host)
