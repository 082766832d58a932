"""Test which of two candidates is closer to people by a text measure.

Every test is of a weighted sum of T(A), T(B) and T(P) that is 0 under the hypothesis. A delete-a-group jackknife gives
its standard deviation: a text's group depends only on its prompt, so groups hold the same prompts on all sides, and
what the sides have in common cancels. Each side's groups have sizes of their own, and a measure may depend on the
number of texts, so parts of groups are added, not what is left without them. The sum over its standard deviation
follows Student's t with one degree of freedom fewer than groups. No text is measured again.

**Values.** T(A) = T(B): the sum is T(A) - T(B).

**Gaps.** |T(A) - T(P)| = |T(B) - T(P)| holds in two cases: T(A) = T(B), or T(P) lies midway between the two, so that
T(A) + T(B) = 2 T(P). The gaps differ only if both are wrong, so both are tested and the larger p-value counts
(Berger, *Multiparameter hypothesis testing and acceptance sampling*, Technometrics 1982). This has its level wherever
T(P) lies; a jackknife of the absolute values would not be smooth where T(A) or T(B) equals T(P). With x = T(A) - T(B)
and y = T(A) + T(B) - 2 T(P), the difference of gaps is (|x + y| - |x - y|) / 2, and its interval takes all its values
over the intervals of x and y; it contains 0 exactly if one of the two does.

p-values are adjusted over all pairs under one measure by Holm's method, for gaps and for values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from mauve_core.base.json_codec import Count, NotNegative, Share
from mauve_core.experiments.text_measures.base import Measure, MeasureDifference, Quantity
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.spread import CONFIDENCE, GROUPS, Groups, Replicates
from mauve_core.scoring.result import SIGNIFICANT
from mauve_core.stats.multiple_tests import detectable, holm
from mauve_core.stats.resampling import jackknife_parts, t_interval

# A standard deviation of this share of T or less is rounding: leaving out any group changes nothing.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Measured:
    """One side with T of it, with and without each group; ``replicates`` is None if T is undefined."""

    texts: Collection
    groups: Groups
    replicates: Replicates | None


@dataclass(frozen=True, eq=False)
class _Term:
    """T of one side, and the texts in each group that T depends on."""

    replicates: Replicates | None
    sizes: NDArray[np.int64]


@dataclass(frozen=True)
class _Sum:
    """A weighted sum of T over sides: its value, interval, two-sided p-value and sd; None where it has no spread."""

    value: float
    ends: tuple[float, float] | None = None
    p_value: float | None = None
    sd: float | None = None


def measure_differences(
    measure: Measure, human: Measured, candidates: Mapping[str, Measured]
) -> tuple[MeasureDifference, ...]:
    """Test every two candidates that have the measure.

    Parameters
    ----------
    human : Measured
        P, with T(P).
    candidates : mapping of str to Measured
        By name, with T(Q).

    Returns
    -------
    tuple of MeasureDifference
        Gaps, if T(P) is defined, then values; each by pair, in the order of the candidates.
    """
    pairs = list(combinations([name for name, side in candidates.items() if side.replicates is not None], 2))
    found: dict[Quantity, list[MeasureDifference]] = {"gap": [], "value": []}
    for first, second in pairs:
        one, other = candidates[first], candidates[second]
        paired, n = _pairing(measure, human, one, other)
        for of, tested in _sums(measure, human, one, other):
            low, high = tested.ends or (None, None)
            values = (tested.value, low, high, tested.p_value, tested.p_value)
            least = None if tested.sd is None else detectable(tested.sd, SIGNIFICANT, tests=len(pairs))
            found[of].append(MeasureDifference(measure.name, of, first, second, *values, paired, n, least))
    return tuple(each for tests in found.values() for each in _adjusted(tests))


class MeasureDifferenceJson(TypedDict):
    """Test of two candidates under one text measure, T.

    Attributes
    ----------
    measure : str
        Its name.
    a, b : str
        The candidates.
    difference : float
        T(Q) of ``a`` minus that of ``b``, in units of the measure.
    low, high : float or None
        Ends of its 95% interval; None if there is no spread.
    p, p_adjusted : float or None
        Two-sided p-value, and after Holm's correction for all pairs; None if there is no spread.
    told_apart : bool
        Whether the difference is significant after the correction.
    gap_difference, gap_low, gap_high, gap_p, gap_p_adjusted, gap_told_apart : float, bool or None
        The same of the gaps |T(Q) - T(P)|; below 0 if ``a`` is closer to the human texts. None where T(P) is not
        defined.
    detectable, gap_detectable : float or None
        True difference that the test finds with probability .8 at the strictest level of Holm's method. Four times as
        many texts halve it.
    paired : bool
        Whether the two have texts of the same prompts.
    n : int
        Prompts in common, or, without any, texts of both; human texts if the measure reads no candidate's texts.
    """

    measure: str
    a: str
    b: str
    difference: float
    low: float | None
    high: float | None
    p: Share | None
    p_adjusted: Share | None
    told_apart: bool
    gap_difference: float | None
    gap_low: float | None
    gap_high: float | None
    gap_p: Share | None
    gap_p_adjusted: Share | None
    gap_told_apart: bool | None
    detectable: NotNegative | None
    gap_detectable: NotNegative | None
    paired: bool
    n: Count


def difference_json(tests: Sequence[MeasureDifference]) -> dict[str, Any]:
    """Return the tests of one pair under one measure as JSON values, as ``mauve-lens test --measure`` prints them: the
    entries of :class:`MeasureDifferenceJson`."""
    by = {each.of: each for each in tests}
    value = by["value"]
    return {
        "measure": value.measure,
        "a": value.first,
        "b": value.second,
        **_numbers(value),
        **{f"gap_{name}": number for name, number in _numbers(by.get("gap")).items()},
        "paired": value.paired,
        "n": value.n,
    }


def _numbers(test: MeasureDifference | None) -> dict[str, float | bool | None]:
    names = {"difference": "difference", "low": "low", "high": "high", "p": "p_value", "p_adjusted": "p_adjusted"}
    return {
        key: getattr(test, name, None)
        for key, name in (names | {each: each for each in ("told_apart", "detectable")}).items()
    }


def _sums(measure: Measure, human: Measured, one: Measured, other: Measured) -> Iterator[tuple[Quantity, _Sum]]:
    """The test of gaps, if T(P) is defined, and that of values."""
    low, high = measure.bounds
    reach, own = high - low, human.groups.sizes if measure.relational else 0
    first, second = (_Term(side.replicates, side.groups.sizes + own) for side in (one, other))
    apart = _weighted([(1, first), (-1, second)])
    if human.replicates is not None:
        midway = _weighted([(1, first), (1, second), (-2, _Term(human.replicates, human.groups.sizes))])
        yield "gap", _within(_of_gaps(apart, midway), reach)
    yield "value", _within(apart, reach)


def _weighted(terms: Sequence[tuple[int, _Term]]) -> _Sum:
    """Test that a weighted sum of T over sides is 0."""
    known = [(weight, term.replicates, term.sizes) for weight, term in terms if term.replicates is not None]
    value = sum(weight * each.estimate for weight, each, _ in known)
    groups = min(int((sizes > 0).sum()) for *_, sizes in known)
    if any(each.left_out is None for _, each, _ in known) or groups < 2:
        return _Sum(value)
    parts = np.zeros(GROUPS)
    for weight, each, sizes in known:
        filled = sizes > 0
        left_out = np.asarray(each.left_out)[filled]
        parts[filled] += weight * jackknife_parts(each.estimate, left_out, sizes[filled])
    sd = float(np.sqrt((parts**2).sum()))
    if sd <= _ROUNDING * max(abs(each.estimate) for _, each, _ in known):
        return _Sum(value)
    return _Sum(value, t_interval(value, sd, groups, CONFIDENCE), float(2 * stdtr(groups - 1, -abs(value) / sd)), sd)


def _of_gaps(apart: _Sum, midway: _Sum) -> _Sum:
    """Test that two gaps are equal: that T(A) = T(B), or that T(P) lies midway."""
    value = _gap_difference(apart.value, midway.value)
    if apart.ends is None or apart.p_value is None or midway.ends is None or midway.p_value is None:
        return _Sum(value)
    sd = max(apart.sd or 0.0, midway.sd or 0.0)  # both must be found
    # Monotone in x and in y, so the extremes are at corners.
    corners = [_gap_difference(x, y) for x, y in product(apart.ends, midway.ends)]
    return _Sum(value, (min(corners), max(corners)), max(apart.p_value, midway.p_value), sd)


def _gap_difference(x: float, y: float) -> float:
    """|T(A) - T(P)| - |T(B) - T(P)| from x = T(A) - T(B) and y = T(A) + T(B) - 2 T(P)."""
    return float(np.sign(x) * np.sign(y) * min(abs(x), abs(y)))


def _within(tested: _Sum, reach: float) -> _Sum:
    """The same with the interval inside what T's range allows."""
    if tested.ends is None:
        return tested
    low, high = (float(np.clip(end, -reach, reach)) for end in tested.ends)
    return dataclasses.replace(tested, ends=(low, high))


def _pairing(measure: Measure, human: Measured, one: Measured, other: Measured) -> tuple[bool, int]:
    """Whether the two are compared on the same prompts, and the number of prompts, or else of texts."""
    if not measure.reads_candidate:
        return True, len(human.texts)
    shared = len(set(one.texts.ids) & set(other.texts.ids))
    return shared > 0, shared or len(one.texts) + len(other.texts)


def _adjusted(tests: Sequence[MeasureDifference]) -> list[MeasureDifference]:
    """The tests with Holm's p-values; pairs without a p-value are not counted."""
    p_values = [each.p_value for each in tests if each.p_value is not None]
    adjusted = iter(holm(p_values) if p_values else ())
    return [
        each if each.p_value is None else dataclasses.replace(each, p_adjusted=float(next(adjusted))) for each in tests
    ]
