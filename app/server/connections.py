"""Open connections of pages, by what signed their visitors in, so that signing out ends those of every tab."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.server import access

CLOSE_CODE = 1008
"""Of a closed websocket: against the policy (RFC 6455, section 7.4.1)."""


class Connections:
    """Which connections are open; to be used from the server's event loop alone."""

    def __init__(self) -> None:
        self._open: dict[bytes, set[asyncio.Future[None]]] = {}

    @contextmanager
    def open(self, keys: Iterable[bytes]) -> Iterator[asyncio.Future[None]]:
        """One connection under these keys while the block runs; what it gives is done once it is to end."""
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
        """End whatever is open under one of these keys."""
        for key in keys:
            for ended in self._open.get(key, ()):
                if not ended.done():
                    ended.set_result(None)

    def __len__(self) -> int:
        return len({ended for found in self._open.values() for ended in found})


CONNECTIONS = Connections()


async def while_signed_in(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Let a websocket pass until its visitor signs out or the sign-in runs out.

    A page asks who its visitor is when it reruns as a whole; its fragments do not, and they would go on.
    """
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
            if not ended.done():  # whatever a page was still saying
                await send(message)

        await app(scope, received, sent)


async def _unless(ended: asyncio.Future[None], receive: Receive) -> Message | None:
    """The next message; None when the connection is to end."""
    coming: asyncio.Future[Message] = asyncio.ensure_future(receive())
    try:
        await asyncio.wait((coming, ended), return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not coming.done():
            coming.cancel()
    return None if ended.done() else coming.result()
