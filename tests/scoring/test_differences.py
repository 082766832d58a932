"""The tests of two candidates: a slow twin, enumeration, their level, and what they must not depend on.

Most comparisons are made by hand.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, norm, t

from mauve_core.base.config import HUMAN, CompareConfig, PartitionKind, ScoreConfig
from mauve_core.base.progress import Progress, silent
from mauve_core.scoring import differences
from mauve_core.scoring.compare import compare
from mauve_core.scoring.differences import (
    FOLDS,
    STOP,
    Slots,
    deal_to_groups,
    differences_of,
    joint_differences_of,
    pairs_of,
    slots_of,
)
from mauve_core.scoring.estimates import scored
from mauve_core.scoring.result import SIGNIFICANT, Candidate, Comparison, Difference, Partition, Source
from mauve_core.scoring.streams import stream
from mauve_core.stats import units as units_module
from mauve_core.stats.scores import SCORES, score_counts
from mauve_core.stats.units import draw_slots
from tests.synthetic import make_comparison_inputs

pytestmark = pytest.mark.integration

# Sums of the same numbers in another order: at most some hundred terms of order 1, so about 100 * 2e-16.
ROUNDING = 1e-12

K, SEEDS = 5, 2
UNIFORM = np.full(K, 1 / K)
SKEWED = np.array([0.45, 0.25, 0.15, 0.1, 0.05])
Prompts = Mapping[str, Sequence[int]]

# Every prompt has a text of every source; those of b are in another order.
PAIRED: Prompts = {HUMAN: range(30), "a": range(30), "b": range(29, -1, -1), "c": range(30)}

# Prompts are shared in part.
PARTLY: Prompts = {
    HUMAN: range(30),
    "a": [*range(18), *range(8), *range(60, 66)],  # two texts of eight prompts, and six prompts of its own
    "b": [*range(3, 25), *range(40, 44), 7],  # one each, one prompt twice
    "c": range(50, 80),  # six prompts in common with a, none with b
}


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
    """Scored and tested."""
    comparison = scored(comparison, {})
    return dataclasses.replace(comparison, differences=differences_of(comparison, progress))


def differences_in(comparison: Comparison) -> tuple[Difference, ...]:
    return scored_by_hand(comparison).differences


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


def generations_of(comparison: Comparison, name: str) -> list[int]:
    return comparison.generations.get(name, np.zeros(comparison.candidate(name).source.n, np.int32)).tolist()


def closer_by_hand(comparison: Comparison, first: str, second: str) -> dict[str, tuple[float, float, float, float]]:
    """Difference, its interval and p-value by score: each fold of units is left out, and the rest counted afresh.

    Where the two have unequally many texts, the joint partitions count as many of each as the smaller has.
    """
    score = comparison.config.score
    folds = deal_to_groups(
        comparison.units(HUMAN, *[each.name for each in comparison.candidates]),
        stream(score.seed, "differences"),
        most=FOLDS,
    )
    texts = [sum(int((folds[name] == fold).sum()) for name in (HUMAN, first, second)) for fold in range(FOLDS)]
    filled = [fold for fold in range(FOLDS) if texts[fold]]
    n, m = (comparison.candidate(name).source.n_scored for name in (first, second))
    cut = abs(n - m) > 0.01 * max(n, m)
    rng = np.random.default_rng(stream(score.seed, "differences").spawn(1)[0])
    count = max(int(own.max()) for own in folds.values()) + 1
    pairs = pairs_of(count, stream(score.seed, "differences").spawn(2)[1]).tolist()
    gone: list[tuple[int, ...]] = [(), *((fold,) for fold in filled), *map(tuple, pairs)]
    values: dict[str, list[list[float]]] = {name: [[0.0] * score.seeds for _ in gone] for name in SCORES}
    for sign, name in ((1, first), (-1, second)):
        parts, own = comparison.partitions("joint" if cut else "pairwise", name), generations_of(comparison, name)
        for index, part in enumerate(parts):
            for generation in range(max(own) + 1):
                chosen = [text for text, number in enumerate(own) if number == generation]
                if cut:
                    chosen = rng.permutation(chosen)[: min(n, m)].tolist()
                texts_that_count = {*chosen}
                for row, without in enumerate(gone):
                    p = histogram(part.labels[HUMAN], part.k, [each not in without for each in folds[HUMAN]])
                    kept = [i in texts_that_count and folds[name][i] not in without for i in range(len(own))]
                    found = score_counts(p, histogram(part.labels[name], part.k, kept), scale=score.scale)
                    for measure in SCORES:
                        values[measure][row][index] += sign * float(found[measure]) / (max(own) + 1)
    tests = {}
    for measure in SCORES:
        whole, *others = [sum(row) / len(row) for row in values[measure]]
        left_out, g = others[: len(filled)], len(filled)
        ratios = [sum(texts) / texts[fold] for fold in filled]
        pseudo = [ratio * whole - (ratio - 1) * without for ratio, without in zip(ratios, left_out, strict=True)]
        centre = sum(value / ratio for value, ratio in zip(pseudo, ratios, strict=True))
        squares = sum((value - centre) ** 2 / (ratio - 1) for value, ratio in zip(pseudo, ratios, strict=True))
        quadratic = [
            g * whole - (g - 1) * (left_out[filled.index(one)] + left_out[filled.index(other)]) + (g - 2) * both
            for (one, other), both in zip(pairs, others[g:], strict=True)
        ]
        variance = max(squares / g - float(np.var(quadratic)) / 2, squares / g / 2)
        linear = 2 * variance / (squares / g) - 1
        variance += linear * float(np.var(values[measure][0], ddof=1)) / score.seeds
        sd, law = math.sqrt(variance), t(len(filled) - 1)
        reach, most = law.ppf((1 + score.confidence) / 2) * sd, SCORES[measure].bounds[1] - SCORES[measure].bounds[0]
        p_value, pairs_of_candidates = 2 * law.sf(abs(whole) / sd), math.comb(len(comparison.candidates), 2)
        least = (norm.ppf(1 - 0.05 / 2 / pairs_of_candidates) + norm.ppf(0.8)) * sd
        tests[measure] = whole, max(whole - reach, -most), min(whole + reach, most), p_value, least
    return tests


def joint_by_hand(
    comparison: Comparison, first: str, second: str, rows: Sequence[Sequence[int]]
) -> dict[str, list[float]]:
    """Mean over generations and seeds of the first's scores less that of the second's, for each row of slots."""
    ones, others = (max(generations_of(comparison, name)) + 1 for name in (first, second))
    sums = {score: np.zeros(len(rows)) for score in SCORES}
    for part in comparison.joint:
        labels = np.concatenate([part.labels[first], part.labels[second]])
        p = histogram(part.labels[HUMAN], part.k, [1] * part.labels[HUMAN].size)
        for slot in range(ones + others):
            q = [histogram(labels, part.k, [int(own == slot) for own in row]) for row in rows]
            value = score_counts(p, q, scale=comparison.config.score.scale)
            for score in SCORES:
                sums[score] += value[score] / ones if slot < ones else -value[score] / others
    return {score: (total / len(comparison.joint)).tolist() for score, total in sums.items()}


def alike_by_hand(comparison: Comparison, first: str, second: str, draws: int) -> dict[str, float]:
    """p-values of the hypothesis that both are one source, from the exchanges that the test draws."""
    slots, units = slots_of(comparison, first, second), comparison.units(first, second)
    rng = np.random.default_rng(stream(comparison.config.score.seed, "exchange"))
    codes = np.concatenate([units[first], units[second]])
    drawn = draw_slots(slots.own, codes, slots.of_first, draws, rng)
    joint = joint_by_hand(comparison, first, second, [slots.own.tolist(), *drawn.tolist()])
    return {name: p_by_hand(null, observed, STOP) for name, (observed, *null) in joint.items()}


def p_by_hand(null: Sequence[float], observed: float, stop: int) -> float:
    """Count the draws at least as far as observed; the one that makes them ``stop`` ends the test."""
    far = 0
    for place, each in enumerate(null, start=1):
        far += abs(each) >= abs(observed) - ROUNDING
        if far == stop:
            return stop / place
    return (1 + far) / (1 + len(null))


def plain_twin(comparison: Comparison, draws: int) -> list[Difference]:
    """Everything one text, one fold and one exchange at a time."""
    found: list[Difference] = []
    for first, second in combinations([candidate.name for candidate in comparison.candidates], 2):
        units = {name: {*own.tolist()} for name, own in comparison.units(first, second).items()}
        common = len(units[first] & units[second])
        n = common or len(units[first] | units[second])
        tests, alike = closer_by_hand(comparison, first, second), alike_by_hand(comparison, first, second, draws)
        for name in SCORES:
            *test, p_value, least = tests[name]
            found.append(Difference(name, first, second, *test, p_value, p_value, alike[name], common > 0, n, least))
    for name in SCORES:
        places = [index for index, each in enumerate(found) if each.score == name]
        for index, value in zip(places, holm_by_hand([found[index].p_value for index in places]), strict=True):
            found[index] = dataclasses.replace(found[index], p_adjusted=value)
    return found


def assert_close(found: Sequence[Difference], expected: Sequence[Difference]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        for field in dataclasses.fields(Difference):
            value, twin = getattr(ours, field.name), getattr(theirs, field.name)
            same = value == pytest.approx(twin, rel=1e-9, abs=ROUNDING) if isinstance(twin, float) else value == twin
            assert same, (theirs.score, theirs.first, theirs.second, field.name, value, twin)


@pytest.mark.parametrize("prompts", [None, PAIRED, PARTLY], ids=["separate", "paired", "partly"])
def test_equal_to_a_plain_twin(prompts: Prompts | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "PERMUTATIONS", 59)
    comparison = scored_by_hand(
        made(prompts, score=ScoreConfig(seeds=SEEDS, bootstrap=100, confidence=0.9, scale=3.0, seed=4))
    )
    assert [(each.first, each.second, each.score) for each in comparison.differences] == [
        (*pair, name) for pair in (("a", "b"), ("a", "c"), ("b", "c")) for name in SCORES
    ]
    assert_close(comparison.differences, plain_twin(comparison, 59))


def test_the_difference_is_that_of_the_scores_on_the_leaderboard_at_like_sizes() -> None:
    comparison = scored_by_hand(made(PAIRED))
    for each in comparison.differences:
        one, other = (comparison[name].scores[each.score].mean for name in (each.first, each.second))
        assert each.difference == pytest.approx(one - other, abs=ROUNDING)
        assert each.low <= each.difference <= each.high


def test_prompts_decide_what_is_exchanged() -> None:
    found = {(each.first, each.second): (each.paired, each.n) for each in differences_in(made(PARTLY))}
    # a has prompts 0-17 and 60-65, b 3-24 and 40-43, c 50-79.
    assert found == {("a", "b"): (True, 15), ("a", "c"): (True, 6), ("b", "c"): (False, 56)}
    assert {(each.paired, each.n) for each in differences_in(made(PAIRED))} == {(True, 30)}
    assert [(each.paired, each.n) for each in differences_in(made(None))[::4]] == [
        (False, 57),
        (False, 60),
        (False, 57),
    ]


def any_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few units, and large ones, have intervals and tests too."""
    monkeypatch.setattr(units_module, "LEAST_UNITS", 1)
    monkeypatch.setattr(units_module, "MOST_SHARE", 1)


@pytest.mark.parametrize("paired", [True, False])
def test_the_p_value_tends_to_that_of_all_exchanges(paired: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    any_units(monkeypatch)
    monkeypatch.setattr(differences, "PERMUTATIONS", 19_999)
    monkeypatch.setattr(differences, "STOP", 20_000)  # never
    n, m = (6, 6) if paired else (4, 3)
    order = [3, 0, 4, 1, 5, 2]  # the prompts of b
    prompts = {HUMAN: range(20), "a": range(6), "b": order} if paired else None
    shares = {HUMAN: UNIFORM, "a": UNIFORM, "b": SKEWED}
    comparison = comparison_of({HUMAN: 20, "a": n, "b": m}, shares, prompts=prompts, seed=2)
    if paired:
        rows = [[*swaps, *(1 - swaps[prompt] for prompt in order)] for swaps in product([0, 1], repeat=6)]
    else:
        rows = [[int(place not in chosen) for place in range(7)] for chosen in combinations(range(7), 4)]
    values = joint_by_hand(comparison, "a", "b", rows)  # the observed sides come first
    found = {each.score: each for each in differences_in(comparison)}
    for name in SCORES:
        exact = np.mean(np.abs(values[name]) >= abs(values[name][0]) - ROUNDING)
        # Five standard errors of a share of 19,999 draws; the observed sides add 1 / 20,000 at most.
        assert found[name].p_alike == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / 19_999) + 1e-4)


def test_one_pair_needs_no_adjustment_and_one_candidate_no_test() -> None:
    sizes, shares = {HUMAN: 30, "a": 30, "b": 30}, {HUMAN: UNIFORM, "a": UNIFORM, "b": SKEWED}
    found = differences_in(comparison_of(sizes, shares))
    assert [each.score for each in found] == list(SCORES)
    assert all(each.p_adjusted == each.p_value for each in found)
    assert differences_in(comparison_of({HUMAN: 30, "a": 30}, {HUMAN: UNIFORM, "a": UNIFORM})) == ()


FEW: Prompts = {HUMAN: range(30), "a": range(30), "b": range(30), "c": [*range(19)] * 2}
LARGE: Prompts = {HUMAN: range(30), "a": range(30), "b": range(30), "c": [*range(25), *[0] * 7]}


@pytest.mark.parametrize("prompts", [FEW, LARGE], ids=["19 units", "a quarter of the texts in one"])
def test_a_candidate_whose_units_support_no_test_is_not_tested_and_changes_no_other_test(prompts: Prompts) -> None:
    seen: list[tuple[str, int, int]] = []
    sizes = {name: len(own) for name, own in prompts.items()}
    comparison = comparison_of(sizes, dict.fromkeys(sizes, SKEWED) | {HUMAN: UNIFORM}, prompts=prompts)
    found = scored_by_hand(comparison, lambda *state: seen.append(state))
    assert seen == [("testing differences", done, 3) for done in range(4)]
    for each in found.differences[4:]:
        most = SCORES[each.score].bounds[1] - SCORES[each.score].bounds[0]
        assert (each.low, each.high) == (-most, most)
        assert (each.p_value, each.p_adjusted, each.p_alike, each.told_apart) == (1, 1, 1, False)
        means = (found[name].scores[each.score].mean for name in (each.first, each.second))
        assert each.difference == pytest.approx(next(means) - next(means), abs=ROUNDING)
    alone = differences_in(dataclasses.replace(comparison, candidates=comparison.candidates[:2]))
    assert found.differences[:4] == tuple(alone)
    assert all(each.low > -1 for each in alone)


def test_candidates_that_join_all_units_together_leave_the_others_tested() -> None:
    """Each of c and d repeats texts of two prompts; together they join all prompts to one unit."""
    prompts = dict.fromkeys((HUMAN, *"abcd"), range(40))
    sizes, shares = dict.fromkeys(prompts, 40), dict.fromkeys(prompts, SKEWED) | {HUMAN: UNIFORM}
    contents = {name: np.arange(40, dtype=np.int32) + 100 * place for place, name in enumerate(prompts)}
    contents |= {"c": contents["c"] // 2, "d": 1000 + (contents["d"] + 1) // 2}
    comparison = dataclasses.replace(comparison_of(sizes, shares, prompts=prompts), contents=contents)
    found = differences_in(comparison)
    alone = differences_in(dataclasses.replace(comparison, candidates=comparison.candidates[:2]))
    shared = [
        dataclasses.replace(each, p_adjusted=other.p_adjusted, detectable=other.detectable)
        for each, other in zip(found[:4], alone, strict=True)
    ]
    assert shared == list(alone)
    assert {each.first + each.second for each in found if each.p_alike == each.p_value == 1} >= {"cd"}


@pytest.mark.slow
@pytest.mark.trial
def test_the_size_of_the_blocks_of_draws_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = made(PARTLY)
    whole, sizes = differences_in(comparison), []

    def watched(
        parts: Sequence[Partition], slots: Slots, drawn: NDArray[np.int32], scale: float, device: str = "cpu"
    ) -> object:
        sizes.append(len(drawn))
        return joint_differences_of(parts, slots, drawn, scale, device)

    monkeypatch.setattr(differences, "joint_differences_of", watched)
    monkeypatch.setattr(differences, "FIRST_BLOCK", 7)
    assert differences_in(comparison) == whole
    monkeypatch.setattr(differences, "COUNT_BYTES", 1)
    monkeypatch.setattr(differences, "PERMUTATIONS", 5)
    one_by_one = differences_in(comparison)
    assert set(sizes[-15:]) == {1}
    monkeypatch.setattr(differences, "COUNT_BYTES", 2**27)
    assert differences_in(comparison) == one_by_one
    monkeypatch.setattr(differences, "TABLE_BYTES", 1)
    assert differences_in(comparison) == one_by_one


def test_a_clear_tie_takes_few_draws_and_a_clear_difference_all(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: dict[str, int] = dict.fromkeys("bc", 0)

    def watched(
        parts: Sequence[Partition], slots: Slots, drawn: NDArray[np.int32], scale: float, device: str = "cpu"
    ) -> object:
        sizes[slots.second] += len(drawn)
        return joint_differences_of(parts, slots, drawn, scale, device)

    shares = {HUMAN: UNIFORM, "a": UNIFORM, "b": UNIFORM, "c": np.eye(K)[0]}
    comparison = comparison_of(dict.fromkeys(shares, 60), shares, agreement=1.0)
    monkeypatch.setattr(differences, "joint_differences_of", watched)
    for name in "bc":
        pair = tuple(each for each in comparison.candidates if each.name in ("a", name))
        found = differences_in(dataclasses.replace(comparison, candidates=pair))
        assert all(each.told_apart is (name == "c") for each in found)
        assert all((each.p_alike == 1 / 1000) is (name == "c") for each in found)
    assert sizes["b"] <= 1 + 200 < 1 + 999 == sizes["c"]


def test_a_seed_repeats_and_another_draws_others() -> None:
    comparison = made(None)
    assert differences_in(comparison) == differences_in(comparison)
    other = differences_in(made(None, score=ScoreConfig(seeds=SEEDS, bootstrap=100, seed=1)))
    for name in ("p_value", "p_alike"):
        assert [getattr(each, name) for each in other] != [getattr(each, name) for each in differences_in(comparison)]


EXAMPLE = Difference("mauve", "a", "b", 0.25, 0.1, 0.5, 0.01, 0.03, 0.125, True, 12)


def test_a_test_is_the_same_from_either_side() -> None:
    assert EXAMPLE.seen_from("a") is EXAMPLE
    turned = EXAMPLE.seen_from("b")
    assert turned == Difference("mauve", "b", "a", -0.25, -0.5, -0.1, 0.01, 0.03, 0.125, True, 12)
    assert turned.seen_from("a") == EXAMPLE
    assert turned.told_apart == EXAMPLE.told_apart


def test_swapped_candidates_have_the_opposite_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "STOP", 1000)  # never
    comparison = made(PAIRED)  # as many folds as prompts
    swapped = dataclasses.replace(comparison, candidates=comparison.candidates[1::-1])
    comparison = dataclasses.replace(comparison, candidates=comparison.candidates[:2])
    for one, other in zip(differences_in(comparison), differences_in(swapped), strict=True):
        turned = other.seen_from("a")
        for name in ("difference", "low", "high", "p_value"):
            assert getattr(one, name) == pytest.approx(getattr(turned, name), rel=1e-9, abs=ROUNDING)
        # Other draws: two shares of 999 differ by less than five standard errors of their difference.
        assert one.p_alike == pytest.approx(other.p_alike, abs=5 * math.sqrt(2 * 0.25 / 999))


@pytest.mark.parametrize(
    ("p_adjusted", "difference", "expected"),
    [(SIGNIFICANT, 0.1, True), (SIGNIFICANT, -0.1, True), (math.nextafter(SIGNIFICANT, 1), 0.1, False)],
)
def test_the_adjusted_p_value_alone_tells_apart(p_adjusted: float, difference: float, expected: bool) -> None:
    found = dataclasses.replace(EXAMPLE, difference=difference, p_value=0.001, p_adjusted=p_adjusted, p_alike=0.9)
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
        assert found[name].p_alike == 1 / 1000
        assert found[name].p_value == found[name].p_adjusted
        assert found[name].told_apart
        assert (found[name].paired, found[name].n) == (True, 160)  # the prompts are "prompt 0" to "prompt 159"


@pytest.mark.parametrize("matched", ["by id", "by text", "not at all"])
def test_a_candidate_under_two_names_is_not_told_apart_from_itself(matched: str) -> None:
    human, candidates, features = make_comparison_inputs(n=120)
    shifted = dataclasses.replace(candidates["shifted"], prompts=None)
    changed = {}
    if matched != "by text":
        changed["texts"] = tuple(f"{text} again" for text in shifted.texts)
    if matched != "by id":
        changed["ids"] = tuple(f"again {text_id}" for text_id in shifted.ids)
    others = {"shifted": shifted, "again": dataclasses.replace(shifted, name="again", **changed)}
    given = {HUMAN: features[HUMAN], "shifted": features["shifted"], "again": features["shifted"]}
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, bootstrap=100), projection=False)
    comparison = compare(dataclasses.replace(human, prompts=None), others, config, features=given)
    for each in comparison.differences:
        assert each.difference == 0
        assert each.p_value == each.p_adjusted == each.p_alike == 1
        assert not each.told_apart
        assert each.low <= 0 <= each.high
        assert (each.paired, each.n) == ((False, 240) if matched == "not at all" else (True, 120))


def test_equal_texts_within_prompts_leave_nothing_to_exchange() -> None:
    """Without pairs, the order of the prompts would decide; with them, no exchange changes a histogram."""
    comparison = made(PAIRED)
    joint = tuple(
        dataclasses.replace(part, labels={**part.labels, "b": part.labels["a"][::-1]}) for part in comparison.joint
    )
    found = [each for each in differences_in(dataclasses.replace(comparison, joint=joint)) if each.second == "b"]
    assert [(each.first, each.p_alike) for each in found] == [("a", 1.0)] * 4


@pytest.mark.trial
@pytest.mark.parametrize("paired", [True, False])
def test_halves_of_one_source_are_told_apart_no_more_often_than_the_level(
    paired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where candidates write alike, either p at most 0.05 has a probability of at most 0.05 under every score.

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
            below[each.score] += each.p_alike <= 0.05
            apart[each.score] += each.told_apart
    for name in SCORES:
        assert max(apart[name], below[name]) <= limit, (name, apart[name], below[name])
        assert min(apart[name], below[name]) > 0, "a test that never rejects would hold any level"
