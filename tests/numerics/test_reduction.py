"""Unit rows and principal components against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.clusters import reduction
from mauve_core.clusters.features import require_usable
from mauve_core.clusters.reduction import (
    common_length_of,
    components_for,
    measure_side,
    reduce_features,
    reduce_sides,
    scatter_axes,
)
from mauve_core.stats import threads

# Coordinates are rounded to float32 (6e-8) after sums over up to 60 products of numbers up to 1.
FLOAT32 = 1e-6


def cloud(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Rows away from the origin whose spread falls with the column, as features of language models have it."""
    rng = np.random.default_rng(seed)
    return (3 + rng.normal(size=(n, d)) / np.sqrt(1 + np.arange(d))).astype(np.float32)


def unit_and_centred(x: np.ndarray) -> np.ndarray:
    rows = x.astype(np.float64)
    rows /= np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return rows - rows.mean(axis=0)


@pytest.mark.parametrize(("n", "d"), [(60, 8), (8, 60), (20, 20), (5000, 3)])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.999, 1.0])
def test_fewest_components_that_reach_the_share(n, d, share):
    x = cloud(n, d)
    reduced = reduce_features(x, explained_variance=share)
    shares = np.linalg.svd(unit_and_centred(x), compute_uv=False) ** 2
    shares = np.cumsum(shares) / shares.sum()
    components = reduced.array.shape[1]
    assert reduced.array.shape == (n, components)
    assert reduced.array.dtype == np.float32
    # Unit rows are rounded to float32 first, hence 1e-6 between the two shares.
    assert reduced.projection.explained == pytest.approx(shares[components - 1], abs=1e-6)
    assert reduced.projection.explained >= share - 1e-12
    if share < 1:
        assert shares[components - 1] > share - 1e-6
        assert components == 1 or shares[components - 2] < share + 1e-6


@pytest.mark.parametrize(("n", "d"), [(60, 8), (8, 60)])
def test_all_components_keep_every_distance(n, d):
    x = cloud(n, d)
    reduced = reduce_features(x, explained_variance=1.0).array.astype(np.float64)
    unit = unit_and_centred(x)

    def distances(rows):
        return np.linalg.norm(rows[:, None] - rows[None], axis=2)

    np.testing.assert_allclose(distances(reduced), distances(unit), atol=FLOAT32)


def test_components_are_uncorrelated_centred_and_sorted_by_variance():
    reduced = reduce_features(cloud(500, 20), explained_variance=0.95).array.astype(np.float64)
    covariance = np.cov(reduced.T)
    np.testing.assert_allclose(reduced.mean(axis=0), 0, atol=FLOAT32)
    np.testing.assert_allclose(covariance - np.diag(np.diag(covariance)), 0, atol=FLOAT32)
    assert np.all(np.diff(np.diag(covariance)) <= 0)


def test_lengths_of_rows_do_not_matter():
    x = cloud(50, 6)
    stretched = x * np.linspace(1e-20, 1e20, 50)[:, None].astype(np.float32)
    # Values near 1e-20 keep float32's relative precision; the norm must not underflow on the way.
    np.testing.assert_allclose(reduce_features(stretched).array, reduce_features(x).array, atol=FLOAT32)


def test_rows_in_blocks_equal_rows_at_once(monkeypatch):
    x = cloud(100, 9)
    at_once = reduce_features(x).array
    monkeypatch.setattr(reduction, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(reduction, "ROWS_SUMMED", 9)
    np.testing.assert_allclose(reduce_features(x).array, at_once, atol=FLOAT32)


def test_signs_do_not_depend_on_the_order_of_the_rows():
    x = cloud(80, 10)
    order = np.random.default_rng(1).permutation(80)
    np.testing.assert_allclose(reduce_features(x[order]).array, reduce_features(x).array[order], atol=FLOAT32)


def test_components_of_some_rows_project_all():
    x = cloud(90, 7)
    fitted = np.arange(0, 90, 3)
    reduced = reduce_features(x, explained_variance=1.0, fit_rows=fitted)
    alone = reduce_features(x[fitted], explained_variance=1.0)
    np.testing.assert_allclose(reduced.array[fitted], alone.array, atol=FLOAT32)
    assert reduced.array.shape[0] == 90


def test_a_fitted_projection_takes_further_rows():
    x, more = cloud(90, 7), cloud(40, 7, seed=1)
    reduced = reduce_features(x, explained_variance=0.95)
    mean, axes = reduced.projection.mean, reduced.projection.axes
    np.testing.assert_array_equal(reduced.projection.transform(x), reduced.array)
    expected = (more / np.linalg.norm(more.astype(np.float64), axis=1, keepdims=True) - mean) @ axes
    np.testing.assert_allclose(reduced.projection.transform(more), expected, atol=FLOAT32)
    np.testing.assert_allclose(axes.T @ axes, np.eye(axes.shape[1]), atol=1e-12)
    assert reduced.projection.transform(more[:0]).shape == (0, axes.shape[1])
    with pytest.raises(InputError, match="rows of zeros"):
        reduced.projection.transform(np.zeros((2, 7)))


def test_a_share_of_one_with_copies_of_columns_drops_what_has_no_variance():
    x = np.repeat(cloud(40, 3), 2, axis=1)
    assert reduce_features(x, explained_variance=1.0).array.shape[1] <= 3


@pytest.mark.parametrize("function", [reduce_features, require_usable])
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda x: x.__setitem__((3, 1), np.nan), "not finite.*row 3[.]"),
        (lambda x: x.__setitem__((slice(2, 9), 0), np.inf), r"7 rows \(2, 3, 4, 5, 6, ...\)"),
        (lambda x: x.__setitem__(5, 0), "rows of zeros.*smaller ones in row 5[.]"),
        (lambda x: x.__setitem__(5, -1e-41), "rows of zeros.*number of 1.2e-38 or more.*smaller ones in row 5[.]"),
    ],
)
def test_unusable_rows_are_named(function, spoil, said):
    x = cloud(10, 4)
    spoil(x)
    with pytest.raises(InputError, match=said):
        function(x)


def test_numbers_beyond_float32_are_refused():
    x = cloud(10, 4).astype(np.float64)
    x[4, 2] = 1e39
    with pytest.raises(InputError, match=r"beyond 3e38.*row 4"):
        reduce_features(x)


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (np.ones(5), "do not form a table"),
        (np.ones((3, 0)), "do not form a table"),
        (np.ones((1, 4)), "Too few rows"),
        (np.ones((6, 4)), "All features are equal"),
        (np.ones((6, 1)) * np.arange(1, 7)[:, None], "All features are equal"),
        ([["a"], ["b"]], "real numbers"),
        ([[1.0], [1.0, 2.0]], "ragged"),
    ],
)
def test_tables_that_cannot_be_reduced_are_refused(x, said):
    with pytest.raises(InputError, match=said):
        reduce_features(x)


@pytest.mark.parametrize("share", [0, -0.5, 1.1, np.nan])
def test_a_share_outside_its_range_is_refused(share):
    with pytest.raises(InputError, match="share of variance"):
        reduce_features(cloud(10, 4), explained_variance=share)


@pytest.mark.parametrize(("sizes", "d"), [((60, 45, 80), 8), ((5, 9, 7), 40)])
def test_sides_measured_once_reduce_as_their_stack_does(sizes, d):
    arrays = [cloud(n, d, seed) for seed, n in enumerate(sizes)]
    first = measure_side(arrays[0])
    others = [measure_side(array, reference=first.reference) for array in arrays[1:]]
    for chosen in ([0, 1, 2], [0, 2], [0]):
        sides = [[first, *others][at] for at in chosen]
        together = reduce_features(np.concatenate([arrays[at] for at in chosen]), explained_variance=0.95)
        found = reduce_sides(sides, explained_variance=0.95)
        assert found.array.shape == together.array.shape
        assert found.projection.explained == pytest.approx(together.projection.explained, rel=1e-9)
        np.testing.assert_allclose(found.array, together.array, atol=FLOAT32)


def test_coordinates_do_not_depend_on_the_number_of_cores(monkeypatch):
    x = cloud(9000, 12)
    monkeypatch.setattr(threads, "usable_cores", lambda: 1)
    alone = reduce_features(x).array
    monkeypatch.setattr(threads, "usable_cores", lambda: 3)
    np.testing.assert_array_equal(reduce_features(x).array, alone)


def test_features_far_from_the_origin_keep_their_components():
    # Nearly parallel rows, as language models make them: a covariance about the origin would lose these digits.
    x = (1000 + np.random.default_rng(0).normal(size=(3000, 6)) * [3, 2, 1, 1, 1, 1]).astype(np.float32)
    shares = np.linalg.svd(unit_and_centred(x), compute_uv=False) ** 2
    reduced = reduce_features(x, explained_variance=1.0).array.astype(np.float64)
    np.testing.assert_allclose(reduced.var(axis=0) * len(x), shares[: reduced.shape[1]], rtol=1e-5, atol=1e-10)


SPREADS = {
    "falling": np.arange(1, 61.0) ** -1.5,
    "one large, all others tiny": np.r_[1.0, np.full(59, 1e-9)],
    "copies of columns": np.r_[np.arange(1, 21.0) ** -1.0, np.zeros(40)],
    "equal": np.r_[np.ones(30), np.zeros(30)],
    "over thirty digits": 10.0 ** -np.linspace(0, 30, 60),
}


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("share", [0.5, 0.9, 0.9999])
def test_the_needed_components_alone_are_those_of_all(monkeypatch, spread, share):
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(60, 60)))[0]
    scatter = (turn * SPREADS[spread]) @ turn.T
    scatter = (scatter + scatter.T) / 2
    every, _ = scatter_axes(scatter, 100)
    monkeypatch.setattr(reduction, "_FEW", 1.0)
    found, needed = scatter_axes(scatter, 100, share)
    np.testing.assert_allclose(found, every, rtol=1e-9, atol=1e-14 * every[0])
    count, _ = components_for(every, share, 100)
    assert count == components_for(found, share, 100)[0]
    needed = needed[:, :count]
    np.testing.assert_allclose(needed.T @ needed, np.eye(count), atol=1e-12)
    np.testing.assert_allclose(scatter @ needed, needed * (100 * every[:count]), atol=1e-13 * 100 * every[0])


def test_equal_components_that_one_routine_cannot_separate_are_left_to_another(monkeypatch):
    def fails(*_, **named):
        if named.get("select") == "i":
            raise np.linalg.LinAlgError
        return np.arange(4.0)

    monkeypatch.setattr(reduction, "eigh_tridiagonal", fails)
    monkeypatch.setattr(reduction, "_FEW", 1.0)
    _, directions = scatter_axes(np.diag(np.arange(4.0)), 10, 0.5)
    np.testing.assert_array_equal(np.abs(directions), np.eye(4)[:, :0:-1])


class TestUnitRowsAfter:
    """The order of NeurIPS 2021, appendix C.3: projection first, then unit length."""

    @staticmethod
    def plain(x, share):
        """Principal components of the rows as they are, the fewest that reach the share; then rows of length 1."""
        rows = x.astype(np.float64)
        centered = rows - rows.mean(axis=0)
        _, singular, directions = np.linalg.svd(centered, full_matrices=False)
        shares = np.cumsum(singular**2) / (singular**2).sum()
        components = next(place for place, reached in enumerate(shares, start=1) if reached >= share - 1e-12)
        projected = centered @ directions[:components].T
        return np.array([row / np.sqrt((row**2).sum()) for row in projected])

    @pytest.mark.parametrize(("n", "d"), [(60, 8), (8, 60)])
    @pytest.mark.parametrize("scale", [1e-12, 1.0, 1e15])
    def test_it_is_a_plain_twin_up_to_signs(self, n, d, scale):
        x = (cloud(n, d) * np.linspace(0.5, 2, n)[:, None] * scale).astype(np.float32)
        found = reduce_features(x, explained_variance=0.9, unit_rows="after")
        expected = self.plain(x, 0.9)
        assert found.array.shape == expected.shape
        # Products of rows do not depend on the signs of components.
        np.testing.assert_allclose(found.array @ found.array.T, expected @ expected.T, atol=20 * FLOAT32)
        np.testing.assert_allclose(np.linalg.norm(found.array, axis=1), 1, atol=FLOAT32)
        assert not np.allclose(
            found.array[0] @ found.array[1], reduce_features(x).array[0] @ reduce_features(x).array[1]
        )

    def test_sides_measured_apart_are_those_of_one_table(self):
        x_p, x_q = cloud(40, 6), 2 * cloud(30, 6, seed=1)
        length = common_length_of(x_p, "after")
        first = measure_side(x_p, common_length=length)
        sides = [first, measure_side(x_q, reference=first.reference, common_length=length)]
        together = reduce_features(np.concatenate([x_p, x_q]), unit_rows="after").array
        np.testing.assert_allclose(reduce_sides(sides).array, together, atol=10 * FLOAT32)
        assert common_length_of(x_p, "before") is None

    def test_a_fitted_projection_scales_further_rows_after_it(self):
        x, more = cloud(90, 7), cloud(40, 7, seed=1)
        found = reduce_features(x, explained_variance=0.95, unit_rows="after").projection
        np.testing.assert_array_equal(
            found.transform(x), reduce_features(x, explained_variance=0.95, unit_rows="after").array
        )
        rows = more.astype(np.float64) / found.common_length
        expected = (rows - found.mean) @ found.axes
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(found.transform(more), expected, atol=10 * FLOAT32)

    def test_a_row_at_the_mean_stays_at_the_origin(self):
        x = np.array([[1.0, 0.0], [3.0, 0.0], [2.0, 0.0], [2.0, 1.0], [2.0, -1.0]], dtype=np.float32)
        found = reduce_features(x, explained_variance=1.0, unit_rows="after").array
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 0, 1, 1], atol=FLOAT32)

    def test_equal_rows_are_refused_whatever_their_length(self):
        with pytest.raises(InputError, match="All features are equal"):
            reduce_features(np.full((5, 3), 1e9), unit_rows="after")
