"""Agreement between methods, or between encoders: a grid of rank correlations, and the pairs ordered differently.

For encoders also the candidates' scores under each, and where in a text they look.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Sized
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.analyses.encoders import FEWEST, EncoderResult, EncoderTable, Reference, Reversal, written
from mauve_core.analyses.method_scores import Disagreement, MethodResult, MethodTable, disagreements, score_of
from mauve_core.analyses.methods import Method
from mauve_core.analyses.positions import EncoderPositions, PositionTable
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import NONE, correlation, significant
from mauve_core.base.words import Words
from mauve_core.figures.theme import SIGNED_SCALE, as_label, base_layout, ink, short_name
from mauve_core.scoring.result import Comparison, Estimate, SeedSpread
from mauve_core.scoring.tables import interval_of, mean_and_spread, rank_label
from mauve_core.stats.scores import SCORES

_PARTS = ("smoothing", "divergence", "summary", "scale", "expectation", "correction")
# Methods that the answer names; the others are counted.
_NAMED = 3

# Candidates from which on a correlation of rankings says more than which of two is first.
LEAST_CORRELATED = 3

_CELL_HEIGHT, _LOW_CELL_HEIGHT, _MANY = 34, 24, 12


def agreement_frame(table: MethodTable) -> pd.DataFrame:
    """Spearman correlations: one row per method, with ``method``, ``title`` and one column per method spec."""
    specs = [result.method.spec for result in table.results]
    frame = pd.DataFrame(table.agreement(), columns=specs)
    frame.insert(0, "method", specs)
    frame.insert(1, "title", [result.method.title for result in table.results])
    return frame


def disagreements_frame(table: MethodTable, comparison: Comparison | None) -> pd.DataFrame:
    """Pairs that a method orders differently from the first: method, title, closer, farther, told_apart, reason."""
    columns = ["method", "title", "closer", "farther", "told_apart", "reason"]
    return pd.DataFrame(
        [
            (
                item.method.spec,
                item.method.title,
                item.closer,
                item.farther,
                item.told_apart,
                reason(table, item.method),
            )
            for item in disagreements(table, comparison)
        ],
        columns=columns,
    )


def answer(table: MethodTable, comparison: Comparison | None) -> str:
    """Say in one sentence whether the ranking depends on the method; empty for one method or one candidate.

    The other methods are counted by how they order the candidates: as the table's first, with pairs reversed that both
    tell apart, with others reversed, or without intervals over texts, so that ties are unknown.
    """
    first, *others = table.results
    if not others or len(table.candidates) < 2:
        return ""
    reversed_by: dict[Method, list[Disagreement]] = {}
    for item in disagreements(table, comparison):
        reversed_by.setdefault(item.method, []).append(item)
    if not reversed_by:
        return f"The ranking does not depend on the method: all {len(table.results):,} give the same order."
    apart = {method: items[0] for method, items in reversed_by.items() if items[0].told_apart}
    unsure = [each.method for each in others if each.method in reversed_by and each.method not in apart]
    unknown = [each.method for each in others if each.method in unsure and _lacks_intervals(each, first, comparison)]
    title = first.method.title
    clauses = []
    if apart:
        named = [f"{m.title} ({short_name(i.closer)} before {short_name(i.farther)})" for m, i in apart.items()]
        clauses.append(f"{_count(apart, 'reverses', 'reverse')} pairs that both tell apart: {_listed(named)}")
    if same := [each for each in others if each.method not in reversed_by]:
        clauses.append(f"{_count(same, 'gives', 'give')} the same order")
    if within := [method for method in unsure if method not in unknown]:
        clauses.append(f"{_count(within, 'reverses', 'reverse')} only pairs that one of the two cannot tell apart")
    if unknown:
        named = [method.title for method in unknown]
        clauses.append(f"of {len(unknown):,} without intervals this is not known: {_listed(named)}")
    lead = (
        "The ranking depends on the method" if apart else "The ranking does not depend on the method beyond the spread"
    )
    if len(unknown) == len(others):
        lead = "Whether the ranking depends on the method is not known"
    return f"{lead}. Of {len(others):,} method{'s' * (len(others) > 1)} beside {title}: {'; '.join(clauses)}."


def _lacks_intervals(result: MethodResult, first: MethodResult, comparison: Comparison | None) -> bool:
    """Whether one of the two methods has no intervals by which it could tell candidates apart."""
    return any(
        score_of(each.method, comparison) is None and any(score.low is None for score in each.scores.values())
        for each in (first, result)
    )


def _count(found: Sized, one: str, several: str) -> str:
    return f"{len(found):,} {one if len(found) == 1 else several}"


def _listed(names: Sequence[str]) -> str:
    more = [f"{len(names) - _NAMED:,} more"] if len(names) > _NAMED else []
    return ", ".join([*names[:_NAMED], *more])


def agreement_figure(table: MethodTable) -> go.Figure:
    """Draw the correlations as a grid with numbers; a dash marks a method that ties all candidates."""
    return correlation_grid(table.agreement(), [result.method.title for result in table.results])


def correlation_grid(
    values: NDArray[np.float64], titles: Sequence[str], notes: Sequence[Sequence[str]] | None = None
) -> go.Figure:
    """Draw (m, m) rank correlations as a grid with numbers; a dash marks an undefined one.

    ``notes`` holds a line to show on hover for each cell, empty for none.
    """
    count = len(values)
    safe = [as_label(title) for title in titles]
    hovers = [
        [
            f"{one}<br>{other}<br>Spearman {correlation(value)}{_line(notes, row, column)}"
            for column, (other, value) in enumerate(zip(safe, across, strict=True))
        ]
        for row, (one, across) in enumerate(zip(safe, values, strict=True))
    ]
    figure = go.Figure(
        go.Heatmap(
            z=values,
            zmin=-1,
            zmax=1,
            colorscale=SIGNED_SCALE,
            customdata=hovers,
            hovertemplate="%{customdata}<extra></extra>",
            xgap=2,
            ygap=2,
            showscale=False,
        )
    )
    rows, columns = np.indices(values.shape)
    figure.add_trace(
        go.Scatter(
            x=columns.ravel(),
            y=rows.ravel(),
            mode="text",
            text=[correlation(value) for value in values.ravel()],
            textfont={"color": [ink(value) for value in values.ravel()], "size": 13 if count <= _MANY else 9},
            hoverinfo="skip",
        )
    )
    axis: dict[str, Any] = {"tickvals": list(range(count)), "showgrid": False, "zeroline": False, "fixedrange": True}
    figure.update_layout(
        base_layout(
            height=(_CELL_HEIGHT if count <= _MANY else _LOW_CELL_HEIGHT) * count + 44,
            margin={"l": 8, "r": 8, "t": 28, "b": 8},
            xaxis={**axis, "ticktext": [str(number + 1) for number in range(count)], "side": "top", "tickangle": 0},
            yaxis={
                **axis,
                "ticktext": [f"{title}  {number}" for number, title in enumerate(safe, start=1)],
                "range": [count - 0.5, -0.5],
            },
        )
    )
    return figure


def _line(notes: Sequence[Sequence[str]] | None, row: int, column: int) -> str:
    return "" if notes is None or not notes[row][column] else f"<br>{as_label(notes[row][column])}"


def reason(table: MethodTable, method: Method) -> str:
    """Why a method may rank differently from the first: the papers' explanation, or the one setting that differs."""
    first = table.results[0].method
    if method.estimator != first.estimator:
        return method.reason
    parts = [part for part in _PARTS if getattr(method, part) != getattr(first, part)]
    differs = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return f"Both use the same fit; they differ only in {differs}."


# Largest numbers of pairs of encoders that are named, and of pairs of candidates for each; the others are counted.
_NAMED_PAIRS, _EXAMPLES = 4, 2

_GIVEN = "features given"


def encoder_names(table: EncoderTable) -> tuple[str, ...]:
    """Every encoder as the command line takes it."""
    own = table.results[0].encoder
    return tuple(_GIVEN if each.encoder is None else written(each.encoder, own) for each in table.results)


def encoder_scores_frame(table: EncoderTable) -> pd.DataFrame:
    """All numbers of the table: one row per encoder, candidate and score, then the two human halves.

    Returns
    -------
    DataFrame
        encoder (as on the command line), title, candidate (``human`` for two halves of the human texts), score, rank,
        tied (0 and no ties for the halves), mean, sd (NaN with one seed), low, high, dimension (of the features, NaN
        if unknown), tokens_median, cut, notes.
    """
    rows = []
    for name, title, result in zip(encoder_names(table), table.titles, table.results, strict=True):
        about = {"encoder": name, "title": title}
        end = {
            "dimension": math.nan if result.dimension is None else result.dimension,
            "tokens_median": math.nan if result.tokens_median is None else result.tokens_median,
            "cut": result.cut,
            "notes": "; ".join(result.notes),
        }
        for score in table.score_names:
            ranks = result.ranks(score)
            for candidate in table.candidates:
                rank, tied = ranks[candidate]
                place = {"candidate": candidate, "score": score, "rank": rank, "tied": tied}
                rows.append({**about, **place, **_numbers(result.scores[candidate][score]), **end})
            if result.ceiling:
                place = {"candidate": HUMAN, "score": score, "rank": 0, "tied": False}
                rows.append({**about, **place, **_numbers(result.ceiling[score]), **end})
    return pd.DataFrame(rows)


def score_cells(table: EncoderTable, score: str) -> dict[str, list[str]]:
    """``0.881 ± 0.014 (1=)`` of every candidate under every encoder: mean, spread over seeds, rank.

    The candidates closest to the human texts under the first encoder come first.
    """
    ranks = [result.ranks(score) for result in table.results]
    return {
        name: [
            f"{mean_and_spread(result.scores[name][score])} ({rank_label(*places[name])})"
            for result, places in zip(table.results, ranks, strict=True)
        ]
        for name in ranks[0]
    }


def interval_cells(table: EncoderTable, score: str) -> dict[str, list[str]]:
    """``0.825 to 0.928``: the interval over texts of every candidate under every encoder."""
    return {name: [interval_of(result.scores[name][score]) for result in table.results] for name in table.candidates}


def ceiling_cells(table: EncoderTable, score: str) -> list[tuple[str, str]]:
    """Human vs. human under every encoder: mean and spread over seeds, and interval; dashes where there is none."""
    return [
        (mean_and_spread(each.ceiling[score]), interval_of(each.ceiling[score])) if each.ceiling else (NONE, NONE)
        for each in table.results
    ]


def encoder_agreement_frame(table: EncoderTable) -> pd.DataFrame:
    """One row per score and two encoders.

    Returns
    -------
    DataFrame
        score, first, second (titles), spearman (NaN if undefined), candidates, pairs (of candidates), reversed (pairs
        in opposite orders), reversed_told_apart (those that both encoders tell apart).
    """
    rows = []
    for score in table.score_names:
        values = table.agreement(score)
        for one, other in combinations(range(len(table.results)), 2):
            found = table.reversals(score, one, other)
            rows.append(
                {
                    "score": score,
                    "first": table.titles[one],
                    "second": table.titles[other],
                    "spearman": values[one, other],
                    "candidates": len(table.candidates),
                    "pairs": math.comb(len(table.candidates), 2),
                    "reversed": len(found),
                    "reversed_told_apart": sum(each.told_apart for each in found),
                }
            )
    return pd.DataFrame(rows)


def encoder_agreement_figure(table: EncoderTable, score: str) -> go.Figure:
    """Draw the correlations as a grid; a cell's hover counts the pairs of candidates in opposite orders."""
    count = range(len(table.results))
    notes = [["" if one == other else _reversed_in_words(table, score, one, other) for other in count] for one in count]
    return correlation_grid(table.agreement(score), table.titles, notes)


def references_frame(found: Sequence[Reference], table: EncoderTable) -> pd.DataFrame:
    """Correlations with text measures and ratings: kind, title, n, then one column per encoder (NaN if undefined)."""
    names = encoder_names(table)
    return pd.DataFrame(
        [
            {
                "kind": each.kind,
                "title": each.title,
                "n": each.n,
                **{name: math.nan if value is None else value for name, value in zip(names, each.values, strict=True)},
            }
            for each in found
        ]
    )


def reference_title(reference: Reference) -> str:
    """The measure's title, or the question with ``rated`` before it."""
    return f"rated {reference.title}" if reference.kind == "ratings" else reference.title


def about_encoder(name: str, result: EncoderResult) -> str:
    """An encoder as on the command line, its dimension, the length of the human texts, texts cut, and notes."""
    parts = [name]
    if result.dimension is not None:
        parts.append(f"{result.dimension:,} dimensions")
    if result.tokens_median is not None:
        parts.append(f"median of {significant(result.tokens_median, 4)} tokens, {result.cut:,} texts cut")
    return "; ".join((*parts, *result.notes))


def encoders_in_words(table: EncoderTable, score: str) -> tuple[str, tuple[str, ...]]:
    """How far the encoders agree by one score, and the contradictions that chance does not explain.

    Returns
    -------
    str
        Two sentences.
    tuple of str
        The contradictions, a sentence for every two encoders, most of them first; a last one counts the rest.
    """
    values = table.agreement(score)
    upper = np.triu_indices(len(values), 1)
    known = [(values[pair], *pair) for pair in zip(*upper, strict=True) if not math.isnan(values[pair])]
    if not known:
        return f"Fewer than {FEWEST} candidates, or all tied: there are no rankings to compare.", ()
    least, most = min(known), max(known)
    spread = f"{correlation(least[0])} ({table.titles[least[1]]} and {table.titles[least[2]]})"
    if len(known) > 1:
        spread = f"between {spread} and {correlation(most[0])}"
    first = f"Spearman's correlation of two encoders' rankings by {SCORES[score].title} is {spread}."
    apart = _contradictions(table, score)
    if not apart:
        return f"{first} No two encoders contradict each other: whatever two both tell apart is in the same order.", ()
    pairs = len({frozenset((item.closer, item.farther)) for items in apart.values() for item in items})
    verb = "is" if pairs == 1 else "are"
    return (
        f"{first} Of {math.comb(len(table.candidates), 2)} pairs of candidates, {pairs} {verb} told apart by two "
        "encoders in opposite orders.",
        _sentences(table, apart),
    )


def _contradictions(table: EncoderTable, score: str) -> dict[tuple[int, int], list[Reversal]]:
    """The reversals that both of two encoders tell apart, by the two; most of them first."""
    found = {
        (one, other): [item for item in table.reversals(score, one, other) if item.told_apart]
        for one, other in combinations(range(len(table.results)), 2)
    }
    return dict(sorted(((two, items) for two, items in found.items() if items), key=lambda each: -len(each[1])))


def _sentences(table: EncoderTable, apart: Mapping[tuple[int, int], Sequence[Reversal]]) -> tuple[str, ...]:
    sentences = []
    for (one, other), items in list(apart.items())[:_NAMED_PAIRS]:
        named = " and ".join(f"{item.farther} before {item.closer}" for item in items[:_EXAMPLES])
        more = ", among others" if len(items) > _EXAMPLES else ""
        pairs = "1 pair" if len(items) == 1 else f"{len(items)} pairs"
        sentences.append(f"{table.titles[other]} contradicts {table.titles[one]} on {pairs}: it puts {named}{more}.")
    if len(apart) > _NAMED_PAIRS:
        sentences.append(f"So do {len(apart) - _NAMED_PAIRS} more pairs of encoders.")
    return tuple(sentences)


def _reversed_in_words(table: EncoderTable, score: str, one: int, other: int) -> str:
    found = table.reversals(score, one, other)
    pairs = math.comb(len(table.candidates), 2)
    return f"{len(found)} of {pairs} pairs reversed, {sum(each.told_apart for each in found)} told apart by both"


def _numbers(estimate: Estimate) -> dict[str, float]:
    sd = math.nan if estimate.sd is None else estimate.sd
    return {"mean": estimate.mean, "sd": sd, "low": estimate.low, "high": estimate.high}


# Columns of :func:`position_rows`.
HEADER = ("encoder", "untouched", "beginning shuffled", "end shuffled", "reads mostly the end")


def positions_in_words(table: PositionTable) -> str:
    """Say which encoders read mostly the end of a text."""
    ends = [title for title, each in zip(table.titles, table.results, strict=True) if each.reads_the_end]
    others = [title for title in table.titles if title not in ends]
    if not ends:
        return f"None of these encoders reads mostly the end of a text: {', '.join(others)}."
    said = (
        f"Shuffling the last 30% of the words moves texts farther than shuffling the first 70%, under every seed, for "
        f"{', '.join(ends)}: {'these read' if len(ends) > 1 else 'it reads'} mostly the end of a text and may miss "
        "what happens before."
    )
    return f"{said} No sign of that for {', '.join(others)}." if others else said


def position_rows(table: PositionTable) -> list[list[str]]:
    """One row per encoder, with the columns of ``HEADER``."""
    return [[title, *_cells(each)] for title, each in zip(table.titles, table.results, strict=True)]


def about_positions(table: PositionTable, words: Words) -> str:
    """What the numbers are."""
    seeds = len(table.results[0].untouched.values)
    spread = f"mean ± standard deviation over {seeds} k-means seeds" if seeds > 1 else "one k-means seed"
    return (
        f"Jensen-Shannon divergence, in nats, of {table.n:,} {words.reference_items} from {table.n:,} others: as they "
        f"are, with the first 70% of their words shuffled, and with the last 30%; {spread}. Yes: the shuffled end is "
        "farther under every seed, although shorter. One split says nothing about other texts. Compare columns, not "
        "rows."
    )


def _cells(found: EncoderPositions) -> list[str]:
    spreads: list[SeedSpread] = [found.untouched, found.beginning, found.end]
    return [*map(mean_and_spread, spreads), "yes" if found.reads_the_end else "no"]
