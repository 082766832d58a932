"""The Clusters page: the chosen cluster's own texts, sizes with intervals, linked table, states that teach."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.components.score_controls import SMOOTHING_TITLES
from app.components.texts import PAGE_SIZE
from mauve_core.analysis.cluster_table import cluster_table, ordered, wilson_interval
from mauve_core.analysis.why import why_card, why_source
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import as_percent, percent_interval
from mauve_core.numerics.divergences.smoothing import SMOOTHINGS
from mauve_core.scoring.result import Partition
from mauve_core.store import Run
from tests.synthetic import TOPICS

OpenPage = Callable[..., AppTest]
VIEW = "views/clusters/clusters.py"

pytestmark = pytest.mark.usefixtures("run_home")


def tables(app: AppTest, *columns: str) -> list[pd.DataFrame]:
    """The tables on the page with just these columns."""
    return [item.value for item in app.dataframe if tuple(item.value.columns) == columns]


def url_of(app: AppTest) -> dict[str, str]:
    return {name: value if isinstance(value, str) else value[0] for name, value in dict(app.query_params).items()}


def ids_in(run: Run, partition: Partition, source: str, cluster: int) -> list[str]:
    corpus = run.corpora[source]
    return [corpus.ids[i] for i in np.flatnonzero(partition.labels[source] == cluster)]


def largest(partition: Partition, candidate: str) -> int:
    """A cluster with texts of both sides."""
    return int(np.minimum(partition.counts(HUMAN), partition.counts(candidate)).argmax())


def test_without_a_cluster_the_page_says_what_to_do(open_page: OpenPage) -> None:
    app = open_page(VIEW)
    assert not app.exception
    assert any("Click a bar" in caption.value for caption in app.caption)
    assert not tables(app, "id", "text")


@pytest.mark.parametrize(("kind", "seed"), [("joint", 0), ("joint", 1), ("pairwise", 0)])
def test_the_cluster_in_the_url_shows_its_own_texts(open_page: OpenPage, stored_run: Run, kind: str, seed: int) -> None:
    candidate = "shifted"
    partition = stored_run.comparison.partition(kind, candidate, seed)  # type: ignore[arg-type]
    cluster = largest(partition, candidate)
    app = open_page(VIEW, candidate=candidate, partition=kind, seed=str(seed), cluster=str(cluster))
    assert not app.exception
    lists = tables(app, "id", "text")
    assert len(lists) == 2
    for shown, source in zip(lists, (HUMAN, candidate), strict=True):
        expected = ids_in(stored_run, partition, source, cluster)
        assert shown["id"].tolist() == expected[:8]
        corpus = stored_run.corpora[source]
        assert shown["text"][0][:40] == corpus.texts[corpus.ids.index(expected[0])][:40]
        assert any(corpus.texts[corpus.ids.index(expected[0])] == text.value for text in app.text)


def test_sizes_carry_their_interval(open_page: OpenPage, stored_run: Run) -> None:
    partition = stored_run.comparison.partition("joint", "close")
    cluster = largest(partition, "close")
    app = open_page(VIEW, candidate="close", cluster=str(cluster))
    n = stored_run.comparison.human.n
    for metric, source in zip(app.metric, (HUMAN, "close"), strict=False):
        count = int(partition.counts(source)[cluster])
        assert metric.value == f"{count} of {n}"
        low, high = wilson_interval(count, n)
        said = f"{as_percent(count / n, 1)} of its texts ({percent_interval(low, high, 1)})"
        assert any(said in caption.value for caption in app.caption)
    row = cluster_table(partition.counts(HUMAN), partition.counts("close"), 0.5).iloc[cluster]
    assert [metric.value for metric in app.metric][2:] == [as_percent(row[name], 1) for name in ("type_1", "type_2")]


def test_a_negative_share_of_an_error_is_shown_and_explained(open_page: OpenPage, stored_run: Run) -> None:
    partition = stored_run.comparison.partition("joint", "shifted")
    table = cluster_table(partition.counts(HUMAN), partition.counts("shifted"), 0.5)
    cluster = int(table["type_2"].idxmin())
    assert table["type_2"][cluster] < -0.001
    app = open_page(VIEW, candidate="shifted", cluster=str(cluster))
    metric = app.metric[3]
    assert metric.value == f"{table['type_2'][cluster]:.1%}".replace("-", "−")
    assert metric.value.startswith("−")
    assert "Negative: humans write less here" in metric.help


def test_words_are_the_topic_of_the_cluster(open_page: OpenPage, stored_run: Run) -> None:
    partition = stored_run.comparison.partition("joint", "close")
    cluster = largest(partition, "close")
    topics = stored_run.corpora[HUMAN].metadata["topic"][partition.labels[HUMAN] == cluster].unique()
    app = open_page(VIEW, {"cluster_detail_tabs": "Words"}, candidate="close", cluster=str(cluster))
    words = tables(app, "word", "times", "texts")[0]["word"].tolist()
    others = set(TOPICS) - set(topics)
    assert all(any(word.startswith(topic) for topic in topics) for word in words[:3])
    assert not any(word.startswith(tuple(others)) for word in words[:3])


def test_metadata_values_are_counted_on_both_sides(open_page: OpenPage, stored_run: Run) -> None:
    partition = stored_run.comparison.partition("joint", "close")
    cluster = largest(partition, "close")
    app = open_page(VIEW, {"cluster_detail_tabs": "Metadata"}, candidate="close", cluster=str(cluster))
    table = tables(app, "topic", "human, here", "human, total", "model, here", "model, total")[0]
    topics = stored_run.corpora[HUMAN].metadata["topic"]
    inside = topics[partition.labels[HUMAN] == cluster].value_counts()
    for _, row in table.iterrows():
        assert row["human, here"] == inside.get(row["topic"], 0)
        assert row["human, total"] == (topics == row["topic"]).sum()


def test_the_table_mirrors_the_chart_in_its_order(open_page: OpenPage, stored_run: Run) -> None:
    partition = stored_run.comparison.partition("joint", "close")
    app = open_page(VIEW, candidate="close", form="table")
    app.selectbox(key="url_order").select("q").run()
    table = cluster_table(partition.counts(HUMAN), partition.counts("close"), 0.5)
    mirror = next(item.value for item in app.dataframe if "log2_ratio" in item.value.columns)
    assert mirror["cluster"].tolist() == ordered(table, "q")["cluster"].tolist()
    np.testing.assert_allclose(mirror["q"], ordered(table, "q")["q"])


def test_only_the_form_and_the_tab_that_the_url_names_are_made(open_page: OpenPage) -> None:
    app = open_page(VIEW, candidate="close", cluster="1")
    assert not any("log2_ratio" in item.value.columns for item in app.dataframe)
    assert tables(app, "id", "text")
    app = open_page(VIEW, candidate="close", cluster="1", form="table", detail="metadata")
    assert any("log2_ratio" in item.value.columns for item in app.dataframe)
    assert not tables(app, "id", "text")
    assert tables(app, "topic", "human, here", "human, total", "model, here", "model, total")


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_the_smoothing_acts_on_the_errors_and_is_said(open_page: OpenPage, stored_run: Run, smoothing: str) -> None:
    partition = stored_run.comparison.partition("joint", "shifted")
    counts = partition.counts(HUMAN), partition.counts("shifted")
    cluster = largest(partition, "shifted")
    app = open_page(VIEW, candidate="shifted", cluster=str(cluster))
    app.selectbox(key="url_smoothing").set_value(smoothing).run()
    assert not app.exception
    assert url_of(app).get("smoothing", "none") == smoothing
    row = cluster_table(*counts, 0.5, smoothing).iloc[cluster]
    assert [metric.value for metric in app.metric][2:] == [as_percent(row[name], 1) for name in ("type_1", "type_2")]
    title = SMOOTHING_TITLES[smoothing].lower() if smoothing != "none" else "no"  # type: ignore[index]
    assert any(f"errors with {title} smoothing." in caption.value.lower() for caption in app.caption)


def test_an_unknown_cluster_is_named(open_page: OpenPage) -> None:
    app = open_page(VIEW, cluster="4321")
    assert not app.exception
    assert any("no cluster 4321" in info.value for info in app.info)


def test_the_weight_moves_the_errors(open_page: OpenPage, stored_run: Run) -> None:
    partition = stored_run.comparison.partition("joint", "shifted")
    table = cluster_table(partition.counts(HUMAN), partition.counts("shifted"), 0.5)
    app = open_page(VIEW, candidate="shifted", cluster=str(table["type_1"].idxmax()))
    before = [metric.value for metric in app.metric]
    app.slider(key="url_weight").set_value(0.95).run()
    after = [metric.value for metric in app.metric]
    assert after[:2] == before[:2]
    assert after[2:] != before[2:]
    assert url_of(app)["weight"] == "0.95"


def test_the_why_card_is_the_cores(open_page: OpenPage, stored_run: Run) -> None:
    partition = stored_run.comparison.partition("joint", "shifted", 0)
    cluster = largest(partition, "shifted")
    app = open_page(VIEW, {"cluster_detail_tabs": "Why"}, candidate="shifted", cluster=str(cluster))
    assert not app.exception
    stored = [stored_run.features(name) for name in (HUMAN, "shifted")]
    assert stored[0] is not None
    assert stored[1] is not None
    corpora = stored_run.corpora
    source = why_source(partition, corpora[HUMAN], corpora["shifted"], "shifted", (stored[0], stored[1]))
    card = why_card(source, cluster)
    phrases = tables(app, "phrase", "log odds", "texts")
    expected = [found for found in (card.human_phrases, card.model_phrases, card.cluster_phrases) if found]
    assert [table["phrase"].tolist() for table in phrases] == [[each.text for each in found] for found in expected]
    assert card.pairs
    texts = [element.value for element in app.text]
    assert corpora[HUMAN].texts[card.pairs[0].human] in texts
    assert corpora["shifted"].texts[card.pairs[0].model] in texts
    app.segmented_control(key="url_pair").set_value(len(card.pairs) - 1).run()
    assert corpora["shifted"].texts[card.pairs[-1].model] in [element.value for element in app.text]
    flagged = [each for each in (*card.sides, *card.rest) if each.separates]
    assert len(app.warning) + len(app.info) == len(flagged)


def test_the_texts_that_a_link_names_are_open(open_page: OpenPage, stored_run: Run) -> None:
    labels = stored_run.comparison.joint[0].labels
    cluster = int(np.bincount(labels[HUMAN]).argmax())
    candidate = stored_run.comparison.candidates[0].name
    places = {name: np.flatnonzero(labels[name] == cluster) for name in (HUMAN, candidate)}
    wanted = int(places[HUMAN][-1])
    here = {"cluster": str(cluster), "candidate": candidate}
    ids = stored_run.corpora[HUMAN].ids
    app = open_page(VIEW, **here, human_text=str(wanted))
    assert stored_run.corpora[HUMAN].texts[wanted] in [text.value for text in app.text]
    listing = next(item.value for item in app.dataframe if tuple(item.value.columns) == ("id", "text"))
    last_page = (places[HUMAN].size - 1) // PAGE_SIZE * PAGE_SIZE
    assert listing["id"].tolist() == [ids[place] for place in places[HUMAN][last_page:]]
    elsewhere = int(np.flatnonzero(labels[HUMAN] != cluster)[0])
    for absent in (elsewhere, 10_000_000):  # of another cluster, and none at all
        app = open_page(VIEW, **here, human_text=str(absent), model_text=str(absent))
        assert not app.exception
        assert stored_run.corpora[HUMAN].texts[places[HUMAN][0]] in [text.value for text in app.text]
