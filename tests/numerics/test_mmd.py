"""MMD: double loops, closed forms, blocks, and a z-score that is one for equal sources."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.estimators import kernel_discrepancy as module
from mauve_core.estimators.kernel_discrepancy import median_bandwidth, mmd, mmd_left_out
from mauve_core.stats.resampling import draw_splits

# Sums of up to 1e4 kernel values of at most 1, divided by as many.
ROUNDING = 1e-13


def samples(n, m, shift=0.0, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(m, d)) + shift


def kernel(a, b, bandwidth):
    return float(np.exp(-((a - b) ** 2).sum() / (2 * bandwidth**2)))


def plain(x, y, bandwidth):
    """Unbiased and biased estimate by double loops."""
    n, m = len(x), len(y)
    within_x = sum(kernel(x[i], x[j], bandwidth) for i in range(n) for j in range(n) if i != j)
    within_y = sum(kernel(y[i], y[j], bandwidth) for i in range(m) for j in range(m) if i != j)
    across = sum(kernel(a, b, bandwidth) for a in x for b in y)
    unbiased = within_x / (n * (n - 1)) + within_y / (m * (m - 1)) - 2 * across / (n * m)
    return unbiased, (within_x + n) / n**2 + (within_y + m) / m**2 - 2 * across / (n * m)


@pytest.mark.parametrize("block", [1, 7, 512])
def test_slow_twin_for_any_block(monkeypatch, block):
    monkeypatch.setattr(module, "BLOCK", block)
    x, y = samples(12, 17, shift=0.5)
    found = mmd(x, y, bandwidth=1.3, splits=5, seed=0)
    assert (found.value, found.biased) == pytest.approx(plain(x, y, 1.3), abs=ROUNDING)
    halves = draw_splits(12, 6, 5, np.random.default_rng(np.random.SeedSequence(0).spawn(2)[1]))
    values = np.array([plain(x[a], x[b], 1.3)[0] for a, b in zip(*halves, strict=True)])
    # From 6 and 6 texts to 12 and 17.
    share = (2 / (12 * 11) + 4 / (12 * 17) + 2 / (17 * 16)) / (4 / (6 * 5) + 4 / 36)
    assert found.null_mean == pytest.approx(values.mean() * share**0.5, abs=ROUNDING)
    assert found.null_sd == pytest.approx(values.std(ddof=1) * share**0.5, abs=ROUNDING)
    assert found.z == pytest.approx((found.value - found.null_mean) / found.null_sd, rel=1e-12)


def test_two_gaussians_in_closed_form():
    # E k over x - y ~ N(s, 2 I) is (h^2 / (h^2 + 2))^(d/2) exp(-|s|^2 / (2 (h^2 + 2))).
    bandwidth, shift, d = 1.5, 0.6, 3
    base = (bandwidth**2 / (bandwidth**2 + 2)) ** (d / 2)
    truth = 2 * base * (1 - np.exp(-d * shift**2 / (2 * (bandwidth**2 + 2))))
    values = []
    for seed in range(200):
        x, y = samples(40, 30, shift, d, seed)
        values.append(mmd(x, y, bandwidth=bandwidth, splits=2, seed=0).value)
    # Unbiased: within four standard errors of the truth, which are a twentieth of it.
    error = np.std(values) / np.sqrt(len(values))
    assert error < truth / 20
    assert np.mean(values) == pytest.approx(truth, abs=4 * error)


def test_far_from_the_origin_nothing_is_lost():
    x, y = samples(20, 20, shift=0.5)
    # Features of 1e4: their squares take eight digits of sixteen, which the common mean gives back but for the
    # rounding of the shifted features themselves, 1e4 times 1e-16 each.
    found = mmd(x + 1e4, y + 1e4, bandwidth=1.0, splits=4, seed=1)
    assert found.value == pytest.approx(mmd(x, y, bandwidth=1.0, splits=4, seed=1).value, abs=1e-11)


class TestNull:
    def test_z_has_mean_0_and_sd_1_for_equal_sources_of_other_sizes(self):
        values = [mmd(*samples(60, 25, seed=seed), splits=60, seed=seed).z for seed in range(250)]
        # Five standard errors of a mean and of an sd; 60 halves add 1/60 to the variance and P's own kernel a few
        # hundredths. The tail to the right is heavier than a normal one, which doubles the error of the sd.
        assert np.mean(values) == pytest.approx(0, abs=5 / np.sqrt(250))
        assert np.std(values) == pytest.approx(1, abs=0.25)
        assert 0.005 < np.mean(np.array(values) > 2) < 0.11

    def test_a_shift_is_far_out(self):
        assert mmd(*samples(200, 200, shift=0.5), seed=0).z > 10

    def test_it_repeats_and_its_streams_are_the_seed_s(self):
        x, y = samples(30, 20, shift=0.2)
        assert mmd(x, y, seed=4) == mmd(x, y, seed=np.random.SeedSequence(4))
        assert mmd(x, y, seed=4).null_sd != mmd(x, y, seed=5).null_sd

    def test_an_odd_text_is_left_out_of_the_halves(self):
        x, y = samples(5, 6)
        assert np.isfinite(mmd(x, y, splits=50, seed=0).z)


class TestBandwidth:
    def test_median_over_all_pairs(self):
        x, y = samples(9, 8, shift=1)
        both = np.concatenate([x, y])
        distances = [np.linalg.norm(both[i] - both[j]) for i in range(17) for j in range(i)]
        assert median_bandwidth(x, y, seed=0) == pytest.approx(np.median(distances), rel=1e-12)
        found = mmd(x, y, splits=3, seed=0)
        assert found.bandwidth == pytest.approx(np.median(distances), rel=1e-12)
        assert found.notes == ()

    def test_a_part_of_the_texts_is_told(self, monkeypatch):
        monkeypatch.setattr(module, "MEDIAN_TEXTS", 12)
        x, y = samples(9, 8, shift=1)
        found = mmd(x, y, splits=3, seed=0)
        assert found.notes == ("the bandwidth is the median distance among 12 of the 17 points, drawn at random",)
        assert found.bandwidth != mmd(x, y, splits=3, seed=1).bandwidth
        assert mmd(x, y, bandwidth=1.0, splits=3, seed=0).notes == ()

    def test_copies_have_no_median(self):
        with pytest.raises(InputError, match="median distance between texts is 0"):
            median_bandwidth(np.zeros((5, 2)), [[1.0, 0.0]], seed=0)
        with pytest.raises(InputError, match="Halves of the human texts"):
            mmd(np.zeros((5, 2)), np.ones((5, 2)), seed=0)


class TestRefusals:
    def test_samples(self):
        x, y = samples(5, 5)
        with pytest.raises(InputError, match="Too few rows of features of P"):
            mmd(x[:3], y, seed=0)
        with pytest.raises(InputError, match="Too few rows of features of Q"):
            mmd(x, y[:1], seed=0)
        with pytest.raises(InputError, match="different dimensions"):
            mmd(x, y[:, :2], seed=0)
        with pytest.raises(InputError, match="not finite"):
            mmd(x, y * np.nan, seed=0)

    def test_settings(self):
        x, y = samples(5, 5)
        with pytest.raises(InputError, match="bandwidth"):
            mmd(x, y, bandwidth=0.0, seed=0)
        with pytest.raises(InputError, match="number of splits"):
            mmd(x, y, splits=1, seed=0)


@pytest.mark.parametrize(("limit", "median_texts"), [(6000, 2000), (6000, 40), (0, 2000), (0, 40)])
def test_parts_have_the_values_that_they_have_alone(monkeypatch, limit, median_texts):
    monkeypatch.setattr(module, "DISTANCES_LIMIT", limit)
    monkeypatch.setattr(module, "MEDIAN_TEXTS", median_texts)
    x, y = samples(31, 26, shift=0.3)
    groups = np.arange(31) % 5, np.arange(26) % 5
    kept = [tuple(np.flatnonzero(side != group) for side in groups) for group in range(5)]
    found = mmd_left_out(x, y, kept, seed=3)
    alone = [mmd(x[a], y[b], splits=2, seed=3).value for a, b in kept]
    assert found == pytest.approx(alone, abs=ROUNDING)
    assert len(set(alone)) == 5


def test_a_part_needs_two_texts_of_each_side():
    x, y = samples(8, 8)
    with pytest.raises(InputError, match="two or more"):
        mmd_left_out(x, y, [(np.arange(8), np.arange(1))], seed=0)
