"""Every interval of a candidate against a plain twin, from the labels and prompts of a comparison to its two ends."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, CompareConfig, PartitionKind, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.scoring.compare import compare
from mauve_core.scoring.estimates import TwoSides, basis_of_sides, estimates_of, resamples, two_sides
from mauve_core.scoring.result import Comparison, Estimate, Partition
from mauve_core.scoring.streams import stream
from mauve_core.stats.scores import SCORES, score_counts
from mauve_core.stats.units import Draws, Units, each_alone, units_of
from mauve_core.texts import Corpus
from tests.resampled import counted
from tests.synthetic import make_comparison_inputs

pytestmark = pytest.mark.integration

# Sums in another order differ by some 1e-14; the exchange rates are equal.
ROUNDING = 1e-9

N = 60

PROMPTS = ("shared", "none", "repeated")

# Resamples of each; the rate is found from at most 200 of them.
BOOTSTRAP = {"shared": 240, "none": 100, "repeated": 100}


def with_prompts(name: str, corpus: Corpus, how: str) -> Corpus:
    """The texts with prompts that every side answers once, or none shares, or with one to three answers of a side."""
    if how == "none":
        return dataclasses.replace(corpus, prompts=None, ids=tuple(f"{name} {i}" for i in range(len(corpus))))
    if how == "repeated":
        # Twenty prompts of two human texts and one of the model; five of two and three, and five of one and three; five
        # and ten texts whose prompts the other side lacks.
        if name == HUMAN:
            numbers = [*np.repeat(np.arange(25), 2), *range(25, 35)]
        else:
            numbers = [*range(20), *np.repeat(np.arange(20, 30), 3), *range(40, 50)]
        return dataclasses.replace(corpus, prompts=tuple(f"prompt {number}" for number in numbers))
    # The model answers in another order.
    order = np.random.default_rng(len(name)).permutation(N)
    return dataclasses.replace(corpus, prompts=tuple(f"prompt {number}" for number in order))


def made(how: str) -> Comparison:
    human, candidates, features = make_comparison_inputs(n=N)
    del candidates["collapsed"], features["collapsed"]
    candidates = {name: with_prompts(name, corpus, how) for name, corpus in candidates.items()}
    score = ScoreConfig(seeds=2, restarts=2, bootstrap=BOOTSTRAP[how])
    config = CompareConfig(encoder=None, score=score, projection=False)
    return compare(with_prompts(HUMAN, human, how), candidates, config, features=features)


@pytest.fixture(scope="module")
def comparisons() -> dict[str, Comparison]:
    return {how: made(how) for how in PROMPTS}


def integral(p: Sequence[float], q: Sequence[float]) -> float:
    """The sum over bins of (p + q) / 2 - p q log(p / q) / (p - q)."""
    total = 0.0
    for one, other in zip(p, q, strict=True):
        mixed = one if one == other else one * other * math.log(one / other) / (one - other) if one * other else 0.0
        total += (one + other) / 2 - mixed
    return total


def plain_rate(observed: float, mean_at: Callable[[float], float]) -> float:
    """Halve [0, 1] eight times; the ends if the observed value lies beyond them."""
    enough = observed * (1 + 1e-12)
    if mean_at(0) <= enough:
        return 0.0
    if mean_at(1) > enough:
        return 1.0
    least, width = 0.0, 1.0
    for _ in range(8):
        width /= 2
        if mean_at(least + width) > enough:
            least += width
    return least + width / 2


class PlainTwin:
    """Two sides, P with Q, whose resamples are counted and scored one at a time."""

    def __init__(
        self, parts: Sequence[Partition], model: str, units: Units, score: ScoreConfig, seed: np.random.SeedSequence
    ) -> None:
        self.parts, self.model, self.units, self.score, self.seed = tuple(parts), model, units, score, seed
        of_p = np.arange(units.n + units.m) < units.n
        self.observed = self.histograms(of_p[np.newaxis], ~of_p[np.newaxis])
        self.rate = plain_rate(self.mean_integral(self.observed), self.mean_at)

    def histograms(self, *weights: NDArray[np.integer]) -> NDArray[np.int64]:
        """(B, seeds, 2, k) texts in each cluster, on side P and on side Q."""
        return np.stack([counted(self.parts, self.model, side) for side in weights], axis=2)

    def resampled(self, rate: float, count: int) -> NDArray[np.int64]:
        return self.histograms(*Draws(self.units, count, np.random.default_rng(self.seed)).weights(rate))

    def mean_integral(self, histograms: NDArray[np.int64]) -> float:
        pairs = [pair for of_seeds in histograms.tolist() for pair in of_seeds]
        return float(np.mean([integral(*([count / sum(side) for count in side] for side in pair)) for pair in pairs]))

    def mean_at(self, rate: float) -> float:
        return self.mean_integral(self.resampled(rate, min(200, self.score.bootstrap)))

    def intervals(self) -> dict[str, tuple[float, float]]:
        own, drawn = (
            score_counts(found[..., 0, :], found[..., 1, :], scale=self.score.scale)
            for found in (self.observed, self.resampled(self.rate, self.score.bootstrap))
        )
        highest = {"mauve": 1.0, "mauve_star": 1.0, "frontier_integral": 1.0, "mid": math.log(2)}
        tail = (1 - self.score.confidence) / 2
        found = {}
        for name in SCORES:
            replicates = drawn[name].mean(axis=1)
            over_seeds = (1 - self.rate) ** 2 * own[name].var(ddof=1) / own[name].size
            wider = math.sqrt(1 + over_seeds / replicates.var(ddof=1))
            ends = own[name].mean() + (np.quantile(replicates, [tail, 1 - tail]) - replicates.mean()) * wider
            found[name] = max(float(ends[0]), 0.0), min(float(ends[1]), highest[name])
        return found


def twin_of(comparison: Comparison, kind: PartitionKind, name: str) -> PlainTwin:
    score = comparison.config.score
    parts = comparison.joint if kind == "joint" else comparison.candidate(name).partitions
    prompts = comparison.prompts
    units = each_alone(N, N) if prompts is None else units_of(prompts[HUMAN], prompts[name])
    return PlainTwin(parts, name, units, score, stream(score.seed, "bootstrap"))


def assert_intervals(found: dict[str, Estimate], twin: PlainTwin) -> None:
    for score, ends in twin.intervals().items():
        assert (found[score].low, found[score].high) == pytest.approx(ends, abs=ROUNDING), score


@pytest.mark.parametrize("how", PROMPTS)
@pytest.mark.parametrize("kind", ["pairwise", "joint"])
@pytest.mark.parametrize("name", ["close", "shifted"])
def test_plain_twin(comparisons: dict[str, Comparison], how: str, kind: PartitionKind, name: str) -> None:
    comparison = comparisons[how]
    candidate, twin = comparison.candidate(name), twin_of(comparison, kind, name)
    assert two_sides(comparison, kind, name).exchange_rate(comparison.config.score.bootstrap) == twin.rate
    assert_intervals(dict(candidate.joint_scores if kind == "joint" else candidate.scores), twin)


@pytest.mark.parametrize("kind", ["pairwise", "joint"])
def test_resamples_have_the_divergence_of_the_texts_on_average(
    comparisons: dict[str, Comparison], kind: PartitionKind
) -> None:
    for comparison in comparisons.values():
        for candidate in comparison.candidates:
            sides = two_sides(comparison, kind, candidate.name)
            rate = sides.exchange_rate(200)
            draws = Draws(sides.units, 200, np.random.default_rng(sides.seed))
            observed = candidate.estimate("frontier_integral", kind).mean
            # The rate is known to 1/256.
            if rate > 0:
                assert mean_integral(sides, draws, 1 if rate == 1 else rate - 1 / 256) >= observed
            if rate < 1:
                assert mean_integral(sides, draws, rate + 1 / 256) <= observed


def mean_integral(sides: TwoSides, draws: Draws, rate: float) -> float:
    return float(score_counts(*sides.resampled(draws, rate))["frontier_integral"].mean())


@pytest.mark.parametrize("kind", ["pairwise", "joint"])
def test_all_candidates_draw_the_same_prompts(comparisons: dict[str, Comparison], kind: PartitionKind) -> None:
    comparison = comparisons["shared"]
    assert comparison.prompts is not None
    drawn = {}
    for candidate in comparison.candidates:
        sides = two_sides(comparison, kind, candidate.name)
        on_p, on_q = Draws(sides.units, 50, np.random.default_rng(sides.seed)).weights(sides.exchange_rate(200))
        codes = np.concatenate([comparison.prompts[side] for side in (HUMAN, candidate.name)])
        drawn[candidate.name] = np.array([np.bincount(codes, row, minlength=N) for row in on_p + on_q])
    np.testing.assert_array_equal(drawn["close"], drawn["shifted"])
    assert (drawn["close"] % 2 == 0).all()  # both texts of a prompt each time
    assert not np.array_equal(comparison.prompts["close"], comparison.prompts["shifted"])


def test_resamples_draw_the_prompts_of_the_intervals_and_no_text_changes_sides(
    comparisons: dict[str, Comparison],
) -> None:
    comparison = comparisons["shared"]
    assert comparison.prompts is not None
    humans = []
    for name in ("close", "shifted"):
        found = resamples(comparison, name)
        assert {side: weights.shape for side, weights in found.items()} == {HUMAN: (240, N), name: (240, N)}
        assert all((weights.sum(axis=1) == N).all() for weights in found.values())
        human, model = (found[side][:, np.argsort(comparison.prompts[side])] for side in (HUMAN, name))
        np.testing.assert_array_equal(human, model)
        humans.append(human)
        sides = two_sides(comparison, "pairwise", name)
        at_half = Draws(sides.units, 240, np.random.default_rng(sides.seed)).weights(0.5)
        np.testing.assert_array_equal(sum(at_half), np.hstack([found[HUMAN], found[name]]))
    np.testing.assert_array_equal(*humans)


def sides_of(p: Sequence[int], q: Sequence[int], k: int) -> TwoSides:
    labels = {HUMAN: np.array(p, np.int32), "q": np.array(q, np.int32)}
    part = Partition("pairwise", 0, k, 0.0, labels)
    return TwoSides("q", (part,), each_alone(len(p), len(q)), np.random.SeedSequence(0))


def test_sides_without_a_common_cluster_are_certain() -> None:
    # Whatever is drawn, no cluster has texts of both; the sums differ by rounding alone.
    rng = np.random.default_rng(0)
    for k in (2, 20, 24, 39, 52, 57, 80, 139, 152, 177):
        n, m = rng.integers(20, 400, 2)
        sides = sides_of(rng.integers(0, k // 2, n), rng.integers(k // 2, k, m), k)
        assert sides.exchange_rate(100) == 0
        scores = estimates_of(basis_of_sides(sides, ScoreConfig(bootstrap=100), "none"), 5.0, 0.95)
        for name, value in {"frontier_integral": 1.0, "mid": math.log(2)}.items():
            assert (scores[name].mean, scores[name].low, scores[name].high) == pytest.approx((value,) * 3, abs=ROUNDING)


def test_sides_of_one_source_are_exchanged_in_full() -> None:
    # Equal histograms have no divergence, and every resample has some.
    labels = np.arange(200) % 10
    assert sides_of(labels, labels, 10).exchange_rate(500) == 1


def test_exchange_narrows_the_interval_of_close_sides() -> None:
    # The mean divergence of two samples from one source of k clusters is about (k - 1)(1/n + 1/m)/ 6, that of two
    # resamples twice as much; so is its spread, which the exchange removes.
    rng = np.random.default_rng(1)
    sides = sides_of(rng.integers(0, 20, 400), rng.integers(0, 20, 400), 20)
    observed = score_counts(*sides.counts())["frontier_integral"].mean()
    draws = Draws(sides.units, 500, np.random.default_rng(2))
    plain, exchanged = (
        score_counts(*sides.resampled(draws, rate))["frontier_integral"] for rate in (0.0, sides.exchange_rate(500))
    )
    assert plain.mean() > 1.5 * observed
    assert exchanged.mean() == pytest.approx(observed, rel=0.1)
    assert plain.std() > 1.3 * exchanged.std()


def test_an_unknown_candidate_is_refused(comparisons: dict[str, Comparison]) -> None:
    comparison = comparisons["shared"]
    with pytest.raises(InputError, match=r"No candidate named 'other'.*Allowed: close, shifted"):
        two_sides(comparison, "joint", "other")
    with pytest.raises(InputError, match=r"No candidate named 'other'.*Allowed: close, shifted"):
        resamples(comparison, "other")
