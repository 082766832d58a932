"""A job belongs to no page: it is there after a reload, in another browser, and whatever happens to the server."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from mauve_core.analyses.comparison_task import ComparisonTask
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.jobs import queue
from mauve_core.jobs.state import TASK, JobState, read_json
from mauve_core.runs import RunStore
from tests.browser import charts, results
from tests.browser.conftest import free_port, server_process, still, wait_until_healthy
from tests.browser.test_upload import choose_encoder, uploader
from tests.long_jobs import SIDES, contents, make_task, require_no_leftovers, require_whole, undisturbed

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial, pytest.mark.rare]

JOB_TIMEOUT_MS = 240_000
NAME = "human vs close, collapsed"
# Kills of the server, and how many of them find it still starting.
KILLS, WHILE_STARTING = 10, 4

MOST_DELAY_S = 2.0


@pytest.fixture
def live_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the app under test, for this process too."""
    home = tmp_path / "live-home"
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return home


@pytest.fixture
def second_page(chromium: Browser) -> Iterator[Page]:
    """A page of another browser profile."""
    context = still(chromium, viewport={"width": 1280, "height": 1000})
    yield context.new_page()
    context.close()


def start(page: Page, url: str, task: ComparisonTask) -> None:
    """Upload the task's files, choose its encoder, start."""
    page.goto(f"{url}/new_run")
    uploader(page, 0).set_input_files(task.human.path)
    expect(page.get_by_text(re.compile(r"\d+ texts"))).to_be_visible()
    uploader(page, 1).set_input_files([file.path for file in task.candidates.values()])
    expect(page.get_by_label(re.compile(f"Name of {SIDES[-1]}"))).to_have_value(SIDES[-1])
    assert task.config.encoder is not None
    choose_encoder(page, task.config.encoder.model)
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text(NAME)).to_be_visible()


def only_job() -> JobState:
    (job,) = queue.list()
    return job


def test_two_browsers_watch_cancel_and_resume_one_job(
    page: Page, second_page: Page, empty_app: str, tmp_path: Path, live_home: Path
) -> None:
    start(page, empty_app, make_task(tmp_path / "files", 200))
    encoding = re.compile(r"Encoding tokens of \w+: [\d,]+ of [\d,]+")
    expect(page.get_by_text(encoding)).to_be_visible(timeout=JOB_TIMEOUT_MS)
    page.reload()
    second_page.goto(f"{empty_app}/new_run")
    for each in (page, second_page):
        expect(each.get_by_text(encoding)).to_be_visible()
    charts.settle(second_page)
    second_page.get_by_role("button", name="Cancel", exact=True).click()
    for each in (second_page, page):
        expect(each.get_by_text(f"{NAME} · cancelled")).to_be_visible()
    kept = only_job()
    charts.settle(page)
    page.get_by_text("Log", exact=True).click()
    expect(page.get_by_text("Cancelled on request")).to_be_visible()
    page.get_by_role("button", name="Resume", exact=True).click()
    for each in (page, second_page):
        expect(each.get_by_role("button", name="Cancel", exact=True)).to_be_visible()
    for each in (page, second_page):
        results.expect_done(each, JOB_TIMEOUT_MS)
    assert (only_job().id, only_job().status) == (kept.id, "done")
    require_no_leftovers(only_job())


def test_a_job_ends_as_if_alone_while_the_server_is_killed_ten_times(
    page: Page, tmp_path: Path, live_home: Path
) -> None:
    rng, port, log = np.random.default_rng(5), free_port(), tmp_path / "app.log"
    url = f"http://127.0.0.1:{port}"
    with server_process(live_home, port) as server:
        wait_until_healthy(port, server, log)
        start(page, url, make_task(tmp_path / "files", 1000))
        server.kill()
        server.wait()
    at_work = [only_job().active]
    starting = set(rng.choice(np.arange(1, KILLS), size=WHILE_STARTING, replace=False).tolist())
    for kill in range(1, KILLS):
        with server_process(live_home, port) as server:
            if kill not in starting:
                wait_until_healthy(port, server, log)
            time.sleep(rng.uniform(0, MOST_DELAY_S))
            at_work.append(only_job().active)
            server.kill()
            server.wait()
        require_whole(only_job())
    assert sum(at_work) > KILLS // 2, "most kills meet a job at work"
    with server_process(live_home, port) as server:
        wait_until_healthy(port, server, log)
        results.expect_done(page, JOB_TIMEOUT_MS)  # the open page came back by itself
        page.reload()  # a browser asks but once for a piece of the page, and then there may have been no server
        results.expect_done(page, JOB_TIMEOUT_MS)
        ended = only_job()
        lines = queue.log_lines(ended.id, 1000)
        assert sum("  Worker " in line for line in lines) == 1, "one worker from beginning to end"
        assert ended.run is not None
        found = contents(RunStore().root / ended.run)
        require_no_leftovers(ended)
    task = ComparisonTask.from_json(read_json(queue.jobs_folder() / ended.id / TASK))
    assert found == undisturbed(task, tmp_path / "first")
