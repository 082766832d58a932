"""The pages before the app: sign in, sign out, refused. Plain HTML without scripts or any of the app's content."""

from __future__ import annotations

import asyncio
import html
import logging
import math
import re
import threading
import time
from collections.abc import Mapping
from urllib.parse import parse_qs, quote, unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from mauve_app.server import access, origins
from mauve_app.server.access import SESSION_COOKIE, SESSION_S, SESSIONS
from mauve_app.server.connections import CONNECTIONS
from mauve_core.base.errors import StorageError

SIGN_IN, SIGN_OUT, PROVIDER = "/sign-in", "/sign-out", "/sign-in/provider"
# Streamlit's own page: it deletes the browser's cookie and continues to the provider's sign-out.
PROVIDER_SIGN_OUT = "/auth/logout"

# Cookie that remembers the visitor's target while the OpenID provider is asked, and its lifetime in seconds.
NEXT_COOKIE, NEXT_S = "mauve_lens_next", 600

MAX_BODY = 8192
# Seconds to wait for the body of a sign-in form.
BODY_S = 20.0

_FORM = "application/x-www-form-urlencoded"
_NO_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
MAX_FIELDS = 8
MAX_NEXT = 6000
NOT_UNDERSTOOD = "The form could not be processed. Try again."
FREE_ATTEMPTS = 5
LONGEST_WAIT_S = 60.0

_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0;display:grid;place-items:center;"
    "min-height:100vh;background:light-dark(#fff,#14181f);color:light-dark(#1f2733,#e6e9ee)}main{width:min(22rem,88vw)}"
    "h1{font-size:1.5rem;margin:0 0 1rem}label{display:block;margin-bottom:.25rem}input{font:inherit;width:100%;"
    "box-sizing:border-box;padding:.5rem;border:1px solid light-dark(#8a94a3,#6b7686);border-radius:.4rem;"
    "background:inherit;color:inherit}button,.button{display:block;box-sizing:border-box;text-align:center;"
    "text-decoration:none;font:inherit;margin-top:1rem;padding:.5rem 1rem;border:0;"
    "border-radius:.4rem;background:#2f6fb0;color:#fff;cursor:pointer;width:100%}:focus-visible{outline:3px solid "
    "light-dark(#2f6fb0,#6aa7e0);outline-offset:2px}.wrong{color:light-dark(#b3261e,#ff8a80)}"
)
_TO_LOGOUT = f'<meta http-equiv="refresh" content="0;url={PROVIDER_SIGN_OUT}">'
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><link rel="icon" href="data:,"><title>{title} - MAUVE Lens</title>
{head}<style>{style}</style></head><body><main><h1>{title}</h1>{content}</main></body></html>
"""


class Throttle:
    """Wrong passwords make everybody wait, longer each time: 1 s after five of them, doubling up to a minute.

    The throttle covers the whole server, because addresses are cheap. It does not affect those already signed in.
    """

    def __init__(self) -> None:
        self._wrong = 0
        self._until = 0.0
        self._lock = threading.Lock()

    def wait(self) -> float:
        """Seconds until the next attempt is accepted; 0 if it is accepted now."""
        return max(0.0, self._until - time.monotonic())

    def judge(self, right: bool) -> None:
        """Record the result of an attempt."""
        with self._lock:
            self._wrong = 0 if right else self._wrong + 1
            over = self._wrong - FREE_ATTEMPTS
            self._until = 0.0 if over < 0 else time.monotonic() + min(2.0 ** min(over, 30), LONGEST_WAIT_S)


_LOG = logging.getLogger(__name__)
THROTTLE = Throttle()
# One password is hashed at a time: attempts cannot use up cores and memory, or pass the throttle in parallel.
_ONE_AT_A_TIME = threading.Lock()


def routes() -> list[Route]:
    """Routes of these pages; ``mauve_app.server.middleware`` leaves them open."""
    return [
        Route(SIGN_IN, _form, methods=["GET"]),
        Route(SIGN_IN, _attempt, methods=["POST"]),
        Route(PROVIDER, _to_provider, methods=["GET"]),
        Route(SIGN_OUT, _sign_out, methods=["POST"]),
    ]


def page_for_stranger(path_and_query: str) -> Response:
    """Redirect to the sign-in page, which leads back to the visitor's target."""
    target = safe_target(path_and_query)
    query = "" if target == "/" else f"?next={quote(target, safe='')}"
    return RedirectResponse(f"{SIGN_IN}{query}", status_code=303, headers={"Cache-Control": "no-store"})


def page_for_refused(name: str) -> Response:
    """Page for an account that is not admitted."""
    content = (
        f"<p>You are signed in as <strong>{html.escape(name)}</strong>, which is not on this server's list.</p>"
        "<p>Ask whoever runs the server to add you, or sign in with another account.</p>"
        f'<form method="post" action="{SIGN_OUT}"><button>Sign out</button></form>'
    )
    return _page("Not allowed", content, status=403)


def safe_target(target: str) -> str:
    """A path of this server with its query string; anything else becomes the start page."""
    local = target.startswith("/") and not target.startswith(("//", SIGN_IN, SIGN_OUT, "/auth/"))
    plain = len(target) <= MAX_NEXT and target.isascii() and target.isprintable() and "\\" not in target
    return target if local and plain else "/"


async def _form(request: Request) -> Response:
    target = safe_target(request.query_params.get("next", "/"))
    how = access.sign_in()
    visitor = access.visitor_of(request.cookies)
    if not how.needed or (visitor is not None and visitor.allowed):
        return RedirectResponse(target, status_code=303)
    return _form_page(target)


async def _attempt(request: Request) -> Response:
    try:
        form = await _fields(request)
    except _UnreadableFormError as error:
        return _form_page("/", error.message, status=error.status)
    target = safe_target(form.get("next", "/"))
    expected = access.sign_in().password
    if expected is None or form.get("password") is None or not origins.is_own_form(request):
        return _form_page(target, NOT_UNDERSTOOD, status=400)
    right, wait = await run_in_threadpool(_judge, form["password"])
    if wait:
        message = f"Too many wrong passwords. Try again in {math.ceil(wait)} s."
        return _form_page(target, message, status=429, headers={"Retry-After": str(math.ceil(wait))})
    if not right:
        return _form_page(target, "Wrong password.", status=401)
    response = RedirectResponse(target, status_code=303, headers={"Cache-Control": "no-store"})
    secure = origins.scheme_of(request) == "https"
    response.set_cookie(
        SESSION_COOKIE, SESSIONS.begin(), max_age=SESSION_S, httponly=True, samesite="lax", secure=secure, path="/"
    )
    return response


def _judge(password: str) -> tuple[bool, float]:
    """Whether the password is right, and the seconds to wait if the throttle rejected the attempt unchecked."""
    expected = access.sign_in().password
    if expected is None:
        return False, 0.0
    with _ONE_AT_A_TIME:
        wait = THROTTLE.wait()
        if wait:
            return False, wait
        right = expected.matches(password)
        THROTTLE.judge(right)
    return right, 0.0


async def _to_provider(request: Request) -> Response:
    from streamlit.auth_util import encode_provider_token

    if access.sign_in().secrets is None:
        return RedirectResponse(SIGN_IN, status_code=303)
    response = RedirectResponse(f"/auth/login?provider={quote(encode_provider_token('default'))}", status_code=303)
    target = safe_target(request.query_params.get("next", "/"))
    if target != "/":
        secure = origins.scheme_of(request) == "https"
        value = quote(target, safe="")
        response.set_cookie(NEXT_COOKIE, value, max_age=NEXT_S, httponly=True, samesite="lax", secure=secure, path="/")
    return response


async def _sign_out(request: Request) -> Response:
    if not origins.is_own_form(request):
        return RedirectResponse("/", status_code=303)
    try:
        await run_in_threadpool(access.sign_out, request.cookies)
    except StorageError as error:
        _LOG.error("This sign-out will be undone when the server restarts: %s", error)
    CONNECTIONS.end(access.sign_in_keys(request.cookies))
    response: Response = RedirectResponse(SIGN_IN, status_code=303)
    if access.sign_in().secrets is not None:  # the provider's page may follow, and no form may redirect there
        response = _page("Signed out", f'<p><a href="{PROVIDER_SIGN_OUT}">Continue</a></p>', head=_TO_LOGOUT)
    response.delete_cookie(SESSION_COOKIE, path="/", httponly=True, samesite="lax")
    return response


class _UnreadableFormError(Exception):
    """The body is not a valid form, or is incomplete."""

    def __init__(self, message: str = NOT_UNDERSTOOD, status: int = 400) -> None:
        super().__init__(message)
        self.message, self.status = message, status


async def _fields(request: Request) -> dict[str, str]:
    """The fields of a form; the first value if a name occurs twice. Raises _UnreadableFormError."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise _UnreadableFormError
    try:
        async with asyncio.timeout(BODY_S):
            body = await _body(request)
    except (ClientDisconnect, TimeoutError) as error:
        raise _UnreadableFormError from error
    try:
        text = body.decode("ascii")
        found = parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise _UnreadableFormError from error
    if _NO_PERCENT.search(text) or any("\0" in value for values in found.values() for value in values):
        raise _UnreadableFormError
    return {name: values[0] for name, values in found.items()}


async def _body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            raise _UnreadableFormError("That was too long. Try again.", status=413)
    return body


def _form_page(target: str, wrong: str = "", *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    how, content = access.sign_in(), ""
    if wrong:
        content += f'<p class="wrong" role="alert">{html.escape(wrong)}</p>'
    if how.password is not None:
        content += (
            f'<form method="post" action="{SIGN_IN}"><label for="password">Password</label>'
            '<input id="password" name="password" type="password" autocomplete="current-password" required autofocus>'
            f'<input name="next" type="hidden" value="{html.escape(target)}"><button>Sign in</button></form>'
        )
    if how.secrets is not None:
        content += (
            f'<p><a class="button" href="{PROVIDER}?next={quote(target, safe="")}">Sign in with your account</a></p>'
        )
    return _page("Sign in", content, status=status, headers=headers)


def _page(
    title: str, content: str, *, status: int = 200, headers: dict[str, str] | None = None, head: str = ""
) -> HTMLResponse:
    text = _PAGE.format(title=title, style=_STYLE, content=content, head=head)
    return HTMLResponse(text, status_code=status, headers={"Cache-Control": "no-store", **(headers or {})})


def target_of(cookies: Mapping[str, str]) -> str:
    """The visitor's target from before the provider was asked."""
    return safe_target(unquote(cookies.get(NEXT_COOKIE, "/")))
