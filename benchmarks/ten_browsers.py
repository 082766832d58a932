"""Ten browsers at once walk through the app: does one see what is another's, does anything fail, does memory level off?

    python benchmarks/ten_browsers.py [--browsers 10] [--minutes 5] [--home HOME --run RUN] [--out FILE.md]

Each browser is a profile of its own in a real Chromium, on a candidate of its own and clusters of its own (by remainder
of their number), opens every view, clicks bars, moves sliders, changes tabs, and now and then opens its link anew. The
exit status is 1 when a page showed an error or another's state, or when the server's memory went on growing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
from app_runs import make_run
from playwright.async_api import Browser, Page, async_playwright

from mauve_core.analysis.precomputed import derive
from mauve_core.base.config import HUMAN
from mauve_core.base.files import write_atomically
from mauve_core.store import Run, RunStore

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM_FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
TIMEOUT_MS = 60_000
SAMPLE_S = 0.5
PAUSE_S = 0.3
"""A reader's pause after each interaction."""

GROWTH_ALLOWED, LEAST_ALLOWED_MB = 0.05, 30.0
"""What the memory may grow by in the second half, as a share of what it was at half-time: caches are still filling
there, and a leak would go beyond. One figure or table of a run that each interaction left behind would be 0.2 to 2 MB
times some thousand interactions; one kept visit, its widgets and messages, some MB times each opened link."""

SETTLED = """() => document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === 'notRunning'
    && !document.querySelector('[data-stale="true"], [data-retained="true"]')"""
ERRORS = '[data-testid="stException"], [data-testid="stAlertContentError"], [data-testid="stConnectionStatus"]'
BAR = """([key, place]) => {
    const plots = document.querySelectorAll(`.st-key-${key} .js-plotly-plot`), plot = plots[0];
    if (plots.length !== 1 || !plot._fullData || !plot._fullLayout || plot._fullLayout._replotting) return null;
    const layout = plot._fullLayout, columns = plot._fullData[plot._fullData.length - 1];
    const rows = columns.customdata, own = rows.map((row, at) => at).filter(at => rows[at][0] % place[1] === place[0]);
    const at = own[place[2] % own.length];
    return [layout.xaxis._offset + layout.xaxis.d2p(columns.x[at]), layout._size.t + 6, rows[at][0]];
}"""
OTHER_VIEWS = {
    "": "Compare", "decoders": "Decoders", "methods": "Methods", "probes": "Probes", "judge": "Judge",
    "published": "Published", "new_run": "New run",
}  # fmt: skip


@dataclass
class Findings:
    """What all browsers found: seconds by interaction, and what went wrong."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    wrong: list[str] = field(default_factory=list)


@dataclass
class Memory:
    """Resident memory of the server: seconds since the walk began, and MB."""

    seconds: list[float] = field(default_factory=list)
    mb: list[float] = field(default_factory=list)

    def at(self, share: float) -> float:
        """MB at a share of the time: the median of five samples around it."""
        place = min(int(share * len(self.mb)), len(self.mb) - 1)
        return statistics.median(self.mb[max(0, place - 2) : place + 3])

    def slope(self) -> float:
        """MB a minute over the second half, by least squares."""
        half = len(self.mb) // 2
        return float(np.polyfit(self.seconds[half:], self.mb[half:], 1)[0]) * 60

    def grown(self) -> float:
        """MB by which the fitted line rises over the second half."""
        return self.slope() * (self.seconds[-1] - self.seconds[len(self.mb) // 2]) / 60

    def allowed(self) -> float:
        """MB by which it may."""
        return max(LEAST_ALLOWED_MB, GROWTH_ALLOWED * self.at(0.5))


# A reader


class Reader:
    """One browser with a candidate and clusters of its own."""

    def __init__(self, number: int, readers: int, page: Page, url: str, run: Run, findings: Findings) -> None:
        self.number, self.readers, self.page, self.url, self.run, self.findings = (
            number, readers, page, url, run, findings,
        )  # fmt: skip
        names = [candidate.name for candidate in run.comparison.candidates]
        self.candidate = names[number % len(names)]
        self.cluster = number

    async def walk(self, until: float) -> None:
        """Go round the views until the time is over."""
        turn = 0
        while time.monotonic() < until:
            try:
                await self.round(turn, until)
            except Exception as error:  # noqa: BLE001 (whatever stops a reader is a finding)
                self.findings.wrong.append(f"browser {self.number}, turn {turn}: {type(error).__name__}: {error}"[:500])
            turn += 1

    async def round(self, turn: int, until: float) -> None:
        """Every view once, by the link at first."""
        asked = {"run": self.run.id, "candidate": self.candidate, "cluster": self.cluster}
        link = f"{self.url}/clusters?{urllib.parse.urlencode(asked)}"
        await self.act("open a link", lambda: self.page.goto(link), self.shows_cluster)
        await self.click_a_bar(turn)
        await self.slide("Clusters: mixture weight", "focus_weight")
        for view, title in (("gap", "Gap"), ("map", "Map"), *OTHER_VIEWS.items()):
            if time.monotonic() > until:
                return
            await self.view(view, title)
            if view == "gap":
                await self.slide("Gap: mixture weight", "focus_weight")
            elif view == "":
                await self.slide("Compare: mixture weight", "control_weight")

    async def click_a_bar(self, turn: int) -> None:
        place = [self.number, self.readers, turn]
        handle = await self.page.wait_for_function(BAR, arg=["clusters_chart", place])
        x, y, cluster = await handle.json_value()
        self.cluster = int(cluster)
        chart = self.page.locator(".st-key-clusters_chart .js-plotly-plot")
        await self.act("Clusters: click a bar", lambda: chart.click(position={"x": x, "y": y}), self.shows_cluster)

    async def slide(self, what: str, key: str) -> None:
        slider = self.page.locator(f".st-key-{key}").get_by_role("slider")
        before = self.page.url

        async def moved() -> None:
            await self.page.wait_for_function("before => location.href !== before", arg=before)

        up = float(await slider.input_value()) < 0.9
        await self.act(what, lambda: slider.press("ArrowRight" if up else "ArrowLeft"), moved)

    async def view(self, path: str, title: str) -> None:
        link = self.page.locator(f'[data-testid="stSidebarNavLink"][href$="/{path}"]').first

        async def there() -> None:
            place = self.page.get_by_test_id("stMain").get_by_role("heading", name=title, exact=True)
            await place.first.wait_for()
            if path == "gap":
                await self.shows_cluster()
            elif path == "map":
                await self.page.locator(".st-key-map_chart .js-plotly-plot").first.wait_for()

        await self.act(f"view: {title}", link.click, there)

    async def act(self, what: str, do: Callable[[], Awaitable[object]], effect: Callable[[], Awaitable[None]]) -> None:
        """Do something, wait for its effect and until the page rests; then look for errors and for others' state."""
        begun = time.perf_counter()
        await do()
        await effect()
        await self.page.wait_for_function(SETTLED)
        self.findings.seconds[what].append(time.perf_counter() - begun)
        for place in await self.page.locator(ERRORS).all():
            with suppress(Exception):  # gone since
                self.findings.wrong.append(f"browser {self.number}, {what}: {await place.inner_text(timeout=1000)}")
        shown = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.page.url).query))
        own = {"run": self.run.id, "candidate": self.candidate, "cluster": str(self.cluster)}
        if {name: shown.get(name) for name in own} != own:
            self.findings.wrong.append(f"browser {self.number}, {what}: {shown} in the place of {own}")
        await asyncio.sleep(PAUSE_S)

    async def shows_cluster(self) -> None:
        """The page names this browser's cluster and counts its texts of both sides, as the stored run has them."""
        name = f"Cluster {self.cluster}"
        await self.page.get_by_role("heading", name=name, exact=True).wait_for()
        labels = self.run.comparison.partition("pairwise", self.candidate).labels
        for title, source in (("Human", HUMAN), (self.candidate, self.candidate)):
            count = int((labels[source] == self.cluster).sum())
            said = f"{title} · {count:,} of {len(labels[source]):,} texts"
            await self.page.get_by_text(said, exact=True).first.wait_for()


# The server


def served(home: Path, port: int, log: Path) -> subprocess.Popen[bytes]:
    added = {"MAUVE_LENS_HOME": str(home), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "app.server.serve", "--server.port", str(port)]
    with log.open("wb") as output:
        server = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **added}, stdout=output, stderr=output)
    for _ in range(1200):
        if server.poll() is not None:
            raise RuntimeError(f"the app ended with {server.returncode}: {log.read_text()[-2000:]}")
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
            return server
        time.sleep(0.1)
    server.kill()
    raise RuntimeError("the app did not start")


def resident_mb(pid: int) -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def watch(pid: int, memory: Memory, until: float) -> None:
    begun = time.monotonic()
    while time.monotonic() < until:
        memory.seconds.append(time.monotonic() - begun)
        memory.mb.append(resident_mb(pid))
        await asyncio.sleep(SAMPLE_S)


async def walked(browsers: int, seconds: float, url: str, pid: int, run: Run) -> tuple[Findings, Memory]:
    """Every browser walks for so long; what they found, and the server's memory meanwhile."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    findings, memory = Findings(), Memory()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        until = time.monotonic() + seconds
        readers = [await opened(browser, number, browsers, url, run, findings) for number in range(browsers)]
        await asyncio.gather(watch(pid, memory, until), *(reader.walk(until) for reader in readers))
        await browser.close()
    return findings, memory


async def opened(browser: Browser, number: int, browsers: int, url: str, run: Run, findings: Findings) -> Reader:
    context = await browser.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(TIMEOUT_MS)
    page = await context.new_page()
    page.on("pageerror", lambda error: findings.wrong.append(f"browser {number}: a script failed: {error}"[:500]))
    return Reader(number, browsers, page, url, run, findings)


# The page


def report(findings: Findings, memory: Memory, browsers: int, run: Run, command: str) -> str:
    rows = []
    everything = [second for seconds in findings.seconds.values() for second in seconds]
    for what, seconds in {**findings.seconds, "all": everything}.items():
        middle, late = statistics.median(seconds), float(np.quantile(seconds, 0.95))
        rows.append(
            f"| {what} | {len(seconds):,} | {1e3 * middle:,.0f} | {1e3 * late:,.0f} | {1e3 * max(seconds):,.0f} |"
        )
    grown = memory.grown()
    levels = ", ".join(f"{memory.at(share):,.0f}" for share in (0, 0.25, 0.5, 0.75, 1))
    wrong = "\n".join(f"- {line}" for line in findings.wrong[:20]) or "None."
    return PAGE.format(
        command=command, browsers=browsers, minutes=memory.seconds[-1] / 60, rows="\n".join(rows), levels=levels,
        slope=memory.slope(), grown=grown, allowed=memory.allowed(), wrong=wrong, count=len(findings.wrong),
        verdict="It levels off." if grown <= memory.allowed() else "IT GOES ON GROWING.",
        run=run.id, texts=sum(source.n for source in run.comparison.sources), most=max(memory.mb),
        sides=len(run.comparison.sources), cores=os.cpu_count(), python=platform.python_version(),
        versions=", ".join(f"{name} {version(name)}" for name in ("streamlit", "plotly", "playwright")),
    )  # fmt: skip


PAGE = """# {browsers} browsers at once

    {command}

{browsers} profiles of one real Chromium on the machine of the server, each on a candidate and on clusters of its own,
walked for {minutes:.1f} minutes through the run {run} ({sides} sides, {texts:,} texts together).

## What went wrong: {count}

{wrong}

Looked for after every interaction: an error or an exception on the page, a lost connection, a failed script; the run,
the candidate and the cluster in the address; on Clusters and Gap also the cluster's name and its number of texts on
both sides, which must be those of the stored run. No two browsers look at the same cluster.

## How long an interaction takes

From the click to a page that rests, in milliseconds. The browsers draw on the same {cores} cores as the server works,
so most of it is their own drawing and waiting for one another; the server's share of one interaction is in
[app_walk.md](app_walk.md).

| interaction | times | median ms | 95 % ms | most ms |
| --- | --- | --- | --- | --- |
{rows}

## Memory of the server

Resident MB at the beginning, after a quarter, half, three quarters, and at the end: {levels}; most {most:,.0f}.
In the second half a fitted line rises by {slope:+.1f} MB a minute, {grown:+.0f} MB in all; allowed are
{allowed:.0f} MB. {verdict}

{versions}, Python {python}, {cores} cores.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browsers", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--home", type=Path, help="a home with a stored run; without one a run is made up")
    parser.add_argument("--run", help="id of the run in that home")
    parser.add_argument("--texts", type=int, default=8_000, help="of the made-up run, all sides together")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = options.home or Path(scratch) / "home"
        run = RunStore(home / "runs").load(options.run) if options.run else make_run(home, "walked", options.texts, 4)
        if not options.run:
            derive(run)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = served(home, port, Path(scratch) / "app.log")
        try:
            url = f"http://127.0.0.1:{port}"
            findings, memory = asyncio.run(walked(options.browsers, 60 * options.minutes, url, server.pid, run))
        finally:
            server.terminate()
            server.wait(timeout=30)
    named = f" --texts {options.texts}" if options.run is None else f" --home {options.home} --run {options.run}"
    out = "" if options.out is None else f" --out {options.out}"
    command = (
        f"python benchmarks/ten_browsers.py --browsers {options.browsers} --minutes {options.minutes:g}{named}{out}"
    )
    page = report(findings, memory, options.browsers, run, command)
    if options.out is None:
        print(page)
    else:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))
    return int(bool(findings.wrong) or memory.grown() > memory.allowed())


if __name__ == "__main__":
    sys.exit(main())
