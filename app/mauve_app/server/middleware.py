"""Checks of every request (host name, requesting page, sign-in, read-only limits, health) and headers of responses.

The content security policy lets pages load from this server only, so that no interpreted text can reach out. A health
check says whether the server can work, beyond being up: proxies and browsers ask ``/_stcore/health``.

Scripts of Streamlit that a page asks for only when it draws a chart are named in the page's own response. The browser
then fetches and compiles them while it runs Streamlit's first script, not after it. A page that opens without a chart
is not kept waiting for Plotly: the browser fetches that when it has nothing else to do.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import logging
import os
import re
import socket
import threading
from contextlib import ExitStack
from functools import lru_cache, partial
from pathlib import Path
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mauve_app.components import live_updates
from mauve_app.server import access, connections, origins, run_files, sign_in
from mauve_core.base import sharing
from mauve_core.base.errors import StorageError
from mauve_core.base.files import home

HEALTH = "/_stcore/health"

# Additional files that it must be able to open: a page reads the run index and a run's parts at a time.
DESCRIPTORS_NEEDED = 16

# Keeps simultaneous checks from using up the descriptors that they check for.
_ONE_AT_A_TIME = threading.Lock()


def trouble_opening_files() -> str:
    """What keeps the server from opening files in its home folder; empty if nothing does."""
    try:
        with _ONE_AT_A_TIME, ExitStack() as opened:
            folder = home()
            for _ in range(DESCRIPTORS_NEEDED):
                opened.callback(os.close, os.open(folder, os.O_RDONLY))
    except (OSError, StorageError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        return f"The server cannot open its files: {getattr(cause, 'strerror', None) or 'the home folder is missing'}"
    return ""


DRAWING = "PlotlyChart"
# Names of the scripts, before the digest of their contents.
WANTED = (DRAWING, "arrowFormatUtils", "BidiComponent", "Selectbox")

# Pages that open without a chart.
WITHOUT_CHARTS = ("texts", "judge", "runs", "new_run")


@lru_cache(maxsize=2)
def preload_header(charts: bool) -> str:
    """The ``Link`` header of a page with or without charts; empty if this Streamlit has no script of these names."""
    import streamlit

    return preload_header_of(Path(streamlit.__file__).parent / "static", charts=charts)


def opens_with_charts(path: str) -> bool:
    return path.strip("/") not in WITHOUT_CHARTS


def preload_header_of(static: Path, *, charts: bool) -> str:
    """The header for the scripts in a folder that is served as ``/static/``'s parent."""
    links = []
    for name in WANTED:
        relation = "modulepreload" if charts or name != DRAWING else "prefetch"
        for path in sorted(static.glob(f"static/js/{name}.*.js")):
            links.append(f"</{path.relative_to(static).as_posix()}>; rel={relation}")
    return ", ".join(links)


# Paths open to strangers.
OPEN = (HEALTH, sign_in.SIGN_IN, sign_in.SIGN_OUT)

# Paths also open to strangers if OpenID Connect is set up.
OPEN_TO_PROVIDER = (sign_in.PROVIDER, "/auth/login", sign_in.PROVIDER_SIGN_OUT, "/oauth2callback")

# Paths that no link on a foreign page may lead to: only the app's pages, or programs, request these.
NO_PAGES = (
    "/_stcore/",
    "/media/",
    "/component/",
    "/static/",
    run_files.EXPORT,
    run_files.THUMBNAILS,
    live_updates.NEWS,
    live_updates.PROGRESS,
    sign_in.PROVIDER_SIGN_OUT,
)

# Unused Streamlit endpoints.
CLOSED = ("/_stcore/agent/", "/_stcore/metrics")

UPLOADS = "/_stcore/upload_file/"
FOREIGN = (
    "A page of another server requested this. A proxy in front of this server must pass on the Host header unchanged."
)
_LOG = logging.getLogger(__name__)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


class Headers:
    """Adds the security headers to every response, removes those that open it to foreign pages (CORS), and names the
    scripts that pages need next.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name in [name for name in headers if name.startswith("access-control-")]:
                    del headers[name]
                for name, value in security_headers().items():
                    headers[name] = value
                preloads = preload_header(opens_with_charts(scope["path"]))
                if headers.get("content-type", "").startswith("text/html") and preloads:
                    headers["Link"] = preloads
            await send(message)

        await self.app(scope, receive, with_headers)


class Gate:
    """Rejects requests under a foreign name, from foreign pages, from strangers, and for closed paths."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        refusal = _refusal(connection)
        if refusal is None and scope["type"] == "websocket":
            own = origins.with_plain_origin(scope)
            serve = connections.while_signed_in if access.sign_in().needed else _unchanged
            await serve(partial(connections.readable, self.app), own, receive, send)
        elif refusal is None:
            await (await _unhealthy(scope) or self.app)(scope, receive, send)
        elif scope["type"] == "websocket":
            if origins.is_foreign(connection):
                named = {name: connection.headers.get(name, "")[:100] for name in ("origin", "host")}
                _LOG.warning("%s %s", FOREIGN, named)
            await send({"type": "websocket.close", "code": connections.POLICY_VIOLATION})
        else:
            await refusal(scope, receive, send)


@lru_cache(maxsize=1)
def security_headers() -> dict[str, str]:
    """Name and value of each header.

    The exceptions have reasons: Streamlit writes styles into the page and loads scripts of components from blobs and
    some fonts from data URLs, and Plotly compiles the drawing code of point clouds. The only inline script allowed is
    Streamlit's own first line, so a text that is interpreted cannot run one.
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
    """Whether the server may answer a browser that uses this host name.

    A foreign page can point its own name at this machine and read the answers (DNS rebinding). That name can be neither
    ``localhost`` nor an IP address, and with a sign-in it has no cookie.
    """
    address = origins.host_of(host or "")
    name = "" if address is None else address.name
    if access.sign_in().needed or name in _host_names():
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1)
def _host_names() -> frozenset[str]:
    configured = sharing.listed(os.environ.get(sharing.HOST_NAMES, ""))
    return frozenset(name.lower() for name in ("localhost", socket.gethostname(), *configured))


async def _unchanged(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)


async def _unhealthy(scope: Scope) -> Response | None:
    """The response to a health check while the server cannot work; None for every other request."""
    if scope["path"] != HEALTH:
        return None
    trouble = await run_in_threadpool(trouble_opening_files)
    return PlainTextResponse(trouble, 503, headers={"Cache-Control": "no-store"}) if trouble else None


def _refusal(request: HTTPConnection) -> Response | None:
    """The response that replaces the requested one; None lets the request pass."""
    path, method = request.scope["path"], request.scope.get("method", "GET")
    host = request.headers.get("host")
    written = not _CONTROL.search(path) and request.scope["query_string"].isascii()
    if not written or (host and origins.host_of(host) is None):
        return PlainTextResponse("No such address.", 400)
    if not is_known_host(host):
        return PlainTextResponse("This server does not go by that name.", 421)
    if origins.is_foreign(request) and (path.startswith(NO_PAGES) or not origins.is_link(request)):
        return PlainTextResponse(FOREIGN, 403)
    if path.startswith(CLOSED):
        return PlainTextResponse("Closed.", 404)
    if path.startswith(UPLOADS) and method not in ("GET", "HEAD", "OPTIONS") and not access.may_change():
        return PlainTextResponse(access.READ_ONLY_TEXT, 403)
    how = access.sign_in()
    if how.secrets is not None and path == sign_in.PROVIDER_SIGN_OUT and access.visitor_of(request.cookies) is not None:
        return RedirectResponse("/", status_code=303)  # deletes the cookie; only sign_in.SIGN_OUT ends the sign-in
    if not how.needed or path in OPEN or (how.secrets is not None and path in OPEN_TO_PROVIDER):
        return None
    return _refusal_of_visitor(request, path, method)


def _refusal_of_visitor(request: HTTPConnection, path: str, method: str) -> Response | None:
    visitor = access.visitor_of(request.cookies)
    if visitor is None:
        wants_page = method == "GET" and "text/html" in request.headers.get("accept", "")
        query = request.scope["query_string"].decode("ascii")
        target = f"{quote(path)}?{query}" if query else quote(path)
        return sign_in.page_for_stranger(target) if wants_page else PlainTextResponse("Sign in first.", 401)
    if not visitor.allowed:
        return sign_in.page_for_refused(visitor.name)
    if path == "/" and sign_in.NEXT_COOKIE in request.cookies:
        response = RedirectResponse(sign_in.target_of(request.cookies), status_code=303)
        response.delete_cookie(sign_in.NEXT_COOKIE, path="/", httponly=True, samesite="lax")
        return response
    return None


def _inline_scripts() -> list[str]:
    import streamlit

    page = Path(streamlit.__file__).parent / "static" / "index.html"
    return _INLINE_SCRIPT.findall(page.read_text(encoding="utf-8"))


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
