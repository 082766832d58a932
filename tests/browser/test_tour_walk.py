"""The tour in the real browser: offered once a browser, walked by keyboard, each stop in the link and in sight."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import charts

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial, pytest.mark.rare]

STOPS = 5


def at_stop(page: Page, place: int) -> None:
    expect(page.locator(".st-key-tour")).to_contain_text(f"{place} of {STOPS}")
    expect(page).to_have_url(re.compile(rf"[?&]tour={place}(&|$)"))
    charts.settle(page)


def in_sight_below_the_words(page: Page, key: str, *, whole: bool = True) -> None:
    """The one element that is pointed at has that key, a person sees it, and all of the step's words and buttons."""
    expect(page.locator("[data-pointed-at]")).to_have_count(1)
    pointed = page.locator(f".st-key-{key}[data-pointed-at]")
    charts.in_sight(page, pointed, whole=whole)
    charts.in_sight(page, page.locator(".st-key-tour"))
    charts.in_sight(page, page.get_by_role("button", name="Next Shortcut"))
    words, below = page.locator(".st-key-tour").bounding_box(), pointed.bounding_box()
    assert words
    assert below
    assert below["y"] > words["y"] + words["height"]


def test_the_tour_by_keyboard_from_the_offer_to_its_end(page: Page, live_app: str) -> None:
    page.goto(f"{live_app}/?run=synthetic")
    take = page.get_by_role("button", name="Take the two-minute tour")
    take.focus()
    page.keyboard.press("Enter")
    at_stop(page, 1)
    for place in range(2, STOPS + 1):
        page.keyboard.press("n")
        at_stop(page, place)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        charts.in_sight(page, page.locator(".st-key-tour"))
    page.keyboard.press("b")
    at_stop(page, STOPS - 1)
    page.keyboard.press("e")
    expect(page.locator(".st-key-tour")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("tour="))


def test_a_stop_is_in_sight_below_its_words_and_its_link_opens_it(page: Page, live_app: str) -> None:
    page.goto(f"{live_app}/?run=synthetic&tour=2")
    at_stop(page, 2)
    in_sight_below_the_words(page, "frontier_chart")
    page.get_by_role("button", name="Next Shortcut").click()
    at_stop(page, 3)
    in_sight_below_the_words(page, "clusters_panes", whole=False)
