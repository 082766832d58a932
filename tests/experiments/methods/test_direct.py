"""Probabilities of two tiny models in the place of the sides: sums of tokens, and groups left out."""

from __future__ import annotations

from argparse import Namespace
from itertools import product

import numpy as np
import pytest

from mauve_core.analyses import method_fits
from mauve_core.analyses.measure_inputs import MeasureContext
from mauve_core.analyses.measure_terms import GROUPS, group_of
from mauve_core.analyses.method_fits import Likelihoods, Models, log_likelihoods
from mauve_core.analyses.method_scores import methods_run
from mauve_core.analyses.methods import Method
from mauve_core.analyses.text_measures import collection_of
from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.encoders.likelihood import negative_log_likelihoods
from mauve_core.encoders.models import load_model
from mauve_core.estimators.ratios import LogRatios, direct_ratios, ratio_atoms
from mauve_core.runs import RunStore
from mauve_core.scoring.compare import compare
from mauve_core.stats.resampling import jackknife_sd
from mauve_core.texts import corpus_from_texts
from tests.experiments.methods import plain_table
from tests.experiments.methods.plain_estimators import mauve
from tests.tiny_models import make_gpt2

pytestmark = pytest.mark.integration

N = 60
WORDS = ("rain", "moon", "dog", "train", "town", "model", "lazy", "noon")
METHODS = (Method("direct"), Method("direct", summary="mid"), Method("direct", expectation="own"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two models whose weights differ."""
    base = tmp_path_factory.mktemp("models")
    return tuple(str(make_gpt2(base / name, seed=seed)) for seed, name in enumerate(("one", "other")))


def corpus(name, seed, *, words=4):
    rng = np.random.default_rng(seed)
    texts = [f" {' '.join(rng.choice(WORDS, size=words))} {name[0]}{i}" for i in range(N)]
    return corpus_from_texts(
        texts, name=name, ids=[f"t{i}" for i in range(N)], prompts=[f"She saw {i}" for i in range(N)]
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("direct")


@pytest.fixture(scope="module")
def run(home):
    sides = {name: corpus(name, seed) for seed, name in enumerate((HUMAN, "a", "b"))}
    features = {name: np.random.default_rng(i).normal(size=(N, 4)).astype(np.float32) for i, name in enumerate(sides)}
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, restarts=1, bootstrap=100), projection=False)
    candidates = {name: side for name, side in sides.items() if name != HUMAN}
    comparison = compare(sides[HUMAN], candidates, config, features=features)
    return RunStore(home / "runs").save("direct", comparison, sides, features)


@pytest.fixture(autouse=True)
def stored(home, run, own_home, monkeypatch):
    """The run's home is the program's; asks for ``own_home`` so that this comes after it."""
    monkeypatch.setenv(HOME_VARIABLE, str(home))


def by_hand(run, folders, name):
    """Ratios from the sums of each text's tokens."""
    found = []
    for side in (HUMAN, name):
        texts = run.corpora[side]
        for folder in folders:
            loaded = load_model(folder, device="cpu", with_head=True)
            found.append(-np.array([row.sum() for row in negative_log_likelihoods(loaded, texts.texts, texts.prompts)]))
    return direct_ratios(*found)


def test_scores_are_those_of_the_summed_tokens_with_a_jackknife_over_texts(run, folders):
    table = methods_run(run, METHODS, models=Models(*folders))
    ratios = by_hand(run, folders, "a")
    for method, result in zip(METHODS, table.results, strict=True):
        score = result.scores["a"]
        expected = (
            float(method.value(*ratio_atoms(ratios)))
            if method.expectation == "union"
            else mauve(ratios.at_p, ratios.at_q, "own", 0.5)
        )
        assert score.value == pytest.approx(expected, rel=1e-9)
        assert score.low < score.value < score.high or method.expectation == "own"
        assert (score.sd_seeds, result.ceiling) == (None, None)
    notes = " ".join(table.results[0].notes)
    assert f"{np.median(ratios.at_p):.3g} nats at human texts" in notes
    assert "whatever the candidate's decoder" in notes
    models = table.settings["models"]
    assert [models[side]["name"] for side in ("human", "candidate")] == list(folders)
    assert models["human"]["digest"] != models["candidate"]["digest"]


def test_a_group_left_out_is_a_group_of_texts(run, folders):
    likelihoods = Likelihoods(Models(*folders), {name: collection_of(c, name) for name, c in run.corpora.items()})
    ratios, groups = likelihoods.ratios("b"), group_of(run.corpora["b"].ids)
    value = float(METHODS[0].value(*ratio_atoms(ratios)))
    kept = [groups != group for group in range(GROUPS) if (groups == group).any()]
    without = [float(METHODS[0].value(*ratio_atoms(LogRatios(ratios.at_p[rows], ratios.at_q[rows])))) for rows in kept]
    sd = jackknife_sd(value, without, [2 * int((~rows).sum()) for rows in kept])
    table = methods_run(run, METHODS[:1], models=Models(*folders))
    assert table.results[0].scores["b"].sd_texts == pytest.approx(sd, rel=1e-9)


def test_one_model_on_both_sides_tells_nothing_apart(run, folders):
    table = methods_run(run, METHODS, models=Models(folders[0], folders[0]))
    for result in (table.results[0], table.results[2]):
        for score in result.scores.values():
            assert score.value == pytest.approx(1.0, abs=1e-12)
    for score in table.results[1].scores.values():
        assert score.value == pytest.approx(0.0, abs=1e-12)


def test_texts_are_read_to_their_end_or_refused(folders):
    long = collection_of(corpus("long", 0, words=60), "long")
    with pytest.raises(InputError, match=f"{N} of {N} texts of 'long' are longer"):
        log_likelihoods(MeasureContext(folders[0], device="cpu"), folders[0], long)


def test_a_first_token_that_no_model_scores_is_refused(folders, monkeypatch):
    class Nothing:
        bos_token_id = eos_token_id = None

    monkeypatch.setattr(method_fits, "load_tokenizer", lambda _: Nothing)
    bare = collection_of(corpus_from_texts(["rain"], name="bare"), "bare")
    with pytest.raises(InputError, match="no token to put before a text"):
        log_likelihoods(MeasureContext(folders[0], device="cpu"), folders[0], bare)
    prompted = collection_of(corpus("p", 0), "p")
    assert log_likelihoods(MeasureContext(folders[0], device="cpu"), folders[0], prompted).shape == (N,)


def test_a_table_by_loops_has_direct_estimation_by_every_expectation(run, folders, monkeypatch):
    monkeypatch.setattr(plain_table, "NAMES", ())
    models = {"human_model": folders[0], "candidate_model": folders[1]}
    options = Namespace(**models, candidates=[], seed=3, direct_texts=20)
    rows, *_ = plain_table.table(run, options).partition("\n\n")
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows.splitlines()[2:]]
    candidates = [each.name for each in run.comparison.candidates]
    assert {(row[0], row[3]) for row in cells} == set(product(candidates, ("union", "own")))
    for sides, texts, _, expectation, value, twin, _ in cells:
        chosen = np.random.default_rng(3).permutation(N)[:20]
        ratios = Likelihoods(
            Models(*folders),
            {name: collection_of(run.corpora[name], name).take(chosen) for name in (HUMAN, sides)},
        ).ratios(sides)
        expected = mauve(ratios.at_p.tolist(), ratios.at_q.tolist(), expectation, 0.5)
        assert texts == "20 and 20"
        assert value == twin == f"{expected:.6f}"
