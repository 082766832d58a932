"""Text measures against the length of the texts (JMLR 2023, figures 8 and 22).

One panel per measure: a line per candidate, T(Q), and a blue one of the human texts, T(P), if the measure has one. The
horizontal axis is logarithmic if the lengths lie on a wide scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import NONE, UNKNOWN
from mauve_core.base.words import TEXTS, Words
from mauve_core.experiments.text_measures.over_lengths import LengthTable, length_measure_title
from mauve_core.figures.measures import value_label
from mauve_core.figures.over_axis import PanelAxis, panels_over, record_of, texts_in_words

_MOST_TICKS = 8
# From this ratio of the largest to the smallest length on, the axis is logarithmic.
_WIDE = 4


def lengths_frame(table: LengthTable) -> pd.DataFrame:
    """All numbers of the table: one row per measure, candidate and length.

    Returns
    -------
    DataFrame
        measure, candidate, length, then T(Q) as ``model``, T(P) as ``human`` and |T(Q) - T(P)| as ``gap``, each with
        _sd, _low and _high (NaN where unknown); note.
    """
    return pd.DataFrame([record_of(row, "length", row.length) for row in table.rows])


def shown_table(table: LengthTable, measure: str, order: Sequence[str], *, gaps: bool = False) -> pd.DataFrame:
    """One measure as text: one row per length, the human texts and every candidate as columns; or the gaps."""
    lines = {name: {row.length: row for row in table.line(measure, name)} for name in _shown(table, order)}
    if gaps:
        return pd.DataFrame(
            [
                {"length": length}
                | {name: value_label(line[length].gap if length in line else None) for name, line in lines.items()}
                for length in table.lengths
            ]
        )
    human = {length: row.human for line in lines.values() for length, row in line.items()}
    return pd.DataFrame(
        [
            {"length": length, HUMAN: value_label(human.get(length))}
            | {name: value_label(line[length].model if length in line else None) for name, line in lines.items()}
            for length in table.lengths
        ]
    )


def described(table: LengthTable) -> str:
    """Describe lines, bands, ± and the tests, with the numbers of texts."""
    texts = dict(table.settings.get("texts", {}))
    human = texts.pop(HUMAN, 0)
    return (
        f"Lines: candidates, T(Q), {texts_in_words(texts)} texts each; blue: {human:,} human texts, T(P), where the "
        "measure has one. All texts are cut to that many tokens. Bands: intervals over texts, about 95%; ± one "
        f"standard deviation over texts (jackknife), {UNKNOWN} where none is available; {NONE} where the measure is "
        "not defined. Each length is tested by itself, corrected for all pairs."
    )


def lengths_figure(table: LengthTable, order: Sequence[str], words: Words = TEXTS) -> go.Figure:
    """Draw all measures; ``order`` is that of the run's candidates and sets their styles."""
    names = _shown(table, order)
    axis = PanelAxis("length in tokens", "length", words.source(HUMAN), _ticks(table.lengths), from_zero=False)
    panels = {
        length_measure_title(measure): {
            name: [(row.length, row) for row in table.line(measure, name)] for name in names
        }
        for measure in table.measures
    }
    return panels_over(panels, names, order, axis)


def _shown(table: LengthTable, order: Sequence[str]) -> list[str]:
    return [name for name in order if name in table.candidates]


def _ticks(lengths: Sequence[int]) -> dict[str, Any]:
    """A tick at every length if they are few; otherwise Plotly's own."""
    scale = {"type": "log"} if lengths and lengths[-1] >= _WIDE * lengths[0] else {}
    if len(lengths) > _MOST_TICKS:
        return {**scale, "nticks": _MOST_TICKS}
    return {**scale, "tickvals": list(lengths), "ticktext": [f"{length:,}" for length in lengths]}
