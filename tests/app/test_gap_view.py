"""The Gap page: a ledger that adds up, the what-if against the core's own, the greedy list, states that teach."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.views.gap import shown_parts, stability_basis, sum_in_words
from mauve_core.analyses.gap import TOGETHER, WhatIf, prepare, text_weights, what_if
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.formatting import interval, percent_interval, percent_with_interval, with_spread
from mauve_core.findings.clusters import (
    assess_stability,
    cluster_table,
    cost_intervals,
    gap_test,
    repartition,
    with_intervals,
)
from mauve_core.findings.precomputed import run_cluster_names
from mauve_core.jobs import queue
from mauve_core.runs import Run
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.stats.scores import SCORES
from mauve_core.stats.what_if import capped, dropped, greedy, matched
from tests.app.pages import url_of

OpenPage = Callable[..., AppTest]
VIEW = "views/gap.py"
MODEL = "shifted"

WHAT_IF = {"gap_tabs": "What would close the gap"}
GREEDY = {"gap_tabs": "The few clusters that make up most of it"}
LEDGER = ("cluster", "cost", "stability", "texts")


def number(label: str) -> int:
    """A cluster's number, which stands behind its name."""
    return int(label.rpartition(" · ")[2])


pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("run_home")]


def lists(app: AppTest, *columns: str) -> list[pd.DataFrame]:
    """The tables with just these columns."""
    return [item.value for item in app.dataframe if tuple(item.value.columns) == columns]


def show_tab(app: AppTest, tabs: dict[str, str]) -> None:
    """Open a tab, as a click on its title does."""
    for key, title in tabs.items():
        app.session_state[key] = title
    app.run()
    assert not app.exception


def says(app: AppTest, text: str) -> bool:
    """Whether it stands in a paragraph, caption or box."""
    return any(text in item.value for item in [*app.markdown, *app.caption, *app.info])


def part_of(run: Run, kind: PartitionKind = "pairwise", seed: int | None = None) -> Partition:
    return run.comparison.partition(kind, MODEL, seed)


def over_written(run: Run) -> int:
    """The costliest cluster of those that the model adds to."""
    part = part_of(run)
    table = cluster_table(part.counts(HUMAN), part.counts(MODEL), 0.5)
    return int(table["cost"].where(table["direction"] == "adds", 0).to_numpy().argmax())


def scores_shown(app: AppTest) -> pd.DataFrame:
    """The what-if's table."""
    return next(table.value for table in app.table if "Change" in table.value.columns)


def expect_scores(app: AppTest, found: WhatIf) -> None:
    shown = scores_shown(app)
    for row, score in zip(shown.itertuples(), SCORES, strict=True):
        for cell, estimate, sign in (
            (row[2], found.before[score], ""), (row[3], found.after[score], ""), (row[4], found.change[score], "+")
        ):  # fmt: skip
            signed = bool(sign)
            expected = with_spread(estimate.mean, estimate.sd, 3, signed=signed, value_in="**{}**")
            assert cell == f"{expected}  \n{interval(estimate.low, estimate.high, 3, signed=signed)}"


def test_the_ledger_is_the_partitions_own_and_adds_up(open_page: OpenPage, stored_run: Run) -> None:
    kind, seed = "joint", 1
    app = open_page(VIEW, candidate=MODEL, partition=kind, seed=str(seed))
    assert not app.exception
    comparison, part = stored_run.comparison, part_of(stored_run, kind, seed)
    counts = part.counts(HUMAN), part.counts(MODEL)
    found = cost_intervals(comparison, kind, MODEL, seed)
    table = with_intervals(cluster_table(*counts, 0.5), *found.of_clusters)
    said = []
    for shown, direction in zip(lists(app, *LEDGER), ("adds", "misses"), strict=True):
        own = table[table["direction"] == direction]
        first = own.sort_values("cost", ascending=False).iloc[0]
        names = run_cluster_names(stored_run, kind, MODEL, seed)
        assert shown["cluster"][0] == f"{names[int(first['cluster'])]} · {first['cluster']:.0f}"
        assert shown["cost"][0] == percent_with_interval(first["cost_share"], first["low"], first["high"])
        texts = np.array([label.split(" : ") for label in shown["texts"]], dtype=np.int64)
        assert texts[0].tolist() == [first["human"], first["model"]]
        assert texts.sum(axis=0).tolist() == [own["human"].sum(), own["model"].sum()]
        assert set(shown["stability"]) <= {"stable", "unsure", "noise", ""}
        said.append(own["cost_share"].sum())
    assert any("95% bootstrap intervals over prompts at this n and k" in caption.value for caption in app.caption)
    sums = [caption.value for caption in app.caption if "together" in caption.value]
    shares = [float(caption.split("together ")[1].rstrip("%.")) for caption in sums]
    assert shares == pytest.approx([100 * each for each in said], abs=0.1)
    assert sum(shares) == pytest.approx(100)
    score = comparison.candidate(MODEL).estimate("frontier_integral", kind)
    assert says(app, f"**Frontier integral {with_spread(score.mean, score.sd, 3)} over 2 seeds**")
    assert says(app, f"({interval(score.low, score.high, 3)}). With these clusters it is {table['cost'].sum():.3f}.")
    assert says(app, f"**{shares[0]:.1f}%** ({percent_interval(*found.adds)}) is what the model adds")
    assert says(app, "draws. Texts: human : model.")


def test_shown_parts_add_up_in_words() -> None:
    rows = pd.DataFrame({"cluster": [3, 1, TOGETHER], "clusters": [1, 1, 4], "share": [0.2004, 0.1004, 0.0334]})
    other = pd.DataFrame({"cluster": [0], "clusters": [1], "share": [0.6658]})
    parts = shown_parts({"adds": rows, "misses": other})
    assert parts == {"adds": pytest.approx([0.301, 0.033]), "misses": pytest.approx([0.666, 0])}
    assert sum_in_words(rows, parts["adds"]) == "2 clusters shown: 30.1%; 4 more: 3.3%; together 33.4%."
    assert sum_in_words(other, parts["misses"]) == "1 cluster shown: 66.6%; together 66.6%."


def test_a_gap_no_larger_than_chance_has_counts_alone(open_page: OpenPage, stored_run: Run) -> None:
    tested = gap_test(stored_run.comparison, "pairwise", "close")
    assert not tested.explains
    app = open_page(VIEW, candidate="close", cluster="1")
    assert not app.exception
    assert says(app, f"at least as large in {tested.reached} of {tested.draws} draws;")
    assert not lists(app, *LEDGER)
    (shown,) = lists(app, "cluster", "human", "model")
    part = stored_run.comparison.partition("pairwise", "close")
    assert dict(zip(map(number, shown["cluster"]), shown["human"], strict=True)) == dict(enumerate(part.counts(HUMAN)))
    assert dict(zip(map(number, shown["cluster"]), shown["model"], strict=True)) == dict(
        enumerate(part.counts("close"))
    )
    sizes = (shown["human"] + shown["model"]).tolist()
    assert sizes == sorted(sizes, reverse=True)
    assert says(app, "No cost is shown without a gap to explain.")
    assert not any("frontier integral" in item.value.lower() for item in [*app.markdown, *app.caption])
    show_tab(app, GREEDY)
    assert not any("over seeds" in item.value.columns for item in app.dataframe)
    assert sum("Nothing to explain" in info.value for info in app.info) == 2


def test_the_cluster_of_the_url_shows_its_texts_and_fills_the_what_if(open_page: OpenPage, stored_run: Run) -> None:
    cluster, part = over_written(stored_run), part_of(stored_run)
    app = open_page(VIEW, candidate=MODEL, cluster=str(cluster))
    assert not app.exception
    human, model = lists(app, "id", "text")
    for shown, source in ((human, HUMAN), (model, MODEL)):
        corpus = stored_run.corpora[source]
        assert shown["id"].tolist() == [corpus.ids[i] for i in np.flatnonzero(part.labels[source] == cluster)][:8]
    show_tab(app, WHAT_IF)
    assert app.multiselect(key="url_chosen").value == [cluster]
    weights = text_weights(part, MODEL, dropped(part.k, [cluster]))
    expect_scores(app, what_if(prepare(stored_run.comparison, MODEL), model=weights))
    chosen = int((part.labels[MODEL] == cluster).sum())
    assert says(app, f"Chosen: {chosen} of 60 texts of {MODEL}")


def test_choices_are_written_to_the_url_and_cleared(open_page: OpenPage, stored_run: Run) -> None:
    part = part_of(stored_run)
    app = open_page(VIEW, WHAT_IF, candidate=MODEL, cluster=str(over_written(stored_run)))
    app.multiselect(key="url_chosen").set_value([2, 1]).run()
    assert url_of(app)["chosen"] == "1,2"
    app.selectbox(key="url_action").set_value("weight").run()
    app.number_input(key="url_factor").set_value(0.3)
    app.segmented_control(key="url_side").set_value("both").run()
    assert {name: url_of(app)[name] for name in ("action", "factor", "side")} == {
        "action": "weight", "factor": "0.3", "side": "both",
    }  # fmt: skip
    by_cluster = np.where(np.isin(np.arange(part.k), [1, 2]), 0.3, 1.0)
    sides = {name: text_weights(part, name, by_cluster) for name in (HUMAN, MODEL)}
    expect_scores(app, what_if(prepare(stored_run.comparison, MODEL), human=sides[HUMAN], model=sides[MODEL]))
    app.button(key="what_if_clear").click().run()
    assert url_of(app)["chosen"] == "none"
    assert app.multiselect(key="url_chosen").value == []
    assert not any("Change" in table.value.columns for table in app.table)


def test_a_cap_and_other_settings(open_page: OpenPage, stored_run: Run) -> None:
    part = part_of(stored_run, "pairwise", 1)
    settings = {"partition": "pairwise", "seed": "1", "scale": "2", "smoothing": "laplace", "side": "human"}
    app = open_page(VIEW, WHAT_IF, candidate=MODEL, chosen="0,1,2", action="cap", **settings)
    assert not app.exception
    weights = np.where(np.arange(part.k) < 3, capped(part.counts(HUMAN), part.counts(MODEL)), 1.0)
    prepared = prepare(scaled(stored_run.comparison, 2.0), MODEL, "pairwise", "laplace")
    expect_scores(app, what_if(prepared, model=text_weights(part, MODEL, weights)))
    assert app.segmented_control(key="url_side").value == "model", "a cap is of the model's texts, whatever the URL"
    assert app.segmented_control(key="url_side").disabled


def scaled(comparison: Comparison, scale: float) -> Comparison:
    score = dataclasses.replace(comparison.config.score, scale=scale)
    return dataclasses.replace(comparison, config=dataclasses.replace(comparison.config, score=score))


def test_a_slice_of_the_metadata(open_page: OpenPage, stored_run: Run) -> None:
    app = open_page(VIEW, WHAT_IF, candidate=MODEL, pick="slice")
    app.selectbox(key="url_field").set_value("topic").run()
    app.selectbox(key="url_value").set_value("engine").run()
    assert {name: url_of(app)[name] for name in ("field", "value")} == {"field": "topic", "value": "engine"}
    kept = (stored_run.corpora[MODEL].metadata["topic"] != "engine").to_numpy(dtype=np.float64)
    expect_scores(app, what_if(prepare(stored_run.comparison, MODEL), model=kept))
    app.selectbox(key="url_field").set_value("words").run()
    assert "value" not in url_of(app)
    assert not any("Change" in table.value.columns for table in app.table)


def test_an_area_of_the_map(open_page: OpenPage, stored_run: Run) -> None:
    comparison, places = stored_run.comparison, stored_run.comparison.projection
    assert places is not None
    app = open_page(VIEW, WHAT_IF, candidate=MODEL, pick="lasso", lasso="0,0;1,0;1,1;0,1", side="both")
    kept = {
        source: ~(places[60 * place : 60 * place + 60] > 0).all(axis=1) for source, place in ((HUMAN, 0), (MODEL, 2))
    }
    found = what_if(prepare(comparison, MODEL), human=kept[HUMAN], model=kept[MODEL])
    expect_scores(app, found)
    gone = {source: int((~each).sum()) for source, each in kept.items()}
    assert says(app, f"Chosen: {gone[HUMAN]} of 60 texts of {HUMAN} and {gone[MODEL]} of 60 texts of {MODEL}")


def test_the_greedy_list_and_its_way_into_the_what_if(open_page: OpenPage, stored_run: Run) -> None:
    part = part_of(stored_run)
    app = open_page(VIEW, GREEDY, candidate=MODEL)
    app.segmented_control(key="url_score").set_value("frontier_integral").run()
    assert url_of(app)["score"] == "frontier_integral"
    steps = greedy(part.counts(HUMAN), part.counts(MODEL), score="frontier_integral")
    columns = ("cluster", "Frontier integral", "over seeds", "closed", "texts")
    (shown,) = lists(app, *columns)
    assert list(map(number, shown["cluster"])) == [step.cluster for step in steps]
    np.testing.assert_allclose(shown["Frontier integral"], [step.scores["frontier_integral"] for step in steps])
    np.testing.assert_allclose(shown["closed"], [100 * step.closed for step in steps])
    assert says(app, f"{len(steps)} of {part.k} clusters close {steps[-1].closed:.0%} of the gap")
    app.button(key="greedy_try").click().run()
    clusters = sorted(step.cluster for step in steps)
    assert url_of(app)["chosen"] == ",".join(map(str, clusters))
    assert url_of(app)["action"] == "match"
    show_tab(app, WHAT_IF)
    weights = text_weights(part, MODEL, matched(part.counts(HUMAN), part.counts(MODEL), clusters))
    expect_scores(app, what_if(prepare(stored_run.comparison, MODEL), model=weights))


def test_computing_in_full_starts_a_job_without_the_texts(
    open_page: OpenPage, stored_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, dict[str, object]]] = []
    monkeypatch.setattr(queue, "start", lambda task, *_: started.append((task.kind, task.to_json())))
    cluster, part = over_written(stored_run), part_of(stored_run)
    app = open_page(VIEW, WHAT_IF, candidate=MODEL, chosen=str(cluster), side="both")
    app.button(key="what_if_start").click().run()
    assert not app.exception
    ((kind, spec),) = started
    assert (kind, spec["run"], spec["candidate"]) == ("without", stored_run.id, MODEL)
    expected = {
        source: [stored_run.corpora[source].ids[i] for i in np.flatnonzero(part.labels[source] == cluster)]
        for source in (HUMAN, MODEL)
    }
    assert spec["dropped"] == {source: ids for source, ids in expected.items() if ids}
    app.selectbox(key="url_action").set_value("weight").run()
    assert app.button(key="what_if_start").disabled


def test_too_few_texts_cannot_be_compared_in_full(open_page: OpenPage, stored_run: Run) -> None:
    counts = part_of(stored_run).counts(MODEL)
    kept = int(np.where(counts < 20, counts, 0).argmax())
    assert counts[kept] >= 10, "so many that no resample misses them all"
    app = open_page(VIEW, WHAT_IF, candidate=MODEL, chosen=",".join(str(j) for j in range(counts.size) if j != kept))
    assert app.button(key="what_if_start").disabled
    assert "Fewer than 20 texts" in app.button(key="what_if_start").help


def test_one_seed_has_no_other_seeds_to_compare_with() -> None:
    assert stability_basis(3, [5, 20], "") == "Stability: compared with 2 other seeds and k = 5 and k = 20."
    assert stability_basis(1, [], "No features") == "Stability: one seed and no other k. No features."
    assert stability_basis(1, [5], "") == "Stability: compared with k = 5 and no other seed."


def test_trust_rests_on_other_seeds_and_other_k(open_page: OpenPage, stored_run: Run) -> None:
    app = open_page(VIEW, candidate="shifted")
    comparison = stored_run.comparison
    own = comparison.partition("pairwise", "shifted")
    others = repartition(stored_run, "shifted", "pairwise")
    judged = assess_stability(comparison, "shifted", "pairwise", own.seed, others=others)
    assert judged.elsewhere.shape == (comparison.config.score.seeds - 1 + len(others), own.k)
    told = f"compared with {comparison.config.score.seeds - 1} other seeds and k = {others[0].k} and k = {others[1].k}"
    assert any(told in caption.value for caption in app.caption)
    shown = [row for found in lists(app, *LEDGER) for row in found.itertuples() if row.stability]
    table = cluster_table(own.counts(HUMAN), own.counts("shifted"), 0.5)
    assert len(shown) == (table["direction"] != "").sum() < own.k
    assert says(app, f"{own.k} clusters (1 of them cost nothing")
    assert [row.stability for row in shown] == [judged.label[number(row.cluster)] for row in shown]
