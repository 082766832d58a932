"""Encoders on a made-up run: its own row is the leaderboard's, another one's is that of a comparison of its own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from mauve_core.__main__ import main
from mauve_core.base.config import HUMAN, SCORES, CompareConfig, ScoreConfig
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.experiments.encoders import encoders_run, parse_encoder, references, stored_encoders
from mauve_core.experiments.text_measures import Measurements, Row, Value
from mauve_core.judgments import OPTIONS, QUESTIONS, RatingStore, pair_plan, rank
from mauve_core.scoring.compare import compare
from mauve_core.scoring.tables import mean_and_spread, standings
from mauve_core.store import RunStore
from tests.synthetic import make_comparison_inputs, make_run
from tests.word_files import by_chance, by_topic

NAMES = ("close", "shifted", "collapsed")


@pytest.fixture
def run(own_home):
    return make_run(own_home, n=60, seeds=2, projection=False)


@pytest.fixture
def topics(tmp_path):
    return by_topic(tmp_path / "topics.txt")


@pytest.fixture
def chance(tmp_path):
    return by_chance(tmp_path / "chance.vec")


def averages(path, texts):
    """The mean vector of every text's known words, one word at a time."""
    vectors = {line.split()[0]: [float(x) for x in line.split()[1:]] for line in path.read_text().splitlines()}
    rows = []
    for text in texts:
        known = [vectors[word] for word in text.lower().split() if word in vectors]
        rows.append([sum(column) / len(known) for column in zip(*known, strict=True)])
    return np.array(rows, dtype=np.float32)


# Scores


def test_the_runs_own_row_is_its_leaderboard(run, topics):
    first = encoders_run(run, [parse_encoder(str(topics))]).results[0]
    for candidate in run.comparison.candidates:
        assert first.scores[candidate.name] == candidate.scores
    assert first.ceiling == run.comparison.halves.scores
    assert first.differences == run.comparison.differences
    assert (first.encoder, first.dimension) == (None, 16)
    for score in SCORES:
        ranks = {each.candidate.name: (each.rank, each.tied) for each in standings(run.comparison, score)}
        assert first.ranks(score) == ranks


def test_another_encoders_row_is_that_of_a_comparison_with_its_features(own_home, topics):
    human, candidates, features = make_comparison_inputs(60)
    score = ScoreConfig(k=5, seeds=3, restarts=2, bootstrap=100, scale=2.0, seed=4, explained_variance=0.8)
    given = CompareConfig(encoder=None, score=score, projection=False)
    own = compare(human, candidates, given, features=features)
    run = RunStore().save("own", own, {HUMAN: human, **candidates}, features)
    found = encoders_run(run, [parse_encoder(str(topics))]).results[1]
    corpora = {HUMAN: human, **candidates}
    by_hand = {name: averages(topics, corpus.texts) for name, corpus in corpora.items()}
    afresh = compare(human, candidates, given, features=by_hand)
    for candidate in afresh.candidates:
        for name, estimate in candidate.scores.items():
            assert found.scores[candidate.name][name].values == pytest.approx(estimate.values, abs=1e-6)
            assert found.scores[candidate.name][name].low == pytest.approx(estimate.low, abs=1e-6)
    assert [(each.p_value, each.told_apart) for each in found.differences] == [
        (each.p_value, each.told_apart) for each in afresh.differences
    ]
    assert (found.dimension, found.cut) == (8, 0)
    assert any("order is ignored" in note for note in found.notes)
    assert len(found.scores["close"]["mauve"].values) == 3


def test_encoders_that_see_topics_agree_and_one_that_does_not_differs(run, topics, chance):
    own, by_topics, _ = encoders_run(run, [parse_encoder(str(topics)), parse_encoder(str(chance))]).results
    assert list(own.ranks("mauve")) == list(by_topics.ranks("mauve")) == list(NAMES)
    assert by_topics.scores["collapsed"]["mauve"].high < by_topics.scores["close"]["mauve"].low


# Measures and people


def test_gaps_of_measures_are_correlated_with_the_right_sign(run, topics):
    table = encoders_run(run, [parse_encoder(str(topics))])
    gaps = {"close": 1.0, "shifted": 2.0, "collapsed": 9.0}
    rows = tuple(Row("length", name, Value(5.0 + gap), Value(5.0), Value(gap)) for name, gap in gaps.items())
    rows += (Row("zipf", "close", Value(2.0), Value(1.0), Value(1.0)),)
    RunStore().attach(run.id, "measures", dataclass_to_json(Measurements(rows, {})))
    for score, sign in (("mauve", -1), ("frontier_integral", 1)):
        found, problem = references(run, table, score)
        assert problem == ""
        length, zipf = found
        assert (length.title, length.kind, length.n) == ("Length (words), gap", "measure", 3)
        for value, result in zip(length.values, table.results, strict=True):
            scores = [result.scores[name][score].mean for name in gaps]
            assert value == pytest.approx(spearmanr(scores, list(gaps.values())).statistic * sign)
            assert value == 1
        assert (zipf.n, zipf.values) == (1, (None, None))


def test_ratings_are_correlated_with_every_encoder(run, topics):
    table = encoders_run(run, [parse_encoder(str(topics))])
    assert references(run, table, "mauve") == ((), "")
    plan, ratings = pair_plan(run.corpora, rater="Ann"), RatingStore(run.ratings_path)
    order = [HUMAN, *NAMES]
    for index, pair in enumerate(list(plan)[:60]):
        first = (order.index(pair.left) < order.index(pair.right)) == (index % 4 > 0)
        ratings.append(pair.ratings(plan.rater, dict.fromkeys(QUESTIONS, OPTIONS[0] if first else OPTIONS[4]), 40.0))
    found, _ = references(run, table, "mauve")
    assert [each.title for each in found] == list(QUESTIONS)
    sources = [source.name for source in run.comparison.sources]
    ranking = rank(ratings.list(), sources, found[0].title, corpora=run.corpora)
    people = {player.name: player.score for player in ranking.players}
    for value, result in zip(found[0].values, table.results, strict=True):
        scores = [result.scores[name]["mauve"].mean for name in NAMES]
        assert value == pytest.approx(spearmanr(scores, [people[name] for name in NAMES]).statistic)


# The command


def test_the_command_prints_the_leaderboards_digits(run, topics, capsys):
    assert main(["encoders", run.id, "--encoder", str(topics), "--quiet"]) == 0
    table = capsys.readouterr().out
    for candidate in run.comparison.candidates:
        assert with_plain_spaces(mean_and_spread(candidate.scores["mauve"])) in table
    stored = stored_encoders(run)
    assert with_plain_spaces(mean_and_spread(stored.results[1].scores["shifted"]["mauve"])) in table
    assert "bootstrap interval over texts at this n and k" in table
    assert "topics.txt: Tokens are words" in table
    assert "two encoders' rankings by MAUVE is " in table
