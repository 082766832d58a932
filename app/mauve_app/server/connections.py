"""Open connections of pages, keyed by sign-in, so that signing out closes those of every tab."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mauve_app.server import access

# Close code of a websocket: policy violation (RFC 6455, section 7.4.1).
CLOSE_CODE = 1008


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
            await send({"type": "websocket.close", "code": CLOSE_CODE, "reason": "Signed out"})
            return {"type": "websocket.disconnect", "code": CLOSE_CODE}

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
