"""Hostile names and texts on pages, and hostile files in New run: nothing runs or reaches out, and the app lives on.

The fixture ``page`` fails on a request to a foreign host, on a script error and on a break of the policy of content.
"""

from __future__ import annotations

import re
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from docs.screenshots import FAULTS, VIEWS, open_view
from mauve_core.texts import limits
from tests.browser import charts
from tests.browser.conftest import HOSTILE, free_port, server_process, wait_until_healthy
from tests.browser.hostile_files import REFUSED, write_refused
from tests.browser.test_payloads import alive, words
from tests.browser.test_upload import uploader
from tests.hostile_run import NAMES, TEXTS
from tests.payloads import plain

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(1800)]

# The server by itself takes some 300, a file of the sizes that are allowed some hundred more.
MOST_MB = 1500


def expect_unharmed(page: Page, url: str) -> None:
    """Nothing of a text came to life, the page is no wider than the window, and the server answers."""
    charts.settle(page)
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.querySelectorAll('iframe, base, [onerror], [onload], [onfocus]').length") == 0
    # Our own links hold a candidate's name in their query, where both slashes are written as %2F.
    live = "a[href*='//example'], a[href^=javascript], img[src*=example]"
    assert page.locator(live).count() == 0
    width = page.evaluate("Math.max(document.scrollingElement.scrollWidth, document.body.scrollWidth) - innerWidth")
    assert width <= 0, f"{page.url} is {width} pixels too wide"
    assert page.evaluate(FAULTS) == []
    with urllib.request.urlopen(f"{url}/_stcore/health", timeout=30) as answer:
        assert answer.status == 200


def test_names_and_texts_stay_text(page: Page, live_app: str) -> None:
    for view in ("compare", "clusters", "texts-all"):
        open_view(page, VIEWS[view], live_app, HOSTILE)
        expect_unharmed(page, live_app)
        assert alive(page) == [], view
        shown = words(page)  # long names are cut in their middle
        assert any(plain(each)[:12] in shown for each in (*NAMES, *TEXTS)), view


@pytest.mark.trial
def test_files_that_are_no_corpora_are_refused(page: Page, tmp_path: Path) -> None:
    """And meanwhile the server answers others, and takes no more memory than honest files of that size do."""
    port, home = free_port(), tmp_path / "live-home"
    with server_process(home, port, **{limits.ROWS_VARIABLE: "20000"}) as server, ThreadPoolExecutor(1) as threads:
        wait_until_healthy(port, server, tmp_path / "app.log")
        app, refused = f"http://127.0.0.1:{port}", threading.Event()
        answers = threads.submit(_asked_until, refused, f"{app}/_stcore/health")
        try:
            _expect_refusals(page, app, tmp_path)
        finally:
            refused.set()
        assert set(answers.result()) == {200}
        assert _most_megabytes(server.pid) < MOST_MB


def _asked_until(end: threading.Event, url: str) -> list[int]:
    """What the server answers to someone else, again and again."""
    found = []
    while not end.is_set() or not found:
        with urllib.request.urlopen(url, timeout=30) as answer:
            found.append(answer.status)
        end.wait(0.1)
    return found


def _most_megabytes(process: int) -> int:
    """The most memory that a process has had, by Linux's count."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (peak,) = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(peak) // 1024


def _expect_refusals(page: Page, app: str, tmp_path: Path) -> None:
    page.goto(f"{app}/new_run")
    expect(page.get_by_text(re.compile("20,000 rows")).first).to_be_visible()
    for name, path in write_refused(tmp_path).items():
        uploader(page, 1).set_input_files(path)
        card = page.locator('[class*="st-key-card_"]').filter(has_text=f"Name of {name}")
        expect(card.get_by_role("alert")).to_contain_text(REFUSED[name])
        expect_unharmed(page, app)
        card.get_by_role("button", name="Remove").click()
        expect(card).to_have_count(0)
