"""Scores against mauve-text, used as an installed program, from equal histograms.

Its public functions take histograms directly, and features that form separated groups reach known histograms through
its whole pipeline. Where it leaves its own definition (scores of equal and nearly equal histograms) its defect is
shown beside the value that a 60-digit calculation gives.
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

from mauve_core.scoring.compute_mauve import compute_mauve
from mauve_core.stats.divergences import (
    REFERENCE_WEIGHTS,
    divergence_frontier,
    frontier_integral,
    mauve,
    reference_weights,
)
from mauve_core.stats.scores import score_counts
from tests.numerics.histograms import exact_frontier_integral, near_pair, relative_error

pytest.importorskip("mauve", reason="mauve-text is not installed")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what its imports say is not ours to judge
    peer: Any = importlib.import_module("mauve.compute_mauve")

# Agreed between the two packages; ours keeps about 1e-13, the peer's sums cancel to about 1e-10 near p = q.
PARITY = 1e-9
SCORES = ("mauve", "mauve_star", "frontier_integral", "frontier_integral_star")


def grouped(counts: list[int], seed: int) -> np.ndarray:
    """Features of separated groups of the given sizes."""
    noise = 1e-3 * np.random.default_rng(seed).normal(size=(sum(counts), len(counts)))
    return (np.repeat(10 * np.eye(len(counts)), counts, axis=0) + noise).astype(np.float32)


def histograms(result: Any) -> list[tuple[float, float]]:
    """(p, q) of each bin, in an order that does not depend on the numbers that clusters were given."""
    return sorted(zip(result.p_hist.tolist(), result.q_hist.tolist(), strict=True))


def random_counts(k: int, n: int, concentration: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(k, concentration), size=2)
    return rng.multinomial(n, p), rng.multinomial(n - n // 7, q)


@pytest.mark.parametrize("concentration", [0.05, 0.5, 5.0, 500.0])
@pytest.mark.parametrize(("k", "n"), [(2, 30), (10, 100), (50, 500), (500, 5000)])
def test_functions_of_histograms(concentration: float, k: int, n: int) -> None:
    for seed, scale in enumerate((1.0, 5.0, 25.0)):
        p_counts, q_counts = random_counts(k, n, concentration, seed)
        p, q = p_counts / p_counts.sum(), q_counts / q_counts.sum()
        theirs = peer.get_divergence_curve_for_multinomials(p, q, REFERENCE_WEIGHTS, scale)
        ours = np.stack(divergence_frontier(p, q).curve(scale), axis=1)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
        # The area of the peer's own points, by the rule of its function.
        assert mauve(p, q, scale) == pytest.approx(peer.compute_area_under_curve(*theirs.T), abs=PARITY)
        assert frontier_integral(p, q) == pytest.approx(peer.get_fronter_integral(p, q), abs=PARITY)


@pytest.mark.parametrize("size", [2, 10, 25, 100])
def test_other_grids(size: int) -> None:
    p_counts, q_counts = random_counts(30, 300, 1.0, 0)
    p, q = p_counts / p_counts.sum(), q_counts / q_counts.sum()
    weights = reference_weights(size)
    theirs = peer.get_divergence_curve_for_multinomials(p, q, weights, 5)
    np.testing.assert_allclose(np.stack(divergence_frontier(p, q, weights).curve(5.0), axis=1), theirs, atol=1e-12)


@pytest.mark.parametrize(("scale", "size", "shift"), [(5, 25, 0.1), (5, 25, 2.0), (1, 25, 0.5), (5, 11, 0.5)])
def test_whole_pipeline_of_the_peer_given_the_histograms_it_found(scale: int, size: int, shift: float) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(400, 8)), rng.normal(size=(300, 8)) + shift
    theirs = peer.compute_mauve(
        p_features=x, q_features=y, mauve_scaling_factor=scale, divergence_curve_discretization_size=size
    )
    assert theirs.num_buckets == 30
    p_counts, q_counts = np.rint(theirs.p_hist * 400), np.rint(theirs.q_hist * 300)
    np.testing.assert_allclose(theirs.p_hist, p_counts / 400, rtol=1e-14)
    plain = score_counts(p_counts, q_counts, scale=scale)
    star = score_counts(p_counts, q_counts, scale=scale, smoothing="krichevsky-trofimov")
    assert plain["frontier_integral"] == pytest.approx(theirs.frontier_integral, abs=PARITY)
    assert star["frontier_integral"] == pytest.approx(theirs.frontier_integral_star, abs=PARITY)
    if size == 25:
        assert plain["mauve"] == pytest.approx(theirs.mauve, abs=PARITY)
        assert plain["mauve_star"] == pytest.approx(theirs.mauve_star, abs=PARITY)
    weights = reference_weights(size)
    curve = divergence_frontier(theirs.p_hist, theirs.q_hist, weights).curve(float(scale))
    np.testing.assert_allclose(np.stack(curve, axis=1), theirs.divergence_curve, atol=1e-12)


@pytest.mark.parametrize(
    ("p_counts", "q_counts"),
    [
        ([40, 30, 20, 10], [10, 20, 30, 40]),
        ([40, 30, 0, 30], [0, 20, 50, 30]),  # bins that one side leaves empty
        ([50, 0, 50, 0], [0, 50, 0, 50]),  # disjoint
        ([97, 1, 1, 1], [1, 1, 1, 97]),
        ([25, 25, 25, 25], [26, 24, 25, 25]),
    ],
)
def test_both_pipelines_on_features_whose_histograms_are_known(p_counts: list[int], q_counts: list[int]) -> None:
    options = {"num_buckets": 4, "kmeans_explained_var": 0.9999, "kmeans_num_redo": 20}
    x, y = grouped(p_counts, 0), grouped(q_counts, 1)
    ours, theirs = (function(p_features=x, q_features=y, **options) for function in (compute_mauve, peer.compute_mauve))
    known = sorted((a / 100, b / 100) for a, b in zip(p_counts, q_counts, strict=True))
    np.testing.assert_allclose(histograms(ours), known, rtol=1e-14)
    np.testing.assert_allclose(histograms(theirs), known, rtol=1e-14)
    for score in SCORES:
        assert getattr(ours, score) == pytest.approx(getattr(theirs, score), abs=PARITY)
    assert ours.num_buckets == theirs.num_buckets == 4
    np.testing.assert_allclose(ours.divergence_curve, theirs.divergence_curve, atol=1e-12)


@pytest.mark.parametrize(("n", "m"), [(15, 15), (25, 40), (35, 35), (45, 60), (9, 9), (55, 205)])
def test_the_default_number_of_clusters(n: int, m: int) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(n, 8)), rng.normal(size=(m, 8))
    theirs = peer.compute_mauve(p_features=x, q_features=y)
    with pytest.warns(UserWarning, match="fewer than 100 per side"):
        assert compute_mauve(p_features=x, q_features=y).num_buckets == theirs.num_buckets


class TestWhereThePeerLeavesItsDefinition:
    def test_equal_histograms_of_four_bins(self) -> None:
        # P = Q: every point of the curve is (1, 1) and the area is 1. The peer's differ from 1 by rounding, its order
        # of the points goes wrong there, and a quarter of the area is lost.
        x, y = grouped([300] * 4, 0), grouped([301] * 4, 1)
        ours, theirs = (f(p_features=x, q_features=y, num_buckets=4) for f in (compute_mauve, peer.compute_mauve))
        np.testing.assert_array_equal(theirs.p_hist, theirs.q_hist)
        assert theirs.mauve == pytest.approx(0.75)
        assert ours.mauve == ours.mauve_star == 1.0
        assert ours.frontier_integral == ours.frontier_integral_star == 0.0

    @pytest.mark.parametrize("epsilon", [3e-6, 1e-6, 3e-7, 1e-7])
    def test_frontier_integral_turns_negative_near_equality(self, epsilon: float) -> None:
        theirs_negative = 0
        for seed in range(20):
            p, q = near_pair(epsilon, seed)
            assert relative_error(frontier_integral(p, q), exact_frontier_integral(p, q)) < 1e-13
            theirs_negative += peer.get_fronter_integral(p, q) < 0
        assert theirs_negative >= 5

    @pytest.mark.parametrize("epsilon", [1e-5, 1e-8, 1e-11])
    def test_frontier_integral_has_no_right_digit_near_equality(self, epsilon: float) -> None:
        worst = 0.0
        for seed in range(20):
            p, q = near_pair(epsilon, seed)
            truth = exact_frontier_integral(p, q)
            assert relative_error(frontier_integral(p, q), truth) < 1e-13
            worst = max(worst, relative_error(peer.get_fronter_integral(p, q), truth))
        assert worst > 0.1

    @pytest.mark.parametrize("epsilon", [1e-6, 1e-9, 1e-12])
    def test_curve_and_area_of_near_equal_histograms(self, epsilon: float) -> None:
        theirs_beyond = theirs_without_area = 0
        for seed in range(20):
            p, q = near_pair(epsilon, seed)
            x, y = divergence_frontier(p, q).curve(5.0)
            assert 0 <= min(x.min(), y.min()) <= max(x.max(), y.max()) <= 1
            # 1 - MAUVE is below c times the larger error at the ends, c epsilon^2 / 2 each.
            assert 1 - 5 * epsilon**2 - 1e-15 <= mauve(p, q) <= 1
            theirs = peer.get_divergence_curve_for_multinomials(p, q, REFERENCE_WEIGHTS, 5)
            theirs_beyond += theirs.max() > 1
            if np.any(np.diff(theirs[:, 0]) > 0):  # x must fall, and the area refuses an x that turns back
                theirs_without_area += 1
                with pytest.raises(ValueError, match="neither increasing nor decreasing"):
                    peer.compute_area_under_curve(*theirs.T)
        assert theirs_beyond > 0
        assert theirs_without_area > 0
