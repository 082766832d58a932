"""Frames that no page sends end the connection before Streamlit reads them; those of a page arrive unchanged."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.BackMsg_pb2 import BackMsg

from mauve_app.server import access, connections, middleware

STREAM = "ws://127.0.0.1:8501/_stcore/stream"
TOLD = _make_trigger_id("$$ID-1-a", "events")
HEADERS = {"origin": "http://127.0.0.1:8501", "host": "127.0.0.1:8501"}


def rerun(*widgets: str) -> bytes:
    message = BackMsg()
    message.rerun_script.query_string = "run=demo"
    for name in widgets:
        message.rerun_script.widget_states.widgets.add().id = name
    return message.SerializeToString()


@pytest.fixture
def client(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    async def echo(websocket: WebSocket) -> None:
        await websocket.accept()
        with suppress(WebSocketDisconnect):
            while True:
                await websocket.send_bytes(await websocket.receive_bytes())

    access.sign_in.cache_clear()
    routes = [WebSocketRoute("/_stcore/stream", echo)]
    with TestClient(Starlette(routes=routes, middleware=[Middleware(middleware.Gate)])) as found:
        yield found
    access.sign_in.cache_clear()


@pytest.mark.parametrize("frame", [rerun(), rerun("$$ID-1-a", "$$ID-2-None"), rerun(TOLD), b""])
def test_messages_of_a_page_arrive(client: TestClient, frame: bytes) -> None:
    with client.websocket_connect(STREAM, headers=HEADERS) as socket:
        socket.send_bytes(frame)
        assert socket.receive_bytes() == frame


@pytest.mark.parametrize(
    "frame",
    ["hello", "", b"hello", b"\xff\xfe", random.Random(1).randbytes(200), rerun("abc"), rerun("$$ID-1-a", "\x1b[2J")],
    ids=repr,
)
def test_other_frames_end_the_connection(client: TestClient, frame: str | bytes) -> None:
    with client.websocket_connect(STREAM, headers=HEADERS) as socket:
        (socket.send_text if isinstance(frame, str) else socket.send_bytes)(frame)
        with pytest.raises(WebSocketDisconnect) as ended:
            socket.receive_bytes()
        assert ended.value.code == connections.UNSUPPORTED_DATA
