"""Journeys by touch on a telephone 390 pixels wide: taps alone, and nothing that lies outside the screen."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser import charts
from tests.browser.conftest import still

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

WIDTH, HEIGHT = 390, 844
_OUTSIDE = """() => {
    const apart = '[data-testid="stPlotlyChart"], [data-testid="stDataFrame"], [data-testid="stTable"]';
    const scrolls = each => {  // whatever a reader can scroll to lies within the screen
        for (let box = each.parentElement; box && box.dataset.testid !== 'stMain'; box = box.parentElement)
            if (getComputedStyle(box).overflowX !== 'visible' && box.scrollWidth > box.clientWidth) return true;
        return false;
    };
    return [...document.querySelectorAll('[data-testid="stMain"] :is(p, button, input, h1, h2, h3)')]
        .filter(each => each.checkVisibility() && each.getBoundingClientRect().right > innerWidth + 1)
        .filter(each => !each.closest(apart) && !scrolls(each))
        .map(each => each.innerText || each.outerHTML.slice(0, 80));
}"""


@pytest.fixture
def phone(chromium: Browser) -> Iterator[Page]:
    context = still(chromium, viewport={"width": WIDTH, "height": HEIGHT}, has_touch=True, is_mobile=True)
    yield context.new_page()
    context.close()


def tap(target: Locator) -> None:
    target.scroll_into_view_if_needed()
    target.tap()


def nothing_outside(page: Page) -> None:
    charts.settle(page)
    assert page.evaluate(_OUTSIDE) == []


def test_from_the_verdict_to_the_texts_behind_it(phone: Page, live_app: str) -> None:
    phone.goto(f"{live_app}/?run=synthetic")
    expect(phone.get_by_text("is closest to the human texts")).to_be_visible()
    nothing_outside(phone)
    reason = charts.place(phone, "collapsed").get_by_role("link")
    tap(reason)
    expect(phone.get_by_role("heading", name="Clusters", level=1)).to_be_visible()
    expect(phone).to_have_url(re.compile(r"[?&]candidate=collapsed(&|$)"))
    expect(phone.get_by_text(re.compile(r"^Cluster \d+$"))).to_be_visible()
    nothing_outside(phone)
    down = phone.get_by_role("button", name=re.compile("^Down Shortcut"))
    before = phone.url
    tap(down)
    expect(phone).not_to_have_url(before)
