"""Places of the candidates under each method, side by side, and tests of P = Q.

Only the value sets a candidate's place under a method; 1 is closest to the human texts. Bars join candidates that share
a rank (:mod:`mauve_core.analyses.method_scores`). p-values are corrected across a table (Holm 1979).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from mauve_core.analyses.method_scores import (
    MARK,
    Joined,
    MethodResult,
    MethodScore,
    MethodStanding,
    MethodTable,
    method_standings,
    score_of,
)
from mauve_core.analyses.methods import Method
from mauve_core.base.config import ABOUT_CORRECTIONS, ABOUT_EXPECTATIONS, HUMAN
from mauve_core.base.formatting import (
    SCORE_DECIMALS,
    decimals_of,
    even_decimals,
    interval,
    significant,
    with_two_spreads,
    written,
)
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures.theme import (
    NEUTRAL_COLOUR,
    Style,
    as_label,
    base_layout,
    candidate_styles,
    short_name,
    translucent,
)
from mauve_core.scoring.result import Comparison

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


def about_tests(table: MethodTable, words: Words = TEXTS) -> str:
    """Explain what the p-values can and cannot show; empty without tests."""
    draws, count = table.settings.get("permutations"), len(p_values_of(table))
    if not isinstance(draws, int) or draws < 1:
        return ""
    if not count:
        return "P = Q was not tested: no method here counts in bins without a correction."
    return (
        f"p: test of P = Q by {draws:,} permutations, for methods with bins and no correction. Each draw exchanges "
        f"{words.items} between the two sides, within {words.group}s if the sides share any, and keeps the bins of the "
        "first seed. p is the share of draws at least as far from P = Q as the observed sides, which count as one "
        f"draw; it cannot be below {p_label(1 / (draws + 1))}.{_about_many(count, draws) if count > 1 else ''}"
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


def about_z(table: MethodTable, words: Words = TEXTS) -> str:
    """Explain the standard scores; empty if there are none."""
    if all(score.z is None for result in table.results for score in result.scores.values()):
        return ""
    return (
        "z: how many standard deviations a candidate's MMD lies above that between random halves of the "
        f"{words.reference_items}, adjusted to as many {words.items}; about 0 for a candidate that does not differ "
        "from them. No p-value follows from it: its right tail is longer than that of a normal variable."
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


# Up to this many methods, columns show names; beyond it, their numbers in the table.
NAMED = 7

_JOINED: dict[Joined, str] = {
    "": "",
    "test": "<br>the test does not tell it from the first of its group",
    "overlap": "<br>not told apart from the first of its group",
    "unknown": "<br>no interval to tell it from the first",
}
_STANDING = ("candidate", "place", "rank", "tied", "joined", "as_leaderboard")
_LABEL_WIDTH, _LABEL_SIZE = 12, 11
_ROW_HEIGHT, _LINE_HEIGHT, _COLUMN_MARGIN = 32, 15, 0.35


def scores_frame(table: MethodTable, comparison: Comparison | None) -> pd.DataFrame:
    """All numbers of the table: one row per method and candidate, then human vs. human.

    ``comparison`` is the run's, as for :func:`mauve_core.analyses.method_scores.method_standings`.

    Returns
    -------
    DataFrame
        number (of the method), method, title, closer ("larger" or "smaller"), candidate (``human`` for two halves of
        the human texts), place, rank, tied, joined and as_leaderboard (as in
        :class:`mauve_core.analyses.method_scores.MethodStanding`; 0 and no ties for the halves), value, sd_seeds,
        sd_texts, low, high, z (NaN if unknown), n, p_value and p_holm (of P = Q, raw and corrected; NaN without a
        test), seconds (of the estimator), notes.
    """
    tests, untested = p_values_of(table), Tested(math.nan, math.nan)
    rows = []
    for number, result in enumerate(table.results, start=1):
        about = {"number": number, "method": result.method.spec, "title": result.method.title}
        about["closer"] = "larger" if result.method.higher_is_closer else "smaller"
        end = {"seconds": result.seconds, "notes": "; ".join(result.notes)}
        for item in sorted(
            method_standings(result, table.candidates, comparison),
            key=lambda item: table.candidates.index(item.candidate),
        ):
            standing = {name: getattr(item, name) for name in _STANDING}
            test = tests.get((result.method, item.candidate), untested)
            rows.append({**about, **standing, **_numbers(item.score), **_tested(test), **end})
        if result.ceiling is not None:
            standing = dict(zip(_STANDING, (HUMAN, 0, 0, False, "", False), strict=True))
            rows.append({**about, **standing, **_numbers(result.ceiling), **_tested(untested), **end})
    return pd.DataFrame(rows)


def bump_figure(table: MethodTable, order: Sequence[str], comparison: Comparison | None) -> go.Figure:
    """One column per method, one line per candidate; bars join candidates of equal rank.

    ``order`` holds the run's candidates and sets color, dash and marker; ``comparison`` is as for
    :func:`scores_frame`.
    """
    columns = [method_standings(result, table.candidates, comparison) for result in table.results]
    figure = go.Figure([_joins(columns, "one rank", ("test", "overlap")), _joins(columns, "unknown", ("unknown",))])
    tests = p_values_of(table)
    for name in table.candidates:
        figure.add_trace(
            _path(
                table,
                columns,
                tests,
                name,
                candidate_styles(order)[name],
                TEXTS if comparison is None else comparison.words,
            )
        )
    last, rows = len(columns) - 1, len(table.candidates)
    labels = column_labels(table.results, comparison)
    figure.add_trace(go.Scatter(x=[last], y=[1], yaxis="y2", mode="markers", marker={"opacity": 0}, hoverinfo="skip"))
    figure.update_layout(
        base_layout(
            height=_ROW_HEIGHT * (rows + 1) + 28 + _LINE_HEIGHT * max(1 + label.count("<br>") for label in labels),
            showlegend=False,
            hovermode="closest",
            margin={"l": 8, "r": 8, "t": 28, "b": 8},
            xaxis={
                "tickvals": list(range(last + 1)),
                "ticktext": labels,
                "tickfont": {"size": _LABEL_SIZE},
                "range": [-_COLUMN_MARGIN, last + _COLUMN_MARGIN],
                "showgrid": False,
                "zeroline": False,
                "fixedrange": True,
                "tickangle": 0,
            },
            yaxis=_side(columns[0], rows),
            yaxis2={**_side(columns[-1], rows, numbered=False), "overlaying": "y", "side": "right"},
        )
    )
    return figure


def column_labels(results: Sequence[MethodResult], comparison: Comparison | None) -> list[str]:
    """Method numbers, marked where ranks are the leaderboard's, with the names in short lines if there is room."""
    numbers = [f"<b>{number}</b>{mark(each.method, comparison)}" for number, each in enumerate(results, start=1)]
    if len(results) > NAMED:
        return numbers
    return [
        "<br>".join([number, *(as_label(line) for part in item.method.title.split(" · ") for line in _lines(part))])
        for number, item in zip(numbers, results, strict=True)
    ]


def mark(method: Method, comparison: Comparison | None) -> str:
    """:data:`mauve_core.analyses.method_scores.MARK` for a method with the leaderboard's ranks; else empty."""
    return "" if score_of(method, comparison) is None else MARK


_OF_LEADERBOARD = ("mauve", "frontier-integral", "mid")
ABOUT_LEADERBOARD = (
    "MAUVE by k-means, at the run's own c, is the leaderboard's score; every other method estimates something else."
)


def leaderboard_decimals(method: Method) -> int | None:
    """The leaderboard's decimals for a method whose values it has, at the run's own c; None for any other."""
    shared = method.estimator == "kmeans" and method.divergence == "kl" and method.summary in _OF_LEADERBOARD
    return SCORE_DECIMALS if shared else None


def score_labels(scores: Sequence[MethodScore], decimals: int | None = None) -> list[str]:
    """:func:`score_label` of several candidates, with these or similar numbers of decimals."""
    own = [decimals_of(score.value, score.sd_seeds, score.sd_texts) for score in scores]
    shown = even_decimals(own) if decimals is None else [decimals] * len(own)
    return [score_label(score, number) for score, number in zip(scores, shown, strict=True)]


def score_label(score: MethodScore, decimals: int | None = None) -> str:
    """``0.971 ± 0.002 / 0.015``: the value, its spread over seeds and its spread over texts."""
    return with_two_spreads(score.value, score.sd_seeds, score.sd_texts, decimals)


def _numbers(score: MethodScore) -> dict[str, float]:
    spreads = {name: getattr(score, name) for name in ("sd_seeds", "sd_texts", "low", "high", "z")}
    known = {name: math.nan if value is None else value for name, value in spreads.items()}
    return {"value": score.value, **known, "n": score.n}


def _tested(test: Tested) -> dict[str, float]:
    return {"p_value": test.p_value, "p_holm": test.corrected}


def _joins(columns: Sequence[Sequence[MethodStanding]], name: str, kinds: Sequence[Joined]) -> go.Scatter:
    """Bars between candidates of equal rank: broad for tests and intervals, dotted for unknown ones."""
    x: list[float | None] = []
    y: list[float | None] = []
    for column, standings in enumerate(columns):
        for item in standings:
            if item.joined in kinds:
                x += [column, column, None]
                y += [item.place - 1, item.place, None]
    known = "unknown" not in kinds
    colour = translucent(NEUTRAL_COLOUR, 0.45) if known else NEUTRAL_COLOUR
    line = {"color": colour, "width": 16 if known else 3, "dash": "solid" if known else "dot"}
    return go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", meta=name)


def _path(
    table: MethodTable, columns: Sequence[Sequence[MethodStanding]], tests: Tests, name: str, style: Style, words: Words
) -> go.Scatter:
    path = [next(item for item in column if item.candidate == name) for column in columns]
    hovers = [
        _hover(result, item, tests.get((result.method, name)), words)
        for result, item in zip(table.results, path, strict=True)
    ]
    return go.Scatter(
        x=list(range(len(path))),
        y=[item.place for item in path],
        mode="lines+markers",
        line={"color": style.colour, "dash": style.dash, "width": 2.5},
        marker={"color": style.colour, "symbol": style.symbol, "size": 12, "line": {"color": "white", "width": 1}},
        meta=as_label(name),
        customdata=hovers,
        hovertemplate="<b>%{meta}</b><br>%{customdata}<extra></extra>",
    )


def _hover(result: MethodResult, item: MethodStanding, test: Tested | None, words: Words) -> str:
    score, low_high = item.score, "no interval"
    if score.low is not None and score.high is not None:
        low_high = (
            f"interval {interval(score.low, score.high, decimals_of(score.value, score.sd_seeds, score.sd_texts))}"
        )
    tested = "" if test is None else f"<br>{test.words}"
    above = "" if score.z is None else f"<br>{z_label(score)} above {words.halves}"
    return (
        f"{as_label(result.method.title)}: place {item.place}<br>{score_label(score)} over seeds / {words.items}"
        f"<br>{low_high}{_JOINED[item.joined]}{tested}{above}"
    )


def _side(found: Sequence[MethodStanding], rows: int, *, numbered: bool = True) -> dict[str, Any]:
    """An axis with the candidates of one column, closest on top."""
    names = [as_label(short_name(item.candidate)) for item in found]
    return {
        "tickvals": [item.place for item in found],
        "ticktext": [f"{name}  {position}" for position, name in enumerate(names, start=1)] if numbered else names,
        "range": [rows + 0.6, 0.4],
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        "automargin": True,
    }


def _lines(text: str) -> list[str]:
    """Wrap words to fit below a column; long words break after hyphens."""
    lines = [""]
    for word in text.split():
        for piece in re.split(r"(?<=-)", word) if len(word) > _LABEL_WIDTH else [word]:
            if lines[-1] and len(lines[-1]) + len(piece) >= _LABEL_WIDTH:
                lines.append("")
            lines[-1] = f"{lines[-1]} {piece}".strip()
    return lines
