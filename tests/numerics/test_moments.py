"""Principal components from sums, beside those of features in memory."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.clusters.reduction import Moments, added, common_length_of, projection_from, reduce_features


@pytest.mark.parametrize("unit_rows", ["before", "after"])
@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_the_projection_is_that_of_features_in_memory(unit_rows, share):
    x = np.random.default_rng(0).normal(size=(500, 12)).astype(np.float32) * np.linspace(1, 4, 12, dtype=np.float32) + 2
    parts = np.array_split(x, 7)
    length = common_length_of(x, unit_rows)
    found = projection_from(added(Moments.of(part, unit_rows) for part in parts), share, length)
    plain = reduce_features(x, explained_variance=share, unit_rows=unit_rows)
    assert found.explained == pytest.approx(plain.projection.explained)
    np.testing.assert_allclose(found.mean, plain.projection.mean, atol=1e-12)
    np.testing.assert_allclose(found.axes, plain.projection.axes, atol=1e-9)
    np.testing.assert_allclose(found.transform(x), plain.array, atol=1e-6)


def test_moments_are_plain_sums():
    x = np.array([[3.0, 4.0], [0.0, 2.0]])
    unit = Moments.of(x, "before")
    assert (unit.n, unit.length) == (2, 7.0)
    np.testing.assert_allclose(unit.total, [0.6, 1.8])
    np.testing.assert_allclose(unit.scatter, [[0.36, 0.48], [0.48, 1.64]])
    np.testing.assert_allclose(Moments.of(x, "after").scatter, x.T @ x)


def test_adding_leaves_the_parts_alone():
    parts = [Moments.of(np.ones((2, 3)) * (index + 1), "after") for index in range(2)]
    assert added(parts).total.tolist() == [6, 6, 6]
    assert parts[0].total.tolist() == [2, 2, 2]


def test_moments_that_cannot_be_added():
    with pytest.raises(InputError, match="different width"):
        added([Moments.of(np.ones((2, 3)), "before"), Moments.of(np.ones((2, 4)), "before")])
    with pytest.raises(InputError, match="no features"):
        added([])
    with pytest.raises(InputError, match="rows of zeros"):
        Moments.of(np.zeros((2, 3)), "before")
    with pytest.raises(InputError, match="All features are equal"):
        projection_from(Moments.of(np.ones((4, 3)), "before"), 0.9)
