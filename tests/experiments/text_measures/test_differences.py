"""Tests of two candidates by a text measure: a plain twin by loops, the level at the kink, ranks that follow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import quad

from mauve_core.analyses.measure_inputs import Collection, MeasureContext
from mauve_core.analyses.measure_terms import GROUPS, Groups, Measurements, Replicates, group_of
from mauve_core.analyses.text_measures import (
    MEASURES,
    Measured,
    closest_sentence,
    difference_json,
    measure,
    measure_differences,
    measure_standings,
    measure_tests_sentence,
    ranked_tests,
)
from mauve_core.base.words import TEXTS

SHIFTS = {"near": 0.5, "under": -0.7, "far": 4.0, "same": 0.0}


def texts_of(rng: np.random.Generator, name: str, n: int, shift: float, prefix: str = "prompt") -> Collection:
    lengths = np.maximum(1, np.round(rng.normal(20 + shift, 3, size=n))).astype(int)
    return Collection(
        name,
        tuple(f"{prefix} {i}" for i in range(n)),
        tuple(f"{name}{i}" + " a" * (length - 1) for i, length in enumerate(lengths)),
    )


@pytest.fixture(scope="module")
def sides() -> dict[str, Collection]:
    """People and four candidates; one of them answered other prompts, and fewer."""
    rng = np.random.default_rng(8)
    found = {name: texts_of(rng, name, 90, shift) for name, shift in {"human": 0.0, **SHIFTS}.items()}
    return {**found, "same": texts_of(rng, "same", 70, 0.0, "other")}


@pytest.fixture(scope="module")
def measured(sides: dict[str, Collection]) -> Measurements:
    candidates = {name: texts for name, texts in sides.items() if name != "human"}
    return measure(sides["human"], candidates, ["length"], context=MeasureContext())


# The plain twin


@dataclass
class Plain:
    value: float
    low: float
    high: float
    p: float


def mean_length(texts: Collection, without: int | None) -> float:
    kept = [len(text.split()) for text, group in zip(texts.texts, group_of(texts.ids), strict=True) if group != without]
    return sum(kept) / len(kept)


def student_tail(t: float, degrees: int) -> float:
    """P(|T| > t) by integrating the density."""
    constant = math.gamma((degrees + 1) / 2) / (math.sqrt(degrees * math.pi) * math.gamma(degrees / 2))
    return 2 * quad(lambda x: constant * (1 + x * x / degrees) ** (-(degrees + 1) / 2), abs(t), math.inf)[0]


def plain_sum(weights: list[tuple[int, Collection]]) -> Plain:
    """Delete-m jackknife of Busing et al. 1999, (8) and (9), each side's part of a group added before squaring; and
    Student's t with its quantile by bisection."""
    value = sum(weight * mean_length(texts, None) for weight, texts in weights)
    parts, fewest = [0.0] * GROUPS, GROUPS
    for weight, texts in weights:
        labels, whole = group_of(texts.ids).tolist(), mean_length(texts, None)
        filled = sorted(set(labels))
        ratios = {g: len(labels) / labels.count(g) for g in filled}
        pseudo = {g: ratios[g] * whole - (ratios[g] - 1) * mean_length(texts, g) for g in filled}
        center = sum(pseudo[g] / ratios[g] for g in filled)
        for g in filled:
            parts[g] += weight * (pseudo[g] - center) / math.sqrt((ratios[g] - 1) * len(filled))
        fewest = min(fewest, len(filled))
    sd = math.sqrt(sum(part**2 for part in parts))
    low, high = 0.0, 50.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if student_tail(middle, fewest - 1) > 0.05 else (low, middle)
    return Plain(value, value - low * sd, value + low * sd, student_tail(value / sd, fewest - 1))


def plain_gap(one: Collection, other: Collection, human: Collection) -> Plain:
    """Both hypotheses tested, and the difference of gaps over a fine grid of the rectangle of both intervals."""
    apart, midway = plain_sum([(1, one), (-1, other)]), plain_sum([(1, one), (1, other), (-2, human)])
    found = [
        abs(x + y) / 2 - abs(x - y) / 2
        for x in np.linspace(apart.low, apart.high, 401)
        for y in np.linspace(midway.low, midway.high, 401)
    ]
    own, others = (abs(mean_length(each, None) - mean_length(human, None)) for each in (one, other))
    return Plain(own - others, min(found), max(found), max(apart.p, midway.p))


def plain_holm(p_values: list[float]) -> list[float]:
    adjusted, largest = [0.0] * len(p_values), 0.0
    for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - step) * p_values[index]))
        adjusted[index] = largest
    return adjusted


@pytest.mark.slow
def test_a_plain_twin_by_loops(sides: dict[str, Collection], measured: Measurements) -> None:
    pairs = list(combinations(SHIFTS, 2))
    plain = {
        "gap": [plain_gap(sides[one], sides[other], sides["human"]) for one, other in pairs],
        "value": [plain_sum([(1, sides[one]), (-1, sides[other])]) for one, other in pairs],
    }
    assert [(each.of, each.first, each.second) for each in measured.differences] == [
        (of, *pair) for of in ("gap", "value") for pair in pairs
    ]
    for of in ("gap", "value"):
        adjusted = plain_holm([each.p for each in plain[of]])
        for found, expected, holm in zip(measured.tests("length", of), plain[of], adjusted, strict=True):  # type: ignore[arg-type]
            numbers = (found.difference, found.low, found.high)
            assert numbers == pytest.approx((expected.value, expected.low, expected.high), rel=1e-6, abs=1e-9)
            assert (found.p_value, found.p_adjusted) == pytest.approx((expected.p, holm), rel=1e-6)
            assert found.told_apart == (holm <= 0.05)
            others = "same" in (found.first, found.second)
            assert (found.paired, found.n) == ((False, 160) if others else (True, 90))


def test_an_interval_contains_zero_exactly_if_p_is_large(measured: Measurements) -> None:
    seen = set()
    for each in measured.differences:
        assert each.p_value is not None
        assert each.low is not None
        assert each.high is not None
        assert each.low <= each.difference <= each.high
        assert (each.low <= 0 <= each.high) == (each.p_value > 0.05)
        seen.add(each.p_value > 0.05)
    assert seen == {True, False}


def test_the_other_side_sees_the_opposite(measured: Measurements) -> None:
    for each in measured.differences:
        assert each.seen_from(each.first) == each
        turned = each.seen_from(each.second)
        assert (turned.first, turned.difference) == (each.second, -each.difference)
        assert (turned.low, turned.high) == (-(each.high or 0), -(each.low or 0))
        assert turned.seen_from(each.first) == each


# Level and coverage


def normal_sides(rng: np.random.Generator, means: tuple[float, float, float], shared: float) -> list[Measured]:
    """P, A and B with group means of T drawn around ``means``; ``shared`` is what the groups have in common."""
    texts = Collection("x", tuple(f"prompt {i}" for i in range(400)), ("",) * 400)
    groups = Groups(np.full(GROUPS, 20), [np.arange(380)] * GROUPS)
    common, found = rng.normal(0, shared, GROUPS), []
    for mean in means:
        values = mean + common + rng.normal(0, 1, GROUPS)
        left_out = (values.sum() - values) / (GROUPS - 1)
        found.append(Measured(texts, groups, Replicates(float(values.mean()), left_out)))
    return found


@pytest.mark.trial
@pytest.mark.parametrize(
    ("means", "level"),
    [
        ((0, 0.0, 0.0), (0.0, 0.03)),  # all equal: both hypotheses hold, so both are rejected rarely
        ((0, 3.0, 3.0), (0.035, 0.065)),
        ((0, 3.0, -3.0), (0.035, 0.065)),  # P midway
        ((0, 0.4, 0.4), (0.0, 0.065)),
        ((0, 0.4, -0.4), (0.0, 0.065)),
    ],
)
def test_equal_gaps_are_told_apart_no_more_often_than_the_level(
    means: tuple[float, float, float], level: tuple[float, float]
) -> None:
    """2,000 draws: the standard error of 5 % is 0.5 %."""
    rng = np.random.default_rng(3)
    p_values = []
    for _ in range(2000):
        human, one, other = normal_sides(rng, means, 0.7)
        gap, value = measure_differences(MEASURES["length"], human, {"a": one, "b": other})
        assert gap.p_value is not None
        assert value.p_value is not None
        assert gap.p_value >= value.p_value
        p_values.append(gap.p_value)
    assert level[0] <= np.mean(np.array(p_values) <= 0.05) <= level[1]


@pytest.mark.trial
@pytest.mark.parametrize("means", [(0, 0.5, 0.0), (0, 0.5, 0.2), (0, 0.5, -0.4), (0, 2.0, 1.0), (0, 0.0, 0.0)])
def test_the_interval_of_gaps_covers_also_at_the_kink(means: tuple[float, float, float]) -> None:
    """1,500 draws: three standard errors of 5 % are 1.7 %."""
    rng = np.random.default_rng(4)
    truth = abs(means[1] - means[0]) - abs(means[2] - means[0])
    covered = 0
    for _ in range(1500):
        human, one, other = normal_sides(rng, means, 0.7)
        gap = measure_differences(MEASURES["length"], human, {"a": one, "b": other})[0]
        covered += gap.low is not None and gap.high is not None and gap.low <= truth <= gap.high
    assert covered / 1500 >= 0.933


def test_no_spread_means_no_test() -> None:
    few = texts_of(np.random.default_rng(0), "few", 30, 0.0)
    many = texts_of(np.random.default_rng(1), "many", 60, 5.0)
    constant = Collection("constant", many.ids, tuple(f"{i} b c" for i in range(60)))
    found = measure(many, {"few": few, "many": many, "constant": constant}, ["length"], context=MeasureContext())
    by = {(each.of, each.first, each.second): each for each in found.differences}
    assert by["value", "few", "many"].p_value is None
    assert by["value", "few", "many"].low is None
    assert by["value", "few", "many"].difference < 0
    assert not by["value", "few", "many"].told_apart
    tested = by["value", "many", "constant"]
    assert tested.p_value is not None
    assert tested.p_adjusted == tested.p_value, "pairs without a test are not counted"
    twin = measure(many, {"one": constant, "other": constant}, ["length"], context=MeasureContext())
    assert [each.p_value for each in twin.tests("length", "value")] == [None], "no text differs from any other"
    assert "Smallest gap" not in closest_sentence(twin, "length", twin.candidates)


def test_a_candidate_under_two_names_is_not_told_apart_from_itself(sides: dict[str, Collection]) -> None:
    found = measure(sides["human"], {"a": sides["far"], "b": sides["far"]}, ["length"], context=MeasureContext())
    assert [each.difference for each in found.differences] == [0, 0]
    assert not any(each.told_apart for each in found.differences)


def test_without_a_value_of_people_only_values_are_tested(sides: dict[str, Collection]) -> None:
    one, other = (Replicates(value, value + np.linspace(-0.01, 0.01, GROUPS)) for value in (0.2, 0.6))
    groups = Groups(np.full(GROUPS, 4), [np.arange(76)] * GROUPS)
    human = Measured(sides["human"], groups, None)
    candidates = {"a": Measured(sides["near"], groups, one), "b": Measured(sides["same"], groups, other)}
    candidates["c"] = Measured(sides["far"], groups, None)
    (found,) = measure_differences(MEASURES["sparsemax"], human, candidates)
    assert (found.of, found.first, found.second) == ("value", "a", "b")
    assert (found.paired, found.n) == (True, 90), "it reads the human texts, not the candidates'"
    values = difference_json([found])
    assert values["gap_difference"] is values["gap_p"] is None
    assert values["difference"] == pytest.approx(-0.4)


def test_intervals_stay_in_the_range_of_the_measure(sides: dict[str, Collection]) -> None:
    left_out = np.linspace(-0.2, 0.2, GROUPS)
    groups = Groups(np.full(GROUPS, 4), [np.arange(76)] * GROUPS)
    human, one, other = (
        Measured(sides["human"], groups, Replicates(value, value + sign * left_out))
        for value, sign in ((0.1, 0), (0.9, 1), (0.1, -2))
    )
    for each in measure_differences(MEASURES["repetition"], human, {"a": one, "b": other}):
        assert each.low is not None
        assert each.high is not None
        assert -1 <= each.low <= each.high <= 1


# Ranks and sentences


def test_ranks_and_ties_come_from_the_tests(measured: Measurements) -> None:
    order = tuple(SHIFTS)
    placed = measure_standings(measured, "length", order)
    gaps = {name: row.gap.value for name in order if (row := measured.row("length", name)) and row.gap}
    names = [each.row.candidate for each in placed]
    assert names == sorted(gaps, key=gaps.__getitem__)
    apart = {frozenset((each.first, each.second)): each.told_apart for each in measured.tests("length")}
    first = names[0]
    for each in placed:
        name = each.row.candidate
        assert (each.rank == 1) == (name == first or not apart[frozenset((first, name))])
    assert placed[-1].rank > 1
    assert [each.first for each in ranked_tests(measured, "length", order)] == [
        one for one, _ in combinations(names, 2)
    ]


def test_the_sentence_names_who_is_closest_and_who_is_not_told_apart(measured: Measurements) -> None:
    order = tuple(SHIFTS)
    names = [each.row.candidate for each in measure_standings(measured, "length", order)]
    apart = {frozenset((each.first, each.second)): each.told_apart for each in measured.tests("length")}
    untold = [name for name in names[1:] if not apart[frozenset((names[0], name))]]
    assert len(untold) == 2
    assert closest_sentence(measured, "length", order, lambda name: f"<{name}>") == (
        f"Closest to the human texts: <{names[0]}>. Not told apart from it: <{untold[0]}> and <{untold[1]}>."
    )
    assert "both T(A) = T(B) and T(P) midway" in measure_tests_sentence(measured.tests("length"), TEXTS)
    assert "midway" not in measure_tests_sentence(measured.tests("length", "value"), TEXTS)
