"""A job in the place of the button that started it: pressed by keyboard, watched, done; the focus is never lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from mauve_core.base.files import HOME_VARIABLE
from mauve_core.runs import Run
from tests.browser import charts
from tests.browser.test_upload import JOB_TIMEOUT_MS
from tests.job_folders import job
from tests.synthetic import make_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial, pytest.mark.rare]

PLACE = ".st-key-sweep_start_scale_place"
# Pixels by which the progress may stand higher or lower than the button did.
MOST_MOVED = 8.0


@pytest.fixture
def run(empty_app: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "live-home"))
    return make_run(tmp_path / "live-home", n=60, seeds=2, projection=False)


def wait_for_focus(page: Page, selector: str) -> None:
    """The keyboard's focus is in that element, or on it."""
    page.wait_for_function("name => document.querySelector(name)?.contains(document.activeElement)", arg=selector)


def top(page: Page, selector: str) -> float:
    return float(page.locator(selector).evaluate("element => element.getBoundingClientRect().top + scrollY"))


def test_a_job_takes_the_place_and_the_focus_of_its_button(page: Page, empty_app: str, run: Run) -> None:
    page.goto(f"{empty_app}/decoders?run={run.id}&section=sweeps&axis=scale")
    button = page.get_by_role("button", name="Compute", exact=True)
    progress = page.locator(PLACE).get_by_role("progressbar")
    expect(button).to_be_visible()
    charts.settle(page)
    before = top(page, PLACE)
    with job(1, kind="measures", status="running", stage="measuring", done=1, total=4):  # the new one waits for it
        button.focus()
        page.keyboard.press("Enter")
        expect(page.locator(PLACE).get_by_text("Waiting: 1 job ahead of it")).to_be_visible()
        expect(progress).to_have_count(1)
        expect(button).to_have_count(0)
        wait_for_focus(page, PLACE)
        assert abs(top(page, PLACE) - before) <= MOST_MOVED
        charts.settle(page)
        page.keyboard.press("Tab")
        expect(page.locator(PLACE).get_by_role("button", name="Cancel", exact=True)).to_be_visible()
        wait_for_focus(page, PLACE)
    expect(page.get_by_text("Done in")).to_be_visible(timeout=JOB_TIMEOUT_MS)
    expect(page.get_by_role("heading", name="MAUVE against scaling constant c")).to_be_visible()
    wait_for_focus(page, f"{PLACE}_done")
    expect(button).to_be_hidden()
    page.get_by_text("Compute again with other values").click()
    expect(button).to_be_enabled()
