"""From where a request comes: a page of this server, no page at all, or a page of another server.

Cookies know no port, and a browser lets every page open a websocket to this machine: only what the browser says of the
page that asks keeps another server of the same host from acting in a visitor's name. It says it in ``Origin`` (RFC
6454; the Fetch standard) and ``Sec-Fetch-Site`` (W3C Fetch Metadata), which no script can change. Programs that are no
browser send neither, and have no visitor's cookies either.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from starlette.requests import HTTPConnection
from starlette.types import Scope

_OWN_SITES = ("same-origin", "none")
"""``none`` is an address that a person typed or opened from outside the browser."""

_PORTS = {"http": 80, "https": 443}
_PLACE = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:/?#@\\\s]+)(?::([0-9]{1,5}))?", re.IGNORECASE)
_ORIGIN = re.compile(r"(https?)://(.+)", re.IGNORECASE)


class Place(NamedTuple):
    """A host's name in small letters or its address without brackets, and the port where one is written."""

    name: str
    port: int | None


def place_of(written: str) -> Place | None:
    """What a ``Host`` header names; None where it is none."""
    found = _PLACE.fullmatch(written)
    if found is None:
        return None
    return Place(found[1].strip("[]").lower(), None if found[2] is None else int(found[2]))


def scheme_of(connection: HTTPConnection) -> str:
    """``https`` where the browser speaks TLS, with this server or with a proxy that says so; else ``http``.

    The proxy may be anywhere: a page can make no browser send ``X-Forwarded-Proto``.
    """
    said = connection.headers.get("x-forwarded-proto", "").split(",")[0].strip().lower()
    return "https" if {"https", "wss"} & {said, connection.scope.get("scheme", "http")} else "http"


def is_own(origin: str, host: str | None, scheme: str = "http") -> bool:
    """Whether a page of that origin came from the server that is asked as ``host``: same scheme, name and port.

    A proxy may have taken TLS off without a word, so that ``http`` here can be ``https`` outside, on the same port. No
    page without TLS belongs to a server with TLS.
    """
    found = _ORIGIN.fullmatch(origin)
    page, asked = place_of(found[2]) if found else None, place_of(host or "")
    if found is None or page is None or asked is None:
        return False
    spoken = found[1].lower()
    if scheme == "https" and spoken != "https":
        return False
    default = _PORTS[spoken]
    return (page.name, page.port or default) == (asked.name, asked.port or default)


def is_foreign(connection: HTTPConnection) -> bool:
    """Whether a page of another server asks: another host, port or scheme, or one whose origin is hidden (``null``)."""
    headers, scheme = connection.headers, scheme_of(connection)
    if any(site not in _OWN_SITES for site in headers.getlist("sec-fetch-site")):
        return True
    return not all(is_own(origin, headers.get("host"), scheme) for origin in headers.getlist("origin"))


def is_own_form(connection: HTTPConnection) -> bool:
    """Whether a form was sent from a page of this server; a browser says so with each POST."""
    return "origin" in connection.headers and not is_foreign(connection)


def is_link(connection: HTTPConnection) -> bool:
    """Whether a person follows a link to a page, in a tab of its own; the page that has the link sees nothing of it."""
    headers = connection.headers
    followed = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
    return followed and connection.scope.get("method") in ("GET", "HEAD")


def with_plain_origin(scope: Scope) -> Scope:
    """A websocket's scope whose ``Origin`` is written as its ``Host``, where there is one; for own pages alone.

    Streamlit compares the two letter by letter, and where they differ it asks a foreign server for this machine's
    address: ``https://lens.example`` and ``lens.example:443`` are the same.
    """
    connection = HTTPConnection(scope)
    host, origin = connection.headers.get("host", ""), connection.headers.get("origin")
    if origin is None:
        return scope
    headers = [(name, value) for name, value in scope["headers"] if name != b"origin"]
    plain = f"{origin.partition(':')[0].lower()}://{host}"
    return {**scope, "headers": [*headers, (b"origin", plain.encode("latin-1"))]}
