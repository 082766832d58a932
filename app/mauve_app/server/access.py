"""Who the visitor is, which runs they may see, and whether they may change anything.

Callbacks that change stored data or start jobs call :func:`require_change` first; hiding a button protects nothing.
``mauve_app.server.middleware`` blocks strangers; :func:`require_visitor` rechecks on reruns, as open pages outlive
sign-ins. Sign-ins by a provider that were revoked are listed: a copied cookie's signature stays valid for a month.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import streamlit as st

from mauve_core.base import sharing
from mauve_core.base.errors import InputError, RefusedError
from mauve_core.base.files import PRIVATE_FILE, home, make_folder, storage_errors, sync_folder
from mauve_core.base.sharing import SignIn

# In the home folder: an empty file per revoked part of a sign-in, so that revocation survives a restart.
REVOKED_FOLDER = "signed-out"

# Seconds: twice the maximum lifetime of Streamlit's cookie. The clock may jump, so age alone forgets nothing.
REVOKED_KEPT_S = 62 * 24 * 3600

MAX_REVOKED = 10_000


class SignedOut:
    """Digests of revoked sign-ins; if the disk fails, they are kept until the server stops."""

    def __init__(self) -> None:
        self._keys: dict[bytes, None] = {}
        self._lock = threading.Lock()

    def add(self, keys: Iterable[bytes]) -> None:
        """Revoke these keys in every server of this home folder.

        Raises
        ------
        StorageError
            They could not be stored, so they are revoked only while this server runs.
        """
        added = tuple(keys)
        with self._lock:
            remembered = list(self._keys)[-MAX_REVOKED:]
            self._keys = dict.fromkeys([*remembered, *added])
        folder = home() / REVOKED_FOLDER
        with storage_errors(folder):
            make_folder(folder)
            for key in added:
                (folder / key.hex()).touch(PRIVATE_FILE)
            sync_folder(folder)
            _forget_old(folder)

    def holds(self, keys: Iterable[bytes]) -> bool:
        """Whether any of these keys was revoked."""
        requested = tuple(keys)
        return any(key in self._keys for key in requested) or (
            bool(requested) and any(map(os.path.exists, _paths(home() / REVOKED_FOLDER, requested)))
        )


def _paths(folder: Path, keys: Iterable[bytes]) -> Iterable[str]:
    return (str(folder / key.hex()) for key in keys)


def _forget_old(folder: Path) -> None:
    before, paths = time.time() - REVOKED_KEPT_S, list(folder.iterdir())
    for path in paths if len(paths) > MAX_REVOKED else ():
        if path.stat().st_mtime < before:
            path.unlink(missing_ok=True)


SESSION_COOKIE = "mauve_lens_session"
# Seconds that a sign-in by password lasts.
SESSION_S = 7 * 24 * 3600

MAX_SESSIONS = 10_000
PASSWORD_VISITOR = "signed in by password"
READ_ONLY_TEXT = "Read-only: you can view these runs, but not change or start anything."


@dataclass(frozen=True)
class Visitor:
    """A visitor who signed in; ``allowed`` is False for an account that exists but is not admitted."""

    name: str
    allowed: bool = True


class Sessions:
    """Sign-ins by password: random tokens, whose digests only this process keeps.

    A token carries no data, so nothing is signed and no key is stored. Signing out or a restart ends it everywhere.
    """

    def __init__(self) -> None:
        self._ends: dict[bytes, float] = {}
        self._lock = threading.Lock()

    def begin(self) -> str:
        """A new token."""
        token = secrets.token_urlsafe(32)
        now = time.monotonic()
        with self._lock:
            current = [(digest, end) for digest, end in self._ends.items() if end > now]
            self._ends = dict(current[-(MAX_SESSIONS - 1) :])
            self._ends[_digest(token)] = now + SESSION_S
        return token

    def holds(self, token: str) -> bool:
        """Whether the token was issued and has not ended."""
        return self._ends.get(_digest(token), 0.0) > time.monotonic()

    def end(self, token: str) -> None:
        """Sign out."""
        with self._lock:
            self._ends.pop(_digest(token), None)


SESSIONS = Sessions()
SIGNED_OUT = SignedOut()


@lru_cache(maxsize=1)
def sign_in() -> SignIn:
    """How visitors sign in; read once, when the server starts. InputError if the setup is wrong."""
    return sharing.sign_in()


def visitor_of(cookies: Mapping[str, str]) -> Visitor | None:
    """The visitor who sends these cookies; None for a stranger."""
    how = sign_in()
    if how.password is not None and SESSIONS.holds(cookies.get(SESSION_COOKIE, "")):
        return Visitor(PASSWORD_VISITOR)
    if how.secrets is not None:
        return _visitor_of_provider(how, cookies)
    return None


def sign_in_keys(cookies: Mapping[str, str]) -> tuple[bytes, ...]:
    """Digests of what signs in the sender of these cookies; all tabs of a browser share them."""
    keys = (_digest(cookies[SESSION_COOKIE]),) if SESSION_COOKIE in cookies else ()
    return keys if sign_in().secrets is None else (*keys, *_provider_cookies(cookies)[1])


def sign_out(cookies: Mapping[str, str]) -> None:
    """End the sign-in of these cookies for every copy of them; StorageError as ``SignedOut.add``."""
    SESSIONS.end(cookies.get(SESSION_COOKIE, ""))
    if sign_in().secrets is not None:
        SIGNED_OUT.add(_provider_cookies(cookies)[1])


def require_visitor() -> Visitor | None:
    """Stop the page unless its visitor is still signed in; None if no sign-in is needed."""
    visitor = visitor_of(st.context.cookies) if sign_in().needed else None
    if sign_in().needed and (visitor is None or not visitor.allowed):
        st.info("You are signed out. Reload this page to sign in.", icon=":material/lock:")
        st.stop()
    return visitor


def shown_runs() -> tuple[str, ...] | None:
    """Ids of the only runs that visitors may see; None for all."""
    written = os.environ.get(sharing.READ_ONLY)
    return None if written is None else sharing.listed(written)


def may_change() -> bool:
    """Whether visitors may start jobs, rate, upload, edit and delete."""
    return shown_runs() is None


def require_change() -> None:
    """Refuse if the app is read-only; the first line of every callback that changes something.

    Raises
    ------
    RefusedError
        The app is read-only.
    """
    if not may_change():
        raise RefusedError(READ_ONLY_TEXT, todo="Ask whoever runs the app, or run it yourself")


def require_shown(run_id: str) -> None:
    """Refuse a run that visitors may not see, with the message for a run that does not exist.

    Raises
    ------
    InputError
        The app is read-only and does not show that run.
    """
    shown = shown_runs()
    if shown is not None and run_id not in shown:
        raise InputError(f"No run has the id {run_id!r}", allowed=", ".join(shown))


def note() -> None:
    """A notice at the top of the sidebar that the app is read-only."""
    if not may_change():
        with st.sidebar:
            st.caption(f":material/visibility: {READ_ONLY_TEXT}")


def _visitor_of_provider(how: SignIn, cookies: Mapping[str, str]) -> Visitor | None:
    data, parts = _provider_cookies(cookies)
    try:
        claims = json.loads(data) if data and not SIGNED_OUT.holds(parts) else None
    except ValueError:
        return None
    if not isinstance(claims, dict) or claims.get("is_logged_in") is not True:
        return None
    email = str(claims.get("email") or "")
    verified = claims.get("email_verified", True) in (True, "true")
    return Visitor(email or "an account without an e-mail address", verified and how.admits(email))


def _provider_cookies(cookies: Mapping[str, str]) -> tuple[bytes | None, tuple[bytes, ...]]:
    """The content of Streamlit's signed cookies, joined by Streamlit's own code, and a digest of each cookie needed.

    Digests cover what was signed, time included; extra cookies, their order and a signature's encoding change nothing.
    The cookie that only counts the others is left out, because many sign-ins of one second share its value.
    """
    from streamlit.auth_util import get_cookie_with_chunks
    from streamlit.web.server.server_util import get_cookie_secret
    from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
    from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

    secret, needed = get_cookie_secret(), dict[str, bytes]()

    def signed(name: str) -> bytes | None:
        value = decode_signed_value(secret, name, cookies.get(name, ""))
        if value is not None:
            needed[name] = _digest(f"{name}={cookies[name].rpartition('.')[0]}")
        return value

    data = get_cookie_with_chunks(signed, USER_COOKIE_NAME) if secret else None
    if len(needed) > 1:
        del needed[USER_COOKIE_NAME]
    return data, tuple(needed.values())


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
