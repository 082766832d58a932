"""What becomes of a session whose browser has gone: it is kept for a while, because a connection may only be broken.

Streamlit keeps up to 128 of them, each with three descriptors of the system and the files that were sent to it, and
lets go of them when some other session ends two minutes later. Here the last few are kept, for a minute.
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

KEPT = 16
"""Sessions that are kept at most after their connection ended."""

KEPT_S = 60.0
"""How long: a browser tries anew within seconds. Streamlit itself forgets them after 120 s, and closes nothing then."""

LOOK_S = 10.0
"""Between looks, beside the one whenever a connection ends."""


class Server(Protocol):
    """What is asked of Streamlit's runtime."""

    def is_active_session(self, session_id: str) -> bool:
        """Whether a browser is connected to it."""

    def close_session(self, session_id: str) -> None:
        """End it, with all that it holds."""


class Sessions:
    """The sessions that pages were drawn for, and since when the ended ones are without a browser."""

    def __init__(self) -> None:
        self._ended: dict[str, float | None] = {}

    def note(self, session_id: str) -> None:
        """A page is drawn for that session; from any thread."""
        self._ended.setdefault(session_id, None)

    def tidy(self, server: Server, now: float) -> None:
        """Close what ended too long ago, and the oldest of too many; from the server's event loop alone.

        Parameters
        ----------
        server : Server
        now : float
            Seconds of a clock that only goes forward.
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
    """Once a page: its session is one of those that are looked after."""
    context = get_script_run_ctx()
    if context is not None:
        SESSIONS.note(context.session_id)


class Tidied:
    """Looks after ended sessions whenever a connection ends."""

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
    """While the server runs, look now and then."""

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
