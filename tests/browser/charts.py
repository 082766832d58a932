"""Charts and tables on a page that Streamlit may be redrawing.

When a rerun changes an element that has a key, the old one stays on the page, hidden, until the rerun ends, and Plotly
draws the new one a moment later. Meanwhile a key names two charts, a stale one, or none. So a chart is looked at in the
one instant in which the app rests and exactly one drawn chart stands under the key. The app also rests before it has
noticed what the test did: wait for an effect, with ``until`` or on the page, before trusting what is read.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from playwright.sync_api import Locator, Page, expect

TIMEOUT_S = 120
REOPEN_MS = 5000
POLL_MS = 50


_SETTLED = """() => {
    const face = document.querySelector('.st-key-face');  // page_chrome.css takes it out of the flow
    return document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === 'notRunning'
        && !document.querySelector('[data-stale="true"], [data-retained="true"]')
        && (!face || getComputedStyle(face).position === 'absolute');
}"""

_READ = """([key, arg]) => {
    const app = document.querySelector('[data-testid="stApp"]');
    const plots = document.querySelectorAll(`.st-key-${key} .js-plotly-plot`), plot = plots[0];
    if (app?.dataset.testScriptState !== 'notRunning' || plots.length !== 1 || plot.closest('[data-stale="true"]')
        || !plot._fullData || !plot._fullLayout || plot._fullLayout._replotting) return null;
    return [(READER)(plot, arg)];
}"""

_UNSEEN = """(element, whole) => {
    const {left, right, top, bottom, width, height} = element.getBoundingClientRect();
    if (!width || !height) return `has no size: ${width} x ${height}`;
    const seen = {left: Math.max(left, 0), top: Math.max(top, 0),
                  right: Math.min(right, innerWidth), bottom: Math.min(bottom, innerHeight)};
    const share = Math.max(seen.right - seen.left, 0) * Math.max(seen.bottom - seen.top, 0) / (width * height);
    const box = [left, top, right, bottom].map(Math.round);
    if (share === 0 || (whole && share < 0.99))
        return `lies at ${box}, and the window ends at ${[innerWidth, innerHeight]}`;
    const middle = [(seen.left + seen.right) / 2, (seen.top + seen.bottom) / 2];
    const inset = Math.min(6, width / 4, height / 4);
    const corners = [seen.left + inset, seen.right - inset].flatMap(
        x => [seen.top + inset, seen.bottom - inset].map(y => [x, y]));
    const painted = each => !/, 0\\)$|^transparent$/.test(getComputedStyle(each).backgroundColor);
    const within = (inner, outer) => {  // also of a component's own tree
        for (let each = inner; each; each = each.parentNode ?? each.host) if (each === outer) return true;
        return false;
    };
    for (const [x, y] of [middle, ...corners]) {
        for (const there of element.getRootNode().elementsFromPoint(x, y)) {  // the uppermost first
            if (within(there, element) || within(element, there)) break;
            if (painted(there))
                return `lies at ${box}; at ${[x, y].map(Math.round)} stands ${there.outerHTML.slice(0, 200)}`;
        }
    }
    return null;
}"""


def settle(page: Page) -> None:
    """Wait until the app rests, nothing stands twice on the page, and it has its styles.

    Streamlit loads what applies them only when a page first has some; on a busy machine a chart can be there before.
    """
    page.wait_for_function(_SETTLED)


def in_sight(page: Page, locator: Locator, *, whole: bool = True) -> None:
    """Wait until a person sees the element: in the window, and nothing painted over its middle and its corners.

    ``whole`` asks for all of it; else what is within the window counts. What stands in the way is in the failure.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while (unseen := locator.evaluate(_UNSEEN, whole)) is not None:
        assert time.monotonic() < deadline, f"{locator} is not in sight: it {unseen}"
        page.wait_for_timeout(POLL_MS)


def chart(page: Page, key: str) -> Locator:
    """The chart of that key, once it is the only one and drawn; for the mouse, not for reading."""
    read_chart(page, key, "() => true")
    return page.locator(f".st-key-{key} .js-plotly-plot")


def read_chart(
    page: Page, key: str, reader: str, arg: Any = None, *, until: Callable[[Any], bool] = lambda _: True
) -> Any:
    """What ``reader``, a JavaScript function of Plotly's element and ``arg``, says of the chart of that key.

    It is asked again until ``until`` is true of the answer; an answer that never gets there fails the test.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        (value,) = page.wait_for_function(_READ.replace("READER", reader), arg=[key, arg]).json_value()
        if until(value):
            return value
        assert time.monotonic() < deadline, f"what was waited for did not come to {key}, which shows {value!r:.2000}"
        page.wait_for_timeout(POLL_MS)


def table(page: Page, column: str) -> Locator:
    """The table that has a column of that title: its place on the page says less, for tables come and go."""
    header = page.get_by_role("columnheader", name=column, exact=True)
    return page.get_by_test_id("stTable").filter(has=header)


def place(page: Page, name: str) -> Locator:
    """The row of the candidate of that name in the list on Compare."""
    return page.locator('[class*="st-key-place_"]').filter(has=page.get_by_text(name, exact=True))


def open_share(page: Page) -> Locator:
    """Fold out the ways to share a page; the panel, once it has the focus."""
    page.get_by_role("button", name="Share").click()
    panel = page.get_by_test_id("stPopoverBody")
    expect(panel).to_be_focused()
    return panel


def choose(page: Page, label: str | re.Pattern[str], option: str) -> None:
    """Choose from the select box of that label, by keyboard, and wait until the box holds it.

    The list shuts when the page scrolls, as it does when a box at the window's edge takes the focus, and when a rerun
    draws the box anew. So the box is brought to the middle first, and a list that has shut is opened again. What was
    typed stays in a box whose list has shut, and typing the same again opens nothing: it goes when the box is left. So
    the box is left before its value counts as chosen.
    """
    box = page.get_by_role("combobox", name=label)
    found = page.get_by_role("option", name=option, exact=True)
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        settle(page)
        box.evaluate("element => element.scrollIntoView({block: 'center'})")
        box.blur()
        page.wait_for_timeout(POLL_MS)  # what was typed and not chosen has gone by then
        settle(page)
        if box.input_value() == option:
            return
        assert time.monotonic() < deadline, f"{option!r} was not chosen"
        box.fill(option)
        with suppress(AssertionError):  # the list has shut
            expect(found).to_be_visible(timeout=REOPEN_MS)
            box.press("Enter")
