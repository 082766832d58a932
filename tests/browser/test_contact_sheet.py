"""The sheet of pictures in the real browser: what it fetches, how it scrolls, and that keys and presses open items."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

from mauve_core.base.config import HUMAN
from mauve_core.corpus.media import SIDES
from mauve_core.store import Run
from tests.browser import charts
from tests.browser.conftest import serving
from tests.browser.image_run import make_image_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

MODEL = "drawn"
COUNTS = {HUMAN: (2000, 60), MODEL: (80, 120)}
MARGIN_PX = 2500
"""From the view, at most, where Chromium begins to load a lazy picture."""


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
