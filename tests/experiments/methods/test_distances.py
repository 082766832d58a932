"""Transport frontiers and distances as methods: truths of shifted Gaussians, and groups left out by plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence

from mauve_core.base.config import ScoreConfig
from mauve_core.experiments.methods import Method
from mauve_core.experiments.methods.fitting import fit
from mauve_core.experiments.methods.sides import Sides
from mauve_core.numerics.divergences.frontier import REFERENCE_WEIGHTS, trapezoid_area
from mauve_core.numerics.divergences.smoothing import probabilities
from mauve_core.numerics.feature_space.reduction import reduce_features
from mauve_core.numerics.kmeans.clustering import kmeans
from mauve_core.numerics.transport.costs import quantised_cost

FRONTIERS = ("transport-linear", "transport-barycentric")
GROUPS = 5


def sides(shift, n=200, m=200, *, seed=0, groups=0):
    """Gaussian clouds about points of the unit sphere that lie apart by ``shift``."""
    rng = np.random.default_rng(seed)
    x, y = (0.3 * rng.normal(size=(rows, 6)) for rows in (n, m))
    x[:, 0] += 1
    y[:, 0] += np.cos(shift)
    y[:, 1] += np.sin(shift)
    labels = np.arange(n) % GROUPS, np.arange(m) % GROUPS
    jackknife_rows = [tuple(np.flatnonzero(side != group) for side in labels) for group in range(groups)]
    score = ScoreConfig(k=10, restarts=2)
    return Sides(x.astype(np.float32), y.astype(np.float32), jackknife_rows, score, lambda: ([], []))


def plain(found, method, rows_p, rows_q, seed):
    """Clusters, histograms, frontier and area anew, weight by weight."""
    x = reduce_features(np.concatenate([found.x_p, found.x_q]), explained_variance=0.9).array
    clusters = kmeans(x, 10, restarts=2, seed=seed)
    labels = clusters.labels[: len(found.x_p)][rows_p], clusters.labels[len(found.x_p) :][rows_q]
    p, q = (probabilities(np.bincount(side, minlength=10)) for side in labels)
    points = []
    for weight in REFERENCE_WEIGHTS:
        if method.estimator == "transport-linear":
            r = weight * p + (1 - weight) * q
            points.append((quantised_cost(q, r, clusters.centers), quantised_cost(p, r, clusters.centers)))
        else:
            whole = quantised_cost(p, q, clusters.centers)
            points.append((weight**2 * whole, (1 - weight) ** 2 * whole))
    c = 5.0 if method.scale is None else method.scale
    x, y = (np.exp(-c * np.array(side)) for side in zip(*points, strict=True))
    return float(trapezoid_area(np.array([1, *x, 0]), np.array([0, *y, 1])))


@pytest.mark.parametrize("name", FRONTIERS)
def test_equal_sources_come_near_one_and_farther_ones_lie_in_order(name):
    method = Method(name)
    values = [fit(name, sides(shift), SeedSequence(1)).value(method) for shift in (0.0, 0.3, 0.8, 1.6)]
    assert sorted(values, reverse=True) == values
    # Histograms of 200 texts over 10 clusters differ by about a tenth of their mass, over squared distances below 1.
    assert 0.9 < values[0] < 1
    assert values[-1] < 0.6
    same = sides(0.0)
    copies = Sides(same.x_p, same.x_p.copy(), (), same.score, same.tokens)
    assert fit(name, copies, SeedSequence(1)).value(method) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", FRONTIERS)
@pytest.mark.parametrize("scale", [None, 1.5])
def test_areas_are_those_of_a_plain_twin_also_without_a_group(name, scale):
    given, method, seed = sides(0.4, m=150, groups=GROUPS), Method(name, scale=scale), SeedSequence(7)
    found = fit(name, given, seed)
    everything = np.arange(200), np.arange(150)
    assert found.value(method) == pytest.approx(plain(given, method, *everything, seed), rel=1e-9)
    assert found.left_out(method) == pytest.approx(
        [plain(given, method, *rows, seed) for rows in given.jackknife_rows], rel=1e-9
    )
    assert fit(name, sides(0.4), seed).left_out(method) is None


@pytest.mark.parametrize("name", ["transport", "frechet"])
def test_a_distance_without_a_group_is_that_of_the_other_texts(name):
    given = sides(0.4, 90, 70, groups=GROUPS)
    found = fit(name, given, SeedSequence(2)).left_out(Method(name))
    alone = []
    for rows_p, rows_q in given.jackknife_rows:
        part = Sides(given.x_p[rows_p], given.x_q[rows_q], (), given.score, given.tokens)
        alone.append(fit(name, part, SeedSequence(2)).value(Method(name)))
    assert found == pytest.approx(alone, rel=1e-9)
    assert len(set(alone)) == GROUPS
