"""Methods on a made-up run whose truth is known: ``close`` before ``shifted`` before ``collapsed``."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from mauve_core.__main__ import main
from mauve_core.analyses.method_fits import MMD_SPLITS, WITHOUT_HALVES, Binned, fit
from mauve_core.analyses.method_scores import (
    TEST_STAGE,
    Disagreement,
    MethodResult,
    MethodScore,
    MethodTable,
    disagreements,
    methods_run,
    score_of,
    sides_of,
    stored_methods,
)
from mauve_core.analyses.methods import ESTIMATORS, Method, parse_method
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.base.formatting import written
from mauve_core.base.json_codec import dataclass_to_json, from_json
from mauve_core.clusters.quantisers import QUANTISERS
from mauve_core.clusters.residual_mixture import ResidualMixtureQuantiser
from mauve_core.estimators.kernel_discrepancy import mmd
from mauve_core.estimators.transport import FrechetLimit
from mauve_core.runs import RunStore
from mauve_core.scoring.streams import stream
from mauve_core.stats.divergences import probabilities
from mauve_core.stats.resampling import bias_reduced
from mauve_core.stats.scores import SCORES
from mauve_core.stats.units import units_of
from mauve_core.texts.pairing import keys_of, unit_names
from tests.synthetic import make_run

pytestmark = pytest.mark.integration

NAMES = ("close", "shifted", "collapsed")
# A quantiser whose training takes long; whether it has learnt all that it can is no question of the order.
BRIEFLY_TRAINED = {"drmm": ResidualMixtureQuantiser(epochs=3)}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("methods")


@pytest.fixture(scope="module")
def run(home):
    return make_run(home, projection=False)


@pytest.fixture(autouse=True)
def stored(home, run, own_home, monkeypatch):
    """The run's home is the program's; asks for ``own_home`` so that this comes after it."""
    monkeypatch.setenv(HOME_VARIABLE, str(home))


def test_k_means_has_the_digits_of_the_leaderboard(run):
    scores = dict(zip(SCORES, ("kmeans", "kmeans:smoothing=krichevsky-trofimov", "kmeans:summary=frontier-integral",
                               "kmeans:summary=mid"), strict=True))  # fmt: skip
    table = methods_run(run, [parse_method(spec) for spec in scores.values()])
    for score, result in zip(scores, table.results, strict=True):
        for name in NAMES:
            estimate = run.comparison.candidate(name).scores[score]
            # The run sums shares of an error by tables: equal but for the last few bits.
            assert result.scores[name].value == pytest.approx(estimate.mean, rel=1e-11)
            assert result.scores[name].sd_seeds == pytest.approx(estimate.sd, rel=1e-6)


@pytest.mark.trial
@pytest.mark.parametrize("estimator", [name for name in ESTIMATORS if name not in WITHOUT_HALVES])
def test_every_estimator_finds_the_order_that_is_true(run, estimator, monkeypatch, one_torch_thread):
    if estimator in BRIEFLY_TRAINED:
        monkeypatch.setitem(QUANTISERS, estimator, BRIEFLY_TRAINED[estimator])
    (result,) = methods_run(run, [Method(estimator)], seeds=2).results
    closeness = result.closeness(NAMES)
    assert closeness[0] > closeness[1] > closeness[2]
    sign = 1 if result.method.higher_is_closer else -1
    if estimator in ("drmm", "lattice"):  # so many bins that even equal sides hardly meet in one
        assert "fewer points than bins" in " ".join(result.notes)
    else:
        assert sign * result.ceiling.value > closeness[2]
    assert result.ceiling.n == run.comparison.human.n // 2
    for score in result.scores.values():
        assert score.n == run.comparison.human.n
        assert score.sd_seeds is not None or score.sd_texts is not None


def test_the_spread_over_texts_is_a_jackknife_on_fixed_clusters(run):
    from mauve_core.analyses.measure_terms import GROUPS, group_of
    from mauve_core.stats.resampling import jackknife_sd

    method = Method(summary="mid", smoothing="laplace")
    score = methods_run(run, [method]).results[0].scores["shifted"]
    partitions = run.comparison.candidate("shifted").partitions
    groups = {side: group_of(run.corpora[side].ids) for side in (HUMAN, "shifted")}

    def value(without):
        values = []
        for part in partitions:
            kept = {side: part.labels[side][groups[side] != without] for side in groups}
            p, q = (probabilities(np.bincount(kept[side], minlength=part.k), "laplace") for side in groups)
            values.append(float(method.value(p, q)))
        return float(np.mean(values))

    present = [g for g in range(GROUPS) if any((array == g).any() for array in groups.values())]
    sizes = [sum(int((array == g).sum()) for array in groups.values()) for g in present]
    assert score.sd_texts == pytest.approx(jackknife_sd(value(-1), [value(g) for g in present], sizes), rel=1e-9)
    assert score.low < score.value < score.high


def test_an_estimator_that_cannot_take_the_texts_is_left_out_and_named(run, monkeypatch):
    from mauve_core.analyses import method_fits

    def refuse(sides, seed):
        raise InputError("The texts are too short")

    monkeypatch.setitem(method_fits._FITS, "knn", refuse)
    table = methods_run(run, [Method("knn"), Method("frechet")])
    assert [result.method for result in table.results] == [Method("frechet")]
    assert table.notes == ("Nearest neighbors is left out: The texts are too short.",)
    with pytest.raises(InputError, match="too short"):
        methods_run(run, [Method("knn")])


def test_a_caveat_names_its_candidates(run, monkeypatch):
    table = methods_run(run, [Method("frechet"), Method("frechet-limit")])
    plain, limit = table.results
    assert table.notes == ()
    for name in NAMES:
        assert limit.scores[name].value < plain.scores[name].value
        # Both leave out the same groups, and what is taken off stays.
        assert limit.scores[name].sd_texts == pytest.approx(plain.scores[name].sd_texts, rel=1e-6)
    monkeypatch.setattr(FrechetLimit, "bends", True)
    (note,) = methods_run(run, [Method("frechet-limit")]).notes
    assert note.startswith("Fréchet distance, n to infinity, close, shifted, collapsed: with ")


def test_an_infinite_value_stays_one_and_has_no_spread(run):
    table = methods_run(run, [Method(summary="forward-kl")])
    score = table.results[0].scores["collapsed"]
    assert math.isinf(score.value)
    assert (score.sd_seeds, score.sd_texts, score.low, score.high) == (None, None, None, None)
    text = json.dumps(dataclass_to_json(table), allow_nan=False)
    assert from_json(MethodTable, json.loads(text)) == table


def test_a_permutation_test_tells_far_sides_from_equal_ones(run):
    methods = [Method(), Method(summary="mid", smoothing="laplace"), Method("knn")]
    stages = []
    table = methods_run(run, methods, permutations=199, progress=lambda *told: stages.append(told))
    assert [told for told in stages if told[0] == TEST_STAGE][-1] == (TEST_STAGE, len(methods), len(methods))
    for result in table.results[:2]:
        assert result.scores["collapsed"].p_value == pytest.approx(1 / 200, abs=1e-12)  # no draw comes near
        assert result.scores["close"].p_value > 0.05
    assert all(score.p_value is None for score in table.results[2].scores.values())
    again = methods_run(run, methods[:1], permutations=199).results[0]
    assert again.scores == table.results[0].scores


def test_too_few_units_have_neither_spread_nor_test(run):
    corpora = {name: replace(corpus, prompts=("one",) * len(corpus)) for name, corpus in run.corpora.items()}
    table = methods_run(replace(run, corpora=corpora), [Method()], permutations=9)
    for score in table.results[0].scores.values():
        assert (score.sd_texts, score.low, score.high, score.p_value) == (None,) * 4
    assert "neither spread nor test: 1 independent units on a side" in table.notes[0]


def test_equal_prompts_decide_what_is_left_out_and_exchanged(run):
    """Every text keeps its prompt and gets an id of its own, or that of another: no number changes."""
    methods = [Method(), Method("knn")]
    before = methods_run(run, methods, permutations=99)
    for rename in (lambda name, own: [f"{name} {i}" for i in own], lambda name, own: own[::-1]):
        corpora = {
            name: corpus if name == HUMAN else replace(corpus, ids=tuple(rename(name, corpus.ids)))
            for name, corpus in run.corpora.items()
        }
        after = methods_run(replace(run, corpora=corpora), methods, permutations=99)
        assert [result.scores for result in after.results] == [result.scores for result in before.results]


def test_the_mmd_says_how_far_above_halves_of_the_human_texts_it_lies(run, capsys):
    method, other = Method("mmd"), Method("frechet")
    table = methods_run(run, [method, other])
    found = {name: table.results[0].scores[name] for name in NAMES}
    assert abs(found["close"].z) < found["shifted"].z < found["collapsed"].z
    assert all(score.z is None for score in table.results[1].scores.values())
    values = json.loads(json.dumps(dataclass_to_json(table)))
    assert from_json(MethodTable, values) == table
    assert main(["methods", run.id, "--method", "mmd", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert f"(z = {written(found['collapsed'].z, 1)})" in said
    assert "z: standard scores" in said


def test_the_mmd_without_a_group_is_that_of_the_other_texts(run):
    sides = sides_of(run, "shifted")
    fitted = fit("mmd", sides, np.random.SeedSequence(5))
    whole = mmd(sides.x_p, sides.x_q, splits=MMD_SPLITS, seed=np.random.SeedSequence(5))
    assert (fitted.value(Method("mmd")), fitted.z) == (whole.value, whole.z)
    found = fitted.left_out(Method("mmd"))
    alone = [
        mmd(sides.x_p[p], sides.x_q[q], splits=2, seed=np.random.SeedSequence(5)).value for p, q in sides.jackknife_rows
    ]
    assert found == pytest.approx(alone, rel=1e-10)


def score(value, reach):
    return MethodScore(value, None, reach, value - reach, value + reach, 100)


def test_disagreements_name_both_candidates_and_whether_chance_may_have_turned_them():
    first = MethodResult(Method(), {"a": score(0.9, 0.01), "b": score(0.5, 0.01), "c": score(0.48, 0.1)}, None, 0.0)
    other = MethodResult(
        Method("frechet"), {"a": score(3.0, 0.1), "b": score(1.0, 0.1), "c": score(0.9, 0.01)}, None, 0.0
    )
    table = MethodTable((first, other))
    found = disagreements(table, None)
    apart, close = found[0], found[-1]
    assert apart == Disagreement(Method("frechet"), "b", "a", told_apart=True)
    assert close == Disagreement(Method("frechet"), "c", "b", told_apart=False)
    assert "length" in apart.reason
    assert table.agreement() == pytest.approx(np.array([[1.0, -1.0], [-1.0, 1.0]]))


def test_a_bias_reduced_method_has_its_own_interval_and_ranks_and_is_closer(run, capsys):
    specs = ("kmeans", "kmeans:correction=bootstrap", "kmeans:summary=mid,correction=bootstrap")
    words = ["methods", run.id, *(word for spec in specs for word in ("--method", spec)), "--quiet"]
    assert main([*words, "--permutations", "9"]) == 0
    said = capsys.readouterr().out
    assert "k-means · bias-reduced · MAUVE" in said
    assert "Corrections: bootstrap takes the bootstrap's bias off both errors" in said
    table = stored_methods(RunStore().load(run.id))
    plain, reduced, mid = table.results
    assert [result.method.spec for result in table.results] == list(specs)
    for name in NAMES:
        assert plain.scores[name].value < reduced.scores[name].value <= 1
        assert reduced.scores[name].low <= reduced.scores[name].value <= reduced.scores[name].high
        assert mid.scores[name].sd_texts > 0
        assert plain.scores[name].p_value is not None
        assert reduced.scores[name].p_value is None
    assert plain.ceiling.value < reduced.ceiling.value
    assert score_of(plain.method, run.comparison) == "mauve"
    assert score_of(reduced.method, run.comparison) is None
    assert methods_run(run, [reduced.method]).results[0].scores == reduced.scores


def test_a_correction_draws_the_units_of_the_texts_that_are_left(run):
    """The first fit again by hand: resamples of units, with and without the first group of texts."""
    method = Method(summary="mid", correction="bootstrap")
    sides = sides_of(run, "shifted")
    part = run.comparison.candidate("shifted").partitions[0]
    binned = Binned(part.labels[HUMAN], part.labels["shifted"], part.k, sides)
    everything = tuple(np.arange(side.size) for side in binned.labels)
    for rows, found in ((everything, binned.value(method)), (sides.jackknife_rows[0], binned.left_out(method)[0])):
        labels = [own[kept] for own, kept in zip(binned.labels, rows, strict=True)]
        names = unit_names(keys_of(run.corpora))
        own = [np.array(names[side])[kept] for side, kept in zip((HUMAN, "shifted"), rows, strict=True)]
        codes = np.unique(np.concatenate(own), return_inverse=True)[1]
        units = units_of(codes[: len(rows[0])], codes[len(rows[0]) :])
        assert units.shared.size
        seed = stream(run.comparison.config.score.seed, "correction")
        assert found == float(bias_reduced(*labels, part.k, units, seed=seed).mid)
