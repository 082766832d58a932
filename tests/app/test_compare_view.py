"""The Compare page: stored numbers shown as they are, controls that act at once, states that teach."""

from __future__ import annotations

import dataclasses
import json
import urllib.parse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.components.markup import escaped
from mauve_app.components.scores import in_markdown
from mauve_app.views import compare
from mauve_core.analyses.attached_results import verdict
from mauve_core.analyses.comparison_task import RecompareTask
from mauve_core.analyses.encoders import ATTACHMENT as ENCODERS
from mauve_core.analyses.encoders import EncoderTable
from mauve_core.analyses.over_shards import ATTACHMENT as OVER_SHARDS
from mauve_core.analyses.over_shards import closest_over_all
from mauve_core.analyses.tasks import Task
from mauve_core.base.config import HUMAN, EncoderConfig, PartitionKind
from mauve_core.base.formatting import UNBROKEN
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.base.words import TEXTS
from mauve_core.figures.theme import as_label
from mauve_core.findings.precomputed import run_main_reason
from mauve_core.findings.sentences import Sentence
from mauve_core.jobs import queue
from mauve_core.jobs.state import JobState
from mauve_core.runs import Run, RunStore
from mauve_core.scoring import tables
from mauve_core.scoring.estimates import basis_of, estimates_of
from mauve_core.scoring.result import Comparison, Estimate
from mauve_core.scoring.sides import minor_advice
from mauve_core.scoring.tables import interval_of, mean_and_spread, rank_label, standings
from mauve_core.stats.divergences import error_shares, probabilities
from mauve_core.stats.scores import SCORES
from tests.app.pages import url_of
from tests.encoder_tables import result_of
from tests.mutations import over_shards_example
from tests.planted_copies import make_copier_run
from tests.planted_formats import make_planted_run
from tests.resampled import sample_counts
from tests.synthetic import make_run

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
ROOT = Path(__file__).resolve().parents[2]

COLUMNS = dict(zip(SCORES, ("MAUVE ↑", "MAUVE* ↑", "Frontier integral ↓", "Mid-point ↓"), strict=True))


def shown(estimate: Estimate) -> str:
    spread = "" if estimate.sd is None else f" ± {estimate.sd:.3f}"
    return f"**{estimate.mean:.3f}**{spread}  \n{estimate.low:.3f} to {estimate.high:.3f}"


def expect_spread(cell: str, values: Sequence[float]) -> None:
    """Mean and sd, rounded to as many decimals as the cell has."""
    mean, _, sd = cell.split(UNBROKEN)
    decimals = len(mean.partition(".")[2])
    assert decimals >= 2
    assert (mean, sd) == (f"{np.mean(values):.{decimals}f}", f"{np.std(values, ddof=1):.{decimals}f}")


def leaderboard(app: AppTest) -> dict[str, dict[str, str]]:
    """Cells of the leaderboard by candidate, with plain spaces."""
    table = next(each.value for each in app.table if "Encoder" in each.value)
    cells = table.map(lambda cell: str(cell).replace(UNBROKEN, " "))
    return {row["Candidate"].strip("*"): dict(row) for _, row in cells.iterrows()}


def errors_table(app: AppTest) -> pd.DataFrame:
    """Both errors at the weight."""
    return next(each.value for each in app.table if "Adds (type I)" in each.value)


@pytest.fixture
def open_page(open_page: OpenPage) -> OpenPage:
    """The page with all that is drawn when it is opened."""
    folded = (compare.ALL_SCORES, compare.DIFFERENCES, "like_for_like", "settings")
    return partial(open_page, tabs=dict.fromkeys(folded, True))


@pytest.mark.usefixtures("run_home")
def test_the_stored_scores_are_shown_with_spread_and_rank(open_page: OpenPage, stored_run: Run) -> None:
    app = open_page()
    assert not app.exception
    rows = leaderboard(app)
    for candidate in stored_run.comparison.candidates:
        for score in SCORES:
            assert rows[candidate.name][COLUMNS[score]] == shown(candidate.scores[score])
        assert rows[candidate.name]["n"] == str(candidate.source.n)
        assert rows[candidate.name]["k"] == str(candidate.partitions[0].k)
        assert rows[candidate.name]["Encoder"] == "features given"
    for standing in standings(stored_run.comparison):
        assert rows[standing.candidate.name]["Rank"].rstrip("=") == str(standing.rank)
        assert rows[standing.candidate.name]["Letters"] == standing.letters
    assert list(rows) == [
        *(item.candidate.name for item in standings(stored_run.comparison)),
        escaped(TEXTS.halves),
    ]
    halves = stored_run.comparison.halves
    assert halves is not None
    assert {name: rows[escaped(TEXTS.halves)][COLUMNS[name]] for name in SCORES} == {
        name: shown(halves.scores[name]) for name in SCORES
    }
    assert rows[escaped(TEXTS.halves)]["Rank"] == "–"
    assert any(f"{halves.source.n:,} texts per side" in caption.value for caption in app.caption)
    assert escaped(TEXTS.halves) not in leaderboard(open_page(partition="joint"))


@pytest.mark.usefixtures("run_home")
def test_every_candidate_is_shown_like_for_like_under_the_leaderboard(open_page: OpenPage, stored_run: Run) -> None:
    app = open_page()
    assert "Like for like with human vs. human" in expanders(app)
    comparison = stored_run.comparison
    assert comparison.halves is not None
    column = f"MAUVE at n = {comparison.halves.source.n}"
    table = next(each.value for each in app.table if column in each.value)
    cells = {row["Candidate"].strip("*"): row[column].replace(UNBROKEN, " ") for _, row in table.iterrows()}
    halves = {escaped(TEXTS.halves): comparison.halves.scores["mauve"]}
    alike = {each.candidate: each.scores["mauve"] for each in comparison.like_for_like}
    assert cells == {name: shown(found).replace("**", "") for name, found in (alike | halves).items()}
    assert len(cells) == 1 + len(comparison.candidates)


def figure_of(app: AppTest, key: str) -> dict[str, Any] | None:
    """A chart as it is sent; None if the page has none of that key."""
    found = [chart.proto for chart in app.get("plotly_chart") if chart.proto.id.endswith(f"-{key}")]
    return json.loads(found[0].spec) if found else None


def expanders(app: AppTest) -> list[str]:
    return [part.label for part in app.expander]


def saved_as(run: Run, comparison: Comparison) -> Run:
    """The same texts with another comparison, as the run ``changed`` of this test's home."""
    return RunStore().save("changed", comparison, run.corpora)


@pytest.mark.usefixtures("run_home")
def test_the_differences_are_the_stored_tests_in_the_order_of_rank(open_page: OpenPage, stored_run: Run) -> None:
    app = open_page()
    comparison = stored_run.comparison
    found = [each for each in comparison.differences if each.score == "mauve"]
    apart = [each for each in found if each.told_apart]
    assert len(apart) > 0
    assert f"Differences: {len(apart)} of {len(found)} pairs told apart" in expanders(app)
    figure = figure_of(app, "differences_chart")
    assert figure is not None
    names = figure["layout"]["yaxis"]["ticktext"]
    assert names == [standing.candidate.name for standing in standings(comparison)]
    numbers = figure["data"][1]
    assert len(numbers["text"]) == len(names) * (len(names) - 1)
    for x, y, text in zip(numbers["x"], numbers["y"], numbers["text"], strict=True):
        test = next(each for each in found if {each.first, each.second} == {names[x], names[y]})
        value = test.seen_from(names[y]).difference
        expected = f"{value:+.3f}".replace("-", "−")
        assert text == (f"<b>{expected}</b>" if test.told_apart else expected)
    assert len(figure["data"][2]["x"]) == 2 * len(apart)  # a dot each, seen from either side
    captions = " ".join(caption.value for caption in app.caption)
    assert tables.tests_sentence(found, TEXTS) in captions
    assert "not tested" not in captions


@pytest.mark.usefixtures("run_home")
def test_ranks_under_other_settings_are_said_to_be_tested_under_the_runs_own(open_page: OpenPage) -> None:
    said = "tied, not told apart at the run's own c = 5, without smoothing."
    captions = [caption.value for caption in open_page(scale="2").caption]
    assert sum(said in caption for caption in captions) == 1
    assert not any(said in caption.value for caption in open_page(scale="5").caption)


def test_one_candidate_has_no_differences(open_page: OpenPage, own_home: Path) -> None:
    make_run(own_home, n=40, seeds=2, projection=False, names=["close"])
    app = open_page()
    assert not app.exception
    assert "close" in leaderboard(app)
    assert not any("Differences" in label for label in expanders(app))
    assert figure_of(app, "differences_chart") is None
    captions = " ".join(caption.value for caption in app.caption)
    assert "Differences" not in captions
    assert "tied" not in captions


@pytest.mark.usefixtures("run_home")
def test_scale_smoothing_and_partition_act_at_once(open_page: OpenPage, stored_run: Run) -> None:
    kind = "joint"
    app = open_page()
    app.segmented_control(key="url_partition").set_value(kind)
    app.selectbox(key="url_smoothing").set_value("krichevsky-trofimov")
    app.select_slider(key="url_scale").set_value(2.0).run()
    assert not app.exception
    changed = {"run": stored_run.id, "scale": "2", "smoothing": "krichevsky-trofimov"}
    assert url_of(app) == (changed if kind == "pairwise" else {**changed, "partition": "joint"})
    rows = leaderboard(app)
    for name, counts in sample_counts(stored_run.comparison, kind).items():
        afresh = estimates_of(basis_of(counts, "krichevsky-trofimov"), 2.0, 0.95)
        for score in SCORES:
            assert rows[name][COLUMNS[score]] == shown(afresh[score])
    captions = [element.value for element in app.caption]
    described = f"{kind.capitalize()} partition, c = 2, Krichevsky–Trofimov smoothing"
    assert sum(described in caption for caption in captions) == 1


@pytest.mark.usefixtures("run_home")
def test_smoothing_alone_is_not_mistaken_for_the_stored_scores(open_page: OpenPage, stored_run: Run) -> None:
    rows = leaderboard(open_page(smoothing="krichevsky-trofimov"))
    for candidate in stored_run.comparison.candidates:
        row = rows[candidate.name]
        assert row[COLUMNS["mauve"]] == row[COLUMNS["mauve_star"]] == shown(candidate.scores["mauve_star"])
        assert row[COLUMNS["mid"]] != shown(candidate.scores["mid"])


def errors_at(run: Run, name: str, weight: float) -> tuple[list[float], list[float]]:
    """Both errors of a candidate under each seed, from the bins' shares."""
    ones, twos = [], []
    for partition in run.comparison.candidate(name).partitions:
        p, q = (probabilities(partition.counts(side)) for side in (HUMAN, name))
        one, two = error_shares(p, q, weight)
        ones.append(float(one.sum()))
        twos.append(float(two.sum()))
    return ones, twos


@pytest.mark.usefixtures("run_home")
def test_the_weight_moves_both_errors_in_words(open_page: OpenPage, stored_run: Run) -> None:
    app = open_page()
    app.slider(key="url_weight").set_value(0.2).run()
    assert url_of(app)["weight"] == "0.2"
    words = " ".join(element.value for element in app.markdown)
    assert "the model has what the human texts lack" in words
    assert "the human texts have what the model lacks" in words
    rows = errors_table(app)
    placed = [f"**{standing.candidate.name}**" for standing in standings(stored_run.comparison)]
    assert rows["Candidate"].tolist() == placed  # as in the leaderboard
    for _, row in rows.iterrows():
        ones, twos = errors_at(stored_run, row["Candidate"].strip("*"), 0.2)
        for cell, values in ((row["Adds (type I)"], ones), (row["Misses (type II)"], twos)):
            expect_spread(cell, values)


@pytest.mark.usefixtures("run_home")
@pytest.mark.parametrize("run_id", ["../../etc", "<b>x</b>", "a\x00b"])
def test_a_run_that_is_not_there_is_said_and_the_others_are_offered(
    open_page: OpenPage, stored_run: Run, run_id: str
) -> None:
    app = open_page(run=run_id)
    assert not app.exception
    assert len(app.error) == 1
    assert "<b>" not in app.error[0].value.replace("\\<b\\>", "")
    picker = app.selectbox(key="url_run")
    assert picker.value is None
    picker.set_value(stored_run.id).run()
    assert url_of(app)["run"] == stored_run.id
    assert len(app.table) == 3


def test_a_difference_of_format_is_shown_above_the_leaderboard(open_page: OpenPage, own_home: Path) -> None:
    name = "typ*ical*<b>"
    run = make_planted_run(own_home, model=name)
    app = open_page(run=run.id)
    assert not app.exception
    (shown,) = (each for each in app.expander if "of format" in each.label)
    assert shown.label.startswith("Differences of format: leading white space (AUC 0.7")
    answer = next(each.value for each in app.markdown if "in format" in each.value)
    assert f"**{escaped(name)}** differs from the human texts in format" in answer, "the verdict says so itself"
    assert answer.index("MAUVE") < answer.index("in format")
    (cells,) = app.table[0].value.to_dict("records")
    assert cells["Format"] == "Leading white space: texts that begin with white space"
    assert cells["Candidate"] == f"**{escaped(name)}**"
    assert cells["Human"].replace(UNBROKEN, " ") == "0 of 100 (0%)"
    assert cells["What to do"].startswith("Strip")


def test_a_copier_is_named_in_the_answer_and_the_others_are_ranked(open_page: OpenPage, own_home: Path) -> None:
    run = make_copier_run(own_home)
    app = open_page(run=run.id)
    assert not app.exception
    (answer,) = (plain(each.value) for each in app.markdown if "human file" in each.value)
    assert answer.startswith("copier copies 40 of 120 texts from the human file; without them its MAUVE is ")
    assert "Among the others, under the features given, near is closer to the human texts than far" in answer
    assert any(each.label.startswith("Copied texts") for each in app.expander)
    (cells,) = app.table[0].value.to_dict("records")
    assert cells["Candidate's"].replace(UNBROKEN, " ") == "40 of 120 (33%)"
    assert not [each for each in app.button if each.key == f"normalize_{run.id}_start"], "that takes no copy away"


def test_a_run_can_be_normalized_as_a_new_one(
    open_page: OpenPage, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = make_planted_run(own_home)
    config = dataclasses.replace(planted.comparison.config, encoder=EncoderConfig("minilm"))
    run = saved_as(planted, dataclasses.replace(planted.comparison, config=config))
    tasks: list[Task] = []

    def start(task: Task, *_: object) -> JobState:
        tasks.append(task)
        return JobState("20260101-000000000000-abcd", "x", "queued")

    monkeypatch.setattr(queue, "start", start)
    app = open_page(run=run.id)
    assert app.pills(key=f"normalize_{run.id}").value == ["whitespace"], "what the flagged kind needs"
    assert tasks == []
    app.pills(key=f"normalize_{run.id}").set_value(["whitespace", "quotes"]).run()
    app.button(key=f"normalize_{run.id}_start").click().run()
    assert not app.exception
    (task,) = tasks
    assert task == RecompareTask(
        "changed, normalized quotes whitespace", run.id, config, normalize=("quotes", "whitespace")
    )
    app.pills(key=f"normalize_{run.id}").set_value([]).run()
    assert app.button(key=f"normalize_{run.id}_start").disabled


def test_the_answer_is_the_verdict_of_the_run(open_page: OpenPage, own_home: Path) -> None:
    run = make_run(own_home, n=100, seeds=2, projection=False)
    found = verdict(run)
    assert found.reason is not None
    app = open_page()
    (answer,) = [each.value for each in app.markdown if each.value.startswith(opening(found.closest))]
    own = "At the run's own settings: "
    leads = f"**{found.leaders[0]}** has the highest MAUVE at the run's own settings. "
    (rest,) = [each.value.removeprefix(leads) for each in app.caption if each.value.startswith(leads)]
    first = plain(answer).removesuffix(f" {found.reason}")
    assert f"{first} {plain(rest)}" == str(found.closest)
    assert first.count(". ") == 0
    assert f"**{found.leaders[0]}**" in answer
    assert any(each.value == f"{own}{answer}" for each in open_page(scale="2").markdown)
    other = result_of("minilm", {"close": 0.5, "shifted": 0.3, "collapsed": 0.1})
    table = EncoderTable((result_of(None, dict.fromkeys(other.scores, 0.2)), other))
    RunStore().attach(run.id, ENCODERS, dataclass_to_json(table))
    assert any("Under minilm, close, shifted and" in plain(each.value) for each in open_page().markdown)


def plain(markdown: str) -> str:
    return markdown.replace("**", "").replace("\\", "")


def opening(sentence: Sentence) -> str:
    return sentence.written(lambda name: f"**{name}**", str)[:20]


@pytest.mark.usefixtures("run_home")
def test_what_is_not_opened_is_not_drawn(monkeypatch: pytest.MonkeyPatch, stored_run: Run) -> None:
    monkeypatch.chdir(ROOT)
    app = AppTest.from_file(str(ROOT / "app" / "mauve_app" / "main.py"), default_timeout=60).run()
    assert not app.exception
    drawn = {chart.proto.id.rsplit("-", 1)[-1] for chart in app.get("plotly_chart")}
    assert drawn == {"frontier_chart", "leaderboard_chart"}
    assert not any("Encoder" in table.value for table in app.table)
    apart = {"All scores", "Texts, exclusions, settings, versions", "Like for like with human vs. human"}
    assert apart <= set(expanders(app))
    assert any(label.startswith("Differences: ") for label in expanders(app))


def links(app: AppTest) -> list[tuple[str, dict[str, list[str]]]]:
    """Label and query of every link of the list."""
    found = [link.proto for link in app.get("page_link") if link.proto.page == "clusters"]
    return [(link.label, urllib.parse.parse_qs(link.query_string)) for link in found]


@pytest.mark.usefixtures("run_home")
@pytest.mark.parametrize("kind", ["pairwise", "joint"])
def test_the_list_has_every_candidate_with_its_score_and_a_link_to_its_main_reason(
    open_page: OpenPage, stored_run: Run, kind: PartitionKind
) -> None:
    app = open_page(partition=kind, seed="1", weight="0.3")
    assert not app.exception
    words = [each.value for each in app.markdown]
    placed = standings(stored_run.comparison, kind=kind)
    found = links(app)
    assert len(found) == len(placed)
    for place, (label, query) in zip(placed, found, strict=True):
        name = place.candidate.name
        start = words.index(f"**{name}**")
        estimate = place.candidate.estimate("mauve", kind)
        assert words[start - 1] == rank_label(place.rank, place.tied)
        assert words[start + 1] == f"**{mean_and_spread(estimate)}** ({interval_of(estimate)})"
        reason = run_main_reason(stored_run, name)
        expected = {"run": [stored_run.id], "candidate": [name], "weight": ["0.3"]}
        if reason is not None:
            expected["cluster"] = [str(reason.cluster)]
            assert label == escaped((reason.sentence if reason.where == "all" else reason.finding)(TEXTS))
        assert query == expected, "the clusters of the reason: pairwise, the median seed"
    assert any(run_main_reason(stored_run, place.candidate.name) for place in placed)
    halves = stored_run.comparison.halves
    assert halves is not None
    label = escaped(f"{TEXTS.halves} (n = {halves.source.n})")
    assert (f"**{label}**" in words) == (kind == "pairwise")


def test_names_and_words_from_files_are_text(open_page: OpenPage, own_home: Path) -> None:
    name = "typ*ical*<b>"
    run = make_planted_run(own_home, model=name)
    app = open_page(run=run.id)
    assert not app.exception
    shown = [each.value for each in app.markdown] + [label for label, _ in links(app)]
    assert any(escaped(name) in each for each in shown)
    assert not any("<b>" in each.replace("\\<b\\>", "") for each in shown)
    for chart in app.get("plotly_chart"):
        assert "<b>" not in chart.proto.spec.replace("&lt;b&gt;", "").replace("<b>%{meta}</b>", "").replace(
            f"<b>{as_label(name)}</b>", ""
        )


def test_warnings_that_put_all_scores_in_doubt_are_not_folded(open_page: OpenPage, stored_run: Run) -> None:
    comparison = stored_run.comparison
    serious = "The sides differ in size (human 60, close 30): scores at different sizes are not comparable."
    mild = minor_advice(comparison.sources, comparison.config)
    assert set(comparison.warnings) == set(mild)
    run = saved_as(stored_run, dataclasses.replace(comparison, warnings=(serious, *mild)))
    app = open_page(run=run.id)
    (folded,) = [part for part in app.expander if "limit" in part.label]
    assert [each.value for each in folded.text] == list(mild)
    assert serious in [each.value for each in app.text]
    assert not any(serious == each.value for part in app.expander for each in part.text)


def test_a_run_that_is_a_sample_says_so_and_shows_the_scores_over_all_texts(open_page: OpenPage, run: Run) -> None:
    whole = over_shards_example(run)
    sides = tuple(dataclasses.replace(side, n=5_000_000) for side in whole.sides)
    whole = dataclasses.replace(whole, sides=sides)
    RunStore().attach(run.id, OVER_SHARDS, dataclass_to_json(whole))
    app = open_page(run=run.id)
    assert "Over all texts" in [header.value for header in app.header]
    assert any("a sample of 60 of 5,000,000 texts a side" in text.value for text in app.caption)
    said = [text.value for text in app.markdown]
    sampled = next(place for place, text in enumerate(said) if text.startswith("In the sample: "))
    assert in_markdown(closest_over_all(whole)) in said[:sampled]
    assert any(f"**{60:,}** texts per side, sampled from **5,000,000**" in text.value for text in app.sidebar.caption)
    table = next(each.value for each in app.table if "Texts" in each.value.columns)
    own = run.comparison.candidates[0].scores["mauve"]
    assert table["Texts"].tolist() == ["5,000,000"] * len(run.comparison.candidates)
    assert table["MAUVE"].iloc[0] == f"{own}"


def test_damaged_scores_over_all_texts_leave_the_page(open_page: OpenPage, run: Run) -> None:
    RunStore().attach(run.id, OVER_SHARDS, {"sides": []})
    app = open_page(run=run.id)
    assert not app.exception
    assert app.error
    assert leaderboard(app)
