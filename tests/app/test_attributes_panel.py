"""What clusters capture, on the Clusters page: the form, stored numbers with their spread, the purest clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.views.clusters_attributes import shown_purity
from mauve_core.analyses.attributes_over_k import AttributesTask, AttributeTable
from mauve_core.analyses.cluster_attributes import CATEGORICAL, Attribute
from mauve_core.base.config import ALL_SIDES as ALL
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import UNBROKEN
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.findings.clusters import purest_clusters
from mauve_core.findings.precomputed import run_cluster_names
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.result import Partition
from mauve_core.texts.metadata import python_values
from tests.app.pages import said
from tests.handmade import spread

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/clusters.py"
NASTY = "*b* <img> [x](y)"


@pytest.fixture
def table(run: Run) -> AttributeTable:
    """Two quick points, kept beside the run."""
    return AttributesTask(run.id, ks=(3, 6), splits=4).compute()


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


def test_every_choice_goes_with_the_job(open_page: OpenPage, run: Run, started: list[Any]) -> None:
    app = open_page(VIEW)
    found(app.selectbox, "attributes_clusters").set_value("shifted").run()
    sources = found(app.selectbox, "attributes_source")
    assert list(sources.options) == [HUMAN, "shifted", ALL]
    sources.set_value(ALL).run()
    assert list(found(app.multiselect, "attributes_columns").options) == ["topic", "words"]
    found(app.multiselect, "attributes_columns").set_value(["topic"])
    found(app.text_input, "attributes_ks").set_value("4; 8 30")
    found(app.number_input, "attributes_splits").set_value(3).run()
    press_compute(app)
    assert started == [("attributes", AttributesTask(run.id, ("topic",), (4, 8, 30), ALL, "shifted", 3))]


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


def test_a_damaged_table_is_said_and_can_be_made_again(open_page: OpenPage, run: Run) -> None:
    RunStore().attach(run.id, "attributes", {"rows": "none"})
    app = open_page(VIEW)
    assert not app.exception
    assert len(app.error) == 1
    assert not app.button(key="attributes_start").disabled


# The purest clusters


def test_the_purest_clusters_are_those_of_the_partition_shown(open_page: OpenPage, run: Run) -> None:
    kind, seed = "joint", 1
    app = open_page(VIEW, candidate="shifted", partition=kind, seed=str(seed))
    partition = run.comparison.partition(kind, "shifted", seed)  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(purity_of(app), expected_purity(run, partition, "topic", HUMAN))
    found(app.selectbox, "url_purity_side").set_value("both").run()
    pd.testing.assert_frame_equal(purity_of(app), expected_purity(run, partition, "topic", HUMAN, "shifted"))
    found(app.selectbox, "url_purity_side").set_value("model").run()
    pd.testing.assert_frame_equal(purity_of(app), expected_purity(run, partition, "topic", "shifted"))
    assert f"of {partition.k} clusters of the {kind} partition" in said(app)
