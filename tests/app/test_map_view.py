"""The Map page: the polygon of the URL against all texts, counts beside it, hidden sources, states that teach."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.components import live_updates, page_chrome
from mauve_app.views.map_selection import cluster_counts, source_counts
from mauve_core.analyses.comparison_task import MapTask
from mauve_core.analyses.selection import Stack
from mauve_core.analyses.tasks import Task
from mauve_core.base import sharing
from mauve_core.base.config import HUMAN
from mauve_core.figures import text_map
from mauve_core.findings.clusters import cluster_table
from mauve_core.findings.distinctive_words import distinctive_phrases
from mauve_core.jobs import queue
from mauve_core.runs import Run, RunStore
from mauve_core.texts.properties import stop_words
from tests.job_folders import job

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/map.py"
# The upper right quarter of the made-up map.
LASSO = "0,0;1,0;1,1;0,1"


@pytest.fixture
def mapped_run(stored_run: Run, run_home: Path) -> Run:
    """Its texts are strewn over the square from -1 to 1."""
    return stored_run


def ids_in_quarter(run: Run, source: str) -> list[str]:
    """Straight from the stored map, without the polygon test."""
    assert run.comparison.projection is not None
    stack = Stack.of(run.comparison)
    own = run.comparison.projection[stack.source == stack.names.index(source)]
    return [run.corpora[source].ids[i] for i in np.flatnonzero((own > 0).all(axis=1))]


def tables(app: AppTest, *columns: str) -> list[pd.DataFrame]:
    return [item.value for item in app.dataframe if tuple(item.value.columns) == columns]


def test_a_map_of_a_sample_says_so(open_page: OpenPage, run: Run) -> None:
    total = sum(source.n for source in run.comparison.sources)
    for fitted, said in ((None, False), (total, False), (total - 9, True)):
        comparison = dataclasses.replace(run.comparison, map_fitted=fitted)
        other = RunStore().save(f"fitted on {fitted}", comparison, run.corpora)
        captions = " ".join(caption.value for caption in open_page(VIEW, run=other.id).caption)
        assert (f"fitted on {total - 9:,} of {total:,} texts" in captions) == said
        assert ("fitted on" in captions) == said


def test_the_lasso_in_the_url_selects_the_same_ids(open_page: OpenPage, mapped_run: Run) -> None:
    app = open_page(VIEW, candidate="shifted", lasso=LASSO)
    assert not app.exception
    for shown, source in zip(tables(app, "id", "text"), (HUMAN, "shifted"), strict=True):
        assert shown["id"].tolist() == ids_in_quarter(mapped_run, source)[:8]
    app = open_page(VIEW, candidate="shifted", lasso=LASSO, area="list", hidden="none")
    listing = tables(app, "source", "id", "cluster name", "cluster", "text")[0]
    for source in mapped_run.corpora:
        assert listing["id"][listing["source"] == source].tolist() == ids_in_quarter(mapped_run, source)
    app = open_page(VIEW, candidate="shifted", lasso=LASSO, area="counts", hidden="none")
    counts = tables(app, "source", "in area", "of", "share")[0]
    for _, row in counts.iterrows():
        assert row["in area"] == len(ids_in_quarter(mapped_run, row["source"]))
        assert row["of"] == len(mapped_run.corpora[row["source"]])


def test_hidden_sources_are_neither_drawn_nor_selected(open_page: OpenPage, mapped_run: Run) -> None:
    app = open_page(VIEW, {"map_area_tabs": "List"}, lasso=LASSO, hidden="2,3")
    listing = tables(app, "source", "id", "cluster name", "cluster", "text")[0]
    assert set(listing["source"]) == {HUMAN, "close"}
    left = sum(mapped_run.comparison.sources[place].n for place in (0, 1))
    assert any(f"{left} of {left} texts shown" in caption.value for caption in app.caption)
    assert any("Choose a source" in info.value for info in open_page(VIEW, hidden="0,1,2,3").info)


def test_of_a_hidden_source_the_page_counts_nothing(open_page: OpenPage, mapped_run: Run) -> None:
    view = {"candidate": "shifted", "lasso": LASSO, "hidden": "0"}
    counts = open_page(VIEW, **view, area="counts")
    (sources,) = tables(counts, "source", "in area", "of", "share")
    assert HUMAN not in sources["source"].tolist()
    (clusters,) = tables(counts, "cluster", "shifted", "of", "share", "overall")
    assert clusters["of"].sum() <= len(mapped_run.corpora["shifted"])
    read = open_page(VIEW, **view)
    assert len(tables(read, "id", "text")) == 1
    assert any("hidden on the map" in each.value for each in read.markdown)
    assert not any("No texts here" in each.value for each in read.caption)


def test_without_webgl_the_page_says_what_is_drawn(
    open_page: OpenPage, mapped_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = sum(source.n for source in mapped_run.comparison.sources)
    assert not open_page(VIEW, candidate="collapsed").info
    monkeypatch.setattr(page_chrome, "draws_webgl", lambda: False)
    app = open_page(VIEW, hidden="none", candidate="collapsed")
    assert not app.exception
    assert f"{total:,} of {total:,} texts." in app.info[0].value
    monkeypatch.setattr(text_map, "PLAIN_POINTS", 99)
    app = open_page(VIEW, hidden="none", candidate="collapsed")
    assert f" of {total:,} texts, a sample" in app.info[0].value
    assert "hardware acceleration" in app.info[0].value


def test_two_areas_are_compared_and_a_is_forgotten(open_page: OpenPage, mapped_run: Run) -> None:
    app = open_page(VIEW, candidate="collapsed", lasso=LASSO)
    app.button(key="map_keep").click().run()
    assert not app.exception
    assert "lasso" not in app.query_params
    kept = sum(len(ids_in_quarter(mapped_run, name)) for name in (HUMAN, "collapsed"))
    assert any(f"Area A: {kept:,} texts" in header.value for header in app.header)
    app = open_page(VIEW, candidate="collapsed", area_a=LASSO, lasso="-1,-1;0.5,-1;0.5,0.5;-1,0.5", area="against")
    assert not app.exception
    (counts,) = tables(app, "source", "this area", "A")
    assert mapped_run.comparison.projection is not None
    stack, xy = Stack.of(mapped_run.comparison), mapped_run.comparison.projection
    first, second = (xy < 0.5).all(axis=1), (xy > 0).all(axis=1)
    for _, row in counts.iterrows():
        own = stack.source == stack.names.index(row["source"])
        assert row["this area"] == (own & first & ~second).sum()
        assert row["A"] == (own & second & ~first).sum()
    shown = np.isin(stack.source, [stack.names.index(name) for name in (HUMAN, "collapsed")])
    assert any(f"{(first & second & shown).sum()} texts lie in both" in caption.value for caption in app.caption)
    app.button(key="map_clear_a").click().run()
    assert "area_a" not in app.query_params
    assert tables(app, "id", "text"), "the texts of the area that is left"


def test_phrases_of_two_areas_are_those_of_their_texts(open_page: OpenPage, mapped_run: Run) -> None:
    assert mapped_run.comparison.projection is not None
    xy = mapped_run.comparison.projection
    left, right = "-2,-2;0,-2;0,2;-2,2", "0,-2;2,-2;2,2;0,2"
    app = open_page(VIEW, candidate="collapsed", lasso=left, area_a=right, area="against")
    stack = Stack.of(mapped_run.comparison)
    sides = []
    for mask in (xy[:, 0] < 0, xy[:, 0] > 0):
        sides.append(
            [
                mapped_run.corpora[name].texts[place]
                for name in (HUMAN, "collapsed")
                for place in stack.positions(mask, name)
            ]
        )
    expected = distinctive_phrases(*sides, stop_words=stop_words())
    shown = tables(app, "phrase", "texts", "in the other")
    assert [table["phrase"].tolist() for table in shown] == [
        [each.text for each in phrases] for phrases in expected if phrases
    ]
    nothing = [caption for caption in app.caption if caption.value == "No phrase stands out."]
    assert len(shown) + len(nothing) == 2


def test_counts_of_an_area_by_hand() -> None:
    stack = Stack(
        names=(HUMAN, "a", "b"),
        source=np.array([0, 0, 0, 1, 1, 2], dtype=np.int16),
        position=np.array([0, 1, 2, 0, 1, 0], dtype=np.int32),
    )
    inside = np.array([True, True, False, True, False, True])
    cluster = np.array([0, 1, 1, 1, 1, 0], dtype=np.int32)
    every = np.ones(6, dtype=bool)
    sources = source_counts(stack, inside, every)
    assert sources[["source", "in area", "of"]].values.tolist() == [[HUMAN, 2, 3], ["a", 1, 2], ["b", 1, 1]]
    table = cluster_counts(stack, inside, every, cluster, (HUMAN, "a"))
    assert table["cluster"].tolist() == [1, 0]
    assert table[[HUMAN, "a", "of"]].values.tolist() == [[1, 1, 4], [1, 0, 1]]
    np.testing.assert_allclose(table["share"], [2 / 3, 1 / 3])
    np.testing.assert_allclose(table["overall"], [4 / 5, 1 / 5])
    found = np.array([True, True, False, False, False, False])  # two human texts: of the others nothing was counted
    assert source_counts(stack, inside & found, found)[["source", "in area", "of"]].values.tolist() == [[HUMAN, 2, 2]]
    table = cluster_counts(stack, inside & found, found, cluster, (HUMAN, "a"))
    assert list(table.columns) == ["cluster", HUMAN, "of", "share", "overall"]
    assert table[["cluster", HUMAN, "of"]].values.tolist() == [[0, 1, 1], [1, 1, 1]]


def test_texts_of_an_area_are_ranked_by_their_cluster_s_cost(open_page: OpenPage, mapped_run: Run) -> None:
    tabs = {"map_area_tabs": "List"}
    app = open_page(VIEW, tabs, run=mapped_run.id, candidate="shifted", lasso=LASSO)
    in_order = tables(app, "source", "id", "cluster name", "cluster", "text")[0]
    app.segmented_control(key="url_colour").set_value("cost").run()
    assert not app.exception
    partition = mapped_run.comparison.partition("pairwise", "shifted")
    costs = cluster_table(partition.counts(HUMAN), partition.counts("shifted"), 0.5)["cost_share"].to_numpy()
    ranked = tables(app, "source", "id", "cluster name", "cluster", "text")[0]
    inside = ranked["source"].isin([HUMAN, "shifted"])
    assert ranked["cluster"].notna().tolist() == inside.tolist()  # a pairwise partition leaves the others out
    assert not inside[inside.sum() :].any()
    own = costs[ranked["cluster"].dropna()]
    assert (np.diff(own) <= 0).all()
    assert own[0] > own[-1]
    assert sorted(zip(ranked["source"], ranked["id"], strict=True)) == sorted(
        zip(in_order["source"], in_order["id"], strict=True)
    )


def test_without_a_gap_to_explain_the_map_has_no_costs(open_page: OpenPage, mapped_run: Run) -> None:
    app = open_page(VIEW, {"map_area_tabs": "List"}, run=mapped_run.id, candidate="close", lasso=LASSO)
    in_order = tables(app, "source", "id", "cluster name", "cluster", "text")[0]
    app.segmented_control(key="url_colour").set_value("cost").run()
    assert not app.exception
    assert any("Nothing to explain" in info.value for info in app.info)
    assert tables(app, "source", "id", "cluster name", "cluster", "text")[0].equals(in_order)


@pytest.fixture
def unmapped(stored_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``stored_run`` without a map in a home of its own, which tests may change."""
    home = tmp_path / "unmapped"
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    comparison = dataclasses.replace(stored_run.comparison, projection=None, map_fitted=None)
    return RunStore(home / "runs").save("unmapped", comparison, stored_run.corpora)


def buttons(app: AppTest) -> list[str]:
    return [
        button.label for button in app.button if button.label in ("Make the map", "Resume", "Cancel", "Open results")
    ]


def test_the_map_appears_when_it_is_there(open_page: OpenPage, unmapped: Run) -> None:
    with job(1, kind="map", task={"run": unmapped.id}, status="running", stage="drawing the map"):
        app = open_page(VIEW)
        assert any("still being made" in element.value for element in app.markdown)
        seen = live_updates.sign()
        total = sum(source.n for source in unmapped.comparison.sources)
        places = np.random.default_rng(8).uniform(-1, 1, (total, 2)).astype(np.float32)
        RunStore().add_map(unmapped, dataclasses.replace(unmapped.comparison, projection=places, map_fitted=total))
        assert live_updates.sign() != seen, "the browser asks for the page again"
        app.run()
        assert any("texts shown" in caption.value for caption in app.caption)


def test_a_map_that_failed_can_be_resumed_or_made_anew(
    open_page: OpenPage, unmapped: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Task] = []
    monkeypatch.setattr(queue, "start", lambda task, *_: started.append(task))
    with job(1, kind="comparison", run=unmapped.id, status="failed", message="No space left."):
        pass
    with job(2, kind="comparison", run=unmapped.id, status="done"):
        pass
    app = open_page(VIEW)
    assert [error.value for error in app.error] == ["No space left\\."]
    assert buttons(app) == ["Resume", "Make the map"]
    (button,) = [button for button in app.button if button.label == "Make the map"]
    button.click().run()
    assert started == [MapTask(unmapped.id)]


def test_a_read_only_app_makes_no_map(open_page: OpenPage, unmapped: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sharing.READ_ONLY, unmapped.id)
    app = open_page(VIEW)
    assert not app.exception
    assert any("has no map yet" in element.value for element in app.markdown)
    assert buttons(app) == []
