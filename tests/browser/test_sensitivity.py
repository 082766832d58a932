"""The folded settings in the real browser: by keyboard alone, across pages, reset by one press, nothing for axe."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import axe, charts

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_by_keyboard_across_pages_and_back(page: Page, dark_page: Page, live_app: str, scheme: str) -> None:
    page = dark_page if scheme == "dark" else page
    page.goto(f"{live_app}/gap?run=synthetic&candidate=shifted")
    expect(charts.chart(page, "gap_ledger_adds")).to_be_visible()
    charts.settle(page)
    line, reset = page.get_by_text("these clusters:"), page.get_by_role("button", name="Reset", exact=True)
    before = line.inner_text()
    button = page.get_by_role("button", name="Sensitivity")
    button.press("Enter")
    panel = page.get_by_test_id("stPopoverBody")
    expect(panel).to_be_focused()
    assert [str(each) for each in axe.violations(page)] == []
    page.keyboard.press("Tab")  # the help
    page.keyboard.press("Tab")
    expect(page.get_by_role("radio", name="Pairwise (as published)")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page).to_have_url(re.compile(r"partition=joint"))
    expect(line).to_contain_text("in the joint partition; these clusters:")
    expect(line).to_contain_text("on the leaderboard, at the run's own settings:")
    expect(panel).to_be_visible()  # it stays open while the page is drawn again
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)

    for name, address in (("Clusters", "clusters"), ("Map", "map"), ("Compare", "")):
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=name).click()
        expect(page).to_have_url(re.compile(rf"/{address}\?.*partition=joint"))
        expect(reset).to_be_visible()
    charts.settle(page)
    reset.click()
    expect(page).not_to_have_url(re.compile("partition"))
    expect(reset).to_have_count(0)
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Gap").click()
    expect(line).to_have_text(before)
