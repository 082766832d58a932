"""Every view of a run under axe-core, in light, its colors in dark, too, and those of a run of images with pictures.

Nothing is serious or critical, but for what is named below.

Where a view is open anyway its headings, the words of its charts and its width are looked at too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from docs.screenshots import HEIGHT, RESTING, VIEWS, WIDTHS, View, open_view
from mauve_core.base.config import HUMAN
from tests.browser import axe
from tests.browser.axe import Violation
from tests.browser.conftest import PAGE_TIMEOUT_MS, serving, still
from tests.browser.full_run import make_full_run
from tests.browser.image_run import make_image_run
from tests.images.made import make_dark_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

RUN = "synthetic"
IMAGES = "images"
DARK = "dark-images"

# Views that show pictures of a run of images.
WITH_PICTURES = ("clusters", "cluster", "why", "map-area", "map-cluster", "texts-all")

# Rule, part of the selector or markup, and why it stays.
ACCEPTED: tuple[tuple[str, str, str], ...] = ()

# Until charts have taken a new width or theme over.
RESIZE_MS = 300

_BACKGROUND = """() => Math.max(...getComputedStyle(document.querySelector('[data-testid="stApp"]'))
    .backgroundColor.match(/\\d+/g).slice(0, 3).map(Number))"""
DARKEST = 64  # of 255: a dark page's background is no brighter

_OVERFLOW = """() => ['[data-testid="stMain"]', '[data-testid="stSidebarContent"]', 'html'].filter(name => {
    const element = document.querySelector(name);
    const shown = element && element.getBoundingClientRect().right > 0;  // a narrow window hides the sidebar
    return shown && element.scrollWidth > element.clientWidth + 1;
})"""


@pytest.fixture(scope="module")
def seen_app(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Base URL of an app with a run on which every view has something to show, and one of images."""
    home = tmp_path_factory.mktemp("full") / "home"
    make_full_run(home)
    make_image_run(home, {HUMAN: (24, 12), "drawn": (12, 24)}, name=IMAGES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAUVE_LENS_HOME", str(home))
        make_dark_run(home.parent / "photos", name=DARK)
    with serving(home) as url:
        yield url


@pytest.fixture(scope="module")
def seen(chromium: Browser) -> Iterator[Page]:
    """One page for all views."""
    context = still(chromium)
    context.set_default_timeout(PAGE_TIMEOUT_MS)
    yield context.new_page()
    context.close()


def is_accepted(found: Violation) -> bool:
    return any(rule == found.rule and part in f"{found.target} {found.html}" for rule, part, _ in ACCEPTED)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view(seen: Page, seen_app: str, name: str) -> None:
    examine(seen, VIEWS[name], seen_app, RUN)


@pytest.mark.parametrize("name", WITH_PICTURES)
def test_a_view_of_images(seen: Page, seen_app: str, name: str) -> None:
    examine(seen, VIEWS[name], seen_app, IMAGES)


def test_findings_of_images(seen: Page, seen_app: str) -> None:
    examine(seen, View("findings", {"candidate": "dark"}), seen_app, DARK)
    assert seen.get_by_role("heading", name="It makes darker images").is_visible()


def examine(page: Page, view: View, url: str, run: str) -> None:
    """Open a view in light, the window as wide as a laptop's, then drawn out to the other widths; then in dark."""
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": WIDTHS[1], "height": HEIGHT})
    open_view(page, view, url, run)
    require_none(axe.violations(page))
    levels = page.locator("h1, h2, h3, h4").evaluate_all("all => all.map(each => Number(each.tagName[1]))")
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), levels
    charts = page.get_by_test_id("stPlotlyChart")
    assert [place for place in range(charts.count()) if not _has_words(page, place)] == []
    for width in (*WIDTHS[1:], WIDTHS[0]):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.wait_for_function(RESTING)
        page.wait_for_timeout(RESIZE_MS)
        assert page.evaluate(_OVERFLOW) == [], f"{width} pixels"
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(RESTING)
    page.wait_for_timeout(RESIZE_MS)
    assert page.evaluate(_BACKGROUND) < DARKEST
    require_none(axe.violations(page, "color-contrast"))


def require_none(found: list[Violation]) -> None:
    severe = [str(each) for each in found if not is_accepted(each)]
    assert not severe, "\n".join(severe)


def test_axe_finds_what_is_wrong(seen: Page, seen_app: str) -> None:
    page = seen
    # The checker itself: a picture without words and grey on grey are found.
    open_view(page, VIEWS["published"], seen_app, RUN)
    page.evaluate(
        """() => document.querySelector('[data-testid="stMainBlockContainer"]').insertAdjacentHTML('afterbegin',
            '<img src="data:,"><p style="color:#999;background:#aaa">grey</p>')"""
    )
    assert {"image-alt", "color-contrast"} <= {each.rule for each in axe.violations(page)}


def _has_words(page: Page, place: int) -> bool:
    return bool(
        page.get_by_test_id("stPlotlyChart")
        .nth(place)
        .evaluate("chart => Boolean(chart.closest('[aria-label]') || chart.querySelector('[aria-label], [role=img]'))")
    )
