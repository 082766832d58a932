"""A run's file over the wire: whole, by pieces, to those who may have it, and nothing of it stays on the disk."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from mauve_app.server import access, middleware, run_files
from mauve_app.server.run_files import export_url
from mauve_core.base import sharing
from mauve_core.base.errors import StorageError
from mauve_core.base.sharing import hashed
from mauve_core.runs import Run, RunStore
from tests.handmade import make_comparison, make_corpora, make_features

HERE = "http://127.0.0.1:8501"
Message = MutableMapping[str, Any]


@pytest.fixture
def run(own_home: Path) -> Run:
    return RunStore().save("Study one", make_comparison(), make_corpora(), make_features())


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def server(run: Run, scratch: Path) -> Iterator[TestClient]:
    access.sign_in.cache_clear()
    stack = [Middleware(middleware.Headers), Middleware(middleware.Gate)]
    with TestClient(Starlette(routes=run_files.routes(), middleware=stack), base_url=HERE) as client:
        yield client
    access.sign_in.cache_clear()


def test_the_file_is_the_run_and_leaves_nothing_behind(
    server: TestClient, run: Run, scratch: Path, tmp_path: Path
) -> None:
    answer = server.get(export_url(run.id))
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == 'attachment; filename="study-one.mauve-run.zip"'
    assert int(answer.headers["content-length"]) == len(answer.content)
    path = tmp_path / "came.zip"
    path.write_bytes(answer.content)
    elsewhere = RunStore(tmp_path / "elsewhere")
    came = elsewhere.load(elsewhere.import_(path).id)
    assert [item.scores for item in came.comparison.candidates] == [item.scores for item in run.comparison.candidates]
    assert list(scratch.iterdir()) == []


def asked(path: str, *, fail_after: int | None = None) -> list[bytes]:
    """The pieces of the answer, straight from the route; a visitor who goes after some of them is an OSError."""
    pieces: list[bytes] = []

    async def receive() -> Message:
        await asyncio.Event().wait()  # the visitor says nothing more
        raise AssertionError

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            if fail_after is not None and len(pieces) >= fail_after:
                raise OSError("gone")
            pieces.append(message.get("body", b""))

    scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b"", "root_path": ""}
    serve = Starlette(routes=run_files.routes())
    with ThreadPoolExecutor(1) as apart:  # where no earlier test has left an event loop, as those with a browser do
        apart.submit(lambda: asyncio.run(serve(scope, receive, send))).result()
    return pieces


def test_it_is_sent_by_pieces(run: Run, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_files._FromFolder, "chunk_size", 1024)
    pieces = asked(export_url(run.id))
    assert sum(map(len, pieces)) > 4096
    assert max(map(len, pieces)) <= 1024
    assert list(scratch.iterdir()) == []


def test_a_visitor_who_leaves_leaves_nothing_behind(run: Run, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_files._FromFolder, "chunk_size", 1024)
    with pytest.raises(OSError, match="gone"):
        asked(export_url(run.id), fail_after=2)
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("name", ["nobody", "..", "../study-one", "Study one", "a/b", "%00", "x" * 300])
def test_what_is_no_run_is_not_found(server: TestClient, scratch: Path, name: str) -> None:
    answer = server.get(export_url(name))
    assert answer.status_code == (400 if name == "%00" else 404)  # the client decodes it: no address has a NUL
    assert list(scratch.iterdir()) == []


def test_a_failing_disk_is_said(server: TestClient, run: Run, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise StorageError("The disk is full")

    monkeypatch.setattr(RunStore, "export", refuse)
    answer = server.get(export_url(run.id))
    assert (answer.status_code, "The disk is full" in answer.text) == (500, True)
    assert list(scratch.iterdir()) == []


def test_nobody_gets_it_who_may_not(server: TestClient, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    url = export_url(run.id)
    assert server.get(url, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert server.get(url, headers={"sec-fetch-site": "same-site"}).status_code == 403
    assert server.get(url, headers={"sec-fetch-site": "same-origin"}).status_code == 200
    assert server.get(url, headers={"host": "evil.example"}).status_code == 421
    monkeypatch.setenv(sharing.READ_ONLY, run.id)
    assert server.get(url).status_code == 403
    monkeypatch.delenv(sharing.READ_ONLY)
    monkeypatch.setenv(sharing.PASSWORD_HASH, str(hashed("correct horse")))
    access.sign_in.cache_clear()
    assert server.get(url).status_code == 401
