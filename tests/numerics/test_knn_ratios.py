"""Ratios by neighbours: hand values, a plain twin with ties, kernels, invariances, and the truth for Gaussians."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.estimators import ratio_estimators as module
from mauve_core.estimators.ratio_estimators import knn_ratios, knn_ratios_from_gram
from mauve_core.estimators.ratios import ratio_frontier
from tests.numerics.gaussian_pairs import MIDDLE, Pair, assert_swapped, mid_error, rotation


def plain(x_p, x_q, k):
    """Loops over pairs; those as far as the k-th neighbour share what is left of the k places."""
    points = np.concatenate([x_p, x_q]).astype(np.float64)
    n, m = len(x_p), len(x_q)
    logs = []
    for u in range(n + m):
        far = [(np.sum((points[u] - points[v]) ** 2), v) for v in range(n + m) if v != u]
        reach = sorted(far)[k - 1][0]
        closer = [v for distance, v in far if distance < reach * (1 - 1e-9)]
        tied = [v for distance, v in far if abs(distance - reach) <= reach * 1e-9]
        part = (k - len(closer)) / len(tied)
        of_p = sum(v < n for v in closer) + part * sum(v < n for v in tied)
        of_q = sum(v >= n for v in closer) + part * sum(v >= n for v in tied)
        with np.errstate(divide="ignore"):
            logs.append(np.log(of_p / n) - np.log(of_q / m))
    return np.array(logs)


class TestHandValues:
    def test_a_line(self):
        # P at 0, 2, 10 and Q at 1.5, 11. Two neighbours of 0 are 1.5 (Q) and 2 (P), of 10 are 11 (Q) and 2 (P), of 11
        # 10 and 2 (both P); the point itself is never one of them. Ratio (a / 3) / (b / 2).
        ratios = knn_ratios(np.array([[0.0], [2.0], [10.0]]), np.array([[1.5], [11.0]]), k=2)
        two_thirds = np.log((1 / 3) / (1 / 2))
        np.testing.assert_allclose(ratios.at_p, [two_thirds] * 3, rtol=1e-12)
        np.testing.assert_allclose(ratios.at_q, [np.inf, np.inf])
        assert ratios.notes[0] == "2 neighbors"
        assert ratios.notes[-1] == "0 of 3 points of P and 2 of 2 of Q have density on one side only"

    def test_ties_are_shared(self):
        # From 0 the points -1 (P), 1 (Q) and 1 (Q) are equally far: one neighbour is 1/3 of P and 2/3 of Q.
        ratios = knn_ratios(np.array([[0.0], [-1.0]]), np.array([[1.0], [1.0]]), k=1)
        assert ratios.at_p[0] == pytest.approx(np.log((1 / 3 / 2) / (2 / 3 / 2)), rel=1e-12)
        assert ratios.at_p[1] == np.inf  # its nearest is 0, of P
        np.testing.assert_array_equal(ratios.at_q, [-np.inf, -np.inf])  # the copies are each other's nearest

    def test_copies_of_the_same_texts_on_both_sides(self):
        """Each text has its copy nearest and then, in pairs, a text and its copy: 25 of each side and the copy."""
        x = np.random.default_rng(0).normal(size=(200, 4))
        ratios = knn_ratios(x, x.copy(), k=51)
        np.testing.assert_allclose(ratios.at_p, np.log(25 / 26), rtol=1e-9)
        np.testing.assert_allclose(ratios.at_q, np.log(26 / 25), rtol=1e-9)


class TestTwin:
    @pytest.mark.parametrize("block", [1, 7, 512])
    @pytest.mark.parametrize("grid", [False, True])
    def test_plain_loops_for_any_block(self, monkeypatch, block, grid):
        """On a grid of whole numbers most k-th distances are tied, and many points coincide."""
        monkeypatch.setattr(module, "BLOCK", block)
        rng = np.random.default_rng(1)
        sides = [rng.normal(size=(size, 3)).astype(np.float32) for size in (23, 31)]
        x_p, x_q = (np.round(side) for side in sides) if grid else sides
        for k in (1, 5, 53):
            found = knn_ratios(x_p, x_q, k=k)
            np.testing.assert_allclose(np.concatenate([found.at_p, found.at_q]), plain(x_p, x_q, k), rtol=1e-9)

    def test_linear_kernel_is_the_distance(self):
        x_p, x_q = Pair(4, shift=1.0).draw(40, 30, 0)
        x = np.concatenate([x_p, x_q]).astype(np.float32).astype(np.float64)
        features, gram = knn_ratios(x_p, x_q, k=7), knn_ratios_from_gram(x @ x.T, 40, k=7)
        np.testing.assert_allclose(gram.at_p, features.at_p, rtol=1e-12)
        np.testing.assert_allclose(gram.at_q, features.at_q, rtol=1e-12)
        single = knn_ratios_from_gram((x @ x.T).astype(np.float32), 40, k=7)
        np.testing.assert_allclose(single.at_p, features.at_p, rtol=1e-12)

    def test_kernel_of_few_values_does_not_depend_on_the_order(self):
        """Sets of letters under the share of letters in common: nearly all distances are tied."""
        rng = np.random.default_rng(2)
        member = rng.random((30, 6)) < 0.5
        member[:, 0] = True
        gram = (member @ member.T.astype(float)) / (member[:, None] | member).sum(axis=2)
        order = np.concatenate([rng.permutation(18), 18 + rng.permutation(12)])
        found, other = knn_ratios_from_gram(gram, 18, k=5), knn_ratios_from_gram(gram[np.ix_(order, order)], 18, k=5)
        np.testing.assert_allclose(other.at_p, found.at_p[order[:18]], rtol=1e-12)
        np.testing.assert_allclose(other.at_q, found.at_q[order[18:] - 18], rtol=1e-12)


class TestLaws:
    def test_swap_of_the_sides(self):
        x_p, x_q = Pair(3, shift=1.0).draw(120, 80, 0)
        assert_swapped(knn_ratios(x_p, x_q, k=9), knn_ratios(x_q, x_p, k=9), 1e-12)

    def test_rotation_shift_and_scale(self):
        x_p, x_q = Pair(5, shift=1.0).draw(100, 100, 0)
        turn = rotation(5)
        found, other = knn_ratios(x_p, x_q, k=9), knn_ratios(3 * x_p @ turn + 7, 3 * x_q @ turn + 7, k=9)
        np.testing.assert_allclose(found.at_p, other.at_p, rtol=1e-12)
        np.testing.assert_allclose(found.at_q, other.at_q, rtol=1e-12)

    def test_components_that_carry_nothing_are_left_out(self):
        x_p, x_q = Pair(2, shift=1.0).draw(100, 100, 0)
        noise = 1e-3 * np.random.default_rng(1).normal(size=(200, 30))
        wide = knn_ratios(np.c_[x_p, noise[:100]], np.c_[x_q, noise[100:]], k=9, components=2)
        found = knn_ratios(x_p, x_q, k=9)
        # A thousandth of noise turns the plane by as much, and with it few neighbours among 200.
        assert np.mean(wide.at_p == found.at_p) > 0.9


class TestTruth:
    @pytest.mark.slow
    @pytest.mark.parametrize("pair", [Pair(2, shift=1.0), pytest.param(Pair(2, scale=1.5), marks=pytest.mark.trial)])
    def test_error_shrinks_with_the_sample(self, pair):
        """k grows as the root of n, as the bound of theorem 17 wants: neighbourhoods shrink and counts grow."""
        small = mid_error(lambda x_p, x_q: knn_ratios(x_p, x_q, k=12), pair, 150, 8)
        large = mid_error(lambda x_p, x_q: knn_ratios(x_p, x_q, k=49), pair, 2400, 4)
        assert np.sqrt(np.mean(large**2)) < np.sqrt(np.mean(small**2)) / 2
        assert np.abs(large.mean(axis=0)).max() < 0.02

    def test_ends_are_near_the_closed_forms(self):
        pair = Pair(1, shift=1.0)
        found = ratio_frontier(knn_ratios(*pair.draw(2000, 2000, 0), k=60))
        type_1, type_2 = pair.divergences()
        assert found.type_1[-1] == pytest.approx(type_1, rel=0.2)
        assert found.type_2[0] == pytest.approx(type_2, rel=0.2)

    def test_equal_sources(self):
        """Chance among k neighbours alone gives each error 1 / (2 k) at the mid-point: 0.01 at 50, 0.0017 at 300."""
        errors = mid_error(knn_ratios, Pair(5), 1000, 3)
        assert 0.004 < errors.mean() < 0.016
        point = ratio_frontier(knn_ratios(*Pair(5).draw(1000, 1000, 9), k=300), weights=MIDDLE)
        assert point.type_2[0] < 0.004


class TestWhatIsRefused:
    @pytest.mark.parametrize("k", [0, 10, 2.5, True])
    def test_neighbours(self, k):
        x = np.random.default_rng(0).normal(size=(5, 2))
        with pytest.raises(InputError, match="neighbors"):
            knn_ratios(x, x + 1, k=k)

    def test_features(self):
        with pytest.raises(InputError, match="different dimensions"):
            knn_ratios(np.eye(3), np.eye(4), k=1)

    @pytest.mark.parametrize(
        ("gram", "n", "said"),
        [
            (np.ones((3, 4)), 2, "square"),
            (np.full((3, 3), np.nan), 2, "finite"),
            (np.triu(np.ones((3, 3))), 2, "symmetric"),
            (-np.eye(3), 2, "diagonal"),
            (np.eye(3), 3, "no rows for the candidate"),
            (np.eye(3), 0, "human texts"),
        ],
    )
    def test_gram_matrices(self, gram, n, said):
        with pytest.raises(InputError, match=said):
            knn_ratios_from_gram(gram, n, k=1)
