"""Coverage by balls about neighbours: hand values, a plain twin, ties, and choices of points."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.clusters import neighbours
from mauve_core.clusters.neighbours import coverage, density, occupancy


def everything(x, manifold):
    return [(np.ones(len(x), dtype=bool), np.ones(len(manifold), dtype=bool))]


def plain(x, manifold, k, own, balls):
    between = np.linalg.norm(manifold[:, None] - manifold[None], axis=-1)
    np.fill_diagonal(between, np.inf)
    radii = np.sort(between, axis=1)[:, k - 1]
    held = [any(np.linalg.norm(x[i] - manifold[j]) <= radii[j] for j in np.flatnonzero(balls)) for i in range(len(x))]
    return np.array(held)[own].mean()


def test_hand_value():
    # Points 0, 1, 3 on a line reach 1, 1 and 2 to their nearest neighbour: together they hold [-1, 2] and [1, 5].
    manifold = np.array([[0.0], [1.0], [3.0]])
    x = np.array([[-1.0], [-1.1], [5.0], [5.1]])
    assert coverage(x, manifold, 1, everything(x, manifold)) == [0.5]
    without_last = [(np.ones(4, dtype=bool), np.array([True, True, False]))]
    assert coverage(x, manifold, 1, without_last) == [0.25]


@pytest.mark.parametrize("block", [1, 7, 512])
def test_slow_twin_for_any_block_and_choice(monkeypatch, block):
    monkeypatch.setattr(neighbours, "BLOCK", block)
    rng = np.random.default_rng(0)
    x, manifold = rng.normal(size=(40, 4)).astype(np.float32), rng.normal(size=(30, 4)).astype(np.float32)
    kept = [*everything(x, manifold), *((rng.random(40) < 0.7, rng.random(30) < 0.3) for _ in range(5))]
    found = coverage(x, manifold, 3, kept)
    for value, (own, balls) in zip(found, kept, strict=True):
        assert value == pytest.approx(plain(x.astype(float), manifold.astype(float), 3, own, balls), abs=1e-12)


def test_copies_of_a_point_hold_it_although_their_balls_have_no_size():
    """k + 1 copies far from the origin: all radii are 0, and rounding must not push the copy in x outside."""
    manifold = np.full((4, 50), 1234.567) + np.repeat([0.0, 1.0], [3, 1])[:, None]
    x = manifold[:1].copy()
    assert coverage(x, manifold, 2, everything(x, manifold)) == [1.0]


@pytest.mark.parametrize(
    ("x", "manifold", "k"),
    [
        (np.ones((3, 2)), np.ones((3, 3)), 1),
        (np.ones((3, 2)), np.ones((3, 2)), 3),
        (np.ones((3, 2)), np.ones((3, 2)), 0),
    ],
)
def test_samples_that_do_not_fit_are_refused(x, manifold, k):
    with pytest.raises(InputError):
        coverage(x, manifold, k, everything(x, manifold))


def test_an_empty_choice_is_refused():
    x = np.random.default_rng(0).normal(size=(5, 2))
    with pytest.raises(InputError, match="empty"):
        coverage(x, x, 1, [(np.zeros(5, dtype=bool), np.ones(5, dtype=bool))])


def plain_hits(x, manifold, k, own):
    """Points of x within the ball of every point of the manifold, one pair at a time."""
    between = np.linalg.norm(manifold[:, None] - manifold[None], axis=-1)
    np.fill_diagonal(between, np.inf)
    radii = np.sort(between, axis=1)[:, k - 1]
    return [
        sum(np.linalg.norm(x[i] - z) <= r for i in np.flatnonzero(own)) for z, r in zip(manifold, radii, strict=True)
    ]


def plain_density(x, manifold, k, own, balls):
    """Naeem et al. 2020, equation 4, with the chosen balls standing for all."""
    hits = plain_hits(x, manifold, k, own)
    total = sum(hits[j] for j in np.flatnonzero(balls))
    return total / (k * own.sum()) * (len(manifold) / balls.sum())


def plain_occupancy(x, manifold, k, own, balls):
    """Naeem et al. 2020, equation 5."""
    hits = plain_hits(x, manifold, k, own)
    return sum(hits[j] > 0 for j in np.flatnonzero(balls)) / balls.sum()


def test_hand_values_of_density_and_occupancy():
    # The balls are [-1, 1], [0, 2] and [1, 5]. Of the points, -1 lies in one, 1 in three, 5 in one, 6 in none.
    manifold = np.array([[0.0], [1.0], [3.0]])
    x = np.array([[-1.0], [1.0], [5.0], [6.0]])
    assert density(x, manifold, 1, everything(x, manifold)) == [5 / 4]
    assert occupancy(x, manifold, 1, everything(x, manifold)) == [1.0]
    without_second = [(np.array([True, False, True, True]), np.array([True, True, False]))]
    assert density(x, manifold, 1, without_second) == [pytest.approx(1 / 3 * 3 / 2)]
    assert occupancy(x, manifold, 1, without_second) == [0.5]


@pytest.mark.parametrize("block", [1, 7, 512])
def test_slow_twins_of_density_and_occupancy(monkeypatch, block):
    monkeypatch.setattr(neighbours, "BLOCK", block)
    rng = np.random.default_rng(0)
    x, manifold = rng.normal(size=(40, 4)).astype(np.float32), rng.normal(size=(30, 4)).astype(np.float32)
    kept = [*everything(x, manifold), *((rng.random(40) < 0.7, rng.random(30) < 0.3) for _ in range(5))]
    both = x.astype(float), manifold.astype(float)
    for found, twin in ((density, plain_density), (occupancy, plain_occupancy)):
        values = found(x, manifold, 3, kept)
        for value, (own, balls) in zip(values, kept, strict=True):
            assert value == pytest.approx(twin(*both, 3, own, balls), abs=1e-12)


def test_one_source_has_a_density_of_one_and_an_occupancy_of_one_less_two_to_the_minus_k():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(40):
        x, manifold = rng.normal(size=(100, 3)), rng.normal(size=(100, 3))
        choices = everything(x, manifold)
        found.append((density(x, manifold, 2, choices)[0], occupancy(x, manifold, 2, choices)[0]))
    # Naeem et al. 2020, section 3.3; the means of 40 draws are known to about 0.02 and 0.01.
    assert np.mean(found, axis=0) == pytest.approx([1, 0.75], abs=0.06)


def test_an_outliers_ball_lifts_precision_but_not_density():
    manifold = np.vstack([np.random.default_rng(2).normal(size=(50, 2)), [[60.0, 0.0]]])
    gibberish = np.random.default_rng(3).uniform(20, 40, size=(50, 2))
    choices = everything(gibberish, manifold)
    assert coverage(gibberish, manifold, 5, choices)[0] == 1
    assert density(gibberish, manifold, 5, choices)[0] == pytest.approx(1 / 5)
    assert occupancy(gibberish, manifold, 5, choices)[0] == pytest.approx(1 / 51)


@pytest.mark.parametrize("found", [density, occupancy])
def test_density_and_occupancy_refuse_what_coverage_refuses(found):
    x = np.random.default_rng(0).normal(size=(5, 2))
    with pytest.raises(InputError, match="empty"):
        found(x, x, 1, [(np.zeros(5, dtype=bool), np.ones(5, dtype=bool))])
    with pytest.raises(InputError):
        found(x, x, 5, everything(x, x))
