"""Partitions to scores with spread: equal to scoring each histogram by itself, whatever the short cuts."""

from __future__ import annotations

import dataclasses
import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import rel_entr

from mauve_core.base.config import PartitionKind, Smoothing
from mauve_core.base.errors import InputError
from mauve_core.scoring.estimates import CountSamples, basis_of, rescored, score_basis
from mauve_core.scoring.result import Comparison, Estimate
from mauve_core.stats.divergences import SMOOTHINGS, divergence_frontier, probabilities
from mauve_core.stats.scores import SCORES, score_counts
from tests.handmade import make_comparison
from tests.resampled import sample_counts
from tests.scoring.test_differences import any_units

# Sums of the same numbers in another order: at most some hundred terms of order 1, so about 100 * 2e-16.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    made = make_comparison()
    score = dataclasses.replace(made.config.score, bootstrap=100)
    return dataclasses.replace(made, config=dataclasses.replace(made.config, score=score))


def plain_twin(counts: CountSamples, scale: float, smoothing: str, confidence: float) -> dict[str, Estimate]:
    """Every histogram scored by itself, the interval put together by hand."""
    values = score_counts(counts.p, counts.q, scale=scale, smoothing=smoothing)
    resampled = score_counts(counts.p_resampled, counts.q_resampled, scale=scale, smoothing=smoothing)
    found = {}
    for score in SCORES:
        mean = float(np.mean(values[score]))
        replicates = resampled[score].mean(axis=1)
        tails = np.quantile(replicates, [(1 - confidence) / 2, (1 + confidence) / 2]) - replicates.mean()
        sd = float(np.std(values[score], ddof=1))
        over_seeds = ((1 - counts.rate) * sd) ** 2 / len(values[score])
        tails *= math.sqrt(1 + over_seeds / replicates.var(ddof=1))
        low, high = np.clip(mean + tails, *SCORES[score].bounds)
        found[score] = Estimate(mean, sd, float(low), float(high), tuple(values[score].tolist()))
    return found


@pytest.mark.parametrize("kind", ["pairwise", "joint"])
@pytest.mark.parametrize(("smoothing", "scale"), [("none", 0.5), ("none", 30.0), *((each, 5.0) for each in SMOOTHINGS)])
def test_equal_to_scoring_afresh(
    comparison: Comparison, kind: PartitionKind, smoothing: str, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    any_units(monkeypatch)
    found = rescored(comparison, kind, score_basis(comparison, kind, smoothing), scale)
    for candidate in found.candidates:
        counts = sample_counts(comparison, kind)[candidate.name]
        afresh = plain_twin(counts, scale, smoothing, comparison.config.score.confidence)
        scores = candidate.joint_scores if kind == "joint" else candidate.scores
        for score in SCORES:
            for part in ("mean", "sd", "low", "high", "values"):
                ours, theirs = getattr(scores[score], part), getattr(afresh[score], part)
                assert ours == pytest.approx(theirs, abs=ROUNDING), (candidate.name, score, part)


def test_only_the_asked_partition_and_the_scale_change(comparison: Comparison) -> None:
    found = rescored(comparison, "joint", score_basis(comparison, "joint", "none"), 2.0)
    assert found.config.score.scale == 2.0
    assert comparison.config.score.scale == 5.0
    for before, after in zip(comparison.candidates, found.candidates, strict=True):
        assert after.scores == before.scores
        assert after.joint_scores != before.joint_scores
        assert after.source == before.source


def test_units_that_support_no_interval_leave_the_whole_range(comparison: Comparison) -> None:
    found = rescored(comparison, "joint", score_basis(comparison, "joint", "none"), 2.0)
    for candidate in found.candidates:
        for name, estimate in candidate.joint_scores.items():
            assert (estimate.low, estimate.high) == SCORES[name].bounds
            assert SCORES[name].bounds[0] < estimate.mean < SCORES[name].bounds[1]


def test_a_larger_scale_never_raises_mauve(comparison: Comparison) -> None:
    basis = score_basis(comparison, "pairwise", "none")
    means = [
        [candidate.scores["mauve"].mean for candidate in rescored(comparison, "pairwise", basis, scale).candidates]
        for scale in (1.0, 2.0, 5.0, 10.0)
    ]
    assert (np.diff(means, axis=0) <= ROUNDING).all()
    assert (np.diff(means, axis=0) < 0).any()


def errors_by_definition(
    p: NDArray[np.float64], q: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """KL(Q || R) and KL(P || R), each (m,)."""
    r = np.outer(weights, p) + np.outer(1 - weights, q)
    return rel_entr(q, r).sum(axis=1), rel_entr(p, r).sum(axis=1)


@given(st.data(), st.sampled_from(list(SMOOTHINGS)))
def test_the_tabulated_frontier_is_that_of_each_histogram_alone(data: st.DataObject, smoothing: str) -> None:
    k, rows = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    p = rng.multinomial(data.draw(st.integers(1, 300)), rng.dirichlet(np.ones(k)), size=(rows, 2))
    q = rng.multinomial(data.draw(st.integers(1, 300)), rng.dirichlet(np.ones(k)), size=(rows, 2))
    found = basis_of(CountSamples(p[0], q[0], p, q), smoothing).parts["mauve"].resampled
    plain = divergence_frontier(probabilities(p, smoothing), probabilities(q, smoothing))
    np.testing.assert_allclose(found[..., 0, :], plain.type_1, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(found[..., 1, :], plain.type_2, rtol=0, atol=ROUNDING)
    for place in np.ndindex(rows, 2):
        sides = probabilities(p[place], smoothing), probabilities(q[place], smoothing)
        assert np.abs(found[place] - errors_by_definition(*sides, plain.weights)).max() < ROUNDING


def test_an_unknown_smoothing_is_refused(comparison: Comparison) -> None:
    with pytest.raises(InputError, match="krichevsky-trofimov"):
        score_basis(comparison, "pairwise", "lidstone")


def test_the_settings_know_every_smoothing() -> None:
    assert get_args(Smoothing) == tuple(SMOOTHINGS)
