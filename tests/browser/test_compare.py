"""Compare in the real browser: the numbers on the page, the slider and its marks, hovers, exports, links, dark."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from mauve_core.base.formatting import with_spreads
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
