"""Every view of a run under axe-core, in light and dark: nothing serious or critical, but for what is named below."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from docs.screenshots import HEIGHT, SCHEMES, VIEWS, WIDTHS, open_view
from tests.browser import axe
from tests.browser.axe import Violation
from tests.browser.conftest import PAGE_TIMEOUT_MS, serving
from tests.browser.full_run import make_full_run

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RUN = "synthetic"

ACCEPTED: tuple[tuple[str, str, str], ...] = ()
"""Rule, part of the selector or markup, and why it stays."""

_OVERFLOW = """() => ['[data-testid="stMain"]', '[data-testid="stSidebarContent"]', 'html'].filter(name => {
    const element = document.querySelector(name);
    const shown = element && element.getBoundingClientRect().right > 0;  // a narrow window hides the sidebar
    return shown && element.scrollWidth > element.clientWidth + 1;
})"""


@pytest.fixture(scope="module")
def full_app(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Base URL of an app with a run on which every view has something to show."""
    home = tmp_path_factory.mktemp("full") / "home"
    make_full_run(home)
    with serving(home) as url:
        yield url


def opened(chromium: Browser, width: int, scheme: str) -> Page:
    context = chromium.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)  # type: ignore[arg-type]
    context.set_default_timeout(PAGE_TIMEOUT_MS)
    return context.new_page()


def is_accepted(found: Violation) -> bool:
    return any(rule == found.rule and part in f"{found.target} {found.html}" for rule, part, _ in ACCEPTED)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_view_has_a_serious_or_critical_violation(chromium: Browser, full_app: str, scheme: str) -> None:
    page = opened(chromium, 1280, scheme)
    found = []
    for name, view in VIEWS.items():
        open_view(page, view, full_app, RUN)
        found += [f"{name}: {each}" for each in axe.violations(page) if not is_accepted(each)]
    page.context.close()
    assert not found, "\n".join(found)


def test_axe_finds_what_is_wrong(chromium: Browser, full_app: str) -> None:
    # The checker itself: a picture without words and grey on grey are found.
    page = opened(chromium, 1280, "light")
    open_view(page, VIEWS["published"], full_app, RUN)
    page.evaluate(
        """() => document.querySelector('[data-testid="stMainBlockContainer"]').insertAdjacentHTML('afterbegin',
            '<img src="data:,"><p style="color:#999;background:#aaa">grey</p>')"""
    )
    assert {"image-alt", "color-contrast"} <= {each.rule for each in axe.violations(page)}
    page.context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_no_view_scrolls_sideways(chromium: Browser, full_app: str, width: int) -> None:
    page = opened(chromium, width, "light")
    found = {}
    for name, view in VIEWS.items():
        open_view(page, view, full_app, RUN)
        if wide := page.evaluate(_OVERFLOW):
            found[name] = wide
    page.context.close()
    assert not found


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_has_one_first_heading_and_every_chart_words(chromium: Browser, full_app: str, name: str) -> None:
    page = opened(chromium, 1280, "light")
    open_view(page, VIEWS[name], full_app, RUN)
    levels = page.locator("h1, h2, h3, h4").evaluate_all("all => all.map(each => Number(each.tagName[1]))")
    charts = page.get_by_test_id("stPlotlyChart")
    unnamed = [place for place in range(charts.count()) if not _has_words(page, place)]
    page.context.close()
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), levels
    assert unnamed == []


def _has_words(page: Page, place: int) -> bool:
    return bool(
        page.get_by_test_id("stPlotlyChart")
        .nth(place)
        .evaluate("chart => Boolean(chart.closest('[aria-label]') || chart.querySelector('[aria-label], [role=img]'))")
    )
