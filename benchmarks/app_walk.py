"""Server work of the app for each thing that a reader does, on made-up runs of 10,000 and 100,000 texts.

    python benchmarks/app_walk.py [--texts 10000 100000] [--walks 6] [--out benchmarks/results/app_walk.md]

The app runs in a process of its own and a stand-in for the browser (app_client.py) walks through it over the websocket.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import platform
import statistics
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from app_client import Answer, Tab, lasso_event, points_event
from app_runs import make_run
from app_server import MAIN, START, server

from mauve_core.base.files import write_atomically
from mauve_core.findings.precomputed import derive
from mauve_core.runs import RunStore

PLAIN_PAGE = "import streamlit as st\nst.slider('Number', 0, 9, key='plain_number')\n"
RUNS = {"four sides": 4, "two sides": 2}
LATE_MS = 150
# Pause between interactions: what the server still does after an answer is counted by itself.
SETTLE_S = 0.05


@dataclass(frozen=True)
class Step:
    """One interaction of a walk: what the reader did, and what the server spent on it (seconds, bytes)."""

    what: str
    walk: int
    wall: float
    cpu: float
    after: float
    bytes: int


# The walk


class Walker:
    """A reader in one tab; keeps what every step cost the server."""

    def __init__(self, tab: Tab, log: Path, walk: int) -> None:
        self.tab, self.walk = tab, walk
        self.steps: list[tuple[str, Answer]] = []
        self._log = log
        self._lines = len(log.read_text().splitlines()) if log.exists() else 0

    def open(self, what: str, page: str = "", query: str | None = None) -> None:
        self._take(what, self.tab.open(page, query))

    def move(self, what: str, key: str, value: Any) -> None:
        self._take(what, self.tab.move(key, value))

    def show_tab(self, what: str, key: str, title: str) -> None:
        """Choose a tab; one whose content is on the page already costs the server nothing."""
        if key in self.tab.widgets:
            self.move(what, key, title)

    def _take(self, what: str, answer: Answer) -> None:
        if answer.failed:
            raise RuntimeError(f"{what}: the page shows {'; '.join(answer.failed)}")
        self.steps.append((what, answer))
        time.sleep(SETTLE_S)

    def found(self) -> list[Step]:
        """Every step with what the server wrote down of it."""
        lines = [json.loads(line) for line in self._log.read_text().splitlines()[self._lines :]]
        if len(lines) != len(self.steps):
            raise RuntimeError(f"{len(lines)} answers for {len(self.steps)} steps")
        following = [*(line["asked"] for line in lines[1:]), lines[-1]["done"]]
        return [
            Step(what, self.walk, line["wall"], line["done"] - line["asked"], then - line["done"], answer.bytes)
            for (what, answer), line, then in zip(self.steps, lines, following, strict=True)
        ]


def walk(reader: Walker, turn: int) -> None:
    """A reader's way through a run of four sides; each turn looks at another candidate, cluster and area."""
    tab = reader.tab
    reader.open("open the app")
    reader.move("choose a run", "url_run", next(name for name in tab.options("url_run") if "four" in name))
    for scale in ("1", "2", "3"):
        reader.move("Compare: scaling constant", "url_scale", [scale])
    for weight in (0.3, 0.6):
        reader.move("Compare: mixture weight", "url_weight", [weight])
    for smoothing in ("Krichevsky–Trofimov", "Laplace", "None"):
        reader.move("Compare: smoothing", "url_smoothing", smoothing)
    reader.move("Compare: partition", "url_partition", ["Joint"])
    reader.move("Compare: partition", "url_partition", ["Pairwise (as published)"])

    reader.open("view: Clusters", "clusters")
    reader.move("Clusters: candidate", "url_candidate", f"model {1 + turn % 3}")
    reader.move("Clusters: mixture weight", "url_weight", [0.4])
    reader.move("Clusters: sort", "url_order", "Type I error")
    for place in (3 * turn, 3 * turn + 1, 3 * turn + 2):
        reader.move("Clusters: click a bar", "clusters_chart", points_event(_bar(tab, "clusters_chart", place)))
    for name in ("Why", "Words", "Metadata", "Texts"):
        reader.show_tab(f"Clusters: tab {name}", "cluster_detail_tabs", name)
    reader.move("Clusters: smoothing", "url_smoothing", "Laplace")
    reader.move("Clusters: smoothing", "url_smoothing", "None")

    reader.open("view: Gap", "gap")
    reader.move("Gap: click a bar", "gap_ledger_adds", points_event(_bar(tab, "gap_ledger_adds", 1 + turn)))
    reader.move("Gap: mixture weight", "url_weight", [0.6])
    reader.move("Gap: scaling constant", "url_scale", ["3"])
    reader.show_tab("Gap: tab What would close the gap", "gap_tabs", "What would close the gap")
    reader.move("Gap: what-if, clusters", "url_chosen", tab.options("url_chosen")[turn : turn + 2])
    reader.move("Gap: what-if, side", "url_side", ["both"])
    reader.move("Gap: what-if, cap", "url_action", "Cap at the human share")
    reader.show_tab("Gap: tab The few clusters", "gap_tabs", "The few clusters that make up most of it")

    reader.open("view: Map", "map")
    for colour in ("Cluster", "Log ratio", "Cost", "Source"):
        reader.move("Map: colour", "url_colour", [colour])
    reader.move("Map: lasso", "map_chart", _lasso(tab, turn))
    reader.move("Map: colour after a lasso", "url_colour", ["Cost"])
    reader.move("Map: clear the lasso", "map_clear", True)
    reader.move("Map: hide a source", "url_hidden", tab.options("url_hidden")[:2])

    for page, title in (("methods", "Methods"), ("probes", "Probes"), ("decoders", "Decoders"), ("judge", "Judge")):
        reader.open(f"view: {title}", page)
    reader.open("view: Compare", "")
    reader.move("choose another run", "url_run", next(name for name in tab.options("url_run") if "two" in name))
    reader.move("Compare: scaling constant", "url_scale", ["8"])


def _bar(tab: Tab, key: str, place: int) -> dict[str, Any]:
    """A click on the bar at that place of a figure whose ``customdata`` begins with the cluster."""
    traces = tab.spec(key)["data"]
    curve = max(number for number, trace in enumerate(traces) if "customdata" in trace)
    rows = _array(traces[curve]["customdata"])
    row = rows[place % len(rows)]
    data = {str(column): float(value) for column, value in enumerate(np.atleast_1d(row))}
    return {"curve_number": curve, "point_number": place, "point_index": place, "x": place, "y": 1, "customdata": data}


def _lasso(tab: Tab, turn: int) -> str:
    """A circle on the map around one of its points, and the points inside as a browser lists them."""
    traces = [trace for trace in tab.spec("map_chart")["data"] if trace["type"] == "scattergl"]
    xy = [np.column_stack([_array(trace["x"]), _array(trace["y"])]) for trace in traces]
    stacked = np.concatenate(xy)
    centre, radius = stacked[(997 * turn) % len(stacked)], 0.15 * stacked.std()
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    outline = centre + radius * np.column_stack([np.cos(angles), np.sin(angles)])
    points = []
    for curve, (trace, places) in enumerate(zip(traces, xy, strict=True)):
        data = _array(trace["customdata"])
        for place in np.flatnonzero(((places - centre) ** 2).sum(axis=1) < radius**2).tolist():
            custom = {str(column): float(value) for column, value in enumerate(data[place])}
            x, y = places[place].tolist()
            points.append({"curve_number": curve, "point_index": place, "x": x, "y": y, "customdata": custom})
    return lasso_event(outline[:, 0].tolist(), outline[:, 1].tolist(), points)


def _array(values: Any) -> Any:
    """An array of a figure: a list, or Plotly's typed array."""
    if not isinstance(values, dict):
        return np.array(values)
    array = np.frombuffer(base64.b64decode(values["bdata"]), dtype=np.dtype(values["dtype"]))
    return array.reshape([int(length) for length in str(values["shape"]).split(",")]) if "shape" in values else array


# The page


def measured(walks: int, home: Path) -> tuple[list[Step], float]:
    """Every step of all walks, and the seconds of the server's start; the first walk finds it just started."""
    with tempfile.TemporaryDirectory() as scratch:
        log, steps = Path(scratch) / "log", []
        with server(MAIN, home, log) as url:
            for turn in range(walks):
                with Tab(url) as tab:
                    reader = Walker(tab, log, turn)
                    walk(reader, turn)
                    steps += reader.found()
        return steps, float(log.with_name(log.name + START).read_text())


def plain_rerun(rounds: int = 40) -> float:
    """Median seconds of process time of a rerun of a page with nothing but a slider."""
    with tempfile.TemporaryDirectory() as scratch:
        script, log = Path(scratch) / "plain.py", Path(scratch) / "log"
        script.write_text(PLAIN_PAGE)
        with server(script, Path(scratch), log) as url, Tab(url) as tab:
            reader = Walker(tab, log, 0)
            reader.open("open")
            for turn in range(rounds):
                reader.move("slide", "plain_number", [float(turn % 10)])
            return statistics.median(step.cpu for step in reader.found()[1:])


def runs_of(home: Path, texts: int) -> None:
    """Make the runs that are not there, with what a job keeps beside them."""
    stored = {run.name for run in RunStore(home / "runs").list()}
    for name, sides in RUNS.items():
        if name not in stored:
            derive(make_run(home, name, texts, sides))


def summary(steps: list[Step], plain: float) -> list[str]:
    """Rows: the first walk, the later ones, all."""
    parts = {"first walk": [step for step in steps if not step.walk], "later walks": [s for s in steps if s.walk]}
    rows = []
    for title, part in {**parts, "all": steps}.items():
        if part:
            cpu, wall = ([1e3 * value for value in each] for each in zip(*((s.cpu, s.wall) for s in part), strict=True))
            middle, late = statistics.median(cpu), float(np.quantile(cpu, 0.95))
            beyond = sum(value > LATE_MS for value in cpu) / len(cpu)
            rows.append(
                f"| {title} | {len(part)} | {middle:.0f} | {late:.0f} | {middle / plain / 1e3:.1f} | "
                f"{late / plain / 1e3:.1f} | {beyond:.0%} | {statistics.median(wall):.0f} | {max(cpu):,.0f} |"
            )
    return rows


def by_kind(steps: list[Step], plain: float) -> list[str]:
    """A row for each kind of interaction, in the order of the walk."""
    kinds: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        kinds[step.what].append(step)
    rows = []
    for what, part in kinds.items():
        first = max(1e3 * step.cpu for step in part if not step.walk)
        later = [1e3 * step.cpu for step in part if step.walk] or [1e3 * step.cpu for step in part]
        size = statistics.median(step.bytes for step in part) / 1e3
        rows.append(
            f"| {what} | {len(part)} | {first:,.0f} | {statistics.median(later):.0f} | "
            f"{np.quantile(later, 0.95):,.0f} | {statistics.median(later) / plain / 1e3:.1f} | {size:.0f} |"
        )
    return rows


def report(sizes: list[int], walks: int, home: Path, command: str) -> str:
    plain = plain_rerun()
    parts = []
    for texts in sizes:
        runs_of(home / str(texts), texts)
        steps, start = measured(walks, home / str(texts))
        parts.append(
            "\n".join(
                [
                    f"## {texts:,} texts\n",
                    f"Start of the server, apart from what follows: {start:.1f} s of processor time.\n",
                    SUMMARY,
                    "| --- " * 9 + "|",
                    *summary(steps, plain),
                    KINDS,
                    "| --- " * 7 + "|",
                    *by_kind(steps, plain),
                ]
            )
        )
    return PAGE.format(
        command=command, plain=1e3 * plain, parts="\n\n".join(parts), walks=walks, cores=os.cpu_count(),
        versions=", ".join(f"{name} {version(name)}" for name in ("streamlit", "plotly", "numpy")),
        python=platform.python_version(),
    )  # fmt: skip


SUMMARY = (
    f"| walks | interactions | median ms | 95 % ms | median / plain | 95 % / plain | over {LATE_MS} ms | "
    "median wall ms | most ms |"
)
KINDS = "\n| interaction | times | first walk, most | later, median | later, 95 % | later / plain | KB sent |"
PAGE = """# Server work of the app for each interaction

    {command}

Processor time of the server's process from a message of the browser to the end of its answer: callbacks, script,
figures, serialisation, everything that other threads do meanwhile. Not in it: the network, the browser, and drawing.
The app runs in a process of its own with one thread for linear algebra; a stand-in for the browser moves real widgets
over the websocket. {walks} walks; the first finds a server that has just started, having imported what pages need and
read no run; each looks at another candidate and other clusters. The start is not in any table. Runs: 4 sides, and 2
sides, of one size; made up, with what a job keeps beside a run when it makes it.
Plain: a rerun of a page with one slider, {plain:.1f} ms here.

{parts}

{versions}, Python {python}, {cores} cores.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--walks", type=int, default=6)
    parser.add_argument("--home", type=Path, help="keep the runs here, or take those that are there")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sizes = " ".join(map(str, options.texts))
    out = "" if options.out is None else f" --out {options.out}"
    command = f"python benchmarks/app_walk.py --texts {sizes} --walks {options.walks}{out}"
    with tempfile.TemporaryDirectory() as scratch:
        page = report(options.texts, options.walks, options.home or Path(scratch), command)
    if options.out is None:
        print(page)
    else:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
