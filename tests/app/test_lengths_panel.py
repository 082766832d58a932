"""Measures over the length of the texts, on the Decoders page."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.analyses.measures_over_lengths import LengthsTask, LengthTable, order_sentence
from mauve_core.analyses.text_measures import measure_run
from mauve_core.figures.measures import lengths_table
from mauve_core.runs import Run, RunStore
from tests.tiny_models import make_gpt2

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/decoders.py"
TITLE = "Measures over the length of the texts"
OPENED = {"measures_over_length": True}


@pytest.fixture
def run(stored_run: Run, own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr("mauve_core.analyses.text_measures.DEFAULT_MODEL", str(make_gpt2(tmp_path / "gpt2")))
    shutil.copytree(stored_run.path.parent, own_home / "runs", ignore=shutil.ignore_patterns("attached"))
    run = RunStore().load(stored_run.id)
    measure_run(run, ("length",))
    return run


@pytest.fixture
def table(run: Run) -> LengthTable:
    return LengthsTask(run.id, (2, 5, 9), ("length", "repetition")).compute()


def panels(app: AppTest) -> list[Any]:
    return [item for item in app.expander if item.label == TITLE]


def test_the_form_starts_the_job_with_the_chosen_measures_and_lengths(
    open_page: OpenPage, run: Run, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mauve_app.components.jobs.check_model", lambda *_: None)
    app = open_page(VIEW, OPENED)
    (panel,) = panels(app)
    assert f"mauve-lens measure {run.id} --lengths" in panel.markdown[0].value
    measures = app.multiselect(key=f"lengths_measures_{run.id}")
    assert measures.value == ["perplexity", "sparsemax"]  # this run has no encoder, so no features of cut texts
    model = app.selectbox(key="lengths_model").value
    app.button(key="lengths_start").click().run()
    app.multiselect(key=f"lengths_measures_{run.id}").set_value(["length"]).run()
    app.text_input(key=f"lengths_values_{run.id}_False").set_value("8, 4,8").run()
    app.button(key="lengths_start").click().run()
    assert [task for _, task in started] == [
        LengthsTask(run.id, None, ("perplexity", "sparsemax"), model),
        LengthsTask(run.id, (4, 8), ("length",)),
    ]
    app.text_input(key=f"lengths_values_{run.id}_False").set_value("x").run()
    app.button(key="lengths_start").click().run()
    assert len(started) == 2
    assert any("cannot be read" in item.value for item in app.error)
    app.multiselect(key=f"lengths_measures_{run.id}").set_value([]).run()
    assert app.button(key="lengths_start").disabled


def test_the_panel_shows_sentences_chart_and_tables(open_page: OpenPage, run: Run, table: LengthTable) -> None:
    app = open_page(VIEW, OPENED)
    assert not app.exception
    (panel,) = panels(app)
    said = "\n".join(item.value for item in panel.markdown).replace("\\", "")
    order = [candidate.name for candidate in run.comparison.candidates]
    shown = [item.value for item in panel.dataframe]
    expected = []
    for measure in table.measures:
        assert order_sentence(table, measure) in said
        expected += [lengths_table(table, measure, order, gaps=gaps) for gaps in (False, True)]
    assert [frame.equals(other) for frame, other in zip(shown, expected, strict=True)] == [True] * 4
    assert len(panel.get("plotly_chart")) == 1
    assert any("without special ones" in item.value for item in panel.text)
