"""News of a job comes after what a reader has pressed, however slow the server is to answer the press."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from mauve_app.components.news import BEAT_S
from mauve_core.base.files import HOME_VARIABLE
from tests.browser import charts
from tests.job_folders import job
from tests.synthetic import make_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial, pytest.mark.rare]


def test_a_pressed_link_leads_to_its_page(
    page: Page, empty_app: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamlit forgets which page was asked for when a rerun is asked for before it has answered."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "live-home"))
    run = make_run(tmp_path / "live-home", n=40, seeds=2, projection=False)
    held: list[str | bytes] = []
    slow = [False]

    def routed(browser: WebSocketRoute) -> None:
        server = browser.connect_to_server()

        def on_answer(message: str | bytes) -> None:
            held.append(message)
            while held and not slow[0]:
                browser.send(held.pop(0))

        browser.on_message(lambda message: server.send(message))
        server.on_message(on_answer)
        routes.append(browser)

    routes: list[WebSocketRoute] = []
    page.route_web_socket(re.compile("_stcore/stream"), routed)
    page.goto(f"{empty_app}/runs?run={run.id}")
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    charts.settle(page)
    page.wait_for_timeout(1000 * BEAT_S)
    slow[0] = True
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Judge").click()
    with job(1, kind="measures", status="running"):
        page.wait_for_timeout(1500 * BEAT_S)
        slow[0] = False
        while held:
            routes[-1].send(held.pop(0))
        expect(page.get_by_role("heading", name="Judge", exact=True)).to_be_visible()
        charts.settle(page)
        page.wait_for_timeout(1500 * BEAT_S)
        charts.settle(page)
        expect(page.get_by_role("heading", name="Judge", exact=True)).to_be_visible()
        expect(page).to_have_url(re.compile("/judge"))
