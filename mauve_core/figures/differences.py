"""Every two candidates' difference: a matrix with the tests' verdicts, and the numbers behind it.

Scores: the tests of :mod:`mauve_core.scoring.differences`, at the settings of the comparison. Text measures: those of
:mod:`mauve_core.analyses.text_measures`, of gaps, or of values where T(P) is not defined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.analyses.measure_terms import CONFIDENCE, Measurements
from mauve_core.analyses.text_measures import measure_standings, measure_title, ranked_tests, test_decimals
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import NONE, SCORE_DECIMALS, UNBROKEN, interval, significant, written
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures import draw
from mauve_core.figures.theme import MODE_BAR, SIGNED_SCALE, as_label, base_layout, ink, short_name
from mauve_core.scoring.result import Comparison, Difference
from mauve_core.scoring.tables import standings
from mauve_core.stats.scores import SCORES

# A difference of this size or more has the full color, unless there are larger ones.
LEAST_SPAN = 0.05

# Maximum number of candidates whose cells have numbers; with more, the marks stay.
MOST_NUMBERED = 16

# Maximum number of candidates whose names fit above the columns without turning.
_UPRIGHT = 4

_CELL, _LOW_CELL, _MANY = 38, 28, 6
# Width of a letter above the columns, in pixels, and the angle of names there, in degrees.
_LETTER, _TURN = 6.6, 40

# Place of a dot in its cell: near the right edge, above the middle.
_RIGHT, _UP = 0.5, 0.3


class Tested(Protocol):
    """The test of two candidates' difference, under a score or a text measure."""

    @property
    def first(self) -> str: ...
    @property
    def second(self) -> str: ...
    @property
    def difference(self) -> float: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def p_value(self) -> float | None: ...
    @property
    def p_adjusted(self) -> float | None: ...
    @property
    def paired(self) -> bool: ...
    @property
    def n(self) -> int: ...
    @property
    def told_apart(self) -> bool: ...
    def seen_from(self, candidate: str) -> Self: ...


@dataclass(frozen=True)
class Scale:
    """How differences are written and colored.

    Attributes
    ----------
    title : str
        What differs, as a hover says it.
    confidence : float
        Of the intervals.
    decimals : int
    full : float
        A difference of this size or more has the full color, unless there are larger ones.
    larger_is_violet : bool
        Whether a positive difference is violet, not brown.
    words : Words
        What the items are called.
    """

    title: str
    confidence: float
    decimals: int
    full: float
    larger_is_violet: bool
    words: Words = TEXTS


def ranked_pairs(comparison: Comparison, score: str) -> list[Difference]:
    """The tests of every two candidates under one score, each seen from the better-placed one, the best pairs first."""
    tests = {frozenset((each.first, each.second)): each for each in comparison.differences if each.score == score}
    if not tests:
        return []
    return [tests[frozenset(pair)].seen_from(pair[0]) for pair in combinations(_order(comparison, score), 2)]


def differences_frame(comparison: Comparison) -> pd.DataFrame:
    """All tests under every score, for the CSV.

    Returns
    -------
    DataFrame
        score, candidate, other (the candidate placed below it), difference, low, high, confidence, p, p_adjusted,
        p_alike, told_apart, paired (whether the two have units in common), n (units in common, or, without any, of
        both), detectable (difference found with probability .8).
    """
    rows = [
        (
            each.score,
            each.first,
            each.second,
            each.difference,
            each.low,
            each.high,
            comparison.config.score.confidence,
            each.p_value,
            each.p_adjusted,
            each.p_alike,
            each.told_apart,
            each.paired,
            each.n,
            each.detectable,
        )
        for score in comparison.score_names
        for each in ranked_pairs(comparison, score)
    ]
    columns = ["score", "candidate", "other", "difference", "low", "high", "confidence"]
    columns += ["p", "p_adjusted", "p_alike", "told_apart", "paired", "n", "detectable"]
    return pd.DataFrame(rows, columns=columns)


def measure_differences_frame(measurements: Measurements) -> pd.DataFrame:
    """All tests under every measure, for the CSV: the fields of ``MeasureDifference``, confidence and told_apart."""
    columns = ["measure", "of", "first", "second", "difference", "low", "high", "p_value", "p_adjusted"]
    rows = [
        {**{name: getattr(each, name) for name in columns}, "confidence": CONFIDENCE, "told_apart": each.told_apart}
        | {name: getattr(each, name) for name in ("paired", "n", "detectable")}
        for each in measurements.differences
    ]
    names = {"first": "candidate", "second": "other", "p_value": "p"}
    return pd.DataFrame(rows, columns=[*columns, "confidence", "told_apart", "paired", "n", "detectable"]).rename(
        columns=names
    )


def exchanged_label(difference: Tested, words: Words = TEXTS) -> str:
    """What the test rests on: ``512 prompts``, or ``600 texts`` of two candidates without a common prompt."""
    return f"{difference.n:,}{UNBROKEN}{f'{words.group}s' if difference.paired else words.items}"


def difference_label(difference: Tested, decimals: int = SCORE_DECIMALS) -> str:
    """The difference with its sign, above its interval, if it has one."""
    value = written(difference.difference, decimals, signed=True)
    return value if difference.low is None else f"{value}\n{_interval(difference, decimals)}"


def measure_differences_figure(
    measurements: Measurements, measure: str, order: Sequence[str], words: Words = TEXTS
) -> go.Figure:
    """Draw the gap of each row's candidate minus that of each column's, or their values where T(P) is not defined.

    Violet means that the row's candidate is closer to people by this measure, or has the larger value; otherwise as
    :func:`differences_figure`.

    Raises
    ------
    InputError
        Fewer than two candidates have the measure.
    """
    tests = ranked_tests(measurements, measure, order)
    if not tests:
        raise InputError("There is no difference to draw", allowed="two candidates tested under the measure")
    gaps = tests[0].of == "gap"
    reaches = [(each.high - each.low) / 2 for each in tests if each.low is not None and each.high is not None]
    title = f"{'Gap of ' if gaps else ''}{measure_title(measure)}"
    scale = Scale(
        title, CONFIDENCE, test_decimals(tests), max(reaches, default=0.0), larger_is_violet=not gaps, words=words
    )
    shown = {name for each in tests for name in (each.first, each.second)}
    placed = [each.row.candidate for each in measure_standings(measurements, measure, order)]
    return _matrix([name for name in placed if name in shown], tests, scale)


def differences_figure(comparison: Comparison, score: str = "mauve") -> go.Figure:
    """Draw the score of each row's candidate minus that of each column's, in the order of rank.

    Violet means that the row's candidate is closer to the human texts, brown the column's; the larger the difference,
    the stronger the color. Bold with a dot means that the two are told apart.

    Raises
    ------
    InputError
        There is one candidate, or the candidates are of two runs.
    """
    if not comparison.differences:
        raise InputError("There is no difference to draw", allowed="two or more candidates of one run")
    scale = Scale(
        SCORES[score].title,
        comparison.config.score.confidence,
        SCORE_DECIMALS,
        LEAST_SPAN,
        SCORES[score].higher_is_closer,
        comparison.words,
    )
    return _matrix(_order(comparison, score), ranked_pairs(comparison, score), scale)


def _matrix(order: list[str], ranked: Sequence[Tested], scale: Scale) -> go.Figure:
    """Draw every test twice, from either side; rows and columns are in ``order``."""
    tests: dict[tuple[str, str], Tested] = {}
    for each in ranked:
        tests[each.first, each.second], tests[each.second, each.first] = each, each.seen_from(each.second)
    closer = np.full((len(order), len(order)), np.nan)
    for (row, column), each in tests.items():
        sign = 1 if scale.larger_is_violet else -1
        closer[order.index(row), order.index(column)] = sign * each.difference
    span = max(scale.full, float(np.nanmax(np.abs(closer)))) or 1.0
    hovers = [[hover_label(tests[row, column], scale) if row != column else "" for column in order] for row in order]
    cells = draw.heatmap(
        z=closer,
        zmin=-span,
        zmax=span,
        colorscale=SIGNED_SCALE,
        customdata=hovers,
        hovertemplate="%{customdata}<extra></extra>",
        hoverongaps=False,
        xgap=2,
        ygap=2,
        showscale=False,
    )
    traces = [cells, _numbers(order, tests, closer / span, scale.decimals), _marks(order, tests, closer / span)]
    return draw.figure(traces, _layout([short_name(name) for name in order]))


def hover_label(difference: Tested, scale: Scale) -> str:
    """The whole test as hover lines; names are escaped."""
    first, second = (as_label(name) for name in (difference.first, difference.second))
    about = f"{as_label(scale.title)} {written(difference.difference, scale.decimals, signed=True)}"
    lines = [f"<b>{first}</b> minus <b>{second}</b>"]
    if difference.p_value is None or difference.p_adjusted is None:
        return "<br>".join([*lines, about, f"no spread, so no test ({exchanged_label(difference, scale.words)})"])
    return "<br>".join(
        [
            *lines,
            f"{about}, {scale.confidence:.0%} interval {_interval(difference, scale.decimals)}",
            f"p {significant(difference.p_value)}, adjusted {significant(difference.p_adjusted)} "
            f"({exchanged_label(difference, scale.words)})",
            "told apart" if difference.told_apart else "not told apart",
        ]
    )


def _interval(difference: Tested, decimals: int) -> str:
    if difference.low is None or difference.high is None:
        return NONE
    return interval(difference.low, difference.high, decimals, signed=True)


def _order(comparison: Comparison, score: str) -> list[str]:
    return [standing.candidate.name for standing in standings(comparison, score)]


def _numbers(
    order: list[str], tests: dict[tuple[str, str], Tested], shades: NDArray[np.float64], decimals: int
) -> dict[str, Any]:
    """Differences in the cells; bold where the two are told apart."""
    shown = list(permutations(range(len(order)), 2))
    found = [tests[order[row], order[column]] for row, column in shown]
    size = 13 if len(order) <= _MANY else 11 if len(order) <= 9 else 10
    return draw.scatter(
        x=[column for _, column in shown],
        y=[row for row, _ in shown],
        mode="text",
        text=[_cell_text(each, decimals, numbered=len(order) <= MOST_NUMBERED) for each in found],
        textfont={"color": [ink(float(shades[cell])) for cell in shown], "size": size},
        hoverinfo="skip",
    )


def _cell_text(difference: Tested, decimals: int, *, numbered: bool) -> str:
    value = written(difference.difference, decimals, signed=True) if numbered else ""
    return f"<b>{value}</b>" if value and difference.told_apart else value


def _marks(order: list[str], tests: dict[tuple[str, str], Tested], shades: NDArray[np.float64]) -> dict[str, Any]:
    """A dot in the corner of each cell of two candidates that are told apart."""
    right = _RIGHT - min(0.008 * len(order), 0.1)  # about as many pixels from the edge, however broad the cell
    apart = [cell for cell in permutations(range(len(order)), 2) if tests[order[cell[0]], order[cell[1]]].told_apart]
    return draw.scatter(
        x=[column + right for _, column in apart],
        y=[row - _UP for row, _ in apart],
        mode="markers",
        marker={"symbol": "circle", "size": 5, "color": [ink(float(shades[cell])) for cell in apart]},
        hoverinfo="skip",
    )


def _layout(names: list[str]) -> dict[str, Any]:
    count, turned = len(names), len(names) > _UPRIGHT
    above = 14 + _LETTER * max(map(len, names)) * np.sin(np.radians(_TURN)) if turned else 26
    labels = [as_label(name) for name in names]
    axis = {"tickvals": list(range(count)), "ticktext": labels, "showgrid": False, "zeroline": False}
    axis |= {"ticks": "", "fixedrange": True}
    columns = {"side": "top", "tickangle": _TURN if turned else 0, "range": [-0.5, count - 0.5]}
    return base_layout(
        height=int(MODE_BAR + above + (_CELL if count <= _MANY else _LOW_CELL) * count + 8),
        margin={"l": 8, "r": 8, "t": MODE_BAR, "b": 8},
        showlegend=False,
        xaxis={**axis, **columns},
        yaxis={**axis, "range": [count - 0.5, -0.5]},
    )
