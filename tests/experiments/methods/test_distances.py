"""Transport frontiers and distances as methods: truths of shifted Gaussians, and groups left out by plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence

from mauve_core.analyses import method_fits
from mauve_core.analyses.method_fits import Sides, fit
from mauve_core.analyses.methods import Method
from mauve_core.base.config import ScoreConfig
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.reduction import reduce_features
from mauve_core.estimators.transport import frechet_cost, quantised_cost
from mauve_core.stats.divergences import REFERENCE_WEIGHTS, probabilities, trapezoid_area

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


def test_the_linear_frontier_has_no_spread_over_texts_between_many_clusters(monkeypatch):
    monkeypatch.setattr(method_fits, "SPREAD_LIMIT", 9)
    given = sides(0.4, groups=GROUPS)
    linear, barycentric = (fit(name, given, SeedSequence(1)) for name in FRONTIERS)
    assert linear.left_out(Method("transport-linear")) is None
    assert "no jackknife: more than 9 clusters" in linear.notes[0]
    assert barycentric.left_out(Method("transport-barycentric")).shape == (GROUPS,)
    assert "10 clusters" in barycentric.notes[0]


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


def test_the_frechet_limit_has_the_frechet_distances_groups():
    given, method = sides(0.4, 90, 70, groups=GROUPS), Method("frechet-limit")
    found, plain = fit("frechet-limit", given, SeedSequence(2)), fit("frechet", given, SeedSequence(2))
    without, at_n = plain.left_out(Method("frechet")), plain.value(Method("frechet"))
    # Groups are equal but for one text, so that the line through n and four fifths of n ends here.
    assert found.value(method) == pytest.approx(5 * at_n - 4 * without.mean(), rel=1e-6)
    assert found.value(method) < at_n
    assert found.left_out(method) - found.value(method) == pytest.approx(without - at_n)
    assert found.caveats == ()
    assert method.bounds[0] == -np.inf


@pytest.mark.parametrize(("width", "says"), [(1, "does not fall as 1/n yet"), (40, "300 features, the Fréchet")])
def test_the_frechet_limit_says_where_texts_are_too_few(width, says):
    """Where one axis is wide, chance is too large to tell whether the distance falls as 1/n."""
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(60, 300)).astype(np.float32) for _ in range(2))
    x[:, 0] *= width
    y[:, 0] *= width
    halves = Sides(x, y, (), ScoreConfig(k=10), lambda: ([], []))
    found = fit("frechet-limit", halves, SeedSequence(2))
    assert found.left_out(Method("frechet-limit")) is None
    (caveat,) = found.caveats
    assert caveat.startswith("with 60 on a side")
    assert says in caveat


def test_both_frechet_estimators_share_their_distances(monkeypatch):
    computed = []

    def counting(*samples):
        computed.append(len(samples[0]))
        return frechet_cost(*samples)

    for module in ("mauve_core.analyses.method_fits", "mauve_core.estimators.transport"):
        monkeypatch.setattr(f"{module}.frechet_cost", counting)
    given = sides(0.4, 90, 70, groups=GROUPS)
    apart = fit("frechet", sides(0.4, 90, 70, groups=GROUPS), SeedSequence(2))
    expected = apart.left_out(Method("frechet"))
    alone = len(computed)
    limit, found = fit("frechet-limit", given, SeedSequence(2)), fit("frechet", given, SeedSequence(2))
    np.testing.assert_array_equal(found.left_out(Method("frechet")), expected)
    assert found.value(Method("frechet")) == apart.value(Method("frechet"))
    assert limit.value(Method("frechet-limit")) < found.value(Method("frechet"))
    assert alone == 1 + GROUPS
    assert len(computed) == alone + alone + 2  # the limit's own halves
