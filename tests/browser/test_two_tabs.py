"""Two tabs of one app: what is done in one, or by another program, the other shows by itself within seconds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from mauve_core.analyses.comparison_task import RecompareTask
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.jobs import queue
from mauve_core.runs import RunStore
from tests.browser import charts
from tests.browser.conftest import serving, still
from tests.job_folders import turn_taken
from tests.synthetic import make_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial, pytest.mark.rare]

JOB_TIMEOUT_MS = 240_000
NAME = "made meanwhile"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the app under test, for this process too."""
    folder = tmp_path / "live-home"
    monkeypatch.setenv(HOME_VARIABLE, str(folder))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    make_run(folder, n=60, seeds=2, projection=False)
    return folder


@pytest.fixture
def app(chromium: Browser, home: Path) -> Iterator[str]:
    with serving(home) as url:
        yield url


@pytest.fixture
def tabs(chromium: Browser) -> Iterator[tuple[Page, Page]]:
    """Two tabs of one browser."""
    context = still(chromium, viewport={"width": 1280, "height": 1000})
    yield context.new_page(), context.new_page()
    context.close()


def touched(page: Page) -> None:
    """From now on the page says when somebody reloads it or touches it."""
    page.evaluate("""() => { for (const kind of ['pointerdown', 'keydown', 'beforeunload'])
        window.addEventListener(kind, () => { window.name = 'touched' }) }""")


def offered(page: Page) -> list[str]:
    """The runs among which the sidebar's picker chooses."""
    charts.settle(page)
    page.get_by_role("combobox", name="Run").click()
    names = page.get_by_role("option").all_inner_texts()
    page.keyboard.press("Escape")
    return [name.split(" (")[0] for name in names]


def test_the_other_tab_shows_jobs_runs_and_names_by_itself(app: str, home: Path, tabs: tuple[Page, Page]) -> None:
    one, two = tabs
    one.goto(f"{app}/?run=synthetic")
    two.goto(f"{app}/runs?run=synthetic")
    expect(one.get_by_role("heading", name="Leaderboard")).to_be_visible()
    expect(two.get_by_text("1 run. Total size")).to_be_visible()
    assert offered(one) == ["synthetic"]
    touched(one)
    touched(two)

    config = RunStore().load("synthetic").comparison.config
    with turn_taken():  # it may be done before a page on which there were no jobs looks again
        job = queue.start(RecompareTask(NAME, "synthetic", config))
        expect(two.get_by_role("button", name="Cancel", exact=True)).to_be_visible()
    expect(two.get_by_role("link", name="Open results")).to_be_visible(timeout=JOB_TIMEOUT_MS)
    expect(two.get_by_role("link", name=NAME)).to_be_visible()  # its card
    made = queue.status(job.id).run
    assert made is not None

    RunStore().describe("synthetic", name="renamed meanwhile", tags=["final"])
    expect(two.get_by_role("link", name="renamed meanwhile")).to_be_visible()
    expect(two.get_by_text("final", exact=True)).to_be_visible()
    expect(one.get_by_role("combobox", name="Run")).to_have_value(re.compile("renamed meanwhile"))
    assert [page.evaluate("window.name") for page in tabs] == ["", ""]
    assert sorted(offered(one)) == [NAME, "renamed meanwhile"]

    RunStore().delete("synthetic")
    expect(one.get_by_text("No run has the id 'synthetic'")).to_be_visible()
