"""Detection of perturbations: a plain twin of the test, its level and power, and what is claimed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from mauve_core.analyses.probe_results import (
    LEVEL,
    ProbeLine,
    ProbeTable,
    about_test,
    combined_p_value,
    detectable_by,
    detections,
    permutations_for,
    split_test,
    summary,
)
from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.scoring.partitioning import partitions
from mauve_core.scoring.result import Partition
from mauve_core.stats.divergences import mauve
from mauve_core.stats.multiple_tests import detectable_drop
from tests.probe_tables import line_of

pytestmark = pytest.mark.integration


def part_of(reference, comparison, k):
    labels = {"reference": np.array(reference, np.int32), "comparison": np.array(comparison, np.int32)}
    return Partition("pairwise", 0, k, 0.0, labels)


def exact_p_value(parts, scale):
    """Every deal of the texts to two halves, by loops; the observed deal is one of them."""
    n = len(parts[0].labels["reference"])
    total = n + len(parts[0].labels["comparison"])

    def score(chosen):
        values = []
        for part in parts:
            p, q = [0] * part.k, [0] * part.k
            for row, cluster in enumerate([*part.labels["reference"], *part.labels["comparison"]]):
                (p if row in chosen else q)[cluster] += 1
            values.append(float(mauve([x / sum(p) for x in p], [x / sum(q) for x in q], scale)))
        return math.fsum(values) / len(values)

    observed = score(set(range(n)))
    deals = [score(set(chosen)) for chosen in itertools.combinations(range(total), n)]
    return sum(value <= observed + 1e-12 for value in deals) / len(deals)


@pytest.mark.parametrize(
    ("reference", "comparison"),
    [([0, 0, 0, 1], [1, 1, 2, 2]), ([0, 1, 2, 0], [0, 1, 2, 1]), ([0, 0, 0, 0], [1, 1, 2, 2])],
)
def test_the_p_value_is_that_of_all_deals(reference, comparison):
    parts = [part_of(reference, comparison, 3), part_of([2 - x for x in reference], [x // 2 for x in comparison], 3)]
    exact = exact_p_value(parts, 5.0)
    found = split_test(parts, 5.0, 8000, 1).p_value
    assert found == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 8000) + 1 / 8000)


def test_only_a_lower_mauve_counts():
    """Halves that are more alike than by chance are not detected."""
    alike = part_of([0, 1, 2, 3] * 10, [0, 1, 2, 3] * 10, 4)
    assert split_test([alike], 5.0, 99, 0).p_value == 1.0
    apart = part_of([0, 1] * 20, [2, 3] * 20, 4)
    assert split_test([apart], 5.0, 99, 0).p_value == 0.01
    few = np.repeat([0, 1, 2, 3], 20)
    assert split_test([apart], 5.0, 99, 0, few).p_value > 0.2, "of 6 deals of four units, 2 are as far apart"


def test_p_values_of_splits_are_averaged_and_doubled():
    assert combined_p_value([0.03]) == 0.03
    assert combined_p_value([0.01, 0.03, 0.02]) == pytest.approx(0.04)
    assert combined_p_value([0.9, 0.4]) == 1.0
    for wrong in ([], [0.5, 1.1], [math.nan], [[0.5]]):
        with pytest.raises(InputError):
            combined_p_value(wrong)


def test_deals_suffice_for_every_number_of_perturbations():
    for count in (1, 5, 10, 11, 60):
        assert 2 / (permutations_for(count) + 1) * count <= 0.02 + 1e-12
    assert permutations_for(5) == 999


def clustered(reference, comparison, seed):
    score = ScoreConfig(seeds=2, restarts=1, bootstrap=100)
    seeds = np.random.SeedSequence(seed).spawn(2)
    sides = {"reference": reference.astype(np.float32), "comparison": comparison.astype(np.float32)}
    return partitions("pairwise", sides, seeds, score, lambda: None)


@pytest.mark.trial
def test_the_level_holds_and_a_shift_is_found():
    """Share detected, of 400 draws: untouched texts at most 5% but for 3 standard errors, a shift nearly always."""
    rng, simulations, n = np.random.default_rng(0), 400, 60
    found = {"none": 0, "shifted": 0}
    for simulation in range(simulations):
        x = rng.normal(size=(2 * n, 8))
        for name, shift in (("none", 0.0), ("shifted", 1.0)):
            if name == "shifted" and simulation >= 40:
                continue
            parts = clustered(x[:n], x[n:] + shift, simulation)
            found[name] += split_test(parts, 5.0, 199, simulation).p_value <= LEVEL
    error = math.sqrt(LEVEL * (1 - LEVEL) / simulations)
    assert LEVEL - 3 * error <= found["none"] / simulations <= LEVEL + 3 * error  # an exact test is not below it either
    assert found["shifted"] >= 38


@pytest.mark.parametrize("splits", [1, 3])
def test_a_detectable_drop_is_found_with_probability_0_8(splits):
    """Scores that are noncentral chi-squared as the formula says; share found of 2,000."""
    rng, unit, freedom, level = np.random.default_rng(0), 0.008, 24, LEVEL / 5
    nulls = np.exp(-((unit * rng.chisquare(freedom, (splits, 4000))) ** 2))
    drop = detectable_drop([*nulls], LEVEL, tests=5)

    def scores(shift):
        return np.exp(-((unit * rng.noncentral_chisquare(freedom, shift, (2000, splits))) ** 2))

    shifts = np.arange(5.0, 80)
    found = scores(shifts[np.argmin([abs(nulls.mean() - scores(shift).mean() - drop) for shift in shifts])])
    p_values = [[(null <= each).mean() for null, each in zip(nulls, row, strict=True)] for row in found]
    assert np.mean([combined_p_value(row) <= level for row in p_values]) == pytest.approx(0.8, abs=0.05)


def test_no_drop_is_detectable_where_the_lowest_score_is_no_exception():
    null = np.random.default_rng(0).uniform(0.004, 1, 999)
    assert detectable_drop([null], LEVEL, lowest=0.004) == 1
    assert math.isnan(detectable_drop([np.ones(999)], LEVEL))


@pytest.mark.trial
def test_perturbed_texts_whose_mauve_drops_by_the_detectable_are_found():
    """Three splits of 300 texts: where MAUVE drops by about the detectable, 70% to 90% of 120 tables detect it."""
    rng, n = np.random.default_rng(1), 150
    found, drops, detectable = [], [], []
    for simulation in range(120):
        x = rng.normal(size=(2 * n, 4))
        orders = [rng.permutation(2 * n) for _ in range(3)]
        halves = [(x[order[:n]], x[order[n:]] + [0.66, 0, 0, 0]) for order in orders]
        tests = [split_test(clustered(*pair, simulation), 5.0, 399, simulation) for pair in halves]
        found.append(combined_p_value([test.p_value for test in tests]) <= LEVEL)
        drops += [test.null.mean() - test.statistic for test in tests]
        detectable.append(detectable_by(tests, 5.0, 1))
    assert np.mean(drops) == pytest.approx(np.mean(detectable), rel=0.1)
    assert 0.7 <= np.mean(found) <= 0.9


# Words


def line(name, p_values, divergence=0.3, changed=0.9, detectable=None):
    base = line_of(name, divergence, kind="control" if name == "none" else "perturbation")
    return ProbeLine(base.kind, name, 30, 6, changed, base.scores, None, (), p_values, detectable)


CONTROL = line("none", (), 0.02, 0.0)


def table(*lines):
    return ProbeTable(HUMAN, (CONTROL, *lines), {"splits": 2}, ())


def test_holm_corrects_over_what_was_tested():
    found = table(
        line("typos", (0.01, 0.01)),  # combined 0.02, times two: 0.04
        line("lowercase", (0.02, 0.04), 0.1),  # combined 0.06
        line("shuffle-sentences", (0.001, 0.001), 0.4, changed=0.0),  # no text changed: no test
    )
    typos, lowercase, none = detections(found)
    assert (typos.name, typos.outcome, typos.p_value, typos.p_adjusted) == ("typos", "detected", 0.02, 0.04)
    assert (lowercase.outcome, lowercase.p_adjusted) == ("not detected", pytest.approx(0.06))
    assert (none.outcome, none.p_value, none.p_adjusted) == ("nothing changed", None, None)
    assert summary(found) == (
        "With halves of 30 texts, MAUVE detects 1 of 2 perturbations: Typos, 5% of letters. Not detected: Lower case."
    )
    assert "corrected for 2 perturbations" in about_test(found)
    assert "twice the mean p-value of 2 splits" in about_test(found)
    with_third = table(*found.lines[1:3], line("first-third", (0.5, 0.5)))
    assert detections(with_third)[0].outcome == "not detected"  # 3 x 0.02


def test_a_p_value_at_the_level_is_detected():
    at, above = (line("typos", (p,)) for p in (LEVEL, np.nextafter(LEVEL, 1) + 1e-9))
    assert detections(table(at))[0].outcome == "detected"
    assert detections(table(above))[0].outcome == "not detected"
    assert "over k-means seeds alone" in about_test(table(at))
    assert "over k-means seeds alone" not in about_test(table(line("typos", (0.1, 0.2))))
    assert "twice the mean" not in about_test(table(at))
    assert "Holm" not in about_test(table(at))


def test_what_is_not_detected_says_which_drop_would_have_been():
    found = table(line("typos", (0.4,), detectable=0.1234), line("lowercase", (0.001,), detectable=0.2))
    detected, missed = detections(found)
    assert missed.sentence.endswith(": not detected (p 0.4); a drop of 0.12 would have been.")
    assert detected.sentence.endswith(": detected (p 0.002).")
    assert "is detected with probability 0.8, with four times as many texts less than half of it." in about_test(found)
    assert "probability" not in about_test(table(line("typos", (0.4,))))  # of an earlier version
    assert "; no drop would have been." in detections(table(line("typos", (0.4,), detectable=1.0)))[0].sentence


def test_nothing_is_claimed_without_a_test():
    unchanged = table(line("typos", (0.5,), changed=0.0))
    assert about_test(unchanged) == ""
    assert summary(ProbeTable(HUMAN, (CONTROL,))) == ""
    assert summary(unchanged) == "No perturbation changed a text."
