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
from mauve_app.components.markup import escaped
from mauve_app.components.score_controls import SMOOTHING_TITLES
from mauve_app.components.texts import PAGE_SIZE
from mauve_core.analysis.central_texts import central_texts
from mauve_core.analysis.cluster_table import cluster_table, ordered, wilson_interval
from mauve_core.analysis.cost_intervals import cost_intervals, costed_table
from mauve_core.analysis.precomputed import run_cluster_names
from mauve_core.analysis.why import why_card, why_source
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.formatting import UNBROKEN, as_percent, percent_interval, percent_with_interval, written
from mauve_core.corpus.pairing import shared_prompts
from mauve_core.corpus.text_properties import PROPERTIES
from mauve_core.numerics.divergences.smoothing import SMOOTHINGS
from mauve_core.scoring.result import Comparison, Partition
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


def mirror_of(app: AppTest) -> pd.DataFrame:
    """The table of the clusters."""
    return next(item.value for item in app.dataframe if "log2 p/q" in item.value.columns)


def said(app: AppTest) -> str:
    return "\n".join(item.value for item in [*app.markdown, *app.caption, *app.info])


def bodies(app: AppTest) -> list[str]:
    """HTML of every text that is shown whole."""
    return [body for element in app.get("html") if "pre-wrap" in (body := element.proto.body)]


def central_of(run: Run, candidate: str, cluster: int) -> tuple[list[int], list[int]]:
    partition = run.comparison.partition("pairwise", candidate)
    stored = [run.features(name) for name in (HUMAN, candidate)]
    assert stored[0] is not None
    assert stored[1] is not None
    source = why_source(partition, run.corpora[HUMAN], run.corpora[candidate], candidate, (stored[0], stored[1]))
    human, model = central_texts(source, cluster)
    return human.tolist(), model.tolist()


@pytest.mark.parametrize("candidate", ["shifted", "close"])
def test_without_a_cluster_the_first_of_the_list_is_read(open_page: OpenPage, stored_run: Run, candidate: str) -> None:
    app = open_page(VIEW, candidate=candidate)
    assert not app.exception
    comparison = stored_run.comparison
    part = comparison.partition("pairwise", candidate)
    table = cluster_table(part.counts(HUMAN), part.counts(candidate), 0.5)
    first = int(ordered(table, "cost" if candidate == "shifted" else "difference")["cluster"][0])
    assert "cluster" not in url_of(app)
    assert app.selectbox(key="url_cluster").value == first
    assert f"Cluster {first}" in said(app)
    names = run_cluster_names(stored_run, "pairwise", candidate, part.seed)
    assert app.header[0].value == escaped(names[first])
    corpora = stored_run.corpora
    shown = "".join(bodies(app))
    for source, rows in zip((HUMAN, candidate), central_of(stored_run, candidate, first), strict=True):
        assert all(corpora[source].texts[row] in unmarked(shown) for row in rows[:MOST_TEXTS])


def unmarked(body: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", body))


def test_whole_texts_are_the_nearest_to_the_centre_first(open_page: OpenPage, stored_run: Run) -> None:
    cluster = largest(stored_run.comparison.partition("pairwise", "close"), "close")
    app = open_page(VIEW, candidate="close", cluster=str(cluster))
    human, model = central_of(stored_run, "close", cluster)
    texts = [stored_run.corpora[HUMAN].texts[row] for row in human[:MOST_TEXTS]]
    texts += [stored_run.corpora["close"].texts[row] for row in model[:MOST_TEXTS]]
    assert [unmarked(body) for body in bodies(app)] == texts
    assert "Nearest to the cluster's center first." in said(app)


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
    partition = stored_run.comparison.partition("pairwise", "close")
    cluster = largest(partition, "close")
    app = open_page(VIEW, candidate="close", cluster=str(cluster))
    n = stored_run.comparison.human.n
    for title, source in (("Human", HUMAN), ("close", "close")):
        count = int(partition.counts(source)[cluster])
        low, high = map(float, wilson_interval(count, n))
        size = f"{title}: {count} of {n}, {as_percent(count / n, 1)} of its texts ({percent_interval(low, high, 1)})"
        assert size in said(app)


@pytest.mark.parametrize("direction", ["adds", "misses"])
def test_the_cost_carries_its_interval_and_direction(open_page: OpenPage, stored_run: Run, direction: str) -> None:
    partition, found = stored_run.comparison.partition("pairwise", "shifted"), cost_intervals(*focus_of(stored_run))
    table = cluster_table(partition.counts(HUMAN), partition.counts("shifted"), 0.3)
    cluster = int(table["cost"].where(table["direction"] == direction, 0).idxmax())
    app = open_page(VIEW, candidate="shifted", cluster=str(cluster), weight="0.3")
    row = table.iloc[cluster]
    whole = percent_with_interval(row["cost_share"], found.low[cluster], found.high[cluster])
    words = {"adds": "The model adds: it writes more of it.", "misses": "The model misses: it writes less."}
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
    said = f"partition ({len(human)} without a human text, {len(model)} without a model text), 60 human"
    assert (said if human or model else "partition, 60 human") in caption
    assert bool(human or model) == (candidate == "collapsed")


def test_the_table_starts_with_the_costliest_and_tells_intervals(open_page: OpenPage, stored_run: Run) -> None:
    app = open_page(VIEW, candidate="shifted", form="table")
    found = costed_table(*focus_of(stored_run), 0.5)
    rows = ordered(found, "cost")
    mirror = mirror_of(app)
    assert mirror["cluster"].tolist() == rows["cluster"].tolist()
    shares = [percent_with_interval(*each) for each in zip(rows["cost_share"], rows["low"], rows["high"], strict=True)]
    assert mirror["cost"].tolist() == [each.split(UNBROKEN)[0] for each in shares]
    assert mirror["interval"].tolist() == [each.split("(")[1].rstrip(")") for each in shares]
    assert mirror["direction"].tolist() == rows["direction"].tolist()
    names = run_cluster_names(stored_run, "pairwise", "shifted", focus_of(stored_run)[3])
    assert mirror["name"].tolist() == [names[cluster] for cluster in rows["cluster"]]


def test_the_table_has_minus_signs_and_even_decimals(open_page: OpenPage) -> None:
    mirror = mirror_of(open_page(VIEW, candidate="shifted", form="table"))
    assert mirror["p − q"].str.fullmatch(r"−?\d+\.\d%").all()
    assert mirror["log2 p/q"].str.fullmatch(r"−?\d+\.\d\d").all()
    assert mirror["p − q"].str.startswith("−").any()


def test_words_are_the_topic_of_the_cluster(open_page: OpenPage, stored_run: Run) -> None:
    partition = stored_run.comparison.partition("pairwise", "close")
    cluster = largest(partition, "close")
    topics = stored_run.corpora[HUMAN].metadata["topic"][partition.labels[HUMAN] == cluster].unique()
    app = open_page(VIEW, {"cluster_detail_tabs": "Words"}, candidate="close", cluster=str(cluster))
    words = tables(app, "word", "times", "texts")[0]["word"].tolist()
    others = set(TOPICS) - set(topics)
    assert all(any(word.startswith(topic) for topic in topics) for word in words[:3])
    assert not any(word.startswith(tuple(others)) for word in words[:3])


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


def test_the_table_mirrors_the_chart_in_its_order(open_page: OpenPage, stored_run: Run) -> None:
    partition = stored_run.comparison.partition("pairwise", "close")
    app = open_page(VIEW, candidate="close", form="table")
    app.selectbox(key="url_order").select("q").run()
    table = cluster_table(partition.counts(HUMAN), partition.counts("close"), 0.5)
    mirror = mirror_of(app)
    assert mirror["cluster"].tolist() == ordered(table, "q")["cluster"].tolist()
    assert mirror["q"].tolist() == [as_percent(share, 1) for share in ordered(table, "q")["q"]]


def test_only_the_form_and_the_tab_that_the_url_names_are_made(open_page: OpenPage) -> None:
    app = open_page(VIEW, candidate="close", cluster="1")
    assert not any("log2 p/q" in item.value.columns for item in app.dataframe)
    assert tables(app, "id", "text")
    app = open_page(VIEW, candidate="close", cluster="1", form="table", detail="metadata")
    assert any("log2 p/q" in item.value.columns for item in app.dataframe)
    assert not tables(app, "id", "text")
    assert tables(app, "topic", "human, here", "human, total", "model, here", "model, total")


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
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


def test_the_weight_moves_the_folded_terms_alone(open_page: OpenPage, stored_run: Run) -> None:
    partition = stored_run.comparison.partition("pairwise", "shifted")
    table = cluster_table(partition.counts(HUMAN), partition.counts("shifted"), 0.5)
    app = open_page(VIEW, candidate="shifted", cluster=str(table["type_1_nats"].idxmax()))
    before, terms = sizes(app), terms_of(app).markdown[0].value
    app.slider(key="url_weight").set_value(0.95).run()
    assert sizes(app) == before
    assert terms_of(app).markdown[0].value != terms
    assert url_of(app)["weight"] == "0.95"


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


@pytest.mark.parametrize("candidate", ["shifted", "collapsed"])
def test_the_headline_is_what_the_card_found(open_page: OpenPage, stored_run: Run, candidate: str) -> None:
    partition = stored_run.comparison.partition("pairwise", candidate)
    corpora = stored_run.corpora
    source = why_source(partition, corpora[HUMAN], corpora[candidate], candidate)
    kinds = set()
    for cluster in range(partition.k):
        card = why_card(source, cluster)
        shown = said(open_page(VIEW, candidate=candidate, cluster=str(cluster)))
        separating = [each for each in card.sides if each.separates]
        phrases = [*card.model_phrases[:1], *card.human_phrases[:1]]
        if not card.human or not card.model:
            kinds.add("alone")
            assert " alone:**" in shown or "No text is in this cluster" in shown
        elif separating:
            kinds.add("property")
            assert any(f"{PROPERTIES[each.name].means(each.effect.second, each.effect.first)} (AUC" in shown
                       for each in separating if each.effect is not None)  # fmt: skip
        elif phrases:
            kinds.add("phrase")
            best = max(phrases, key=lambda phrase: phrase.z)
            assert f"“{escaped(best.text)}” more often here:** {best.texts} of" in shown
    assert kinds


def test_the_texts_that_a_link_names_are_open(open_page: OpenPage, stored_run: Run) -> None:
    candidate = stored_run.comparison.candidates[0].name
    labels = stored_run.comparison.partition("pairwise", candidate).labels
    cluster = int(np.bincount(labels[HUMAN]).argmax())
    places = {name: np.flatnonzero(labels[name] == cluster) for name in (HUMAN, candidate)}
    wanted = int(places[HUMAN][-1])
    here = {"cluster": str(cluster), "candidate": candidate}
    ids = stored_run.corpora[HUMAN].ids
    app = open_page(VIEW, **here, human_text=str(wanted))
    assert stored_run.corpora[HUMAN].texts[wanted] in [text.value for text in app.text]
    assert next(item for item in app.expander if item.label.startswith("All ")).proto.expanded
    listing = next(item.value for item in app.dataframe if tuple(item.value.columns) == ("id", "text"))
    last_page = (places[HUMAN].size - 1) // PAGE_SIZE * PAGE_SIZE
    assert listing["id"].tolist() == [ids[place] for place in places[HUMAN][last_page:]]
    elsewhere = int(np.flatnonzero(labels[HUMAN] != cluster)[0])
    for absent in (elsewhere, 10_000_000):  # of another cluster, and none at all
        app = open_page(VIEW, **here, human_text=str(absent), model_text=str(absent))
        assert not app.exception
        assert stored_run.corpora[HUMAN].texts[places[HUMAN][0]] in [text.value for text in app.text]


@pytest.mark.usefixtures("run_home")
@pytest.mark.parametrize(("query", "is_open"), [({}, False), ({"captured": "table"}, True), ({"whose": "human"}, True)])
def test_what_clusters_capture_is_folded_unless_asked_for(
    open_page: OpenPage, query: dict[str, str], is_open: bool
) -> None:
    app = open_page("views/clusters/clusters.py", {"clusters_capture": is_open}, **query)
    assert not app.exception
    (part,) = [each for each in app.expander if each.label == "What clusters capture"]
    assert bool(part.proto.expanded) == is_open
    assert any("Each cluster is labeled" in each.value for each in app.caption) == is_open
