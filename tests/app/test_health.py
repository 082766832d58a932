"""What ``/_stcore/health`` says when the server has run out of descriptors or lost its home."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from mauve_app.server import access, middleware

HEALTH = "/_stcore/health"


async def _ok(_: Request) -> PlainTextResponse:
    return PlainTextResponse("ok")


@pytest.fixture
def server(own_home: Path) -> Iterator[TestClient]:
    """The middleware around what Streamlit says of itself."""
    access.sign_in.cache_clear()
    app = Starlette(
        routes=[Route("/{path:path}", _ok)], middleware=[Middleware(middleware.Headers), Middleware(middleware.Gate)]
    )
    with TestClient(app, base_url="http://127.0.0.1:8501") as client:
        client.get("/")
        yield client
    access.sign_in.cache_clear()


@contextmanager
def descriptors_left(number: int) -> Iterator[None]:
    """This process may open so many files more, and no further ones, while the block runs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
    with ExitStack() as taken:
        taken.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        held: list[int] = []
        taken.callback(lambda: [os.close(descriptor) for descriptor in held])
        while True:
            try:
                held.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        for _ in range(number):
            os.close(held.pop())
        yield


@pytest.mark.parametrize("left", [0, 3, 10])
def test_a_server_without_descriptors_is_not_well(server: TestClient, left: int) -> None:
    assert server.get(HEALTH).text == "ok"
    with descriptors_left(left):
        answer = server.get(HEALTH)
        assert (answer.status_code, "Too many open files" in answer.text) == (503, True)
        assert server.head(HEALTH).status_code == 503
        assert server.get("/").text == "ok", "every other request is answered as well as it can be"
    assert server.get(HEALTH).text == "ok"


def test_asking_takes_nothing(server: TestClient) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with descriptors_left(40):
        assert {server.get(HEALTH).status_code for _ in range(20)} == {200}
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_server_without_its_home_is_not_well(server: TestClient, own_home: Path) -> None:
    own_home.rmdir()
    own_home.write_text("no folder")
    answer = server.get(HEALTH)
    assert answer.status_code == 503
    assert str(own_home) not in answer.text, "strangers read it"
