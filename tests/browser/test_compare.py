"""Compare in the real browser: the numbers on the page, the slider and its marks, hovers, exports, links, dark."""

from __future__ import annotations

import csv
import io
import math
import re
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from mauve_core.analysis.precomputed import run_cluster_names, run_main_reason
from mauve_core.base.formatting import with_spreads
from mauve_core.figures.frontier import DRAWN_WEIGHTS, leading_clusters
from mauve_core.store import Run
from tests.browser import charts
from tests.synthetic import make_comparison_inputs

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

CANDIDATES = list(make_comparison_inputs(20)[1])


def open_compare(page: Page, url: str, **parameters: str) -> None:
    page.goto(f"{url}/?{urllib.parse.urlencode({'run': 'synthetic', **parameters})}")
    expect(charts.chart(page, "frontier_chart")).to_be_visible()


@dataclass(frozen=True)
class Mark:
    """Where a mark lies, and what its hover says: the weight of P and both errors in nats."""

    x: float
    y: float
    weight: float
    type_1: float
    type_1_sd: float
    type_2: float
    type_2_sd: float


def marks(page: Page, *, until: Callable[[dict[str, Mark]], bool] = lambda _: True) -> dict[str, Mark]:
    """The mark of every candidate."""

    def of(rows: list[list[float]]) -> dict[str, Mark]:
        return {str(name): Mark(x, y, *hovered) for name, x, y, *hovered in rows}

    reader = """plot => plot._fullData.filter(t => t.mode === 'markers').map(t => {
        return [t.meta, t.x[0], t.y[0], ...Array.from(t.customdata[0]).slice(0, 5)];
    })"""
    return of(charts.read_chart(page, "frontier_chart", reader, until=lambda rows: until(of(rows))))


def weight_slider(page: Page) -> Locator:
    return page.get_by_role("slider", name=re.compile("Weight"))


def test_the_slider_moves_a_mark_on_every_curve_and_the_words(page: Page, live_app: str) -> None:
    open_compare(page, live_app)
    before = marks(page)
    assert set(before) == set(CANDIDATES)
    assert {mark.weight for mark in before.values()} == {0.5}
    charts.open_errors(page)
    weight_slider(page).focus()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile(r"[?&]weight=0\.4(&|$)"))
    after = marks(page, until=lambda found: {round(mark.weight, 6) for mark in found.values()} == {0.4})
    assert set(after) == set(CANDIDATES)
    ones = with_spreads(*zip(*((after[name].type_1, after[name].type_1_sd) for name in CANDIDATES), strict=True))
    twos = with_spreads(*zip(*((after[name].type_2, after[name].type_2_sd) for name in CANDIDATES), strict=True))
    for name, adds, misses in zip(CANDIDATES, ones, twos, strict=True):
        # Less of P in the mixture: R is nearer to Q, so the type I error falls (x grows) and type II grows (y falls).
        assert after[name].x > before[name].x
        assert after[name].y < before[name].y
        row = charts.table(page, "Adds (type I)").get_by_role("row").filter(has_text=name)
        expect(row).to_contain_text(adds)
        expect(row).to_contain_text(misses)
    page.reload()
    charts.settle(page)
    charts.open_errors(page)
    expect(weight_slider(page)).to_have_value("0.4")
    assert marks(page) == after


def test_the_scaling_constant_acts_at_once_on_table_and_curves(page: Page, live_app: str) -> None:
    open_compare(page, live_app)
    charts.settle(page)  # The list stands below the chart, and each row's reason comes after its score.
    row = charts.place(page, "collapsed")
    said, before = row.text_content() or "", marks(page)["collapsed"]
    expect(row).to_have_text(said)
    slider = charts.open_sensitivity(page).get_by_role("slider", name=re.compile("Scaling constant"))
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"[?&]scale=6(&|$)"))
    expect(row).not_to_have_text(said)
    after = marks(page, until=lambda found: found["collapsed"].x != before.x)["collapsed"]
    # x = exp(-c KL): the logarithm grows from 5 to 6 parts. Means over seeds of exp differ from exp of means by far
    # less than the tolerance, because the seeds nearly agree.
    assert math.log(after.x) / math.log(before.x) == pytest.approx(6 / 5, rel=1e-3)


def test_a_hover_names_candidate_weight_both_errors_and_their_clusters(
    page: Page, live_app: str, live_run: Run
) -> None:
    open_compare(page, live_app)
    plot = charts.chart(page, "frontier_chart")
    x, y = charts.read_chart(
        page,
        "frontier_chart",
        """(plot, name) => {
            const {xaxis, yaxis} = plot._fullLayout;
            const mark = plot._fullData.find(t => t.mode === 'markers' && t.meta === name);
            return [xaxis._offset + xaxis.d2p(mark.x[0]), yaxis._offset + yaxis.d2p(mark.y[0])];
        }""",
        "collapsed",
    )
    plot.hover(position={"x": x - 1, "y": y})
    plot.hover(position={"x": x, "y": y})
    hover = plot.locator(".hoverlayer")
    expect(hover).to_contain_text("collapsed")
    expect(hover).to_contain_text("weight of P 0.50")
    expect(hover).to_contain_text(re.compile(r"type I 0\.\d{2,}\s±\s0\.\d{2,} nats"))
    expect(hover).to_contain_text(re.compile(r"type II 0\.\d{2,}\s±\s0\.\d{2,} nats"))
    names = run_cluster_names(live_run, "pairwise", "collapsed", live_run.comparison.median_seed("collapsed"))
    for found in leading_clusters(live_run.comparison, "pairwise", "collapsed"):
        first = found[int(np.argmin(np.abs(DRAWN_WEIGHTS - 0.5)))][0]
        expect(hover).to_contain_text(f"most in {names[first]}")


def test_the_data_of_the_curves_comes_as_csv(page: Page, live_app: str) -> None:
    open_compare(page, live_app)
    with page.expect_download() as download:
        page.locator(".st-key-frontier_csv").get_by_role("button").click()
    assert download.value.suggested_filename == "synthetic-divergence-curves.csv"
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    assert {row["candidate"] for row in rows} == set(CANDIDATES)
    (row,) = [row for row in rows if row["candidate"] == "collapsed" and float(row["weight"]) == 0.5]
    mark = marks(page)["collapsed"]
    assert (mark.x, mark.y) == pytest.approx((float(row["x"]), float(row["y"])), abs=1e-6)  # float32


def test_a_main_reason_leads_to_the_texts_of_its_cluster(page: Page, live_app: str, live_run: Run) -> None:
    open_compare(page, live_app, candidate="close", seed="1")
    reason = run_main_reason(live_run, "collapsed")
    assert reason is not None
    charts.settle(page)
    charts.place(page, "collapsed").get_by_role("link", name=reason.finding).click()
    expect(page.get_by_text(f"Cluster {reason.cluster}", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(rf"/clusters\?.*candidate=collapsed.*cluster={reason.cluster}(&|$)"))
    expect(page).not_to_have_url(re.compile("seed="))
    page.go_back()
    expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()


def test_what_is_folded_is_drawn_when_it_is_opened(page: Page, live_app: str) -> None:
    open_compare(page, live_app)
    charts.settle(page)
    expect(page.locator(".st-key-scores_chart, .st-key-differences_chart")).to_have_count(0)
    page.get_by_text("All scores", exact=True).click()
    charts.chart(page, "scores_chart")
    expect(charts.table(page, "MAUVE ↑").get_by_role("row")).to_have_count(2 + len(CANDIDATES))
    page.get_by_text(re.compile("^Differences: ")).click()
    charts.chart(page, "differences_chart")
    charts.chart(page, "scores_chart")


@pytest.mark.parametrize("image", ["PNG", "SVG"])
def test_a_figure_is_saved_in_the_chosen_format(page: Page, live_app: str, image: str) -> None:
    open_compare(page, live_app)
    page.get_by_test_id("stSidebar").get_by_role("radio", name=image).click()
    # Plotly's name for the camera tells when the figure has taken the choice over.
    title = "Download plot as a PNG" if image == "PNG" else "Download plot"
    find = "(plot, title) => plot.querySelector(`[data-title='${title}']`) !== null"
    charts.read_chart(page, "frontier_chart", find, title, until=bool)
    plot = charts.chart(page, "frontier_chart")
    camera = plot.locator(f'[data-title="{title}"]')
    plot.hover()
    with page.expect_download() as download:
        camera.click()
    assert download.value.suggested_filename == f"synthetic-divergence-curves.{image.lower()}"
    head = Path(download.value.path()).read_bytes()[:200]
    assert head.startswith(b"\x89PNG") if image == "PNG" else b"<svg" in head


def test_a_change_of_page_keeps_what_is_looked_at(page: Page, live_app: str) -> None:
    open_compare(page, live_app, weight="0.3", scale="2")
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="New run").click()
    expect(page.get_by_role("heading", name="New run")).to_be_visible()
    expect(page).to_have_url(re.compile(r"run=synthetic.*weight=0\.3.*scale=2"))
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Compare").click()
    charts.settle(page)
    charts.open_errors(page)
    expect(weight_slider(page)).to_have_value("0.3")
    assert {round(mark.weight, 6) for mark in marks(page).values()} == {0.3}


def test_dark_is_dark_and_every_text_is_readable(dark_page: Page, live_app: str) -> None:
    open_compare(dark_page, live_app)
    background, text = dark_page.get_by_test_id("stApp").evaluate(
        "app => [getComputedStyle(app).backgroundColor, getComputedStyle(app).color]"
    )
    assert brightness(background) < 60
    assert brightness(text) > 180
    fills = charts.read_chart(
        dark_page,
        "frontier_chart",
        "plot => Array.from(plot.querySelectorAll('.xtick text, .ytick text, .annotation-text, .xtitle, .ytitle'))"
        ".map(text => getComputedStyle(text).fill)",
    )
    assert len(fills) > 10
    assert min(map(brightness, fills)) > 120


def brightness(colour: str) -> float:
    """Mean of the three channels of ``rgb(...)``, 0 to 255."""
    return sum(float(part) for part in re.findall(r"[\d.]+", colour)[:3]) / 3


def test_an_empty_home_teaches(page: Page, empty_app: str) -> None:
    page.goto(empty_app)
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    page.get_by_role("link", name=re.compile("Start a run")).click()
    expect(page.get_by_role("heading", name="New run")).to_be_visible()
