"""A job at work as the browser draws it: by itself, as plain text, to its end, beside whatever else the page does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from mauve_core.base.files import HOME_VARIABLE
from mauve_core.jobs import queue
from mauve_core.jobs.state import LOG, JobState, write_state
from tests.browser import charts
from tests.browser.conftest import serving
from tests.job_folders import job

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

HOSTILE = "Warning: ![x](http://evil.example/) <img src=x onerror=alert(1)>"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the app under test, for this process too."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "live-home"))
    return tmp_path / "live-home"


@pytest.fixture
def app(chromium: Browser, home: Path) -> Iterator[str]:
    with serving(home) as url:
        yield url


def progressed(state: JobState, **values: object) -> JobState:
    """What a worker writes as it goes on."""
    return write_state(queue.jobs_folder() / state.id, dataclasses.replace(state, **values))  # type: ignore[arg-type]


def test_progress_is_drawn_without_a_run_of_the_page_until_the_end(page: Page, app: str) -> None:
    with ExitStack() as worker:
        state = worker.enter_context(job(1, status="running", stage="encoding", done=1, total=4, log="begun\n"))
        asked: list[object] = []  # what the browser sent over the connection that runs pages
        page.on("websocket", lambda socket: socket.on("framesent", lambda sent: asked.append(sent)))
        page.goto(f"{app}/new_run")
        bar = page.get_by_role("progressbar", name=state.name)
        expect(page.get_by_text("Encoding: 1 of 4")).to_be_visible()
        expect(bar).to_have_attribute("aria-valuenow", "25")
        charts.settle(page)
        before = len(asked)
        assert before > 0
        page.get_by_text("Log", exact=True).click()
        expect(page.get_by_text("begun")).to_be_visible()
        with (queue.jobs_folder() / state.id / LOG).open("a") as log:
            log.write(f"{HOSTILE}\n")
        state = progressed(state, done=3)
        expect(page.get_by_text("Encoding: 3 of 4")).to_be_visible()
        expect(bar).to_have_attribute("aria-valuenow", "75")
        expect(page.get_by_text(HOSTILE)).to_be_visible()
        assert page.locator("details img").count() == 0
        assert len(asked) == before, "nothing ran for it"
        page.get_by_role("button", name="Cancel", exact=True).click()
        expect(page.get_by_text("Stopping. Encoding: 3 of 4")).to_be_visible()
        expect(page.get_by_role("button", name="Cancel", exact=True)).to_be_disabled()
        expect(page.get_by_text(HOSTILE)).to_be_visible()
        progressed(state, status="cancelled")
    expect(page.get_by_text(f"{state.name} · cancelled")).to_be_visible()
    expect(bar).to_have_count(0)
    logs = page.get_by_text("Log", exact=True)
    expect(logs).to_have_count(1)  # that of the running job goes when the page has run
    logs.click()
    expect(page.get_by_text(HOSTILE)).to_be_visible()
