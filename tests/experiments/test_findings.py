"""Findings of a run: each is true of the stored results, as sure as it says, and absent where they do not show it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from mauve_core.analyses import attached_results as module
from mauve_core.analyses.attached_results import Finding, findings
from mauve_core.analyses.encoders import EncoderTable
from mauve_core.analyses.measure_terms import MeasureDifference, Measurements, Row, Value
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.runs import Run
from mauve_core.scoring.result import Comparison
from tests.encoder_tables import example
from tests.handmade import estimate, make_comparison, with_tests
from tests.probe_tables import FAR, line_of

LOWEST = {"first": {"mauve": estimate(0.9, 0.8, 0.95)}, "second": {"mauve": estimate(0.2, 0.1, 0.3)}}


@pytest.fixture
def attached(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a run has stored, by kind; nothing at first."""
    stored: dict[str, Any] = {}

    def reader(kind: str) -> Any:
        def read(_: Run) -> Any:
            if isinstance(stored.get(kind), Exception):
                raise stored[kind]
            return stored.get(kind)

        return read

    for kind in ("measurements", "probes", "encoders"):
        monkeypatch.setattr(module, f"stored_{kind}", reader(kind))
    return stored


def run_with(comparison: Comparison) -> Run:
    return cast("Run", SimpleNamespace(comparison=comparison))


def told_apart() -> Comparison:
    return with_tests(make_comparison(**LOWEST), p_adjusted=0.01)


def measured(first: float, second: float, p_value: float = 0.001) -> Measurements:
    """Perplexity of the two candidates, 10 of the human texts; repetition has the opposite order."""
    names, sd = [candidate.name for candidate in make_comparison().candidates], 0.01
    rows, tests = [], []
    for measure, values in (("perplexity", (first, second)), ("repetition", (10.0, 30.0))):
        for name, value in zip(names, values, strict=True):
            gap = abs(value - 10)
            spread = Value(value, sd, value - 2 * sd, value + 2 * sd), Value(10.0, 0.5, 9.0, 11.0)
            rows.append(Row(measure, name, *spread, Value(gap, sd, gap - 2 * sd, gap + 2 * sd)))
        difference = abs(values[0] - 10) - abs(values[1] - 10)
        ends = (difference - 0.01, difference + 0.01)
        tests.append(MeasureDifference(measure, "gap", *names, difference, *ends, p_value, p_value, True, 20))
    return Measurements(tuple(rows), {}, differences=tuple(tests))


def test_the_last_by_mauve_may_be_the_first_by_a_measure(attached: dict[str, Any]) -> None:
    attached["measurements"] = measured(14.0, 10.1)
    (found,) = findings(run_with(told_apart()))
    name = make_comparison().candidates[1].name
    assert (found.page, found.item) == ("decoders", "perplexity")
    assert with_plain_spaces(found.sentence) == (
        f"{name} has the smallest gap of all in generation perplexity (10.100 ± 0.010; human texts: 10.00 ± 0.50) and "
        "the lowest MAUVE (0.200 ± 0.010)."
    )


def test_a_gap_that_ties_is_one_of_the_smallest(attached: dict[str, Any]) -> None:
    attached["measurements"] = measured(10.2, 10.1, p_value=0.2)
    (found,) = findings(run_with(told_apart()))
    assert "one of the smallest gaps of all" in found.sentence


def test_a_last_place_that_is_not_sure_is_not_named(attached: dict[str, Any]) -> None:
    attached["measurements"] = measured(14.0, 10.1)
    assert findings(run_with(with_tests(make_comparison(**LOWEST), p_adjusted=0.5))) == ()
    attached["measurements"] = measured(10.1, 14.0)  # the measure agrees with MAUVE
    assert findings(run_with(told_apart())) == ()


def test_of_the_undetected_the_one_with_the_highest_mauve(attached: dict[str, Any]) -> None:
    control = line_of("none", FAR["none"], kind="control")
    lines = [line_of(name, FAR[name]) for name in ("typos", "drop-articles")]
    attached["probes"] = SimpleNamespace(control=control, lines=lines)
    (found,) = findings(run_with(told_apart()))
    assert (found.page, found.item) == ("probes", "drop-articles")
    assert ": not detected (p " in found.sentence
    attached["probes"] = SimpleNamespace(control=control, lines=lines[:1])
    assert findings(run_with(told_apart())) == ()


def test_encoders_that_tell_two_apart_in_opposite_orders(attached: dict[str, Any]) -> None:
    attached["encoders"] = example()
    own, other = example().titles[:2]
    assert findings(run_with(told_apart())) == (
        Finding(
            f"Encoders disagree: {own} puts a closer to the human texts than d, {other} the other way round; each "
            "tells the two apart.",
            "encoders",
        ),
    )
    first, _, third = example().results
    attached["encoders"] = EncoderTable((first, third))
    assert findings(run_with(told_apart())) == ()
