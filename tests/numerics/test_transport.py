"""Transport costs and their frontiers: closed forms, linear programs by another solver, and published values.

Network simplex and the other solvers end at a vertex of the same polytope, so that they agree to rounding; 1e-9 leaves
room for the feasibility tolerance of HiGHS at the sizes here.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import block_array, eye_array, kron

from mauve_core.base.errors import InputError
from mauve_core.estimators import transport
from mauve_core.estimators.transport import (
    barycentre_on_centres,
    barycentric_frontier,
    displacement_frontier,
    entropic_barycentres,
    exact_cost,
    exact_plan,
    frechet_cost,
    linear_frontier,
    median_cost,
    plug_in_cost,
    quantised_cost,
    squared_distances,
)
from mauve_core.stats.divergences import REFERENCE_WEIGHTS, trapezoid_area

SOLVERS = 1e-9
WEIGHTS = np.array([0.1, 0.35, 0.5, 0.8])
# Six centres with a squared distance of 1 between any two: the cost between histograms is their total variation.
SIMPLEX = np.eye(6) * np.sqrt(0.5)


def histograms(k, seed=0, empty=True):
    p, q = np.random.default_rng(seed).dirichlet(np.full(k, 0.7), size=2)
    if empty:
        p[0] = q[1] = 0
    return p / p.sum(), q / q.sum(), np.random.default_rng(seed + 100).normal(size=(k, 3))


def marginals(k, m):
    """Rows that sum a flattened (k, m) plan over its columns, and over its rows."""
    return kron(eye_array(k), np.ones((1, m))), kron(np.ones((1, k)), eye_array(m))


def by_linear_program(p, q, cost):
    rows, columns = marginals(*cost.shape)
    solved = linprog(cost.ravel(), A_eq=block_array([[rows], [columns]]), b_eq=np.concatenate([p, q]))
    assert solved.status == 0
    return solved.fun


def barycentre_objective(p, q, cost, weight):
    """The least weight OT(p, r) + (1 - weight) OT(q, r) over histograms r: one program in both plans and r."""
    k = len(p)
    rows, columns = marginals(k, k)
    zero, minus = np.zeros((k, k * k)), -eye_array(k)
    equal = block_array(
        [[rows, zero, np.zeros((k, k))], [columns, zero, minus], [zero, rows, np.zeros((k, k))], [zero, columns, minus]]
    )
    target = np.concatenate([p, np.zeros(k), q, np.zeros(k)])
    prices = np.concatenate([weight * cost.ravel(), (1 - weight) * cost.ravel(), np.zeros(k)])
    solved = linprog(prices, A_eq=equal, b_eq=target)
    assert solved.status == 0
    return solved.fun


def covariance(rank, d, seed):
    factor = np.random.default_rng(seed).normal(size=(d, rank))
    return factor @ factor.T


def gaussian_cost(mean_p, covariance_p, mean_q, covariance_q):
    """The cost between Gaussians by the samples that have exactly these means and covariances."""
    samples = []
    for mean, matrix in ((mean_p, covariance_p), (mean_q, covariance_q)):
        values, vectors = np.linalg.eigh(np.asarray(matrix, dtype=float))
        root = vectors * np.sqrt(np.maximum(values, 0))
        d = len(root)
        # Rows of a regular simplex: mean 0, and orthonormal columns but for sqrt(d), which covariances divide by.
        simplex = np.linalg.svd(np.eye(d + 1) - 1 / (d + 1))[0][:, :d] * np.sqrt(d)
        samples.append(simplex @ root.T + np.asarray(mean))
    return frechet_cost(*samples)


class TestPlugIn:
    @pytest.mark.parametrize("seed", range(4))
    def test_equal_sizes_are_an_assignment(self, seed):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(60, 5)), rng.normal(size=(60, 5)) + 0.3
        cost = squared_distances(x, y)
        expected = cost[linear_sum_assignment(cost)].mean()
        assert plug_in_cost(x, y) == pytest.approx(expected, rel=1e-12)

    def test_unequal_sizes_against_a_linear_program(self):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(17, 3)), rng.normal(size=(11, 3))
        expected = by_linear_program(np.full(17, 1 / 17), np.full(11, 1 / 11), squared_distances(x, y))
        assert plug_in_cost(x, y) == pytest.approx(expected, rel=SOLVERS)

    def test_one_dimension_pairs_in_order(self):
        rng = np.random.default_rng(1)
        x, y = rng.normal(size=300), rng.exponential(size=300)
        expected = ((np.sort(x) - np.sort(y)) ** 2).mean()
        assert plug_in_cost(x[:, None], y[:, None]) == pytest.approx(expected, rel=1e-12)

    def test_a_shift_costs_its_square_and_equal_samples_nothing(self):
        x = np.random.default_rng(0).normal(size=(40, 4))
        shift = np.array([0.5, -1.0, 2.0, 0.0])
        assert plug_in_cost(x, x[::-1] + shift) == pytest.approx(5.25, rel=1e-12)
        assert plug_in_cost(x, x[::-1]) == 0

    def test_samples_beyond_the_limit_are_refused_not_cut(self, monkeypatch):
        monkeypatch.setattr(transport, "EXACT_LIMIT", 10)
        x = np.random.default_rng(0).normal(size=(11, 2))
        with pytest.raises(InputError, match=r"at most 10 per side.*Received: 11.*quantized"):
            plug_in_cost(x[:5], x)

    def test_samples_that_do_not_fit_are_refused(self):
        with pytest.raises(InputError, match="different dimensions"):
            plug_in_cost(np.ones((3, 2)), np.ones((3, 1)))
        with pytest.raises(InputError, match="features of Q hold values that are not finite"):
            plug_in_cost(np.ones((3, 2)), np.full((3, 2), np.nan))


class TestFrechet:
    @pytest.mark.parametrize("seed", range(3))
    def test_against_another_implementation(self, seed):
        import ot

        means = np.random.default_rng(seed).normal(size=(2, 5))
        covariances = covariance(5, 5, seed + 1), covariance(9, 5, seed + 2)
        found = gaussian_cost(means[0], covariances[0], means[1], covariances[1])
        expected = ot.gaussian.bures_wasserstein_distance(*means, *covariances) ** 2
        assert found == pytest.approx(float(expected), rel=1e-9)

    def test_singular_covariances(self):
        # Those of a U and b V for one-dimensional U and V: the best rotation of the line turns b toward a.
        a, b = np.random.default_rng(0).normal(size=(2, 5))
        lines = gaussian_cost(np.zeros(5), np.outer(a, a), np.zeros(5), np.outer(b, b))
        # The zero eigenvalues come out as 1e-16 and their roots as 1e-8, which meet the other root across.
        assert lines == pytest.approx(a @ a + b @ b - 2 * abs(a @ b), rel=1e-7)
        full = covariance(5, 5, 1)
        assert gaussian_cost(a, full, a, np.zeros((5, 5))) == pytest.approx(np.trace(full), rel=1e-12)
        across = gaussian_cost(a, full, a, np.outer(b, b))
        assert across == pytest.approx(np.trace(full) + b @ b - 2 * np.sqrt(b @ full @ b), rel=1e-7)
        near = gaussian_cost(a, full, a, np.outer(b, b) + 1e-10 * np.eye(5))
        assert across == pytest.approx(near, rel=1e-4)

    @pytest.mark.parametrize(("least", "bound"), [(0.09, 1e-12), (0.0, 1e-8)])
    def test_covariances_that_commute(self, least, bound):
        """Of an eigenvalue that is zero, libraries leave 1e-16, whose root is 1e-8."""
        a, b = np.array([4.0, 1.0, least]), np.array([1.0, 9.0, 0.25])
        turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
        found = gaussian_cost([0, 0, 0], turn @ np.diag(a) @ turn.T, [3, 0, 4], turn @ np.diag(b) @ turn.T)
        assert found == pytest.approx(25 + ((np.sqrt(a) - np.sqrt(b)) ** 2).sum(), rel=bound)

    @pytest.mark.parametrize(("n", "m", "d"), [(200, 150, 6), (5, 40, 12), (7, 6, 30)])
    def test_samples_are_their_means_and_covariances(self, n, m, d):
        rng = np.random.default_rng(n)
        x, y = rng.normal(size=(n, d)), 2 * rng.normal(size=(m, d)) + 1
        expected = gaussian_cost(x.mean(axis=0), np.cov(x.T), y.mean(axis=0), np.cov(y.T))
        # Forming a covariance turns a zero eigenvalue into 1e-16, its root into 1e-8.
        assert frechet_cost(x, y) == pytest.approx(expected, rel=1e-7)

    @pytest.mark.parametrize("epsilon", [1e-2, 1e-5, 1e-8])
    @pytest.mark.parametrize("n", [8, 100])
    def test_small_gaps_keep_their_digits(self, epsilon, n):
        # Best pairing of X with (1 + e) X is X itself: e^2 E |X|^2. The trace formula has no digit left at e = 1e-8.
        x = np.random.default_rng(0).normal(size=(n, 20)) + 0.1
        expected = epsilon**2 * ((x.mean(axis=0) ** 2).sum() + x.var(axis=0, ddof=1).sum())
        # e is 1e-8 of numbers near 1, so that float64 holds (1 + e) x to 1e-8 of e.
        assert frechet_cost(x, x * (1 + epsilon)) == pytest.approx(expected, rel=1e-6)
        assert frechet_cost(x, x) < 1e-28


class TestQuantised:
    @pytest.mark.parametrize("seed", range(4))
    def test_against_a_linear_program(self, seed):
        p, q, centres = histograms(9, seed)
        expected = by_linear_program(p, q, squared_distances(centres, centres))
        assert quantised_cost(p, q, centres) == pytest.approx(expected, rel=SOLVERS)

    def test_against_the_solver_called_as_it_comes(self):
        import ot

        p, q, centres = histograms(60, 5)
        expected = ot.emd2(p, q, ot.dist(centres, centres, metric="sqeuclidean"))
        assert quantised_cost(p, q, centres) == pytest.approx(float(expected), rel=1e-12)

    def test_centres_that_are_equally_far_apart_give_the_total_variation(self):
        p, q, _ = histograms(6, 2)
        assert quantised_cost(p, q, SIMPLEX) == pytest.approx(np.abs(p - q).sum() / 2, rel=1e-12)

    @given(st.integers(0, 10_000), st.integers(1, 8))
    def test_its_root_is_a_distance(self, seed, k):
        rng = np.random.default_rng(seed)
        sides, centres = rng.dirichlet(np.ones(k), size=3), rng.normal(size=(k, 2))
        a, b, c = (quantised_cost(sides[i], sides[j], centres) ** 0.5 for i, j in ((0, 1), (1, 2), (0, 2)))
        assert c <= a + b + 1e-9
        assert a == pytest.approx(quantised_cost(sides[1], sides[0], centres) ** 0.5, rel=1e-9, abs=1e-9)
        assert quantised_cost(sides[0], sides[0], centres) == pytest.approx(0, abs=1e-15)

    def test_inputs_that_do_not_fit_are_refused(self):
        p, q, centres = histograms(5)
        with pytest.raises(InputError, match="do not match"):
            quantised_cost(p, q, centres[:4])
        with pytest.raises(InputError, match="do not match"):
            quantised_cost([p, p], [q, q], centres)
        with pytest.raises(InputError, match="sum to 1"):
            quantised_cost(p * 2, q, centres)
        with pytest.raises(InputError, match="cluster centers hold values that are not finite"):
            quantised_cost(p, q, np.where(centres == centres[0, 0], np.inf, centres))
        with pytest.raises(InputError, match="do not form a table"):
            quantised_cost(p, q, centres[:, 0])


class TestLinearFrontier:
    def test_against_linear_programs(self):
        p, q, centres = histograms(8, 1)
        cost = squared_distances(centres, centres)
        frontier = linear_frontier(p, q, centres, WEIGHTS)
        for weight, type_1, type_2 in zip(WEIGHTS, frontier.type_1, frontier.type_2, strict=True):
            mixture = weight * p + (1 - weight) * q
            assert type_1 == pytest.approx(by_linear_program(q, mixture, cost), rel=SOLVERS)
            assert type_2 == pytest.approx(by_linear_program(p, mixture, cost), rel=SOLVERS)

    def test_centres_that_are_equally_far_apart(self):
        p, q, _ = histograms(6, 2)
        whole = np.abs(p - q).sum() / 2
        frontier = linear_frontier(p, q, SIMPLEX)
        # The mixture at weight 1e-6 holds its difference to q to 1e-10.
        np.testing.assert_allclose(frontier.type_1, REFERENCE_WEIGHTS * whole, rtol=1e-8)
        np.testing.assert_allclose(frontier.type_2, (1 - REFERENCE_WEIGHTS) * whole, rtol=1e-8)

    @pytest.mark.parametrize(("cost", "published"), [(0.090, 0.924), (0.061, 0.962)])
    def test_published_values(self, cost, published):
        # JMLR 2023, table 17, GPT-2 xl, sampling and nucleus: quantised cost and linear score. Where squared distances
        # of centres obey the triangle inequality, as in many dimensions, the score follows from the cost, for c = 5.
        # The cost is rounded to 0.0005: 0.0025 in a = c cost, times the slope a exp(-a) of the area: 0.0007 at most,
        # and the score to 0.0005.
        p, q = [1 - cost, cost, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]
        area = trapezoid_area(*linear_frontier(p, q, SIMPLEX).curve(5))
        assert area == pytest.approx(published, abs=0.0012)
        assert area == pytest.approx((1 + 5 * cost) * np.exp(-5 * cost), abs=1e-4)

    @given(st.integers(0, 10_000))
    def test_bounds_and_ends(self, seed):
        p, q, centres = histograms(7, seed)
        whole = quantised_cost(p, q, centres)
        frontier = linear_frontier(p, q, centres, [0, 0.3, 0.7, 1])
        assert (frontier.type_1 <= frontier.weights * whole + 1e-12).all()
        assert (frontier.type_2 <= (1 - frontier.weights) * whole + 1e-12).all()
        assert frontier.type_1[[0, -1]] == pytest.approx([0, whole], rel=1e-9, abs=1e-14)
        assert frontier.type_2[[0, -1]] == pytest.approx([whole, 0], rel=1e-9, abs=1e-14)

    @pytest.mark.parametrize("weights", [[0.5, 0.4], [-0.1, 0.5], [0.5, 1.1], [], [[0.5]]])
    def test_weights_that_do_not_increase_within_0_and_1_are_refused(self, weights):
        p, q, centres = histograms(5)
        for frontier in (linear_frontier, barycentric_frontier):
            with pytest.raises(InputError, match="mixture weights"):
                frontier(p, q, centres, weights)


class TestFreeBarycentre:
    def test_two_points(self):
        frontier = barycentric_frontier([1, 0], [0, 1], [[0.0, 0.0], [3.0, 4.0]], WEIGHTS)
        np.testing.assert_allclose(frontier.type_1, WEIGHTS**2 * 25, rtol=1e-14)
        np.testing.assert_allclose(frontier.type_2, (1 - WEIGHTS) ** 2 * 25, rtol=1e-14)

    def test_two_gaussians(self):
        import ot

        rng = np.random.default_rng(0)
        means, covariances = rng.normal(size=(2, 4)), np.stack([covariance(4, 4, 1), covariance(4, 4, 2)])
        frontier = displacement_frontier(gaussian_cost(means[0], covariances[0], means[1], covariances[1]), WEIGHTS)
        for weight, type_1, type_2 in zip(WEIGHTS, frontier.type_1, frontier.type_2, strict=True):
            mean, middle = ot.gaussian.bures_wasserstein_barycenter(
                means, covariances, weights=np.array([weight, 1 - weight]), eps=1e-12, num_iter=10_000
            )
            assert type_1 == pytest.approx(gaussian_cost(means[1], covariances[1], mean, middle), rel=1e-6)
            assert type_2 == pytest.approx(gaussian_cost(means[0], covariances[0], mean, middle), rel=1e-6)

    def test_the_costs_are_those_to_a_barycentre_made_of_the_plan(self):
        p, q, centres = histograms(10, 3)
        rows, columns, mass = exact_plan(p, q, squared_distances(centres, centres))
        frontier = barycentric_frontier(p, q, centres, WEIGHTS)
        for weight, type_1, type_2 in zip(WEIGHTS, frontier.type_1, frontier.type_2, strict=True):
            atoms = weight * centres[rows] + (1 - weight) * centres[columns]
            assert type_1 == pytest.approx(exact_cost(q, mass, squared_distances(centres, atoms)), rel=SOLVERS)
            assert type_2 == pytest.approx(exact_cost(p, mass, squared_distances(centres, atoms)), rel=SOLVERS)

    @pytest.mark.parametrize("cost", [-1.0, np.inf, np.nan])
    def test_a_cost_that_is_none_is_refused(self, cost):
        with pytest.raises(InputError, match="transport cost"):
            displacement_frontier(cost)


class TestBarycentreOnCentres:
    @pytest.mark.parametrize("seed", range(3))
    def test_against_one_linear_program(self, seed):
        p, q, centres = histograms(7, seed)
        cost = squared_distances(centres, centres)
        frontier = barycentric_frontier(p, q, centres, WEIGHTS, barycentre="centres")
        for weight, type_1, type_2 in zip(WEIGHTS, frontier.type_1, frontier.type_2, strict=True):
            found = weight * type_2 + (1 - weight) * type_1
            assert found == pytest.approx(barycentre_objective(p, q, cost, weight), rel=SOLVERS)
            free = displacement_frontier(quantised_cost(p, q, centres), [weight])
            assert found >= weight * free.type_2[0] + (1 - weight) * free.type_1[0] - 1e-12

    def test_it_is_the_free_one_where_a_centre_lies_at_each_step(self):
        grid = np.arange(5.0)[:, None]
        p, q = np.eye(5)[0], np.eye(5)[4]
        weights = [0.25, 0.5, 0.75]
        found = barycentric_frontier(p, q, grid, weights, barycentre="centres")
        free = barycentric_frontier(p, q, grid, weights)
        np.testing.assert_allclose(found.type_1, free.type_1, rtol=1e-14)
        np.testing.assert_allclose(found.type_2, free.type_2, rtol=1e-14)
        np.testing.assert_array_equal(barycentre_on_centres(p, q, squared_distances(grid, grid), 0.75), np.eye(5)[1])

    def test_two_centres_jump_at_one_half(self):
        frontier = barycentric_frontier([1, 0], [0, 1], [[0.0], [2.0]], [0.4, 0.6], barycentre="centres")
        np.testing.assert_array_equal(frontier.type_1, [0, 4])
        np.testing.assert_array_equal(frontier.type_2, [4, 0])


class TestEntropicBarycentre:
    @pytest.mark.parametrize("seed", range(3))
    def test_against_another_implementation(self, seed):
        import ot

        # Its method in the log domain starts where the weights agree; its other one only for equal weights.
        p, q, centres = histograms(12, seed, empty=False)
        cost = squared_distances(centres, centres)
        size = median_cost(cost)
        found = entropic_barycentres(p, q, cost, WEIGHTS, size)
        for row, weight in zip(found, WEIGHTS, strict=True):
            shares = np.array([weight, 1 - weight])
            expected = ot.bregman.barycenter(
                np.stack([p, q], axis=1), cost, size, shares, method="sinkhorn_log", stopThr=1e-13
            )
            # Both stop when a step changes the masses by 1e-10 or less.
            np.testing.assert_allclose(row, expected, atol=1e-8)

    def test_the_plans_meet_at_it(self):
        # Optimality: potentials f, g with l f + (1 - l) g = 0 on the barycentre's side, empty bins included.
        p, q, centres = histograms(9, 1)
        cost = squared_distances(centres, centres)
        size = median_cost(cost)
        kernel = np.exp(-cost / size)
        for weight, row in zip(WEIGHTS, entropic_barycentres(p, q, cost, WEIGHTS, size), strict=True):
            potentials = []
            for side in (p, q):
                v = np.ones(9)
                for _ in range(2000):
                    v = row / (kernel @ (side / (kernel @ v)))
                potentials.append(np.log(v))
            total = weight * potentials[0] + (1 - weight) * potentials[1]
            assert np.ptp(total) < 1e-7

    def test_it_tends_to_the_exact_one(self):
        p, q, centres = histograms(6, 4, empty=False)
        cost = squared_distances(centres, centres)
        exact = barycentric_frontier(p, q, centres, WEIGHTS, barycentre="centres")
        least = WEIGHTS * exact.type_2 + (1 - WEIGHTS) * exact.type_1
        gaps = []
        for share in (1, 0.1, 0.02):
            size = share * median_cost(cost)
            found = barycentric_frontier(p, q, centres, WEIGHTS, barycentre="entropic", regularisation=size)
            gaps.append(WEIGHTS * found.type_2 + (1 - WEIGHTS) * found.type_1 - least)
            # Entropies of plans over 36 entries lie between 0 and log 36, and so bound what the term can cost.
            assert (gaps[-1] >= -1e-9).all()
            assert (gaps[-1] <= size * np.log(36)).all()
        assert (gaps[2] < gaps[1]).all()
        assert (gaps[1] < gaps[0]).all()

    def test_it_is_blurred_and_its_default_is_the_median(self):
        p, _, centres = histograms(8, 5)
        size = float(np.median([((a - b) ** 2).sum() for i, a in enumerate(centres) for b in centres[:i]]))
        given_ = barycentric_frontier(p, p, centres, WEIGHTS, barycentre="entropic", regularisation=size)
        default = barycentric_frontier(p, p, centres, WEIGHTS, barycentre="entropic")
        np.testing.assert_array_equal(default.type_1, given_.type_1)
        assert (default.type_1 > 0.01 * size).all()
        np.testing.assert_allclose(default.type_1, default.type_2, rtol=1e-6)

    def test_settings_that_cannot_serve_are_refused(self):
        p, q, centres = histograms(5)
        with pytest.raises(InputError, match="Unknown barycenter"):
            barycentric_frontier(p, q, centres, barycentre="median")
        with pytest.raises(InputError, match="Only the entropic"):
            barycentric_frontier(p, q, centres, regularisation=1.0)
        with pytest.raises(InputError, match="too small"):
            barycentric_frontier(p, q, centres, barycentre="entropic", regularisation=1e-3)
        with pytest.raises(InputError, match="regularization is not usable"):
            barycentric_frontier(p, q, centres, barycentre="entropic", regularisation=0.0)
        with pytest.raises(InputError, match="median cost is 0"):
            barycentric_frontier(p, q, np.zeros((5, 2)), barycentre="entropic")
