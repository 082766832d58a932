"""Merged bins, error against k, and the number of clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import with_spread
from mauve_core.stats.divergences import frontier_integral, mauve, mid_point
from mauve_core.stats.sampling_error import PlugIn, errors_against_k, merged, recommend_clusters
from tests.numerics.histograms import count_pairs
from tests.numerics.sampled import assert_equal, sample


class TestMerged:
    def test_hand_values(self):
        p, q = merged([6, 0, 3, 1], [1, 4, 3, 2], 2)
        # p / (p + q) is 6/7, 0, 1/2, 1/3: the second and fourth bins, then the third and first.
        assert p.tolist() == [1, 9]
        assert q.tolist() == [6, 4]
        # An empty bin counts as a half, between 1/4 and 2/3.
        p, q = merged([4, 0, 1], [2, 0, 3], 3)
        assert p.tolist() == [1, 0, 4]
        assert q.tolist() == [3, 0, 2]

    @given(count_pairs(), st.data())
    def test_texts_are_kept_and_no_score_grows(self, pair, data):
        p_counts, q_counts = pair
        k = data.draw(st.integers(1, p_counts.size))
        p, q = merged(p_counts, q_counts, k)
        assert p.shape == q.shape == (k,)
        assert (p.sum(), q.sum()) == (p_counts.sum(), q_counts.sum())
        fine = frontier_integral(p_counts / p_counts.sum(), q_counts / q_counts.sum())
        assert frontier_integral(p / p.sum(), q / q.sum()) <= fine + 1e-14
        if k == p_counts.size:
            assert sorted(zip(p, q, strict=True)) == sorted(zip(p_counts, q_counts, strict=True))

    def test_neighbours_in_the_ratio_lose_less_than_bins_at_random(self):
        counts = sample(k=200, n=20_000, m=20_000)
        p, q = merged(*counts, 10)
        near = float(frontier_integral(p / p.sum(), q / q.sum()))
        order = np.random.default_rng(0).permutation(200).reshape(10, 20)
        p, q = (side[order].sum(axis=1) for side in counts)
        far = float(frontier_integral(p / p.sum(), q / q.sum()))
        whole = float(frontier_integral(counts[0] / 20_000, counts[1] / 20_000))
        assert whole - near < 0.1 * (whole - far)

    @pytest.mark.parametrize("k", [0, 3, 1.5])
    def test_numbers_of_groups_that_are_not_usable_are_refused(self, k):
        with pytest.raises(InputError, match="groups"):
            merged([1, 2], [2, 1], k)


class TestRecommendClusters:
    def histograms(self, times=1):
        counts = [times * side for side in sample(k=150, n=1500, m=1500)]
        return [merged(*counts, k) for k in (40, 2, 10, 150, 80, 20)]

    def test_the_least_sum_is_advised(self):
        advice = recommend_clusters(self.histograms(), seed=1)
        assert advice.curve.k.tolist() == [2, 10, 20, 40, 80, 150]
        np.testing.assert_array_equal(advice.loss, [1, 1 / 5, 1 / 10, 1 / 20, 1 / 40, 1 / 75])
        np.testing.assert_array_equal(advice.total, advice.curve.mean + advice.loss)
        assert advice.k == advice.curve.k[advice.total.argmin()]
        assert advice.k in advice.alike
        assert "Of k = 2, 10, 20, 40, 80, 150, the two errors of the frontier integral balance" in advice.reason
        best = int(advice.total.argmin())
        measured = with_spread(advice.curve.mean[best], advice.curve.standard_error[best])
        assert f"balance at k = {advice.k}: {measured} from resampling at n = 1,500" in advice.reason
        assert_equal(advice.curve, errors_against_k(sorted(self.histograms(), key=lambda pair: len(pair[0])), seed=1))

    def test_more_texts_are_advised_no_fewer_clusters(self):
        advised = [recommend_clusters(self.histograms(times), replicates=300).k for times in (1, 8, 64)]
        assert advised == sorted(advised)
        assert advised[0] < advised[-1]

    def test_other_divergences_have_other_losses(self):
        estimator = PlugIn("midpoint", mid_point, largest=float(np.log(2)))
        advice = recommend_clusters(self.histograms(), estimator=estimator, replicates=20)
        np.testing.assert_allclose(advice.loss, np.log(2) / np.array([1, 5, 10, 20, 40, 75]), rtol=1e-15)

    def test_totals_that_cannot_be_told_apart_are_named(self):
        # At k = 2 and 3 proposition 13 has the same loss, and one bin more of no texts leaves the error as it was.
        advice = recommend_clusters([([30, 20], [20, 30]), ([30, 20, 0], [20, 30, 0])], population="none")
        assert advice.alike == (2, 3)
        assert "k = 2, 3 do equally well within measurement error." in advice.reason

    def test_an_end_of_what_was_tried_is_named(self):
        counts = sample(k=60, n=6000, m=6000)
        assert recommend_clusters([merged(*counts, k) for k in (2, 4, 8)], replicates=50).reason.endswith(
            "largest k tried."
        )
        assert recommend_clusters([([30, 20], [20, 30])], replicates=50).reason.endswith("clusters.")

    def test_partitions_that_do_not_fit_are_refused(self):
        with pytest.raises(InputError, match=r"not cover the same texts.*4 and 3 texts, 5 and 3 texts"):
            recommend_clusters([([2, 2], [2, 1]), ([2, 2, 1], [1, 1, 1])])
        with pytest.raises(InputError, match="same number of clusters"):
            recommend_clusters([([2, 2], [2, 1]), ([3, 1], [1, 2])], replicates=10)
        with pytest.raises(InputError, match="no setting"):
            recommend_clusters([])
        with pytest.raises(InputError, match="No bound on the loss from partitioning is known for the MAUVE"):
            recommend_clusters([([2, 2], [2, 1])], estimator=PlugIn("MAUVE", mauve))
