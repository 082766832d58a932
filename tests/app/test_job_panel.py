"""The panel of jobs: what waits, what was interrupted and can be resumed, and what the workers wrote."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from mauve_app.components.jobs import COMPARE_PAGE
from mauve_app.server import access
from mauve_core.jobs import queue
from mauve_core.jobs.state import CANCEL, TASK, JobState, write_state
from tests.job_folders import job

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/new_run.py"
RUNS = "views/runs.py"


def ended(number: int, run: str | None = None, **values: str) -> JobState:
    """A job that reads that run and has ended."""
    with job(number, log="what the worker wrote\n", **values) as state:
        pass
    if run is not None:
        (queue.jobs_folder() / state.id / TASK).write_text(json.dumps({"run": run}))
    return state


def listed(app: AppTest) -> list[str]:
    """Ids of the jobs that have ended and stand on the page."""
    keys = [str(button.key) for button in app.button]
    return [key.removeprefix("dismiss_") for key in keys if key.startswith("dismiss_")]


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def told(app: AppTest) -> list[dict[str, Any]]:
    """What the browser is told of each job at work."""
    sent = [json.loads(element.proto.json) for element in app.get("bidi_component") if element.proto.json]
    return [data["told"] for data in sent if "told" in data]


def progress(app: AppTest) -> list[str]:
    return [str(each["text"]) for each in told(app)]


def test_every_page_shows_the_jobs_at_work_once(open_page: OpenPage) -> None:
    with job(1, status="running", stage="Encoding", done=1, total=4), job(2, status="queued", kind="sweep"):
        said = ["Encoding: 1 of 4", "Waiting: 1 job ahead of it"]
        for page in ("compare", "map", "published", "new_run"):
            assert sorted(progress(open_page(f"views/{page}.py"))) == said
    assert not progress(open_page("views/published.py"))


def test_visitors_who_only_read_see_no_job(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    with job(1, status="running", stage="Encoding", done=1, total=4):
        monkeypatch.setattr(access, "may_change", lambda: False)
        assert not progress(open_page("views/published.py"))


def test_a_job_that_is_to_stop_says_so_and_is_not_asked_again(open_page: OpenPage) -> None:
    with job(1, status="running", stage="Encoding", done=1, total=4) as state:
        app = open_page(VIEW)
        (button,) = [button for button in app.button if button.label == "Cancel"]
        app = button.click().run()
        assert (queue.jobs_folder() / state.id / CANCEL).exists()
        assert progress(app) == ["Stopping. Encoding: 1 of 4"]
        assert [button.disabled for button in app.button if button.label == "Cancel"] == [True]


def test_an_interrupted_job_says_what_is_kept_and_is_resumed(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    resumed: list[str] = []
    monkeypatch.setattr(queue, "resume", resumed.append)
    with job(1, status="running") as state:
        pass  # the worker is gone
    app = open_page(VIEW)
    (warning,) = app.warning
    assert "features already computed are kept" in warning.value
    assert any("interrupted" in element.value for element in app.markdown)
    (button,) = [button for button in app.button if button.label == "Resume"]
    button.click().run()
    assert resumed == [state.id]


def test_the_log_is_shown_as_it_is(open_page: OpenPage) -> None:
    log = "2026-01-01 10:00:00  Reading files: 4\n2026-01-01 10:00:01  Warning: ![x](http://evil/) <b>\n"
    with job(1, status="running", log=log):
        assert [each["log"] for each in told(open_page(VIEW))] == [log.splitlines()]
    app = open_page(VIEW)  # its worker is gone
    assert [item.label for item in app.expander if item.label == "Log"] == ["Log"]
    (code,) = [element for element in app.code if "Reading files" in element.value]
    assert code.value == log.strip()
    assert code.language == "plaintext"


def test_a_job_that_another_tab_has_removed_is_no_error(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    with job(1, status="cancelled") as state:
        app = open_page(VIEW)
    queue.remove(state.id)
    (button,) = [button for button in app.button if button.label == "Resume"]
    button.click().run()
    assert not app.exception
    assert "No job has the id" in app.toast[0].value.replace("\\", "")


def test_a_job_without_a_readable_description_is_listed_and_dismissed(open_page: OpenPage, own_home: Path) -> None:
    state = ended(1, kind="sweep", status="failed", message="It broke")
    (queue.jobs_folder() / state.id / TASK).write_text("{")
    app = open_page(RUNS)
    assert listed(app) == [state.id]
    app.button(key=f"dismiss_{state.id}").click().run()
    assert not app.exception
    assert queue.list() == ()


def test_a_dismissed_job_comes_back_whole(open_page: OpenPage, own_home: Path) -> None:
    first, second = (ended(n, kind="sweep", status="failed", message="It *broke*") for n in (1, 2))
    before = queue.list()
    app = open_page(RUNS)
    app.button(key=f"dismiss_{first.id}").click().run()
    assert listed(app) == [second.id]
    assert "**job 1** was dismissed" in "".join(caption.value for caption in app.caption)
    assert "jobs_undo_button" not in [button.key for button in open_page(VIEW).button]
    app.button(key="jobs_undo_button").click().run()
    assert not app.exception
    assert listed(app) == [second.id, first.id]
    assert queue.list() == before
    assert queue.log_lines(first.id) == ("what the worker wrote",)
    assert "jobs_undo_button" not in [button.key for button in app.button]


def test_scores_that_are_ready_are_opened_while_the_job_goes_on(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(st, "switch_page", lambda page, query_params: opened.append((page, query_params)))
    with job(1, status="running", stage="Encoding") as state:
        app = open_page(VIEW)
        assert "Open results" not in labels(app)
        assert not app.toast
        write_state(queue.jobs_folder() / state.id, dataclasses.replace(state, run="made", stage="drawing the map"))
        app.run()
        assert [toast.value for toast in app.toast] == ["The scores of **job 1** are ready."]
        (button,) = [button for button in app.button if button.label == "Open results"]
        assert app.button(f"open_{state.id}").proto.type == "primary"
        assert "Cancel" in labels(app)
        button.click().run()
        assert opened == [(COMPARE_PAGE, {"run": "made"})]
        assert not app.run().toast, "said once"
    app = open_page(VIEW)  # its worker is gone: the run is there all the same
    assert "Resume" in labels(app)
    assert "Open results" not in labels(app)
    assert [link.proto.label for link in app.get("page_link")].count("Open results") == 1
