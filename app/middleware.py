"""What every request to the server passes: the host's name, the sign-in, what read-only forbids, and security headers.

The policy of content lets the page load from this server alone, so that nothing in a corpus can reach out even where
a text came to be interpreted.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import os
import re
import socket
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import access, connections, sign_in
from mauve_core import sharing

OPEN = ("/_stcore/health", sign_in.SIGN_IN, sign_in.SIGN_OUT)
"""What a stranger gets."""

OPEN_TO_PROVIDER = (sign_in.PROVIDER, "/auth/login", "/auth/logout", "/oauth2callback")
"""What a stranger gets as well where OpenID Connect is set up."""

CLOSED = ("/_stcore/agent/", "/_stcore/metrics")
"""What Streamlit offers and nobody here uses."""

UPLOADS = "/_stcore/upload_file/"
_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


class Headers:
    """Adds the security headers to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in security_headers().items():
                    headers[name] = value
            await send(message)

        await self.app(scope, receive, with_headers)


class Gate:
    """Turns away requests under a foreign name, from strangers, and for what is closed."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        refusal = _refusal(HTTPConnection(scope))
        if refusal is None and scope["type"] == "websocket" and access.sign_in().needed:
            await connections.while_signed_in(self.app, scope, receive, send)
        elif refusal is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": connections.CLOSE_CODE})
        else:
            await refusal(scope, receive, send)


@lru_cache(maxsize=1)
def security_headers() -> dict[str, str]:
    """Name and value of each header.

    Streamlit writes styles into the page, loads the scripts of components from blobs and some fonts from data, and
    Plotly compiles what draws its point clouds: hence the exceptions. No script stands in the page but Streamlit's own
    first line, so a text that came to be interpreted brings none along.
    """
    scripts = " ".join(f"'sha256-{_digest(script)}'" for script in _inline_scripts())
    policy = {
        "default-src": "'self'",
        "script-src": f"'self' blob: 'unsafe-eval' {scripts}".strip(),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "media-src": "'self'",
        "connect-src": "'self'",
        "worker-src": "'self' blob:",
        "frame-src": "'none'",
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), serial=()",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def is_known_host(host: str | None) -> bool:
    """Whether a browser that asks under this name may be answered.

    A foreign page can point its own name at this machine and read what answers (DNS rebinding). It can have neither
    the name ``localhost`` nor an address for a name, and where there is a sign-in it has no cookie.
    """
    name = (urlsplit(f"//{host}").hostname or "") if host else ""
    if access.sign_in().needed or name in _host_names():
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1)
def _host_names() -> frozenset[str]:
    given = sharing.listed(os.environ.get(sharing.HOST_NAMES, ""))
    return frozenset(name.lower() for name in ("localhost", socket.gethostname(), *given))


def _refusal(request: HTTPConnection) -> Response | None:
    """The answer instead of what was asked for; None lets the request pass."""
    path, method = request.url.path, request.scope.get("method", "GET")
    try:
        if not is_known_host(request.headers.get("host")):
            return PlainTextResponse("This server does not go by that name.", 421)
    except ValueError:
        return PlainTextResponse("No such host.", 400)
    if path.startswith(CLOSED):
        return PlainTextResponse("Closed.", 404)
    if path.startswith(UPLOADS) and method not in ("GET", "HEAD", "OPTIONS") and not access.may_change():
        return PlainTextResponse(access.READ_ONLY_TEXT, 403)
    how = access.sign_in()
    if not how.needed or path in OPEN or (how.secrets is not None and path in OPEN_TO_PROVIDER):
        return None
    return _refusal_of_visitor(request, path, method)


def _refusal_of_visitor(request: HTTPConnection, path: str, method: str) -> Response | None:
    visitor = access.visitor_of(request.cookies)
    if visitor is None:
        wants_page = method == "GET" and "text/html" in request.headers.get("accept", "")
        query = f"?{request.url.query}" if request.url.query else ""
        return sign_in.page_for_stranger(path + query) if wants_page else PlainTextResponse("Sign in first.", 401)
    if not visitor.allowed:
        return sign_in.page_for_refused(visitor.name)
    if path == "/" and sign_in.NEXT_COOKIE in request.cookies:
        response = RedirectResponse(sign_in.target_of(request.cookies), status_code=303)
        response.delete_cookie(sign_in.NEXT_COOKIE, path="/", httponly=True, samesite="lax")
        return response
    return None


def _inline_scripts() -> list[str]:
    """The scripts that stand in Streamlit's page itself."""
    import streamlit

    page = Path(streamlit.__file__).parent / "static" / "index.html"
    return _INLINE_SCRIPT.findall(page.read_text(encoding="utf-8"))


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
