"""Sweeps of synthetic runs, whose truth is known, and of a run that a tiny model encoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mauve_core.analyses.sweeps import Request, SweepPoint, drawing_orders, halved, sweep_run
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.clusters.k_means import tenth_of_texts
from mauve_core.encoders import Encoder, feature_key
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.stats.scores import SCORES
from mauve_core.texts import Corpus, corpus_from_texts
from tests.synthetic import make_comparison_inputs, make_run
from tests.tiny_models import SENTENCES, make_gpt2

pytestmark = pytest.mark.integration

N, SEEDS = 80, 3
NAMES = ("close", "shifted", "collapsed")
# The run sums shares of an error by tables, the sweep bin by bin: equal but for the last few bits.
ROUNDING = 1e-12


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


def named_run(home: Path, names: Mapping[str, str], columns: Mapping[str, list[str]] | None = None) -> Run:
    """The synthetic study with its candidates under other names, and columns ``decoder`` for some of them."""
    human, sides, features = make_comparison_inputs(40)
    corpora: dict[str, Corpus] = {}
    for old, new in names.items():
        metadata = {"decoder": columns[new]} if columns and new in columns else None
        corpora[new] = corpus_from_texts(sides[old].texts, name=new, ids=sides[old].ids, metadata=metadata)
    given = {HUMAN: features[HUMAN], **{new: features[old] for old, new in names.items()}}
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, restarts=1, bootstrap=100), projection=False)
    comparison = compare(human, corpora, config, features=given)
    return RunStore(home / "runs").save("named", comparison, {HUMAN: human, **corpora}, given)


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


@pytest.mark.trial
def test_more_clusters_see_more_difference(run: Run) -> None:
    # NeurIPS 2021, appendix, figure 8 (left): near 1 for few clusters, towards 0 for many.
    for name in NAMES:
        few, some, many = sweep_run(run, "k", (2, 8, 40)).line(name)
        assert few.scores["mauve"].mean > some.scores["mauve"].mean > many.scores["mauve"].mean
        assert few.scores["mid"].mean < some.scores["mid"].mean < many.scores["mid"].mean


def test_more_seeds_begin_with_the_runs_own(run: Run) -> None:
    own = run.comparison.candidates[0].partitions[0].k
    more, fewer = (sweep_run(run, "k", (own,), seeds=seeds) for seeds in (SEEDS + 2, 1))
    for point, single in zip(more.points, fewer.points, strict=True):
        values = run.comparison.candidate(point.source).scores["mauve"].values
        assert point.scores["mauve"].values[:SEEDS] == pytest.approx(values, abs=ROUNDING)
        assert len(point.scores["mauve"].values) == SEEDS + 2
        assert single.scores["mauve"].values == point.scores["mauve"].values[:1]
        assert single.scores["mauve"].sd is None
    assert fewer.notes[-1] == "One seed shows no spread."


def test_a_point_that_cannot_be_clustered_is_left_out_and_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    same = dict.fromkeys((HUMAN, *NAMES), np.tile(np.eye(6, 4, dtype=np.float32) + 1, (N // 4, 1))[:N])
    monkeypatch.setattr(Run, "features", lambda self, source: same[source])
    seen: list[int] = []
    sweep = sweep_run(run, "k", (4, 30), progress=lambda stage, done, total: seen.append(done))
    assert sweep.values == (4.0,)
    assert seen == sorted(seen)
    left_out = [note for note in sweep.notes if "left out" in note]
    assert len(left_out) == len(NAMES)
    assert all("at 30 is left out" in note and "different" in note for note in left_out)
    with pytest.raises(InputError, match="No point of this sweep"):
        sweep_run(run, "k", (30,))


# Texts a side


def test_a_sweep_over_n_ends_with_the_run_itself(run: Run, no_encoding: None) -> None:
    sweep = sweep_run(run, "n")
    assert sweep.values == (MIN_TEXTS, 40.0, N)
    for name in NAMES:
        for point in sweep.line(name):
            assert (point.n, point.k) == (point.value, tenth_of_texts(int(point.value), int(point.value)))
        equals_the_run(sweep.line(name)[-1], run)
        assert sweep.line(name)[0].scores["mauve"].sd
    assert any("the spread includes their choice" in note and f"n = {N}, nothing" in note for note in sweep.notes)
    assert any("k follows n" in note for note in sweep.notes)
    assert sweep_run(run, "n", (40,)).points == tuple(point for point in sweep.points if point.n == 40)


def test_a_fixed_k_stays_and_bounds_n(run: Run) -> None:
    config = replace(run.comparison.config, score=replace(run.comparison.config.score, k=30))
    fixed = replace(run, comparison=replace(run.comparison, config=config))
    sweep = sweep_run(fixed, "n", seeds=2)
    assert sweep.values == (40.0, N)
    assert {point.k for point in sweep.points} == {30}
    assert any("k is 30 at every n" in note for note in sweep.notes)
    with pytest.raises(InputError, match=f"from 30 to {N}"):
        sweep_run(fixed, "n", (25,))


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


def test_several_texts_of_a_prompt_are_drawn_together_and_the_same_prompts_of_each_source(run: Run) -> None:
    twice = tuple(f"prompt {i // 2}" for i in range(N))
    corpora = {name: replace(corpus, prompts=twice) for name, corpus in run.corpora.items()}
    corpora["shifted"] = corpora["shifted"].take(range(N // 2))
    others = {"ids": tuple(f"other {i}" for i in range(N)), "prompts": tuple(f"other {prompt}" for prompt in twice)}
    corpora["collapsed"] = replace(corpora["collapsed"], **others)
    orders = drawing_orders(request_for(replace(run, corpora=corpora)))
    prompts = {name: [[corpora[name].prompts[row] for row in own] for own in orders[name]] for name in orders}
    for name, source in orders.items():
        assert all(sorted(order) == list(range(len(corpora[name]))) for order in source)
        assert all(own[::2] == own[1::2] for own in prompts[name])
    assert prompts["close"] == prompts[HUMAN]
    known = {*twice[: N // 2]}
    assert prompts["shifted"] == [[each for each in own if each in known] for own in prompts[HUMAN]]
    assert prompts["collapsed"][0] != [f"other {each}" for each in prompts[HUMAN][0]]


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


def test_candidates_lie_on_the_lines_of_their_decoders(home: Path, no_encoding: None) -> None:
    run = named_run(home, {"close": "nucleus:p=0.95", "shifted": "nucleus:p=0.5", "collapsed": "ancestral"})
    sweep = sweep_run(run, "decoder")
    assert sweep.candidates == ("nucleus p",)
    assert [(point.value, point.source) for point in sweep.points] == [
        (0.5, "nucleus:p=0.5"),
        (0.95, "nucleus:p=0.95"),
        (1.0, "ancestral"),
    ]
    for point in sweep.points:
        equals_the_run(point, run)
        assert (point.n, point.k) == (40, 4)
    assert any("limit p -> 0" in note for note in sweep.notes)


def test_a_decoder_is_also_read_from_the_texts_and_never_guessed(home: Path) -> None:
    columns = {
        "big": ["temperature:t=0.7"] * 40,
        "temperature:t=0.9": ["temperature:t=0.8"] * 40,
        "mixed": ["ancestral", "greedy"] * 20,
    }
    run = named_run(home, {"close": "big", "shifted": "temperature:t=0.9", "collapsed": "mixed"}, columns)
    with pytest.raises(InputError, match=r"no two candidates.*big, temperature:t=0.9, mixed.*mauve-lens generate"):
        sweep_run(run, "decoder")
    run = named_run(
        home, {"close": "big", "shifted": "temperature:t=0.9", "collapsed": "temperature"}, {"big": columns["big"]}
    )
    sweep = sweep_run(run, "decoder")
    assert [(point.candidate, point.value, point.source) for point in sweep.points] == [
        ("temperature t", 0.7, "big"),
        ("temperature t", 0.9, "temperature:t=0.9"),
    ]
    assert any(note.startswith("temperature is left out") for note in sweep.notes)


@pytest.mark.trial
def test_what_has_no_single_parameter_is_left_out(home: Path) -> None:
    run = named_run(home, {"close": "beam:b=4,no-repeat=4", "shifted": "beam:b=8,no-repeat=4", "collapsed": "beam:b=2"})
    assert sweep_run(run, "decoder").candidates == ("beam b, no-repeat=4",)
    run = named_run(home, {"close": "top-k:k=5", "shifted": "top-k:k=50", "collapsed": "contrastive:alpha=0.6,k=5"})
    sweep = sweep_run(run, "decoder")
    assert sweep.candidates == ("top-k k",)
    assert any("contrastive" in note and "left out" in note for note in sweep.notes)
    assert any("ancestral sampling is any k" in note for note in sweep.notes)


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


def test_lengths_count_the_prompt_when_the_run_does(encoded: Callable[..., Run]) -> None:
    run = encoded("prompted", with_prompt=True)
    sweep = sweep_run(run, "length", device="cpu")
    assert len(sweep.values) >= 2
    assert any("prompt and text are counted together" in note for note in sweep.notes)
    equals_the_run(sweep.points[-1], run)


def test_a_length_at_which_all_texts_are_equal_is_left_out(encoded: Callable[..., Run]) -> None:
    sweep = sweep_run(encoded("alike"), "length", (1, 12), device="cpu")
    assert sweep.values == (12.0,)
    assert any("model at 1 is left out" in note and "equal" in note for note in sweep.notes)


def test_lengths_outside_the_texts_are_refused(encoded: Callable[..., Run], run: Run) -> None:
    short = encoded("short", max_tokens=16)
    with pytest.raises(InputError, match="from 1 to 16"):
        sweep_run(short, "length", (8, 17), device="cpu")
    with pytest.raises(InputError, match="given features"):
        sweep_run(run, "length")


# What is asked for


@pytest.mark.parametrize(
    ("over", "values", "allowed"),
    [
        ("k", (1, 5), f"whole numbers from 2 to {N}"),
        ("k", (5, N + 1), f"whole numbers from 2 to {N}"),
        ("k", (2.5,), "whole numbers"),
        ("k", (), "no value"),
        ("k", (True,), "whole numbers"),
        ("k", (float("nan"),), "whole numbers"),
        ("n", (MIN_TEXTS - 1,), f"whole numbers from {MIN_TEXTS} to {N}"),
        ("n", (N + 1,), f"whole numbers from {MIN_TEXTS} to {N}"),
        ("scale", (0,), "0.001 to 1000"),
        ("scale", (-1.0, 3), "-1.0"),
        ("scale", (float("inf"),), "0.001 to 1000"),
        ("decoder", (0.9,), "Leave the values out"),
        ("colour", None, "length, n, k, scale, decoder"),
    ],
)
def test_values_out_of_range_are_refused_with_what_is_allowed(run: Run, over: Any, values: Any, allowed: str) -> None:
    with pytest.raises(InputError, match=allowed):
        sweep_run(run, over, values)


def test_seeds_out_of_range_are_refused(run: Run) -> None:
    with pytest.raises(InputError, match="from 1 to 1000"):
        sweep_run(run, "k", (4,), seeds=0)
    with pytest.raises(InputError, match=f"1 to {SEEDS} seeds"):
        sweep_run(run, "scale", seeds=SEEDS + 1)


def test_a_run_without_features_cannot_be_clustered_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "features", lambda self, source: None)
    for over in ("k", "n"):
        with pytest.raises(InputError, match="were not stored"):
            sweep_run(run, over)


def test_default_values_are_halved_from_the_top() -> None:
    assert halved(512, 20, 6) == (32, 64, 128, 256, 512)
    assert halved(1024, 8, 6) == (32, 64, 128, 256, 512, 1024)
    assert halved(5, 8, 6) == (5,)
