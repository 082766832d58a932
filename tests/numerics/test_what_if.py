"""What-if: weighted counts equal counting other texts, and the greedy list equals trying everything one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.stats.divergences import ADDED_COUNT, divergence_frontier, error_sums, probabilities
from mauve_core.stats.scores import SCORES, score_counts
from mauve_core.stats.what_if import (
    _NODES,
    ACTIONS,
    _after,
    _changed,
    _moves,
    capped,
    dropped,
    greedy,
    matched,
    weighted_counts,
)
from tests.numerics.histograms import count_pairs

# Sums of a dozen numbers of order 1 in another order.
ROUNDING = 1e-12

K = 6


@st.composite
def labelled(draw: st.DrawFn) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Labels of both sides and a whole weight for each of the candidate's texts, not all 0."""
    labels = st.lists(st.integers(0, K - 1), min_size=1, max_size=25)
    p, q = draw(labels), draw(labels)
    weights = draw(st.lists(st.integers(0, 3), min_size=len(q), max_size=len(q)).filter(any))
    return np.array(p), np.array(q), np.array(weights)


def small_pair(seed: int, k: int = 7) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts with an empty cluster on either side and one that is empty on both."""
    rng = np.random.default_rng(seed)
    p, q = rng.integers(1, 30, size=k), rng.integers(1, 30, size=k)
    p[0] = q[1] = p[2] = q[2] = 0
    return p, q


class TestWeights:
    @given(labelled(), st.sampled_from(["none", "krichevsky-trofimov"]))
    def test_whole_weights_are_texts_repeated_or_left_out(self, drawn, smoothing):
        p, q, weights = drawn
        counts = np.bincount(p, minlength=K)
        found = score_counts(counts, weighted_counts(q, K, weights), smoothing=smoothing)
        again = score_counts(counts, np.bincount(np.repeat(q, weights), minlength=K), smoothing=smoothing)
        for score, value in again.items():
            assert found[score] == pytest.approx(float(value), abs=ROUNDING)

    @given(labelled())
    def test_a_mask_keeps_texts(self, drawn):
        _, q, weights = drawn
        kept = weights > 0
        np.testing.assert_array_equal(weighted_counts(q, K, kept), np.bincount(q[kept], minlength=K))

    def test_many_weightings_at_once_against_the_slow_twin(self):
        rng = np.random.default_rng(0)
        labels, weights = rng.integers(0, K, size=30), rng.random((2, 3, 30))
        found = weighted_counts(labels, K, weights)
        twin = [[[row[labels == j].sum() for j in range(K)] for row in table] for table in weights]
        np.testing.assert_allclose(found, twin, atol=ROUNDING)
        np.testing.assert_allclose(found[1, 2], weighted_counts(labels, K, weights[1, 2]), atol=ROUNDING)

    @pytest.mark.parametrize("labels", [[0, 3], [-1, 0], [0.0, 1.0], [[0, 1]]])
    def test_labels_that_do_not_fit_are_refused(self, labels):
        with pytest.raises(InputError, match="Labels"):
            weighted_counts(labels, 3, [1.0, 1.0])


class TestClusters:
    def test_dropped(self):
        np.testing.assert_array_equal(dropped(4, [1, 3]), [1, 0, 1, 0])
        with pytest.raises(InputError, match="0 to 3"):
            dropped(4, [4])

    @pytest.mark.slow
    @given(count_pairs(), st.sampled_from([0.5, 1.0, 2.0]))
    def test_capped(self, pair, ratio):
        p, q = (probabilities(side) for side in pair)
        weights = capped(*pair, ratio)
        assert (weights <= 1).all()
        np.testing.assert_allclose(q * weights, np.minimum(q, ratio * p), atol=ROUNDING)

    @given(count_pairs(), st.integers(0, 2**12 - 1))
    def test_matched(self, pair, mask):
        p, q = (probabilities(side) for side in pair)
        clusters = [j for j in range(p.size) if mask >> j & 1]
        rest = np.setdiff1d(np.arange(p.size), clusters)
        if ((q == 0) & (p > 0))[clusters].any() or (p[rest].sum() > 0 and q[rest].sum() == 0):
            with pytest.raises(InputError, match="no text"):
                matched(*pair, clusters)
            return
        share = matched(*pair, clusters) * q
        assert share.sum() == pytest.approx(1, abs=1e-9)  # p and q differ by up to six orders of magnitude
        np.testing.assert_allclose(share[clusters], p[clusters], atol=ROUNDING)
        # The others keep their proportions.
        np.testing.assert_allclose(share[rest] * q[rest].sum(), q[rest] * share[rest].sum(), atol=ROUNDING)


class TestFastFrontier:
    @given(count_pairs())
    def test_it_is_the_frontier(self, pair):
        p, q = (probabilities(side) for side in pair)
        found, exact = error_sums(p, q), divergence_frontier(p, q)
        np.testing.assert_allclose(found, np.stack([exact.type_1, exact.type_2]), rtol=0, atol=ROUNDING)

    def test_many_at_once(self):
        rng = np.random.default_rng(0)
        p, q = rng.dirichlet(np.full(900, 0.1), size=(3, 1)), rng.dirichlet(np.full(900, 0.1), size=50)
        found, exact = error_sums(p, q), divergence_frontier(p, q)
        assert found.shape == (3, 50, 2, 25)
        np.testing.assert_allclose(found, np.stack([exact.type_1, exact.type_2], axis=-2), rtol=0, atol=ROUNDING)


def brute_force(p, q, action: str, score: str, steps: int) -> list[tuple[int, float]]:
    """Every cluster tried by itself, its counts built in a loop."""

    def table(clusters: list[int]) -> list[float] | None:
        rest = [j for j in range(len(p)) if j not in clusters]
        if action == "drop":
            return None if not sum(q[j] for j in rest) else [0 if j in clusters else q[j] for j in range(len(p))]
        human, model = sum(p[j] for j in rest) / sum(p), sum(q[j] for j in rest)
        if human > 0 and model == 0:
            return None
        by = sum(q) * human / model if model else 1.0
        return [sum(q) * p[j] / sum(p) if j in clusters else by * q[j] for j in range(len(p))]

    done: list[int] = []
    found: list[tuple[int, float]] = []
    gap = abs(SCORES[score].best - float(score_counts(p, q)[score]))
    while len(done) < steps:
        tried = {j: table([*done, j]) for j in range(len(p)) if j not in done and not (action == "drop" and q[j] == 0)}
        possible = {j: counts for j, counts in tried.items() if counts is not None}
        best = None
        if possible:
            values = score_counts(p, np.array(list(possible.values())))[score].tolist()
            for j, value in zip(possible, values, strict=True):
                if best is None or abs(SCORES[score].best - value) < abs(SCORES[score].best - best[1]) - 1e-12:
                    best = (j, value)
        if best is None or abs(SCORES[score].best - value) < abs(SCORES[score].best - best[1]) - 1e-12:
            best = (j, value)
        if best is None or abs(SCORES[score].best - best[1]) >= gap - 1e-12:
            break
        gap = abs(SCORES[score].best - best[1])
        done.append(best[0])
        found.append(best)
    return found


class TestGreedy:
    @pytest.mark.parametrize("action", ACTIONS)
    @pytest.mark.parametrize("score", SCORES)
    @pytest.mark.parametrize("seed", range(2))
    def test_against_trying_everything(self, action, score, seed):
        p, q = small_pair(seed)
        found = greedy(p, q, action=action, score=score, steps=5)
        twin = brute_force(p.tolist(), q.tolist(), action, score, 5)
        assert [step.cluster for step in found] == [cluster for cluster, _ in twin]
        for step, (_, value) in zip(found, twin, strict=True):
            assert step.scores[score] == pytest.approx(value, abs=ROUNDING)

    @pytest.mark.parametrize("action", ACTIONS)
    @pytest.mark.parametrize("score", SCORES)
    def test_many_clusters_against_trying_everything(self, action, score):
        # So many different ones that sums are interpolated; one large cluster lies outside the range of that.
        rng = np.random.default_rng(0)
        p, q = rng.integers(0, 40, size=60), rng.integers(0, 40, size=60)
        q[7] = 900
        found = greedy(p, q, action=action, score=score, steps=4)
        twin = brute_force(p.tolist(), q.tolist(), action, score, 4)
        assert [step.cluster for step in found] == [cluster for cluster, _ in twin]

    @pytest.mark.parametrize("action", ACTIONS)
    @pytest.mark.parametrize("score", SCORES)
    @pytest.mark.parametrize("large", [1000, 20_000])
    def test_fast_scores_of_all_candidates(self, action, score, large):
        # Of two large clusters the factors lie at the ends of what is interpolated, or beyond.
        rng = np.random.default_rng(1)
        p, q = rng.integers(0, 40, size=120).astype(float), rng.integers(0, 40, size=120).astype(float)
        p[3], q[7] = large, large
        done = np.arange(120) == 50
        smoothing = "krichevsky-trofimov" if score == "mauve_star" else "none"
        moves = _moves(p, q, done, action, ADDED_COUNT[smoothing])
        found = _after(probabilities(p, smoothing), moves, SCORES[score], 5.0)
        assert found.size > _NODES
        tables = np.stack([_changed(p, q, done | (np.arange(120) == cluster), action) for cluster in moves.clusters])
        np.testing.assert_allclose(found, score_counts(p, tables)[score], rtol=0, atol=ROUNDING)

    @settings(max_examples=20)
    @given(count_pairs(), st.sampled_from(sorted(SCORES)))
    def test_matching_closes_more_at_every_step(self, pair, score):
        p, q = pair
        found = greedy(p, q, score=score, steps=p.size)
        closed = [step.closed for step in found]
        assert (np.diff([0.0, *closed]) > 0).all()
        assert len({step.cluster for step in found}) == len(found)
        assert [step.filled for step in found] == [bool(q[step.cluster] == 0) for step in found]
        assert all(0 < share <= 1 + 1e-9 for share in closed)

    def test_steps_are_what_the_matched_weights_give(self):
        p, q = np.array([10, 30, 20, 40]), np.array([40, 20, 35, 5])
        found = greedy(p, q, steps=3)
        assert len(found) == 3
        for place, step in enumerate(found, start=1):
            weights = matched(p, q, [earlier.cluster for earlier in found[:place]])
            for score, value in score_counts(p, q * weights).items():
                assert step.scores[score] == pytest.approx(float(value), abs=ROUNDING)
        assert found[-1].closed == pytest.approx(1)

    def test_the_one_cluster_that_differs_is_enough(self):
        p = np.array([20, 30, 0, 25])
        q = np.array([20, 30, 150, 25])
        for action in ACTIONS:
            (only,) = greedy(p, q, action=action)
            assert only.cluster == 2
            assert only.closed == pytest.approx(1)

    def test_ties_and_equal_histograms(self):
        # Clusters 1 and 2 are alike and close more than 0 and 3, which are alike too.
        assert greedy([10, 20, 20, 10], [20, 10, 10, 20], steps=1)[0].cluster == 1
        assert greedy([3, 4, 5], [6, 8, 10]) == ()
        assert greedy([5], [9], action="drop") == ()

    @pytest.mark.parametrize(
        "wrong", [{"action": "add"}, {"score": "kl"}, {"steps": 0}, {"scale": 0.0}, {"smoothing": "laplace"}]
    )
    def test_settings_that_are_not_allowed(self, wrong):
        with pytest.raises(InputError):
            greedy([1, 2], [2, 1], **wrong)

    @pytest.mark.parametrize("counts", [([1, 2], [1, 2, 3]), ([0, 0], [1, 2]), ([[1, 2]], [[2, 1]]), ([1, -1], [1, 2])])
    def test_counts_that_are_not_histograms(self, counts):
        with pytest.raises(InputError):
            greedy(*counts)
