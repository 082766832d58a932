"""Spearman's correlation and its worst case: published figures, a slow twin, a bound that holds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from mauve_core.base.errors import InputError
from mauve_core.stats import rank_correlation
from mauve_core.stats.rank_correlation import spearman, worst_case_spearman

# Web text, eight settings of GPT-2 (small, medium, large, xl; sampling, then nucleus): JMLR 2023, tables 5, 8 and 18.
MAUVE = [0.589, 0.878, 0.373, 0.915, 0.845, 0.936, 0.882, 0.940]
MAUVE_STAR = [0.655, 0.906, 0.446, 0.936, 0.878, 0.952, 0.908, 0.955]
MAUVE_STAR_SD = [0.018, 0.005, 0.010, 0.004, 0.008, 0.002, 0.005, 0.004]
SCORES = {
    "human-like": [-27.518, -15.783, -30.769, -3.429, -6.935, 12.553, 8.966, 15.664],
    "interesting": [-15.487, -0.697, -34.323, -12.824, -1.532, 6.785, 9.529, 23.046],
    "sensible": [-37.805, -7.442, -32.004, -7.293, -7.106, 8.781, 7.753, 31.888],
}

whole_rows = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3), st.integers(-3, 3)), min_size=2, max_size=7).map(
    lambda rows: [np.array(column, dtype=float) for column in zip(*rows, strict=True)]
)
real_rows = st.tuples(st.integers(2, 7), st.integers(0, 10_000)).map(
    lambda drawn: (lambda rng: [rng.normal(size=drawn[0]), rng.exponential(size=drawn[0]), rng.normal(size=drawn[0])])(
        np.random.default_rng(drawn[1])
    )
)


def twin(a, sd, h):
    """Equation 30 pattern by pattern with scipy; None where no pattern has a correlation."""
    found = []
    for signs in product((-1, 1), repeat=len(a)):
        moved = a + np.array(signs) * sd
        if np.ptp(moved) > 0 and np.ptp(h) > 0:
            found.append(spearmanr(moved, h).statistic)
    return min(found) if found else None


class TestSpearman:
    @pytest.mark.parametrize(
        ("question", "published"), [("human-like", 0.952), ("interesting", 0.810), ("sensible", 0.857)]
    )
    def test_published_correlations_of_mauve(self, question, published):
        assert spearman(MAUVE, SCORES[question]) == pytest.approx(published, abs=5e-4)

    @given(whole_rows)
    def test_equal_values_share_their_mean_rank(self, rows):
        a, _, b = rows
        if np.ptp(a) == 0 or np.ptp(b) == 0:
            assert np.isnan(spearman(a, b))
        else:
            assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)

    def test_infinite_values_have_ranks(self):
        assert spearman([1, 2, 3, 4], [-np.inf, 0, 5, np.inf]) == 1
        assert spearman([1, 2, 3], [np.inf, 0, -np.inf]) == -1

    @pytest.mark.parametrize(("a", "b"), [([1], [2]), ([1, 2], [1, 2, 3]), ([[1, 2]], [[1, 2]]), ([1, np.nan], [1, 2])])
    def test_rows_that_do_not_fit_are_refused(self, a, b):
        with pytest.raises(InputError, match="rank correlation"):
            spearman(a, b)


class TestWorstCase:
    @pytest.mark.parametrize(
        ("question", "published"), [("human-like", 0.857), ("interesting", 0.714), ("sensible", 0.762)]
    )
    def test_published_worst_cases_of_mauve_star(self, question, published):
        worst = worst_case_spearman(MAUVE_STAR, MAUVE_STAR_SD, SCORES[question])
        assert worst.value == pytest.approx(published, abs=5e-4)
        assert worst.exact
        assert worst.lower_bound == worst.value

    @pytest.mark.slow
    @given(st.one_of(whole_rows, real_rows))
    def test_slow_twin(self, rows):
        expected = twin(*rows)
        worst = worst_case_spearman(*rows)
        assert worst.exact
        assert worst.value == pytest.approx(np.nan if expected is None else expected, abs=1e-12, nan_ok=True)

    @given(st.one_of(whole_rows, real_rows))
    def test_the_bound_holds_and_the_search_reaches_what_it_says(self, rows):
        expected = twin(*rows)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(rank_correlation, "ENUMERATED", -1)
            worst = worst_case_spearman(*rows)
        if expected is None:
            assert np.isnan(worst.value)
            return
        assert worst.lower_bound <= expected <= worst.value + 1e-12

    def test_beyond_enumeration_the_answer_says_so(self):
        rng = np.random.default_rng(0)
        h = rng.normal(size=40)
        a, sd = h + 0.3 * rng.normal(size=40), np.full(40, 0.3)
        worst = worst_case_spearman(a, sd, h)
        assert not worst.exact
        assert -1 <= worst.lower_bound < worst.value < spearman(a, h)
        drawn = [spearman(a + rng.choice([-1, 1], size=40) * sd, h) for _ in range(500)]
        assert worst.value < min(drawn)

    def test_values_too_far_apart_to_change_places_cost_no_enumeration(self):
        n = 200
        worst = worst_case_spearman(np.arange(n), np.full(n, 0.4), np.arange(n)[::-1])
        assert (worst.value, worst.exact) == (-1.0, True)

    def test_without_deviations_it_is_the_correlation(self):
        a, h = [3.0, 1.0, 2.0, 5.0], [1.0, 2.0, 3.0, 4.0]
        assert worst_case_spearman(a, [0.0] * 4, h).value == pytest.approx(spearman(a, h))

    @pytest.mark.parametrize(
        ("a", "sd"), [([1.0, 2.0], [-0.1, 0.1]), ([1.0, np.inf], [0.1, 0.1]), ([1.0, 2.0], [np.inf, 0.0])]
    )
    def test_deviations_that_mean_nothing_are_refused(self, a, sd):
        with pytest.raises(InputError, match="undefined"):
            worst_case_spearman(a, sd, [1.0, 2.0])
