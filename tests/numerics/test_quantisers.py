"""Quantisers: what all of them promise, whichever way they cut the space."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mauve_core.base.errors import CancelledError, InputError
from mauve_core.clusters.binning import centre_and_scale, distinct_rows
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.quantisers import QUANTISERS, KMeans, Lattice, ResidualMixtureQuantiser
from mauve_core.stats.divergences import frontier_integral, probabilities

# Each quantiser with settings that take a fraction of a second, and the number of bins to ask for.
SMALL = {
    "kmeans": (KMeans(restarts=2), 12),
    "drmm": (ResidualMixtureQuantiser(layers=2, components=4, epochs=3), None),
    "lattice": (Lattice(epochs=4, hidden=32), None),
}

OWN_SIZE = ["drmm", "lattice"]


pytestmark = pytest.mark.usefixtures("one_torch_thread")


def blobs(sizes, d: int = 6, seed: int = 0, spread: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Rows around centres about 12 apart, and the blob of each."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    centres = 5 * np.random.default_rng(99).normal(size=(len(sizes), d))
    return (centres[truth] + spread * rng.normal(size=(truth.size, d))).astype(np.float32), truth


def noise(n: int = 300, d: int = 8, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def fit(name: str, x, seed=0, **options):
    quantiser, k = SMALL[name]
    return quantiser.fit(x, k, seed=seed, **options)


@cache
def fitted(name: str, seed: int = 0):
    """The fit of :func:`noise`, which most tests look at, made once."""
    return fit(name, noise(), seed)


def purity(labels: np.ndarray, truth: np.ndarray) -> float:
    """Share of rows that are with their bin's most frequent blob."""
    return sum(np.bincount(truth[labels == label]).max() for label in np.unique(labels)) / truth.size


def test_the_registry():
    assert {name: item.bins for name, item in QUANTISERS.items()} == {"kmeans": None, "drmm": 1000, "lattice": 744}
    assert all(item.name == name and item.title for name, item in QUANTISERS.items())
    assert set(SMALL) == set(QUANTISERS)


@pytest.mark.parametrize("name", QUANTISERS)
def test_labels_are_bins_of_the_rows(name):
    found = fitted(name)
    assert found.labels.dtype == np.int32
    assert found.labels.shape == (300,)
    assert 0 <= found.labels.min() <= found.labels.max() < found.k
    assert found.k == {"kmeans": 12, "drmm": 16, "lattice": 744}[name]
    assert np.isfinite(found.objective)


@pytest.mark.parametrize("name", QUANTISERS)
def test_the_fit_gives_its_own_rows_the_same_labels_again_and_new_rows_labels(name):
    x, found = noise(), fitted(name)
    np.testing.assert_array_equal(found.assign(x), found.labels)
    few = np.array([7, 7, 250, 3])
    np.testing.assert_array_equal(found.assign(x[few]), found.labels[few])
    near = found.assign(x + np.float32(1e-6))
    # A step of a millionth crosses a border for hardly any of 300 rows.
    assert (near == found.labels).mean() > 0.97


@pytest.mark.parametrize("name", QUANTISERS)
def test_equal_seeds_give_equal_labels_and_other_seeds_others(name):
    first, again, other = fitted(name, 3), fit(name, noise(), 3), fitted(name, 0)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert first.objective == again.objective
    assert (first.labels != other.labels).any()
    assert first.objective != other.objective


@pytest.mark.parametrize("name", QUANTISERS)
def test_a_given_sequence_is_left_as_it_was(name):
    sequence = np.random.SeedSequence(3)
    np.testing.assert_array_equal(fit(name, noise(), sequence).labels, fitted(name, 3).labels)
    assert sequence.n_children_spawned == 0


@pytest.mark.parametrize("name", OWN_SIZE)
def test_the_order_of_the_rows_decides_nothing(name):
    x = noise()
    order = np.random.default_rng(1).permutation(len(x))
    straight, shuffled = fitted(name), fit(name, x[order])
    np.testing.assert_array_equal(shuffled.labels, straight.labels[order])
    assert shuffled.objective == straight.objective


@pytest.mark.parametrize("name", QUANTISERS)
def test_equal_rows_have_equal_labels(name):
    x = noise(120)
    x[:, 2] = 0
    found = fit(name, np.concatenate([x, x[::-1], x]))
    np.testing.assert_array_equal(found.labels[:120], found.labels[120:240][::-1])
    np.testing.assert_array_equal(found.labels[:120], found.labels[240:])
    negative = x.copy()
    negative[:, 2] = -0.0
    np.testing.assert_array_equal(found.assign(negative), found.labels[:120])


@pytest.mark.parametrize("name", OWN_SIZE)
def test_units_and_origin_do_not_matter(name):
    x = np.round(noise() * 1024) / 1024  # so that the moved rows are exact in float32
    moved = 8 * x + 4
    np.testing.assert_array_equal(fit(name, moved).labels, fit(name, x).labels)


@pytest.mark.parametrize(("name", "least"), [("kmeans", 1.0), ("drmm", 1.0), ("lattice", 0.95)])
def test_separated_blobs_are_found(name, least):
    # The spreading net fills the whole sphere, so that some lattice points are nearest to images of two blobs.
    x, truth = blobs([30, 60, 45, 25, 80, 60])
    quantiser = {"kmeans": KMeans(), "drmm": ResidualMixtureQuantiser(), "lattice": Lattice(epochs=40)}[name]
    found = quantiser.fit(x, 6 if name == "kmeans" else None, seed=0)
    assert purity(found.labels, truth) >= least
    assert purity(np.random.default_rng(0).permutation(found.labels), truth) < 0.9  # purity could have been lower
    new, new_truth = blobs([20] * 6, seed=5)
    both = np.concatenate([found.labels, found.assign(new)])
    assert purity(both, np.concatenate([truth, new_truth])) >= least


@pytest.mark.parametrize("name", QUANTISERS)
def test_a_near_candidate_is_nearer_than_a_far_one(name):
    (human, _), (near, _), (far, _) = (
        blobs(sizes, seed=seed)
        for seed, sizes in enumerate([[50] * 6, [55, 45, 50, 50, 45, 55], [5, 5, 100, 90, 5, 95]])
    )
    integrals = []
    for candidate in (near, far):
        found = fit(name, np.concatenate([human, candidate]))
        counts = [np.bincount(part, minlength=found.k) for part in np.split(found.labels, [len(human)])]
        p, q = (probabilities(count, "krichevsky-trofimov") for count in counts)
        integrals.append(float(frontier_integral(p, q)))
    assert integrals[0] < integrals[1]


@pytest.mark.parametrize("name", QUANTISERS)
def test_progress_is_told_from_nothing_to_all_and_can_stop_the_work(name):
    told = []
    fit(name, noise(), progress=lambda *step: told.append(step))
    stages, done, totals = zip(*told, strict=True)
    assert len(set(stages)) == len(set(totals)) == 1
    assert list(done) == list(range(totals[0] + 1))

    def stop(stage: str, done: int, total: int) -> None:
        raise CancelledError("Stopped")

    with pytest.raises(CancelledError):
        fit(name, noise(), progress=stop)


def test_k_means_is_the_one_that_scores_are_made_with():
    x = noise()
    sequence = np.random.SeedSequence(3)
    found, plain = KMeans().fit(x, 20, seed=sequence), kmeans(x, 20, seed=sequence)
    np.testing.assert_array_equal(found.labels, plain.labels)
    assert found.objective == plain.objective
    distances = ((x[:, None].astype(np.float64) - plain.centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found.assign(x), distances.argmin(axis=1))


def test_distinct_rows_come_once_and_in_an_order_of_their_own():
    x = np.array([[2, 0], [1, 5], [2, -0.0], [1, 5], [-1, 3]], dtype=np.float32)
    first = distinct_rows(x)
    assert len(first.rows) == 3
    np.testing.assert_array_equal(first.rows[first.index], x)
    np.testing.assert_array_equal(distinct_rows(x[::-1]).rows, first.rows)


def test_centre_and_scale_make_a_mean_square_of_one():
    x = 3 + 7 * noise(5000, 3)
    centre, scale = centre_and_scale(x)
    standard = (x.astype(np.float64) - centre) / scale
    # Means of 5,000 and squares of 15,000 float64 numbers.
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1e-12)
    assert (standard**2).mean() == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("name", QUANTISERS)
def test_rows_that_cannot_be_used_are_refused(name):
    bad = noise()
    bad[11, 0] = np.nan
    with pytest.raises(InputError, match="row 11"):
        fit(name, bad)
    with pytest.raises(InputError, match="Too few different texts"):
        fit(name, np.repeat(noise(2), 50, axis=0))
    with pytest.raises(InputError, match="table"):
        fit(name, np.ones(7))
    found = fitted(name)
    with pytest.raises(InputError, match=r"columns of the fit.*8 columns.*7"):
        found.assign(noise(d=7))
    with pytest.raises(InputError, match="not finite"):
        found.assign(np.full((2, 8), np.inf))


@pytest.mark.parametrize("name", QUANTISERS)
@pytest.mark.parametrize("seed", [-1, None, True, 1.5])
def test_seeds_that_cannot_be_used_are_refused(name, seed):
    with pytest.raises(InputError, match="The seed"):
        fit(name, noise(), seed)


def test_a_number_of_bins_is_needed_or_must_fit():
    with pytest.raises(InputError, match="needs the number of bins"):
        KMeans().fit(noise(), seed=0)
    for name in OWN_SIZE:
        quantiser, _ = SMALL[name]
        with pytest.raises(InputError, match=f"no number of bins, or {quantiser.bins}"):
            quantiser.fit(noise(), 500, seed=0)
        assert quantiser.fit(noise(), quantiser.bins, seed=0).k == quantiser.bins


@pytest.mark.parametrize("name", OWN_SIZE)
@pytest.mark.parametrize("device", ["no-such-device", "cuda:99"])
def test_devices_that_are_not_there_are_refused(name, device):
    with pytest.raises(InputError, match=r"device is not usable.*" + device):
        fit(name, noise(), device=device)


@pytest.mark.parametrize(
    ("quantiser", "options"),
    [
        (ResidualMixtureQuantiser, {"layers": 0}),
        (ResidualMixtureQuantiser, {"components": 1}),
        (ResidualMixtureQuantiser, {"epochs": -1}),
        (ResidualMixtureQuantiser, {"batch": 0}),
        (ResidualMixtureQuantiser, {"learning_rate": 0.0}),
        (ResidualMixtureQuantiser, {"layers": 6}),
        (Lattice, {"squared_radius": 0}),
        (Lattice, {"epochs": 1.5}),
        (Lattice, {"batch": 1}),
        (Lattice, {"hidden": 0}),
        (Lattice, {"positives": 0}),
        (Lattice, {"negative_rank": 0}),
        (Lattice, {"learning_rate": np.inf}),
        (Lattice, {"spreading": -0.1}),
    ],
)
def test_settings_out_of_range_are_refused(quantiser, options):
    with pytest.raises(InputError):
        quantiser(**options)


@pytest.mark.parametrize(
    "quantiser", [ResidualMixtureQuantiser(epochs=2, learning_rate=1e30), Lattice(epochs=2, learning_rate=1e30)]
)
def test_training_that_goes_astray_is_an_error_and_no_label(quantiser):
    with pytest.raises(InputError, match="overflowed"):
        quantiser.fit(noise(), seed=0)


@pytest.mark.parametrize("name", OWN_SIZE)
def test_nothing_of_torch_is_changed_for_others_and_their_settings_change_nothing(name):
    import torch

    expected = fitted(name)
    torch.manual_seed(5)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    try:
        torch.set_default_dtype(torch.float64)
        with torch.no_grad():
            found = fit(name, noise())
            assert not torch.is_grad_enabled()
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    np.testing.assert_array_equal(found.labels, expected.labels)


@pytest.mark.slow
def test_importing_loads_no_torch_and_neither_does_k_means():
    check = (
        "import sys, numpy as np; from mauve_core.clusters.quantisers import QUANTISERS;"
        "QUANTISERS['kmeans'].fit(np.eye(5), 2, seed=0).assign(np.eye(5)); print('torch' in sys.modules)"
    )
    root = Path(__file__).resolve().parents[2]
    result = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, cwd=root, check=True)
    assert result.stdout.strip() == "False"
