"""Requests as a server hands them to the application, however strange: what no client of ours would send, too."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

from starlette.types import ASGIApp

from mauve_core.base.sharing import hashed

Message = MutableMapping[str, Any]


@cache
def hash_of(password: str) -> str:
    """As ``mauve-lens password`` writes it; hashing takes long on purpose."""
    return str(hashed(password))


class Answer(NamedTuple):
    """Status and the names of the headers in small letters; 0 where nobody was answered."""

    status: int
    headers: dict[str, str]
    body: bytes


def asked(
    app: ASGIApp,
    path: str,
    *,
    method: str = "GET",
    query: bytes = b"",
    headers: Iterable[tuple[bytes, bytes]] = (),
    body: Iterable[bytes] = (b"",),
    ends: bool = True,
) -> Answer:
    """The answer; ``body`` comes by pieces, and where it does not end the visitor goes or, after no piece, is silent.

    Whatever the application raises is raised here.
    """
    pieces = list(body)
    coming: list[Message] = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    if ends:
        coming.append({"type": "http.request", "body": b"", "more_body": False})
    elif pieces:
        coming.append({"type": "http.disconnect"})
    said: list[Message] = []

    async def receive() -> Message:
        if coming:
            return coming.pop(0)
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        said.append(message)

    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": path, "query_string": query,
        "raw_path": path.encode(errors="replace"), "headers": list(headers), "root_path": "", "scheme": "http",
        "server": ("127.0.0.1", 8501), "client": ("127.0.0.1", 50000), "state": {},
    }  # fmt: skip
    with ThreadPoolExecutor(1) as apart:  # where no earlier test has left an event loop, as those with a browser do
        apart.submit(lambda: asyncio.run(app(scope, receive, send))).result()
    begun = [message for message in said if message["type"] == "http.response.start"]
    sent = (
        {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in begun[0]["headers"]}
        if begun
        else {}
    )
    whole = b"".join(message.get("body", b"") for message in said if message["type"] == "http.response.body")
    return Answer(begun[0]["status"] if begun else 0, sent, whole)
