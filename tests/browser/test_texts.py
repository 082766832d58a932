"""Search for texts in the real browser: type, click a source, and take the search along to the other pages."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from mauve_core.analysis.text_search import TextSearch, found_texts
from mauve_core.base.config import HUMAN
from mauve_core.store import Run
from tests.browser import charts

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WORD = "river"
_CLICK = """(plot, row) => {
    const box = plot.querySelector('.nsewdrag').getBoundingClientRect();
    const axis = plot._fullLayout.yaxis;
    return [box.left + box.width / 2, box.top + axis.d2p(row)];
}"""


def test_a_search_goes_along_from_page_to_page(page: Page, live_app: str, live_run: Run) -> None:
    found = found_texts(live_run.corpora, TextSearch(WORD))
    total, n = sum(int(mask.sum()) for mask in found.values()), sum(mask.size for mask in found.values())
    page.goto(f"{live_app}/texts?run=synthetic&candidate=shifted")
    expect(page.get_by_text(f"{n:,} texts of 4 sources")).to_be_visible()
    box = page.get_by_role("textbox", name="Find texts with")
    box.fill(WORD)
    box.press("Enter")
    expect(page.get_by_text(f"“{WORD}”: {total:,} of {n:,} texts.")).to_be_visible()
    expect(page).to_have_url(re.compile(rf"[?&]find={WORD}(&|$)"))
    charts.settle(page)
    expect(page.locator("mark").first).to_have_text(re.compile(WORD, re.IGNORECASE))

    names = list(found)
    row = names.index("shifted")
    x, y = charts.read_chart(page, "texts_chart", _CLICK, row)
    page.mouse.click(x, y)
    expect(page).to_have_url(re.compile(r"[?&]in=shifted(&|$)"))
    expect(page.get_by_text(f"“{WORD}”, in shifted: {found['shifted'].sum():,} of")).to_be_visible()
    charts.settle(page)
    x, y = charts.read_chart(page, "texts_chart", _CLICK, row)
    page.mouse.click(x, y)
    expect(page).not_to_have_url(re.compile(r"[?&]in="))
    charts.settle(page)

    page.get_by_role("link", name="In which clusters").click()
    expect(page.get_by_role("heading", name="Clusters", exact=True)).to_be_visible()
    expect(page.get_by_text(f"“{WORD}”: {found[HUMAN].sum():,} of")).to_be_visible()
    expect(page.get_by_role("combobox", name="Sort by")).to_have_value("Texts found")
    charts.settle(page)

    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Map", exact=True).click()
    both = int(found[HUMAN].sum() + found["shifted"].sum())
    expect(page.get_by_role("heading", name=f"{both:,} texts found")).to_be_visible()
    raised = charts.read_chart(
        page,
        "map_chart",
        """plot => {
            const points = plot._fullData.filter(t => t.type === 'scattergl' && t.customdata);
            const most = Math.max(...points.map(t => t.marker.opacity));
            return points.filter(t => t.marker.opacity === most).flatMap(t => Array.from(t.customdata, d => d[0]));
        }""",
    )
    stacked = np.flatnonzero(np.concatenate([found[source.name] for source in live_run.comparison.sources]))
    starts = np.cumsum([0, *(source.n for source in live_run.comparison.sources)])
    place = [source.name for source in live_run.comparison.sources].index("shifted")
    shown = [each for each in stacked.tolist() if each < starts[1] or starts[place] <= each < starts[place + 1]]
    assert sorted(int(each) for each in raised) == shown

    page.get_by_role("button", name="Clear the search").first.click()
    expect(page).not_to_have_url(re.compile(r"[?&]find="))
    expect(page.get_by_role("heading", name=f"{both:,} texts found")).to_have_count(0)


def test_a_search_on_another_page_opens_behind_its_button(page: Page, live_app: str) -> None:
    page.goto(f"{live_app}/clusters?run=synthetic&candidate=shifted")
    charts.settle(page)
    page.get_by_role("button", name="Find texts").click()
    box = page.get_by_test_id("stPopoverBody").get_by_role("textbox", name="Find texts with")
    box.fill("(")
    box.press("Enter")
    expect(page.get_by_text("“(”: ")).to_be_visible()
    page.get_by_test_id("stPopoverBody").get_by_text("Regular expression").click()
    expect(page.get_by_role("alert")).to_contain_text("The pattern cannot be used")
    expect(page.get_by_role("heading", name="Clusters", exact=True)).to_be_visible()
