"""The app under Streamlit's own server, as who knows Streamlit may start it: what it says that it lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from mauve_core.base.files import HOME_VARIABLE
from tests.browser import charts
from tests.browser.conftest import free_port, server_process, wait_until_healthy
from tests.synthetic import make_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

WARNING = re.compile("streamlit run.* started this server")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the app under test, for this process too."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "live-home"))
    make_run(tmp_path / "live-home", n=60, seeds=2, projection=False)
    return tmp_path / "live-home"


@pytest.fixture
def plain_app(chromium: Browser, home: Path) -> Iterator[str]:
    port = free_port()
    with server_process(home, port, module=("streamlit", "run", "app/mauve_app/main.py")) as server:
        wait_until_healthy(port, server, home.parent / "app.log")
        yield f"http://127.0.0.1:{port}"


def test_every_page_says_that_the_server_is_not_our_own(page: Page, plain_app: str) -> None:
    page.goto(plain_app)
    expect(page.get_by_text(WARNING)).to_be_visible()
    charts.chart(page, "frontier_chart")
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page.get_by_text(WARNING)).to_be_visible()
    expect(page.get_by_role("button", name="Export")).to_be_disabled()
    assert page.locator('a[href^="/export/"]').count() == 0
