"""Server work of the app for each thing that a reader does, on made-up runs of 10,000 and 100,000 texts.

    python benchmarks/app_walk.py [--texts 10000 100000] [--walks 6] [--out benchmarks/results/app_walk.md]

The app runs in a process of its own and a stand-in for the browser (app_client.py) walks through it over the websocket.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from app_client import Answer, Tab, lasso_event, points_event, row_event
from app_runs import make_run

ROOT = Path(__file__).resolve().parents[1]
LOG = "APP_WALK_LOG"
PLAIN_PAGE = "import streamlit as st\nst.slider('Number', 0, 9, key='plain_number')\n"
SETTLE_S = 0.05
"""Pause between interactions: what the server still does after an answer is counted by itself."""


@dataclass(frozen=True)
class Step:
    """One interaction of a walk: what the reader did, and what the server spent on it (seconds, bytes)."""

    what: str
    walk: int
    wall: float
    cpu: float
    after: float
    bytes: int


# The server


def serve(script: str, port: int) -> None:
    """Run the app, and write down how long each message from the browser keeps the process busy."""
    from streamlit.runtime.runtime import Runtime
    from streamlit.web import bootstrap
    from streamlit.web.server.starlette.starlette_websocket import StarletteSessionClient

    asked: dict[str, float] = {}
    receive, send = Runtime.handle_backmsg, StarletteSessionClient.write_forward_msg

    def received(self: Any, session_id: str, message: Any, **options: Any) -> None:
        asked["cpu"], asked["wall"] = time.process_time(), time.perf_counter()
        receive(self, session_id, message, **options)

    def sent(self: Any, message: Any) -> None:
        send(self, message)
        if message.WhichOneof("type") == "script_finished":
            line = {"asked": asked["cpu"], "done": time.process_time(), "wall": time.perf_counter() - asked["wall"]}
            with Path(os.environ[LOG]).open("a") as stream:
                stream.write(json.dumps(line) + "\n")

    Runtime.handle_backmsg = received  # type: ignore[method-assign,assignment]
    StarletteSessionClient.write_forward_msg = sent  # type: ignore[method-assign]
    options = {"server.port": port, "server.headless": True, "browser.gatherUsageStats": False}
    flags = {name.replace(".", "_"): value for name, value in options.items()}
    bootstrap.load_config_options(flags)
    bootstrap.run(script, False, [], flags)


@contextmanager
def server(script: Path, home: Path, log: Path) -> Iterator[str]:
    """The websocket address of that script, served until the block ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "MAUVE_LENS_HOME": str(home), "PYTHONPATH": str(ROOT), LOG: str(log)}
    command = [sys.executable, str(Path(__file__).resolve()), "--serve", str(script), "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:
        _wait_for(port, process)
        yield f"ws://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"the app ended with {process.returncode}")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the app did not start")


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
    reader.move("choose a run", "run_picker", next(name for name in tab.options("run_picker") if "four" in name))
    for scale in ("1", "2", "3"):
        reader.move("Compare: scaling constant", "control_scale", [scale])
    for weight in (0.3, 0.6):
        reader.move("Compare: mixture weight", "control_weight", [weight])
    for smoothing in ("Krichevsky–Trofimov", "Laplace", "None"):
        reader.move("Compare: smoothing", "control_smoothing", smoothing)
    reader.move("Compare: partition", "control_partition", ["Joint"])
    reader.move("Compare: partition", "control_partition", ["Pairwise (as published)"])

    reader.open("view: Clusters", "clusters")
    reader.move("Clusters: candidate", "focus_candidate", f"model {1 + turn % 3}")
    reader.move("Clusters: mixture weight", "focus_weight", [0.4])
    reader.move("Clusters: sort", "clusters_order", "Type I error")
    for place in (3 * turn, 3 * turn + 1, 3 * turn + 2):
        reader.move("Clusters: click a bar", "clusters_chart", points_event(_bar(tab, "clusters_chart", place)))
    for name in ("Why", "Words", "Metadata", "Texts"):
        reader.show_tab(f"Clusters: tab {name}", "cluster_detail_tabs", name)
    reader.move("Clusters: smoothing", "control_smoothing", "Laplace")
    reader.move("Clusters: smoothing", "control_smoothing", "None")

    reader.open("view: Gap", "gap")
    reader.move("Gap: click a bar", "gap_ledger_type_1", points_event(_bar(tab, "gap_ledger_type_1", 1 + turn)))
    reader.move("Gap: mixture weight", "focus_weight", [0.6])
    reader.move("Gap: scaling constant", "control_scale", ["3"])
    reader.show_tab("Gap: tab What would close the gap", "gap_tabs", "What would close the gap")
    reader.move("Gap: what-if, clusters", "what_if_chosen", tab.options("what_if_chosen")[turn : turn + 2])
    reader.move("Gap: what-if, side", "what_if_side", ["both"])
    reader.move("Gap: what-if, cap", "what_if_action", "Cap at the human share")
    reader.show_tab("Gap: tab The few clusters", "gap_tabs", "The few clusters that make most of it")

    reader.open("view: Map", "map")
    for colour in ("Cluster", "Log ratio", "Adds", "Source"):
        reader.move("Map: colour", "map_colouring", [colour])
    reader.move("Map: lasso", "map_chart", _lasso(tab, turn))
    reader.move("Map: colour after a lasso", "map_colouring", ["Misses"])
    reader.move("Map: clear the lasso", "map_clear", True)
    reader.move("Map: hide a source", "map_shown", tab.options("map_shown")[:2])

    for page, title in (("methods", "Methods"), ("probes", "Probes"), ("decoders", "Decoders"), ("judge", "Judge")):
        reader.open(f"view: {title}", page)
    reader.open("view: Compare", "")
    reader.move("choose another run", "run_picker", next(name for name in tab.options("run_picker") if "two" in name))
    reader.move("Compare: scaling constant", "control_scale", ["8"])


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--walks", type=int, default=6)
    parser.add_argument("--home", type=Path, help="keep the runs here, or take those that are there")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(str(options.serve), options.port)
        return
    for texts in options.texts:
        home = Path(f"{options.home}{texts//1000}k")
        with tempfile.TemporaryDirectory() as scratch:
            log = Path(scratch) / "log"
            steps = []
            with server(ROOT / "app" / "main.py", home, log) as url:
                for turn in range(options.walks):
                    with Tab(url) as tab:
                        reader = Walker(tab, log, turn)
                        walk(reader, turn)
                        steps += reader.found()
        by = defaultdict(list)
        for s in steps: by[s.what].append(s)
        for what, ss in by.items():
            cold=[s.cpu*1e3 for s in ss if s.walk==0]; warm=[s.cpu*1e3 for s in ss if s.walk>0]
            print(f"{what:40s} cold {' '.join(f'{c:7.0f}' for c in cold):24s} warm med {statistics.median(warm) if warm else 0:7.0f} max {max(warm,default=0):7.0f} after {statistics.median(s.after for s in ss)*1e3:5.0f} KB {statistics.median(s.bytes for s in ss)/1e3:8.0f} wall {statistics.median(s.wall for s in ss)*1e3:.0f}")
        for name, c in (("all",[s.cpu for s in steps]),("cold",[s.cpu for s in steps if not s.walk]),("warm",[s.cpu for s in steps if s.walk])):
            if c: print(name, len(c), "median", round(1e3*statistics.median(c),1), "p95", round(1e3*float(np.quantile(c,.95)),1), "max", round(1e3*max(c)))


if __name__ == "__main__":
    main()
