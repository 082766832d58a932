"""Precision and recall over the number of neighbors, on the Decoders page."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.analyses.measures_over_neighbours import NeighboursTask, NeighbourTable, order_sentence
from mauve_core.analyses.text_measures import measure_run
from mauve_core.figures.measures import neighbours_table
from mauve_core.runs import Run, RunStore

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/decoders.py"
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


def panels(app: AppTest) -> list[Any]:
    return [item for item in app.expander if item.label == TITLE]


def test_the_panel_shows_sentences_chart_and_tables(open_page: OpenPage, run: Run, table: NeighbourTable) -> None:
    app = open_page(VIEW, {"neighbours_over_k": True})
    assert not app.exception
    (panel,) = panels(app)
    said = "\n".join(item.value for item in panel.markdown)
    for measure in ("precision", "recall"):
        assert order_sentence(table, measure) in said
    order = [candidate.name for candidate in run.comparison.candidates]
    shown = [item.value for item in panel.dataframe]
    assert [
        frame.equals(neighbours_table(table, name, order)) for frame, name in zip(shown, table.measures, strict=True)
    ]
    assert list(shown[0]["k"]) == [1, 5, 9]
    assert len(panel.get("plotly_chart")) == 1
    assert "between two random halves" in "\n".join(item.value for item in panel.text)
