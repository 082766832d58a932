"""Who the visitor is, which runs exist for them, and whether they may change anything.

Every callback that changes what is stored, or starts a job, calls :func:`require_change` first: a button that is not
shown is no protection. ``app.middleware`` lets nobody in without signing in; :func:`require_visitor` asks again on
each rerun, because a page that is open outlives the sign-in.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import streamlit as st

from mauve_core import sharing
from mauve_core.errors import InputError, RefusedError
from mauve_core.sharing import SignIn

SESSION_COOKIE = "mauve_lens_session"
SESSION_S = 7 * 24 * 3600
"""How long a sign-in by password lasts."""

MAX_SESSIONS = 10_000
PASSWORD_VISITOR = "signed in by password"
READ_ONLY_TEXT = "Read-only: these runs can be looked at, and nothing can be changed or started."


@dataclass(frozen=True)
class Visitor:
    """Somebody who signed in; ``allowed`` is False for an account that exists and is not let in."""

    name: str
    allowed: bool = True


class Sessions:
    """Sign-ins by password: random tokens, of which this process alone keeps the digests.

    A token says nothing and cannot be forged, so nothing is signed and no key is kept; signing out ends it everywhere
    at once. They end with the server.
    """

    def __init__(self) -> None:
        self._ends: dict[bytes, float] = {}
        self._lock = threading.Lock()

    def begin(self) -> str:
        """A new token."""
        token = secrets.token_urlsafe(32)
        now = time.monotonic()
        with self._lock:
            kept = [(digest, end) for digest, end in self._ends.items() if end > now]
            self._ends = dict(kept[-(MAX_SESSIONS - 1) :])
            self._ends[_digest(token)] = now + SESSION_S
        return token

    def holds(self, token: str) -> bool:
        """Whether the token was given out and has not ended."""
        return self._ends.get(_digest(token), 0.0) > time.monotonic()

    def end(self, token: str) -> None:
        """Sign out."""
        with self._lock:
            self._ends.pop(_digest(token), None)


class SignedOut:
    """Cookies of a provider's sign-in that were signed out: the signature alone would let a copy in for weeks."""

    def __init__(self) -> None:
        self._keys: dict[bytes, None] = {}
        self._lock = threading.Lock()

    def add(self, key: bytes) -> None:
        """Refuse this cookie until the server stops; the oldest are let go when there are very many."""
        with self._lock:
            kept = list(self._keys)[-(MAX_SESSIONS - 1) :]
            self._keys = dict.fromkeys([*kept, key])

    def __contains__(self, key: object) -> bool:
        return key in self._keys


SESSIONS = Sessions()
SIGNED_OUT = SignedOut()


@lru_cache(maxsize=1)
def sign_in() -> SignIn:
    """How visitors sign in; read once, when the server starts. InputError where it is set up wrongly."""
    return sharing.sign_in()


def visitor_of(cookies: Mapping[str, str]) -> Visitor | None:
    """Who sends these cookies; None for a stranger."""
    how = sign_in()
    if how.password is not None and SESSIONS.holds(cookies.get(SESSION_COOKIE, "")):
        return Visitor(PASSWORD_VISITOR)
    if how.secrets is not None:
        return _visitor_of_provider(how, cookies)
    return None


def sign_in_keys(cookies: Mapping[str, str]) -> tuple[bytes, ...]:
    """What signs the sender of these cookies in, as digests: all tabs of a browser have the same."""
    keys = (_digest(cookies[SESSION_COOKIE]),) if SESSION_COOKIE in cookies else ()
    provider = _provider_key(cookies)
    return keys if provider is None else (*keys, provider)


def sign_out(cookies: Mapping[str, str]) -> None:
    """End what signs the sender of these cookies in, for every copy of them."""
    key = _provider_key(cookies)
    if key is not None and sign_in().secrets is not None and _visitor_of_provider(sign_in(), cookies) is not None:
        SIGNED_OUT.add(key)
    SESSIONS.end(cookies.get(SESSION_COOKIE, ""))


def require_visitor() -> Visitor | None:
    """Stop the page unless its visitor is signed in still; None where no sign-in is needed."""
    visitor = visitor_of(st.context.cookies) if sign_in().needed else None
    if sign_in().needed and (visitor is None or not visitor.allowed):
        st.info("You are signed out. Reload this page to sign in.", icon=":material/lock:")
        st.stop()
    return visitor


def shown_runs() -> tuple[str, ...] | None:
    """Ids of the only runs that exist for visitors; None when all do."""
    written = os.environ.get(sharing.READ_ONLY)
    return None if written is None else sharing.listed(written)


def may_change() -> bool:
    """Whether visitors may start jobs, rate, upload, edit and delete."""
    return shown_runs() is None


def require_change() -> None:
    """Refuse where the app is shown read-only; first line of every callback that changes something.

    Raises
    ------
    RefusedError
        It is.
    """
    if not may_change():
        raise RefusedError(READ_ONLY_TEXT, todo="Ask whoever runs the app, or run it yourself")


def require_shown(run_id: str) -> None:
    """Refuse a run that does not exist for visitors, in the words for one that does not exist at all.

    Raises
    ------
    InputError
        The app is shown read-only, and not with that run.
    """
    shown = shown_runs()
    if shown is not None and run_id not in shown:
        raise InputError(f"No run has the id {run_id!r}", allowed=", ".join(shown))


def note() -> None:
    """What a visitor should know, for the top of the sidebar: that nothing can be changed."""
    if not may_change():
        with st.sidebar:
            st.caption(f":material/visibility: {READ_ONLY_TEXT}")


def _visitor_of_provider(how: SignIn, cookies: Mapping[str, str]) -> Visitor | None:
    """Who Streamlit's signed cookie names, with its own means."""
    from streamlit.auth_util import get_cookie_with_chunks
    from streamlit.web.server.server_util import get_cookie_secret
    from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
    from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

    secret = get_cookie_secret()
    if not secret or USER_COOKIE_NAME not in cookies or _provider_key(cookies) in SIGNED_OUT:
        return None
    data = get_cookie_with_chunks(
        lambda name: decode_signed_value(secret, name, cookies[name]) if name in cookies else None, USER_COOKIE_NAME
    )
    try:
        claims = json.loads(data) if data else None
    except ValueError:
        return None
    if not isinstance(claims, dict) or claims.get("is_logged_in") is not True:
        return None
    email = str(claims.get("email") or "")
    verified = claims.get("email_verified", True) in (True, "true")
    return Visitor(email or "an account without an e-mail address", verified and how.admits(email))


def _provider_key(cookies: Mapping[str, str]) -> bytes | None:
    """Of Streamlit's cookie, which stands in several where it is long; None where there is none."""
    from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

    parts = sorted(name for name in cookies if re.fullmatch(rf"{USER_COOKIE_NAME}(_\d+)?", name))
    return _digest("\n".join(f"{name}={cookies[name]}" for name in parts)) if parts else None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
