"""The Judge page without a browser: blind pairs, answers stored at once, results equal to the core's."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from mauve_app.views import judge_rating
from mauve_app.views.judge_rating import Message, read_message
from mauve_app.views.judge_results import raters_frame
from mauve_core.analyses.human_ranking import (
    correlations,
    measure_indicators,
    method_indicators,
    rank,
    run_indicators,
    score_indicators,
    score_sds_over_texts,
)
from mauve_core.analyses.measure_terms import Measurements, Row, Value
from mauve_core.analyses.method_scores import ATTACHMENT, MethodResult, MethodScore, MethodTable
from mauve_core.analyses.methods import parse_method
from mauve_core.base.config import HUMAN, QUESTIONS
from mauve_core.base.formatting import UNBROKEN
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.figures.judgments import points
from mauve_core.runs import Run, RunStore
from mauve_core.runs.rating_tables import ratings_to_csv
from mauve_core.runs.ratings import OPTIONS, Pair, PairPlan, RatingStore, pair_plan
from mauve_core.stats.scores import SCORES

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/judge.py"
ANN = "Ann"
ANSWERS = {"interesting": 0, "sensible": 3, "human-like": 2}


@pytest.fixture
def store(run: Run) -> RatingStore:
    return RatingStore(run.ratings_path)


@pytest.fixture
def plan(run: Run) -> PairPlan:
    return pair_plan(run.corpora, rater=ANN)


def panel(app: AppTest) -> dict[str, Any]:
    """What the answer panel was told."""
    (element,) = [item for item in app.main if getattr(item, "key", None) == judge_rating.PANEL]
    found: dict[str, Any] = json.loads(element.proto.json)
    return found


def send(app: AppTest, turn: str, action: str = "rate", **values: Any) -> AppTest:
    """What the browser sends when something is done in the panel."""
    (element,) = [item for item in app.main if getattr(item, "key", None) == judge_rating.PANEL]
    states = app._tree.get_widget_states()
    trigger = states.widgets.add()
    trigger.id = f"$$STREAMLIT_INTERNAL_KEY_{element.proto.id}__events"
    trigger.json_trigger_value = json.dumps([{"event": "act", "value": {"turn": turn, "action": action, **values}}])
    return app._run(states)


def answer(app: AppTest, **changes: int) -> AppTest:
    return send(app, panel(app)["turn"], answers={**ANSWERS, **changes}, seconds=12.34)


def shown_texts(app: AppTest) -> list[str]:
    return [element.value for element in app.text]


def texts_of(pair: Pair) -> list[str]:
    return [pair.prompt, pair.left_text, pair.right_text]


def progress_text(app: AppTest) -> str:
    (bar,) = [item for item in app.main if item.type == "progress"]
    return str(bar.proto.text)


def rate(store: RatingStore, plan: PairPlan, start: int, end: int, seconds: float = 40.0) -> None:
    """Answers to these pairs of the plan: the source whose name comes first wins, every fifth pair is a tie."""
    for i in range(start, end):
        pair = plan[i]
        option = OPTIONS[2] if i % 5 == 4 else OPTIONS[0] if pair.left < pair.right else OPTIONS[4]
        store.append(pair.ratings(plan.rater, dict.fromkeys(QUESTIONS, option), seconds))


# Rating


def start(app: AppTest) -> Button:
    (found,) = (button for button in app.button if button.label == "Start rating")
    return found


def test_the_first_pair_of_the_plan_is_shown_and_nothing_tells_its_sources(
    open_page: OpenPage, run: Run, plan: PairPlan
) -> None:
    app = open_page(VIEW, rater=ANN)
    assert not app.exception
    assert shown_texts(app) == texts_of(plan[0])
    assert [question["text"] for question in panel(app)["questions"]] == list(QUESTIONS.values())
    told = {
        *(str(getattr(item, "key", "")) for item in app.main),
        json.dumps(panel(app)),
        *(element.value for element in [*app.markdown, *app.caption]),
        *(str(value) for value in dict(app.query_params).values()),
    }
    for source in run.corpora:
        if source != HUMAN:  # a question has the word in it
            assert not any(source in text for text in told)
    assert f"**0** pairs rated by you, **{plan.total:,}** in your plan, **0** by everyone" in progress_text(app)


def test_the_third_answer_stores_the_pair_and_shows_the_next(
    open_page: OpenPage, store: RatingStore, plan: PairPlan
) -> None:
    app = answer(open_page(VIEW, rater=ANN))
    assert not app.exception
    stored = store.list()
    assert {rating.question: rating.option for rating in stored} == {
        "interesting": "definitely A",
        "sensible": "slightly B",
        "human-like": "tie",
    }
    first = plan[0]
    assert {(r.rater, r.prompt_id, r.left, r.right, r.seconds) for r in stored} == {
        (ANN, first.prompt_id, first.left, first.right, 12.3)
    }
    assert shown_texts(app) == texts_of(plan[1])
    assert panel(app)["said"] == "Pair stored."
    assert panel(app)["may"]["undo"]
    assert "**1** pair rated by you" in progress_text(app)


def test_a_message_that_comes_twice_counts_once(open_page: OpenPage, store: RatingStore, plan: PairPlan) -> None:
    app = open_page(VIEW, rater=ANN)
    turn = panel(app)["turn"]
    answer(app)
    send(app, turn, answers=ANSWERS, seconds=1.0)
    assert store.counts().pairs == 1
    assert shown_texts(app) == texts_of(plan[1])


def test_a_reload_goes_on_and_another_rater_begins(open_page: OpenPage, plan: PairPlan, run: Run) -> None:
    answer(open_page(VIEW, rater=ANN))
    again = open_page(VIEW, rater=ANN)
    assert shown_texts(again) == texts_of(plan[1])
    other = open_page(VIEW, rater="Bo")
    assert shown_texts(other) == texts_of(pair_plan(run.corpora, rater="Bo")[0])
    assert "**0** pairs rated by you" in progress_text(other)
    assert "**1** by everyone" in progress_text(other)
    assert not panel(other)["may"]["undo"]
    assert panel(other)["memory"] != panel(again)["memory"]


def test_skip_stores_no_rating_and_is_counted(open_page: OpenPage, store: RatingStore, plan: PairPlan) -> None:
    app = open_page(VIEW, rater=ANN)
    send(app, panel(app)["turn"], "skip")
    assert store.list() == ()
    assert store.counts().skipped == 1
    assert shown_texts(app) == texts_of(plan[1])
    assert "**0** pairs rated by you, 1 skipped" in progress_text(app)


def test_undo_takes_back_ratings_and_skips_one_by_one(open_page: OpenPage, store: RatingStore, plan: PairPlan) -> None:
    app = answer(open_page(VIEW, rater=ANN))
    send(app, panel(app)["turn"], "skip")
    send(app, panel(app)["turn"], "undo")
    assert (store.counts().pairs, store.counts().skipped) == (1, 0)
    assert shown_texts(app) == texts_of(plan[1])
    assert panel(app)["fresh"]  # answers that the tab remembers of it are void
    send(app, panel(app)["turn"], "undo")
    assert store.list() == ()
    assert shown_texts(app) == texts_of(plan[0])
    assert not panel(app)["may"]["undo"]
    answer(app)
    assert not panel(app)["fresh"]


def test_a_pair_rated_in_another_window_keeps_its_answers(
    open_page: OpenPage, store: RatingStore, plan: PairPlan
) -> None:
    one, two = open_page(VIEW, rater=ANN), open_page(VIEW, rater=ANN)
    answer(one, **{"interesting": 4})
    answer(two, **{"interesting": 0})
    assert [r.option for r in store.list() if r.question == "interesting"] == ["definitely B"]
    assert "another window" in panel(two)["said"]
    assert shown_texts(two) == texts_of(plan[1])


def test_what_cannot_be_stored_is_said_and_asked_again(
    open_page: OpenPage, run: Run, store: RatingStore, plan: PairPlan
) -> None:
    app = open_page(VIEW, rater=ANN)
    run.ratings_path.write_bytes(b"not a database, " * 100)
    turn = panel(app)["turn"]
    answer(app)
    assert not app.exception
    assert "damaged" in app.error[0].value
    run.ratings_path.unlink()
    app.run()
    assert shown_texts(app) == texts_of(plan[0])
    assert panel(app)["turn"] != turn  # the panel takes answers again
    assert panel(app)["said"] == "Not stored."
    answer(app)
    assert store.counts().pairs == 1


@pytest.mark.parametrize(
    "value",
    [
        None, "rate", [], {}, {"turn": 1, "action": "rate"}, {"turn": "1", "action": "drop"}, {"turn": "1"},
        {"turn": "1", "action": "rate"}, {"turn": "1", "action": "rate", "answers": {"interesting": 0}},
        {"turn": "1", "action": "rate", "answers": {**ANSWERS, "more": 0}},
        *({"turn": "1", "action": "rate", "answers": {**ANSWERS, "sensible": bad}} for bad in (5, -1, "0", 1.0, True)),
    ],
)  # fmt: skip
def test_a_message_that_the_panel_would_not_send_is_none(value: Any) -> None:
    assert read_message(value) is None


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (3, 3.0),
        (61.27, 61.3),
        (-1, None),
        (float("inf"), None),
        ("5", None),
        (None, None),
        (1e9, None),
        (10**400, None),
    ],
)
def test_a_clock_that_went_wrong_costs_only_its_time(sent: Any, kept: float | None) -> None:
    options = {"interesting": "definitely A", "sensible": "slightly B", "human-like": "tie"}
    value = {"turn": "1", "action": "rate", "answers": ANSWERS, "seconds": sent}
    assert read_message(value) == Message("1", "rate", options, kept)


# Results


def tables(app: AppTest) -> list[list[dict[str, str]]]:
    """Cells of the tables, with plain spaces."""
    cells = [table.value.map(lambda cell: str(cell).replace(UNBROKEN, " ")) for table in app.table]
    return [[dict(row) for _, row in table.iterrows()] for table in cells]


def test_the_scores_are_those_of_the_core(open_page: OpenPage, run: Run, store: RatingStore, plan: PairPlan) -> None:
    question = "sensible"
    rate(store, plan, 0, 30)
    rate(store, pair_plan(run.corpora, rater="Bo"), 0, 12)
    app = open_page(VIEW, tab="results", **({"question": question} if question else {}))
    assert not app.exception
    sources = [source.name for source in run.comparison.sources]
    ranking = rank(store.list(), sources, question or "interesting", corpora=run.corpora)
    shown = tables(app)[0]
    assert [row["Source"] for row in shown] == [f"**{player.name}**" for player in ranking.players]
    for row, player in zip(shown, ranking.players, strict=True):
        assert row["Score"] == f"**{points(player.score)}**  \n{points(player.low)} to {points(player.high)}"
        assert [row["Won"], row["Lost"], row["Tied"]] == [str(player.wins), str(player.losses), str(player.ties)]
        assert row["n"] == str(player.wins + player.losses + player.ties)
    captions = " ".join(element.value for element in app.caption)
    assert f"42 answers from 2 raters; {ranking.ties} ties count half" in captions
    notes = " ".join(element.value for element in app.markdown)
    assert "independent" in notes


def test_every_score_is_correlated_with_people(
    open_page: OpenPage, run: Run, store: RatingStore, plan: PairPlan
) -> None:
    rate(store, plan, 0, 30)
    gaps = {"close": Value(0.1, 0.02), "shifted": Value(0.3, 0.05), "collapsed": Value(0.2)}
    rows = tuple(Row("zipf", name, Value(1.0 + gap.value), Value(1.0), gap) for name, gap in gaps.items())
    RunStore().attach(run.id, "measures", dataclass_to_json(Measurements(rows, {})))
    app = open_page(VIEW, tab="results")
    assert not app.exception
    shown = {row["Indicator"]: row for row in tables(app)[1]}
    assert set(shown) == {
        *(f"**{title.replace('*', chr(92) + '*').replace('-', chr(92) + '-')}** {arrow}" for title, arrow in zip(
            [each.title for each in SCORES.values()], "↑↑↓↓", strict=True)),
        "**Zipf coefficient\\, gap** ↓",
    }  # fmt: skip
    sources = [source.name for source in run.comparison.sources]
    ranking = rank(store.list(), sources, "interesting", corpora=run.corpora)
    indicators = score_indicators(run) | measure_indicators(Measurements(rows, {}))
    for found, row in zip(correlations(ranking, indicators), shown.values(), strict=True):
        assert found.spearman is not None
        assert found.worst is not None
        assert row["Spearman"].replace("−", "-") in (f"{found.spearman:+.2f}", "0.00")
        assert row["Worst case within 1 sd over texts"].endswith("exact")
        assert row["n"] == "3"  # the candidates; the human side has no score
    captions = " ".join(element.value for element in app.caption)
    assert "6 orders" in captions
    assert "All sds are over texts" in captions


def test_indicators_are_the_stored_numbers(run: Run) -> None:
    found = score_indicators(run)
    assert list(found) == [SCORES[score].title for score in SCORES]
    assert [indicator.higher_is_closer for indicator in found.values()] == [True, True, False, False]
    candidate = run.comparison.candidates[1]
    for score, indicator in zip(SCORES, found.values(), strict=True):
        assert indicator.values[candidate.name] == candidate.scores[score].mean
        assert indicator.sds[candidate.name] == score_sds_over_texts(run)[score][candidate.name]
        assert indicator.over == "texts"
        assert HUMAN not in indicator.values


def test_measures_without_a_gap_are_no_indicators() -> None:
    rows = (
        Row("length", "a", Value(5.0), None, None, "no human value"),
        Row("zipf", "a", Value(1.0), Value(0.8), Value(0.2, 0.1)),
        Row("zipf", "b", None, None, None, "not defined"),
    )
    (indicator,) = measure_indicators(Measurements(rows, {})).values()
    assert (dict(indicator.values), dict(indicator.sds), indicator.higher_is_closer) == ({"a": 0.2}, {"a": 0.1}, False)


def test_stored_methods_are_indicators_too(run: Run) -> None:
    names = [candidate.name for candidate in run.comparison.candidates]
    scores = {name: MethodScore(0.1 * index, 0.2, 0.01 if index else None, None, None, 50)
              for index, name in enumerate(names)}  # fmt: skip
    table = MethodTable(tuple(MethodResult(parse_method(spec), scores, None, 1.0) for spec in (
        "kmeans", "kmeans:summary=mid", "knn")))  # fmt: skip
    found = method_indicators(table)
    assert [indicator.higher_is_closer for indicator in found.values()] == [False, True]  # k-means is the run's MAUVE
    (mid, knn) = found.values()
    assert dict(mid.values) == dict(knn.values) == {name: score.value for name, score in scores.items()}
    assert dict(knn.sds) == dict.fromkeys(names[1:], 0.01)
    RunStore().attach(run.id, ATTACHMENT, dataclass_to_json(table))
    assert run_indicators(run) == (score_indicators(run) | found, ())
    (run.path / "attached" / "methods.json").write_text("{}")
    rest, problems = run_indicators(run)
    assert list(rest) == [SCORES[score].title for score in SCORES]
    assert len(problems) == 1


def test_one_rating_makes_no_ranking(open_page: OpenPage, store: RatingStore, plan: PairPlan) -> None:
    store.append(plan[0].ratings(plan.rater, dict.fromkeys(QUESTIONS, OPTIONS[0]), 40.0))
    app = open_page(VIEW, tab="results")
    assert not app.exception
    assert any("Too few answers for a ranking" in element.value for element in app.markdown)
    assert any("1 answer to this question, on 2 of 4 sources" in element.value for element in app.markdown)
    assert len(app.table) == 0
    assert len(app.dataframe) == 1, "the raters"


def test_raters_are_listed_with_their_habits(store: RatingStore, plan: PairPlan, run: Run) -> None:
    rate(store, plan, 0, 5, seconds=30.0)
    rate(store, plan, 5, 7, seconds=60.0)
    store.skip(ANN, plan[7])
    store.skip("Bo", plan[0])
    frame = raters_frame(store.counts(), store.list()).set_index("Rater")
    assert frame.loc[ANN].tolist() == [7, 1, 21, 3 / 21, 30.0]  # one of seven pairs is a tie throughout
    assert frame.loc["Bo", ["Pairs", "Skipped", "Answers"]].tolist() == [0, 1, 0]
    assert frame.loc["Bo", ["Ties", "Median seconds per pair"]].isna().all()


def test_damaged_ratings_are_said_and_left_alone(open_page: OpenPage, run: Run) -> None:
    run.ratings_path.write_bytes(b"not a database, " * 100)
    for parameters in ({"tab": "results"}, {"rater": ANN}):
        app = open_page(VIEW, **parameters)
        assert not app.exception
        assert "damaged" in app.error[0].value
    assert run.ratings_path.read_bytes() == b"not a database, " * 100


def upload(app: AppTest, data: bytes) -> AppTest:
    return app.file_uploader[0].upload("ratings.csv", data, "text/csv").run()


def test_ratings_come_in_from_a_file_and_nothing_is_lost(
    open_page: OpenPage, run: Run, store: RatingStore, plan: PairPlan, tmp_path: Path
) -> None:
    elsewhere = RatingStore(tmp_path / "elsewhere.sqlite")
    rate(elsewhere, pair_plan(run.corpora, rater="Bo"), 0, 4)
    other_texts = [dataclasses.replace(elsewhere.list()[0], left_digest="0" * 16, prompt_id="gone")]
    rate(store, plan, 0, 2)
    before = store.list()
    data = ratings_to_csv([*elsewhere.list(), *other_texts])
    app = upload(open_page(VIEW, tab="results"), data)
    assert not app.exception
    words = [element.value for element in app.markdown]
    assert "Answers on texts of this run: **12**, by Bo." in words
    assert "Answers on other texts, which will not be added: **1**." in words
    app.button(key="judge_import_add").click().run()
    assert store.list() == (*before, *elsewhere.list())
    assert [element.value for element in app.success] == ["Answers added\\: 12\\."]
    upload(app, data)
    app.button(key="judge_import_add").click().run()
    assert store.list() == (*before, *elsewhere.list())
    assert "Already there\\: 12\\." in app.success[0].value


def test_a_file_that_is_none_is_said_and_costs_nothing(open_page: OpenPage, store: RatingStore, plan: PairPlan) -> None:
    rate(store, plan, 0, 2)
    before = store.list()
    text = ratings_to_csv(before).decode().replace("definitely", "perhaps", 1)
    for data in (text.encode(), b"a,b\n1,2\n", b"\xff\xfe", b""):
        app = upload(open_page(VIEW, tab="results"), data)
        assert not app.exception
        assert len(app.error) == 1
        assert store.list() == before
        assert not [button for button in app.button if button.key == "judge_import_add"]
