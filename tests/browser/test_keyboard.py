"""Each selection of a chart by keyboard alone: the same link and the same texts as with the mouse."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from docs.screenshots import VIEWS, open_view
from mauve_core.findings.precomputed import run_cluster_names
from mauve_core.runs import Run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial, pytest.mark.rare]

RUN = "synthetic"
MOST_TABS = 120


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element that the selector finds has the focus."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{MOST_TABS} presses of Tab do not lead to {selector}")


def choose(page: Page, key: str, typed: str) -> None:
    """Choose in a select box: reach it by Tab, type, Enter."""
    tab_to(page, f".st-key-{key} input")
    page.keyboard.type(typed)
    page.keyboard.press("Enter")


@pytest.mark.parametrize(("view", "typed"), [("clusters", "number"), ("gap", "name"), ("map", "number")])
def test_a_cluster_by_its_number_or_name(page: Page, full_app: tuple[str, Run], view: str, typed: str) -> None:
    url, run = full_app
    open_view(page, VIEWS[view], url, RUN)
    candidate = run.comparison.candidates[0].name
    name = run_cluster_names(run, "pairwise", candidate, run.comparison.median_seed(candidate))[3]
    choose(page, "url_cluster", "3" if typed == "number" else name)
    expect(page).to_have_url(re.compile(r"[?&]cluster=3(&|$)"))
    expect(page.get_by_role("heading", name=re.compile(rf"^{re.escape(name)}( · 3)?$"))).to_be_visible()


def test_the_tab_key_goes_down_the_page(page: Page, full_app: tuple[str, Run]) -> None:
    url, _ = full_app
    open_view(page, VIEWS["compare"], url, RUN)
    main = page.get_by_test_id("stMain")
    tab_to(page, '[data-testid="stMain"] *')
    tops = []
    for _ in range(12):
        if not main.evaluate("main => main.contains(document.activeElement)"):
            break
        tops.append(
            main.evaluate("main => Math.round(document.activeElement.getBoundingClientRect().top + main.scrollTop)")
        )
        page.keyboard.press("Tab")
    assert len(tops) > 5
    # What stands in one row may differ by the height of a label.
    assert all(after >= before - 60 for before, after in pairwise(tops)), tops
