"""A person who works while others read: starts jobs in a browser, keeps and deletes runs, and looks at what is left."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from playwright.async_api import Locator, Page, expect
from readers import AFTER_FAULT_S, Findings, settle

from mauve_core.base.formatting import file_size
from mauve_core.encoders.features import FeatureStore
from mauve_core.jobs import queue
from mauve_core.jobs.state import JobState, Status
from mauve_core.runs import RunStore

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


def homes_in_words(kept: Kept) -> str:
    """Rows of a table: the home after each emptying of the bin."""
    return "\n".join(
        f"| {seconds / 60:.1f} | {size:,} | {files:,} | {file_size(features)} |"
        for seconds, size, files, features in kept.homes
    )
