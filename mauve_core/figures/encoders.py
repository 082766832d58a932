"""Scores of the candidates under several encoders, and how far the encoders agree, in a sentence, tables and a grid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from mauve_core.base.config import HUMAN, SCORES
from mauve_core.base.formatting import NONE, correlation, significant
from mauve_core.experiments.encoders import EncoderResult, EncoderTable, Reference, Reversal, written
from mauve_core.experiments.encoders.table import FEWEST
from mauve_core.figures.agreement import correlation_grid
from mauve_core.scoring.result import Estimate
from mauve_core.scoring.tables import TITLES, interval_of, mean_and_spread, rank_label

# Largest numbers of pairs of encoders that are named, and of pairs of candidates for each; the others are counted.
_NAMED, _EXAMPLES = 4, 2

_GIVEN = "features given"


def encoder_names(table: EncoderTable) -> tuple[str, ...]:
    """Every encoder as the command line takes it."""
    own = table.results[0].encoder
    return tuple(_GIVEN if each.encoder is None else written(each.encoder, own) for each in table.results)


def scores_frame(table: EncoderTable) -> pd.DataFrame:
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
        for score in SCORES:
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


def agreement_frame(table: EncoderTable) -> pd.DataFrame:
    """One row per score and two encoders.

    Returns
    -------
    DataFrame
        score, first, second (titles), spearman (NaN if undefined), candidates, pairs (of candidates), reversed (pairs
        in opposite orders), reversed_told_apart (those that both encoders tell apart).
    """
    rows = []
    for score in SCORES:
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


def agreement_figure(table: EncoderTable, score: str) -> go.Figure:
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


def in_words(table: EncoderTable, score: str) -> tuple[str, tuple[str, ...]]:
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
    first = f"Spearman's correlation of two encoders' rankings by {TITLES[score]} is {spread}."
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
    for (one, other), items in list(apart.items())[:_NAMED]:
        named = " and ".join(f"{item.farther} before {item.closer}" for item in items[:_EXAMPLES])
        more = ", among others" if len(items) > _EXAMPLES else ""
        pairs = "1 pair" if len(items) == 1 else f"{len(items)} pairs"
        sentences.append(f"{table.titles[other]} contradicts {table.titles[one]} on {pairs}: it puts {named}{more}.")
    if len(apart) > _NAMED:
        sentences.append(f"So do {len(apart) - _NAMED} more pairs of encoders.")
    return tuple(sentences)


def _reversed_in_words(table: EncoderTable, score: str, one: int, other: int) -> str:
    found = table.reversals(score, one, other)
    pairs = math.comb(len(table.candidates), 2)
    return f"{len(found)} of {pairs} pairs reversed, {sum(each.told_apart for each in found)} told apart by both"


def _numbers(estimate: Estimate) -> dict[str, float]:
    sd = math.nan if estimate.sd is None else estimate.sd
    return {"mean": estimate.mean, "sd": sd, "low": estimate.low, "high": estimate.high}
