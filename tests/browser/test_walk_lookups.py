"""The server looks nothing up while a person walks through its pages, nor does it ask any other machine."""

from __future__ import annotations

import urllib.parse
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.app.pages import PAGES
from tests.browser.conftest import serving
from tests.browser.full_run import FOLLOWED, make_full_run
from tests.lookups import looked_up, watched

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]


def test_a_walk_through_all_pages_looks_nothing_up(page: Page, tmp_path: Path) -> None:
    home, log = tmp_path / "home", tmp_path / "lookups"
    run = make_full_run(home)
    own = ("PYTHONPATH", "LOOKUPS", "HF_HOME", "HF_ENDPOINT")
    variables = {name: value for name, value in watched(log).items() if name in own}
    walk = [(view, query) for view, query, _ in FOLLOWED]
    walk += [(view, {}) for view in PAGES if view not in dict(walk)]
    with serving(home, HF_HUB_OFFLINE="0", **variables) as url:
        for view, query in walk:
            page.goto(f"{url}/{view}?{urllib.parse.urlencode({'run': run.id, **query})}")
            expect(page.locator("h1").first).to_be_visible()
            expect(page.locator('[data-test-script-state="notRunning"]')).to_be_visible()
    assert looked_up(log) == []
