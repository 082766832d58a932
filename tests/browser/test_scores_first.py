"""A run's scores are on Compare while its map is still being drawn; Map shows the map by itself when it is there."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from mauve_core.base.files import HOME_VARIABLE
from mauve_core.jobs import queue
from mauve_core.store import RunStore
from tests.browser import charts
from tests.browser.test_jobs_shared import JOB_TIMEOUT_MS, NAME, only_job, start
from tests.long_jobs import make_task

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]


def test_scores_first_then_the_map(page: Page, empty_app: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "live-home"))
    task = make_task(tmp_path / "files", 60)
    start(page, empty_app, dataclasses.replace(task, config=dataclasses.replace(task.config, projection=True)))
    end = time.monotonic() + JOB_TIMEOUT_MS / 1000
    while (run := only_job().run) is None:
        assert time.monotonic() < end, only_job()
        time.sleep(0.02)
    (worker,) = re.findall(r"Worker (\d+) ", "\n".join(queue.log_lines(only_job().id, 100)))
    os.kill(int(worker), signal.SIGSTOP)  # the map takes its time
    try:
        assert RunStore().load(run).comparison.projection is None
        expect(page.get_by_text(f"The scores of {NAME} are ready.")).to_be_visible(timeout=JOB_TIMEOUT_MS)
        page.get_by_role("button", name="Open results").click()
        expect(page).to_have_url(re.compile(f"run={run}"))
        expect(page.get_by_role("heading", name="Compare", exact=True)).to_be_visible()
        expect(page.get_by_test_id("stMain").get_by_text("close").first).to_be_visible()
        assert only_job().active
        charts.settle(page)
        page.get_by_test_id("stSidebar").get_by_role("link", name="Map", exact=True).click()
        expect(page.get_by_text("The map is still being made.")).to_be_visible()
        expect(page.get_by_role("progressbar")).to_be_visible()
        expect(page.get_by_role("button", name="Make the map")).to_have_count(0)
    finally:
        os.kill(int(worker), signal.SIGCONT)
    expect(page.get_by_text(re.compile(r"of \d+ texts shown"))).to_be_visible(timeout=JOB_TIMEOUT_MS)
    assert RunStore().load(run).comparison.projection is not None
