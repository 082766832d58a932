"""A small stored run for the pages, and the pages themselves without a browser."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import streamlit
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from mauve_app.server import origins
from mauve_core.analyses.task_registry import read_task
from mauve_core.analyses.tasks import Task
from mauve_core.jobs import queue
from mauve_core.jobs.queue import JobState
from mauve_core.runs import Run, RunStore
from tests.browser.full_run import make_full_run
from tests.synthetic import make_run, with_map

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60
# Folded parts that page tests open unless they say otherwise.
FOLDED = dict.fromkeys(
    ("clusters_capture", "probes_all", "methods_sampling", "methods_agreement", "published_settings"), True
)


@pytest.fixture(scope="session", autouse=True)
def packages_scanned_once() -> Iterator[None]:
    """Each ``AppTest`` looks for components in every installed package, which takes longer than most pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(scope="session")
def stored_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run ``synthetic`` in a home of its own; read it, never change it."""
    return with_map(make_run(tmp_path_factory.mktemp("stored"), n=60, seeds=2, projection=False))


@pytest.fixture
def run_home(stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the home of ``stored_run`` the program's home."""
    home = stored_run.path.parent.parent
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    return home


@pytest.fixture
def run(stored_run: Run, own_home: Path) -> Run:
    """A copy of ``stored_run`` that may be added to."""
    unasked = shutil.ignore_patterns("attached", "ratings*")
    shutil.copytree(stored_run.path.parent, own_home / "runs", ignore=unasked)
    return RunStore().load(stored_run.id)


@pytest.fixture(scope="session")
def full_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run on which every page has something to show, and the same again; read it, never change it."""
    run = make_full_run(tmp_path_factory.mktemp("full"))
    RunStore(run.path.parent).save("again", run.comparison, run.corpora)
    return run


@pytest.fixture
def full_home(full_run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the home of ``full_run`` the program's home."""
    home = full_run.path.parent.parent
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    return home


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Kind and task of what a page asked to start, in place of workers."""
    found: list[tuple[str, Any]] = []

    def start(task: Task, *_: object) -> JobState:
        found.append((task.kind, read_task(task.kind, json.loads(json.dumps(task.to_json())))))
        return JobState("20260101-000000000000-abcd", "x", "queued")

    monkeypatch.setattr(queue, "start", start)
    return found


@pytest.fixture
def open_page(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """``open_page("views/map.py", cluster="3")``: the app on that page with that query string, after its first run.

    ``tabs`` are those that the reader has open, by key (True: a folded part); the content of others is not made.
    """
    monkeypatch.chdir(ROOT)
    streamlit.cache_resource.clear()
    streamlit.cache_data.clear()
    origins.begin_own_server()

    def opened(
        view: str = "views/compare.py", tabs: Mapping[str, str | bool] | None = None, **parameters: str
    ) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app" / "mauve_app" / "main.py"), default_timeout=TIMEOUT_S)
        app.switch_page(view)
        for name, value in parameters.items():
            app.query_params[name] = value
        for key, title in {**FOLDED, **(tabs or {})}.items():
            app.session_state[key] = title
        return app.run()

    return opened
