"""The test of two candidates' difference: a slow twin, enumeration, its level, and what it must not depend on.

Most comparisons are made by hand: their joint partitions stand for those of every pair.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from mauve_core.base.config import HUMAN, SCORE_BOUNDS, SCORES, CompareConfig, PartitionKind, ScoreConfig
from mauve_core.base.progress import Progress, silent
from mauve_core.numerics.divergences.scores import score_counts
from mauve_core.numerics.resampling.exchange import Draws
from mauve_core.numerics.resampling.permutation import draw_sides
from mauve_core.scoring import differences
from mauve_core.scoring.compare import compare
from mauve_core.scoring.differences import STOP, Slots, differences_of, exchange_blocks, joint_differences_of
from mauve_core.scoring.estimates import aligned_basis, generation_sides, scored
from mauve_core.scoring.partitioning import measured, pair_partitions, partitions
from mauve_core.scoring.result import SIGNIFICANT, Candidate, Comparison, Difference, Partition, Source
from mauve_core.scoring.streams import stream
from tests.synthetic import make_comparison_inputs

pytestmark = pytest.mark.integration

ROUNDING = 1e-12
"""Sums of the same numbers in another order: at most some hundred terms of order 1, so about 100 * 2e-16."""

K, SEEDS = 5, 2
UNIFORM = np.full(K, 1 / K)
SKEWED = np.array([0.45, 0.25, 0.15, 0.1, 0.05])
Prompts = Mapping[str, Sequence[int]]

PAIRED: Prompts = {HUMAN: range(30), "a": range(30), "b": range(29, -1, -1), "c": range(30)}
"""Every prompt has a text of every source; those of b are in another order."""

PARTLY: Prompts = {
    HUMAN: range(30),
    "a": [*range(12), *range(12), *range(60, 66)],  # two texts of each prompt, and six of its own
    "b": [*range(3, 25), *range(40, 44), 7],  # one each, one prompt twice
    "c": range(50, 80),  # six prompts in common with a, none with b
}
"""Prompts are shared in part."""


def comparison_of(
    sizes: Mapping[str, int],
    shares: Mapping[str, NDArray[np.float64]],
    *,
    prompts: Prompts | None = None,
    seed: int = 0,
    score: ScoreConfig | None = None,
    agreement: float = 0.8,
) -> Comparison:
    """A comparison that is not scored yet. A text's cluster is drawn by its source's shares.

    In each partition, the cluster is that one with probability ``agreement`` and otherwise any, so that partitions
    differ.
    """
    rng = np.random.default_rng(seed)
    score = score or ScoreConfig(seeds=SEEDS, bootstrap=100)
    own = {name: rng.choice(shares[name].size, size=n, p=shares[name]) for name, n in sizes.items()}

    def partition(kind: PartitionKind, index: int, names: Sequence[str]) -> Partition:
        labels = {}
        for name in names:
            k = shares[name].size
            kept = rng.random(sizes[name]) < agreement
            labels[name] = np.where(kept, own[name], rng.integers(k, size=sizes[name])).astype(np.int32)
        return Partition(kind, index, k, 1.0, labels)

    sources = [Source(name, n, "memory", "", "", None, 0) for name, n in sizes.items()]
    candidates = tuple(
        Candidate(each, {}, {}, tuple(partition("pairwise", i, [HUMAN, each.name]) for i in range(score.seeds)))
        for each in sources[1:]
    )
    return Comparison(
        human=sources[0],
        candidates=candidates,
        joint=tuple(partition("joint", i, list(sizes)) for i in range(score.seeds)),
        config=CompareConfig(encoder=None, score=score, projection=False),
        warnings=(),
        environment={},
        prompts=None if prompts is None else {name: np.array([*own], np.int32) for name, own in prompts.items()},
    )


def made(prompts: Prompts | None, **options: object) -> Comparison:
    """Three candidates, ``a`` close to the human side and the others not."""
    sizes = {HUMAN: 30, "a": 30, "b": 27, "c": 30} if prompts is None else {name: len(prompts[name]) for name in PAIRED}
    shares = {HUMAN: UNIFORM, "a": UNIFORM, "b": SKEWED, "c": SKEWED[::-1]}
    return comparison_of(sizes, shares, prompts=prompts, **options)  # type: ignore[arg-type]


def scored_by_hand(comparison: Comparison, progress: Progress = silent) -> Comparison:
    """Scored and tested, with the joint partitions of all sides for those of every pair."""
    names = [candidate.name for candidate in comparison.candidates]
    comparison, basis = scored(comparison, {})
    partitions = dict.fromkeys(combinations(names, 2), comparison.joint)
    return dataclasses.replace(
        comparison, differences=differences_of(comparison, partitions, aligned_basis(comparison, basis), progress)
    )


def histogram(labels: NDArray[np.int32], k: int, times: Sequence[int]) -> list[int]:
    found = [0] * k
    for label, count in zip(labels, times, strict=True):
        found[label] += int(count)
    return found


def holm_by_hand(p_values: Sequence[float]) -> list[float]:
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def blocks_by_hand(comparison: Comparison, first: str, second: str) -> tuple[list[int], bool, int]:
    """Block 0 for texts whose prompt only one of the two answered, then one block for each prompt in common."""
    sizes = [comparison.candidate(name).source.n for name in (first, second)]
    if comparison.prompts is None:
        return [0] * sum(sizes), False, sum(sizes)
    own, other = (comparison.prompts[name].tolist() for name in (first, second))
    common = sorted(set(own) & set(other))
    return (
        [1 + common.index(each) if each in common else 0 for each in [*own, *other]],
        bool(common),
        (len(common) if common else sum(sizes)),
    )


def joint_by_hand(
    parts: Sequence[Partition], first: str, second: str, rows: Sequence[Sequence[bool]], scale: float
) -> dict[str, NDArray[np.float64]]:
    """Mean over seeds of the score of the texts on the first side, less that of the others; for each row of sides."""
    found: dict[str, list[NDArray[np.float64]]] = {name: [] for name in SCORES}
    for part in parts:
        labels = np.concatenate([part.labels[first], part.labels[second]])
        p = histogram(part.labels[HUMAN], part.k, [1] * part.labels[HUMAN].size)
        x = [histogram(labels, part.k, [bool(side) for side in row]) for row in rows]
        y = [histogram(labels, part.k, [not side for side in row]) for row in rows]
        scores = [score_counts(p, q, scale=scale) for q in (x, y)]
        for name in SCORES:
            found[name].append(scores[0][name] - scores[1][name])
    return {name: np.mean(values, axis=0) for name, values in found.items()}


def replicates_by_hand(comparison: Comparison, candidate: str) -> dict[str, NDArray[np.float64]]:
    """Mean over seeds of every score, of each resample, in which all candidates answer the same prompts."""
    score = comparison.config.score
    (sides,) = generation_sides(comparison, "pairwise", candidate, groups=comparison.aligned_groups()[candidate])
    draws = Draws(sides.groups, score.bootstrap, np.random.default_rng(sides.seed))
    weights = draws.weights(sides.exchange_rate(score.bootstrap))
    values = []
    for part in comparison.candidate(candidate).partitions:
        labels = np.concatenate([part.labels[HUMAN], part.labels[candidate]])
        p, q = ([histogram(labels, part.k, times) for times in side.tolist()] for side in weights)
        values.append(score_counts(p, q, scale=score.scale))
    return {name: np.mean([value[name] for value in values], axis=0) for name in SCORES}


def p_by_hand(null: Sequence[float], observed: float, stop: int) -> float:
    """Count the draws at least as far as observed; the one that makes them ``stop`` ends the test."""
    far = 0
    for place, each in enumerate(null, start=1):
        far += abs(each) >= abs(observed) - ROUNDING
        if far == stop:
            return stop / place
    return (1 + far) / (1 + len(null))


def possible(p_value: float, draws: int) -> bool:
    """Whether a test of at most so many draws can end with this p-value."""
    far, length = p_value * (1 + draws) - 1, STOP / p_value
    early = abs(length - round(length)) < 1e-9 and STOP <= round(length) <= draws
    return early or (abs(far - round(far)) < 1e-9 and 0 <= round(far) < STOP)


def plain_twin(
    comparison: Comparison, least: int, of_pairs: Sequence[Sequence[Partition]] | None = None
) -> list[Difference]:
    """Every draw and every resample scored by itself; ``comparison`` is scored, and ``of_pairs`` clusters each pair."""
    score = comparison.config.score
    names = [candidate.name for candidate in comparison.candidates]
    pairs = list(combinations(names, 2))
    draws = max(least, 50 * len(pairs) - 1)
    replicates = {name: replicates_by_hand(comparison, name) for name in names}
    found: list[Difference] = []
    of_pairs = [comparison.joint] * len(pairs) if of_pairs is None else of_pairs
    for (first, second), parts in zip(pairs, of_pairs, strict=True):
        codes, paired, n = blocks_by_hand(comparison, first, second)
        own = [comparison.candidate(name) for name in (first, second)]
        sides = np.arange(len(codes)) < own[0].source.n
        drawn = draw_sides(sides, np.array(codes), draws, np.random.default_rng(stream(score.seed, "exchange")))
        joint = joint_by_hand(parts, first, second, [sides.tolist(), *drawn.tolist()], score.scale)
        for name in SCORES:
            observed, *null = joint[name].tolist()
            p_value = p_by_hand(null, observed, STOP)
            difference = own[0].scores[name].mean - own[1].scores[name].mean
            values = replicates[first][name] - replicates[second][name]
            tails = np.quantile(values, [(1 - score.confidence) / 2, (1 + score.confidence) / 2])
            width = SCORE_BOUNDS[name][1] - SCORE_BOUNDS[name][0]
            low, high = np.clip(difference + tails - values.mean(), -width, width).tolist()
            found.append(Difference(name, first, second, difference, low, high, observed, p_value, p_value, paired, n))
    for name in SCORES:
        places = [index for index, each in enumerate(found) if each.score == name]
        for index, value in zip(places, holm_by_hand([found[index].p_value for index in places]), strict=True):
            found[index] = dataclasses.replace(found[index], p_adjusted=value)
    return found


def differences_in(comparison: Comparison) -> tuple[Difference, ...]:
    found = scored_by_hand(comparison).differences
    assert found is not None
    return found


def assert_close(found: Sequence[Difference], expected: Sequence[Difference]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        for field in dataclasses.fields(Difference):
            value, twin = getattr(ours, field.name), getattr(theirs, field.name)
            same = value == pytest.approx(twin, abs=ROUNDING) if isinstance(twin, float) else value == twin
            assert same, (theirs.score, theirs.first, theirs.second, field.name, value, twin)


@pytest.mark.parametrize("prompts", [None, PAIRED, PARTLY], ids=["separate", "paired", "partly"])
def test_equal_to_a_plain_twin(prompts: Prompts | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "PERMUTATIONS", 59)  # three pairs draw 149 all the same
    comparison = scored_by_hand(
        made(prompts, score=ScoreConfig(seeds=SEEDS, bootstrap=100, confidence=0.9, scale=3.0, seed=4))
    )
    assert [(each.first, each.second, each.score) for each in comparison.differences] == [
        (*pair, name) for pair in (("a", "b"), ("a", "c"), ("b", "c")) for name in SCORES
    ]
    assert_close(comparison.differences, plain_twin(comparison, 59))


def test_equal_to_a_plain_twin_under_the_default_number_of_draws() -> None:
    sizes = {HUMAN: 12, "a": 11, "b": 12}
    shares = {HUMAN: UNIFORM, "a": UNIFORM, "b": SKEWED}
    comparison = scored_by_hand(comparison_of(sizes, shares, score=ScoreConfig(seeds=1, bootstrap=100)))
    assert_close(comparison.differences, plain_twin(comparison, 999))


def test_every_pair_is_clustered_with_the_human_texts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin is given partitions of three sides, made one pair at a time."""
    monkeypatch.setattr(differences, "PERMUTATIONS", 59)
    human, candidates, features = make_comparison_inputs(n=60)
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=SEEDS, bootstrap=100), projection=False)
    comparison = compare(human, candidates, config, features=features)
    pairs = list(combinations(candidates, 2))
    seeds = stream(config.score.seed, "pairs").spawn(SEEDS)
    of_pairs = [
        partitions("joint", {name: features[name] for name in (HUMAN, *pair)}, seeds, config.score, lambda: None)
        for pair in pairs
    ]
    assert_close(comparison.differences, plain_twin(comparison, 59, of_pairs))
    again = pair_partitions(measured(features, config.score), config.score)
    basis = aligned_basis(comparison, scored(comparison, {})[1])
    assert differences_of(comparison, again, basis) == comparison.differences


def test_the_difference_is_that_of_the_scores_on_the_leaderboard() -> None:
    comparison = scored_by_hand(made(PARTLY))
    for each in comparison.differences:
        one, other = comparison.candidate(each.first), comparison.candidate(each.second)
        pairwise = one.scores[each.score].mean - other.scores[each.score].mean
        joint = one.joint_scores[each.score].mean - other.joint_scores[each.score].mean
        assert each.difference == pytest.approx(pairwise, abs=ROUNDING)
        assert each.joint_difference == pytest.approx(joint, abs=ROUNDING)
        assert each.low <= each.difference <= each.high


def test_prompts_decide_what_is_exchanged() -> None:
    found = {(each.first, each.second): (each.paired, each.n) for each in differences_in(made(PARTLY))}
    # a has prompts 0-11 and 60-65, b 3-24 and 40-43, c 50-79.
    assert found == {("a", "b"): (True, 9), ("a", "c"): (True, 6), ("b", "c"): (False, 57)}
    assert {(each.paired, each.n) for each in differences_in(made(PAIRED))} == {(True, 30)}
    assert [(each.paired, each.n) for each in differences_in(made(None))[::4]] == [
        (False, 57),
        (False, 60),
        (False, 57),
    ]


def test_texts_of_one_prompt_form_a_block() -> None:
    prompts = {HUMAN: range(6), "a": [4, 9, 2, 2], "b": [2, 7, 4, 8]}
    comparison = comparison_of({HUMAN: 6, "a": 4, "b": 4}, dict.fromkeys(prompts, UNIFORM), prompts=prompts)
    codes, paired, shared = exchange_blocks(comparison, "a", "b")
    assert codes.tolist() == [2, 0, 1, 1, 1, 0, 2, 0]
    assert (paired, shared) == (True, 2)


@pytest.mark.parametrize("paired", [True, False])
def test_the_p_value_tends_to_that_of_all_exchanges(paired: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "PERMUTATIONS", 19_999)
    monkeypatch.setattr(differences, "STOP", 20_000)  # never
    n, m = (6, 6) if paired else (4, 3)
    prompts = {HUMAN: range(20), "a": range(6), "b": [3, 0, 4, 1, 5, 2]} if paired else None
    shares = {HUMAN: UNIFORM, "a": UNIFORM, "b": SKEWED}
    comparison = comparison_of({HUMAN: 20, "a": n, "b": m}, shares, prompts=prompts, seed=2)
    if paired:
        order = [3, 0, 4, 1, 5, 2]  # where each text of b belongs
        rows = [[*swaps, *(not swaps[prompt] for prompt in order)] for swaps in product([True, False], repeat=6)]
    else:
        rows = [[place in chosen for place in range(7)] for chosen in combinations(range(7), 4)]
    values = joint_by_hand(comparison.joint, "a", "b", rows, 5.0)  # the observed sides come first
    found = {each.score: each for each in differences_in(comparison)}
    for name in SCORES:
        observed = abs(values[name][0])
        assert abs(found[name].joint_difference) == pytest.approx(observed, abs=ROUNDING)
        exact = np.mean(np.abs(values[name]) >= observed - ROUNDING)
        # Five standard errors of a share of 19,999 draws; the observed sides add 1 / 20,000 at most.
        assert found[name].p_value == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / 19_999) + 1e-4)


def test_many_pairs_are_drawn_often_enough_for_an_adjusted_value_of_two_hundredths() -> None:
    names = [f"candidate {i}" for i in range(7)]
    sizes, shares = {HUMAN: 40}, {HUMAN: UNIFORM}
    for place, name in enumerate(names):
        sizes[name] = 40
        shares[name] = np.eye(K)[0] if place == 6 else UNIFORM
    found = [
        each
        for each in differences_in(
            comparison_of(sizes, shares, score=ScoreConfig(seeds=1, bootstrap=100), agreement=1.0)
        )
        if each.score == "frontier_integral"
    ]
    assert len(found) == 21
    # The last candidate has one cluster of five: no exchange is as far, and 1 / (50 * 21) times 21 is 0.02.
    far = [each for each in found if each.second == names[6]]
    assert [each.p_value for each in far] == [1 / 1050] * 6
    assert min(each.p_adjusted for each in far) == pytest.approx(0.02, abs=ROUNDING)
    assert all(each.told_apart for each in far)
    assert all(possible(each.p_value, 1049) for each in found)


def test_one_pair_needs_no_adjustment_and_one_candidate_no_test() -> None:
    sizes, shares = {HUMAN: 30, "a": 30, "b": 30}, {HUMAN: UNIFORM, "a": UNIFORM, "b": SKEWED}
    found = differences_in(comparison_of(sizes, shares))
    assert [each.score for each in found] == list(SCORES)
    assert all(each.p_adjusted == each.p_value for each in found)
    assert all(possible(each.p_value, 999) for each in found)
    assert differences_in(comparison_of({HUMAN: 30, "a": 30}, {HUMAN: UNIFORM, "a": UNIFORM})) == ()


@pytest.mark.slow
@pytest.mark.trial
def test_the_size_of_the_blocks_of_draws_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = made(PARTLY)
    whole, sizes = differences_in(comparison), []
    cells = SEEDS * K * 3 + 3 * 57  # of a draw for b and c

    def watched(parts: Sequence[Partition], slots: Slots, drawn: NDArray[np.int32], scale: float) -> object:
        sizes.append(len(drawn))
        return joint_differences_of(parts, slots, drawn, scale)

    monkeypatch.setattr(differences, "joint_differences_of", watched)
    monkeypatch.setattr(differences, "FIRST_BLOCK", 7)
    assert differences_in(comparison) == whole
    monkeypatch.setattr(differences, "FIRST_BLOCK", 100)
    monkeypatch.setattr(differences, "COUNT_BYTES", 8 * cells * 100)
    assert differences_in(comparison) == whole
    monkeypatch.setattr(differences, "STOP", 1000)  # never
    differences_in(comparison)
    assert sizes[-11:] == [1, *[100] * 9, 99], "the observed sides, and 999 draws of b and c"
    monkeypatch.setattr(differences, "COUNT_BYTES", 1)
    monkeypatch.setattr(differences, "PERMUTATIONS", 5)
    one_by_one = differences_in(comparison)
    assert set(sizes[-150:]) == {1}
    monkeypatch.setattr(differences, "COUNT_BYTES", 2**27)
    assert differences_in(comparison) == one_by_one


def test_a_clear_tie_takes_few_draws_and_a_clear_difference_all(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: dict[str, int] = dict.fromkeys("bc", 0)

    def watched(parts: Sequence[Partition], slots: Slots, drawn: NDArray[np.int32], scale: float) -> object:
        sizes[slots.second] += len(drawn)
        return joint_differences_of(parts, slots, drawn, scale)

    shares = {HUMAN: UNIFORM, "a": UNIFORM, "b": UNIFORM, "c": np.eye(K)[0]}
    comparison = comparison_of(dict.fromkeys(shares, 60), shares, agreement=1.0)
    monkeypatch.setattr(differences, "joint_differences_of", watched)
    for name in "bc":
        pair = tuple(each for each in comparison.candidates if each.name in ("a", name))
        found = differences_in(dataclasses.replace(comparison, candidates=pair))
        assert all(each.second == name for each in found)
        assert all(each.told_apart is (name == "c") for each in found)
    assert sizes["b"] <= 1 + 200 < 1 + 999 == sizes["c"]


def test_a_seed_repeats_and_another_draws_others() -> None:
    comparison = made(None)
    assert differences_in(comparison) == differences_in(comparison)
    other = differences_in(made(None, score=ScoreConfig(seeds=SEEDS, bootstrap=100, seed=1)))
    assert [each.joint_difference for each in other] == [each.joint_difference for each in differences_in(comparison)]
    assert [each.p_value for each in other] != [each.p_value for each in differences_in(comparison)]


def test_progress_counts_the_pairs() -> None:
    seen: list[tuple[str, int, int]] = []
    scored_by_hand(made(None), lambda *state: seen.append(state))
    assert seen == [("testing differences", done, 3) for done in range(4)]
    seen.clear()
    score = ScoreConfig(seeds=SEEDS)
    sides = measured(make_comparison_inputs(n=60)[2], score)
    pair_partitions(sides, score, progress=lambda *state: seen.append(state))
    assert seen == [("clustering pairs of candidates", done, 3 * SEEDS) for done in range(3 * SEEDS + 1)]


EXAMPLE = Difference("mauve", "a", "b", 0.25, 0.1, 0.5, 0.125, 0.01, 0.03, True, 12)


def test_a_test_is_the_same_from_either_side() -> None:
    assert EXAMPLE.seen_from("a") is EXAMPLE
    turned = EXAMPLE.seen_from("b")
    assert turned == Difference("mauve", "b", "a", -0.25, -0.5, -0.1, -0.125, 0.01, 0.03, True, 12)
    assert turned.seen_from("a") == EXAMPLE
    assert turned.told_apart == EXAMPLE.told_apart


def test_swapped_candidates_have_the_opposite_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "STOP", 1000)  # never
    sizes, shares = {HUMAN: 30, "a": 25, "b": 30}, {HUMAN: UNIFORM, "a": UNIFORM, "b": SKEWED}
    comparison = comparison_of(sizes, shares)
    swapped = dataclasses.replace(comparison, candidates=comparison.candidates[::-1])
    for one, other in zip(differences_in(comparison), differences_in(swapped), strict=True):
        turned = other.seen_from("a")
        for name in ("difference", "low", "high", "joint_difference"):
            assert getattr(one, name) == pytest.approx(getattr(turned, name), abs=ROUNDING)
        # Other draws: two shares of 999 differ by less than five standard errors of their difference.
        assert one.p_value == pytest.approx(other.p_value, abs=5 * math.sqrt(2 * 0.25 / 999))


@pytest.mark.parametrize(
    ("p_adjusted", "difference", "joint", "expected"),
    [
        (SIGNIFICANT, 0.1, 0.2, True),
        (SIGNIFICANT, -0.1, -0.2, True),
        (math.nextafter(SIGNIFICANT, 1), 0.1, 0.2, False),
        (0.001, 0.1, -0.2, False),
        (0.001, -0.1, 0.2, False),
        (0.001, 0.0, 0.2, False),
        (0.001, 0.1, 0.0, False),
    ],
)
def test_told_apart_needs_the_adjusted_p_value_and_both_partitions(
    p_adjusted: float, difference: float, joint: float, expected: bool
) -> None:
    found = dataclasses.replace(
        EXAMPLE, difference=difference, joint_difference=joint, p_value=0.001, p_adjusted=p_adjusted
    )
    assert found.told_apart is expected


def test_a_difference_is_found_under_either_order_of_names() -> None:
    comparison = dataclasses.replace(made(None), differences=(EXAMPLE,))
    assert comparison.difference("mauve", "a", "b") is comparison.difference("mauve", "b", "a") is EXAMPLE
    assert comparison.difference("mid", "a", "b") is comparison.difference("mauve", "a", "c") is None
    assert made(None).difference("mauve", "a", "b") is None


def test_a_nearer_candidate_is_told_apart_with_the_sign_of_each_score() -> None:
    human, candidates, features = make_comparison_inputs(n=160)
    names = ("close", "collapsed")
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, bootstrap=100), projection=False)
    given = {name: features[name] for name in (HUMAN, *names)}
    comparison = compare(human, {name: candidates[name] for name in names}, config, features=given)
    found = {each.score: each for each in comparison.differences}
    for name in SCORES:
        sign = 1 if name.startswith("mauve") else -1
        assert sign * found[name].difference > 0
        assert sign * found[name].joint_difference > 0
        assert found[name].p_value == found[name].p_adjusted == 1 / 1000
        assert found[name].told_apart
        assert (found[name].paired, found[name].n) == (True, 160)  # the prompts are "prompt 0" to "prompt 159"


@pytest.mark.parametrize("matched", [True, False])
def test_a_candidate_under_two_names_is_not_told_apart_from_itself(matched: bool) -> None:
    human, candidates, features = make_comparison_inputs(n=120)
    shifted = dataclasses.replace(candidates["shifted"], prompts=None)
    others = {"shifted": shifted, "again": dataclasses.replace(shifted, name="again")}
    given = {HUMAN: features[HUMAN], "shifted": features["shifted"], "again": features["shifted"]}
    if not matched:
        ids = {name: tuple(f"{name} {text_id}" for text_id in shifted.ids) for name in others}
        others = {name: dataclasses.replace(corpus, ids=ids[name]) for name, corpus in others.items()}
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, bootstrap=100), projection=False)
    comparison = compare(dataclasses.replace(human, prompts=None), others, config, features=given)
    for each in comparison.differences:
        assert each.joint_difference == 0
        assert each.p_value == each.p_adjusted == 1
        assert not each.told_apart
        assert each.low <= 0 <= each.high
        assert (each.paired, each.n) == ((True, 120) if matched else (False, 240))


def test_equal_texts_within_prompts_leave_nothing_to_exchange() -> None:
    """Without pairs, the order of the prompts would decide; with them, no exchange changes a histogram."""
    comparison = made(PAIRED)
    joint = tuple(
        dataclasses.replace(part, labels={**part.labels, "b": part.labels["a"][::-1]}) for part in comparison.joint
    )
    found = [each for each in differences_in(dataclasses.replace(comparison, joint=joint)) if each.second == "b"]
    assert [(each.first, each.joint_difference, each.p_value) for each in found] == [("a", 0.0, 1.0)] * 4


@pytest.mark.trial
@pytest.mark.parametrize("paired", [True, False])
def test_halves_of_one_source_are_told_apart_no_more_often_than_the_level(
    paired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where candidates write alike, p at most 0.05 has a probability of at most 0.05 under every score.

    Of 200 independent pairs, more than 22 are below it with a probability of less than 2e-4, by the binomial law.
    Texts of one prompt are alike in the paired case: their source gives every prompt two texts of one topic.
    """
    pairs, limit = 200, 22
    assert binom.sf(limit, pairs, 0.05) < 2e-4
    monkeypatch.setattr(differences, "PERMUTATIONS", 99)
    n, score = 40, ScoreConfig(seeds=1, bootstrap=100)
    below, apart = dict.fromkeys(SCORES, 0), dict.fromkeys(SCORES, 0)
    for trial in range(pairs):
        rng = np.random.default_rng(trial)
        if paired:
            topics = np.repeat(rng.choice(K, size=n, p=SKEWED), 2)
            labels = np.where(rng.random(2 * n) < 0.8, topics, rng.integers(K, size=2 * n))
            turned = rng.permuted(np.arange(2 * n).reshape(n, 2), axis=1)
            halves, prompts = (turned[:, 0], turned[:, 1]), dict.fromkeys((HUMAN, "a", "b"), range(n))
        else:
            labels, order, prompts = rng.choice(K, size=2 * n, p=SKEWED), rng.permutation(2 * n), None
            halves = order[:n], order[n:]
        comparison = comparison_of(
            dict.fromkeys((HUMAN, "a", "b"), n),
            dict.fromkeys((HUMAN, "a", "b"), UNIFORM),
            prompts=prompts,
            seed=trial + pairs,
            score=dataclasses.replace(score, seed=trial),
        )
        own = {name: labels[half].astype(np.int32) for name, half in zip(("a", "b"), halves, strict=True)}
        joint = tuple(dataclasses.replace(part, labels={**part.labels, **own}) for part in comparison.joint)
        candidates = tuple(
            dataclasses.replace(
                each,
                partitions=tuple(
                    dataclasses.replace(part, labels={**part.labels, each.name: own[each.name]})
                    for part in each.partitions
                ),
            )
            for each in comparison.candidates
        )
        for each in differences_in(dataclasses.replace(comparison, joint=joint, candidates=candidates)):
            below[each.score] += each.p_value <= 0.05
            apart[each.score] += each.told_apart
    for name in SCORES:
        assert apart[name] <= below[name] <= limit, (name, below[name])
        assert below[name] > 0, "a test that never rejects would hold any level"
