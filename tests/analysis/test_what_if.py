"""What-if over a comparison: equal to scoring the same weighted histograms one by one, under every seed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mauve_core.analyses import gap as module
from mauve_core.analyses.gap import prepare, text_weights, what_if
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.scoring.estimates import count_blocks, resamples, rescored, score_basis, two_sides
from mauve_core.scoring.result import Comparison, Estimate
from mauve_core.stats.scores import SCORES, score_counts
from mauve_core.stats.units import Draws, centred_interval
from tests import handmade

pytestmark = pytest.mark.integration

# The fast frontier of the resamples is right to some 1e-14 nats, and a score moves by at most c = 5 times that.
ROUNDING = 1e-12

MODEL = "b"

# Enough texts for intervals.
N = {name: 4 * n for name, n in handmade.N.items()}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """With few resamples: the plain twin scores each of them by itself."""
    made = grown(handmade.make_comparison(), 4, handmade.K)
    score = dataclasses.replace(made.config.score, bootstrap=100)
    return dataclasses.replace(made, config=dataclasses.replace(made.config, score=score))


def grown(comparison: Comparison, times: int, k: int) -> Comparison:
    """So many times the texts, in k clusters."""
    rng = np.random.default_rng(3)

    def source(each):
        return dataclasses.replace(each, n=times * each.n)

    def partition(part):
        labels = {name: rng.integers(k, size=times * own.size).astype(np.int32) for name, own in part.labels.items()}
        return dataclasses.replace(part, k=k, labels=labels)

    candidates = tuple(
        dataclasses.replace(each, source=source(each.source), partitions=tuple(partition(p) for p in each.partitions))
        for each in comparison.candidates
    )
    joint = tuple(partition(part) for part in comparison.joint)
    human = source(comparison.human)
    return dataclasses.replace(comparison, human=human, candidates=candidates, joint=joint, halves=None)


def assert_close(found: Estimate, expected: Estimate) -> None:
    for part in ("mean", "sd", "low", "high", "values"):
        assert getattr(found, part) == pytest.approx(getattr(expected, part), abs=ROUNDING), part


@pytest.mark.parametrize("kind", ["pairwise", "joint"])
@pytest.mark.parametrize("smoothing", ["none", "krichevsky-trofimov"])
def test_without_weights_it_is_the_comparison(comparison: Comparison, kind, smoothing: str) -> None:
    again = rescored(comparison, kind, score_basis(comparison, kind, smoothing), comparison.config.score.scale)
    scored = again.candidate(MODEL)
    expected = scored.joint_scores if kind == "joint" else scored.scores
    found = what_if(prepare(comparison, MODEL, kind, smoothing))
    assert found.texts == {HUMAN: N[HUMAN], MODEL: N[MODEL]}
    for score in SCORES:
        assert_close(found.before[score], expected[score])
        assert_close(found.after[score], expected[score])
        assert found.change[score] == Estimate(0.0, 0.0, 0.0, 0.0, (0.0, 0.0))


def test_against_a_plain_twin(comparison: Comparison) -> None:
    human, model = np.tile([1, 2, 0.5, 1, 1, 3, 1], 4), np.tile([1, 1, 0.25, 1, 2, 1], 4)
    found = what_if(prepare(comparison, MODEL), human=human, model=model)
    parts = comparison.candidate(MODEL).partitions
    draws = resamples(comparison, MODEL)

    def scores_of(part, p_weights, q_weights) -> list[float]:
        tables = [
            [sum(w for w, at in zip(weights, part.labels[source], strict=True) if at == j) for j in range(part.k)]
            for source, weights in ((HUMAN, p_weights), (MODEL, q_weights))
        ]
        return [float(value) for value in score_counts(*tables).values()]

    table = np.array([scores_of(part, human, model) for part in parts])
    replicates = np.array(
        [
            [np.mean([scores_of(part, a * w, b * v) for part in parts], axis=0) for w, v in ((human, model), (1, 1))]
            for a, b in zip(draws[HUMAN], draws[MODEL], strict=True)
        ]
    )
    tail = (1 - comparison.config.score.confidence) / 2
    for place, (score, (lowest, highest)) in enumerate((name, each.bounds) for name, each in SCORES.items()):
        after, change = replicates[:, 0, place], replicates[:, 0, place] - replicates[:, 1, place]
        assert found.after[score].values == pytest.approx(table[:, place], abs=ROUNDING)
        assert found.after[score].sd == pytest.approx(np.std(table[:, place], ddof=1), abs=ROUNDING)
        ends = table[:, place].mean() + np.quantile(after, [tail, 1 - tail]) - after.mean()
        assert found.after[score].low == pytest.approx(max(ends[0], lowest), abs=ROUNDING)
        assert found.after[score].high == pytest.approx(min(ends[1], highest), abs=ROUNDING)
        moved = found.after[score].mean - found.before[score].mean
        assert found.change[score].mean == pytest.approx(moved, abs=ROUNDING)
        ends = moved + np.quantile(change, [tail, 1 - tail]) - change.mean()
        assert found.change[score].low == pytest.approx(max(ends[0], lowest - highest), abs=ROUNDING)
        assert found.change[score].high == pytest.approx(min(ends[1], highest - lowest), abs=ROUNDING)


@pytest.mark.parametrize("smoothing", ["none", "krichevsky-trofimov", "laplace"])
@pytest.mark.parametrize("weights", ["few texts", "rest thinned", "human side too", "half gone"])
def test_kept_sums_give_what_counting_anew_gives(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch, smoothing: str, weights: str
) -> None:
    """Of many clusters, few of which change; what the kept sums do not serve is counted anew either way."""
    many = grown(comparison, 10, 60)
    part = many.candidate(MODEL).partitions[0]
    human, model = (np.ones(part.labels[source].size) for source in (HUMAN, MODEL))
    model[part.labels[MODEL] == 7] = 0.0
    if weights == "rest thinned":
        model = np.where(model == 0, 1.5, 0.7)
    if weights == "human side too":
        human[part.labels[HUMAN] == 9] = 0.25
    if weights == "half gone":
        model[::2] = 0.0
    prepared = prepare(many, MODEL, "pairwise", smoothing)
    fast = what_if(prepared, human=human, model=model)
    monkeypatch.setattr(module, "MOST_TOUCHED", -1.0)
    slow = what_if(prepared, human=human, model=model)
    for score in SCORES:
        assert_close(fast.after[score], slow.after[score])
        assert_close(fast.change[score], slow.change[score])


def test_the_weights_of_a_cluster_are_those_of_its_texts(comparison: Comparison) -> None:
    part = comparison.candidate(MODEL).partitions[0]
    by_cluster = np.array([1.0, 0.5, 2.0])
    texts = text_weights(part, MODEL, by_cluster)
    found = what_if(prepare(comparison, MODEL), model=texts)
    expected = score_counts(part.counts(HUMAN), part.counts(MODEL) * by_cluster)
    for score in SCORES:
        assert found.after[score].values[0] == pytest.approx(float(expected[score]), abs=ROUNDING)


def test_resamples_draw_the_texts_of_the_intervals_and_exchange_none(comparison: Comparison) -> None:
    sides, bootstrap = two_sides(comparison, "joint", MODEL), comparison.config.score.bootstrap
    drawn = resamples(comparison, MODEL)
    assert {source: draws.shape for source, draws in drawn.items()} == {
        HUMAN: (bootstrap, N[HUMAN]),
        MODEL: (bootstrap, N[MODEL]),
    }
    part = comparison.joint[1]
    draws = Draws(sides.units, bootstrap, np.random.default_rng(sides.seed))
    for source, counted in zip((HUMAN, MODEL), sides.resampled(draws, 0.0), strict=True):
        one = np.bincount(part.labels[source], weights=drawn[source][3], minlength=part.k)
        np.testing.assert_array_equal(counted[3, 1], one)
    assert not np.array_equal(drawn[MODEL][0], drawn[MODEL][1])
    block = next(count_blocks(sides, comparison.config.score))
    rate = sides.exchange_rate(bootstrap)
    assert rate > 0
    for counted, weights in zip((block.p_resampled, block.q_resampled), draws.weights(rate), strict=True):
        labels = np.concatenate([part.labels[HUMAN], part.labels[MODEL]])
        np.testing.assert_array_equal(counted[3, 1], np.bincount(labels, weights=weights[3], minlength=part.k))


def test_only_scores_with_other_weights_are_without_exchange(comparison: Comparison) -> None:
    prepared = prepare(comparison, MODEL)
    exchanged, plain = prepared.before["frontier_integral"], prepared.drawn_before["frontier_integral"]
    np.testing.assert_allclose(exchanged.values, plain.values, rtol=0, atol=ROUNDING)
    assert exchanged.resampled.mean() < plain.resampled.mean()  # exchange brings the sides closer
    found = what_if(prepared, model=np.ones(N[MODEL]) * 2)  # the same shares with other weights
    assert found.after["frontier_integral"].mean == pytest.approx(exchanged.values.mean(), abs=ROUNDING)
    low, high = centred_interval(plain.values.mean(), plain.resampled.mean(axis=1), 0.95, bounds=(0.0, 1.0))
    assert (found.after["frontier_integral"].low, found.after["frontier_integral"].high) == pytest.approx(
        (low, high), abs=ROUNDING
    )
    for score in set(SCORES) - {"mauve_star"}:  # whose smoothing adds as many texts to twice as many
        change = found.change[score]
        assert (change.mean, change.low, change.high) == pytest.approx((0, 0, 0), abs=ROUNDING)


def test_too_few_units_have_no_interval() -> None:
    found = what_if(prepare(handmade.make_comparison(), MODEL), model=np.arange(1, 7))
    for score, (low, high) in ((name, each.bounds) for name, each in SCORES.items()):
        assert (found.before[score].low, found.after[score].high) == (low, high)
        assert (found.change[score].low, found.change[score].high) == (low - high, high - low)


def test_weights_that_are_refused(comparison: Comparison) -> None:
    for weights in ([1.0], np.zeros(N[MODEL]), -np.ones(N[MODEL]), np.full(N[MODEL], np.nan)):
        with pytest.raises(InputError, match="weights of 'b'"):
            what_if(prepare(comparison, MODEL), model=weights)
    with pytest.raises(InputError, match="a resample contains none"):
        what_if(prepare(comparison, MODEL), model=np.arange(N[MODEL]) == 0)
    part = comparison.joint[0]
    with pytest.raises(InputError, match="do not match the clusters"):
        text_weights(part, MODEL, [1.0, 2.0])
    with pytest.raises(InputError, match="No source named"):
        text_weights(part, "other", np.ones(3))
    with pytest.raises(InputError, match="No candidate named 'other'"):
        resamples(comparison, "other")
