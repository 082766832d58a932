"""Connections of pages, their messages and their sessions.

Signing out closes the connections of every tab. Of what browsers send over a websocket, only messages that Streamlit
can read reach it.

Streamlit keeps up to 128 sessions whose browser is gone, each with three file descriptors and its uploads, and drops
them only when another session ends two minutes later. Here only the last few are kept, for a minute, in which a broken
connection can recover.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Protocol

from google.protobuf.message import DecodeError
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from mauve_app.server import access

# Close code of a websocket: policy violation (RFC 6455, section 7.4.1).
POLICY_VIOLATION = 1008


class Connections:
    """The open connections; use from the server's event loop only."""

    def __init__(self) -> None:
        self._open: dict[bytes, set[asyncio.Future[None]]] = {}

    @contextmanager
    def open(self, keys: Iterable[bytes]) -> Iterator[asyncio.Future[None]]:
        """Register a connection under these keys while the block runs; the future is done once it must end."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        known = tuple(keys)
        for key in known:
            self._open.setdefault(key, set()).add(ended)
        try:
            yield ended
        finally:
            for key in known:
                self._open[key].discard(ended)
                if not self._open[key]:
                    del self._open[key]

    def end(self, keys: Iterable[bytes]) -> None:
        """End every connection under one of these keys."""
        for key in keys:
            for ended in self._open.get(key, ()):
                if not ended.done():
                    ended.set_result(None)

    def __len__(self) -> int:
        return len({ended for found in self._open.values() for ended in found})


CONNECTIONS = Connections()


async def while_signed_in(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Let a websocket pass until its visitor signs out or the sign-in expires; a page's fragments do not check that."""
    cookies = HTTPConnection(scope).cookies
    with CONNECTIONS.open(access.sign_in_keys(cookies)) as ended:

        async def received() -> Message:
            message = await _unless(ended, receive)
            if message is not None and message["type"] != "websocket.receive":
                return message
            visitor = None if message is None else access.visitor_of(cookies)
            if message is not None and visitor is not None and visitor.allowed:
                return message
            if not ended.done():
                ended.set_result(None)
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": "Signed out"})
            return {"type": "websocket.disconnect", "code": POLICY_VIOLATION}

        async def sent(message: Message) -> None:
            if not ended.done():  # even if the page was still sending
                await send(message)

        await app(scope, received, sent)


async def _unless(ended: asyncio.Future[None], receive: Receive) -> Message | None:
    """The next message; None if the connection must end."""
    coming: asyncio.Future[Message] = asyncio.ensure_future(receive())
    try:
        await asyncio.wait((coming, ended), return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not coming.done():
            coming.cancel()
    return None if ended.done() else coming.result()


STREAM = "/_stcore/stream"

# Close code of a websocket: data that is not accepted (RFC 6455, section 7.4.1).
UNSUPPORTED_DATA = 1003

# How Streamlit's ids of widgets begin; the second prefix is that of the events of a component.
WIDGETS = ("$$ID-", "$$STREAMLIT_INTERNAL_KEY_")


async def readable(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Let the websocket of a page pass until it sends what no page sends."""
    if not scope["path"].endswith(STREAM):
        await app(scope, receive, send)
        return

    async def received() -> Message:
        message = await receive()
        if message["type"] != "websocket.receive" or is_readable(message.get("bytes")):
            return message
        await send({"type": "websocket.close", "code": UNSUPPORTED_DATA, "reason": "Not a message of a page"})
        return {"type": "websocket.disconnect", "code": UNSUPPORTED_DATA}

    await app(scope, received, send)


def is_readable(frame: bytes | None) -> bool:
    """Whether the frame is a message of a page, with values of widgets alone."""
    from streamlit.proto.BackMsg_pb2 import BackMsg

    try:
        message = BackMsg.FromString(frame or b"")
    except DecodeError:
        return False
    states = message.rerun_script.widget_states.widgets
    return frame is not None and all(state.id.startswith(WIDGETS) for state in states)


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


def note_session() -> None:
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
