"""Eleven candidates cut no words and no columns, buttons cover no title, and a map comes without WebGL too."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import charts
from tests.browser.conftest import CHROMIUM_FLAGS, CHROMIUM_NAMES, PAGE_TIMEOUT_MS

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial, pytest.mark.rare]


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
