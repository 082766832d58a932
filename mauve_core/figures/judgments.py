"""Human preferences: Bradley–Terry scores as a table and as dots with intervals, and their agreement with indicators.

An interval without a limit ends in an arrow at the panel's edge; an infinite score is a hollow marker there. Color
and marker follow the run's order of candidates; humans are a blue disc.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from mauve_core.analyses.human_ranking import Correlation, Indicator, Player, Ranking
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import CORRELATION_DECIMALS, NONE, correlation, interval, written
from mauve_core.figures import draw
from mauve_core.figures.theme import (
    HUMAN_COLOUR,
    MODE_BAR,
    NEUTRAL_COLOUR,
    PANELS_MARGIN,
    Style,
    as_label,
    base_layout,
    candidate_styles,
    short_name,
)
from mauve_core.scoring.tables import rank_label

# With fewer candidates even a perfect correlation arises by chance in more than one case in a hundred.
FEW = 6

# Number of candidates in the study of JMLR 2023.
IN_THE_PAPERS = 8

# Short names of the questions.
TITLES = {"interesting": "Interesting", "sensible": "Sensible", "human-like": "Human-like"}

NOT_PLACED = "not placed"
_ROW_HEIGHT, _HEAD = 34, MODE_BAR + 78
# Half-width of the axis in score points if no score is finite.
_EMPTY_HALF_WIDTH = 50.0


def ranking_frame(ranking: Ranking) -> pd.DataFrame:
    """The numbers of one ranking, best first, for the table and the CSV.

    Returns
    -------
    DataFrame
        question, rank (NaN if not placed), tied, source, score, low, high, se (score points; infinite if unbounded,
        NaN if unknown), wins, losses, ties, comparisons, group; then for the whole ranking: ratings, raters,
        excluded, tie_rule, bootstrap, confidence.
    """
    return pd.DataFrame(
        [
            {
                "question": ranking.question,
                "rank": math.nan if player.rank is None else player.rank,
                "tied": player.tied,
                "source": player.name,
                "score": player.score,
                "low": player.low,
                "high": player.high,
                "se": math.nan if player.se is None else player.se,
                "wins": player.wins,
                "losses": player.losses,
                "ties": player.ties,
                "comparisons": player.wins + player.losses + player.ties,
                "group": player.group,
                "ratings": ranking.n,
                "raters": ranking.raters,
                "excluded": ranking.excluded,
                "tie_rule": ranking.tie_rule,
                "bootstrap": ranking.bootstrap,
                "confidence": ranking.confidence,
            }
            for player in ranking.players
        ]
    )


def shown_ranking(frame: pd.DataFrame, plain: Callable[[str], str]) -> pd.DataFrame:
    """``ranking_frame`` as Markdown cells; ``plain`` escapes a name. Shows groups only if there are several."""
    shown = pd.DataFrame(
        {
            "Rank": [
                NONE if pd.isna(rank) else rank_label(int(rank), bool(tied))
                for rank, tied in zip(frame["rank"], frame["tied"], strict=True)
            ],
            "Source": [f"**{plain(short_name(name))}**" for name in frame["source"]],
            "Score": [score_label(*values) for values in zip(frame["score"], frame["low"], frame["high"], strict=True)],
            "Won": [f"{n:,}" for n in frame["wins"]],
            "Lost": [f"{n:,}" for n in frame["losses"]],
            "Tied": [f"{n:,}" for n in frame["ties"]],
            "n": [f"{n:,}" for n in frame["comparisons"]],
        }
    )
    return shown if frame["group"].nunique() == 1 else shown.assign(Group=[str(g + 1) for g in frame["group"]])


def score_label(score: float, low: float, high: float) -> str:
    """Score above its interval; infinity signs mark unbounded ends."""
    if math.isnan(score):
        return NOT_PLACED
    return f"**{points(score)}**  \n{interval(low, high, 1, signed=True)}"


def described(ranking: Ranking) -> str:
    """State the number of answers, how ties count, and how to read the intervals."""
    rule = "count half for each side" if ranking.tie_rule == "half" else "went to one side by coin flip"
    raters = "1 rater" if ranking.raters == 1 else f"{ranking.raters:,} raters"
    return (
        f"{ranking.n:,} answers from {raters}; {ranking.ties:,} ties {rule}; {ranking.excluded:,} answers left out. "
        f"Line: {ranking.confidence:.0%} interval from {ranking.bootstrap:,} bootstrap samples of the answers. Arrow: "
        "no limit on that side. Hollow: the score itself has no limit."
    )


def points(value: float) -> str:
    """Signed score points to one decimal; the intervals are much wider."""
    return written(value, 1, signed=True)


def ranking_figure(rankings: Mapping[str, Ranking], by: str, candidates: Sequence[str]) -> go.Figure:
    """One panel per question: dot = score, line = interval, rows in the order of the ranking ``by``.

    Parameters
    ----------
    rankings : mapping of str to Ranking
        By question, including ``by``; all have the same sources.
    candidates : sequence of str
        In the run's order, for their styles.
    """
    names = [player.name for player in rankings[by].players]
    panels = [f"<b>{_title(question)}</b>" if question == by else _title(question) for question in rankings]
    figure = draw.subplots(
        rows=1, cols=len(rankings), shared_yaxes=True, subplot_titles=panels, horizontal_spacing=0.03
    )
    for column, ranking in enumerate(rankings.values(), start=1):
        low, high = _range(ranking)
        mean = {"color": NEUTRAL_COLOUR, "width": 1, "dash": "dot"}
        figure.add_vline(x=0, line=mean, row=1, col=column, exclude_empty_subplots=False)
        for player in ranking.players:
            traces = _dot(player, names.index(player.name), _style(player.name, candidates), low, high)
            figure.add_traces(traces, rows=[1] * len(traces), cols=[column] * len(traces))
        figure.update_xaxes(range=[low, high], nticks=5, zeroline=False, row=1, col=column)
    figure.update_yaxes(**draw.row_axis([as_label(short_name(name)) for name in names]))
    figure.update_annotations(font_size=14)
    height = _HEAD + _ROW_HEIGHT * len(names)
    figure.update_layout(base_layout(height=height, margin=PANELS_MARGIN, showlegend=False))
    return figure


def correlation_frame(found: Sequence[Correlation], indicators: Mapping[str, Indicator], question: str) -> pd.DataFrame:
    """The numbers of the correlations: question, indicator, closer ("larger" or "smaller"), spearman, worst_case,
    worst_case_exact, worst_case_at_least (NaN if unknown), sd_over, n, note."""
    return pd.DataFrame(
        [
            {
                "question": question,
                "indicator": row.indicator,
                "closer": "larger" if indicators[row.indicator].higher_is_closer else "smaller",
                "spearman": math.nan if row.spearman is None else row.spearman,
                "worst_case": math.nan if row.worst is None else row.worst.value,
                "worst_case_exact": None if row.worst is None else row.worst.exact,
                "worst_case_at_least": math.nan if row.worst is None else row.worst.lower_bound,
                "sd_over": row.over,
                "n": row.n,
                "note": row.note,
            }
            for row in found
        ]
    )


def shown_correlations(frame: pd.DataFrame, plain: Callable[[str], str]) -> pd.DataFrame:
    """``correlation_frame`` as Markdown cells; each worst case says whether it is exact or a bound."""
    arrows = {"larger": "↑", "smaller": "↓"}
    shown = pd.DataFrame(
        {
            "Indicator": [
                f"**{plain(name)}** {arrows[closer]}"
                for name, closer in zip(frame["indicator"], frame["closer"], strict=True)
            ],
            "Spearman": [correlation(value, signed=True) for value in frame["spearman"]],
            worst_title(frame["sd_over"]): [
                worst_label(*values)
                for values in zip(
                    frame["worst_case"], frame["worst_case_exact"], frame["worst_case_at_least"], strict=True
                )
            ],
            "n": [str(n) for n in frame["n"]],
        }
    )
    return shown if (frame["note"] == "").all() else shown.assign(Note=[plain(note) for note in frame["note"]])


def worst_title(over: Iterable[str]) -> str:
    """Title of the worst cases, with what the standard deviations are over, such as ``texts``."""
    kinds = " / ".join(dict.fromkeys(filter(None, over)))
    return f"Worst case within 1 sd over {kinds}" if kinds else "Worst case within 1 sd"


def sd_sentence(over: Iterable[str]) -> str:
    """What the standard deviations of the worst cases are over, in a sentence."""
    if "generations" in set(over):
        return "All sds are over generations; that of a decoder that draws nothing is 0."
    return "All sds are over texts; the paper takes them over generations, of which not every candidate has several."


def worst_label(value: float, exact: bool | None, at_least: float) -> str:
    """``0.40 exact``, or the two bounds on the worst case."""
    if exact is None:
        return f"{NONE} no sd"
    if exact:
        return f"{correlation(value, signed=True)} exact"
    return f"bound: {interval(at_least, value, CORRELATION_DECIMALS, signed=True)}"


def few_candidates(n: int) -> str:
    """One sentence on the limits of a correlation over few candidates; empty for ``FEW`` or more."""
    if n >= FEW or n < 2:
        return ""
    return (
        f"A correlation over n = {n} candidates says little: with {math.factorial(n):,} orders possible, full "
        f"agreement occurs by chance one time in {math.factorial(n):,}. The papers' study has {IN_THE_PAPERS}."
    )


def _title(question: str) -> str:
    return as_label(TITLES.get(question, short_name(question)))


def _style(name: str, candidates: Sequence[str]) -> Style:
    return Style(HUMAN_COLOUR, "solid", "circle") if name == HUMAN else candidate_styles(candidates)[name]


def _range(ranking: Ranking) -> tuple[float, float]:
    """Panel limits: all finite scores and interval ends, with room for arrows."""
    ends = [end for player in ranking.players for end in (player.score, player.low, player.high) if math.isfinite(end)]
    if not ends:
        return -_EMPTY_HALF_WIDTH, _EMPTY_HALF_WIDTH
    low, high = min(*ends, 0.0), max(*ends, 0.0)
    room = 0.12 * (high - low) or _EMPTY_HALF_WIDTH
    return low - room, high + room


def _dot(player: Player, row: int, style: Style, low: float, high: float) -> list[go.Scatter]:
    """Traces of one player, clipped to the panel: a hollow marker for an infinite score, words for a missing one."""
    edge = 0.03 * (high - low)
    if math.isnan(player.score):
        return [_words(NOT_PLACED, low + edge, row)]
    position, *ends = (min(max(value, low + edge), high - edge) for value in (player.score, player.low, player.high))
    line = {"color": style.colour, "width": 2}
    traces = [go.Scatter(x=ends, y=[row, row], mode="lines", line=line, hoverinfo="skip")]
    for value, x, arrow in zip((player.low, player.high), ends, ("triangle-left", "triangle-right"), strict=True):
        if math.isinf(value) and value != player.score:
            marker = {"color": style.colour, "symbol": arrow, "size": 9}
            hover = "no limit on this side<extra></extra>"
            traces.append(go.Scatter(x=[x], y=[row], mode="markers", marker=marker, hovertemplate=hover))
    marker = {"color": style.colour, "symbol": style.symbol, "size": 11, "line": {"color": "white", "width": 1}}
    if math.isinf(player.score):
        marker |= {"symbol": f"{style.symbol}-open", "line": {"color": style.colour, "width": 2}}
    name = as_label(player.name)
    dot = go.Scatter(x=[position], y=[row], mode="markers", marker=marker, hovertemplate=_hover(player), meta=name)
    return [*traces, dot]


def _words(text: str, x: float, row: int) -> go.Scatter:
    marks: dict[str, Any] = {"mode": "text", "text": [text], "textposition": "middle right"}
    marks["textfont"] = {"color": NEUTRAL_COLOUR}
    return go.Scatter(x=[x], y=[row], hoverinfo="skip", **marks)


def _hover(player: Player) -> str:
    return (
        f"<b>%{{meta}}</b><br>{points(player.score)}<br>interval {interval(player.low, player.high, 1, signed=True)}"
        f"<br>{player.wins} won, {player.losses} lost, {player.ties} tied<extra></extra>"
    )
