"""What makes an open page be drawn anew: runs and jobs that come, change and go, and nothing else."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from mauve_app.components import live_updates
from mauve_core.base import sharing
from mauve_core.findings.precomputed import run_words
from mauve_core.jobs import queue
from mauve_core.jobs.state import TASK, write_state
from mauve_core.runs import Run, RunStore
from mauve_core.runs.ratings import RatingStore
from tests.job_folders import job
from tests.synthetic import make_run


@pytest.fixture
def run(own_home: Path) -> Run:
    return make_run(own_home, n=40, seeds=1, projection=False)


def test_whatever_happens_to_a_run_is_news(run: Run, own_home: Path) -> None:
    store = RunStore()
    seen = [live_updates.sign()]
    for change in (
        lambda: store.describe(run.id, name="other"),
        lambda: store.describe(run.id, name="again"),  # within the same tick of the clock, perhaps
        lambda: store.tag(run.id, add=["final"]),
        lambda: store.attach(run.id, "some-results", {}),
        lambda: make_run(own_home, name="second", n=40, seeds=1, projection=False),
        lambda: store.delete(run.id),
        lambda: store.restore(store.deleted()[0].token),
    ):
        change()
        assert live_updates.sign() != seen[-1]
        assert live_updates.sign() == live_updates.sign()
        seen.append(live_updates.sign())


def test_ratings_and_what_pages_keep_are_none(run: Run) -> None:
    before = live_updates.sign()
    RatingStore(run.ratings_path).counts()
    run_words(run, "close")
    assert (run.path / "derived").is_dir()
    assert live_updates.sign() == before


def test_jobs_are_news_when_they_come_are_to_stop_end_and_go_but_not_by_their_progress(own_home: Path) -> None:
    seen = [live_updates.sign()]
    with job(1, status="running", done=1, total=4) as state:
        seen.append(live_updates.sign())
        folder = queue.jobs_folder() / state.id
        write_state(folder, dataclasses.replace(state, done=2))
        assert live_updates.sign() == seen[-1]
        (folder / TASK).write_text("{}")
        assert live_updates.sign() == seen[-1]
        queue.cancel(state.id)
        seen.append(live_updates.sign())
    seen.append(live_updates.sign())  # its worker is gone, and has written nothing
    shutil.rmtree(folder)
    assert live_updates.sign() == seen[0]
    assert len(set(seen)) == 4


def test_visitors_who_may_only_look_hear_of_the_runs_that_they_see(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sharing.READ_ONLY, "another")
    nothing = live_updates.sign()
    RunStore().describe(run.id, name="unseen")
    assert live_updates.sign() == nothing
    monkeypatch.setenv(sharing.READ_ONLY, run.id)
    before = live_updates.sign()
    assert before != nothing
    with job(1, status="running"):
        assert live_updates.sign() == before
    RunStore().describe(run.id, name="other")
    assert live_updates.sign() != before


def test_browsers_are_told_the_same_digest_over_the_route(run: Run) -> None:
    with TestClient(Starlette(routes=live_updates.routes())) as client:
        before = client.get(live_updates.NEWS)
        assert before.text == live_updates.sign()
        assert before.headers["cache-control"] == "no-store"
        RunStore().describe(run.id, name="other")
        assert client.get(live_updates.NEWS).text == live_updates.sign() != before.text


def test_a_damaged_home_is_no_error_of_the_look(own_home: Path) -> None:
    own_home.mkdir()
    (own_home / "runs").write_text("no folder")
    assert live_updates.sign() == ""
