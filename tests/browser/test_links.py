"""A link copied in one browser profile opens the same view in another."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import charts
from tests.browser.conftest import still

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AREA = "-1000,-1000;1000,-1000;1000,3;-1000,3"


def copied(page: Page) -> str:
    """What the button in the sidebar puts on the clipboard, by keyboard alone."""
    charts.settle(page)
    button = page.get_by_role("button", name="Copy link")
    expect(button).to_have_count(1)
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    expect(button).to_be_focused()
    return str(page.evaluate("navigator.clipboard.readText()"))


@pytest.fixture
def copying(chromium: Browser, live_app: str) -> Page:
    """A page of a profile that lets the test read its clipboard."""
    context = still(chromium, viewport={"width": 1280, "height": 1000})
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=live_app)
    return context.new_page()


def open_view(page: Page, url: str, view: str, **parameters: str) -> None:
    page.goto(f"{url}/{view}?{urlencode({'run': 'synthetic', **parameters})}")
    charts.settle(page)


def test_clusters(copying: Page, page: Page, live_app: str) -> None:
    open_view(copying, live_app, "clusters", candidate="shifted", cluster="5")
    box = copying.get_by_role("combobox", name="Sort by")
    box.click()
    copying.get_by_role("option").last.click()
    expect(copying).not_to_have_url(f"{live_app}/clusters?run=synthetic&candidate=shifted&cluster=5")
    charts.settle(copying)
    chosen = copying.get_by_test_id("stSelectbox").filter(has_text="Sort by").inner_text()
    bars = charts.read_chart(copying, "clusters_chart", "plot => Array.from(plot._fullData[0].y)")
    page.goto(copied(copying))
    expect(page.get_by_text("Cluster 5", exact=True)).to_be_visible()
    charts.settle(page)
    assert page.get_by_test_id("stSelectbox").filter(has_text="Sort by").inner_text() == chosen
    assert charts.read_chart(page, "clusters_chart", "plot => Array.from(plot._fullData[0].y)") == bars
    assert page.url == copying.url
    copying.context.close()


def test_map(copying: Page, page: Page, live_app: str) -> None:
    open_view(copying, live_app, "map", lasso=AREA, candidate="collapsed")
    copying.get_by_role("radio", name="Log ratio").click()
    expect(copying).to_have_url(re.compile("colour=log_ratio"))
    said = copying.get_by_text("texts in the area").inner_text()
    page.goto(copied(copying))
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.get_by_role("radio", name="Log ratio")).to_be_checked()
    copying.context.close()


def test_the_tabs_of_clusters_and_of_an_area(copying: Page, page: Page, live_app: str) -> None:
    for view, parameters, tabs in (
        ("clusters", {"cluster": "3"}, {"Table": "form=table", "Words": "detail=words"}),
        ("map", {"lasso": AREA}, {"Counts": "area=counts"}),
    ):
        open_view(copying, live_app, view, **parameters)
        for title, said in tabs.items():
            copying.get_by_role("tab", name=title, exact=True).click()
            expect(copying).to_have_url(re.compile(said))
            charts.settle(copying)
        page.goto(copied(copying))
        for title in tabs:
            expect(page.get_by_role("tab", name=title, exact=True)).to_have_attribute("aria-selected", "true")
        assert page.url == copying.url
    copying.context.close()


def test_the_tab_of_gap(copying: Page, page: Page, live_app: str) -> None:
    open_view(copying, live_app, "gap", candidate="shifted", cluster="2")
    tab = "The few clusters that make up most of it"
    copying.get_by_role("tab", name=tab).click()
    expect(copying).to_have_url(re.compile("below=few"))
    page.goto(copied(copying))
    expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
    assert page.url == copying.url
    copying.context.close()


def test_published(copying: Page, page: Page, live_app: str) -> None:
    open_view(copying, live_app, "published")
    expect(charts.chart(copying, "published_settings_chart")).to_be_visible()
    copying.get_by_role("radio", name="Ranks").click()
    expect(copying).to_have_url(re.compile("plane=ranks"))
    key, places = "published_settings_chart", "plot => Array.from(plot._fullData[0].x)"
    before = charts.read_chart(copying, key, places)
    charts.choose(copying, "Reference", "Discriminator accuracy · News, Grover")
    chosen = charts.read_chart(copying, key, places, until=lambda found: found != before)
    page.goto(copied(copying))
    charts.settle(page)
    for opened in (copying, page):
        expect(opened.get_by_role("radio", name="Ranks")).to_be_checked()
    assert charts.read_chart(page, key, places) == chosen
    assert page.url == copying.url
    copying.context.close()
