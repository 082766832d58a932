"""The rule of a gate and what it says of a measure; nothing slow is imported. The tests: ``scoring/gate.py``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import Count, Holds, NotNegative, Share, Within, check_fields
from mauve_core.stats.multiple_tests import detectable
from mauve_core.stats.scores import SCORES

Verdict = Literal["pass", "fail", "undecided"]

# The default: its difference of two samples is nearly that of their sources (``tests/scoring/test_gate.py``).
MEASURE = "frontier_integral"

RULE = (
    "The gate fails if the difference, candidate minus baseline, exceeds the margin at level alpha: its lower "
    "confidence bound lies above the margin. Otherwise it passes if its upper confidence bound is at most the margin "
    "plus the smallest effect, so that no difference that matters is left; if not, there are too few texts to tell."
)


@dataclass(frozen=True)
class GateRule:
    """What decides.

    Attributes
    ----------
    alpha : float in (0, 0.5)
        Level of the gate: the largest probability of a fail where D is at most the margin. Of several measures, each
        is tested at an equal part of it (Bonferroni).
    margin : float >= 0
        Difference that is accepted, in units of the measure.
    smallest_effect : float > 0 or None
        Difference beyond the margin that a pass must exclude; None takes that of the score.
    """

    alpha: Annotated[float, Holds(lambda level: 0 < level < 0.5, "a number between 0 and 0.5")] = 0.05
    margin: Annotated[float, Holds(lambda value: 0 <= value <= 1, "a number from 0 to 1")] = 0.0
    smallest_effect: Annotated[float, Holds(lambda value: 0 < value <= 1, "a number above 0, at most 1")] | None = None

    def __post_init__(self) -> None:
        check_fields(self, "setting")


@dataclass(frozen=True)
class GateTest:
    """The gate under one measure.

    Attributes
    ----------
    measure : str
        One of ``SCORES``.
    baseline, candidate : float
        The measure of either, averaged over seeds and generations.
    difference, low, high : float
        D, and its lower and upper confidence bound, each at 1 - ``alpha``.
    sd : float
        Jackknife standard deviation of D.
    p_value : float
        Of D <= margin, one-sided.
    alpha, margin, smallest_effect : float
        What decided.
    n : int
        Texts of the baseline, and of the candidate, that a score takes.
    groups : int
        Groups of the jackknife.
    enough : int or None
        About how many texts a side would decide with probability .8, if D is as estimated; None if decided.
    """

    measure: str
    baseline: Share
    candidate: Share
    difference: Annotated[float, Within(-1, 1)]
    low: float
    high: float
    sd: NotNegative
    p_value: Share
    alpha: Share
    margin: Share
    smallest_effect: Share
    n: Count
    groups: Count
    enough: Count | None

    @property
    def detectable(self) -> float:
        """True difference beyond the margin that fails with probability .8."""
        return detectable(self.sd, self.alpha, sides=1)

    @property
    def verdict(self) -> Verdict:
        """``fail``, ``pass`` or ``undecided``; see :data:`RULE`."""
        return verdict_of(self.low, self.high, self.margin, self.smallest_effect)


def require_measures(measures: Sequence[str]) -> None:
    """Raise InputError for an unknown measure, for one that is named twice, and for none."""
    if not measures or set(measures) - set(SCORES) or len(set(measures)) < len(measures):
        raise InputError(
            "The measures are not usable",
            allowed=f"each of {', '.join(SCORES)} at most once",
            received=repr([*measures]),
        )


def verdict_of(low: float, high: float, margin: float, smallest_effect: float) -> Verdict:
    """The verdict of a gate by the bounds of D; see :data:`RULE`."""
    if low > margin:
        return "fail"
    return "pass" if high <= margin + smallest_effect else "undecided"
