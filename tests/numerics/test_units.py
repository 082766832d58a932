"""Units of resampling: components by a plain twin, laws of the draws and of the exchanges, and exchange rates."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.stats import units as module
from mauve_core.stats.units import (
    LEAST_UNITS,
    RATE_STEPS,
    Draws,
    Units,
    connected,
    draw_blocks,
    draw_slots,
    each_alone,
    exchange_rate,
    expected_share,
    generation_units,
    share_to_first,
    too_few,
    units_of,
)

RATES = (0.0, 0.3, 1.0)

# Few units, so that most have several texts, and unequally many.
CODES = st.lists(st.integers(0, 6), min_size=1, max_size=30)

# Twelve units with two texts of P and three of Q.
REPEATED = np.repeat(np.arange(12), 2), np.tile(np.arange(12), 3)

SIDES = {
    "one to one": (np.arange(15), np.arange(15)[::-1]),
    "two to two": (np.repeat(np.arange(8), 2), np.tile(np.arange(8), 2)),
    "two to three": REPEATED,
    "uneven": (np.array([5, 5, 5, 7, 9]), np.array([7, 7, 5, 5, 8])),
    "alone": (np.arange(9), np.arange(9, 21)),
    "one side more": (np.arange(30), np.arange(18)),
    "of every kind": (np.concatenate([REPEATED[0], [20, 20, 21, 22]]), np.concatenate([REPEATED[1], [20, 22, 22, 23]])),
}
EVEN = ("one to one", "two to two", "two to three", "alone", "one side more")


def named(name: str) -> Units:
    return units_of(*SIDES[name])


def plain_components(groups: list[int], contents: list[int]) -> list[int]:
    """Union-find: every text joins the first with its group and the first with its contents."""
    parent = list(range(len(groups)))

    def root(text: int) -> int:
        while parent[text] != text:
            text = parent[text]
        return text

    for text in range(len(groups)):
        for values in (groups, contents):
            one, other = root(values.index(values[text])), root(text)
            parent[max(one, other)] = min(one, other)
    roots = [root(text) for text in range(len(groups))]
    return [sorted(set(roots)).index(each) for each in roots]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=15))
def test_units_are_the_components_of_equal_groups_and_equal_texts(texts):
    groups, contents = map(list, zip(*texts, strict=True))
    found = connected(groups, contents)
    assert found.dtype == np.int64
    assert found.tolist() == plain_components(groups, contents)


class TestUnits:
    def test_classes_by_hand(self):
        units = units_of([5, 5, 5, 7, 9, -1], [7, 7, 5, 5, 8, -1])
        assert (units.p.tolist(), units.q.tolist()) == ([0, 0, 0, 1, 2, 3], [1, 1, 0, 0, 4, 3])
        assert [each.tolist() for each in (units.shared, units.p_alone, units.q_alone)] == [[0, 1, 3], [2], [4]]
        assert units.dealt.tolist() == [0, 1]  # three to two and one to two; one to one swaps
        assert (units.n, units.m, units.count, units.row_width) == (6, 6, 5, 3 * (3 + 5) + 2 * 3)
        alone = each_alone(3, 2)
        assert [each.tolist() for each in (alone.p, alone.q, alone.shared)] == [[0, 1, 2], [3, 4], []]
        assert (alone.row_width, alone.even, units.even) == (15, True, False)

    @pytest.mark.parametrize(
        ("p", "q", "received"),
        [
            ([], [1], r"float64 array of shape \(0,\) and int64 array of shape \(1,\)"),
            ([0.0, 1.0], [0, 1], r"float64 array of shape \(2,\)"),
            ([[0, 1]], [0, 1], r"int64 array of shape \(1, 2\)"),
            ([0, 1], ["a", "b"], r"<U1 array of shape \(2,\)"),
            ([0, 1], [True, False], r"bool array of shape \(2,\)"),
            (3, [0, 1], r"int64 array of shape \(\)"),
        ],
    )
    def test_units_that_are_no_numbers_are_refused(self, p, q, received):
        said = rf"Units are not usable.*Allowed: one row of whole numbers for each side.*Received: .*{received}"
        with pytest.raises(InputError, match=said):
            units_of(p, q)

    @pytest.mark.parametrize(("n", "m", "received"), [(0, 5, "0"), (2.5, 5, "2.5"), (5, True, "True")])
    def test_numbers_that_are_not_whole_are_refused(self, n, m, received):
        said = f"number of texts is not usable.*Allowed: a whole number of at least 1.*Received: {received}"
        with pytest.raises(InputError, match=said):
            each_alone(n, m)


class TestDraws:
    @given(CODES, CODES, st.integers(0, 1000))
    def test_whole_units_are_drawn_and_keep_their_sides_without_exchange(self, p, q, seed):
        units = units_of(p, q)
        on_p, on_q = Draws(units, 5, np.random.default_rng(seed)).weights(0.0)
        assert on_p.dtype == np.int32
        assert not on_p[:, units.n :].any()
        assert not on_q[:, : units.n].any()
        both = on_p + on_q
        for unit in range(units.count):
            own = both[:, units.codes == unit]
            assert (own == own[:, :1]).all()
        for of_class in (units.shared, units.p_alone, units.q_alone):
            drawn = sum(both[:, units.codes == unit][:, 0] for unit in of_class)
            np.testing.assert_array_equal(drawn, of_class.size)

    @pytest.mark.parametrize("name", SIDES)
    @pytest.mark.parametrize("rate", RATES)
    def test_rows_sum_to_the_sizes_of_the_sides_where_units_are_of_equal_size(self, name, rate):
        units = named(name)
        sums = np.stack([side.sum(axis=1) for side in Draws(units, 50, np.random.default_rng(0)).weights(rate)])
        assert units.even == (name in EVEN)
        assert (sums == [[units.n], [units.m]]).all() == (name in EVEN)

    @pytest.mark.parametrize("name", ["one to one", "two to two", "alone"])
    def test_at_full_exchange_either_side_has_every_text_equally_often(self, name):
        units, count = named(name), 4000
        on_p, on_q = Draws(units, count, np.random.default_rng(1)).weights(1.0)
        share = units.n / (units.n + units.m)
        # Draws of a text have variance at most 1, or 2 where two texts are drawn together; five standard errors.
        assert on_p.mean(axis=0) == pytest.approx(share, abs=5 * np.sqrt(2 / count))
        assert on_q.mean(axis=0) == pytest.approx(1 - share, abs=5 * np.sqrt(2 / count))

    @pytest.mark.parametrize(("name", "of_p", "of_q"), [("two to two", 2, 2), ("two to three", 2, 3)])
    def test_dealt_texts_stay_within_the_unit_and_keep_their_numbers(self, name, of_p, of_q):
        units = named(name)
        draws = Draws(units, 300, np.random.default_rng(0))
        on_p, on_q = draws.weights(1.0)
        kept = draws.weights(0.0)
        for unit in range(units.count):
            own = units.codes == unit
            drawn = kept[0][:, own][:, 0]
            np.testing.assert_array_equal(on_p[:, own].sum(axis=1), of_p * drawn)
            np.testing.assert_array_equal(on_q[:, own].sum(axis=1), of_q * drawn)
            assert (on_p[:, own] + on_q[:, own] == drawn[:, np.newaxis]).all()
        moved = on_p[:, units.n :].sum() / on_p.sum()
        assert moved == pytest.approx(of_q / (of_p + of_q), abs=5 * 0.5 / np.sqrt(300 * 24))

    def test_what_changed_sides_at_one_rate_has_done_so_at_a_higher_one(self):
        units = named("one to one")
        draws = Draws(units, 200, np.random.default_rng(0))
        crossed = [draws.weights(rate)[0][:, units.n :] for rate in (0.0, 0.2, 0.5, 0.9, 1.0)]
        for less, more in pairwise(crossed):
            assert (less <= more).all()
            assert (less < more).any()

    @pytest.mark.parametrize("name", SIDES)
    @pytest.mark.parametrize("rows", [0.5, 3, 1000])
    def test_what_is_drawn_does_not_depend_on_blocks(self, name, rows, monkeypatch):
        units = named(name)
        monkeypatch.setattr(module, "BLOCK_BYTES", int(rows * 16 * units.row_width))
        blocks = [each.weights(0.3) for each in draw_blocks(units, 20, np.random.default_rng(3), most=15)]
        assert {len(on_p) for on_p, _ in blocks[:-1]} <= {min(max(1, int(rows)), 15)}
        whole = Draws(units, 20, np.random.default_rng(3)).weights(0.3)
        for side in (0, 1):
            np.testing.assert_array_equal(np.concatenate([block[side] for block in blocks]), whole[side])

    @pytest.mark.parametrize("cores", [1, 3])
    def test_random_numbers_drawn_on_all_cores_are_those_drawn_in_a_row(self, cores, monkeypatch):
        monkeypatch.setattr(module, "usable_cores", lambda: cores)
        together, in_a_row = (np.random.default_rng(4) for _ in range(2))
        for count, width in ((7, 5), (1, 3), (2, 1)):
            expected = np.stack([in_a_row.random(width) for _ in range(count)])
            np.testing.assert_array_equal(module.random_rows(together, count, width), expected)

    def test_generations_draw_equal_units(self):
        # The second lacks a unit, and has one text of another less.
        p = np.repeat(np.arange(10), 2)
        generations = generation_units(p, [np.repeat(np.arange(10), 2), np.repeat(np.arange(9), 2)[1:]])
        one, other = (Draws(each, 30, np.random.default_rng(2)).weights(0.0)[0][:, :20] for each in generations)
        np.testing.assert_array_equal(one, other)

    @pytest.mark.parametrize("count", [0, 2.5, True])
    def test_a_number_of_resamples_that_is_not_whole_is_refused(self, count):
        said = f"number of replicates is not usable.*Allowed: a whole number of at least 1.*Received: {count}"
        with pytest.raises(InputError, match=said):
            Draws(each_alone(3, 3), count, np.random.default_rng(0))


class TestExchangedSlots:
    @staticmethod
    def drawn(p, q, count, seed=0):
        """Which texts are P's in each draw."""
        slots = np.repeat([0, 1], [len(p), len(q)]).astype(np.int32)
        return draw_slots(slots, np.concatenate([p, q]), 1, count, np.random.default_rng(seed)) == 0

    @given(CODES, CODES, st.integers(0, 100))
    def test_units_swap_are_dealt_within_or_move_as_wholes(self, p, q, seed):
        codes, units = np.array([*p, *q]), units_of(p, q)
        first = self.drawn(p, q, 5, seed)
        for unit in np.unique(codes):
            own, times = first[:, codes == unit], (p.count(unit), q.count(unit))
            if min(times) == 0:
                assert (own == own[:, :1]).all()
            elif times[0] != times[1]:
                assert (own.sum(axis=1) == times[0]).all()
            else:
                assert (own[:, : times[0]] == own[:, :1]).all()
                assert (own[:, times[0] :] != own[:, :1]).all()
        if not (units.p_alone.size and units.q_alone.size):
            alone = np.isin(units.codes, [*units.p_alone, *units.q_alone])
            assert (first[:, alone] == (np.arange(codes.size) < len(p))[alone]).all()

    def test_units_of_one_side_are_dealt_in_the_share_that_keeps_the_variance(self):
        rng = np.random.default_rng(0)
        p, q = np.repeat(np.arange(40), 2), np.arange(100, 300)
        sizes, is_p = np.repeat([2, 1], [40, 200]), np.arange(240) < 40
        first = self.drawn(p, q, 4000)
        assert first.mean() == pytest.approx(share_to_first(sizes, is_p), abs=0.005)  # the border is amid a unit
        assert share_to_first(np.full(240, 3), is_p) == pytest.approx(1 / 6)
        # A number that all texts of a unit have: the difference of its two means varies as between independent units.
        values = np.repeat(rng.normal(size=(4000, 240)), sizes, axis=1)
        means = (values * first).sum(axis=1) / first.sum(axis=1) - (values * ~first).sum(axis=1) / (~first).sum(axis=1)
        assert means.std() == pytest.approx(np.sqrt(1 / 40 + 1 / 200), rel=0.06)  # five standard errors

    def test_the_expected_share_is_that_of_many_draws(self):
        p, q = np.array([0, 0, 1, 2, 3]), np.array([0, 1, 2, 5, 6])
        expected = expected_share(np.arange(10) < 5, np.concatenate([p, q]))
        assert self.drawn(p, q, 20_000).mean(axis=0) == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(20_000))

    def test_generations_swap_with_their_counterparts(self):
        slots = np.tile(np.arange(4, dtype=np.int32), 3)  # three units with a text of each of two generations a side
        drawn = draw_slots(slots, np.repeat(np.arange(3), 4), 2, 400, np.random.default_rng(0)).reshape(400, 3, 4)
        kept = (drawn == [0, 1, 2, 3]).all(axis=2)
        assert (kept | (drawn == [2, 3, 0, 1]).all(axis=2)).all()
        assert kept.mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(1200))

    def test_generations_that_differ_in_number_keep_their_sizes(self):
        slots = np.array([0, 1, 2, 0, 1, 0, 1, 2, 2], dtype=np.int32)
        codes = np.array([0, 0, 0, 1, 1, 2, 2, 3, 4])
        drawn = draw_slots(slots, codes, 2, 300, np.random.default_rng(0))
        for own in (codes == 0, codes > 0):
            assert (np.sort(drawn[:, own], axis=1) == np.sort(slots[own])).all()
            assert len(np.unique(drawn[:, own], axis=0)) > 1

    def test_what_is_drawn_does_not_depend_on_blocks(self):
        p, q = SIDES["of every kind"]
        slots, codes = np.repeat([0, 1], [p.size, q.size]).astype(np.int32), np.concatenate([p, q])
        rng = np.random.default_rng(3)
        blocks = [draw_slots(slots, codes, 1, count, rng) for count in (3, 1, 6)]
        whole = draw_slots(slots, codes, 1, 10, np.random.default_rng(3))
        np.testing.assert_array_equal(np.concatenate(blocks), whole)


def test_too_few_units_or_a_unit_of_too_many_texts():
    enough = np.arange(LEAST_UNITS)
    assert too_few(enough, np.repeat(enough, 3)) == ""
    assert too_few(enough, enough[1:]) == "19 independent units on a side; an interval needs 20"
    large = np.concatenate([np.arange(1, 29), np.zeros(7, int)])
    assert too_few(large, enough) == ""  # a fifth
    assert too_few(enough, [*large, 0]).startswith("one unit has 8 of 36 texts of a side")


class TestExchangeRate:
    @given(st.floats(0.001, 0.999), st.sampled_from([0.2, 1.0, 3.0]))
    def test_a_known_solution_is_found_to_one_in_256(self, solution, power):
        found = exchange_rate(1 - solution**power, lambda rate: 1 - rate**power)
        assert abs(found - solution) <= 1 / 512 + 1e-9  # the middle of the last of 256 parts

    def test_hand_value(self):
        # 2 - t = 1.3 at 0.7, which lies between 179 and 180 of 256 parts.
        assert exchange_rate(1.3, lambda rate: 2 - rate) == 179.5 / 256

    def test_full_exchange_if_even_that_leaves_the_mean_above(self):
        assert exchange_rate(0.9, lambda rate: 2 - rate) == 1.0
        assert exchange_rate(1.0, lambda rate: 2 - rate) == 1 - 1 / 512  # just reached

    def test_no_exchange_if_the_plain_bootstrap_is_not_above(self):
        assert exchange_rate(2.0, lambda rate: 2 - rate) == 0.0
        assert exchange_rate(2.5, lambda rate: 2 - rate) == 0.0
        assert exchange_rate(0.0, lambda _: 0.0) == 0.0
        assert exchange_rate(1.0, lambda rate: 1.0 + 1e-15 - rate) == 0.0  # above by rounding alone
        assert exchange_rate(1.0, lambda rate: 1.0 + 1e-9 - rate) == 1 / 512

    def test_the_mean_is_asked_for_as_often_as_needed(self):
        asked = []
        exchange_rate(1.3, lambda rate: asked.append(rate) or 2 - rate)
        assert len(asked) == 2 + RATE_STEPS
        assert set(asked[:2]) == {0.0, 1.0}
