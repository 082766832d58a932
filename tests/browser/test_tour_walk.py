"""The tour in the real browser: offered once a browser, walked by keyboard, each stop in the link and in sight."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import charts

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STOPS = 10


def at_stop(page: Page, place: int) -> None:
    expect(page.locator(".st-key-tour")).to_contain_text(f"{place} of {STOPS}")
    expect(page).to_have_url(re.compile(rf"[?&]tour={place}(&|$)"))
    charts.settle(page)


def test_the_tour_by_keyboard_from_the_offer_to_its_end(page: Page, live_app: str) -> None:
    page.goto(f"{live_app}/?run=synthetic")
    take = page.get_by_role("button", name="Take the tour")
    take.focus()
    page.keyboard.press("Enter")
    at_stop(page, 1)
    for place in range(2, STOPS + 1):
        page.keyboard.press("n")
        at_stop(page, place)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        expect(page.locator(".st-key-tour")).to_be_in_viewport()
    page.keyboard.press("b")
    at_stop(page, STOPS - 1)
    page.keyboard.press("e")
    expect(page.locator(".st-key-tour")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("tour="))


def test_a_stop_is_in_sight_below_its_words_and_its_link_opens_it(page: Page, live_app: str) -> None:
    page.goto(f"{live_app}/?run=synthetic&tour=2")
    at_stop(page, 2)
    pointed = page.locator(".st-key-frontier_chart[data-pointed-at]")
    expect(pointed).to_be_in_viewport()
    page.wait_for_function(
        """() => document.querySelector('.st-key-frontier_chart').getBoundingClientRect().top
            >= document.querySelector('.st-key-tour').getBoundingClientRect().bottom - 1"""
    )
    page.get_by_role("button", name="Next Shortcut").click()
    at_stop(page, 3)
    expect(page.locator("[data-pointed-at]")).to_have_count(1)


def test_whoever_says_no_is_not_asked_again_and_finds_it_in_the_sidebar(page: Page, live_app: str) -> None:
    page.goto(f"{live_app}/?run=synthetic")
    page.get_by_role("button", name="Not now").click()
    expect(page.get_by_role("button", name="Take the tour")).to_have_count(0)
    page.wait_for_function("() => document.cookie.includes('mauve_lens_tour')")
    page.reload()
    expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()
    charts.settle(page)
    expect(page.get_by_role("button", name="Take the tour")).to_have_count(0)
    page.get_by_role("button", name="Guided tour").click()
    at_stop(page, 1)
