"""A link copied in one browser profile opens the same view in another."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import charts
from tests.browser.conftest import still

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial, pytest.mark.rare]


def copied(page: Page) -> str:
    """What Share puts on the clipboard, by keyboard alone; its panel is closed again."""
    charts.settle(page)
    share = page.get_by_role("button", name="Share")
    expect(share).to_have_count(1)
    share.focus()
    page.keyboard.press("Enter")
    panel = page.get_by_test_id("stPopoverBody")
    expect(panel).to_be_focused()
    button = panel.get_by_role("button", name="Copy link")
    button.focus()
    page.keyboard.press("Enter")
    expect(panel.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    expect(button).to_be_focused()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    return str(page.evaluate("navigator.clipboard.readText()"))


def view_of(url: str) -> str:
    """The link without the place to which it scrolls."""
    return url.partition("#")[0]


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
    assert view_of(page.url) == copying.url
    copying.context.close()


def test_the_receiver_lands_where_the_sender_was(copying: Page, page: Page, live_app: str) -> None:
    open_view(copying, live_app, "gap", candidate="shifted", cluster="2")
    copying.set_viewport_size({"width": 1280, "height": 500})
    assert "#" not in copied(copying)
    below = copying.locator(".st-key-gap_tabs")
    below.evaluate("tabs => tabs.scrollIntoView()")
    link = copied(copying)
    assert link.endswith("#gap_tabs")
    page.set_viewport_size({"width": 1280, "height": 500})
    page.goto(link)
    page.wait_for_function(
        "() => { const tabs = document.querySelector('.st-key-gap_tabs')?.getBoundingClientRect();"
        " return tabs && tabs.top >= 0 && tabs.top < 200; }"
    )
    charts.settle(page)
    charts.in_sight(page, page.locator(".st-key-gap_tabs").get_by_role("tab").first)
    copying.context.close()
