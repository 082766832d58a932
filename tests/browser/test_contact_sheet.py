"""The sheet of pictures in the real browser: what it fetches, how it scrolls, and that keys and presses open items."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

from mauve_core.analysis.selection import Stack
from mauve_core.base.config import HUMAN
from mauve_core.corpus.media import SIDES
from mauve_core.store import Run
from tests.browser import charts
from tests.browser.conftest import serving
from tests.browser.image_run import make_image_run
from tests.browser.test_map import CHART, TRIANGLE, draw_lasso, hover, ids_where, inside_triangle, polygon_in_url

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

MODEL = "drawn"
COUNTS = {HUMAN: (2000, 60), MODEL: (80, 120)}
MARGIN_PX = 2500
"""From the view, at most, where Chromium begins to load a lazy picture."""

MOST_LAYOUTS = 8
"""Length of a task while the sheet scrolls, in layouts of the whole sheet."""
MOST_BLOCKED = 0.25
"""Of the time of scrolling, in tasks that a reader notices."""

MOST_TABS = 80

_IN_VIEW = """const inView = () => {
    const {top, bottom} = sheet.getBoundingClientRect();
    return [...sheet.querySelectorAll('img')].filter(image => {
        const box = image.getBoundingClientRect();
        return box.bottom > top && box.top < Math.min(bottom, innerHeight);
    });
}"""

_PLACES_IN_VIEW = f"""sheet => {{
    {_IN_VIEW}
    const all = [...sheet.querySelectorAll('img')];
    return inView().map(image => [all.indexOf(image), image.naturalWidth]);
}}"""

_COLUMNS = """sheet => [...sheet.children].filter(item => item.offsetTop === sheet.children[0].offsetTop).length"""

_HAS_FOCUS = "sheet => sheet.contains(sheet.getRootNode().activeElement)"

_LABEL = """() => {
    const box = document.querySelector(".hoverlayer .hovertext")?.getBoundingClientRect();
    return box?.height ? box.toJSON() : null;
}"""

_HOVERED = "plot => plot._hoverdata[0].customdata[0]"

_LAYOUT_MS = """sheet => Math.max(...Array.from({length: 7}, () => {
    sheet.style.display = 'none';
    sheet.getBoundingClientRect();
    const began = performance.now();
    sheet.style.display = '';
    sheet.getBoundingClientRect();
    return performance.now() - began;
}))"""

_SCROLL = """async sheet => {
    const tasks = [];
    const observer = new PerformanceObserver(list => tasks.push(...list.getEntries()));
    observer.observe({type: 'longtask'});
    const began = performance.now();
    sheet.scrollTop = 0;
    while (sheet.scrollTop + sheet.clientHeight < sheet.scrollHeight - 1) {
        sheet.scrollTop += sheet.clientHeight / 2;
        await new Promise(requestAnimationFrame);
    }
    const ended = performance.now();
    await new Promise(done => setTimeout(done, 200));  // a task is reported after it ended
    tasks.push(...observer.takeRecords());
    return {took: ended - began, tasks: tasks.filter(task => task.startTime > began).map(task => task.duration)};
}"""


@pytest.fixture(scope="module")
def images(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Run]]:
    """Base URL of an app with a run of images, and that run."""
    home = tmp_path_factory.mktemp("images") / "home"
    run = make_image_run(home, COUNTS)
    with serving(home) as url:
        yield url, run


@pytest.fixture
def requested(page: Page) -> list[str]:
    """Addresses of the pictures that the page asks for, as it does."""
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url) if "/thumbnails/" in request.url else None)
    return found


def large_cluster(run: Run) -> int:
    """The cluster of the first human image, which holds the larger group."""
    return int(run.comparison.partition("pairwise", MODEL).labels[HUMAN][0])


def open_cluster(page: Page, images: tuple[str, Run]) -> Locator:
    """The sheet of the human images of the large cluster, once it has its pictures in view."""
    url, run = images
    page.goto(f"{url}/clusters?run={run.id}&cluster={large_cluster(run)}")
    return human_sheet(page)


def human_sheet(page: Page) -> Locator:
    sheet = page.get_by_role("listbox", name=re.compile("images of real$"))
    expect(sheet).to_be_visible()
    charts.settle(page)
    wait_until_drawn(sheet)
    return sheet


def wait_until_drawn(sheet: Locator) -> None:
    """Wait until every picture in view has been drawn, and there are some."""
    expect(sheet.locator(".item").first).to_be_attached()
    sheet.evaluate(
        f"""async sheet => {{
            {_IN_VIEW}
            while (!inView().length || !inView().every(image => image.naturalWidth > 0))
                await new Promise(requestAnimationFrame);
        }}"""
    )


def names_of(sheet: Locator) -> list[str]:
    names: list[str] = sheet.evaluate("sheet => [...sheet.children].map(item => item.getAttribute('aria-label'))")
    return names


def places_of(run: Run, requested: list[str], names: list[str]) -> list[int]:
    """Places in the sheet of the human pictures that were requested, in the order of the requests."""
    corpus = run.corpora[HUMAN]
    assert corpus.media is not None
    ids = dict(zip(corpus.media.digests, corpus.ids, strict=True))
    places = {name: place for place, name in enumerate(names)}
    human = [re.fullmatch(r".*/thumbnails/images/0/96/(\w+)\.webp", address) for address in requested]
    return [places[ids[each[1]]] for each in human if each]


def test_only_pictures_near_the_view_are_fetched(page: Page, images: tuple[str, Run], requested: list[str]) -> None:
    sheet = open_cluster(page, images)
    names = names_of(sheet)
    assert len(names) == COUNTS[HUMAN][0]
    in_view = [place for place, _ in sheet.evaluate(_PLACES_IN_VIEW)]
    at_first = places_of(images[1], requested, names)
    assert set(in_view) <= set(at_first) == set(range(len(at_first)))
    last, view = sheet.locator(".item").nth(max(at_first)).bounding_box(), sheet.bounding_box()
    assert last is not None
    assert view is not None
    assert last["y"] - (view["y"] + view["height"]) < MARGIN_PX

    sheet.evaluate("sheet => { sheet.scrollTop = sheet.scrollHeight; }")
    wait_until_drawn(sheet)
    at_last = [place for place in places_of(images[1], requested, names) if place not in at_first]
    assert len(names) - 1 in [place for place, _ in sheet.evaluate(_PLACES_IN_VIEW)]
    assert set(at_last) == set(range(min(at_last), len(names)))
    assert min(at_last) > max(at_first) + len(names) // 2
    assert len(set(requested)) == len(requested)


def test_a_long_sheet_scrolls_without_halting(page: Page, images: tuple[str, Run], requested: list[str]) -> None:
    sheet = open_cluster(page, images)
    names = names_of(sheet)
    layout = sheet.evaluate(_LAYOUT_MS)
    found: dict[str, Any] = sheet.evaluate(_SCROLL)
    layout = max(layout, sheet.evaluate(_LAYOUT_MS))  # the machine may have become slower meanwhile
    assert max(found["tasks"], default=0) < MOST_LAYOUTS * layout, found
    assert sum(found["tasks"]) < MOST_BLOCKED * found["took"], found
    wait_until_drawn(sheet)
    assert len(names) - 1 in [place for place, _ in sheet.evaluate(_PLACES_IN_VIEW)]
    assert len(set(requested)) == len(requested)
    assert len(places_of(images[1], requested, names)) > len(names) // 2


def tab_into(page: Page, sheet: Locator) -> None:
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if sheet.evaluate(_HAS_FOCUS):
            return
    raise AssertionError(f"{MOST_TABS} presses of Tab do not lead into the sheet")


def expect_open(page: Page, run: Run, name: str) -> None:
    """The human image of that name is marked, in the address, described, and shown larger."""
    corpus = run.corpora[HUMAN]
    assert corpus.media is not None
    index = corpus.ids.index(name)
    expect(page).to_have_url(re.compile(rf"[?&]human_text={index}(&|$)"))
    sheet = human_sheet(page)
    expect(sheet.get_by_role("option", selected=True)).to_have_accessible_name(name)
    expect(page.get_by_text(f"{name}  ·  ")).to_be_visible()
    larger = page.get_by_test_id("stImage").first.locator("img")
    expect(larger).to_have_js_property("complete", True)
    address = larger.evaluate("image => image.src")
    shown, stored = (
        np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        for data in (page.request.get(address).body(), corpus.media.picture(index, SIDES[-1]))
    )
    np.testing.assert_array_equal(shown, stored)


def test_the_keyboard_goes_through_the_sheet_and_opens(page: Page, images: tuple[str, Run]) -> None:
    sheet = open_cluster(page, images)
    names, items = names_of(sheet), sheet.locator(".item")
    columns, last = sheet.evaluate(_COLUMNS), len(names) - 1
    assert columns > 1
    tab_into(page, sheet)
    expect(items.first).to_be_focused()
    for key, place in (
        ("ArrowRight", 1),
        ("ArrowDown", 1 + columns),
        ("ArrowLeft", columns),
        ("ArrowUp", 0),
        ("ArrowUp", 0),
        ("End", last),
        ("ArrowRight", last),
    ):
        page.keyboard.press(key)
        expect(items.nth(place)).to_be_focused()
    charts.settle(page)  # the page's own shortcuts on these keys would have led to another cluster
    expect(page).to_have_url(re.compile(rf"[?&]cluster={large_cluster(images[1])}$"))
    charts.in_sight(page, items.nth(last))
    wait_until_drawn(sheet)
    page.keyboard.press("Tab")
    assert not sheet.evaluate(_HAS_FOCUS)
    page.keyboard.press("Shift+Tab")
    expect(items.nth(last)).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect_open(page, images[1], names[1])
    expect(items.nth(1)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(items.nth(2)).to_be_focused()


def test_a_press_opens_a_picture_and_a_link_shows_it(page: Page, images: tuple[str, Run]) -> None:
    sheet = open_cluster(page, images)
    names, place = names_of(sheet), 1234
    sheet.locator(".item").nth(place).click()
    expect_open(page, images[1], names[place])
    page.reload()
    expect_open(page, images[1], names[place])
    charts.in_sight(page, sheet.locator(".item").nth(place))


def test_an_area_of_the_map_is_a_sheet(page: Page, images: tuple[str, Run]) -> None:
    url, run = images
    projection = run.comparison.projection
    assert projection is not None
    page.goto(f"{url}/map?run={run.id}")
    expect(charts.chart(page, CHART)).to_be_visible()
    drawn = draw_lasso(page, TRIANGLE)
    polygon = polygon_in_url(page)
    corners = np.array([polygon[((polygon - corner) ** 2).sum(axis=1).argmin()] for corner in drawn])
    inside = {name for source, name in ids_where(run, inside_triangle(projection, corners)) if source == HUMAN}
    sheet = human_sheet(page)
    assert set(names_of(sheet)) == inside
    assert 1 < len(inside) < sum(COUNTS[HUMAN])
    name = names_of(sheet)[1]
    sheet.get_by_role("option", name=name).click()
    expect_open(page, run, name)
    assert set(names_of(human_sheet(page))) == inside


def test_the_map_shows_the_picture_under_the_mouse(page: Page, images: tuple[str, Run], requested: list[str]) -> None:
    url, run = images
    page.goto(f"{url}/map?run={run.id}")
    expect(charts.chart(page, CHART)).to_be_visible()
    picture = page.locator(".st-key-map_picture img")
    expect(picture).to_be_hidden()
    assert requested == []
    hover(page)
    expect(picture).to_be_visible()
    place = charts.read_chart(page, CHART, _HOVERED)  # points lie close together
    stack = Stack.of(run.comparison)
    source, media = int(stack.source[place]), run.corpora[stack.names[stack.source[place]]].media
    assert media is not None
    address = f"/thumbnails/{run.id}/{source}/{SIDES[0]}/{media.digests[stack.position[place]]}.webp"
    expect(picture).to_have_attribute("src", address)
    expect(picture).to_be_in_viewport(ratio=0.99)
    expect(picture).not_to_have_js_property("naturalWidth", 0)
    label = page.wait_for_function(_LABEL).json_value()  # Plotly draws the label anew now and then
    box = picture.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= label["top"] or label["bottom"] <= box["y"]
    page.mouse.move(2, 2)
    expect(picture).to_be_hidden()
