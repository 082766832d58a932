"""An hour of ten browsers and fifty jobs: does the app go on taking more memory, files, threads, disk or time?

    python benchmarks/soak.py --home HOME [--minutes 60] [--browsers 10] [--jobs 50] [--out FILE.md]

HOME holds the demo, made by ``mauve-lens demo``, and nothing else that is needed: runs, jobs and features are added and
removed. Browsers walk through the demo, each on a candidate and clusters of its own; beside them a person starts jobs
one after another, cancels some, deletes runs under way, restores, exports and imports. The exit status is 1 when
anything went wrong, or when a measure goes on rising: when the whole 95 % interval of its slope over the second half
lies above what is called negligible.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
import urllib.parse
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
from frame import arguments, table, write
from frame import page as page_of_results
from in_browser import APP, CHROMIUM_FLAGS, PAGES, ROOT, TIMEOUT_MS, running
from playwright.async_api import (
    Browser,
    Locator,
    Page,
    TimeoutError,  # noqa: A004 (Playwright's own)
    async_playwright,
    expect,
)
from plots import BLOCKS, Slope, figure, series_panel, slope

from mauve_core.base.config import HUMAN
from mauve_core.base.files import HOME_VARIABLE, write_atomically
from mauve_core.base.formatting import file_size
from mauve_core.encoders.features import FeatureStore
from mauve_core.findings.precomputed import run_cluster_names
from mauve_core.jobs import queue
from mauve_core.jobs.state import JobState, Status
from mauve_core.runs import Run, RunStore

SAMPLE_S = 5.0
# After which a server has forgotten the browsers that left (``app/mauve_app/server/connections.py``).
LEFT_S = 90.0

MOST_FAULTS = 20
_FAULTS = ("Traceback (most recent call last)", " ERROR ", "Exception")

# Those who read

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


# Who works meanwhile

# Texts of a side of the runs that are made, of the one that is cancelled while it encodes; words of a text.
FEW, MANY, WORDS = 60, 400, 30

# Longest that a job may take.
JOB_S = 900

# Files of a home with the demo and an empty bin.
NEEDED = re.compile(
    r"runs/(demo/.+|index\.sqlite)|uploads/[0-9a-f]{64}/[^/.][^/]*|(features|models)/.+|[^/]+\.(json|lock)"
)

POLL_S = 0.5
MEGABYTE = 1e6
VOCABULARY = {
    "human": "river glacier market harvest engine violin parliament planet winter letter stone garden",
    "model": "river river market market engine engine stone stone winter letter planet garden",
}


class OverError(Exception):
    """The time is over."""


@dataclass
class Kept:
    """What the chores did: jobs by kind and end, and the home after each emptying of the bin."""

    jobs: list[tuple[str, Status, float]] = field(default_factory=list)
    # Seconds since the start; bytes of the home without records of jobs; its files; bytes of features removed.
    homes: list[tuple[float, int, int, int]] = field(default_factory=list)


def made_up(folder: Path, name: str, texts: int) -> tuple[Path, Path]:
    """Two small files of texts."""
    rng = np.random.default_rng(texts)
    paths = []
    for side, words in VOCABULARY.items():
        lines = [json.dumps({"text": " ".join(rng.choice(words.split(), WORDS))}) for _ in range(texts)]
        paths.append(folder / f"{side}-{name}.jsonl")
        paths[-1].write_text("\n".join(lines))
    return paths[0], paths[1]


def contents(home: Path) -> dict[str, int]:
    """Bytes of every file of the home but the records of jobs, which stay for a day once they are removed."""
    found = {}
    for folder, _, names in os.walk(home):  # passes over folders that are removed meanwhile
        for path in (Path(folder, name) for name in names):
            name = path.relative_to(home).as_posix()
            with suppress(FileNotFoundError):
                if not name.startswith("jobs/") and path.is_file():
                    found[name] = path.stat().st_size
    return found


class Keeper:
    """The person; ``due`` is the time of the next job by the monotonic clock."""

    def __init__(self, page: Page, url: str, home: Path, folder: Path, findings: Findings, spacing_s: float) -> None:
        self.page, self.url, self.home, self.findings, self.spacing_s = page, url, home, findings, spacing_s
        self.few, self.many = made_up(folder, "few", FEW), made_up(folder, "many", MANY)
        self.folder, self.kept, self.features = folder, Kept(), set(self._features())
        self.begun = self.due = time.monotonic()
        self.until = 0.0

    async def work(self, until: float) -> None:
        """Round after round until the time is over; each ends with nothing but what was there before."""
        self.until = until
        while time.monotonic() < until:
            try:
                await self._round()
            except OverError:
                pass
            except Exception as error:  # noqa: BLE001 (whatever stops the chores is a finding)
                self.findings.broken.append(f"chores: {type(error).__name__}: {error}"[:700])
            try:
                await self._tidy()
            except Exception as error:  # noqa: BLE001
                self.findings.broken.append(f"tidying: {type(error).__name__}: {error}"[:700])
                await asyncio.sleep(AFTER_FAULT_S)

    async def _round(self) -> None:
        run = await self._compare()
        for path, button in (("probes", "Probe"), ("decoders", "Compute"), ("methods", "Compute")):
            await self._turn()
            await self._add(run, path, button)
        await self._turn()
        await self._cancel_methods(run)
        await self._turn()
        await self._cancel_compare()
        await self._turn()
        await self._delete_under_way(run)
        await self._travel(run)

    # Jobs

    async def _compare(self) -> str:
        await self._turn()
        await self._fill(self.few, FEW)
        job = await self._started("comparison", self.page.get_by_role("button", name="Start", exact=True).click)
        state = await self._ended("comparison", job, "done")
        await self._press(self.page.get_by_role("button", name="Open results").first)
        await expect(self.page.locator(".st-key-ranked_list")).to_contain_text("±", timeout=120_000)
        await settle(self.page, "chores", "open results", self.findings)
        if state.run is None:
            raise RuntimeError(f"job {job} is done and names no run")
        return state.run

    async def _fill(self, files: tuple[Path, Path], texts: int) -> None:
        await self.page.goto(f"{self.url}/new_run")
        for kind, (place, path) in zip((":not([multiple])", "[multiple]"), enumerate(files), strict=True):
            await settle(self.page, "chores", "New run", self.findings)
            side = self.page.get_by_test_id("stFileUploader").locator(f"input[type=file]{kind}")
            await side.set_input_files(path)
            await self.page.get_by_text(re.compile(rf"{texts} texts")).nth(place).wait_for()
        await settle(self.page, "chores", "New run", self.findings)

    async def _add(self, run: str, path: str, button: str) -> None:
        """Compute something for the run and see that its page says that it is done."""
        await self._open(run, path)
        pressed = self.page.get_by_role("button", name=button, exact=True).first
        job = await self._started(path, lambda: self._press(pressed))
        await self._ended(path, job, "done")
        await self.page.get_by_text("Done in").first.wait_for()
        await settle(self.page, "chores", f"{path} done", self.findings)

    async def _cancel_methods(self, run: str) -> None:
        """Many permutations of what is computed, cancelled under way."""
        await self._cancel("methods, cancelled", await self._permute(run, 1_000_000, "methods, cancelled"))

    async def _permute(self, run: str, permutations: int, what: str) -> str:
        """A job of some time on a run that has methods; its id."""
        await self._open(run, "methods")
        box = self.page.get_by_role("spinbutton", name="Permutations")
        if not await box.is_visible():  # the form is folded, unless its last job was cancelled
            await self.page.get_by_text("Compute again with other methods").click()
        await box.fill(str(permutations))
        await box.press("Tab")
        await settle(self.page, "chores", "methods", self.findings)
        compute = self.page.get_by_role("button", name="Compute", exact=True)
        job = await self._started(what, lambda: self._press(compute))
        await self._until(lambda: queue.status(job).status != "queued", what)
        return job

    async def _cancel_compare(self) -> None:
        """A comparison that is cancelled while it encodes."""
        await self._fill(self.many, MANY)
        start = self.page.get_by_role("button", name="Start", exact=True)
        job = await self._started("comparison, cancelled", lambda: self._press(start))
        await self._cancel("comparison, cancelled", job)

    async def _cancel(self, what: str, job: str) -> None:
        await self._until(lambda: queue.status(job).status != "queued", what)
        await self._press(self.page.get_by_role("button", name="Cancel", exact=True).first)
        await self._ended(what, job, "cancelled")
        await settle(self.page, "chores", what, self.findings)

    async def _delete_under_way(self, run: str) -> None:
        """A run that is deleted while a job reads it, and restored."""
        job = await self._permute(run, 200_000, "methods, run deleted")
        await self._command("runs", "delete", run)
        state = await self._ended("methods, run deleted", job, "failed")
        if state.message:
            self.findings.expected.add(state.message)
        await self._command("runs", "restore", run)

    # Runs

    async def _travel(self, run: str) -> None:
        """The run as a file, out by the server and in again by the command line; the copy is read, then deleted."""
        answer = await self.page.request.get(f"{self.url}/export/{run}")
        if answer.status != 200:
            raise RuntimeError(f"the export of {run} was answered with {answer.status}: {await answer.text()}")
        path = self.folder / "travelled.mauve-run.zip"
        path.write_bytes(await answer.body())
        before = {summary.id for summary in RunStore().list()}
        await self._command("runs", "import", str(path), "--quiet")
        (copy,) = {summary.id for summary in RunStore().list()} - before
        came, was = (RunStore().load(each).comparison.candidates for each in (copy, run))
        if [each.scores for each in came] != [each.scores for each in was]:
            self.findings.broken.append(f"chores: {run} has other scores once it has travelled")
        await self._open(copy, "clusters")
        await self.page.goto(f"{self.url}/runs")
        await self._press(self.page.locator(f".st-key-run_{copy}").get_by_role("button", name="Delete"))
        await self.page.locator(".st-key-runs_undo").wait_for()

    async def _tidy(self) -> None:
        """Delete what the round made, empty the bin, remove jobs and features; nothing else may be left."""
        for summary in RunStore().list():
            if summary.id != "demo":
                await self._command("runs", "delete", summary.id)
        await self._command("runs", "purge", "--all")
        for job in queue.list():
            if job.active:
                queue.cancel(job.id)
                await self._until(lambda job=job: not queue.status(job.id).active, f"the end of {job.id}")
            await self._command("jobs", "remove", job.id)
        await asyncio.to_thread(self._look)

    def _look(self) -> None:
        """Remove the round's features, as a person may, and find whatever nobody needs."""
        removed = 0
        for path in set(self._features()) - self.features:
            inside = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
            removed += sum(each.stat().st_size for each in inside)
            for each in inside:
                each.unlink()
            if path.is_dir():
                path.rmdir()
        found = contents(self.home)
        left = [name for name in found if not NEEDED.fullmatch(name)]
        if left:
            self.findings.broken.append(f"the bin is empty and this is left: {', '.join(sorted(left)[:10])}")
        uploads = {name.split("/")[1] for name in found if name.startswith("uploads/")}
        if len(uploads) > len((*self.few, *self.many)):
            self.findings.broken.append(f"{len(uploads)} uploads are kept of {len((*self.few, *self.many))} files")
        self.kept.homes.append((time.monotonic() - self.begun, sum(found.values()), len(found), removed))

    def _features(self) -> list[Path]:
        root = FeatureStore().root
        return list(root.iterdir()) if root.is_dir() else []

    # Parts

    async def _turn(self) -> None:
        """Wait until the next job is due."""
        if time.monotonic() > self.until:
            raise OverError
        await asyncio.sleep(max(self.due - time.monotonic(), 0))
        self.due = max(self.due + self.spacing_s, time.monotonic())

    async def _open(self, run: str, path: str) -> None:
        section = "&section=sweeps&axis=scale" if path == "decoders" else ""
        await self.page.goto(f"{self.url}/{path}?run={run}{section}")
        await self.page.get_by_test_id("stMain").get_by_role("heading", level=1).first.wait_for()
        await settle(self.page, "chores", path, self.findings)

    async def _press(self, target: Locator) -> None:
        """By keyboard, once the page rests."""
        await target.wait_for()
        await self.page.wait_for_timeout(200)
        await settle(self.page, "chores", "press", self.findings)
        await target.press("Enter")

    async def _started(self, what: str, press: Callable[[], Awaitable[object]]) -> str:
        """Press the button of a job; its id."""
        before = {job.id for job in queue.list()}
        await press()
        await self._until(lambda: bool({job.id for job in queue.list()} - before), f"the start of {what}")
        (job,) = {job.id for job in queue.list()} - before
        return job

    async def _ended(self, what: str, job: str, expected: Status) -> JobState:
        begun = time.monotonic()
        await self._until(lambda: not queue.status(job).active, f"the end of {what}")
        state = queue.status(job)
        self.kept.jobs.append((what, state.status, time.monotonic() - begun))
        if state.status != expected:
            self.findings.broken.append(f"chores: {what} ended {state.status}: {state.message}"[:500])
        return state

    async def _until(self, true: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + JOB_S
        while not true():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what} did not come within {JOB_S} s")
            await asyncio.sleep(POLL_S)

    async def _command(self, *words: str) -> None:
        """``mauve-lens`` with these words; RuntimeError with its message if it fails."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "mauve_core", *words,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await process.communicate()
        if process.returncode:
            raise RuntimeError(f"mauve-lens {' '.join(words)} ended with {process.returncode}: {said.decode()[-300:]}")


@dataclass(frozen=True)
class Sample:
    """Of the server's process, its children, the home and the machine at one time."""

    seconds: float
    resident_mb: float
    own_mb: float
    files: int
    threads: int
    children: int
    workers: int
    workers_mb: float
    home_mb: float
    home_files: int
    cpu_s: float
    load: float


@dataclass(frozen=True)
class Measure:
    """A series, and the slope a minute up to which nobody would care."""

    title: str
    negligible: float
    digits: int
    seconds: list[float]
    values: list[float]

    def at(self, share: float) -> float:
        """Median of the twentieth of the time around that share of it."""
        first, last = self.seconds[0], self.seconds[-1]
        middle, reach = first + share * (last - first), (last - first) / 40
        near = [v for s, v in zip(self.seconds, self.values, strict=True) if abs(s - middle) <= reach]
        return statistics.median(near or [np.interp(middle, self.seconds, self.values)])

    def slope(self) -> Slope:
        """Of the second half."""
        half = self.seconds[0] + (self.seconds[-1] - self.seconds[0]) / 2
        later = [(s, v) for s, v in zip(self.seconds, self.values, strict=True) if s >= half]
        return slope(*zip(*later, strict=True))

    @property
    def rises(self) -> bool:
        """Whether the whole interval lies above what is negligible."""
        return self.slope().low > self.negligible


# What is measured


def sampled(server: psutil.Process, home: Path, begun: float) -> Sample:
    with server.oneshot():
        memory, cpu, threads, files = server.memory_info(), server.cpu_times(), server.num_threads(), server.num_fds()
    children = server.children(recursive=True)
    workers = [resident for child in children if (resident := worker_mb(child)) is not None]
    found = contents(home)
    return Sample(
        time.monotonic() - begun, memory.rss / MEGABYTE, proportional_mb(server.pid), files, threads, len(children),
        len(workers), sum(workers), sum(found.values()) / MEGABYTE, len(found), cpu.user + cpu.system,
        os.getloadavg()[0],
    )  # fmt: skip


def worker_mb(child: psutil.Process) -> float | None:
    """Resident MB of a job's worker; None of another process, and of one that has ended."""
    try:
        return child.memory_info().rss / MEGABYTE if "work" in child.cmdline() else None
    except psutil.Error:
        return None


def proportional_mb(pid: int) -> float:
    """Proportional set size: what is shared with other processes counts in part."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) * 1024 / MEGABYTE


async def watch(server: psutil.Process, home: Path, samples: list[Sample], begun: float, until: float) -> None:
    while time.monotonic() < until:
        samples.append(await asyncio.to_thread(sampled, server, home, begun))
        await asyncio.sleep(SAMPLE_S)


@dataclass
class Soaked:
    """Everything that an hour gives."""

    findings: Findings
    kept: Kept
    samples: list[Sample]
    begun: float
    after: Sample


async def soaked(options: argparse.Namespace, url: str, pid: int, run: Run, folder: Path) -> Soaked:
    """Read and work until the time is over, and look at the server once everybody has left."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    findings, samples, server = Findings(), [], psutil.Process(pid)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        pages = [await opened(browser, f"browser {number}", findings) for number in range(options.browsers)]
        spacing = 60 * options.minutes / options.jobs
        keeper = Keeper(await opened(browser, "chores", findings), url, options.home, folder, findings, spacing)
        begun = time.monotonic()
        until = begun + 60 * options.minutes
        readers = [
            Reader(number, len(pages), page, url, run, findings).walk(until) for number, page in enumerate(pages)
        ]
        watching = watch(server, options.home, samples, begun, until)
        await asyncio.gather(watching, keeper.work(until), *readers)
        await browser.close()
    await asyncio.sleep(LEFT_S)
    after = sampled(server, options.home, begun)
    if after.children:
        findings.broken.append(f"{after.children} child processes of the server are left")
    return Soaked(findings, keeper.kept, samples, begun, after)


def measures(result: Soaked) -> list[Measure]:
    """Everything with a slope."""
    samples = result.samples
    seconds = [sample.seconds for sample in samples]

    def of(title: str, negligible: float, digits: int, value: Callable[[Sample], float]) -> Measure:
        return Measure(title, negligible, digits, seconds, [float(value(sample)) for sample in samples])

    done = sorted((begun - result.begun, what, took) for what, begun, took in result.findings.acts)
    kinds = defaultdict(list)
    for _, what, took in done:
        kinds[what].append(took)
    usual = {what: statistics.median(each) for what, each in kinds.items()}
    starts = np.array([begun for begun, _, _ in done])
    edges = np.linspace(0, seconds[-1], 61)
    used = np.interp(edges, seconds, [sample.cpu_s for sample in samples])
    acts = np.diff(np.searchsorted(starts, edges))
    cost = [(float(s), 1e3 * u / a) for s, u, a in zip(edges[1:], np.diff(used), acts, strict=True) if a]
    return [
        of("resident MB", 0.1, 1, lambda sample: sample.resident_mb),
        of("proportional MB (PSS)", 0.1, 1, lambda sample: sample.own_mb),
        of("open file descriptors", 0.05, 1, lambda sample: sample.files),
        of("threads", 0.05, 1, lambda sample: sample.threads),
        of("child processes", 0.05, 2, lambda sample: sample.children),
        of("workers, resident MB together", 5.0, 0, lambda sample: sample.workers_mb),
        of("home, MB", 0.1, 2, lambda sample: sample.home_mb),
        of("home, files", 1.0, 1, lambda sample: sample.home_files),
        Measure("interaction, part of its usual time", 0.005, 3, [begun for begun, _, _ in done],
                [took / usual[what] for _, what, took in done]),
        Measure("server's processor ms an interaction", 1.0, 0, [s for s, _ in cost], [ms for _, ms in cost]),
        of("load of the machine", float("inf"), 1, lambda sample: sample.load),
    ]  # fmt: skip


# The page

# Measures in the picture.
SHOWN = (
    "resident MB", "open file descriptors", "threads", "workers, resident MB together", "home, MB",
    "interaction, part of its usual time",
)  # fmt: skip


def row(measure: Measure, after: Sample) -> list[str]:
    """A line of the table of slopes."""
    found, d = measure.slope(), measure.digits
    left = {
        "resident MB": after.resident_mb, "proportional MB (PSS)": after.own_mb, "open file descriptors": after.files,
        "threads": after.threads, "child processes": after.children, "home, MB": after.home_mb,
        "home, files": after.home_files,
    }.get(measure.title)  # fmt: skip
    levels = [f"{measure.at(share):,.{d}f}" for share in (0, 0.25, 0.5, 0.75, 1)]
    interval = f"{found.value:+.{d + 2}f} ({found.low:+.{d + 2}f} to {found.high:+.{d + 2}f})"
    judged = f"{found.in_words}; GOES ON RISING" if measure.rises else found.in_words
    allowed = "not judged" if measure.negligible == float("inf") else f"{measure.negligible:g}"
    return [measure.title, *levels, "" if left is None else f"{left:,.{d}f}", interval, judged, allowed]


def interactions(result: Soaked) -> list[list[str]]:
    """Rows: what an interaction takes, by kind and quarter."""
    until = result.samples[-1].seconds
    kinds: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for what, begun, took in result.findings.acts:
        kinds[what].append((begun - result.begun, took))
    rows = []
    everything = [each for found in kinds.values() for each in found]
    for what, found in {**kinds, "all": everything}.items():
        took = [each for _, each in found]
        quarters = []
        for quarter in range(4):
            part = [each for begun, each in found if quarter <= 4 * begun / until < quarter + 1]
            quarters.append(f"{1e3 * statistics.median(part):,.0f}" if part else "")
        late = float(np.quantile(took, 0.95))
        rows.append([what, f"{len(took):,}", *quarters, f"{1e3 * late:,.0f}", f"{1e3 * max(took):,.0f}"])
    return rows


def report(result: Soaked, found: list[Measure], browsers: int, run: Run, picture: str) -> str:
    wrong, samples, memory = result.findings.wrong, result.samples, found[0].slope()
    ends = Counter((what, status) for what, status, _ in result.kept.jobs)
    texts, jobs = sum(source.n for source in run.comparison.sources), sum(ends.values())
    levels = ["start", "1/4", "1/2", "3/4", "end", "after"]
    homes = [
        [f"{s / 60:.1f}", f"{size:,}", f"{files:,}", file_size(gone)] for s, size, files, gone in result.kept.homes
    ]
    load = statistics.median(sample.load for sample in samples)
    return page_of_results(
        f"{samples[-1].seconds / 60:.0f} minutes of {browsers} browsers and {jobs} jobs",
        f"""{browsers} profiles of one real Chromium on the machine of the server walked for
{samples[-1].seconds / 60:.1f} minutes through the run {run.id} ({len(run.comparison.sources)} sides, {texts:,} texts
together), each on a candidate and on clusters of its own: {len(result.findings.acts):,} interactions. Beside them one
browser started {jobs} jobs one after another, and runs were exported, imported, deleted, restored and removed for good.
Server, browsers and workers shared the cores, at a median load of {load:.1f}, other work on the machine included.""",
        f"## What went wrong: {len(wrong)}",
        "\n".join(f"- {line}" for line in wrong[:MOST_FAULTS]) or "None.",
        LOOKED_FOR,
        "## What goes on rising",
        f"""Resident memory of the server in the second half: {memory.value:+.3f} MB a minute, 95 % interval
{memory.low:+.3f} to {memory.high:+.3f}: {memory.in_words}.""",
        table(
            ["measure", *levels, "slope of the second half, a minute (95 %)", "it is", "negligible"],
            [row(measure, result.after) for measure in found],
        ),
        f"![Resident memory, file descriptors, home and interactions over time]({picture})",
        HOW_IT_IS_JUDGED,
        "## The home after each emptying of the bin",
        table(["minute", "bytes", "files", "features removed"], homes),
        "Features of texts stay when their runs go; here they are removed after each round, as a person may.",
        "## Jobs",
        table(["job", "ended", "times"], [[*end, times] for end, times in ends.items()]),
        "## How long an interaction takes",
        HOW_LONG,
        table(["interaction", "times", "first", "second", "third", "fourth", "95 %", "most"], interactions(result)),
        packages=("streamlit", "plotly", "playwright"),
    )


LOOKED_FOR = """Looked for after every interaction: an error or an exception on the page, a lost connection, a failed
script; the run, the candidate and the cluster in the address; on Clusters and Gap also the cluster's name and its
number of texts on both sides, which must be those of the stored run. Looked for besides: a job that ends otherwise than
it should, scores that change when a run travels, a file that nobody needs once the bin is empty, a fault in the
server's log, a child process once all is over. A run deleted under way fails its job, as it should."""
HOW_IT_IS_JUDGED = f"""Sampled every {SAMPLE_S:g} s; levels are medians of a twentieth of the time around each; after:
{LEFT_S:g} s after the last browser closed. A measure goes on rising, and the exit status is 1, when the whole interval
lies above what is negligible. Neighboring samples are alike, so the slope is fitted to the means of {BLOCKS} blocks,
and its interval has their degrees of freedom and widens if they still follow one another (benchmarks/plots.py). The
home is counted without the records of jobs, which stay for a day after they are removed."""
HOW_LONG = """From the click to a page that rests, in milliseconds: medians of the four quarters, 95 % and most. The
browsers draw on the cores on which the server works, so most of it is drawing and waiting for one another; the server's
own share of each interaction stands above."""


def written(result: Soaked, options: argparse.Namespace, run: Run) -> int:
    """Write the page, and its picture if there is a file; the exit status."""
    found = measures(result)
    panels = [
        series_panel(each.title, [s / 60 for s in each.seconds], each.values) for each in found if each.title in SHOWN
    ]
    path = None if options.out is None else options.out.with_suffix(".svg")
    write(report(result, found, options.browsers, run, "" if path is None else path.name), options.out)
    if path is not None:
        picture = figure(f"{options.browsers} browsers, {len(result.kept.jobs)} jobs", panels, [])
        write_atomically(path, lambda stream: stream.write(picture.encode()))
    return int(bool(result.findings.wrong) or any(measure.rises for measure in found))


def main() -> int:
    parser = arguments(__doc__, minutes=60.0, browsers=10, jobs=50)
    parser.add_argument("--home", type=Path, required=True, help="a home with the demo and nothing else that is needed")
    options = parser.parse_args()
    os.environ[HOME_VARIABLE] = str(options.home.absolute())
    run = RunStore().load("demo")
    with tempfile.TemporaryDirectory() as scratch:
        folder, log = Path(scratch), Path(scratch) / "app.log"
        temporary = folder / "tmp"
        temporary.mkdir()
        with log.open("wb") as output:
            added = {"TMPDIR": str(temporary), "OMP_NUM_THREADS": "1"}
            with running(APP, ROOT, options.home, output, **added) as (url, pid):
                result = asyncio.run(soaked(options, url, pid, run, folder))
        lines = log.read_text(errors="replace").splitlines()
        faults = [line for line in lines if any(each in line for each in _FAULTS)]
        result.findings.broken += [f"the server's log: {line}"[:500] for line in faults]
        left = sorted(path.relative_to(temporary).as_posix() for path in temporary.rglob("*") if path.is_file())
        result.findings.broken += [f"a temporary file is left: {name}" for name in left]
    return written(result, options, run)


if __name__ == "__main__":
    sys.exit(main())
