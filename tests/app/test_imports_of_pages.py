"""The server answers while it imports what pages need, and pages wait for that."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket

from mauve_app.server import serve
from tests.cli.test_commands import SLOW


async def _ok(_: Request) -> PlainTextResponse:
    return PlainTextResponse("ok")


async def _page(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.close()


def client() -> TestClient:
    routes = [Route("/", _ok), WebSocketRoute("/page", _page)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(serve.Imports)]))


def test_pages_wait_for_their_modules_and_other_requests_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = threading.Event()
    monkeypatch.setattr(serve, "prepare", imported.wait)
    with client() as server, ThreadPoolExecutor() as browser:
        pages = [browser.submit(lambda: server.websocket_connect("/page").__enter__()) for _ in range(2)]
        try:
            assert server.get("/").text == "ok"
            with pytest.raises(TimeoutError):
                pages[0].result(0.05)
        finally:
            imported.set()
        for page in pages:
            page.result().__exit__(None, None, None)


def test_a_server_that_cannot_show_pages_ends_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = threading.Event()

    def broken() -> None:
        raise ImportError("a module is missing")

    monkeypatch.setattr(serve, "prepare", broken)
    monkeypatch.setattr(signal, "raise_signal", lambda _: ended.set())
    with client():
        assert ended.wait(10)
    assert "ImportError: a module is missing" in capsys.readouterr().err


def test_the_server_answers_before_slow_libraries_are_imported() -> None:
    script = (
        "import sys\nfrom mauve_app.server import serve\nserve.application()\n"
        f"print(sorted({SLOW - {'streamlit', 'plotly'}!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
