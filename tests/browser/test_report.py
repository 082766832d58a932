"""A report from the app to the disk and opened there with the network off: figures live, texts shown, nothing runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from mauve_core.findings.precomputed import run_gap_test
from mauve_core.reporting.html_report import html_report
from mauve_core.runs import Run
from tests.browser import charts
from tests.browser.conftest import serving, still
from tests.hostile_run import NAMES, TEXTS, make_hostile_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

SUBJECT = "3 candidates against human texts"

DRAWN = ".js-plotly-plot .main-svg"


@pytest.fixture(scope="module")
def hostile_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile") / "home"


@pytest.fixture(scope="module")
def hostile(hostile_home: Path) -> Run:
    return make_hostile_run(hostile_home)


@pytest.fixture(scope="module")
def report(hostile: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports") / "report.html"
    path.write_bytes(html_report(hostile))
    return path


@contextmanager
def opened(chromium: Browser, path: Path, *, scheme: str = "light", width: int = 1280) -> Iterator[Page]:
    """The file in a browser without a network; no request may leave, no script fail, nothing be refused."""
    viewport = {"width": width, "height": 900}
    context = still(chromium, viewport=viewport, color_scheme=scheme, offline=True)
    page = context.new_page()
    asked: list[str] = []
    complained: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complained.append(message.text)

    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complained.append(str(error)))
    page.on("console", hear)
    page.on("dialog", lambda dialog: complained.append(dialog.message))
    page.goto(path.as_uri())
    yield page
    outside = [url for url in asked if url != path.as_uri() and not url.startswith(("data:", "blob:"))]
    context.close()
    assert outside == []
    assert complained == []


def test_the_app_saves_it_and_it_opens_from_disk_with_the_network_off(
    chromium: Browser, page: Page, hostile: Run, hostile_home: Path, tmp_path: Path
) -> None:
    with serving(hostile_home) as url:
        page.goto(f"{url}/?run={hostile.id}")
        charts.chart(page, "frontier_chart")
        charts.settle(page)
        with page.expect_download() as download:
            charts.open_share(page).get_by_role("button", name="Whole report").click()
        assert download.value.suggested_filename == "script-alert-1-script-hostile-report.html"
        saved = tmp_path / "saved.html"
        download.value.save_as(saved)
    with opened(chromium, saved) as report:
        frontier = report.locator("[data-chart=frontier]")
        frontier.scroll_into_view_if_needed()  # figures are drawn when they come into view
        expect(frontier.locator(".main-svg").first).to_be_visible()
        names = frontier.evaluate("plot => plot._fullData.map(trace => trace.meta).filter(Boolean)")
        assert len(set(names)) == len(NAMES)
        expect(report.get_by_role("heading", level=1)).to_have_text(f"{hostile.name}: {SUBJECT}")
        expect(report.get_by_role("rowheader", name=NAMES[0]).first).to_be_visible()


@pytest.mark.rare
def test_every_figure_is_drawn_once_it_comes_into_view(chromium: Browser, report: Path, hostile: Run) -> None:
    explained = [run_gap_test(hostile, "pairwise", name).explains for name in NAMES]
    assert len(set(explained)) == 2
    with opened(chromium, report) as page:
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        places = page.locator(".plot")
        count = places.count()
        assert count == 3 + sum(3 if gap else 1 for gap in explained)  # the ledger has two figures
        for place in range(count):
            places.nth(place).scroll_into_view_if_needed()
            charts.in_sight(page, places.nth(place).locator(".main-svg").first, whole=False)
        held = page.evaluate("[...document.querySelectorAll('.plot')].map(plot => plot._fullData.length)")
        assert min(held) > 0
        # WebGL would have needed what the policy forbids; the map is drawn, as points of SVG.
        assert page.locator("[data-chart=map] .scatterlayer path.point").count() > 150


def test_hostile_names_and_texts_are_shown_and_do_not_run(chromium: Browser, report: Path, hostile: Run) -> None:
    with opened(chromium, report) as page:
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        for name in NAMES:
            expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
        said = page.locator("main").inner_text()
        for text in (TEXTS[0], TEXTS[1], TEXTS[2]):
            assert text in said
        assert page.locator("main img, main iframe, main base, main script").count() == 0
        # An animation frame later than everything that could have run.
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.evaluate("window.ran") is None
        assert page.title() == f"{hostile.name}: {SUBJECT} · MAUVE Lens"


def test_a_script_that_gets_in_all_the_same_is_refused(chromium: Browser, report: Path, tmp_path: Path) -> None:
    """The policy holds by itself: one element more, put in by hand, and the browser does not run it."""
    broken = tmp_path / "broken.html"
    script = "<script>document.title = 'ran'</script><img src=x onerror=\"document.title = 'ran'\">"
    broken.write_text(report.read_text(encoding="utf-8").replace("<main>", f"<main>{script}", 1), encoding="utf-8")
    context = still(chromium, offline=True)
    page = context.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(broken.as_uri())
    page.locator(".plot").first.scroll_into_view_if_needed()
    expect(page.locator(DRAWN).first).to_be_visible()
    assert page.title() != "ran"
    assert any("Content Security Policy" in text for text in refused)
    context.close()
