"""What clusters capture, on the Clusters page: the form, stored numbers with their spread, the purest clusters."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.url import bound
from mauve_app.views.clusters import purity_list
from mauve_app.views.clusters.purity_list import shown_purity
from mauve_core.analysis.attributes import CATEGORICAL, Attribute
from mauve_core.analysis.precomputed import run_cluster_names
from mauve_core.analysis.purity_table import purest_clusters
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import UNBROKEN
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.corpus.metadata import python_values
from mauve_core.experiments.attributes_over_k import ALL, SPLITS, AttributeTable, usual_ks
from mauve_core.figures.attributes import MOST_LINES, shown_table
from mauve_core.jobs import queue
from mauve_core.jobs.queue import JobState
from mauve_core.scoring.result import Partition
from mauve_core.store import Run, RunStore
from mauve_core.tasks.attributes import AttributesTask
from mauve_core.tasks.base import Task
from mauve_core.tasks.registry import read_task
from tests.handmade import spread
from tests.word_runs import encoded_run

OpenPage = Callable[..., AppTest]
VIEW = "views/clusters/clusters.py"
NASTY = "*b* <img> [x](y)"


@pytest.fixture
def run(stored_run: Run, own_home: Path) -> Run:
    """A copy of ``stored_run`` that may be added to."""
    shutil.copytree(stored_run.path.parent, own_home / "runs", ignore=shutil.ignore_patterns("attached"))
    return RunStore().load(stored_run.id)


@pytest.fixture
def table(run: Run) -> AttributeTable:
    """Two quick points, kept beside the run."""
    return AttributesTask(run.id, ks=(3, 6), splits=4).compute()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Kind and task of what the page asked to start, in place of workers."""
    found: list[tuple[str, Any]] = []

    def start(task: Task, *_: object) -> JobState:
        found.append((task.kind, read_task(task.kind, json.loads(json.dumps(task.to_json())))))
        return JobState("20260101-000000000000-abcd", "x", "queued")

    monkeypatch.setattr(queue, "start", start)
    return found


def said(app: AppTest) -> str:
    """Everything that the page says in Markdown and captions, without escapes."""
    parts = (*app.markdown, *app.caption, *app.error, *app.header, *app.text)
    return "\n".join(element.value for element in parts).replace("\\", "")


def found(elements: Any, key: str) -> Any:
    """The one widget whose key begins so."""
    (item,) = [item for item in elements if str(item.key).startswith(key)]
    return item


def press_compute(app: AppTest) -> None:
    app.button(key="attributes_start").click().run()
    assert not app.exception


def charts_of(app: AppTest) -> int:
    """Charts of this section: all but the page's own."""
    return len(app.get("plotly_chart")) - 1


def purity_of(app: AppTest) -> pd.DataFrame:
    (rows,) = [item.value for item in app.dataframe if "its share" in item.value.columns]
    return rows


def expected_purity(run: Run, partition: Partition, column: str, *sources: str) -> pd.DataFrame:
    labels = np.concatenate([partition.labels[name] for name in sources])
    cells = [value for name in sources for value in python_values(run.corpora[name].metadata[column])]
    candidate = next(name for name in partition.labels if name != HUMAN)
    names = run_cluster_names(run, partition.kind, candidate, partition.seed)
    return shown_purity(purest_clusters(labels, partition.k, np.array(cells, dtype=object)), names)


# The form


def test_without_numbers_the_section_says_what_they_are(open_page: OpenPage, run: Run) -> None:
    app = open_page(VIEW)
    assert not app.exception
    assert "What clusters capture" in [item.label for item in app.expander]
    assert "Nothing has been computed yet" in said(app)
    assert charts_of(app) == 0
    usual = ", ".join(map(str, usual_ks(run)))
    assert found(app.text_input, "attributes_ks").placeholder == usual


def test_the_section_stands_below_an_opened_cluster_too(open_page: OpenPage, run: Run) -> None:
    app = open_page(VIEW, cluster="1")
    assert not app.exception
    assert "Cluster 1" in said(app)
    assert "What clusters capture" in [item.label for item in app.expander]
    assert "Each cluster is labeled" in said(app)


def test_what_is_left_alone_takes_the_cores_defaults(open_page: OpenPage, run: Run, started: list[Any]) -> None:
    app = open_page(VIEW)
    press_compute(app)
    assert started == [("attributes", AttributesTask(run.id))]


def test_every_choice_goes_with_the_job(open_page: OpenPage, run: Run, started: list[Any]) -> None:
    app = open_page(VIEW)
    found(app.selectbox, "attributes_clusters").set_value("shifted").run()
    sources = found(app.selectbox, "attributes_source")
    assert list(sources.options) == [HUMAN, "shifted", ALL]
    sources.set_value(ALL).run()
    assert list(found(app.multiselect, "attributes_columns").options) == ["topic", "words"]
    found(app.multiselect, "attributes_columns").set_value(["topic"]).run()
    found(app.text_input, "attributes_ks").set_value("4; 8 30").run()
    found(app.number_input, "attributes_splits").set_value(3).run()
    press_compute(app)
    assert started == [("attributes", AttributesTask(run.id, ("topic",), (4, 8, 30), ALL, "shifted", 3))]


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("typed", ["x", "4, 0", "2.5", "nan", "inf", "-3"])
def test_numbers_that_cannot_be_are_said_and_nothing_starts(
    open_page: OpenPage, started: list[Any], typed: str
) -> None:
    app = open_page(VIEW)
    found(app.text_input, "attributes_ks").set_value(typed).run()
    press_compute(app)
    assert len(app.error) == 1
    assert started == []


def test_another_candidate_of_the_form_has_texts_of_its_own(open_page: OpenPage, run: Run) -> None:
    app = open_page(VIEW)
    names = [candidate.name for candidate in run.comparison.candidates]
    assert list(found(app.selectbox, "attributes_source").options) == [HUMAN, *names, ALL]
    found(app.selectbox, "attributes_source").set_value("close").run()
    found(app.selectbox, "attributes_clusters").set_value("shifted").run()
    assert found(app.selectbox, "attributes_source").value == HUMAN
    assert not app.exception


def test_runs_of_the_same_encoder_give_other_clusters(open_page: OpenPage, own_home: Path, started: list[Any]) -> None:
    run, other = encoded_run(own_home, "encoded"), encoded_run(own_home, "other", seed=50)
    AttributesTask(run.id, ks=(2, 3), splits=2, other_run=other.id).compute()
    app = open_page(VIEW, run=run.id)
    assert not app.exception
    picker = found(app.selectbox, "attributes_others")
    assert list(picker.options) == ["none", "run other", "a file"]
    assert picker.value == other.id
    assert "40 texts of other alone" in said(app)
    press_compute(app)
    found(app.selectbox, "attributes_others").set_value("").run()
    press_compute(app)
    assert [task.other_run for _, task in started] == [other.id, None]
    found(app.selectbox, "attributes_others").set_value("a file").run()
    assert app.button(key="attributes_start").disabled  # until there is one
    app = open_page(VIEW, run=run.id, captured="table")
    (rows,) = [item.value for item in app.dataframe if "V-measure" in item.value.columns]
    assert set(rows["clusters of"]) == {"this run", "other"}


def test_a_run_of_given_features_offers_no_other_texts(open_page: OpenPage, run: Run) -> None:
    assert not [item for item in open_page(VIEW).selectbox if str(item.key).startswith("attributes_others")]


# What was computed


def test_what_was_computed_is_shown_with_the_cores_digits(open_page: OpenPage, run: Run, table: AttributeTable) -> None:
    app = open_page(VIEW)
    assert not app.exception
    assert charts_of(app) == 2  # texts of this run have the same length and no stop words
    app = open_page(VIEW, {"attributes_settings": True}, captured="table")
    (rows,) = [item.value for item in app.dataframe if "V-measure" in item.value.columns]
    for (_, row), item in zip(rows.iterrows(), table.rows, strict=True):
        accuracy = item.scores["accuracy"]
        assert (row["column"], row["k"], row["n"]) == ("topic", item.k, 60)
        assert row["accuracy"] == f"{accuracy.mean:.3f}{UNBROKEN}±{UNBROKEN}{accuracy.sd:.3f}"
    assert "60 of human; joint partition" in said(app)
    assert "over 2 seeds and 4 splits" in said(app)
    for note in table.notes:
        assert note in said(app)


def test_stored_numbers_can_be_computed_again(open_page: OpenPage, run: Run, started: list[Any]) -> None:
    AttributesTask(run.id, ks=(6,), source="close", candidate="close", splits=2).compute()
    app = open_page(VIEW)
    assert any(item.label.startswith("Compute again") for item in app.expander)
    assert "pairwise partition with close" in said(app)
    press_compute(app)
    assert started == [("attributes", AttributesTask(run.id, None, None, "close", "close", 2))]


def keep(run: Run, *rows: Attribute) -> AttributeTable:
    made = AttributeTable(rows, {"seeds": 1, "splits": 1, "texts": {NASTY: 9}, "own_k": 6}, (f"a note {NASTY}",))
    RunStore().attach(run.id, "attributes", dataclass_to_json(made))
    return made


def handmade(column: str, kind: str, k: int = 6, mean: float = 0.4, sd: float | None = 0.1) -> Attribute:
    score = spread(mean, sd)
    return Attribute(column, kind, k, 9, 0, dict.fromkeys(CATEGORICAL if kind == "category" else ("r2",), score))


def test_names_from_files_stay_plain(open_page: OpenPage, run: Run) -> None:
    keep(run, handmade(NASTY, "category"), handmade(NASTY, "number"))
    app = open_page(VIEW)
    assert not app.exception
    assert charts_of(app) == 3
    shown = [item.value for item in (*app.markdown, *app.caption) if "img" in item.value]
    assert len(shown) == 1
    assert "<img>" not in shown[0]
    assert NASTY in shown[0].replace("\\", "")


def test_many_columns_are_picked_and_counted(open_page: OpenPage, run: Run) -> None:
    names = [f"column {place}" for place in range(MOST_LINES + 2)]
    keep(run, *(handmade(name, "category") for name in names), handmade("length", "surface"))
    app = open_page(VIEW)
    assert not app.exception
    picker = found(app.multiselect, "url_categories")
    assert picker.label == f"Categories shown, of {len(names)}"
    assert list(picker.options) == names
    assert len(picker.value) == MOST_LINES
    assert charts_of(app) == 3
    picker.set_value([]).run()
    assert charts_of(app) == 1


def test_nothing_that_could_be_judged_is_said(open_page: OpenPage, run: Run) -> None:
    keep(run)
    app = open_page(VIEW)
    assert not app.exception
    assert "No column could be judged" in said(app)


def test_a_damaged_table_is_said_and_can_be_made_again(open_page: OpenPage, run: Run) -> None:
    RunStore().attach(run.id, "attributes", {"rows": "none"})
    app = open_page(VIEW)
    assert not app.exception
    assert len(app.error) == 1
    assert not app.button(key="attributes_start").disabled


def test_the_shown_table_has_minus_signs_and_gaps() -> None:
    rows = shown_table(
        AttributeTable((handmade("length", "surface", mean=-0.25), handmade("t", "category", sd=None)))
    ).to_dict("records")
    assert rows[0]["column"] == "Length"
    assert rows[0]["R²"] == f"−0.250{UNBROKEN}±{UNBROKEN}0.100"
    assert rows[0]["accuracy"] == rows[1]["R²"] == ""
    assert rows[1]["accuracy"] == "0.400"


# The purest clusters


@pytest.mark.parametrize(("kind", "seed"), [("joint", 0), ("joint", 1), ("pairwise", 0)])
def test_the_purest_clusters_are_those_of_the_partition_shown(
    open_page: OpenPage, run: Run, kind: str, seed: int
) -> None:
    app = open_page(VIEW, candidate="shifted", partition=kind, seed=str(seed))
    partition = run.comparison.partition(kind, "shifted", seed)  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(purity_of(app), expected_purity(run, partition, "topic", HUMAN))
    found(app.selectbox, "url_purity_side").set_value("both").run()
    pd.testing.assert_frame_equal(purity_of(app), expected_purity(run, partition, "topic", HUMAN, "shifted"))
    found(app.selectbox, "url_purity_side").set_value("model").run()
    pd.testing.assert_frame_equal(purity_of(app), expected_purity(run, partition, "topic", "shifted"))
    assert f"of {partition.k} clusters of the {kind} partition" in said(app)


def test_columns_of_numbers_and_names_of_texts_are_not_offered(open_page: OpenPage, run: Run) -> None:
    app = open_page(VIEW)
    assert list(found(app.selectbox, "url_purity_column").options) == ["topic"]


def test_a_ticked_row_opens_its_cluster(open_page: OpenPage, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    tables: dict[str, tuple[str, Any]] = {}
    table = bound.table

    def noted(field: str, frame: pd.DataFrame, values: Any, **keywords: Any) -> None:
        tables[keywords["key"]] = field, values
        table(field, frame, values, **keywords)

    monkeypatch.setattr(bound, "table", noted)  # what a tick then does: tests/app/test_bound.py
    shown = [int(label.rpartition(" · ")[2]) for label in purity_of(open_page(VIEW))["cluster"]]
    assert tables["purity_table"] == ("cluster", shown)


def test_texts_without_a_column_are_said(open_page: OpenPage, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purity_list, "category_columns", lambda corpora: {})
    app = open_page(VIEW)
    assert not app.exception
    assert "no metadata column that sorts them" in said(app)
    assert not [item for item in app.dataframe if "its share" in item.value.columns]


def test_the_usual_number_of_splits_is_the_cores(open_page: OpenPage, run: Run) -> None:
    assert found(open_page(VIEW).number_input, "attributes_splits").value == SPLITS
