"""Labels and explanations of tests of P = Q, corrected across a table (Holm 1979), and of standard scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mauve_core.base.formatting import significant, written
from mauve_core.experiments.methods import ABOUT_CORRECTIONS, ABOUT_EXPECTATIONS, Method, MethodScore, MethodTable

# Corrected p-values up to this level get a star.
LEVEL = 0.05

# Bound on the rounding error of a p-value times the number of tests.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Tested:
    """One candidate under one method: the p-value, and its correction for all tests of the table."""

    p_value: float
    corrected: float

    @property
    def label(self) -> str:
        """``p 0.001``, with a star if the corrected value is at most :data:`LEVEL`."""
        return f"p {p_label(self.p_value)}{'*' if _small(self.corrected) else ''}"

    @property
    def words(self) -> str:
        """Both values, for a hover."""
        return f"P = Q: p {p_label(self.p_value)}, after Holm's correction {p_label(self.corrected)}"


Tests = Mapping[tuple[Method, str], Tested]


def p_values_of(table: MethodTable) -> dict[tuple[Method, str], Tested]:
    """The p-values of all tests, by method and candidate."""
    corrected = table.corrected_p_values()
    return {
        (result.method, name): Tested(score.p_value, corrected[result.method, name])
        for result in table.results
        for name, score in result.scores.items()
        if score.p_value is not None
    }


def about_tests(table: MethodTable) -> str:
    """Explain what the p-values can and cannot show; empty without tests."""
    draws, count = table.settings.get("permutations"), len(p_values_of(table))
    if not isinstance(draws, int) or draws < 1:
        return ""
    if not count:
        return "P = Q was not tested: no method here counts texts in bins without a correction."
    return (
        f"p: test of P = Q by {draws:,} permutations, for methods with bins and no correction. Each draw exchanges "
        "texts between the two sides, within a prompt if the sides share prompts, and keeps the bins of the first "
        "seed. p is the share of draws at least as far from P = Q as the observed sides, which count as one draw; "
        f"it cannot be below {p_label(1 / (draws + 1))}.{_about_many(count, draws) if count > 1 else ''}"
    )


def _about_many(count: int, draws: int) -> str:
    about = (
        f" None of the {count:,} p-values is corrected for the others. Star: at most {LEVEL:g} after Holm's "
        "correction for all of them; the corrected values are in the hovers and the CSV."
    )
    least = count / (draws + 1)
    if _small(least):
        return about
    needed = math.ceil(count / LEVEL * (1 - _ROUNDING)) - 1
    return (
        f"{about} With {draws:,} permutations no corrected value can be below {p_label(min(least, 1))}, so there is "
        f"no star; {needed:,} would allow one."
    )


def about_z(table: MethodTable) -> str:
    """Explain the standard scores; empty if there are none."""
    if all(score.z is None for result in table.results for score in result.scores.values()):
        return ""
    return (
        "z: how many standard deviations a candidate's MMD lies above that between random halves of the human texts, "
        "adjusted to as many texts; about 0 for a candidate that writes like people. No p-value follows from it: its "
        "right tail is longer than that of a normal variable."
    )


def about_expectations(table: MethodTable) -> str:
    """Say which expectation is which; empty if every method has the default."""
    named = any(result.method.expectation != "union" for result in table.results)
    return f"Expectations: {ABOUT_EXPECTATIONS}" if named else ""


def about_corrections(table: MethodTable) -> str:
    """Say what the correction does; empty if no method has one."""
    corrected = any(result.method.correction != "none" for result in table.results)
    return f"Corrections: {ABOUT_CORRECTIONS}" if corrected else ""


def z_label(score: MethodScore) -> str:
    """``z 12.3``; empty if there is none."""
    return "" if score.z is None else f"z {written(score.z, 1)}"


def p_label(p_value: float) -> str:
    """The p-value to two digits."""
    return significant(p_value)


def _small(p_value: float) -> bool:
    return p_value <= LEVEL * (1 + _ROUNDING)
