"""Encoders on a made-up run: its own row is the leaderboard's, another one's is that of a comparison of its own."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import spearmanr

from mauve_core.__main__ import main
from mauve_core.analyses.encoders import (
    CompareEncodersTask,
    encoder_titles,
    encoders_run,
    parse_encoder,
    references,
    stored_encoders,
    with_absolute_path,
    written,
)
from mauve_core.analyses.human_ranking import rank
from mauve_core.analyses.measure_terms import Measurements, Row, Value
from mauve_core.base.config import HUMAN, QUESTIONS, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import CancelledError, InputError
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.encoders import word_vectors
from mauve_core.runs import RunStore
from mauve_core.runs.ratings import OPTIONS, RatingStore, pair_plan
from mauve_core.scoring.compare import compare
from mauve_core.scoring.tables import mean_and_spread, standings
from mauve_core.stats.scores import SCORES
from tests.synthetic import make_comparison_inputs, make_run
from tests.word_files import by_chance, by_topic

pytestmark = pytest.mark.integration

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


@pytest.mark.trial
def test_a_run_with_an_encoder_has_its_own_row_once(own_home, topics, chance):
    human, candidates, _ = make_comparison_inputs(40)
    config = CompareConfig(
        EncoderConfig(str(topics), max_tokens=12), ScoreConfig(seeds=1, bootstrap=100), projection=False
    )
    comparison = compare(human, candidates, config)
    run = RunStore().save("encoded", comparison, {HUMAN: human, **candidates})
    own = config.encoder
    table = encoders_run(run, [parse_encoder(str(topics), own), parse_encoder(str(chance), own)])
    assert [each.encoder for each in table.results] == [own, EncoderConfig(str(chance), max_tokens=12)]
    assert table.results[0].cut == table.results[1].cut == 4 * 40
    assert table.results[0].tokens_median == 12
    with pytest.raises(InputError, match="besides the run's own"):
        encoders_run(run, [own])


@pytest.mark.trial
def test_stopped_work_does_not_encode_again(run, topics, chance, monkeypatch):
    encoded = []
    encode = word_vectors.WordEncoder.encode

    def counted(self, texts, config, *rest):
        encoded.append(config.model)
        return encode(self, texts, config, *rest)

    monkeypatch.setattr(word_vectors.WordEncoder, "encode", counted)
    task = CompareEncodersTask(run.id, (str(topics), str(chance)))

    def stop(stage, done, total):
        if stage.startswith("chance.vec: clustering"):
            raise CancelledError("stopped")

    with pytest.raises(CancelledError):
        task.compute(stop)
    assert stored_encoders(run) is None
    assert encoded == [str(topics)] * 4 + [str(chance)] * 4
    table = task.compute()
    assert len(encoded) == 8
    assert stored_encoders(run) == table
    assert task.compute().results == table.results


@pytest.mark.trial
def test_an_encoder_that_cannot_read_the_texts_is_left_out_and_named(run, topics, tmp_path):
    foreign = tmp_path / "foreign.txt"
    foreign.write_text("zebra 1.0 2.0\nokapi 2.0 1.0\n")
    encoders = [parse_encoder(str(foreign)), parse_encoder(str(topics))]
    table = encoders_run(run, encoders)
    assert [each.encoder for each in table.results] == [None, encoders[1]]
    assert len(table.notes) == 1
    assert table.notes[0].startswith("foreign.txt is left out: ")
    with pytest.raises(InputError, match="no vector for any word"):
        encoders_run(run, encoders[:1])


@pytest.mark.trial
def test_duplicates_are_refused(run, topics):
    with pytest.raises(InputError, match="no duplicates"):
        encoders_run(run, [parse_encoder(str(topics))] * 2)
    with pytest.raises(InputError, match="no duplicates"):
        CompareEncodersTask(run.id, ("minilm", "minilm:layer=-1"))
    with pytest.raises(InputError, match="no duplicates"):  # on a CPU, "auto" is float32
        encoders_run(run, [EncoderConfig("minilm", dtype="auto"), EncoderConfig("minilm")], device="cpu")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("minilm", EncoderConfig("minilm", max_tokens=160)),
        ("smollm2-135m:pooling=mean,layer=0", EncoderConfig("smollm2-135m", pooling="mean", layer=0, max_tokens=160)),
        ("gpt2:max_tokens=9,with_prompt=yes", EncoderConfig("gpt2", max_tokens=9, with_prompt=True)),
        ("gpt2:revision=abc,dtype=float32", EncoderConfig("gpt2", revision="abc", max_tokens=160)),
        ("/a:b/model", EncoderConfig("/a:b/model", max_tokens=160)),
        ("/a:b/model:layer=-2", EncoderConfig("/a:b/model", layer=-2, max_tokens=160)),
    ],
)
def test_an_encoder_is_read_and_written_back(spec, expected):
    own = EncoderConfig("smollm2-135m", pooling="last", layer=4, max_tokens=160)
    assert parse_encoder(spec, own) == expected
    assert parse_encoder(written(expected, own), own) == expected
    assert len(written(expected, own)) <= len(spec)


def test_precision_is_the_runs_own_but_for_word_vectors():
    own = EncoderConfig("gpt2", dtype="bfloat16", with_prompt=True)
    assert parse_encoder("minilm", own) == EncoderConfig("minilm", dtype="bfloat16", with_prompt=True)
    assert parse_encoder("glove.txt", own) == EncoderConfig("glove.txt", with_prompt=True)


@pytest.mark.parametrize(
    "spec",
    ["gpt2:size=3", "gpt2:layer=1,layer=2", "gpt2:layer=x", "gpt2:pooling=max", "gpt2:with_prompt=1", "", ":layer=1"],
)
def test_what_is_no_encoder_is_refused(spec):
    with pytest.raises(InputError):
        parse_encoder(spec)


def test_titles_differ_wherever_encoders_do():
    own = EncoderConfig("/models/gpt2", max_tokens=64)
    others = [dataclasses.replace(own, **changes) for changes in (
        {"pooling": "mean"}, {"layer": 0}, {"max_tokens": 9}, {"with_prompt": True}, {"model": "/other/gpt2"}
    )]  # fmt: skip
    assert encoder_titles([own, *others]) == (
        "/models/gpt2", "gpt2 · mean", "gpt2 · layer 0", "gpt2 · max tokens 9", "gpt2 · with prompt yes",
        "/other/gpt2",
    )  # fmt: skip
    assert encoder_titles([None, EncoderConfig("minilm")]) == ("features given", "minilm")


def test_only_what_exists_is_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "minilm").mkdir()
    assert with_absolute_path("minilm") == "minilm"
    assert with_absolute_path("gone.txt:max_tokens=3") == "gone.txt:max_tokens=3"


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
