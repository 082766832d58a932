"""Every two candidates' difference under one score: a matrix with the tests' verdicts, and the numbers behind it.

The differences and their tests are those of :mod:`mauve_core.scoring.differences`, at the settings of the comparison.
"""

from __future__ import annotations

import html
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.base.config import SCORES
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import SCORE_DECIMALS, UNBROKEN, interval, significant, written
from mauve_core.figures import draw
from mauve_core.figures.theme import MODE_BAR, SIGNED_SCALE, base_layout, ink, short_name
from mauve_core.scoring.result import Comparison, Difference
from mauve_core.scoring.tables import HIGHER_IS_CLOSER, TITLES, standings

LEAST_SPAN = 0.05
"""A difference of this size or more has the full color, unless there are larger ones."""

MOST_NUMBERED = 16
"""Maximum number of candidates whose cells have numbers; with more, the marks stay."""

_UPRIGHT = 4
"""Maximum number of candidates whose names fit above the columns without turning."""

_CELL, _LOW_CELL, _MANY = 38, 28, 6
_LETTER, _TURN = 6.6, 40
"""Width of a letter above the columns, in pixels, and the angle of names there, in degrees."""

_RIGHT, _UP = 0.5, 0.3
"""Place of a dot in its cell: near the right edge, above the middle."""


def ranked_pairs(comparison: Comparison, score: str) -> list[Difference]:
    """The tests of every two candidates under one score, each seen from the better-placed one, the best pairs first.

    Raises
    ------
    InputError
        The differences were not tested when the comparison was made.
    """
    if comparison.differences is None:
        raise InputError("Differences were not tested when this run was made", todo="Compare its texts again")
    tests = {frozenset((each.first, each.second)): each for each in comparison.differences if each.score == score}
    return [tests[frozenset(pair)].seen_from(pair[0]) for pair in combinations(_order(comparison, score), 2)]


def differences_frame(comparison: Comparison) -> pd.DataFrame:
    """All tests under every score, for the CSV.

    Returns
    -------
    DataFrame
        score, candidate, other (the candidate placed below it), difference, low, high, confidence, joint_difference,
        p, p_adjusted, told_apart, paired (whether texts were exchanged within prompts), n (prompts in common, or,
        without any, texts of both).
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
            each.joint_difference,
            each.p_value,
            each.p_adjusted,
            each.told_apart,
            each.paired,
            each.n,
        )
        for score in SCORES
        for each in ranked_pairs(comparison, score)
    ]
    columns = ["score", "candidate", "other", "difference", "low", "high", "confidence"]
    columns += ["joint_difference", "p", "p_adjusted", "told_apart", "paired", "n"]
    return pd.DataFrame(rows, columns=columns)


def exchanged_label(difference: Difference) -> str:
    """What the test rests on: ``512 prompts``, or ``600 texts`` of two candidates without a common prompt."""
    return f"{difference.n:,}{UNBROKEN}{'prompts' if difference.paired else 'texts'}"


def difference_label(difference: Difference) -> str:
    """The difference with its sign, above its interval."""
    value = written(difference.difference, SCORE_DECIMALS, signed=True)
    return f"{value}\n{interval(difference.low, difference.high, SCORE_DECIMALS, signed=True)}"


def differences_figure(comparison: Comparison, score: str = "mauve") -> go.Figure:
    """Draw the score of each row's candidate minus that of each column's, in the order of rank.

    Violet means that the row's candidate is closer to the human texts, brown the column's; the larger the difference,
    the stronger the color. Bold with a dot means that the two are told apart.

    Raises
    ------
    InputError
        There is one candidate, or the differences were not tested when the comparison was made.
    """
    if len(comparison.candidates) < 2:
        raise InputError("There is no difference to draw", allowed="two or more candidates", received="one candidate")
    order = _order(comparison, score)
    tests = {}
    for each in ranked_pairs(comparison, score):
        tests[each.first, each.second], tests[each.second, each.first] = each, each.seen_from(each.second)
    closer = np.full((len(order), len(order)), np.nan)
    for (row, column), each in tests.items():
        sign = 1 if HIGHER_IS_CLOSER[score] else -1
        closer[order.index(row), order.index(column)] = sign * each.difference
    span = max(LEAST_SPAN, float(np.nanmax(np.abs(closer))))
    confidence = comparison.config.score.confidence
    hovers = [
        [hover_label(tests[row, column], confidence) if row != column else "" for column in order] for row in order
    ]
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
    traces = [cells, _numbers(order, tests, closer / span), _marks(order, tests, closer / span)]
    return draw.figure(traces, _layout([short_name(name) for name in order]))


def hover_label(difference: Difference, confidence: float) -> str:
    """The whole test as hover lines; names are escaped."""
    first, second = (html.escape(name) for name in (difference.first, difference.second))
    low_high = interval(difference.low, difference.high, SCORE_DECIMALS, signed=True)
    return (
        f"<b>{first}</b> minus <b>{second}</b><br>"
        f"{TITLES[difference.score]} {written(difference.difference, SCORE_DECIMALS, signed=True)}, "
        f"{confidence:.0%} interval {low_high}<br>"
        f"p {significant(difference.p_value)}, adjusted {significant(difference.p_adjusted)} "
        f"({exchanged_label(difference)})<br>{'told apart' if difference.told_apart else 'not told apart'}"
    )


def _order(comparison: Comparison, score: str) -> list[str]:
    return [standing.candidate.name for standing in standings(comparison, score)]


def _numbers(order: list[str], tests: dict[tuple[str, str], Difference], shades: NDArray[np.float64]) -> dict[str, Any]:
    """Differences in the cells; bold where the two are told apart."""
    shown = list(permutations(range(len(order)), 2))
    found = [tests[order[row], order[column]] for row, column in shown]
    size = 13 if len(order) <= _MANY else 11 if len(order) <= 9 else 10
    return draw.scatter(
        x=[column for _, column in shown],
        y=[row for row, _ in shown],
        mode="text",
        text=[_cell_text(each, numbered=len(order) <= MOST_NUMBERED) for each in found],
        textfont={"color": [ink(float(shades[cell])) for cell in shown], "size": size},
        hoverinfo="skip",
    )


def _cell_text(difference: Difference, *, numbered: bool) -> str:
    value = written(difference.difference, SCORE_DECIMALS, signed=True) if numbered else ""
    return f"<b>{value}</b>" if value and difference.told_apart else value


def _marks(order: list[str], tests: dict[tuple[str, str], Difference], shades: NDArray[np.float64]) -> dict[str, Any]:
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
    labels = [html.escape(name) for name in names]
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
