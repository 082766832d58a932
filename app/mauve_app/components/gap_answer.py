"""The sentence with which a cluster page opens: where the candidate adds most, and where it misses most."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from mauve_app.components import no_gap
from mauve_app.components.focus import Focus
from mauve_app.components.markup import escaped, swatch
from mauve_core.analysis.cluster_table import ADDS, MISSES, has_costs
from mauve_core.analysis.gap_table import ledger_rows
from mauve_core.base.formatting import percent_with_interval
from mauve_core.figures.theme import HUMAN_COLOUR, short_name


def show(here: Focus, table: pd.DataFrame) -> None:
    """The costliest cluster in either direction; that there is nothing to explain, if the test says so.

    ``table`` is the partition's, from ``cache.costed_table``.
    """
    if has_costs(table):
        st.markdown(sentence(here.candidate, here.colour, here.names, table))
    else:
        no_gap.show(here)


def sentence(candidate: str, colour: str, names: tuple[str, ...], table: pd.DataFrame) -> str:
    """The costliest cluster that the candidate adds to and that it misses, with their shares of the gap, in Markdown.

    A direction without clusters is left out. ``colour`` is the candidate's.
    """
    parts: list[str] = []
    for direction, shown in ((ADDS, colour), (MISSES, HUMAN_COLOUR)):
        rows = ledger_rows(table, direction, 1)
        if rows.empty:
            continue
        first = rows.iloc[0]
        share = percent_with_interval(first["share"], first["low"], first["high"])
        of = "" if parts else " of the gap"
        parts.append(f"{swatch(shown)} {direction} most in *{escaped(names[int(first['cluster'])])}*: {share}{of}")
    return f"**{escaped(short_name(candidate))}** {'; it '.join(parts)}." if parts else ""
