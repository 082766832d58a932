"""The bootstrap by prompt: groups by hand, the plain twin, laws of the draws, and exchange rates that are known."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.numerics.resampling import exchange
from mauve_core.numerics.resampling.exchange import (
    LEAST_PROMPTS,
    RATE_STEPS,
    Draws,
    PromptGroups,
    draw_blocks,
    exchange_rate,
    prompt_groups,
    separate_prompts,
)
from tests.plain_exchange import plain_groups, plain_rate, plain_resamples

RATES = (0.0, 0.3, 1.0)

CODES = st.lists(st.integers(0, 6), min_size=1, max_size=30)
"""Few prompts, so that most are repeated and uneven."""

REPEATED = np.repeat(np.arange(12), 2), np.tile(np.arange(12), 3)
"""Twelve prompts with two texts of P and three of Q."""

PROMPTS = {
    "one to one": (np.arange(15), np.arange(15)[::-1]),
    "few": (np.arange(4), np.array([3, 1, 0, 2])),
    "repeated": REPEATED,
    "irregular": (np.array([5, 5, 5, 7, 9]), np.array([7, 7, 5, 5, 8])),
    "unpaired": (np.arange(9), np.arange(9, 21)),
    "one side more": (np.arange(30), np.arange(18)),
    "of every kind": (np.concatenate([REPEATED[0], [20, 20, 21, 22]]), np.concatenate([REPEATED[1], [20, 22, 22, 23]])),
}


def groups_of(name: str) -> PromptGroups:
    return prompt_groups(*PROMPTS[name])


def listed(groups: PromptGroups) -> tuple[list[tuple[list[list[int]], int]], list[int], list[int]]:
    shared = [(each.members.tolist(), each.of_p) for each in groups.shared]
    return shared, groups.p_alone.tolist(), groups.q_alone.tolist()


class TestPromptGroups:
    def test_one_to_one(self):
        # Q answers in the reverse order: text i of P and text 11 - i of Q, which is number 12 + 11 - i.
        groups = prompt_groups(np.arange(12), np.arange(12)[::-1])
        assert listed(groups) == ([([[i, 23 - i] for i in range(12)], 1)], [], [])
        assert (groups.n, groups.m, groups.row_width) == (12, 12, 12 * 4)

    def test_ten_prompts_of_one_kind_are_drawn_as_wholes(self):
        groups = prompt_groups(np.repeat(np.arange(10), 2), np.tile(np.arange(10), 3))
        members = [[2 * i, 2 * i + 1, 20 + i, 30 + i, 40 + i] for i in range(10)]
        assert listed(groups) == ([(members, 2)], [], [])
        assert (groups.n, groups.m, groups.row_width) == (20, 30, 10 * 7)
        assert LEAST_PROMPTS == 10

    def test_nine_prompts_of_one_kind_are_divided_into_pairs(self):
        groups = prompt_groups(np.repeat(np.arange(9), 2), np.tile(np.arange(9), 3))
        pairs = [pair for i in range(9) for pair in ([2 * i, 18 + i], [2 * i + 1, 27 + i])]
        assert listed(groups) == ([(pairs, 1)], [], [36 + i for i in range(9)])
        assert groups.row_width == 18 * 4 + 9 * 3

    def test_each_kind_of_prompt_is_drawn_by_itself(self):
        # Prompts 0 to 9: two of P, one of Q; 10 to 19: one of P, two of Q; 20: one of each, a pair.
        p = np.concatenate([np.repeat(np.arange(10), 2), np.arange(10, 21)])
        q = np.concatenate([np.arange(10), np.repeat(np.arange(10, 20), 2), [20]])
        one_two = [[20 + i, 31 + 10 + 2 * i, 31 + 11 + 2 * i] for i in range(10)]
        two_one = [[2 * i, 2 * i + 1, 31 + i] for i in range(10)]
        assert listed(prompt_groups(p, q)) == ([(one_two, 1), (two_one, 2), ([[30, 61]], 1)], [], [])

    def test_irregular_prompts_are_divided_into_pairs_and_the_rest_stands_alone(self):
        # Prompt 5 has texts 0, 1, 2 of P and 7, 8 of Q; prompt 7 has 3 and 5, 6; 9 and 8 are of one side.
        groups = prompt_groups([5, 5, 5, 7, 9], [7, 7, 5, 5, 8])
        assert listed(groups) == ([([[0, 7], [1, 8], [3, 5]], 1)], [2, 4], [6, 9])

    def test_many_prompts_of_one_side_are_no_prompts_in_common(self):
        groups = prompt_groups(np.arange(20), np.arange(20, 50))
        assert listed(groups) == ([], list(range(20)), list(range(20, 50)))
        assert groups.row_width == 50 * 3

    def test_only_equality_of_the_numbers_matters(self):
        assert listed(prompt_groups([-7, 900, 900], [900, -7])) == listed(prompt_groups([0, 1, 1], [1, 0]))

    @given(CODES, CODES)
    def test_every_text_is_in_one_group_with_texts_of_its_prompt(self, p, q):
        groups, prompt_of, n = prompt_groups(p, q), [*p, *q], len(p)
        rows = [(row, each.of_p) for each in groups.shared for row in each.members.tolist()]
        texts = [text for row, _ in rows for text in row] + groups.p_alone.tolist() + groups.q_alone.tolist()
        assert sorted(texts) == list(range(n + len(q)))
        for row, of_p in rows:
            assert len({prompt_of[text] for text in row}) == 1
            assert [text < n for text in row] == [True] * of_p + [False] * (len(row) - of_p)
            assert 0 < of_p < len(row)
        assert max(groups.p_alone, default=0) < n
        assert min(groups.q_alone, default=n) >= n
        left = [{prompt_of[text] for text in side} for side in (groups.p_alone, groups.q_alone)]
        assert left[0].isdisjoint(left[1])  # or they would be a pair

    @given(st.lists(st.integers(0, 25), min_size=1, max_size=60), st.lists(st.integers(0, 25), min_size=1, max_size=60))
    def test_plain_twin(self, p, q):
        twin = plain_groups(p, q)
        assert listed(prompt_groups(p, q)) == (twin.shared, twin.p_alone, twin.q_alone)

    @pytest.mark.parametrize(
        ("p", "q", "received"),
        [
            ([], [1], r"float64 array of shape \(0,\) and int64 array of shape \(1,\)"),
            ([0, 1], [], r"int64 array of shape \(2,\) and float64 array of shape \(0,\)"),
            ([0.0, 1.0], [0, 1], r"float64 array of shape \(2,\)"),
            ([[0, 1]], [0, 1], r"int64 array of shape \(1, 2\)"),
            ([0, 1], ["a", "b"], r"<U1 array of shape \(2,\)"),
            ([0, 1], [True, False], r"bool array of shape \(2,\)"),
            (3, [0, 1], r"int64 array of shape \(\)"),
        ],
    )
    def test_prompts_that_are_no_numbers_are_refused(self, p, q, received):
        said = rf"Prompts are not usable.*Allowed: one row of whole numbers for each side.*Received: .*{received}"
        with pytest.raises(InputError, match=said):
            prompt_groups(p, q)


class TestSeparatePrompts:
    def test_every_text_stands_alone(self):
        groups = separate_prompts(3, 2)
        assert listed(groups) == ([], [0, 1, 2], [3, 4])
        assert (groups.n, groups.m, groups.row_width) == (3, 2, 15)
        assert listed(groups) == listed(prompt_groups([0, 1, 2], [3, 4]))

    @pytest.mark.parametrize(("n", "m", "received"), [(0, 5, "0"), (5, -1, "-1"), (2.5, 5, "2.5"), (5, True, "True")])
    def test_numbers_that_are_not_whole_are_refused(self, n, m, received):
        said = f"number of texts is not usable.*Allowed: a whole number of at least 1.*Received: {received}"
        with pytest.raises(InputError, match=said):
            separate_prompts(n, m)


class TestDraws:
    @pytest.mark.parametrize("name", PROMPTS)
    @pytest.mark.parametrize("rate", RATES)
    def test_plain_twin(self, name, rate):
        p, q = PROMPTS[name]
        on_p, on_q = Draws(groups_of(name), 40, np.random.default_rng(3)).weights(rate)
        for row, (p_texts, q_texts) in enumerate(
            plain_resamples(plain_groups(p, q), rate, 40, np.random.default_rng(3))
        ):
            for text in range(len(p) + len(q)):
                assert on_p[row, text] == p_texts.count(text)
                assert on_q[row, text] == q_texts.count(text)

    @given(CODES, CODES, st.floats(0, 1), st.integers(0, 1000))
    def test_rows_sum_to_the_sizes_of_the_sides(self, p, q, rate, seed):
        for weights, size in zip(
            Draws(prompt_groups(p, q), 5, np.random.default_rng(seed)).weights(rate), (len(p), len(q)), strict=True
        ):
            assert weights.shape == (5, len(p) + len(q))
            assert weights.dtype == np.int32
            assert weights.min() >= 0
            np.testing.assert_array_equal(weights.sum(axis=1), size)

    @pytest.mark.parametrize("name", PROMPTS)
    def test_without_exchange_no_text_changes_sides(self, name):
        groups = groups_of(name)
        on_p, on_q = Draws(groups, 50, np.random.default_rng(0)).weights(0.0)
        assert not on_p[:, groups.n :].any()
        assert not on_q[:, : groups.n].any()

    @pytest.mark.parametrize("rate", RATES)
    def test_texts_of_a_prompt_are_drawn_equally_often_whichever_side_they_go_to(self, rate):
        pairs = Draws(groups_of("one to one"), 50, np.random.default_rng(0))
        drawn = sum(pairs.weights(rate))
        np.testing.assert_array_equal(drawn[:, :15], drawn[:, 15:][:, ::-1])
        assert drawn.max() > 1
        drawn = sum(Draws(groups_of("repeated"), 50, np.random.default_rng(0)).weights(rate))
        of_prompt = [drawn[:, np.flatnonzero(np.concatenate(REPEATED) == prompt)] for prompt in range(12)]
        assert all((texts == texts[:, :1]).all() for texts in of_prompt)

    @pytest.mark.parametrize("name", ["one to one", "repeated"])
    def test_the_rate_decides_who_gets_a_text_not_which_prompts_are_drawn(self, name):
        draws = Draws(groups_of(name), 50, np.random.default_rng(0))
        at = {rate: draws.weights(rate) for rate in RATES}
        for rate in RATES[1:]:
            np.testing.assert_array_equal(sum(at[rate]), sum(at[0.0]))
            assert not np.array_equal(at[rate][0], at[0.0][0])

    def test_texts_that_changed_sides_at_one_rate_are_drawn_alike_at_a_higher_one(self):
        groups = groups_of("one to one")
        draws = Draws(groups, 200, np.random.default_rng(0))
        crossed = [draws.weights(rate)[0][:, groups.n :] for rate in (0.0, 0.2, 0.5, 0.9, 1.0)]
        for less, more in pairwise(crossed):
            assert (less <= more).all()
            assert (less < more).any()

    @pytest.mark.parametrize(
        ("name", "of_q"), [("one to one", 1 / 2), ("repeated", 3 / 5), ("unpaired", 12 / 21), ("few", 1 / 2)]
    )
    @pytest.mark.parametrize("rate", RATES)
    def test_shares_that_change_sides(self, name, of_q, rate):
        # Of the texts of an exchanged prompt, or of those that stand alone, the share of Q is on side P by chance.
        groups, count = groups_of(name), 2000
        on_p, on_q = Draws(groups, count, np.random.default_rng(0)).weights(rate)
        for share, expected, size in (
            (on_p[:, groups.n :].sum() / on_p.sum(), rate * of_q, groups.n),
            (on_q[:, : groups.n].sum() / on_q.sum(), rate * (1 - of_q), groups.m),
        ):
            # Five standard errors, as if the up to five texts of a prompt went all the same way.
            assert share == pytest.approx(expected, abs=5 * np.sqrt(5 * expected * (1 - expected) / (count * size)))

    @pytest.mark.parametrize("rate", RATES)
    @pytest.mark.parametrize("name", ["one to one", "repeated", "unpaired"])
    def test_every_text_is_drawn_once_on_average(self, name, rate):
        groups, count = groups_of(name), 4000
        drawn = sum(Draws(groups, count, np.random.default_rng(1)).weights(rate))
        # A sum of draws that each have variance at most 1; five standard errors.
        assert drawn.mean(axis=0) == pytest.approx(1, abs=5 / np.sqrt(count))

    def test_prompts_are_drawn_by_themselves(self):
        # The variance of a prompt's draws is 1 - 1/G, the covariance of two is -1/G, as of G draws with replacement.
        drawn = Draws(groups_of("one to one"), 20_000, np.random.default_rng(0)).weights(0.0)[0][:, :15]
        covariance = np.cov(drawn.T)
        assert np.diag(covariance) == pytest.approx(1 - 1 / 15, abs=5 * np.sqrt(3 / 20_000))
        assert covariance[~np.eye(15, dtype=bool)] == pytest.approx(-1 / 15, abs=5 / np.sqrt(20_000))

    @pytest.mark.parametrize("name", PROMPTS)
    @pytest.mark.parametrize("rows", [0.5, 1, 3, 20, 1000])
    def test_resamples_in_blocks_are_those_drawn_at_once(self, name, rows, monkeypatch):
        groups = groups_of(name)
        monkeypatch.setattr(exchange, "BLOCK_BYTES", int(rows * 16 * groups.row_width))
        blocks = [each.weights(0.3) for each in draw_blocks(groups, 20, np.random.default_rng(3), most=15)]
        assert {len(on_p) for on_p, _ in blocks[:-1]} <= {min(max(1, int(rows)), 15)}
        whole = Draws(groups, 20, np.random.default_rng(3)).weights(0.3)
        for side in (0, 1):
            np.testing.assert_array_equal(np.concatenate([block[side] for block in blocks]), whole[side])

    @pytest.mark.parametrize("cores", [1, 3])
    def test_random_numbers_drawn_on_all_cores_are_those_drawn_in_a_row(self, cores, monkeypatch):
        monkeypatch.setattr(exchange, "usable_cores", lambda: cores)
        together, in_a_row = (np.random.default_rng(4) for _ in range(2))
        for count, width in ((7, 5), (1, 3), (2, 1)):
            expected = np.stack([in_a_row.random(width) for _ in range(count)])
            np.testing.assert_array_equal(exchange.random_rows(together, count, width), expected)

    @pytest.mark.parametrize("count", [0, 2.5, True])
    def test_a_number_of_resamples_that_is_not_whole_is_refused(self, count):
        said = f"number of replicates is not usable.*Allowed: a whole number of at least 1.*Received: {count}"
        with pytest.raises(InputError, match=said):
            Draws(separate_prompts(3, 3), count, np.random.default_rng(0))


class TestExchangeRate:
    @given(st.floats(0.001, 0.999), st.sampled_from([0.2, 1.0, 3.0]))
    def test_a_known_solution_is_found_to_one_in_256(self, solution, power):
        found = exchange_rate(1 - solution**power, lambda rate: 1 - rate**power)
        assert abs(found - solution) <= 1 / 512 + 1e-9  # the middle of the last of 256 parts
        if (256 * solution) % 1 > 1e-9:  # at the end of a part, rounding decides between it and the next
            assert found == plain_rate(1 - solution**power, lambda rate: 1 - rate**power)

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
