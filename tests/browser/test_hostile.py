"""Hostile corpora through New run and every view: nothing runs or reaches out, the layout holds, the app lives on.

The fixture ``page`` fails on a request to a foreign host, on a script error and on a break of the policy of content.
"""

from __future__ import annotations

import csv
import io
import re
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from docs.screenshots import FAULTS
from mauve_core.corpus import limits
from mauve_core.store import RunStore
from tests.browser import charts, results
from tests.browser.conftest import free_port, server_process, serving, wait_until_healthy
from tests.browser.hostile_files import REFUSED, TEXTS, write_readable, write_refused
from tests.browser.test_upload import JOB_TIMEOUT_MS, choose_encoder, uploader
from tests.tiny_models import make_gpt2

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial, pytest.mark.timeout(1800)]

N = 40
VIEWS = ("", "decoders", "decoders?section=generate", "methods", "clusters", "gap", "probes", "map", "texts",
    "texts?find=a", "judge", "runs",
         "published", "new_run", "findings")  # fmt: skip
MOST_MB = 1500
"""The server by itself takes some 300, a file of the sizes that are allowed some hundred more."""

AREA = "-1000,-1000;1000,-1000;1000,1000;-1000,1000"
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


@pytest.fixture
def app(chromium: Browser, tmp_path: Path) -> Iterator[str]:
    """An empty app that reads at most 20,000 rows of a file."""
    with serving(tmp_path / "live-home", **{limits.ROWS_VARIABLE: "20000"}) as url:
        yield url


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


def test_hostile_texts_stay_text(page: Page, app: str, tmp_path: Path) -> None:
    paths = write_readable(tmp_path, N)
    page.goto(f"{app}/new_run")
    uploader(page, 0).set_input_files(paths.pop("human"))
    expect(page.get_by_text(f"{N} texts")).to_be_visible()
    uploader(page, 1).set_input_files(list(paths.values()))
    expect(page.get_by_label(re.compile("Name of emoji"))).to_be_visible()
    charts.settle(page)
    renamed = page.get_by_label(re.compile("Name of html"))
    renamed.fill("<img src=//example.org onerror=1> ![x](//example.org)")
    renamed.press("Enter")
    expect_unharmed(page, app)
    choose_encoder(page, str(make_gpt2(tmp_path / "tiny-gpt2")))
    name = page.get_by_label("Name of the run")
    name.fill("hostile <script>window.ran=true</script>")
    name.press("Enter")
    charts.settle(page)
    page.get_by_role("button", name="Start", exact=True).click()
    results.expect_done(page, JOB_TIMEOUT_MS)
    (summary,) = RunStore(tmp_path / "live-home" / "runs").list()
    assert len(summary.candidates) == len(TEXTS)
    for view in VIEWS:
        page.goto(f"{app}/{view}{'&' if '?' in view else '?'}run={summary.id}")
        expect(page.get_by_role("heading").first).to_be_visible()
        expect_unharmed(page, app)
    for candidate in summary.candidates:
        _walk_candidate(page, app, summary.id, candidate)
    _expect_plain_cells(page, app, summary.id)


def _walk_candidate(page: Page, app: str, run_id: str, candidate: str) -> None:
    """Texts of a cluster, of an area, and of the candidate's parts of both errors."""
    focus = urlencode({"run": run_id, "candidate": candidate})
    for view in (f"clusters?{focus}&cluster=0", f"map?{focus}&lasso={AREA}", f"gap?{focus}&cluster=1"):
        page.goto(f"{app}/{view}")
        expect(page.get_by_role("heading").first).to_be_visible()
        expect_unharmed(page, app)


def _expect_plain_cells(page: Page, app: str, run_id: str) -> None:
    page.goto(f"{app}/map?run={run_id}&candidate=formulas&hidden=none&lasso={AREA}")
    charts.settle(page)
    page.get_by_role("tab", name="List").click()
    button = page.locator(".st-key-map_area_csv button")
    expect(button).to_have_count(1)
    with page.expect_download() as waiting:
        button.click()
    csv.field_size_limit(10**7)
    cells = list(csv.reader(io.StringIO(waiting.value.path().read_text(encoding="utf-8"), newline="")))
    assert len(cells) == 1 + N * (1 + len(TEXTS))
    assert not [cell for row in cells for cell in row if cell.startswith(FORMULA_STARTS) and not _is_number(cell)]
    assert any("HYPERLINK" in cell for row in cells for cell in row)


def _is_number(cell: str) -> bool:
    try:
        return float(cell) is not None
    except ValueError:
        return False


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
