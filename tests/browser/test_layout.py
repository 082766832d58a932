"""Eleven candidates cut no words and no columns, buttons cover no title, and a map comes without WebGL too."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from mauve_core.base.config import SCORE_BOUNDS
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.experiments.sweeps import Sweep, SweepPoint, attachment_name
from mauve_core.store import RunStore
from tests.browser import charts
from tests.browser.conftest import CHROMIUM_FLAGS, CHROMIUM_NAMES, PAGE_TIMEOUT_MS, serving
from tests.handmade import spread
from tests.synthetic import CROWD, make_crowd

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

WIDTHS = (768, 1280, 1920)

SMALLEST_PLOT = 250
"""Pixels of a plot's side in which eleven curves can be told apart."""

_BOXES = """(plot, selector) => {
    const origin = plot.getBoundingClientRect();
    return [...plot.querySelectorAll(selector)].map(each => {
        const {left, right, top, bottom, width} = each.getBoundingClientRect();
        return {left: left - origin.left, right: right - origin.left, top: top - origin.top,
                bottom: bottom - origin.top, width};
    }).filter(box => box.width > 0);
}"""


Box = dict[str, float]


@pytest.fixture(scope="module")
def crowd_app(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Base URL of an app with the run ``crowd``."""
    home = tmp_path_factory.mktemp("crowded") / "home"
    run = make_crowd(home)
    names = [candidate.name for candidate in run.comparison.candidates]
    points = tuple(
        SweepPoint(
            k,
            name,
            name,
            60,
            k,
            {score: spread(high - 0.004 * place - 0.01 * step) for score, (_, high) in SCORE_BOUNDS.items()},
        )
        for place, name in enumerate(names)
        for step, k in enumerate((4, 8, 16))
    )
    RunStore(home / "runs").attach(run.id, attachment_name("k"), dataclass_to_json(Sweep("k", points, {"run": run.id})))
    with serving(home) as url:
        yield url


def boxes(page: Page, key: str, selector: str) -> list[Box]:
    """Where the elements of a chart stand in it: a chart moves while others above it are still drawn."""
    found: list[Box] = charts.read_chart(page, key, _BOXES, selector)
    return found


def meet(one: Box, other: Box) -> bool:
    """Whether two boxes share more than an edge."""
    return (
        min(one["right"], other["right"]) - max(one["left"], other["left"]) > 1
        and min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) > 1
    )


def within(inner: Box, outer: Box) -> bool:
    return (
        inner["left"] >= outer["left"] - 1
        and inner["right"] <= outer["right"] + 1
        and inner["top"] >= outer["top"] - 1
        and inner["bottom"] <= outer["bottom"] + 1
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_eleven_curves_are_a_figure_to_print(page: Page, crowd_app: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1000})
    page.goto(f"{crowd_app}/?run=crowd")
    charts.settle(page)
    page.locator(".st-key-frontier_chart").scroll_into_view_if_needed()
    charts.in_sight(page, charts.chart(page, "frontier_chart"), whole=False)
    (figure,) = boxes(page, "frontier_chart", ".svg-container")
    words = boxes(page, "frontier_chart", ".xtitle, .ytitle, .annotation-text")
    assert len(words) == 2 + CROWD
    assert all(within(box, figure) for box in words)
    assert not any(meet(one, other) for place, one in enumerate(words) for other in words[:place])
    plot = charts.read_chart(
        page, "frontier_chart", "plot => [plot._fullLayout.xaxis._length, plot._fullLayout.yaxis._length]"
    )
    assert min(plot) >= SMALLEST_PLOT
    bands = charts.read_chart(page, "frontier_chart", "plot => plot._fullData.filter(t => t.fill === 'toself').length")
    assert bands == 1


@pytest.fixture
def plain(chromium: Browser) -> Iterator[Browser]:
    """A browser that draws no WebGL."""
    path = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    browser = chromium.browser_type.launch(executable_path=path, args=[*CHROMIUM_FLAGS, "--disable-3d-apis"])
    yield browser
    browser.close()


def test_a_browser_without_webgl_gets_a_map_and_is_told(plain: Browser, live_app: str) -> None:
    page = plain.new_page()
    page.set_default_timeout(PAGE_TIMEOUT_MS)
    page.goto(f"{live_app}/map?run=synthetic&hidden=none&lasso=-1000,-1000;1000,-1000;1000,1000;-1000,1000")
    expect(page.get_by_text("This browser has no WebGL")).to_be_visible()
    types = "plot => [...new Set(plot._fullData.map(t => t.type))]"
    charts.read_chart(page, "map_chart", types, until=lambda found: sorted(found) == ["contour", "scatter"])
    expect(page.get_by_text("WebGL is not supported")).to_have_count(0)
    expect(page.locator(".st-key-map_chart .point").first).to_be_visible()
    expect(page.get_by_text("640 of 640 texts in the area")).to_be_visible()
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Compare").click()
    charts.settle(page)
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Map").click()
    charts.read_chart(page, "map_chart", types, until=lambda found: sorted(found) == ["contour", "scatter"])
