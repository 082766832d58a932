"""Objects of the package behave as Python's own: short in a console, looked up by name, numbers where numbers go."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from mauve_core.analyses.gate import GateResult
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError, UnknownNameError
from mauve_core.base.formatting import LINE, MOST_LINES, short, summary
from mauve_core.encoders.features import Features
from mauve_core.runs import Run
from mauve_core.scoring.compute_mauve import MauveResult
from mauve_core.scoring.gate_rule import GateTest
from mauve_core.scoring.result import Comparison, Estimate, Partition
from mauve_core.stats.scores import SCORES
from mauve_core.texts import corpus_from_texts
from tests.handmade import estimate, make_comparison

HOSTILE = "\x1b[2J\u202e\n\r\t<b>" * 2_000
CROWD = 40
MOST_CHARACTERS = 1_200


def large_comparison() -> Comparison:
    """Forty candidates of hostile names; each name is another one."""
    made = make_comparison()
    first = made.candidates[0]
    candidates = tuple(
        dataclasses.replace(first, source=dataclasses.replace(first.source, name=f"{number}{HOSTILE}"))
        for number in range(CROWD)
    )
    return dataclasses.replace(made, candidates=candidates)


def large_partition() -> Partition:
    labels = {f"{number}{HOSTILE}": np.zeros(100_000, np.int32) for number in range(CROWD)}
    return Partition("joint", 0, 5000, 1.0, labels)


def large_run(comparison: Comparison) -> Run:
    return Run("an-id", HOSTILE, "2026-01-02T03:04:05+00:00", comparison, {}, Path("runs") / "an-id")


def gate_result() -> GateResult:
    numbers = {"baseline": 0.1, "candidate": 0.2, "difference": 0.1, "low": 0.05, "high": 0.15, "sd": 0.02}
    tests = tuple(
        GateTest(name, **numbers, p_value=0.01, alpha=0.05, margin=0.0, smallest_effect=0.1, n=9, groups=9, enough=None)
        for name in SCORES
    )
    return GateResult(tests, {"reference": 9, "baseline": 9, "candidate": 9}, {}, 3, 5, None, None, (HOSTILE,))


def mauve_result() -> MauveResult:
    shares = np.full(5000, 1 / 5000)
    return MauveResult(0.5, 0.5, 0.1, 0.1, shares, shares, np.zeros((27, 2)), 5000)


def features() -> Features:
    n = 100_000
    array = np.zeros((n, 8), np.float32)
    return Features(array, np.ones(n, np.int32), np.zeros(n, np.bool_), "k" * 64, "cpu", 1024, (HOSTILE,))


LARGE = {
    "Comparison": large_comparison,
    "Run": lambda: large_run(large_comparison()),
    "Candidate": lambda: large_comparison().candidates[0],
    "Partition": large_partition,
    "Corpus": lambda: corpus_from_texts(
        [HOSTILE] * 50 + [None, ""],
        name=HOSTILE,
        origin=HOSTILE,
        metadata={f"{i}{HOSTILE}": ["x"] * 52 for i in range(9)},
    ),
    "Features": features,
    "Estimate": lambda: dataclasses.replace(estimate(0.5, 0.4, 0.6), generations=(0.4, 0.6) * 2_000),
    "GateResult": gate_result,
    "MauveResult": mauve_result,
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_large_object_is_a_few_short_lines_that_control_no_terminal(kind: str) -> None:
    shown = repr(LARGE[kind]())
    assert shown.startswith(f"<{kind}")
    assert len(shown) <= MOST_CHARACTERS
    lines = shown.split("\n")
    assert len(lines) <= MOST_LINES
    assert all(len(line) <= LINE and line.isprintable() for line in lines)


def test_a_comparison_names_every_score_with_its_spread_the_best_first() -> None:
    comparison = make_comparison()
    title, *lines = repr(comparison).split("\n")
    assert title == "<Comparison: 7 human texts, 1 in .warnings, features given>"
    best = comparison["b"]["mauve"]
    assert lines[0] == f"  'b', MAUVE {best.mean:.3f} ± {best.sd:.3f} ({best.low:.3f} to {best.high:.3f}), n = 6, k = 3"
    assert len(lines) == 2


def test_what_finds_no_room_is_counted() -> None:
    lines = summary("title", [f"line {number}" for number in range(CROWD)], of="lines").split("\n")
    assert lines[-1] == f"  and {CROWD - (MOST_LINES - 2)} more lines"
    assert summary("title", ["a"] * (MOST_LINES - 1)).count("\n") == MOST_LINES - 1
    assert short("beam") == "'beam'"


def test_a_candidate_is_found_by_its_name() -> None:
    comparison = make_comparison()
    assert comparison["b"] is comparison.candidate("b")
    assert "b" in comparison
    assert comparison["b"] in comparison
    assert HUMAN not in comparison
    assert list(comparison) == list(comparison.candidates)
    assert len(comparison) == 2
    assert comparison._ipython_key_completions_() == ["grün & <b>", "b"]
    assert comparison["b"]._ipython_key_completions_() == list(SCORES)


@pytest.mark.parametrize("kind", [KeyError, InputError, UnknownNameError])
def test_an_unknown_candidate_is_a_key_error_that_names_the_nearest(kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"No candidate named 'bb'\. Allowed: grün & <b>, b\. Did you mean 'b'\?"):
        _ = make_comparison()["bb"]
    with pytest.raises(kind, match="No score named 'mauv'"):
        _ = make_comparison()["b"]["mauv"]


def test_an_unknown_name_of_another_type_is_refused_alike() -> None:
    with pytest.raises(UnknownNameError, match="No candidate named 3"):
        _ = make_comparison()[3]  # type: ignore[index]


def test_an_estimate_is_its_mean_where_a_number_is_wanted() -> None:
    score = estimate(0.8434, 0.79, 0.9, sd=0.012)
    assert float(score) == score.mean
    assert f"{score:.2f}" == "0.84"
    assert f"{score}" == str(score) == "0.843\u00a0±\u00a00.012"
    assert repr(score) == "<Estimate 0.843 ± 0.012 (0.790 to 0.900), 2 seeds>"


def test_an_estimate_of_several_generations_names_both_spreads() -> None:
    score = Estimate(0.5, None, 0.4, 0.6, (0.5,), (0.4, 0.6))
    assert "generations" in f"{score}"
    assert repr(score).startswith("<Estimate 0.500 ± 0.141 (2 generations) (0.400 to 0.600), 1 seed")
