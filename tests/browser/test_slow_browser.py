"""A browser that draws a page only when a second run of it has come finds nothing of the first one on its way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from mauve_core.runs import Run
from tests.browser import charts
from tests.browser.full_run import FOLLOWED

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial, pytest.mark.rare]


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


@pytest.mark.parametrize(("view", "query"), [(view, query) for view, query, _ in FOLLOWED])
def test_every_control_of_every_view(
    page: Page, full_app: tuple[str, Run], view: str, query: Mapping[str, str]
) -> None:
    path = "" if view == "compare" else view
    opened_slowly(page, f"{full_app[0]}/{path}?{urlencode({'run': 'synthetic', **query})}")
    address = page.url
    page.get_by_role("radio", name="SVG").click()  # the whole page again, with what the browser takes to be chosen
    expect(page.get_by_role("radio", name="SVG")).to_be_checked()
    charts.settle(page)
    page.wait_for_timeout(1000)
    charts.settle(page)
    assert page.url == address
