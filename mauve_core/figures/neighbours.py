"""Precision, recall, density and coverage against the number of neighbors k (JMLR 2023, section 7.6).

One panel per measure: a line per candidate, T(Q), and a blue one between two halves of the human texts, T(P). A dashed
guide marks the measures' own k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import UNKNOWN
from mauve_core.base.words import TEXTS, Words
from mauve_core.experiments.text_measures import measure_title
from mauve_core.experiments.text_measures.over_neighbours import NeighbourTable
from mauve_core.figures.measures import value_label
from mauve_core.figures.over_axis import PanelAxis, panels_over, record_of, texts_in_words

HUMAN_HALVES = "human halves"
_MOST_TICKS = 13


def neighbours_frame(table: NeighbourTable) -> pd.DataFrame:
    """All numbers of the table: one row per measure, candidate and k.

    Returns
    -------
    DataFrame
        measure, candidate, k, then T(Q) as ``model``, T(P) as ``human`` and |T(Q) - T(P)| as ``gap``, each with _sd,
        _low and _high (NaN where unknown); note.
    """
    return pd.DataFrame([record_of(row, "k", row.k) for row in table.rows])


def shown_table(table: NeighbourTable, measure: str, order: Sequence[str], words: Words = TEXTS) -> pd.DataFrame:
    """One measure as text: one row per k, the human halves and every candidate as columns."""
    lines = {name: {row.k: row for row in table.line(measure, name)} for name in _shown(table, order)}
    human = {k: row.human for line in lines.values() for k, row in line.items()}
    return pd.DataFrame(
        [
            {"k": k, words.said(HUMAN_HALVES): value_label(human.get(k))}
            | {name: value_label(line[k].model if k in line else None) for name, line in lines.items()}
            for k in table.ks
        ]
    )


def described(table: NeighbourTable) -> str:
    """Describe lines, bands, ± and the tests, with the numbers of texts."""
    texts = dict(table.settings.get("texts", {}))
    human = texts.pop(HUMAN, 0)
    return (
        f"Lines: candidates, T(Q), {texts_in_words(texts)} texts each, against {human:,} human texts; blue: human "
        f"halves, T(P), one of {human // 2:,} texts against the rest. Bands: intervals over texts, about 95%; ± one "
        f"standard deviation over texts (jackknife), {UNKNOWN} where none is available. Dashed: "
        f"k = {table.settings.get('own_neighbours')}, as under All measures. Each k is tested by itself, corrected for "
        "all pairs."
    )


def neighbours_figure(table: NeighbourTable, order: Sequence[str], words: Words = TEXTS) -> go.Figure:
    """Draw all measures; ``order`` is that of the run's candidates and sets their styles."""
    names = _shown(table, order)
    own = table.settings.get("own_neighbours")
    axis = PanelAxis("neighbors k", "k =", words.said(HUMAN_HALVES), _ticks(table.ks), own if own in table.ks else None)
    panels = {
        measure_title(measure): {name: [(row.k, row) for row in table.line(measure, name)] for name in names}
        for measure in table.measures
    }
    return panels_over(panels, names, order, axis)


def _shown(table: NeighbourTable, order: Sequence[str]) -> list[str]:
    return [name for name in order if name in table.candidates]


def _ticks(ks: Sequence[int]) -> dict[str, Any]:
    """A tick at every k if they are few; otherwise Plotly's own."""
    return {"tickvals": list(ks)} if len(ks) <= _MOST_TICKS else {"nticks": _MOST_TICKS}
