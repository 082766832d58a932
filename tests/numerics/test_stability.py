"""Stability of clusters: slow twins, exact p-values by enumeration, and calibration where the truth is known."""

from __future__ import annotations

import dataclasses
from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, fisher_exact

from mauve_core.base.errors import InputError
from mauve_core.clusters.k_means import kmeans
from mauve_core.stats.stability import (
    AGREEMENT,
    KEPT,
    LABELS,
    LEVEL,
    MIN_PERMUTATIONS,
    Stability,
    _draw_subsets,
    cluster_stability,
)

# Sums of a few dozen numbers of order 1.
ROUNDING = 1e-12


def random_labels(seed: int, size: int = 24, ks: tuple[int, ...] = (4, 3, 6)) -> list[NDArray[np.int64]]:
    """Partitions of the same texts; every cluster has a text."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(np.append(np.arange(k), rng.integers(0, k, size=size - k))) for k in ks]


def slow_excess(labels: list[NDArray[np.int64]], n: int) -> NDArray[np.float64]:
    """S(c, r) by loops over texts."""
    size, table = len(labels[0]), []
    for other in labels:
        row = []
        for c in range(int(labels[0].max()) + 1):
            values = []
            for text in np.flatnonzero(labels[0] == c):
                mates = np.flatnonzero(other == other[text])
                p, q = (mates < n).sum() / n, (mates >= n).sum() / (size - n)
                values.append((p - q) / (len(mates) / size))
            row.append(np.mean(values))
        table.append(row)
    return np.array(table)


class TestStatistics:
    @pytest.mark.parametrize(("seed", "n"), [(0, 12), (1, 7), (2, 20)])
    def test_against_the_slow_twin(self, seed, n):
        labels = random_labels(seed)
        found, twin = cluster_stability(labels, n, seed=0), slow_excess(labels, n)
        np.testing.assert_allclose(found.excess, twin[0], atol=ROUNDING)
        np.testing.assert_allclose(found.elsewhere, twin[1:], atol=ROUNDING)
        np.testing.assert_allclose(found.combined, twin.mean(axis=0), atol=ROUNDING)
        twin[np.abs(twin) < ROUNDING] = 0
        np.testing.assert_allclose(found.agreement, (np.sign(twin[1:]) == np.sign(twin[0])).mean(axis=0))
        some = twin[0] != 0
        np.testing.assert_allclose(found.kept[some], twin[1:, some].mean(axis=0) / twin[0, some], rtol=1e-9)
        assert np.isnan(found.kept[~some]).all()
        np.testing.assert_allclose(found.adjusted, false_discovery_control(found.p), atol=ROUNDING)

    def test_the_labels_follow_their_thresholds(self):
        rng = np.random.default_rng(0)
        labels = [rng.integers(0, 10, size=400)]
        labels.append(np.where(rng.random(400) < 0.2, rng.integers(0, 10, size=400), labels[0]))
        chosen = rng.permutation(400)
        order = np.concatenate([chosen[labels[0][chosen] < 4], chosen[labels[0][chosen] >= 4]])
        found = cluster_stability([row[order] for row in labels], 200, seed=0)
        for j in range(10):
            beyond = found.adjusted[j] <= LEVEL
            holds = found.agreement[j] >= AGREEMENT and found.kept[j] >= KEPT
            expected = "stable" if beyond and holds else "unsure" if found.p[j] <= LEVEL else "noise"
            assert found.label[j] == expected
        assert set(found.label) <= set(LABELS)
        assert (found.label[:4] == "stable").all()
        assert (found.low[:4] > 0).all()
        # No draw comes near that: the sides themselves are the only ones as far.
        np.testing.assert_allclose(found.p[:4], 1 / (1 + found.permutations))

    @pytest.mark.parametrize("paired", [False, True])
    def test_the_deviation_is_that_of_drawing_texts_again(self, paired):
        # T is a mean over P's texts less one over Q's of a fixed number a text: the slow twin draws those again.
        rng = np.random.default_rng(1)
        n = 40
        labels = [rng.integers(0, k, size=2 * n) for k in (3, 4)]
        if paired:  # half of the prompts have both texts in one cluster, everywhere
            for row in labels:
                row[n : n + n // 2] = row[: n // 2]
        kernel = np.zeros((3, 2 * n))
        for c, text in product(range(3), range(2 * n)):
            mates = [(other[labels[0] == c] == other[text]).mean() / (other == other[text]).mean() for other in labels]
            kernel[c, text] = np.mean(mates)
        units = np.tile(np.arange(n), 2) if paired else None
        found = cluster_stability(labels, n, units=units, seed=0)
        left = rng.integers(0, n, size=(20_000, n))
        right = left if paired else rng.integers(0, n, size=(20_000, n))
        again = kernel[:, :n][:, left].mean(axis=2) - kernel[:, n:][:, right].mean(axis=2)
        # 20,000 draws tell a deviation to 0.5 %; the factor n / (n - 1) of the variance is 1.3 % of it.
        np.testing.assert_allclose(found.sd, again.std(axis=1) * np.sqrt(n / (n - 1)), rtol=0.03)
        np.testing.assert_allclose((found.low + found.high) / 2, found.combined, atol=ROUNDING)

    def test_empty_clusters_and_one_partition(self):
        labels = np.array([0, 0, 2, 2, 0, 2, 2, 2])
        found = cluster_stability([labels], 4, k=4, seed=0)
        np.testing.assert_array_equal(found.p[[1, 3]], 1)
        np.testing.assert_array_equal(found.adjusted[[1, 3]], 1)
        assert np.isnan(found.agreement).all()
        assert "stable" not in found.label
        assert len(found.notes) == 2
        kept = cluster_stability([labels // 2], 4, seed=0)
        np.testing.assert_array_equal(found.p[[0, 2]], kept.p)
        np.testing.assert_array_equal(found.adjusted[[0, 2]], kept.adjusted)

    @pytest.mark.parametrize(
        ("labels", "n"), [([], 1), ([[0, 1]], 2), ([[0, 1], [0]], 1), ([[0.0, 1.0]], 1), ([[0, -1]], 1), ([[0, 1]], 0)]
    )
    def test_labels_that_are_refused(self, labels, n):
        with pytest.raises(InputError):
            cluster_stability(labels, n, seed=0)

    def test_the_default_number_of_draws_can_tell_one_cluster_in_k(self):
        assert cluster_stability(random_labels(0), 12, seed=0).permutations == MIN_PERMUTATIONS
        many = cluster_stability([np.arange(120)], 60, seed=0)
        assert 1 / (many.permutations + 1) <= LEVEL / 120


def exact_p(labels: list[NDArray[np.int64]], n: int, assignments: list[NDArray[np.intp]]) -> NDArray[np.float64]:
    """The share of all ways to give n places to P in which T lies as far from its mean."""
    table = []
    for places in assignments:
        order = np.concatenate([places, np.setdiff1d(np.arange(len(labels[0])), places)])
        table.append(slow_excess([row[order] for row in labels], n).mean(axis=0))
    away = np.abs(np.array(table) - np.mean(table, axis=0))
    return (away >= away[0] - 1e-9).mean(axis=0)


class TestPValues:
    DRAWS = 20_000
    # Five standard errors of a share of 20,000 draws.
    NEAR = 5 * 0.5 / np.sqrt(DRAWS)

    @pytest.mark.parametrize("n", [4, 3])
    def test_all_exchanges_of_a_tiny_sample(self, n):
        labels = random_labels(3, 8, (3, 2, 3))
        everything = [np.array(places) for places in combinations(range(8), n)]
        found = cluster_stability(labels, n, permutations=self.DRAWS, seed=0)
        np.testing.assert_allclose(found.p, exact_p(labels, n, everything), atol=self.NEAR)

    def test_all_exchanges_within_pairs(self):
        labels = random_labels(4, 12, (3, 2, 3))
        everything = [np.array([i + 6 * flip for i, flip in enumerate(flips)]) for flips in product((0, 1), repeat=6)]
        found = cluster_stability(labels, 6, units=np.tile(np.arange(6), 2), permutations=self.DRAWS, seed=0)
        np.testing.assert_allclose(found.p, exact_p(labels, 6, everything), atol=self.NEAR)

    def test_all_exchanges_within_larger_units(self):
        labels = random_labels(5, 9, (3, 2, 3))
        # Texts 0 to 3 are P's. Unit 0 has 2 of P and 1 of Q, 1 has 1 and 2, 2 has 1 and 1, and one text of Q is alone.
        units = np.array([0, 0, 1, 2, 0, 1, 1, 2, 3])
        everything = [
            np.array([*first, second, third])
            for first in combinations((0, 1, 4), 2)
            for second in (2, 5, 6)
            for third in (3, 7)
        ]
        found = cluster_stability(labels, 4, units=units, permutations=self.DRAWS, seed=0)
        np.testing.assert_allclose(found.p, exact_p(labels, 4, everything), atol=self.NEAR)
        assert "never change sides" in found.notes[0]

    def test_all_ways_to_deal_documents(self):
        labels = [np.concatenate([row, row[::-1]]) for row in random_labels(5, 6, (3, 2, 3))]
        units = np.repeat(np.arange(6), 2)
        everything = [np.flatnonzero(np.isin(units, chosen)) for chosen in combinations(range(6), 3)]
        found = cluster_stability(labels, 6, units=units, permutations=self.DRAWS, seed=0)
        np.testing.assert_allclose(found.p, exact_p(labels, 6, everything), atol=self.NEAR)

    def test_copies_on_one_side_do_not_make_a_difference(self):
        # P has every text twice, so that more texts than P has units are its; shares are those of the draw.
        p = []
        for seed in range(60):
            rng = np.random.default_rng(seed)
            sizes = np.repeat([2, 1], [40, 200])
            labels = [np.repeat(rng.integers(0, 5, 240), sizes) for _ in range(2)]
            units = np.repeat(np.arange(240), sizes)
            p.append(cluster_stability(labels, 80, units=units, permutations=99, seed=seed).p)
        assert 0.1 < (np.array(p) <= 0.2).mean() < 0.3  # 0.2 expected of 300 that depend on each other in fives

    def test_one_partition_is_fishers_test_where_it_is_symmetric(self):
        # With as many texts on both sides the two-sided exact test of a table orders tables as |T| does.
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 4, size=60)
        found = cluster_stability([labels], 30, permutations=self.DRAWS, seed=0)
        for c in range(4):
            a, b = (labels[:30] == c).sum(), (labels[30:] == c).sum()
            assert found.p[c] == pytest.approx(fisher_exact([[a, b], [30 - a, 30 - b]]).pvalue, abs=self.NEAR)

    def test_the_order_within_a_side_and_the_names_of_clusters_do_not_matter(self):
        labels = random_labels(6)
        order = np.concatenate([np.arange(12)[::-1], np.arange(12, 24)[::-1]])
        renamed = [np.array([2, 0, 3, 1, 5, 4])[row][order] for row in labels]
        before, after = (cluster_stability(each, 12, permutations=self.DRAWS, seed=0) for each in (labels, renamed))
        places = [2, 0, 3, 1]
        np.testing.assert_allclose(after.combined[places], before.combined, atol=ROUNDING)
        np.testing.assert_allclose(after.sd[places], before.sd, atol=ROUNDING)
        np.testing.assert_allclose(after.p[places], before.p, atol=2 * self.NEAR)

    def test_a_seed_gives_its_numbers_again(self):
        labels = random_labels(7)
        first, again = (cluster_stability(labels, 12, seed=np.random.SeedSequence(5)) for _ in range(2))
        for field in dataclasses.fields(Stability):
            np.testing.assert_array_equal(getattr(first, field.name), getattr(again, field.name))
        assert not np.array_equal(first.p, cluster_stability(labels, 12, seed=6).p)

    def test_subsets_have_their_size_and_are_uniform(self):
        drawn = _draw_subsets(2, 5, 20_000, np.random.default_rng(0))
        assert (drawn.sum(axis=1) == 2).all()
        counts = np.unique(drawn, axis=0, return_counts=True)[1]
        assert counts.size == 10
        assert np.abs(counts - 2000).max() < 5 * np.sqrt(20_000 * 0.1 * 0.9)

    def test_subsets_are_drawn_again_where_keys_tie(self):
        class Few:
            """The keys 0 to 3 alone: nearly every row has a tie at first."""

            def __init__(self) -> None:
                self.rng = np.random.default_rng(0)

            def integers(self, low, high, size, dtype):
                return self.rng.integers(0, 4, size=size, dtype=dtype)

        drawn = _draw_subsets(2, 5, 100, Few())  # type: ignore[arg-type]
        assert (drawn.sum(axis=1) == 2).all()

    def test_portions_do_not_matter(self, monkeypatch):
        labels = random_labels(8)
        whole = cluster_stability(labels, 12, seed=0, units=np.tile(np.arange(12), 2)).p
        monkeypatch.setattr("mauve_core.stats.stability._ENTRIES", 24 * 7)
        parts = cluster_stability(labels, 12, seed=0, units=np.tile(np.arange(12), 2)).p
        np.testing.assert_array_equal(parts, whole)


COMPONENTS, DIMENSION = 15, 6


def mixture(weights: NDArray[np.float64], size: int, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Components and features: Gaussians that overlap, so that partitions differ from seed to seed."""
    centres = 2.0 * np.random.default_rng(0).normal(size=(COMPONENTS, DIMENSION))
    component = rng.choice(COMPONENTS, size=size, p=weights / weights.sum())
    return component, (centres[component] + rng.normal(size=(size, DIMENSION))).astype(np.float32)


def partitions(x: NDArray[np.float32], ks: tuple[int, ...], seed: int) -> list[NDArray[np.int32]]:
    children = np.random.SeedSequence(seed).spawn(len(ks))
    return [kmeans(x, k, restarts=1, seed=child).labels for k, child in zip(ks, children, strict=True)]


SPLITS = 10


@pytest.fixture(scope="module", params=[4, pytest.param(20, marks=pytest.mark.trial)])
def null(request: pytest.FixtureRequest) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """(splits, k) p-values and labels of random halves of human texts against each other, of so many collections."""
    p, label = [], []
    for fit in range(request.param):
        rng = np.random.default_rng(fit)
        _, x = mixture(np.ones(COMPONENTS), 600, rng)
        rows = partitions(x, (30, 30, 30, 20), fit)
        for split in range(SPLITS):
            order = rng.permutation(600)
            found = cluster_stability([row[order] for row in rows], 300, seed=split)
            p.append(found.p)
            label.append(found.label)
    return np.array(p), np.array(label)


@pytest.mark.slow
class TestCalibration:
    def test_halves_of_one_collection_have_hardly_a_stable_cluster(self, null):
        _, label = null
        stable = label == "stable"
        assert stable.mean() <= 0.05
        # Adjusted p-values hold more than that: a split with any stable cluster at all is rare. Five standard errors.
        assert stable.any(axis=1).mean() <= LEVEL + 5 * np.sqrt(LEVEL * (1 - LEVEL) / len(label))

    def test_p_values_of_halves_are_uniform(self, null):
        p, _ = null
        for level in (0.01, 0.05, 0.2, 0.5):
            # Clusters of one split depend on each other: splits are the units.
            shares = (p <= level).mean(axis=1)
            error = shares.std(ddof=1) / np.sqrt(len(shares))
            assert shares.mean() <= level + 4 * error
            assert shares.mean() >= 0.7 * level - 4 * error  # counts are whole, so levels are not reached exactly

    @pytest.mark.parametrize("fits", [15, pytest.param(60, marks=pytest.mark.trial)])
    def test_pairs_of_one_prompt_hold_their_level(self, fits):
        # Both texts of a prompt lie near each other, so that sides differ less than two free samples would.
        shares = []
        for fit in range(fits):
            rng = np.random.default_rng(fit)
            _, middle = mixture(np.ones(COMPONENTS), 300, rng)
            x, y = (middle + rng.normal(size=middle.shape).astype(np.float32) for _ in range(2))
            rows = partitions(np.concatenate([x, y]), (10, 10, 10), fit)
            pairs = np.tile(np.arange(300), 2)
            shares.append(
                [(cluster_stability(rows, 300, units=each, seed=fit).p <= 0.2).mean() for each in (pairs, None)]
            )
        paired, free = np.mean(shares, axis=0)
        error = np.std(shares, axis=0, ddof=1) / np.sqrt(len(shares))
        assert abs(paired - 0.2) <= 4 * error[0]
        assert free < 0.2 - 4 * error[1]  # without units the test is blind to what pairs tell

    @pytest.mark.parametrize(
        ("factor", "texts", "repeats"),
        [
            (3.0, 1000, 10),
            pytest.param(3.0, 1000, 60, marks=pytest.mark.trial),
            pytest.param(2.0, 2000, 60, marks=pytest.mark.trial),
        ],
    )
    def test_a_planted_topic_is_stable(self, factor, texts, repeats):
        found = 0
        for repeat in range(repeats):
            rng = np.random.default_rng(100 + repeat)
            weights = np.ones(COMPONENTS)
            weights[0] = factor
            human, x = mixture(np.ones(COMPONENTS), texts, rng)
            model, y = mixture(weights, texts, rng)
            rows = partitions(np.concatenate([x, y]), (COMPONENTS, COMPONENTS, COMPONENTS + 5), repeat)
            component = np.concatenate([human, model])
            home = np.bincount(rows[0][component == 0]).argmax()
            stability = cluster_stability(rows, texts, seed=repeat)
            found += stability.label[home] == "stable" and stability.excess[home] < 0
        assert found >= 0.95 * repeats - (repeats < 60)  # of ten, one may be missed


def test_draws_as_far_as_the_sides_themselves_count():
    # Every exchange of two texts in two clusters is as far as the sides are: p = 1.
    found = cluster_stability([[0, 1]], 1, permutations=50, seed=0)
    np.testing.assert_array_equal(found.p, 1)
