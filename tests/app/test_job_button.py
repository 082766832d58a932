"""Where a form's button stands: what it starts, its progress, its failure, its results, and how long it may take."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from mauve_app.components.jobs import COMPARE_PAGE
from mauve_core.analyses.estimator_sweeps import SweepTask
from mauve_core.analyses.tasks import Task
from mauve_core.jobs import estimates, queue
from mauve_core.jobs.state import TASK, JobState, write_json, write_state
from mauve_core.runs import Run
from tests.app.test_job_panel import progress
from tests.app.test_new_run_view import jsonl, start_button, upload
from tests.job_folders import job

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
DECODERS, NEW_RUN = "views/decoders.py", "views/new_run.py"
SWEEP = {"section": "sweeps", "axis": "scale"}
PLACE = "sweep_start_scale"
# Id of the job that a press starts.
STARTED = "20260101-000000000009-abcd"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Task, Any]]:
    """What the page asked to start, and how much work it said that is; no worker starts."""
    found: list[tuple[Task, Any]] = []

    def start(task: Task, amount: Any = None) -> JobState:
        found.append((task, amount))
        state = JobState(STARTED, task.title, "queued", kind=task.kind)
        write_json(queue.jobs_folder() / state.id / TASK, task.to_json())
        return write_state(queue.jobs_folder() / state.id, state)

    monkeypatch.setattr(queue, "start", start)
    return found


def keys(app: AppTest) -> list[str]:
    return [str(button.key) for button in app.button]


def said(app: AppTest) -> str:
    return "\n".join(element.value for element in (*app.caption, *app.markdown)).replace("\\", "")


def ended(state: JobState, status: str, **values: Any) -> JobState:
    """The same job as its worker leaves it, 12 s after it began."""
    folder = queue.jobs_folder() / state.id
    written = write_state(folder, state)
    begun = dataclasses.replace(written, status=status, started=earlier(written.updated, 12), **values)  # type: ignore[arg-type]
    return write_state(folder, begun)


def earlier(time: str, seconds: float) -> str:
    return (datetime.fromisoformat(time) - timedelta(seconds=seconds)).isoformat()


def test_the_progress_stands_in_the_place_of_the_button_until_the_job_is_done(open_page: OpenPage, run: Run) -> None:
    at_work = {"kind": "sweep", "task": {"run": run.id}, "status": "running", "stage": "scoring"}
    with job(1, done=1, total=4, **at_work) as state:
        app = open_page(DECODERS, **SWEEP)
        assert PLACE not in keys(app)
        assert progress(app) == ["Scoring: 1 of 4"], "once: the sidebar leaves out what the page shows"
        assert f"cancel_{state.id}" in keys(app)
        ended(state, "done", run=run.id)
    app.run()
    assert PLACE in keys(app)
    assert "Done in 12 s" in said(app)
    assert not progress(app)
    assert f"open_{state.id}" not in keys(app), "the results are on this page"
    assert "Done in" not in said(open_page(DECODERS, **SWEEP)), "in another visit it is no news"


def test_a_failure_is_said_in_the_same_place_and_the_form_is_kept(
    open_page: OpenPage, run: Run, started: list[Any]
) -> None:
    status = "failed"
    app = open_page(DECODERS, **SWEEP)
    (values,) = [box for box in app.text_input if str(box.key).startswith("sweep_values")]
    values.set_value("2, 3").run()
    app.button(key=PLACE).click().run()
    assert not app.exception
    ended(queue.status(STARTED), status, message="No value <b>fits</b>")
    app.run()
    assert PLACE in keys(app)
    assert [error.value.replace("\\", "") for error in app.error] == ["No value <b>fits</b>"] * (status == "failed")
    (values,) = [box for box in app.text_input if str(box.key).startswith("sweep_values")]
    assert values.value == "2, 3"
    assert f"resume_{STARTED}" in keys(app)
    app.button(key=f"dismiss_{STARTED}").click().run()
    assert not app.error
    assert "jobs_undo_button" in keys(app)


def test_an_estimate_stands_beside_the_button_once_such_a_job_was_done(
    open_page: OpenPage, run: Run, started: list[Any]
) -> None:
    app = open_page(DECODERS, **SWEEP)
    assert "About" not in said(app)
    app.button(key=PLACE).click().run()
    ((task, amount),) = started
    assert isinstance(task, SweepTask)
    assert amount == task.amount(run)
    queue_folder = queue.jobs_folder() / STARTED
    shutil.rmtree(queue_folder)
    estimates.remember("sweep", amount, 40.0)
    last = f"(last time 40 s for {amount.words})"
    assert f"About 40 s {last}" in said(app.run())
    (values,) = [box for box in app.text_input if str(box.key).startswith("sweep_values")]
    usual = len(task.values or ())
    values.set_value("2, 3").run()
    assert f"About {round(40 * 2 / usual)} s {last}" in said(app)


def fill_in(app: AppTest) -> None:
    upload(app, "human", ("human.jsonl", jsonl()))
    upload(app, "models", ("greedy.jsonl", jsonl()))
    app.selectbox(key="encoder_model_text").set_value("minilm").run()


@pytest.mark.usefixtures("own_home")
def test_a_new_run_is_opened_from_where_it_was_started(
    open_page: OpenPage, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(st, "switch_page", lambda page, query_params: opened.append((page, query_params)))
    monkeypatch.setattr("mauve_app.components.jobs.check_model", lambda *_: None)
    app = open_page(NEW_RUN)
    fill_in(app)
    start_button(app).click().run()
    assert not app.exception
    ((_, amount),) = started
    assert (amount.size, amount.encodes) == (2 * len(jsonl().splitlines()), "all")
    ended(queue.status(STARTED), "done", run="made")
    app.run()
    assert [b.label for b in app.button if b.proto.type == "primary"] == ["Open results"]
    assert start_button(app).proto.type == "secondary"
    assert "Done in 12 s" in said(app)
    app.button(key=f"open_{STARTED}").click().run()
    assert opened == [(COMPARE_PAGE, {"run": "made"})]


@pytest.mark.usefixtures("own_home")
def test_nobody_waits_for_another_persons_new_run(open_page: OpenPage) -> None:
    with job(1, status="running", stage="encoding", done=1, total=4):
        app = open_page(NEW_RUN)
        assert "new_run_start" not in keys(app), "nothing is filled in, as after a reload"
        assert progress(app) == ["Encoding: 1 of 4"]
        fill_in(app)
        assert not start_button(app).disabled
        assert progress(app) == ["Encoding: 1 of 4"], "below the button"
