"""The deep residual mixture: its density, its bins, its start and its training."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal

from mauve_core.clusters.residual_mixture import (
    LEAST_DEVIATION,
    ResidualMixtureQuantiser,
    fit_mixture,
    log_joint,
    negative_log_likelihood,
    start_layers,
)

pytestmark = pytest.mark.integration

SMALL = ResidualMixtureQuantiser(layers=3, components=3, epochs=4)


def rows(n: int = 200, d: int = 4, seed: int = 0) -> np.ndarray:
    """Ten groups with different sizes, so that paths have different probabilities."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(10, size=n, p=np.arange(1, 11) / 55)
    return (2 * np.random.default_rng(1).normal(size=(10, d))[groups] + rng.normal(size=(n, d))).astype(np.float32)


@pytest.fixture(scope="module")
def mixture():
    """Of :func:`rows`."""
    return fit_mixture(rows(), SMALL, seed=0)


def test_the_joint_density_is_that_of_a_slow_twin(mixture):
    x = rows()
    found = log_joint(mixture, x[:20].astype(np.float64))
    assert found.shape == (20, 27)
    for number, path in enumerate(itertools.product(range(3), repeat=3)):
        mean = sum(mixture.means[layer, c] for layer, c in enumerate(path))
        twin = multivariate_normal(mean, mixture.deviation**2 * np.eye(4)).logpdf(x[:20])
        # Sums of four squares by another formula.
        np.testing.assert_allclose(found[:, number], mixture.log_prior[number] + twin, rtol=1e-11)


def test_probabilities_of_paths_sum_to_one_and_favour_those_that_rows_take(mixture):
    x = rows()
    # 27 products of float64 numbers.
    assert np.exp(mixture.log_prior).sum() == pytest.approx(1, rel=1e-12)
    wide = ResidualMixtureQuantiser(layers=3, components=5, epochs=4)
    taken = np.bincount(wide.fit(x, seed=0).labels, minlength=125)
    prior = fit_mixture(x, wide, seed=0).log_prior
    assert prior[taken > 5].min() > prior[taken == 0].mean()


def test_the_density_has_mass_one():
    x = rows(d=1)
    mixture = fit_mixture(x, SMALL, seed=2)
    mass, _ = quad(lambda at: np.exp(log_joint(mixture, np.array([[at]]))).sum(), -60, 60, limit=500)
    # The error that quad itself allows.
    assert mass == pytest.approx(1, abs=1e-7)


def test_the_objective_is_the_mean_log_density_of_the_rows_copies_counted():
    x = rows()
    x = np.concatenate([x, x[:50], x[:50]])
    mixture = fit_mixture(x, SMALL, seed=0)
    twin = -np.mean([np.log(np.exp(log_joint(mixture, row[None].astype(np.float64))).sum()) for row in x])
    # The mean of 300 float64 numbers.
    assert negative_log_likelihood(mixture, x) == pytest.approx(twin, rel=1e-10)
    assert SMALL.fit(x, seed=0).objective == negative_log_likelihood(mixture, x)


def test_a_bin_is_the_likeliest_path(mixture):
    x = rows()
    np.testing.assert_array_equal(SMALL.fit(x, seed=0).labels, log_joint(mixture, x.astype(np.float64)).argmax(axis=1))


@pytest.mark.parametrize("spread", [0.001, 0.1, 1.0])
def test_training_lowers_the_objective_however_tight_the_groups(spread):
    rng = np.random.default_rng(0)
    centres = 5 * rng.normal(size=(12, 5))
    x = (centres[rng.integers(12, size=400)] + spread * rng.normal(size=(400, 5))).astype(np.float32)
    losses = [ResidualMixtureQuantiser(epochs=epochs).fit(x, seed=0).objective for epochs in (0, 3, 12)]
    assert losses[0] > losses[1] > losses[2]


def test_one_gaussian_layer_of_far_groups_has_the_likelihood_of_its_closed_form():
    # Two groups 200 deviations apart: the mixture is a Gaussian of each, and the maximum of its likelihood is known.
    rng = np.random.default_rng(3)
    x = rng.normal(size=(600, 2)) + np.repeat([[-100, 0], [100, 0]], [200, 400], axis=0)
    centred = x - np.repeat([x[:200].mean(axis=0), x[200:].mean(axis=0)], [200, 400], axis=0)
    variance = (centred**2).mean()
    shares = -(np.log(1 / 3) / 3 + 2 * np.log(2 / 3) / 3)
    best = shares + np.log(2 * np.pi * variance) + 1
    found = ResidualMixtureQuantiser(layers=1, components=2, epochs=60).fit(x, seed=0).objective
    # float32 rows and a rate that ends at 0: within a thousandth of a nat of the best, and never better.
    assert best - 1e-6 < found < best + 1e-3


def test_the_start_leaves_less_to_each_layer_and_counts_its_rows():
    x = rows(400)
    settings = ResidualMixtureQuantiser(layers=3, components=5)
    layers = start_layers(x, settings, np.random.default_rng(0))
    deviations = [layer.deviation for layer in layers]
    assert x.std() > deviations[0] > deviations[1] > deviations[2]
    residual, before = x.astype(np.float64), []
    for layer in layers:
        nearest = ((residual[:, None] - layer.means) ** 2).sum(axis=2).argmin(axis=1)
        counts = np.bincount(nearest, minlength=5) + 1
        np.testing.assert_allclose(np.exp(layer.log_weights), counts / counts.sum(), rtol=1e-12)
        for table, earlier in zip(layer.log_tables, before, strict=True):
            twin = np.array([[np.sum((nearest == c) & (earlier == e)) + 1 for e in range(5)] for c in range(5)])
            np.testing.assert_allclose(np.exp(table), twin / twin.sum(axis=1, keepdims=True), rtol=1e-12)
        residual = residual - layer.means[nearest]
        before.append(nearest)


def test_ten_texts_of_many_copies_neither_divide_by_zero_nor_share_a_bin():
    x = np.repeat(rows(10), 30, axis=0)
    found = ResidualMixtureQuantiser(epochs=3).fit(x, seed=0)
    assert len(np.unique(found.labels)) == 10
    assert np.isfinite(found.objective)
    layers = start_layers(x, ResidualMixtureQuantiser(), np.random.default_rng(0))
    assert layers[0].deviation == LEAST_DEVIATION


def test_more_layers_leave_less():
    x = np.random.default_rng(0).normal(size=(1500, 6)).astype(np.float32)
    losses = {}
    for layers in (1, 2, 3):
        mixture = fit_mixture(x, ResidualMixtureQuantiser(layers=layers, epochs=3), seed=0)
        losses[layers] = mixture.deviation
    assert losses[1] > losses[2] > losses[3]
