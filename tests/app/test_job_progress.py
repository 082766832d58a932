"""What browsers are told of a job at work, over the route that they ask."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from mauve_app.components import live_updates
from mauve_core.base import sharing
from mauve_core.jobs import queue
from mauve_core.jobs.state import write_state
from tests.job_folders import job


@pytest.fixture
def client(own_home: Path) -> Iterator[TestClient]:
    with TestClient(Starlette(routes=live_updates.routes())) as client:
        yield client


def test_the_route_follows_a_job_to_its_end(client: TestClient) -> None:
    with job(1, status="running", stage="encoding", done=1, total=4, log="one\ntwo\n") as state:
        answer = client.get(f"{live_updates.PROGRESS}{state.id}")
        drawn = {"active": True, "run": None, "text": "Encoding: 1 of 4", "share": 0.25}
        drawn |= {"said": "", "log": ["one", "two"]}
        assert answer.json() == drawn
        assert answer.headers["cache-control"] == "no-store"
        folder = queue.jobs_folder() / state.id
        write_state(folder, dataclasses.replace(state, done=3))
        assert client.get(f"{live_updates.PROGRESS}{state.id}").json()["share"] == 0.75
        queue.cancel(state.id)
        assert client.get(f"{live_updates.PROGRESS}{state.id}").json()["text"] == "Stopping. Encoding: 3 of 4"
    ended = client.get(f"{live_updates.PROGRESS}{state.id}").json()
    assert not ended["active"]
    assert "Stopping" not in ended["text"]


def test_a_waiting_job_counts_those_before_it(client: TestClient) -> None:
    with job(1, status="running"), job(2, status="queued"), job(3, status="queued") as last:
        assert client.get(f"{live_updates.PROGRESS}{last.id}").json()["text"] == "Waiting: 2 jobs ahead of it"


def test_more_done_than_there_is_still_fits_the_bar(own_home: Path) -> None:
    with job(1, status="running", stage="encoding", done=5, total=4) as state:
        assert live_updates.progress_data(state)["share"] == 1
    with job(2, status="running") as state:
        assert live_updates.progress_data(state)["share"] == 0


@pytest.mark.parametrize("name", ["20260101-000000000001-abcd", "..%2F..%2Fetc", "nothing"])
def test_unknown_jobs_are_not_found(client: TestClient, name: str) -> None:
    assert client.get(f"{live_updates.PROGRESS}{name}").status_code == 404


def test_visitors_who_may_only_look_are_told_nothing(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with job(1, status="running", stage="encoding") as state:
        monkeypatch.setenv(sharing.READ_ONLY, "some-run")
        answer = client.get(f"{live_updates.PROGRESS}{state.id}")
    assert answer.status_code == 403
    assert "ncoding" not in answer.text
