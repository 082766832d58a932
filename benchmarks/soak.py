"""An hour of ten browsers and fifty jobs: does the app go on taking more memory, files, threads, disk or time?

    python benchmarks/soak.py --home HOME [--minutes 60] [--browsers 10] [--jobs 50] [--out FILE.md]

HOME holds the demo, made by ``mauve-lens demo``, and nothing else that is needed: runs, jobs and features are added and
removed. Browsers (readers.py) walk through the demo, each on a candidate and clusters of its own; beside them a person
(chores.py) starts jobs one after another, cancels some, deletes runs under way, restores, exports and imports. The exit
status is 1 when anything went wrong, or when a measure goes on rising: when the whole 95 % interval of its slope over
the second half lies above what is called negligible.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import psutil
from browsing import APP, CHROMIUM_FLAGS, ROOT, running
from chores import MEGABYTE, Keeper, Kept, contents, homes_in_words
from log_plot import figure, series_panel
from playwright.async_api import async_playwright
from readers import Findings, Reader, opened
from trend import BLOCKS, Slope, slope

from mauve_core.base.files import HOME_VARIABLE, write_atomically
from mauve_core.runs import Run, RunStore

SAMPLE_S = 5.0
# After which a server has forgotten the browsers that left (``app/mauve_app/server/connections.py``).
LEFT_S = 90.0

MOST_FAULTS = 20
_FAULTS = ("Traceback (most recent call last)", " ERROR ", "Exception")


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


def row(measure: Measure, after: Sample) -> str:
    """A line of the table of slopes."""
    found, d = measure.slope(), measure.digits
    levels = " | ".join(f"{measure.at(share):,.{d}f}" for share in (0, 0.25, 0.5, 0.75, 1))
    left = {
        "resident MB": after.resident_mb, "proportional MB (PSS)": after.own_mb, "open file descriptors": after.files,
        "threads": after.threads, "child processes": after.children, "home, MB": after.home_mb,
        "home, files": after.home_files,
    }.get(measure.title)  # fmt: skip
    gone = "" if left is None else f"{left:,.{d}f}"
    interval = f"{found.value:+.{d + 2}f} ({found.low:+.{d + 2}f} to {found.high:+.{d + 2}f})"
    judged = f"{found.in_words}; GOES ON RISING" if measure.rises else found.in_words
    allowed = "not judged" if measure.negligible == float("inf") else f"{measure.negligible:g}"
    return f"| {measure.title} | {levels} | {gone} | {interval} | {judged} | {allowed} |"


def interactions(result: Soaked) -> str:
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
        rows.append(f"| {what} | {len(took):,} | {' | '.join(quarters)} | {1e3 * late:,.0f} | {1e3 * max(took):,.0f} |")
    return "\n".join(rows)


def report(result: Soaked, found: list[Measure], options: argparse.Namespace, run: Run, picture: str) -> str:
    wrong = result.findings.wrong
    ends = Counter(result.kept.jobs and [(what, status) for what, status, _ in result.kept.jobs])
    jobs = "\n".join(f"| {what} | {status} | {times} |" for (what, status), times in ends.items())
    memory = found[0].slope()
    arguments = f"--home HOME --minutes {options.minutes:g} --browsers {options.browsers} --jobs {options.jobs}"
    return PAGE.format(
        command=f"python benchmarks/soak.py {arguments}" + (f" --out {options.out}" if options.out else ""),
        browsers=options.browsers, minutes=result.samples[-1].seconds / 60, run=run.id,
        sides=len(run.comparison.sources), texts=sum(source.n for source in run.comparison.sources),
        jobs=sum(ends.values()), job_rows=jobs, count=len(wrong), acts=len(result.findings.acts),
        wrong="\n".join(f"- {line}" for line in wrong[:MOST_FAULTS]) or "None.",
        rows="\n".join(row(measure, result.after) for measure in found), memory=memory, says=memory.in_words,
        homes=homes_in_words(result.kept), interactions=interactions(result), picture=picture, blocks=BLOCKS,
        left=LEFT_S, every=SAMPLE_S, cores=os.cpu_count(), python=platform.python_version(),
        load=statistics.median(sample.load for sample in result.samples),
        versions=", ".join(f"{name} {version(name)}" for name in ("streamlit", "plotly", "playwright")),
    )  # fmt: skip


PAGE = """# {minutes:.0f} minutes of {browsers} browsers and {jobs} jobs

    {command}

{browsers} profiles of one real Chromium on the machine of the server walked for {minutes:.1f} minutes through the run
{run} ({sides} sides, {texts:,} texts together), each on a candidate and on clusters of its own: {acts:,} interactions.
Beside them one browser started {jobs} jobs one after another, and runs were exported, imported, deleted, restored and
removed for good. The machine has {cores} cores for server, browsers and workers together, and a median load of
{load:.1f}, other work on it included.

## What went wrong: {count}

{wrong}

Looked for after every interaction: an error or an exception on the page, a lost connection, a failed script; the run,
the candidate and the cluster in the address; on Clusters and Gap also the cluster's name and its number of texts on
both sides, which must be those of the stored run. Looked for besides: a job that ends otherwise than it should, scores
that change when a run travels, a file that nobody needs once the bin is empty, a fault in the server's log, a child
process once all is over. A run deleted under way fails its job, as it should.

## What goes on rising

Resident memory of the server in the second half: {memory.value:+.3f} MB a minute, 95 % interval {memory.low:+.3f} to
{memory.high:+.3f}: {says}.

| measure | start | 1/4 | 1/2 | 3/4 | end | after | slope of the second half, a minute (95 %) | it is | negligible |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- | --- |
{rows}

![Resident memory, file descriptors, home and interactions over time]({picture})

Sampled every {every:g} s; levels are medians of a twentieth of the time around each; after: {left:g} s after the last
browser closed. A measure goes on rising, and the exit status is 1, when the whole interval lies above what is
negligible. Neighboring samples are alike, so the slope is fitted to the means of {blocks} blocks, and its interval has
their degrees of freedom and widens if they still follow one another (benchmarks/trend.py). The home is counted without
the records of jobs, which stay for a day after they are removed.

## The home after each emptying of the bin

| minute | bytes | files | features removed |
| ---: | ---: | ---: | ---: |
{homes}

Features of texts stay when their runs go, by design; here they are removed after each round, as a person may.

## Jobs

| job | ended | times |
| --- | --- | ---: |
{job_rows}

## How long an interaction takes

From the click to a page that rests, in milliseconds: medians of the four quarters, 95 % and most. The browsers draw on
the cores on which the server works, so most of it is drawing and waiting for one another; the server's own
share of each interaction stands above.

| interaction | times | first | second | third | fourth | 95 % | most |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{interactions}

{versions}, Python {python}, {cores} cores.
"""


def written(result: Soaked, options: argparse.Namespace, run: Run) -> int:
    """Write the page and its picture, or print the page; the exit status."""
    found = measures(result)
    picture = figure(
        f"{options.browsers} browsers, {len(result.kept.jobs)} jobs",
        [
            series_panel(each.title, [s / 60 for s in each.seconds], each.values)
            for each in found
            if each.title in SHOWN
        ],
        [],
    )
    if options.out is None:
        print(report(result, found, options, run, ""))
    else:
        path = options.out.with_suffix(".svg")
        page = report(result, found, options, run, path.name)
        write_atomically(options.out, lambda stream: stream.write(page.encode()))
        write_atomically(path, lambda stream: stream.write(picture.encode()))
    return int(bool(result.findings.wrong) or any(measure.rises for measure in found))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True, help="a home with the demo and nothing else that is needed")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--browsers", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=50, help="started evenly over the time")
    parser.add_argument("--out", type=Path, help="also FILE.svg; default: standard output, and no picture")
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
