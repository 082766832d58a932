"""Closes sessions whose browser is gone, after a short time in which a broken connection can recover.

Streamlit keeps up to 128 such sessions, each with three file descriptors and its uploads, and drops them only when
another session ends two minutes later. Here only the last few are kept, for a minute.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

# Maximum number of sessions kept after their connection ended.
KEPT = 16

# How long: browsers reconnect within seconds. Streamlit itself forgets them after 120 s, and closes nothing then.
KEPT_S = 60.0

# Seconds between checks, in addition to one whenever a connection ends.
LOOK_S = 10.0


class Server(Protocol):
    """The part of Streamlit's runtime that is used here."""

    def is_active_session(self, session_id: str) -> bool:
        """Whether a browser is connected to the session."""

    def close_session(self, session_id: str) -> None:
        """End the session and release all that it holds."""


class Sessions:
    """Sessions that drew a page, and since when those without a browser have been without one."""

    def __init__(self) -> None:
        self._ended: dict[str, float | None] = {}

    def note(self, session_id: str) -> None:
        """Record that the session draws a page; callable from any thread."""
        self._ended.setdefault(session_id, None)

    def tidy(self, server: Server, now: float) -> None:
        """Close sessions that ended too long ago, and the oldest of too many; call from the server's event loop only.

        Parameters
        ----------
        server : Server
        now : float
            Seconds of a monotonic clock.
        """
        for session_id, since in list(self._ended.items()):
            here = server.is_active_session(session_id)
            self._ended[session_id] = None if here else now if since is None else since
        ended = sorted((since, session_id) for session_id, since in self._ended.items() if since is not None)
        closed = [
            session_id
            for index, (since, session_id) in enumerate(ended)
            if now - since > KEPT_S or index < len(ended) - KEPT
        ]
        for session_id in closed:
            del self._ended[session_id]
            server.close_session(session_id)


SESSIONS = Sessions()


def note() -> None:
    """Call once per page to track its session."""
    context = get_script_run_ctx()
    if context is not None:
        SESSIONS.note(context.session_id)


class Tidied:
    """Middleware that closes ended sessions whenever a connection ends."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.app(scope, receive, send)
        finally:
            if scope["type"] == "websocket":
                _tidy()


@asynccontextmanager
async def looked_after(_: object) -> AsyncIterator[None]:
    """Check at regular intervals while the server runs."""

    async def look() -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            _tidy()

    task = asyncio.create_task(look())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _tidy() -> None:
    if runtime.exists():
        SESSIONS.tidy(runtime.get_instance(), time.monotonic())
