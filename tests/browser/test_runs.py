"""The Runs page in the real browser, as a person keeps house there."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from mauve_core.store import Run, RunStore
from mauve_core.tasks.recompare import RecompareTask, changed
from tests.browser import charts, results
from tests.browser.conftest import serving
from tests.job_folders import turn_taken
from tests.synthetic import make_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

N = 40
PREPARED_S = 240


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the run ``synthetic``, its repetition under another seed, and one with another k."""
    home = tmp_path / "live-home"
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    run = make_run(home, n=N, seeds=2, projection=False)
    for name, change in (("other draw", {"seed": 1}), ("finer", {"k": 8})):
        again(run, name, change)
    return home


def again(run: Run, name: str, change: dict[str, int]) -> None:
    RecompareTask(name, run.id, changed(run.comparison.config, change)).perform()


def card(page: Page, run_id: str) -> Locator:
    return page.locator(f".st-key-run_{run_id}")


def press(page: Page, target: Locator) -> None:
    """By keyboard, once the page rests."""
    charts.settle(page)
    target.focus()
    page.keyboard.press("Enter")


def test_keeping_house(page: Page, home: Path, tmp_path: Path) -> None:
    store = RunStore(home / "runs")
    with serving(home) as url:
        page.goto(f"{url}/runs")
        for run_id in ("synthetic", "other-draw", "finer"):
            expect(card(page, run_id)).to_be_visible()
        charts.settle(page)

        search = page.get_by_label("Search")
        search.fill("draw")
        search.press("Enter")
        expect(card(page, "synthetic")).to_have_count(0)
        expect(page).to_have_url(re.compile(r"[?&]query=draw(&|$)"))

        press(page, card(page, "other-draw").get_by_role("button", name="Edit"))
        name = page.get_by_label("Name", exact=True)
        expect(name).to_have_value("other draw")
        name.fill("Another <b>draw</b>")
        tags = card(page, "other-draw").get_by_role("combobox", name=re.compile("Tags"))
        tags.click()
        tags.fill("paper")
        tags.press("Enter")
        tags.press("Escape")
        card(page, "other-draw").get_by_label("Notes").fill("for the table")
        press(page, page.get_by_role("button", name="Save", exact=True))
        expect(card(page, "other-draw").get_by_role("link", name="Another <b>draw</b>")).to_be_visible()
        expect(card(page, "other-draw").get_by_text("paper", exact=True)).to_be_visible()
        (found,) = store.list(tags=["paper"])
        assert (found.id, found.name, found.notes) == ("other-draw", "Another <b>draw</b>", "for the table")

        press(page, card(page, "other-draw").get_by_role("button", name="Delete"))
        undo = page.locator(".st-key-runs_undo")
        expect(undo).to_contain_text("Another <b>draw</b> is in the bin")
        assert {summary.id for summary in store.list()} == {"synthetic", "finer"}
        press(page, undo.get_by_role("button", name="Undo"))
        expect(card(page, "other-draw")).to_be_visible()
        assert store.list(tags=["paper"]) == [found]

        compare_two(page, store)
        export_and_import(page, store, tmp_path)


def compare_two(page: Page, store: RunStore) -> None:
    """A refusal that names the setting, then one leaderboard; both are in the link."""
    charts.settle(page)
    page.get_by_text("Compare two", exact=True).click()
    charts.choose(page, "Run A", "synthetic (synthetic)")
    charts.choose(page, "Run B", "finer (finer)")
    expect(page.get_by_role("alert").filter(has_text="Do not rank these together")).to_contain_text("Clusters k")
    expect(page.get_by_role("heading", name="One leaderboard")).to_have_count(0)
    charts.choose(page, "Run B", "Another <b>draw</b> (other-draw)")
    expect(page.get_by_role("heading", name="One leaderboard")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"[?&]left=synthetic(&|$)"))
    expect(page).to_have_url(re.compile(r"[?&]right=other-draw(&|$)"))
    page.reload()
    table = charts.table(page, "MAUVE ↑")
    for run_id, title in (("synthetic", "A"), ("other-draw", "B")):
        for candidate in store.load(run_id).comparison.candidates:
            row = table.get_by_role("row").filter(has_text=f"{candidate.name} · {title}")
            expect(row).to_contain_text(f"{candidate.scores['mauve'].mean:.3f}")


def export_and_import(page: Page, store: RunStore, folder: Path) -> None:
    """The file that the button saves holds the run, and comes in again under a free id."""
    charts.settle(page)
    page.get_by_text("All runs", exact=True).click()
    with page.expect_download() as download:
        press(page, card(page, "other-draw").get_by_role("link", name="Export"))
    saved = folder / download.value.suggested_filename
    assert saved.name == "other-draw.mauve-run.zip"
    download.value.save_as(saved)
    press(page, page.get_by_role("button", name="Import"))
    page.get_by_test_id("stFileUploader").locator("input[type=file]").set_input_files(saved)
    outcome = page.locator(".st-key-import_outcome")
    expect(outcome).to_contain_text("Imported Another <b>draw</b>")
    came, was = store.load("other-draw-2"), store.load("other-draw")
    assert [item.scores for item in came.comparison.candidates] == [item.scores for item in was.comparison.candidates]
    assert (came.name, came.tags, came.notes) == (was.name, was.tags, was.notes)
    prepared = {path.name for path in (was.path / "derived").iterdir()}
    deadline = time.monotonic() + PREPARED_S
    while not prepared <= {path.name for path in (came.path / "derived").glob("*")}:
        assert time.monotonic() < deadline, "nobody found out what pages need first"
        page.wait_for_timeout(200)
    outcome.get_by_role("link", name="Open in Compare").click()
    expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()
    expect(page).to_have_url(re.compile(r"[?&]run=other-draw-2(&|$)"))


def test_a_run_is_made_again_from_its_card(page: Page, home: Path) -> None:
    with serving(home) as url:
        page.goto(f"{url}/runs?query=synthetic")
        press(page, card(page, "synthetic").get_by_role("button", name="Duplicate"))
        clusters = page.get_by_role("spinbutton", name="Clusters k")
        charts.settle(page)
        clusters.fill("6")
        clusters.press("Enter")
        expect(page.get_by_label("Name of the new run")).to_have_attribute("placeholder", "synthetic, k 6")
        with turn_taken():
            press(page, page.get_by_role("button", name="Start", exact=True))
            expect(card(page, "synthetic").get_by_role("progressbar")).to_be_visible()
        results.expect_done(page, 240_000)
        press(page, card(page, "synthetic").get_by_role("button", name="Close", exact=True))
        expect(page.get_by_role("spinbutton", name="Clusters k")).to_have_count(0)
        expect(card(page, "synthetic-k-6")).to_be_visible()
    made = RunStore(home / "runs").load("synthetic-k-6").comparison
    assert {candidate.partitions[0].k for candidate in made.candidates} == {6}


@pytest.mark.parametrize("width", [768, 1280])
def test_nothing_is_wider_than_the_page(page: Page, home: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    with serving(home) as url:
        for query in ("", "shelf=pair&left=synthetic&right=other-draw", "shelf=bin"):
            page.goto(f"{url}/runs?{query}")
            expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
            charts.settle(page)
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), query
