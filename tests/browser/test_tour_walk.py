"""The tour in the real browser: offered once a browser, walked by keyboard, each stop in the link and in sight."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser import charts

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

STOPS = 5
TELEPHONE = (375, 667)
STYLES = re.compile(r"/static/js/Html\.[^/]*\.js$")
"""Streamlit's part that applies styles: without it there are charts, but no panel that stays above them."""

TALLER, GONE = "above => { above.style.minHeight = '900px'; }", "above => { above.style.display = 'none'; }"

_SCROLLED = "() => document.querySelector('[data-testid=\"stMain\"]').scrollTop"
_NOTICED = """() => {
    const area = document.createElement('div');  // one more area that scrolls gets into the order of the tab key
    area.dataset.testid = 'stTable';
    area.innerHTML = '<div style="position: fixed; width: 9px; height: 9px; overflow: auto"><p>words</p></div>';
    document.body.append(area);
    return area.firstChild;
}"""


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


def let_the_page_notice(page: Page) -> None:
    """Until what the browser does beside the page has answered to all that has happened on it by now."""
    area = page.evaluate_handle(_NOTICED)
    page.wait_for_function("area => area.tabIndex === 0", arg=area)
    area.dispose()


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


def test_a_stop_comes_into_sight_when_styles_come_late(page: Page, live_app: str) -> None:
    held: list[Route] = []
    page.route(STYLES, lambda route: held.append(route))
    page.goto(f"{live_app}/?run=synthetic&tour=2")
    expect(page.locator(".st-key-frontier_chart[data-pointed-at]")).to_be_visible()
    page.wait_for_function(f"{_SCROLLED} > 0")
    assert held
    for route in held:
        route.continue_()
    at_stop(page, 2)
    in_sight_below_the_words(page, "frontier_chart")


def test_a_stop_stays_in_sight_when_what_stands_above_it_changes_its_size(page: Page, live_app: str) -> None:
    page.goto(f"{live_app}/?run=synthetic&tour=2")
    at_stop(page, 2)
    for change in (TALLER, GONE):
        in_sight_below_the_words(page, "frontier_chart")
        page.locator(".st-key-verdict").evaluate(change)
        let_the_page_notice(page)
    in_sight_below_the_words(page, "frontier_chart")


def test_a_stop_is_in_sight_below_its_words_on_a_telephone(page: Page, live_app: str) -> None:
    width, height = TELEPHONE
    page.set_viewport_size({"width": width, "height": height})
    page.goto(f"{live_app}/clusters?run=synthetic&tour=3")
    at_stop(page, 3)
    in_sight_below_the_words(page, "clusters_panes", whole=False)
    page.set_viewport_size({"width": height, "height": width})  # turned
    in_sight_below_the_words(page, "clusters_panes", whole=False)


def test_a_reader_who_scrolls_is_left_where_they_are(page: Page, live_app: str) -> None:
    page.goto(f"{live_app}/?run=synthetic&tour=2")
    at_stop(page, 2)
    in_sight_below_the_words(page, "frontier_chart")
    page.mouse.move(700, 700)
    page.mouse.wheel(0, -5000)
    page.wait_for_function(f"{_SCROLLED} === 0")
    page.locator(".st-key-verdict").evaluate(TALLER)
    let_the_page_notice(page)
    assert page.evaluate(f"({_SCROLLED})()") == 0
    page.keyboard.press("n")
    at_stop(page, 3)
    in_sight_below_the_words(page, "clusters_panes", whole=False)


def test_whoever_says_no_is_not_asked_again_and_finds_it_in_the_sidebar(page: Page, live_app: str) -> None:
    page.goto(f"{live_app}/?run=synthetic")
    page.get_by_role("button", name="Not now").click()
    expect(page.get_by_role("button", name="Take the two-minute tour")).to_have_count(0)
    page.wait_for_function("() => document.cookie.includes('mauve_lens_tour')")
    page.reload()
    expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()
    charts.settle(page)
    expect(page.get_by_role("button", name="Take the two-minute tour")).to_have_count(0)
    page.get_by_role("button", name="Guided tour").click()
    at_stop(page, 1)


def test_slides_by_keyboard_from_share_to_their_end(page: Page, live_app: str) -> None:
    page.goto(f"{live_app}/?run=synthetic")
    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="Present").click()
    for place, key in ((1, "ArrowRight"), (2, "ArrowRight"), (3, "ArrowRight"), (4, "ArrowLeft")):
        on_slide(page, place)
        for control in (page.get_by_test_id("stSidebar"), page.get_by_test_id("stSelectbox").first):
            expect(control).not_to_be_visible()
        page.keyboard.press(key)
    on_slide(page, 3)
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("tour=|present="))
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    expect(page.get_by_role("heading", name="Clusters", level=1)).to_be_visible()


def on_slide(page: Page, place: int) -> None:
    expect(page.locator(".st-key-slide")).to_contain_text(f"{place} of {STOPS - 1}")
    expect(page).to_have_url(re.compile(rf"[?&]tour={place}&present=on"))
    charts.settle(page)
