"""Human vs. human from histograms by group, and a candidate like for like with it, beside a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mauve_core.base.config import ScoreConfig
from mauve_core.numerics.divergences.frontier import divergence_frontier, trapezoid_area
from mauve_core.numerics.divergences.smoothing import probabilities
from mauve_core.scoring.estimates import estimates_of, spreads_of
from mauve_core.scoring.grouped_halves import HalvesBasis, halves_of_groups
from mauve_core.scoring.streams import half_seeds

pytestmark = pytest.mark.integration

SCORE = ScoreConfig(bootstrap=100, seeds=2)
GROUPS, K = 512, 6
Counts = NDArray[np.int64]


def side(shares: NDArray[np.float64], n: int, seed: int, seeds: int = 2) -> Counts:
    """Texts of a side, about as many in every group; labels are the same under all seeds."""
    rng = np.random.default_rng(seed)
    sizes = rng.multinomial(n, np.full(GROUPS, 1 / GROUPS))
    return np.stack([np.stack([rng.multinomial(size, shares) for size in sizes])] * seeds)


def shares(seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).dirichlet(np.full(K, 3.0))


def found(p: Counts, q: Counts, score: ScoreConfig = SCORE) -> HalvesBasis:
    basis = halves_of_groups(p, q, score)
    assert basis is not None
    return basis


@pytest.mark.parametrize("n", [2400, 10_000, 800], ids=["as many", "more", "fewer"])
def test_scores_are_those_of_a_plain_loop_over_texts(n: int) -> None:
    p, q = side(shares(1), 2400, 2), side(shares(3), n, 4)
    basis = found(p, q)
    rng = np.random.default_rng(half_seeds(SCORE).cut)
    values, sizes = [], []
    for seed in range(2):
        order = rng.permutation(GROUPS).tolist()
        humans, others = (each[seed].sum(axis=1) for each in (p, q))
        most = max(
            min(humans[order[:cut]].sum(), humans[order[cut:]].sum(), others[order[cut:]].sum())
            for cut in range(1, GROUPS + 1)
        )
        parts: list[Counts] = []
        used: set[int] = set()
        for texts, groups in ((p[seed], order), (p[seed], order[::-1]), (q[seed], order[::-1])):
            taken = np.zeros(K, dtype=np.int64)
            for group in groups:
                if taken.sum() + texts[group].sum() > most:
                    break
                assert group not in used
                taken += texts[group]
                if not parts:
                    used.add(group)
            parts.append(taken)
        first, last, candidate = parts
        sizes.append(first.sum())
        assert 0.95 * min(1200, 2400 * n // (2400 + n)) < most
        assert all(0.97 * most < each.sum() <= most for each in parts)
        for other in (last, candidate):
            curves = (probabilities(each, "none") for each in (first, other))
            values.append(float(trapezoid_area(*divergence_frontier(*curves).curve(5.0))))
    assert basis.n == round(np.mean(sizes))
    for which, own in enumerate((basis.human, basis.candidate)):
        assert spreads_of(own, 5.0)["mauve"].values == pytest.approx(values[which::2])


def test_who_writes_as_people_do_scores_as_human_texts_do() -> None:
    """Like for like, over 20 pairs of samples of one distribution, and far below for another one."""
    score = ScoreConfig(bootstrap=100, seeds=1)
    ahead = []
    for seed in range(20):
        p, q = (side(shares(1), 1500, 100 + 2 * seed + which, seeds=1) for which in (0, 1))
        own = found(p, q, score)
        human, candidate = (spreads_of(each, 5.0)["mauve_star"].values[0] for each in (own.human, own.candidate))
        ahead.append(candidate - human)
    assert abs(np.mean(ahead)) < 3 * np.std(ahead) / np.sqrt(20)
    other = found(side(shares(1), 1500, 5), side(shares(9), 1500, 6))
    human, candidate = (spreads_of(each, 5.0)["mauve_star"].values.mean() for each in (other.human, other.candidate))
    assert candidate < human - 0.1


def test_more_seeds_do_not_narrow_the_interval_of_a_division() -> None:
    p, q = side(shares(1), 1500, 5, seeds=6), side(shares(2), 1500, 6, seeds=6)
    widths = {}
    for seeds in (1, 6):
        score = ScoreConfig(bootstrap=400, seeds=seeds)
        basis = found(p[:seeds], q[:seeds], score)
        widths[seeds] = [
            each.high - each.low
            for each in (
                estimates_of(own, 5.0, 0.95, splits=True)["frontier_integral"] for own in (basis.human, basis.candidate)
            )
        ]
    assert widths[6] == pytest.approx(widths[1], rel=0.35)


@pytest.mark.parametrize(("groups", "others"), [(59, GROUPS), (GROUPS, 29)])
def test_too_few_groups_have_no_halves(groups: int, others: int) -> None:
    p, q = side(shares(1), 1000, 2), side(shares(3), 1000, 4)
    p[:, groups:] = 0
    q[:, others:] = 0
    assert halves_of_groups(p, q, SCORE) is None


def test_a_candidate_with_too_many_texts_has_no_halves() -> None:
    """Its groups have so many texts each that no whole number of them is as many as the human side has."""
    p, q = side(shares(1), 2000, 2), side(shares(3), 200_000, 4)
    assert halves_of_groups(p, q, SCORE) is None
