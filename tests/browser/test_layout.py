"""Eleven candidates cut no words and no columns, buttons cover no title, and a map comes without WebGL too."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from docs.screenshots import FAULTS, take
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
LEAST_CONTRAST = 4.5
"""Of text and what is behind it, WCAG 2.2, level AA."""

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

_SHOWS_ALL = """key => {
    const {scrollWidth, clientWidth} = document.querySelector(`.st-key-${key} .dvn-scroller`);
    return scrollWidth - clientWidth <= 1;
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


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
def test_answer_pictures_and_the_first_of_the_list_are_seen_at_once(
    page: Page, crowd_app: str, size: tuple[int, int]
) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{crowd_app}/?run=crowd")
    charts.settle(page)
    for key in ("frontier_chart", "leaderboard_chart"):
        charts.in_sight(page, charts.chart(page, key))
    for key in ("verdict", "place_0"):
        charts.in_sight(page, page.locator(f".st-key-{key}"))
    expect(page.get_by_test_id("stSidebarHeader").get_by_role("img")).to_be_visible()


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


@pytest.mark.parametrize("width", [420, *WIDTHS])
def test_eleven_lines_of_a_sweep_are_named_at_their_ends(page: Page, crowd_app: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1000})
    page.goto(f"{crowd_app}/decoders?run=crowd&section=sweeps&axis=k")
    charts.settle(page)
    key = "sweep_chart_k"
    page.locator(f".st-key-{key}").scroll_into_view_if_needed()
    (figure,) = boxes(page, key, ".svg-container")
    words = boxes(page, key, ".annotation-text")
    assert len([word for word in words if word["left"] > figure["right"] / 2]) == CROWD
    assert all(within(box, figure) for box in words)
    assert not any(meet(one, other) for place, one in enumerate(words) for other in words[:place])
    assert not boxes(page, key, ".legend")


def test_another_band_is_chosen_and_kept(page: Page, crowd_app: str) -> None:
    page.goto(f"{crowd_app}/?run=crowd")
    charts.settle(page)
    band = "plot => plot._fullData.filter(t => t.fill === 'toself').map(t => t.legendgroup)"
    before = charts.read_chart(page, "frontier_chart", band)
    charts.open_errors(page)
    charts.choose(page, "Band of", "contrastive:alpha=0.4,k=4")
    after = charts.read_chart(page, "frontier_chart", band, until=lambda found: found != before)
    page.reload()
    assert charts.read_chart(page, "frontier_chart", band) == after


def test_the_buttons_over_panels_cover_no_title(page: Page, crowd_app: str) -> None:
    page.goto(f"{crowd_app}/?run=crowd")
    charts.settle(page)
    page.get_by_text("All scores", exact=True).click()
    charts.chart(page, "scores_chart").hover()
    (buttons,) = boxes(page, "scores_chart", ".modebar")
    titles = boxes(page, "scores_chart", ".annotation-text")
    assert len(titles) == 4
    assert not any(meet(buttons, title) for title in titles)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_lists_of_the_gap_show_every_column(page: Page, crowd_app: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1000})
    page.goto(f"{crowd_app}/gap?run=crowd&below=few&candidate=contrastive:alpha%3D0.10,k%3D10")
    charts.settle(page)
    for key in ("gap_list_adds", "gap_list_misses", "greedy_table"):
        scroller = page.locator(f".st-key-{key} .dvn-scroller")
        expect(scroller).to_be_visible()
        page.wait_for_function(_SHOWS_ALL, arg=key)
        scroller.scroll_into_view_if_needed()
        charts.in_sight(page, scroller, whole=False)


def test_titles_of_panels_do_not_meet_on_a_telephone(page: Page, crowd_app: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{crowd_app}/?run=crowd")
    charts.settle(page)
    page.get_by_text("All scores", exact=True).click()
    titles = boxes(page, "scores_chart", ".annotation-text")
    assert len(titles) == 4
    assert not any(meet(one, other) for place, one in enumerate(titles) for other in titles[:place])


@pytest.mark.parametrize(("opened", "ground"), [("page", (255, 255, 255)), ("dark_page", (20, 24, 31))])
def test_words_in_charts_can_be_read(
    opened: str, ground: tuple[int, ...], crowd_app: str, request: pytest.FixtureRequest
) -> None:
    page: Page = request.getfixturevalue(opened)
    page.goto(f"{crowd_app}/?run=crowd")
    charts.settle(page)
    fills = "plot => [...new Set([...plot.querySelectorAll('text')].map(t => getComputedStyle(t).fill))]"
    for key in ("leaderboard_chart", "frontier_chart"):
        found: list[str] = charts.read_chart(page, key, fills)
        assert found
        for fill in found:
            words, behind = (luminance(colour) for colour in (tuple(map(int, re.findall(r"\d+", fill))), ground))
            assert (max(words, behind) + 0.05) / (min(words, behind) + 0.05) >= LEAST_CONTRAST, (key, fill)


def luminance(colour: tuple[int, ...]) -> float:
    """WCAG 2.2's relative luminance of red, green and blue."""
    shares = [part / 255 for part in colour[:3]]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


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


def test_pictures_that_show_a_fault_are_named(chromium: Browser, plain: Browser, live_app: str, tmp_path: Path) -> None:
    asked = (live_app, "synthetic", tmp_path, ["map"], 1280, "light")
    assert take(chromium, *asked) == []
    assert take(plain, *asked) == ["map-1280-light: The map is drawn without WebGL"]
    page = chromium.new_page()
    page.set_content(
        '<p>WebGL is not supported by your browser</p><p data-testid="stException">KeyError</p>'
        '<p class="st-key-fault">report</p>'
    )
    assert page.evaluate(FAULTS) == ["KeyError", "report", "WebGL is not supported"]
    page.close()
