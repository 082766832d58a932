"""A browser that draws a page only when a second run of it has come finds nothing of the first one on its way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser import charts
from tests.browser.conftest import serving
from tests.browser.full_run import FOLLOWED, make_full_run

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def opened_slowly(page: Page, url: str) -> None:
    """Open it, and keep back what the server says until its second run has ended."""
    held: list[str | bytes] = []

    def slowly(browser: WebSocketRoute) -> None:
        server = browser.connect_to_server()
        asked: list[str | bytes] = []
        ends = 0

        def on_asked(message: str | bytes) -> None:
            asked.append(message)
            server.send(message)

        def on_answer(message: str | bytes) -> None:
            nonlocal ends
            held.append(message)
            if _ends_a_run(message):
                ends += 1
                if ends == 1:
                    server.send(asked[0])  # the second run
            while ends > 1 and held:
                browser.send(held.pop(0))

        browser.on_message(on_asked)
        server.on_message(on_answer)

    page.route_web_socket(re.compile("_stcore/stream"), slowly)
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    charts.settle(page)


def _ends_a_run(message: str | bytes) -> bool:
    forward = ForwardMsg()
    forward.ParseFromString(message if isinstance(message, bytes) else message.encode())
    return forward.WhichOneof("type") == "script_finished"


def test_it_keeps_what_the_link_says(page: Page, live_app: str) -> None:
    link = f"{live_app}/clusters?run=synthetic&cluster=3&weight=0.3&whose=model&order=p"
    opened_slowly(page, link)
    expect(page.get_by_text("Cluster 3", exact=True)).to_be_visible()
    page.get_by_role("tab", name="Table", exact=True).click()
    expect(page).to_have_url(f"{link}&form=table")


@pytest.fixture(scope="module")
def full_app(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home: Path = tmp_path_factory.mktemp("slow") / "home"
    make_full_run(home)
    with serving(home) as url:
        yield url


@pytest.mark.trial
@pytest.mark.parametrize(("view", "query"), [(view, query) for view, query, _ in FOLLOWED])
def test_every_control_of_every_view(page: Page, full_app: str, view: str, query: Mapping[str, str]) -> None:
    path = "" if view == "compare" else view
    opened_slowly(page, f"{full_app}/{path}?{urlencode({'run': 'synthetic', **query})}")
    address = page.url
    page.get_by_role("radio", name="SVG").click()  # the whole page again, with what the browser takes to be chosen
    expect(page.get_by_role("radio", name="SVG")).to_be_checked()
    charts.settle(page)
    page.wait_for_timeout(1000)
    charts.settle(page)
    assert page.url == address
