"""Attributes: guesses against plain loops and scikit-learn, and what clusters that know all or nothing must give."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, r2_score

from mauve_core.base.errors import InputError
from mauve_core.stats.attributes import draw_halves, explained_variance, guess_categories, purity

# A few dozen numbers of order 1.
ROUNDING = 1e-12


@st.composite
def studies(draw: st.DrawFn):
    """Labels, categories and splits of a few texts, both halves of which have some."""
    n = draw(st.integers(2, 30))
    labels = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    categories = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    return labels, categories, draw_halves(np.arange(n), 3, np.random.default_rng(draw(st.integers(0, 1000))))


class TestHalves:
    @given(st.lists(st.integers(0, 8), min_size=2, max_size=30).filter(lambda groups: len(set(groups)) > 1))
    def test_groups_stay_together_and_halves_are_halves(self, groups):
        halves = draw_halves(groups, 4, np.random.default_rng(0))
        assert halves.shape == (4, len(groups))
        for half in halves:
            sides = {group: {bool(h) for h, g in zip(half, groups, strict=True) if g == group} for group in set(groups)}
            assert all(len(side) == 1 for side in sides.values())
            assert sum(side == {True} for side in sides.values()) == len(sides) // 2

    def test_every_text_is_as_often_for_training_as_for_testing(self):
        halves = draw_halves(["a", "b", "c", "d"], 4000, np.random.default_rng(0))
        assert halves.mean(axis=0) == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(4000))
        assert len(np.unique(halves, axis=0)) == 6

    def test_one_group_cannot_be_split(self):
        with pytest.raises(InputError, match="Too few"):
            draw_halves([3, 3], 1, np.random.default_rng(0))


class TestCategories:
    def test_hand_value(self):
        # Cluster 0 is named 1, cluster 1 is named 0; two of the three test texts are guessed, one by the commonest, 0.
        labels, categories = np.array([0, 0, 0, 1, 1, 0, 1, 1]), np.array([1, 1, 0, 0, 0, 1, 0, 1])
        train = np.array([[True, True, True, True, True, False, False, False]])
        found = guess_categories(labels, categories, train)
        assert found.accuracy == pytest.approx([2 / 3])
        assert found.baseline == pytest.approx([1 / 3])

    @given(studies())
    def test_against_a_plain_loop(self, study):
        labels, categories, train = study
        found = guess_categories(labels, categories, train)
        for split, half in enumerate(train):

            def common(values) -> int:
                counts = Counter(values.tolist())
                return min(counts, key=lambda value: (-counts[value], value))

            overall = common(categories[half])
            names = {c: common(categories[half & (labels == c)]) for c in set(labels[half].tolist())}
            guess = [names.get(c, overall) for c in labels[~half].tolist()]
            truth = categories[~half]
            assert found.accuracy[split] == pytest.approx(accuracy_score(truth, guess), abs=ROUNDING)
            baseline = accuracy_score(truth, np.full(truth.size, overall))
            assert found.baseline[split] == pytest.approx(baseline, abs=ROUNDING)

    def test_clusters_that_know_all_and_nothing(self):
        rng = np.random.default_rng(0)
        categories = rng.integers(0, 3, size=600)
        halves = draw_halves(np.arange(600), 20, rng)
        np.testing.assert_array_equal(guess_categories(categories, categories, halves).accuracy, 1)
        alone = guess_categories(np.zeros(600, dtype=int), categories, halves)
        np.testing.assert_array_equal(alone.accuracy, alone.baseline)
        # Many clusters of one or two texts know nothing about the others: about a third are right.
        found = guess_categories(rng.integers(0, 300, size=600), categories, halves)
        assert found.accuracy.mean() == pytest.approx(1 / 3, abs=0.05)


class TestNumbers:
    @given(studies(), st.integers(0, 1000))
    def test_against_scikit_learn(self, study, seed):
        labels, _, train = study
        values = 1e6 + np.random.default_rng(seed).normal(size=labels.size)
        found = explained_variance(labels, values, train)
        for split, half in enumerate(train):
            means = {c: values[half & (labels == c)].mean() for c in set(labels[half].tolist())}
            guess = [means.get(c, values[half].mean()) for c in labels[~half].tolist()]
            if (~half).sum() < 2:
                assert np.isnan(found[split])
                continue
            # Values near 1e6 hold 1e-10 of their unit; the quotient may divide by little.
            assert found[split] == pytest.approx(r2_score(values[~half], guess), rel=1e-6, abs=1e-6)

    def test_clusters_that_know_all_and_nothing(self):
        rng = np.random.default_rng(0)
        labels, halves = rng.integers(0, 5, size=1000), draw_halves(np.arange(1000), 20, rng)
        np.testing.assert_allclose(explained_variance(labels, 3.0 * labels, halves), 1, atol=ROUNDING)
        noise = explained_variance(labels, rng.normal(size=1000), halves)
        # Means of a hundred texts each: the expected loss is 5 / 500, its own scatter less.
        assert noise.mean() == pytest.approx(-0.01, abs=0.02)
        overfitted = explained_variance(rng.integers(0, 400, size=1000), rng.normal(size=1000), halves)
        assert (overfitted < 0).all()

    def test_half_of_the_variance(self):
        rng = np.random.default_rng(1)
        labels, halves = rng.integers(0, 2, size=20_000), draw_halves(np.arange(20_000), 3, rng)
        values = 2 * labels - 1 + rng.normal(size=20_000)
        # Variance 1 between and 1 within; 10,000 test texts tell it to about 0.01.
        np.testing.assert_allclose(explained_variance(labels, values, halves), 0.5, atol=0.04)


class TestPurity:
    def test_hand_values(self):
        found = purity([0, 0, 0, 0, 2, 2], 4, [1, 1, 1, 0, 0, 2])
        np.testing.assert_allclose(found.by_cluster, [0.75, np.nan, 0.5, np.nan])
        np.testing.assert_array_equal(found.top, [1, -1, 0, -1])
        assert found.overall == pytest.approx(4 / 6)
        np.testing.assert_allclose(found.share, [2 / 6, 3 / 6, 1 / 6])
        # Category 0: one text in a cluster where a quarter is 0, one where half is.
        np.testing.assert_allclose(found.by_value, [(0.25 + 0.5) / 2, 0.75, 0.5])

    @given(studies())
    def test_laws(self, study):
        labels, categories, _ = study
        found = purity(labels, 5, categories)
        present = np.bincount(categories) > 0
        assert (found.by_value[present] >= found.share[present] - ROUNDING).all()  # by Cauchy and Schwarz
        assert found.overall >= found.share.max() - ROUNDING
        assert found.share.sum() == pytest.approx(1)
        alone = purity(np.zeros_like(labels), 1, categories)
        np.testing.assert_allclose(alone.by_value[present], alone.share[present])


@pytest.mark.parametrize("labels", [[0, 1], [0.0, 1.0, 2.0], [0, -1, 1], [[0, 1, 2]], []])
def test_what_does_not_fit_is_refused(labels):
    halves = np.array([[True, False, False]])
    with pytest.raises(InputError):
        guess_categories(labels, [0, 1, 1], halves)
    with pytest.raises(InputError):
        explained_variance(labels, [0.0, 1.0, 1.0], halves)
    with pytest.raises(InputError):
        purity(labels, 3, [0, 1, 1])


@pytest.mark.parametrize("train", [[[True, True, True]], [[False, False, False]], [[True, False]], [[1, 0, 0]]])
def test_splits_that_do_not_fit_are_refused(train):
    with pytest.raises(InputError):
        guess_categories([0, 1, 1], [0, 1, 1], np.array(train))
    with pytest.raises(InputError):
        explained_variance([0, 1, 1], [0.0, np.nan, 1.0], np.array([[True, False, False]]))
