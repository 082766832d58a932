"""Precision and recall over the number of neighbors, on the Decoders page."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.server import access
from mauve_core.experiments.text_measures.over_neighbours import NeighbourTable, order_sentence
from mauve_core.experiments.text_measures.stored import measure_run
from mauve_core.figures.neighbours import shown_table
from mauve_core.jobs import queue
from mauve_core.jobs.queue import JobState
from mauve_core.store import Run, RunStore
from mauve_core.tasks.base import Task
from mauve_core.tasks.neighbours import NeighboursTask
from mauve_core.tasks.registry import read_task

OpenPage = Callable[..., AppTest]
VIEW = "views/decoders/decoders.py"
TITLE = "Precision and recall over the number of neighbors"


@pytest.fixture
def run(stored_run: Run, own_home: Path) -> Run:
    shutil.copytree(stored_run.path.parent, own_home / "runs", ignore=shutil.ignore_patterns("attached"))
    run = RunStore().load(stored_run.id)
    measure_run(run, ("recall",))
    return run


@pytest.fixture
def table(run: Run) -> NeighbourTable:
    return NeighboursTask(run.id, (1, 5, 9), ("precision", "recall")).compute()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []

    def start(task: Task, *_: object) -> JobState:
        found.append(read_task(task.kind, json.loads(json.dumps(task.to_json()))))
        return JobState("20260101-000000000000-abcd", "x", "queued")

    monkeypatch.setattr(queue, "start", start)
    return found


def panels(app: AppTest) -> list[Any]:
    return [item for item in app.expander if item.label == TITLE]


def test_the_form_starts_the_job_with_the_defaults_or_the_given_ks(
    open_page: OpenPage, run: Run, started: list[Any]
) -> None:
    app = open_page(VIEW, {"neighbours_over_k": True})
    (panel,) = panels(app)
    assert f"mauve-lens measure {run.id} --neighbors 1-25" in panel.markdown[0].value
    app.button(key="neighbours_start").click().run()
    app.text_input(key=f"neighbours_ks_{run.id}_False").set_value("2, 4-6").run()
    app.button(key="neighbours_start").click().run()
    assert started == [NeighboursTask(run.id), NeighboursTask(run.id, (2, 4, 5, 6))]
    app.text_input(key=f"neighbours_ks_{run.id}_False").set_value("x").run()
    app.button(key="neighbours_start").click().run()
    assert len(started) == 2
    assert any("cannot be read" in item.value for item in app.error)


def test_the_panel_shows_sentences_chart_and_tables(open_page: OpenPage, run: Run, table: NeighbourTable) -> None:
    app = open_page(VIEW, {"neighbours_over_k": True})
    assert not app.exception
    (panel,) = panels(app)
    said = "\n".join(item.value for item in panel.markdown)
    for measure in ("precision", "recall"):
        assert order_sentence(table, measure) in said
    order = [candidate.name for candidate in run.comparison.candidates]
    shown = [item.value for item in panel.dataframe]
    assert [frame.equals(shown_table(table, name, order)) for frame, name in zip(shown, table.measures, strict=True)]
    assert list(shown[0]["k"]) == [1, 5, 9]
    assert len(panel.get("plotly_chart")) == 1
    assert "between two random halves" in "\n".join(item.value for item in panel.text)


def test_read_only_shows_the_table_or_nothing(open_page: OpenPage, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "may_change", lambda: False)
    assert panels(open_page(VIEW, {"neighbours_over_k": True})) == []
    NeighboursTask(run.id, (1, 5), ("recall",)).compute()
    (panel,) = panels(open_page(VIEW, {"neighbours_over_k": True}))
    assert len(panel.button) == 0
    assert len(panel.get("plotly_chart")) == 1


def test_a_damaged_table_is_said(open_page: OpenPage, run: Run) -> None:
    RunStore().attach(run.id, "neighbours", {"rows": 3})
    app = open_page(VIEW, {"neighbours_over_k": True})
    assert not app.exception
    assert any("neighbour table" in item.value for item in app.error)
