"""Counts to scores, in bulk."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from mauve_core.base.errors import InputError
from mauve_core.stats.divergences import frontier_integral, mauve, mid_point
from mauve_core.stats.scores import score_counts
from tests.numerics.histograms import count_pairs


@pytest.mark.slow
@given(count_pairs())
def test_each_score_is_that_of_its_own_smoothing(pair):
    p_counts, q_counts = pair
    k = p_counts.size
    plain = p_counts / p_counts.sum(), q_counts / q_counts.sum()
    star = [(counts + 0.5) / (counts.sum() + k / 2) for counts in pair]
    scores = score_counts(p_counts, q_counts)
    assert list(scores) == ["mauve", "mauve_star", "frontier_integral", "mid"]
    # The same numbers up to the rounding of the probabilities.
    assert scores["mauve"] == pytest.approx(float(mauve(*plain)), abs=1e-12)
    assert scores["mauve_star"] == pytest.approx(float(mauve(*star)), abs=1e-12)
    assert scores["frontier_integral"] == pytest.approx(float(frontier_integral(*plain)), abs=1e-12)
    assert scores["mid"] == pytest.approx(float(mid_point(*plain)), abs=1e-12)
    smoothed = score_counts(p_counts, q_counts, smoothing="krichevsky-trofimov")
    assert smoothed["mauve"] == smoothed["mauve_star"] == scores["mauve_star"]
    assert smoothed["frontier_integral"] == pytest.approx(float(frontier_integral(*star)), abs=1e-12)
    assert smoothed["mid"] == pytest.approx(float(mid_point(*star)), abs=1e-12)


def test_many_pairs_at_once_equal_pair_after_pair():
    rng = np.random.default_rng(0)
    p, q = rng.integers(0, 9, size=(40, 1, 7)), rng.integers(1, 9, size=(3, 7))
    p[..., 0] += 1
    table = score_counts(p, q, scale=2.0)
    assert all(values.shape == (40, 3) for values in table.values())
    for name, values in table.items():
        assert values[17, 2] == pytest.approx(float(score_counts(p[17, 0], q[2], scale=2.0)[name]), rel=1e-13)


def test_the_scale_moves_both_mauves_and_nothing_else():
    first, second = (score_counts([5, 3, 2], [1, 4, 5], scale=scale) for scale in (1.0, 5.0))
    assert first["mauve"] > second["mauve"]
    assert first["mauve_star"] > second["mauve_star"]
    assert first["frontier_integral"] == second["frontier_integral"]
    assert first["mid"] == second["mid"]


def test_an_empty_side_is_refused():
    with pytest.raises(InputError, match="empty"):
        score_counts([0, 0], [1, 1])
