"""Pictures over the wire: each is the run's own, for those who may see the run, and nothing else can be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from mauve_app.server import access, middleware, run_files
from mauve_app.server.run_files import picture_url
from mauve_core import compare, read_corpus
from mauve_core.base import sharing
from mauve_core.base.sharing import hashed
from mauve_core.images.reading import PROPERTIES
from mauve_core.runs import Run, RunStore
from mauve_core.texts import Corpus
from tests.images.made import draw_images

pytestmark = pytest.mark.integration

HERE = "http://127.0.0.1:8501"


def images(folder: Path, name: str, seed: int) -> Corpus:
    return read_corpus(draw_images(folder / name, 24, seed=seed), name=name)


@pytest.fixture
def run(own_home: Path, tmp_path: Path) -> Run:
    corpora = {name: images(tmp_path, name, seed) for seed, name in enumerate(("human", "other"))}
    features = {name: corpus.metadata[list(PROPERTIES)[2:]].to_numpy() for name, corpus in corpora.items()}
    found = compare(corpora["human"], {"other": corpora["other"]}, features=features, k=3, seeds=2, draw_map=False)
    return RunStore().save("photos", found, corpora)


@pytest.fixture
def server(run: Run) -> Iterator[TestClient]:
    access.sign_in.cache_clear()
    stack = [Middleware(middleware.Headers), Middleware(middleware.Gate)]
    with TestClient(Starlette(routes=run_files.routes(), middleware=stack), base_url=HERE) as client:
        yield client
    access.sign_in.cache_clear()


def test_a_picture_is_that_of_the_item_and_is_kept_by_the_browser(server: TestClient, run: Run) -> None:
    for source in ("human", "other"):
        media = run.corpora[source].media
        assert media is not None
        answer = server.get(picture_url(run, source, 5))
        assert (answer.status_code, answer.content) == (200, media.picture(5, 96))
        assert answer.headers["content-type"] == "image/webp"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "private" in answer.headers["cache-control"]
        assert "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize(
    "change",
    [
        lambda url: url.replace("/photos/", "/nowhere/"),
        lambda url: url.replace("/photos/0/", "/photos/7/"),
        lambda url: url.replace("/96/", "/97/"),
        lambda url: url.replace("/photos/", "/..%2Fruns%2Fphotos/"),
        lambda url: url.removesuffix(".webp"),
        lambda url: f"{url[:-69]}{'0' * 64}.webp",
        lambda url: f"{url[:-69]}..%2F..%2Fcomparison.json",
    ],
)
def test_nothing_else_can_be_asked_for(server: TestClient, run: Run, change) -> None:  # type: ignore[no-untyped-def]
    url = picture_url(run, "human", 0)
    assert change(url) != url
    assert server.get(change(url)).status_code == 404


def test_pages_of_other_servers_get_no_picture(server: TestClient, run: Run) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Origin": "http://evil.example"}
    assert server.get(picture_url(run, "human", 0), headers=headers).status_code == 403


def test_strangers_get_no_picture(server: TestClient, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sharing.PASSWORD_HASH, str(hashed("long enough a word")))
    access.sign_in.cache_clear()
    assert server.get(picture_url(run, "human", 0)).status_code == 401


@pytest.mark.parametrize(("shown", "status"), [("photos", 200), ("another", 404)])
def test_a_read_only_app_gives_pictures_of_its_runs_alone(
    server: TestClient, run: Run, monkeypatch: pytest.MonkeyPatch, shown: str, status: int
) -> None:
    monkeypatch.setenv(sharing.READ_ONLY, shown)
    assert server.get(picture_url(run, "human", 0)).status_code == status
