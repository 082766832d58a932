"""The Clusters page: the chosen cluster's own texts, sizes with intervals, linked table, states that teach."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.components.cluster_detail import MOST_TEXTS
from mauve_app.components.scores import SMOOTHING_TITLES
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.formatting import UNBROKEN, as_percent, percent_interval, percent_with_interval, written
from mauve_core.findings.clusters import cluster_table, cost_intervals, ordered, wilson_interval
from mauve_core.findings.why_cards import why_card, why_source
from mauve_core.runs import Run
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.texts.pairing import shared_prompts
from tests.app.pages import url_of

OpenPage = Callable[..., AppTest]
VIEW = "views/clusters.py"

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("run_home")]


def tables(app: AppTest, *columns: str) -> list[pd.DataFrame]:
    """The tables on the page with just these columns."""
    return [item.value for item in app.dataframe if tuple(item.value.columns) == columns]


def ids_in(run: Run, partition: Partition, source: str, cluster: int) -> list[str]:
    corpus = run.corpora[source]
    return [corpus.ids[i] for i in np.flatnonzero(partition.labels[source] == cluster)]


def largest(partition: Partition, candidate: str) -> int:
    """A cluster with texts of both sides."""
    return int(np.minimum(partition.counts(HUMAN), partition.counts(candidate)).argmax())


def mirror_of(app: AppTest) -> pd.DataFrame:
    """The table of the clusters."""
    return next(item.value for item in app.dataframe if "log2 p/q" in item.value.columns)


def said(app: AppTest) -> str:
    return "\n".join(item.value for item in [*app.markdown, *app.caption, *app.info])


def bodies(app: AppTest) -> list[str]:
    """HTML of every text that is shown whole."""
    return [body for element in app.get("html") if "pre-wrap" in (body := element.proto.body)]


def unmarked(body: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", body))


def test_pairs_share_a_prompt_and_say_where_the_other_text_is(open_page: OpenPage, stored_run: Run) -> None:
    part = stored_run.comparison.partition("pairwise", "shifted")
    cluster = int(part.counts(HUMAN).argmax())
    app = open_page(VIEW, candidate="shifted", cluster=str(cluster))
    app.toggle(key="url_paired").set_value(True).run()
    assert not app.exception
    assert url_of(app)["paired"] == "on"
    codes = shared_prompts({name: stored_run.corpora[name] for name in (HUMAN, "shifted")})
    assert codes is not None
    places = [{text: row for row, text in enumerate(stored_run.corpora[name].texts)} for name in (HUMAN, "shifted")]
    shown = [unmarked(body) for body in bodies(app)]
    assert len(shown) == 2 * MOST_TEXTS
    outside = 0
    for one, other in zip(shown[::2], shown[1::2], strict=True):
        human, model = places[0][one], places[1][other]
        assert codes.codes[HUMAN][human] == codes.codes["shifted"][model]
        outside += sum(int(part.labels[n][row]) != cluster for n, row in ((HUMAN, human), ("shifted", model)))
    assert sum("In another cluster" in item.value for item in app.caption) == outside


@pytest.mark.parametrize(("kind", "seed"), [("joint", 1), ("pairwise", 0)])
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
    partition = stored_run.comparison.partition("pairwise", "close")
    cluster = largest(partition, "close")
    app = open_page(VIEW, candidate="close", cluster=str(cluster))
    n = stored_run.comparison.human.n
    for title, source in (("Human", HUMAN), ("close", "close")):
        count = int(partition.counts(source)[cluster])
        low, high = map(float, wilson_interval(count, n))
        size = f"{title}: {count} of {n}, {as_percent(count / n, 1)} of its texts ({percent_interval(low, high, 1)})"
        assert size in said(app)


def test_the_cost_carries_its_interval_and_direction(open_page: OpenPage, stored_run: Run) -> None:
    direction = "adds"
    partition, found = stored_run.comparison.partition("pairwise", "shifted"), cost_intervals(*focus_of(stored_run))
    table = cluster_table(partition.counts(HUMAN), partition.counts("shifted"), 0.3)
    cluster = int(table["cost"].where(table["direction"] == direction, 0).idxmax())
    app = open_page(VIEW, candidate="shifted", cluster=str(cluster), weight="0.3")
    row = table.iloc[cluster]
    whole = percent_with_interval(row["cost_share"], found.low[cluster], found.high[cluster])
    words = {"adds": "The model adds: it has more of it.", "misses": "The model misses: it has less."}
    assert f"Cost: {whole} of the frontier integral. {words[direction]}" in said(app)
    terms = [
        f"**{written(row[name], 4)}** of {written(table[name].sum(), 4)} nats"
        for name in ("type_1_nats", "type_2_nats")
    ]
    (folded,) = [item.value for item in terms_of(app).markdown]
    assert "weight λ = 0.30" in folded
    assert all(term in folded for term in terms)


def terms_of(app: AppTest) -> Any:
    return next(item for item in app.expander if item.label == "At a mixture weight")


def focus_of(run: Run) -> tuple[Comparison, PartitionKind, str, int]:
    return run.comparison, "pairwise", "shifted", run.comparison.median_seed("shifted")


def test_without_a_gap_to_explain_only_sizes_are_shown(open_page: OpenPage, stored_run: Run) -> None:
    app = open_page(VIEW, candidate="close", cluster="1", form="table")
    assert not app.exception
    assert any("Nothing to explain" in info.value for info in app.info)
    assert "No cost is shown without a gap to explain." in said(app)
    assert "Cost:" not in said(app)
    mirror = mirror_of(app)
    assert list(mirror.columns) == ["name", "cluster", "human", "close", "p", "q", "p − q", "log2 p/q"]
    assert any("sorted by difference p − q." in caption.value for caption in app.caption)
    difference = ordered(
        cluster_table(*(stored_run.comparison.partition("pairwise", "close").counts(n) for n in (HUMAN, "close")), 0.5),
        "difference",
    )
    assert mirror["cluster"].tolist() == difference["cluster"].tolist()


@pytest.mark.parametrize("candidate", ["close", "collapsed"])
def test_clusters_that_lack_a_side_are_counted(open_page: OpenPage, stored_run: Run, candidate: str) -> None:
    part = stored_run.comparison.partition("pairwise", candidate)
    human, model = (set(range(part.k)) - set(part.labels[name].tolist()) for name in (HUMAN, candidate))
    caption = next(each.value for each in open_page(VIEW, candidate=candidate).caption if "sorted by" in each.value)
    said = f"partition ({len(human)} without human texts, {len(model)} without model texts), 60 human"
    assert (said if human or model else "partition, 60 human") in caption
    assert bool(human or model) == (candidate == "collapsed")


def test_metadata_values_are_counted_on_both_sides(open_page: OpenPage, stored_run: Run) -> None:
    partition = stored_run.comparison.partition("pairwise", "close")
    cluster = largest(partition, "close")
    app = open_page(VIEW, {"cluster_detail_tabs": "Metadata"}, candidate="close", cluster=str(cluster))
    table = tables(app, "topic", "human, here", "human, total", "model, here", "model, total")[0]
    topics = stored_run.corpora[HUMAN].metadata["topic"]
    inside = topics[partition.labels[HUMAN] == cluster].value_counts()
    for _, row in table.iterrows():
        assert row["human, here"] == inside.get(row["topic"], 0)
        assert row["human, total"] == (topics == row["topic"]).sum()


def test_only_the_form_and_the_tab_that_the_url_names_are_made(open_page: OpenPage) -> None:
    app = open_page(VIEW, candidate="close", cluster="1")
    assert not any("log2 p/q" in item.value.columns for item in app.dataframe)
    assert tables(app, "id", "text")
    app = open_page(VIEW, candidate="close", cluster="1", form="table", detail="metadata")
    assert any("log2 p/q" in item.value.columns for item in app.dataframe)
    assert not tables(app, "id", "text")
    assert tables(app, "topic", "human, here", "human, total", "model, here", "model, total")


@pytest.mark.parametrize("smoothing", ["krichevsky-trofimov"])
def test_the_smoothing_acts_on_the_costs_and_is_said(open_page: OpenPage, stored_run: Run, smoothing: str) -> None:
    partition = stored_run.comparison.partition("pairwise", "shifted")
    counts = partition.counts(HUMAN), partition.counts("shifted")
    app = open_page(VIEW, candidate="shifted", form="table")
    app.selectbox(key="url_smoothing").set_value(smoothing).run()
    assert not app.exception
    assert url_of(app).get("smoothing", "none") == smoothing
    mirror = mirror_of(app)
    expected = ordered(cluster_table(*counts, 0.5, smoothing), "cost")
    assert mirror["cluster"].tolist() == expected["cluster"].tolist()
    found = cost_intervals(*focus_of(stored_run), smoothing)  # type: ignore[arg-type]
    rows = expected["cluster"].to_numpy()
    shares = zip(expected["cost_share"], found.low[rows], found.high[rows], strict=True)
    assert mirror["cost"].tolist() == [percent_with_interval(*each).split(UNBROKEN)[0] for each in shares]
    title = SMOOTHING_TITLES[smoothing].lower() if smoothing != "none" else "no"  # type: ignore[index]
    assert any(f"frontier integral, {title} smoothing, with" in caption.value.lower() for caption in app.caption)


def test_an_unknown_cluster_is_named(open_page: OpenPage) -> None:
    app = open_page(VIEW, cluster="4321")
    assert not app.exception
    assert any("no cluster 4321" in info.value for info in app.info)


def sizes(app: AppTest) -> str:
    """The line with the cluster's sizes and cost."""
    return next(item.value for item in app.caption if "of its texts" in item.value)


def test_the_why_card_is_the_cores(open_page: OpenPage, stored_run: Run) -> None:
    partition = stored_run.comparison.partition("pairwise", "shifted")
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
