"""What rounding leaves open: hand cases, a slow twin over all orders, draws that never leave the limits."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from benchmarks.published_rounding import (
    MOST_ITEMS,
    MOST_TIED,
    MOST_WORST_CASE_ITEMS,
    Printed,
    attainable_correlations,
    find_unrounded,
    limits,
    worst_case_range,
)
from mauve_core.analyses.published import DATA
from mauve_core.base.errors import InputError
from mauve_core.stats.rank_correlation import worst_case_spearman

# The found values are rounded to twelve digits; two different ones of six items lie 1/35 apart.
EXACT = 1e-9

# Places of the target four times as dense as those that the module tries.
FINE = np.arange(-16, 17) / 32

tables = st.integers(2, 5).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 6), min_size=n, max_size=n),
        st.lists(st.integers(0, 2), min_size=n, max_size=n),
        st.one_of(st.none(), st.integers(0, 6)),
        st.permutations(range(n)),
    )
)


def printed_of(figures, sd=None, target=None):
    return Printed.of(figures, unit=1, sd=sd, target=target)


def twin(figures, reference, target, sd=None, signs=None):
    """All correlations: every order is tried, at every place of the target, by choosing ever larger values."""
    signs = np.zeros(len(figures)) if signs is None else np.array(signs)
    x, s = np.array(figures, dtype=float), np.zeros(len(figures)) if sd is None else np.array(sd, dtype=float)
    found = set()
    for t in [None] if target is None else target + FINE:
        low, high = (x - 0.5, x + 0.5) if t is None else (-np.abs(x - t) - 0.5, -np.maximum(np.abs(x - t) - 0.5, 0))
        step = np.sort(np.stack([signs * np.maximum(s - 0.5, 0), signs * (s + 0.5)]), axis=0)
        low, high = low + step[0], high + step[1]
        for order in permutations(range(len(x))):
            reached = -np.inf
            for item in order:
                reached = max(reached, low[item])
                if reached >= high[item]:
                    break
            else:
                distances = np.argsort(order) - np.argsort(np.argsort(reference))
                found.add(round(1 - 6 * int((distances**2).sum()) / (len(x) ** 3 - len(x)), 9))
    return sorted(found)


@pytest.mark.parametrize(
    ("figures", "target", "expected"),
    [
        ([5, 5], None, [-1, 1]),  # they print alike
        ([5, 6], None, [1]),  # both could be 5.5, but never the other way round
        ([5, 5, 9], None, [0.5, 1]),
        ([9, 11], 10, [-1, 1]),  # gaps of 1 each
        ([8, 11], 10, [-1, 1]),  # gaps of 2 and 1, but the target may be 9.5
        ([7, 11], 10, [1]),  # gaps of 3 and 1: even at 9.5 they touch at most
        ([13, 12], 10, [1]),  # on one side of the target its place does not matter
    ],
)
def test_by_hand(figures, target, expected):
    found = attainable_correlations(printed_of(figures, target=target), range(len(figures)))
    assert found == pytest.approx(expected, abs=EXACT)


def test_equal_values_of_the_reference_may_be_equal_or_not():
    # Ranks 1, 2, 3 against (1.5, 1.5, 3): 1.5 / sqrt(2 * 1.5); against (1, 2, 3) and (2, 1, 3).
    found = attainable_correlations(printed_of([0, 10, 20]), [7, 7, 8])
    assert found == pytest.approx([0.5, 1.5 / np.sqrt(3), 1], abs=EXACT)


@given(tables)
def test_all_orders_are_found_and_no_others(drawn):
    figures, _, target, reference = drawn
    found = attainable_correlations(printed_of(figures, target=target), reference)
    assert found == pytest.approx(twin(figures, reference, target), abs=EXACT)


@given(tables.filter(lambda drawn: len(drawn[0]) <= 4))
def test_the_worst_case_range_is_that_of_all_patterns(drawn):
    figures, sd, target, reference = drawn
    low, high = worst_case_range(printed_of(figures, sd, target), reference)
    by_pattern = [twin(figures, reference, target, sd, signs) for signs in product((-1, 1), repeat=len(figures))]
    assert low == pytest.approx(min(values[0] for values in by_pattern), abs=EXACT)
    # With one place of the target the upper limit is the least of the patterns' greatest; the best place may be higher.
    lowest_top = min(values[-1] for values in by_pattern)
    assert high == pytest.approx(lowest_top, abs=EXACT) if target is None else high <= lowest_top + EXACT


@given(tables, st.integers(0, 1000))
def test_no_figures_that_round_to_the_printed_ones_leave_the_limits(drawn, seed):
    figures, sd, target, reference = drawn
    printed = printed_of(figures, sd, target)
    rng = np.random.default_rng(seed)
    shift, spread = rng.uniform(-0.5, 0.5, (2, len(figures)))
    x, s = np.array(figures) + shift, np.maximum(np.array(sd) + spread, 0)
    closeness = x if target is None else -np.abs(x - target - rng.uniform(-0.5, 0.5))
    plain = spearmanr(closeness, reference).statistic
    assert np.abs(attainable_correlations(printed, reference) - plain).min() < EXACT
    low, high = worst_case_range(printed, reference)
    assert low - EXACT <= worst_case_spearman(closeness, s, reference).value <= high + EXACT


def test_figures_found_round_to_the_table_and_have_the_wanted_correlations():
    printed = Printed.of([0.010, 0.011, 0.011, 0.014], unit=0.001, sd=[0.001, 0.0, 0.002, 0.001], target=0.009)
    references = [[4, 2, 3, 1], [4, 3, 2, 1]]
    wanted = {"plain": [1.0, np.nan], "worst": [np.nan, 0.2]}
    found = find_unrounded(printed, references, **wanted, tolerance=1e-6)
    assert found is not None
    assert np.rint(found.figures) == pytest.approx([10, 11, 11, 14], abs=0)
    assert found.sd is not None
    assert np.rint(found.sd) == pytest.approx([1, 0, 2, 1], abs=0)
    assert (found.sd >= 0).all()
    assert round(found.target) == 9
    closeness = -np.abs(found.figures - found.target)
    assert spearmanr(closeness, references[0]).statistic == pytest.approx(1)
    assert worst_case_spearman(closeness, found.sd, references[1]).value == pytest.approx(0.2)
    again = find_unrounded(printed, references, **wanted, tolerance=1e-6)
    assert (again.figures == found.figures).all(), "the same seed draws the same figures"


def test_nothing_is_found_where_no_order_gives_it():
    printed = printed_of([1, 2, 3, 4], [0, 0, 0, 0])
    for plain, worst in (([0.8], [np.nan]), ([1], [0.2])):
        assert find_unrounded(printed, [[1, 2, 3, 4]], plain=plain, worst=worst, tolerance=1e-3, draws=500) is None
    assert find_unrounded(printed, [[1, 2, 3, 4]], plain=[1], worst=[1], tolerance=1e-3, draws=500) is not None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Printed.of([0.0015], unit=0.001), "multiples of 0.001"),
        (lambda: Printed.of([np.nan, 1], unit=1), "multiples of 1"),
        (lambda: Printed.of([1, 2], unit=1, sd=[1]), "one per figure"),
        (lambda: Printed.of([1, 2], unit=1, sd=[1, -1]), "0 or more"),
        (lambda: attainable_correlations(printed_of([1, 2]), [1, 2, 3]), "3 values for 2 figures"),
        (lambda: attainable_correlations(printed_of([1, 2]), [3, 3]), "not all equal"),
        (lambda: attainable_correlations(printed_of(range(MOST_ITEMS + 1)), range(MOST_ITEMS + 1)), "Too many items"),
        (lambda: attainable_correlations(printed_of(range(7)), [0] * (MOST_TIED + 1) + [1]), "Too many equal values"),
        (lambda: worst_case_range(printed_of([1, 2]), [1, 2]), "requires standard deviations"),
        (lambda: worst_case_range(printed_of(range(11), [0] * 11), range(MOST_WORST_CASE_ITEMS + 1)), "Too many items"),
        (
            lambda: find_unrounded(printed_of([1, 2]), [[1, 2]], plain=[1], worst=[1], tolerance=0.1),
            "requires standard deviations",
        ),
    ],
)
def test_what_cannot_be_answered_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.slow
def test_the_file_holds_what_the_command_finds():
    pd.testing.assert_frame_equal(pd.read_csv(DATA / "rounding.csv"), limits(), rtol=0, atol=1e-9)
