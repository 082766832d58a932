"""A candidate's MAUVE in the real browser: the digits of Compare's leaderboard on every page that explains it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from mauve_core.scoring.tables import interval_of, mean_and_spread
from mauve_core.store import Run
from tests.browser import charts

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAME = "shifted"


def test_every_page_has_the_leaderboards_digits(page: Page, live_app: str, live_run: Run) -> None:
    estimate = live_run.comparison.candidate(NAME).scores["mauve"]
    page.goto(f"{live_app}/?run=synthetic&candidate={NAME}")
    row = charts.place(page, NAME)
    for part in (mean_and_spread(estimate), interval_of(estimate)):
        expect(row).to_contain_text(part)
    for view in ("Clusters", "Gap", "Map"):
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=view, exact=True).click()
        line = page.get_by_text("these clusters:")
        expect(line).to_contain_text(f"{NAME}: MAUVE {mean_and_spread(estimate)} ({interval_of(estimate)} at n = ")
        charts.settle(page)
    page.goto(f"{live_app}/gap?run=synthetic&candidate={NAME}&below=what-if&chosen=1")
    table = page.get_by_role("table").filter(has_text="As it is")
    for part in (mean_and_spread(estimate), interval_of(estimate)):
        expect(table).to_contain_text(part)
