"""The panel of jobs: what waits, what was interrupted and can be resumed, and what the workers wrote."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core import jobs
from mauve_core.job_state import JobState
from tests.job_folders import job

OpenPage = Callable[..., AppTest]
VIEW = "views/new_run.py"


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def progress(app: AppTest) -> list[str]:
    return [element.proto.text.replace("\\", "") for element in app.get("progress")]


def test_a_waiting_job_says_how_many_it_waits_for(open_page: OpenPage) -> None:
    with (
        job(1, status="running", stage="Encoding", done=1, total=4),
        job(2, status="queued", kind="sweep"),  # not on this page, and yet before the next
        job(3, status="queued"),
    ):
        assert progress(open_page(VIEW)) == ["Waiting: 2 jobs before it", "Encoding: 1 of 4"]


def test_an_interrupted_job_says_what_is_kept_and_is_resumed(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    resumed: list[str] = []
    monkeypatch.setattr(jobs, "resume", resumed.append)
    with job(1, status="running") as state:
        pass  # the worker is gone
    app = open_page(VIEW)
    (warning,) = app.warning
    assert "the texts that were encoded are kept" in warning.value
    assert any("interrupted" in element.value for element in app.markdown)
    (button,) = [button for button in app.button if button.label == "Resume"]
    button.click().run()
    assert resumed == [state.id]


def test_work_of_which_nothing_is_kept_is_started_again(open_page: OpenPage) -> None:
    with job(1, status="cancelled", kind="without"), job(2, status="failed", kind="study", message="No space left"):
        shown = labels(open_page(VIEW))
    assert shown.count("Start again") == 1
    assert shown.count("Resume") == 1


def test_the_log_is_shown_as_it_is(open_page: OpenPage) -> None:
    log = "2026-01-01 10:00:00  Reading texts: 4\n2026-01-01 10:00:01  Warning: ![x](http://evil/) <b>\n"
    with job(1, status="running", log=log):
        app = open_page(VIEW)
    assert [item.label for item in app.expander if item.label == "Log"] == ["Log"]
    (code,) = [element for element in app.code if "Reading texts" in element.value]
    assert code.value == log.strip()
    assert code.language == "plaintext"


def test_a_job_that_another_tab_has_removed_is_no_error(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    with job(1, status="cancelled") as state:
        app = open_page(VIEW)
    jobs.remove(state.id)
    (button,) = [button for button in app.button if button.label == "Resume"]
    button.click().run()
    assert not app.exception
    assert "No job has the id" in app.toast[0].value.replace("\\", "")


def test_a_refusal_to_resume_is_said(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    with job(1, status="cancelled"):
        app = open_page(VIEW)  # its description is empty: nothing can be resumed
    (button,) = [button for button in app.button if button.label == "Resume"]
    button.click().run()
    assert not app.exception
    assert "no description of a task" in app.toast[0].value
    (state,) = jobs.list()
    assert isinstance(state, JobState)
    assert state.status == "cancelled"
