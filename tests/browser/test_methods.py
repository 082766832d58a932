"""Methods in the real browser: choose groups and methods, compute them as a job, read what came out, reload."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from mauve_app.views.methods.method_table import shown_scores
from mauve_core.base.formatting import correlation
from mauve_core.experiments.methods import ESTIMATORS, PRESETS, MethodTable, method_standings, stored_methods
from mauve_core.store import Run
from mauve_core.tasks.compare_methods import CompareMethodsTask
from tests.browser import charts
from tests.browser.test_compare import brightness
from tests.browser.test_upload import JOB_TIMEOUT_MS
from tests.synthetic import make_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

N, PERMUTATIONS = 40, 19
WANTED = [method.spec for method in PRESETS["smoothing"]]


@pytest.fixture
def run(empty_app: str, tmp_path: Path) -> Run:
    """A run in the home of ``empty_app``."""
    return make_run(tmp_path / "live-home", n=N, seeds=2, projection=False)


def pill(page: Page, name: str) -> Locator:
    return page.locator('[class*="st-key-methods_groups"]').get_by_role("button", name=name, exact=True)


def expect_lit(page: Page, name: str, *, lit: bool) -> None:
    expect(pill(page, name)).to_have_attribute("aria-pressed", "true" if lit else "false")


SAMPLING = "How many texts, how many clusters"
AGREEMENT = "Agreement of every pair of methods"
"""Title of the folded part with the errors of resampling."""


def press(page: Page, name: str, *, lit: bool) -> None:
    """Press the group's pill, and wait until the page has taken it over."""
    charts.settle(page)
    pill(page, name).click()
    expect_lit(page, name, lit=lit)
    charts.settle(page)


def fill_number(page: Page, label: str, value: int) -> None:
    box = page.get_by_role("spinbutton", name=label)
    box.fill(str(value))
    box.press("Tab")
    charts.settle(page)


def expect_table(page: Page, table: MethodTable, run: Run) -> None:
    """Every method and every candidate's cell, as the page's own words for them have it."""
    grid = page.get_by_test_id("stDataFrame")
    for row, cells in enumerate(shown_scores(table, run.comparison).to_numpy().tolist()):
        for column, text in enumerate(cells[: 1 + len(table.candidates)]):
            expect(grid.locator(f'td[data-testid="glide-cell-{column}-{row}"]')).to_have_text(text)


def drawn_places(page: Page) -> dict[str, list[float]]:
    lines = [trace for trace in charts.traces(page, "methods_chart") if trace["mode"] == "lines+markers"]
    return {trace["meta"]: trace["y"] for trace in lines}


def expected_places(table: MethodTable, run: Run) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in table.candidates}
    for result in table.results:
        for item in method_standings(result, table.candidates, run.comparison):
            found[item.candidate].append(item.place)
    return found


def drawn_agreement(page: Page) -> list[str]:
    reader = "plot => Array.from(plot._fullData.find(t => t.type === 'scatter').text)"
    return [str(text) for text in charts.read_chart(page, "agreement_chart", reader)]


def expect_result(page: Page, table: MethodTable, run: Run) -> None:
    expect(page.get_by_role("heading", name="Ranking by each method")).to_be_visible(timeout=JOB_TIMEOUT_MS)
    expect_table(page, table, run)
    assert drawn_places(page) == expected_places(table, run)
    page.get_by_text(AGREEMENT).click()
    assert drawn_agreement(page) == [correlation(value) for value in table.agreement().ravel()]


def test_choose_compute_read_and_reload(page: Page, empty_app: str, run: Run) -> None:
    page.goto(f"{empty_app}/methods?run={run.id}")
    expect(page.get_by_text(re.compile("Nothing has been computed yet"))).to_be_visible()
    expect_lit(page, "Divergences and summaries", lit=True)
    press(page, "Smoothing", lit=True)
    press(page, "Divergences and summaries", lit=False)
    charts.choose(page, "Estimator", "Fréchet distance")
    expect(page.get_by_text(ESTIMATORS["frechet"].reason)).to_be_visible()  # before that, Add is of the one before
    charts.settle(page)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator('[class*="st-key-methods_chosen"]')).to_contain_text("Fréchet distance")
    fill_number(page, "Seeds", 2)
    fill_number(page, "Permutations", PERMUTATIONS)
    page.get_by_role("button", name="Compute", exact=True).click()
    expect(page.get_by_role("heading", name="Ranking by each method")).to_be_visible(timeout=JOB_TIMEOUT_MS)
    table = stored_methods(run)
    assert table is not None
    assert [result.method.spec for result in table.results] == [*WANTED, "frechet"]
    assert (table.settings["seeds"], table.settings["permutations"]) == (2, PERMUTATIONS)
    expect_result(page, table, run)
    expect(page.get_by_text(re.compile(f"test of P = Q by {PERMUTATIONS} permutations"))).to_be_visible()
    page.reload()
    expect_result(page, table, run)
    page.get_by_text("Compute again with other methods").click()
    expect(page.get_by_role("spinbutton", name="Permutations")).to_have_value(str(PERMUTATIONS))


def test_the_advice_follows_its_candidate_and_a_link_keeps_it(page: Page, empty_app: str, run: Run) -> None:
    page.goto(f"{empty_app}/methods?run={run.id}")
    page.get_by_text(SAMPLING).click()
    expect(page.get_by_role("combobox", name="Candidate")).to_be_visible()
    before = [trace["y"] for trace in charts.traces(page, "sampling_n")]
    charts.choose(page, "Candidate", "collapsed")
    expect(page).to_have_url(re.compile(r"[?&]candidate=collapsed(&|$)"))
    after = [t["y"] for t in charts.traces(page, "sampling_n", until=lambda found: [t["y"] for t in found] != before)]
    page.reload()
    page.get_by_text(SAMPLING).click()
    expect(page.get_by_role("combobox", name="Candidate")).to_have_value("collapsed")
    assert [trace["y"] for trace in charts.traces(page, "sampling_n")] == after


def test_every_text_of_the_charts_is_readable_in_the_dark(
    dark_page: Page, empty_app: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(run.path.parent.parent))
    CompareMethodsTask(run.id, ("kmeans", "frechet"), 2).compute()
    dark_page.goto(f"{empty_app}/methods?run={run.id}")
    dark_page.get_by_text(SAMPLING).click()
    dark_page.get_by_text(AGREEMENT).click()
    for key in ("methods_chart", "agreement_chart", "sampling_n", "sampling_k"):
        fills = charts.read_chart(
            dark_page,
            key,
            "plot => Array.from(plot.querySelectorAll('.xtick text, .ytick text, .y2tick text, .xtitle, .ytitle'))"
            ".map(text => getComputedStyle(text).fill)",
        )
        assert len(fills) >= 4
        assert min(map(brightness, fills)) > 120, key
