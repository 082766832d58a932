"""Counts the files that a reader meets on three roads of the data: `python -m tests.docs.data_roads [--full]`.

A road is what the program runs for one purpose on tiny made-up data. Every call that enters a file of the project from
another one is an *entry*; the caller is the nearest frame of the project, so that a callback through a library, or
through another module, counts too. A reader reads a loop once: the same call from the same line counts once.

- files: how many are entered at all.
- entries: how many calls enter them.
- returns: entries into a file after its first, that is, entries less files. The return of a call is not an entry.

Code that runs while a module is imported does not count. One core is used, so that each road has one order.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

from streamlit.testing.v1 import AppTest

import mauve_core
from tests.synthetic import make_comparison_inputs, make_run

ROOT = Path(mauve_core.__file__).resolve().parents[1]
PRODUCT = (str(ROOT / "mauve_core") + os.sep, str(ROOT / "app") + os.sep)

Call = tuple[str, int, str, int]
"""File and line of the caller; file and first line of what it calls."""


@dataclass
class Road:
    """The calls from one file into another, each once, in the order in which they first happen."""

    name: str
    calls: dict[Call, None] = field(default_factory=dict)

    @property
    def entries(self) -> Counter[str]:
        """How many calls enter each file."""
        return Counter(callee for _, _, callee, _ in self.calls)

    @property
    def returns(self) -> int:
        return len(self.calls) - len(self.entries)

    def entries_from(self, file: str) -> Counter[str]:
        """How many of the calls that stand in ``file`` enter each other file."""
        return Counter(callee for caller, _, callee, _ in self.calls if caller == file)

    def note(self, frame: FrameType, event: str, _argument: object) -> None:
        """What ``sys.setprofile`` calls."""
        if event != "call" or not _is_product(frame.f_code):
            return
        caller = frame.f_back
        while caller is not None and not _is_product(caller.f_code):
            caller = caller.f_back
        start = ("", 0) if caller is None else (_name(caller), caller.f_lineno)
        imported = _is_import(frame) or (caller is not None and _is_import(caller))
        if start[0] != _name(frame) and not imported:
            self.calls[*start, _name(frame), frame.f_code.co_firstlineno] = None


def _is_product(code: CodeType) -> bool:
    return code.co_filename.startswith(PRODUCT)


def _name(frame: FrameType) -> str:
    return str(Path(frame.f_code.co_filename).relative_to(ROOT))


def _is_import(frame: FrameType) -> bool:
    """Whether the frame is a module that is being imported; Streamlit runs main.py and the pages as ``__main__``."""
    code = frame.f_code
    return code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__"


@contextmanager
def traced(name: str) -> Iterator[Road]:
    """Note the calls of this thread and of those that begin meanwhile."""
    road = Road(name)
    threading.setprofile(road.note)
    sys.setprofile(road.note)
    try:
        yield road
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def text_to_score(home: Path) -> Road:
    """Two files of texts, with features made elsewhere, to the scores of one candidate."""
    from mauve_core import CompareConfig, ScoreConfig, compare, read_corpus

    human, candidates, features = make_comparison_inputs(n=60)
    sides = {"human": human, "shifted": candidates["shifted"]}
    for name, corpus in sides.items():
        (home / f"{name}.txt").write_text("\n".join(corpus.texts), encoding="utf-8")
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, restarts=2, bootstrap=100), projection=False)
    with traced("a text from file to score") as road:
        read = {name: read_corpus(home / f"{name}.txt") for name in sides}
        given = {name: features[name] for name in sides}
        result = compare(read.pop("human"), read, config, features=given)
    assert 0 < result.candidates[0].scores["mauve"].mean < 1
    return road


def cluster_to_texts(home: Path) -> Road:
    """The Clusters page with a cluster in its URL."""
    run = make_run(home, n=60, seeds=2, projection=False)
    cluster = int(run.comparison.joint[0].counts("human").argmax())
    os.environ["MAUVE_LENS_HOME"] = str(home)
    app = AppTest.from_file(str(ROOT / "app" / "mauve_app" / "main.py"), default_timeout=120)
    pages = ("views/clusters/clusters.py", "views/clusters.py")
    app.switch_page(next(page for page in pages if (ROOT / "app" / "mauve_app" / page).exists()))
    app.query_params["cluster"] = str(cluster)
    with traced("a cluster from the URL to its texts") as road:
        app.run()
    assert not app.exception
    assert any(tuple(table.value.columns) == ("id", "text") for table in app.dataframe)
    return road


def features_to_mauve(_: Path) -> Road:
    """``compute_mauve`` with given features."""
    from mauve_core import compute_mauve

    _, _, features = make_comparison_inputs(n=100)
    with traced("features to MAUVE") as road:
        result = compute_mauve(p_features=features["human"], q_features=features["shifted"], num_buckets=6)
    assert 0 < result.mauve < 1
    return road


ROADS: tuple[Callable[[Path], Road], ...] = (text_to_score, cluster_to_texts, features_to_mauve)


def walk(make: Callable[[Path], Road]) -> Road:
    """The road, in a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        return make(Path(home))


def describe(road: Road) -> str:
    """Every file of the road and the calls that enter it, those entered most first."""
    lines = []
    for file, count in road.entries.most_common():
        lines.append(f"    {file} {count}")
        lines += [f"        {caller}:{line}" for caller, line, callee, _ in road.calls if callee == file]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the files that a reader meets on three roads of the data.")
    parser.add_argument("--full", action="store_true", help="name every file, and the calls that enter it")
    full = parser.parse_args().full
    os.environ["OMP_NUM_THREADS"] = "1"
    os.chdir(ROOT)
    print(f"{'road':40}{'files':>8}{'entries':>9}{'returns':>9}  entered most")
    for make in ROADS:
        road = walk(make)
        most = ", ".join(f"{Path(file).name} {count}" for file, count in road.entries.most_common(4))
        print(f"{road.name:40}{len(road.entries):8}{len(road.calls):9}{road.returns:9}  {most}")
        if full:
            print(describe(road))


if __name__ == "__main__":
    main()
