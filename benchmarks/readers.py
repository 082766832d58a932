"""Browsers at once: each walks through the app, on a candidate and clusters of its own, and looks for errors."""

from __future__ import annotations

import asyncio
import re
import time
import urllib.parse
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from browsing import PAGES, TIMEOUT_MS
from playwright.async_api import Browser, Page, TimeoutError, expect  # noqa: A004 (Playwright's own)

from mauve_core.base.config import HUMAN
from mauve_core.findings.precomputed import run_cluster_names
from mauve_core.runs import Run

AFTER_FAULT_S = 10.0
HOVER_S, MISSED_MS = 0.3, 10_000
# A reader's pause after each interaction.
PAUSE_S = 5.0

SETTLED = """() => document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === 'notRunning'
    && !document.querySelector('[data-stale="true"], [data-retained="true"], [data-testid="stSkeleton"]')"""
ERRORS = '[data-testid="stException"], [data-testid="stAlertContentError"], [data-testid="stConnectionStatus"]'
ROW = """([number, readers, turn, chosen]) => {
    const plots = document.querySelectorAll('.st-key-clusters_chart .js-plotly-plot'), plot = plots[0];
    if (plots.length !== 1 || !plot._fullData || !plot._fullLayout || plot._fullLayout._replotting) return null;
    const layout = plot._fullLayout, rows = plot._fullData[plot._fullData.length - 1], data = rows.customdata;
    const own = data.map((row, at) => at).filter(at => data[at][0] % readers === number && data[at][0] !== chosen);
    const at = own[turn % own.length];
    return [layout._size.l + layout._size.w - 6, layout.yaxis._offset + layout.yaxis.d2p(rows.y[at]), data[at][0]];
}"""


@dataclass
class Findings:
    """What all browsers found: when they did what and how long it took, and what went wrong.

    ``alerts`` are error messages on pages with what was done before; those that contain one of ``expected`` are right.
    """

    acts: list[tuple[str, float, float]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    alerts: list[tuple[str, str]] = field(default_factory=list)
    expected: set[str] = field(default_factory=set)

    @property
    def wrong(self) -> list[str]:
        """Everything that should not have been."""
        alerts = [f"{what}: {said}" for what, said in self.alerts if not any(each in said for each in self.expected)]
        return [*self.broken, *alerts]


async def opened(browser: Browser, name: str, findings: Findings) -> Page:
    """A page of a new profile whose failed scripts are findings."""
    context = await browser.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(TIMEOUT_MS)
    page = await context.new_page()
    page.on("pageerror", lambda error: findings.broken.append(f"{name}: a script failed: {error}"[:500]))
    return page


async def settle(page: Page, name: str, what: str, findings: Findings) -> None:
    """Wait until the page rests, and look for errors on it."""
    await page.wait_for_function(SETTLED)
    for alert in await page.locator(ERRORS).all():
        with suppress(Exception):  # gone since
            findings.alerts.append((f"{name}, {what}", await alert.inner_text(timeout=1000)))


class Reader:
    """One browser with a candidate and clusters of its own."""

    def __init__(self, number: int, readers: int, page: Page, url: str, run: Run, findings: Findings) -> None:
        self.number, self.readers, self.page, self.url, self.run, self.findings = (
            number, readers, page, url, run, findings,
        )  # fmt: skip
        self.name = f"browser {number}"
        candidates = [candidate.name for candidate in run.comparison.candidates]
        self.candidate = candidates[number % len(candidates)]
        self.names = run_cluster_names(run, "pairwise", self.candidate, run.comparison.median_seed(self.candidate))
        self.cluster = number

    async def walk(self, until: float) -> None:
        """Go round the pages until the time is over."""
        turn = 0
        while time.monotonic() < until:
            try:
                await self.round(turn, until)
            except Exception as error:  # noqa: BLE001 (whatever stops a reader is a finding)
                self.findings.broken.append(f"{self.name}, turn {turn}: {type(error).__name__}: {error}"[:500])
                await asyncio.sleep(AFTER_FAULT_S)
            turn += 1

    async def round(self, turn: int, until: float) -> None:
        """Every page once, the first by its link."""
        asked = {"run": self.run.id, "candidate": self.candidate, "cluster": self.cluster}
        link = f"{self.url}/clusters?{urllib.parse.urlencode(asked)}"
        await self.act("open a link", lambda: self.page.goto(link), self.shows_cluster)
        await self.click_row(turn)
        await self.slide("Clusters: mixture weight", "Sensitivity")
        for tab in ("Why", "Words", "Texts"):
            await self.moves(f"Clusters: tab {tab}", self.page.get_by_role("tab", name=tab, exact=True).click)
        later = [title for title in PAGES if title not in ("Gap", "Map", "Clusters")]
        for title in ("Gap", "Map", *later):
            if time.monotonic() > until:
                return
            await self.view(title)
            if title == "Gap":
                opens = self.page.get_by_role("tab", name="What would close the gap", exact=True)
                await self.moves("Gap: what would close it", opens.click)
            elif title == "Compare":
                await self.slide("Compare: mixture weight", "Errors")

    async def click_row(self, turn: int) -> None:
        handle = await self.page.wait_for_function(ROW, arg=[self.number, self.readers, turn, self.cluster])
        x, y, cluster = await handle.json_value()
        self.cluster = int(cluster)
        chart = self.page.locator(".st-key-clusters_chart .js-plotly-plot")

        async def click() -> None:
            """As a hand does: a chart takes a click only where it has noticed the pointer, which takes it a moment."""
            while f"cluster={cluster}" not in urllib.parse.urlsplit(self.page.url).query.split("&"):
                await chart.hover(position={"x": x, "y": y})
                await asyncio.sleep(HOVER_S)
                await chart.click(position={"x": x, "y": y})
                with suppress(TimeoutError):
                    await self.page.wait_for_url(re.compile(rf"[?&]cluster={cluster}(&|$)"), timeout=MISSED_MS)

        await self.act("Clusters: click a row", click, self.shows_cluster)

    async def slide(self, what: str, folded: str) -> None:
        """Open the folded panel, move its weight by a step, and close it."""
        await self.page.get_by_role("button", name=folded).click()
        panel = self.page.get_by_test_id("stPopoverBody")
        await expect(panel).to_be_focused(timeout=TIMEOUT_MS)
        slider = panel.get_by_role("slider", name="Weight")
        up = float(await slider.input_value()) < 0.9
        await self.moves(what, lambda: slider.press("ArrowRight" if up else "ArrowLeft"))
        await self.page.keyboard.press("Escape")

    async def moves(self, what: str, do: Callable[[], Awaitable[object]]) -> None:
        """Do something that changes the page's address."""
        before = self.page.url

        async def moved() -> None:
            await self.page.wait_for_function("before => location.href !== before", arg=before)

        await self.act(what, do, moved)

    async def view(self, title: str) -> None:
        """Open a page from the sidebar."""
        link = self.page.get_by_test_id("stSidebarNav").get_by_role("link", name=title, exact=True)

        async def there() -> None:
            await self.page.get_by_test_id("stMain").get_by_role("heading", name=title, exact=True).first.wait_for()
            if title == "Gap":
                await self.shows_cluster()
            elif title == "Map":
                await self.page.locator(".st-key-map_chart .js-plotly-plot").first.wait_for()

        await self.act(f"page: {title}", link.click, there)

    async def act(self, what: str, do: Callable[[], Awaitable[object]], effect: Callable[[], Awaitable[None]]) -> None:
        """Do something, wait for its effect and until the page rests; then look for errors and for others' state."""
        begun = time.monotonic()
        await do()
        await effect()
        await settle(self.page, self.name, what, self.findings)
        self.findings.acts.append((what, begun, time.monotonic() - begun))
        shown = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.page.url).query))
        own = {"run": self.run.id, "candidate": self.candidate, "cluster": str(self.cluster)}
        if {name: shown.get(name) for name in own} != own:
            self.findings.broken.append(f"{self.name}, {what}: {shown} in the place of {own}")
        await asyncio.sleep(PAUSE_S)

    async def shows_cluster(self) -> None:
        """The page names this browser's cluster and counts its texts of both sides, as the stored run has them."""
        await self.page.get_by_role("heading", name=self.names[self.cluster], exact=True).first.wait_for()
        await self.page.get_by_text(f"Cluster {self.cluster}", exact=True).first.wait_for()
        labels = self.run.comparison.partition("pairwise", self.candidate).labels
        for title, source in (("Human", HUMAN), (self.candidate, self.candidate)):
            count = int((labels[source] == self.cluster).sum())
            said = f"{title} · {count:,} of {len(labels[source]):,} texts"
            await self.page.get_by_text(said, exact=True).first.wait_for()
