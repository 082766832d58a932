"""Sweeps of synthetic runs, whose truth is known, and of a run that a tiny model encoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mauve_core.base.config import HUMAN, SCORES, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.corpus import Corpus, corpus_from_texts
from mauve_core.encoders import Encoder, feature_key
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.experiments.sweeps import SweepPoint, sweep_run
from mauve_core.experiments.sweeps.clustered import drawing_orders
from mauve_core.experiments.sweeps.request import Request
from mauve_core.numerics.kmeans.clustering import tenth_of_texts
from mauve_core.scoring.compare import compare
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.store import Run, RunStore
from tests.synthetic import make_run
from tests.tiny_models import SENTENCES, make_gpt2

N, SEEDS = 80, 3
NAMES = ("close", "shifted", "collapsed")
ROUNDING = 1e-12
"""The run sums shares of an error by tables, the sweep bin by bin: equal but for the last few bits."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sweeps")


@pytest.fixture(scope="module")
def run(home: Path) -> Run:
    return make_run(home, n=N, seeds=SEEDS, projection=False)


@pytest.fixture(autouse=True)
def stored(home: Path, run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run's home is the program's; asks for ``own_home`` so that this comes after it."""
    monkeypatch.setenv(HOME_VARIABLE, str(home))


@pytest.fixture
def no_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Encoder, *args: Any, **kwargs: Any) -> None:
        pytest.fail("a model was asked for")

    monkeypatch.setattr(Encoder, "__init__", refuse)


def equals_the_run(point: SweepPoint, run: Run) -> None:
    own = run.comparison.candidate(point.source).scores
    for name in SCORES:
        assert point.scores[name].values == pytest.approx(own[name].values, abs=ROUNDING)
        assert point.scores[name].mean == pytest.approx(own[name].mean, abs=ROUNDING)
        assert point.scores[name].sd == pytest.approx(own[name].sd, abs=ROUNDING)


# Clusters


def test_a_sweep_over_k_holds_the_runs_own_scores_at_its_own_k(run: Run, no_encoding: None) -> None:
    seen: list[tuple[str, int, int]] = []
    sweep = sweep_run(run, "k", progress=lambda *state: seen.append(state))
    own = run.comparison.candidates[0].partitions[0].k
    assert sweep.candidates == NAMES
    assert own in sweep.values
    assert sweep.values[-1] == N // 2
    for name in NAMES:
        line = sweep.line(name)
        assert [point.value for point in line] == list(sweep.values)
        assert all(point.k == point.value and point.n == N for point in line)
        equals_the_run(next(point for point in line if point.k == own), run)
    points = len(sweep.values) * len(NAMES)
    assert seen[0] == ("Clustering", 0, points * SEEDS)
    assert seen[-1] == ("Clustering", points * SEEDS, points * SEEDS)
    assert any(f"own k is {own}" in note for note in sweep.notes)
    assert any(note.startswith("At k = 20, 40, a cluster has fewer than 5 texts") for note in sweep.notes)


# Texts a side


def test_a_sweep_over_n_ends_with_the_run_itself(run: Run, no_encoding: None) -> None:
    sweep = sweep_run(run, "n")
    assert sweep.values == (MIN_TEXTS, 40.0, N)
    for name in NAMES:
        for point in sweep.line(name):
            assert (point.n, point.k) == (point.value, tenth_of_texts(int(point.value), int(point.value)))
        equals_the_run(sweep.line(name)[-1], run)
        assert sweep.line(name)[0].scores["mauve"].sd
    assert any(
        "the spread includes the choice of texts" in note and f"n = {N}, nothing" in note for note in sweep.notes
    )
    assert any("k follows n" in note for note in sweep.notes)
    assert sweep_run(run, "n", (40,)).points == tuple(point for point in sweep.points if point.n == 40)


def request_for(run: Run, *, seed: int = 0) -> Request:
    config = replace(run.comparison.config, score=replace(run.comparison.config.score, seed=seed))
    run = replace(run, comparison=replace(run.comparison, config=config))
    return Request(run, None, 4, "cpu", FeatureStore(), lambda *_: None)


def test_every_candidate_meets_the_same_human_texts_and_seeds_draw_their_own(run: Run) -> None:
    shuffled = replace(run.corpora["shifted"].take(np.arange(N)[::-1]), ids=run.corpora["shifted"].ids)
    others = tuple(f"other {i}" for i in range(N))
    foreign = replace(run.corpora["collapsed"], ids=others, prompts=others)
    changed = replace(run, corpora={**run.corpora, "shifted": shuffled, "collapsed": foreign})
    orders = drawing_orders(request_for(changed))
    for source in orders.values():
        assert len({tuple(order) for order in source}) == 4
        assert all(sorted(order) == list(range(N)) for order in source)
    for seed in range(4):
        human = [run.corpora[HUMAN].prompts[row] for row in orders[HUMAN][seed]]
        assert [changed.corpora["close"].prompts[row] for row in orders["close"][seed]] == human
        assert [shuffled.prompts[row] for row in orders["shifted"][seed]] == human
        assert not np.array_equal(orders["collapsed"][seed], orders[HUMAN][seed])
        assert np.array_equal(drawing_orders(request_for(changed))["collapsed"][seed], orders["collapsed"][seed])
    assert not np.array_equal(drawing_orders(request_for(changed, seed=1))[HUMAN][0], orders[HUMAN][0])


# The scaling constant


def test_a_larger_constant_lowers_mauve_and_moves_nothing_else(run: Run, no_encoding: None) -> None:
    sweep = sweep_run(run, "scale", (0.5, 1, 5, 20))
    for name in NAMES:
        line = sweep.line(name)
        for score in ("mauve", "mauve_star"):
            values = np.array([point.scores[score].values for point in line])
            assert (np.diff(values, axis=0) < 0).all()
        for score in ("frontier_integral", "mid"):
            assert len({point.scores[score] for point in line}) == 1
        equals_the_run(line[2], run)
    assert {2.0, run.comparison.config.score.scale} <= set(sweep_run(run, "scale").values)
    assert len(sweep_run(run, "scale", (5,), seeds=2).points[0].scores["mauve"].values) == 2


# Tokens a text


@pytest.fixture(scope="module")
def encoded(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """A run of texts of 4 to 20 words that a tiny GPT-2 encoded; the texts of one side all begin alike."""
    folder = str(make_gpt2(tmp_path_factory.mktemp("model") / "tiny-gpt2"))
    words = " ".join(SENTENCES).split()

    def side(name: str, seed: int) -> Corpus:
        rng = np.random.default_rng(seed)
        texts = ["Rain " + " ".join(rng.choice(words, size=size)) for size in rng.integers(4, 21, size=40)]
        return corpus_from_texts(texts, name=name, prompts=[f"{rng.choice(words)} " for _ in texts])

    def make(name: str, **settings: Any) -> Run:
        corpora = {HUMAN: side(HUMAN, 1), "model": side("model", 2)}
        score = ScoreConfig(seeds=2, restarts=1, bootstrap=100)
        config = CompareConfig(EncoderConfig(folder, **settings), score, projection=False)
        store = FeatureStore(home / "features")
        comparison = compare(corpora[HUMAN], {"model": corpora["model"]}, config, feature_store=store, device="cpu")
        features = {source.name: store.get(source.features_key).array for source in comparison.sources}
        return RunStore(home / "runs").save(name, comparison, corpora, features)

    return make


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The index of every text that goes through a model."""
    seen: list[int] = []
    forward = Encoder._forward

    def spy(self: Encoder, loaded: Any, tokens: Any, indices: Any) -> Any:
        seen.extend(indices.tolist())
        return forward(self, loaded, tokens, indices)

    monkeypatch.setattr(Encoder, "_forward", spy)
    return seen


def test_one_pass_serves_every_length(encoded: Callable[..., Run], home: Path, passes: list[int]) -> None:
    run = encoded("lengths")
    store = FeatureStore(home / "features")
    config = run.comparison.config.encoder
    inputs = {name: corpus.encoder_inputs(False) for name, corpus in run.corpora.items()}
    longest = max(int(store.get(source.features_key).lengths.max()) for source in run.comparison.sources)
    passes.clear()
    sweep = sweep_run(run, "length", (4, 9, longest), device="cpu")
    assert sorted(passes) == sorted([*range(40)] * 2)  # each side once, for two lengths; the third is the run's own
    assert sweep.values == (4.0, 9.0, longest)
    assert {(point.n, point.k) for point in sweep.points} == {(40, 4)}
    equals_the_run(sweep.points[-1], run)
    assert all(store.get(feature_key(inputs[name], replace(config, max_tokens=9))) for name in inputs)
    passes.clear()
    assert sweep_run(run, "length", (4, 9, longest), device="cpu").points == sweep.points
    assert passes == []
    reached = next(note for note in sweep.notes if "at least that many tokens" in note)
    assert "Of 80 texts" in reached
    assert "80 at 4" in reached
    assert not any("prompt" in note for note in sweep.notes)
    cut = compare(
        run.corpora[HUMAN],
        {"model": run.corpora["model"]},
        replace(run.comparison.config, encoder=replace(config, max_tokens=9)),
        feature_store=store,
        device="cpu",
    )
    assert sweep.points[1].scores["mauve"].values == pytest.approx(
        cut.candidates[0].scores["mauve"].values, abs=ROUNDING
    )


# What is asked for


@pytest.mark.parametrize(
    ("over", "values", "allowed"),
    [
        ("k", (1, 5), f"whole numbers from 2 to {N}"),
        ("k", (2.5,), "whole numbers"),
        ("n", (MIN_TEXTS - 1,), f"whole numbers from {MIN_TEXTS} to {N}"),
        ("scale", (0,), "0.001 to 1000"),
        ("decoder", (0.9,), "Leave the values out"),
    ],
)
def test_values_out_of_range_are_refused_with_what_is_allowed(run: Run, over: Any, values: Any, allowed: str) -> None:
    with pytest.raises(InputError, match=allowed):
        sweep_run(run, over, values)
