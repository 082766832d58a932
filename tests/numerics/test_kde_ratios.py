"""Ratios of kernel densities: a plain twin, the bandwidth, invariances, the truth for Gaussians, and scores."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.estimators import ratio_estimators as module
from mauve_core.estimators.ratio_estimators import kde_ratios, scott_bandwidth
from mauve_core.estimators.ratios import SCALES, ratio_atoms, ratio_frontier
from mauve_core.stats.divergences import mauve
from tests.numerics.gaussian_pairs import Pair, assert_swapped, mid_error, rotation


def plain(x_p, x_q, width):
    """Equations 26 and 27 by loops, densities normalised; the point itself left out of its own side."""
    sides = [np.asarray(side, dtype=np.float32).astype(np.float64).tolist() for side in (x_p, x_q)]
    whole = (width * math.sqrt(2 * math.pi)) ** len(sides[0][0])
    logs = []
    for own, side in enumerate(sides):
        for place, u in enumerate(side):
            densities = []
            for other, sample in enumerate(sides):
                rest = [v for index, v in enumerate(sample) if other != own or index != place]
                kernels = [math.exp(-(math.dist(u, v) ** 2) / (2 * width**2)) / whole for v in rest]
                densities.append(math.fsum(kernels) / len(rest))
            logs.append(math.log(densities[0] / densities[1]))
    return np.array(logs)


def plain_loss(x_p, x_q, width):
    """Log loss of the probability of the human side, each side of weight 1/2."""
    logs = plain(x_p, x_q, width)
    at_p = [math.log1p(math.exp(-odds)) for odds in logs[: len(x_p)]]
    at_q = [math.log1p(math.exp(odds)) for odds in logs[len(x_p) :]]
    return (math.fsum(at_p) / len(at_p) + math.fsum(at_q) / len(at_q)) / 2


def plain_width(x_p, x_q):
    """The least loss: on half octaves, then on eighths around the best, then on the parabola through three of these."""
    unit = plain_scott(x_p, x_q)
    coarse = {octaves / 2: plain_loss(x_p, x_q, unit * 2 ** (octaves / 2)) for octaves in range(-4, 7)}
    near = [min(coarse, key=coarse.get) + eighths / 8 for eighths in range(-4, 5)]
    fine = {octaves: plain_loss(x_p, x_q, unit * 2**octaves) for octaves in near if -2 <= octaves <= 3}
    best = min(fine, key=fine.get)
    around = [best - 0.125, best, best + 0.125]
    if all(octaves in fine for octaves in around):
        bend, slope, _ = np.polyfit(around, [fine[octaves] for octaves in around], 2)
        best = -slope / (2 * bend)
    return unit * 2**best


def plain_scott(x_p, x_q):
    squares = sum(((side - np.mean(side, axis=0)) ** 2).sum() for side in (x_p, x_q))
    d = x_p.shape[1]
    return math.sqrt(squares / ((len(x_p) + len(x_q)) * d)) * min(len(x_p), len(x_q)) ** (-1 / (d + 4))


def score(ratios):
    """MAUVE as the methods compute it."""
    return float(mauve(*ratio_atoms(ratios), SCALES["kde"]))


def width_of(ratios):
    return float(ratios.notes[0].split()[1])


class TestTwin:
    @pytest.mark.parametrize("block", [1, 7, 512])
    def test_plain_loops_for_any_block(self, monkeypatch, block):
        monkeypatch.setattr(module, "BLOCK", block)
        x_p, x_q = Pair(3, shift=1.0).draw(13, 17, 0)
        for width in (0.4, 2.0):
            found = kde_ratios(x_p, x_q, bandwidth=width)
            np.testing.assert_allclose(np.concatenate([found.at_p, found.at_q]), plain(x_p, x_q, width), rtol=1e-8)

    @pytest.mark.parametrize(("d", "shift"), [(1, 1.0), (3, 1.5), (3, 0.0), (6, 3.0)])
    def test_plain_loops_with_the_default_settings(self, d, shift):
        x_p, x_q = (side.astype(np.float32) for side in Pair(d, shift=shift).draw(18, 23, 1))
        found, width = kde_ratios(x_p, x_q), plain_width(x_p.astype(np.float64), x_q.astype(np.float64))
        assert width_of(found) == pytest.approx(width, rel=1e-3)  # the note has four digits
        np.testing.assert_allclose(np.concatenate([found.at_p, found.at_q]), plain(x_p, x_q, width), rtol=1e-5)

    def test_hand_value(self):
        # P at 0 and 2, Q at 0 and 1, h = 1. At P's 0: p = k(2), q = (k(0) + k(1)) / 2 with k(z) = exp(-z^2 / 2).
        found = kde_ratios(np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]]), bandwidth=1.0)
        assert found.at_p[0] == pytest.approx(-2 - math.log((1 + math.exp(-0.5)) / 2), rel=1e-10)
        # At Q's 1: p = k(1) of both, q = k(1): the ratio is 1.
        assert found.at_q[1] == pytest.approx(0, abs=1e-10)

    def test_nothing_underflows_far_from_every_kernel(self):
        # At 1000 the nearest of P's kernels is exp(-499500) and Q's exp(-498501.5), far below the smallest float64.
        found = kde_ratios(np.array([[0.0], [1.0]]), np.array([[3.0], [2.0], [1000.0]]), bandwidth=1.0)
        assert found.at_q[2] == pytest.approx((997**2 - 999**2) / 2, rel=1e-6)
        assert np.isfinite(found.at_p).all()


class TestBandwidth:
    def test_scott(self):
        # Deviations of 1 about the means 0 and 10, n = 2: Scott's 2^(-1/5); the distance of the means does not count.
        u_p, u_q = np.array([[-1.0], [1.0]]), np.array([[9.0], [11.0], [9.0], [11.0]])
        assert scott_bandwidth(u_p, u_q) == pytest.approx(2 ** (-1 / 5), rel=1e-14)
        assert width_of(kde_ratios(u_p, u_q, bandwidth="scott")) == pytest.approx(2 ** (-1 / 5), rel=1e-3)

    @pytest.mark.parametrize(("d", "shift"), [(1, 1.0), (4, 1.0), (4, 3.0)])
    def test_no_other_has_a_smaller_loss(self, d, shift):
        x_p, x_q = Pair(d, shift=shift).draw(30, 40, 0)
        chosen = width_of(kde_ratios(x_p, x_q))
        tried = scott_bandwidth(x_p, x_q) * 2 ** np.arange(-2, 3.01, 0.125)
        least = min(plain_loss(x_p, x_q, width) for width in tried)
        assert plain_loss(x_p, x_q, chosen) <= least + 1e-4
        assert tried[0] < chosen < tried[-1]

    def test_it_moves_by_less_than_a_step_when_a_text_is_left_out(self):
        x_p, x_q = Pair(4, shift=2.0).draw(80, 80, 0)
        widths = {width_of(kde_ratios(np.delete(x_p, row, axis=0), x_q)) for row in range(8)}
        assert len(widths) == 8
        assert max(widths) / min(widths) < 2**0.125

    def test_only_some_points_judge_but_all_are_centres(self, monkeypatch):
        x_p, x_q = Pair(2, shift=1.0).draw(300, 300, 0)
        everything = width_of(kde_ratios(x_p, x_q))
        monkeypatch.setattr(module, "_JUDGED", 100)
        assert width_of(kde_ratios(x_p, x_q)) == pytest.approx(everything, rel=0.3)

    def test_copies_stop_at_the_end_of_the_range(self):
        x = np.random.default_rng(0).normal(size=(30, 2))
        found = kde_ratios(np.repeat(x, 2, axis=0), np.repeat(x + 1, 2, axis=0))
        assert "0.25 times Scott's rule, at an end of the range" in found.notes[0]
        assert np.isfinite(found.at_p).all()

    def test_a_given_one_is_taken(self):
        x_p, x_q = Pair(2, shift=1.0).draw(20, 20, 0)
        assert kde_ratios(x_p, x_q, bandwidth=0.75).notes[0] == "bandwidth 0.75"


class TestLaws:
    def test_swap_of_the_sides(self):
        x_p, x_q = Pair(3, shift=1.0).draw(90, 60, 0)
        assert_swapped(kde_ratios(x_p, x_q), kde_ratios(x_q, x_p), 1e-6)  # features are float32

    def test_rotation_shift_and_scale(self):
        x_p, x_q = Pair(5, shift=1.0).draw(60, 60, 0)
        turn = rotation(5)
        found, other = kde_ratios(x_p, x_q), kde_ratios(3 * x_p @ turn + 7, 3 * x_q @ turn + 7)
        np.testing.assert_allclose(found.at_p, other.at_p, atol=1e-4)  # features are float32
        np.testing.assert_allclose(found.at_q, other.at_q, atol=1e-4)


class TestTruth:
    @pytest.mark.slow
    @pytest.mark.parametrize("pair", [Pair(1, shift=1.0), Pair(1, scale=1.5)])
    def test_error_shrinks_with_the_sample(self, pair):
        """Slowly: the bias goes with the squared bandwidth, n^(-2/5) in one dimension, which is 0.23 at 40 times n."""
        small = mid_error(lambda x_p, x_q: kde_ratios(x_p, x_q, bandwidth="scott"), pair, 50, 12)
        large = mid_error(lambda x_p, x_q: kde_ratios(x_p, x_q, bandwidth="scott"), pair, 2000, 4)
        assert np.sqrt(np.mean(large**2)) < np.sqrt(np.mean(small**2)) / 2
        assert np.abs(large.mean(axis=0)).max() < 0.02

    @pytest.mark.slow
    @pytest.mark.parametrize("pair", [Pair(2, shift=1.0), Pair(2, scale=1.5)])
    def test_smoothing_hides_part_of_the_divergence(self, pair):
        """Property 15: what is smoothed on both sides is never farther apart; the mid-point here is about 0.1."""
        errors = mid_error(kde_ratios, pair, 800, 2).mean(axis=0)
        assert (errors < 0.005).all()
        assert (errors > -0.04).all()

    @pytest.mark.slow
    def test_ends_are_near_the_closed_forms(self):
        pair = Pair(1, shift=1.0)
        found = ratio_frontier(kde_ratios(*pair.draw(1500, 1500, 0)))
        type_1, type_2 = pair.divergences()
        assert found.type_1[-1] == pytest.approx(type_1, rel=0.2)
        assert found.type_2[0] == pytest.approx(type_2, rel=0.2)

    def test_scott_is_too_narrow_in_many_dimensions(self):
        """What the module's docstring says of it: noise passes for divergence, and the log loss keeps it down."""
        scott = mid_error(lambda x_p, x_q: kde_ratios(x_p, x_q, bandwidth="scott"), Pair(10), 500, 2)
        assert scott.min() > 0.05
        assert np.abs(mid_error(kde_ratios, Pair(10), 500, 2)).max() < 0.01


class TestScores:
    """MAUVE on features with and without clusters, in more dimensions than are kept, too."""

    @pytest.mark.parametrize("d", [1, 3, 10, 40])
    @pytest.mark.parametrize("clusters", [1, 12])
    def test_halves_of_one_source(self, d, clusters):
        for seed in range(2):
            rng = np.random.default_rng(seed)
            x = 3 * rng.normal(size=(clusters, d))[rng.integers(clusters, size=512)] + rng.standard_t(4, size=(512, d))
            assert score(kde_ratios(x[:256], x[256:])) > 0.9

    @pytest.mark.parametrize("d", [1, 3, 10, 40])
    def test_a_shift_of_the_mean(self, d):
        x_p, x_q = Pair(d).draw(200, 200, 0)
        shifts = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
        scores = [score(kde_ratios(x_p + shift * np.eye(d)[0], x_q)) for shift in shifts]
        assert (np.diff(scores) < 0).all()
        assert scores[0] > 0.5
        assert scores[-1] < 1e-4

    def test_sides_far_apart(self):
        x_p, x_q = Pair(10).draw(60, 60, 0)
        separate = mauve([1.0, 0.0], [0.0, 1.0], SCALES["kde"])
        assert score(kde_ratios(x_p + 100, x_q)) == pytest.approx(float(separate), rel=1e-6)


class TestWhatIsRefused:
    @pytest.mark.parametrize("bandwidth", [0.0, -1.0, np.nan, np.inf, "silverman"])
    def test_bandwidths(self, bandwidth):
        x = np.random.default_rng(0).normal(size=(5, 2))
        with pytest.raises(InputError, match="bandwidth"):
            kde_ratios(x, x + 1, bandwidth=bandwidth)

    def test_sides_without_spread(self):
        with pytest.raises(InputError, match="without spread"):
            kde_ratios(np.full((4, 2), 0.1), np.full((7, 2), 0.7))

    def test_a_side_of_one_text(self):
        with pytest.raises(InputError, match="Too few rows of candidate's features"):
            kde_ratios(np.eye(3), np.ones((1, 3)))
