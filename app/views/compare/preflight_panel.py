"""A warning above the leaderboard where candidates differ from the human texts in format."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.caching import cache
from app.components.markup import escaped
from mauve_core.analysis.preflight import COLUMNS, headline, rule_sentence, shown_rows
from mauve_core.figures.theme import short_name


def show(run_id: str) -> None:
    """One line, which opens to a table; nothing where no format is flagged."""
    found = cache.preflight_of(run_id)
    if not found.flagged:
        return
    rows = [(kind, f"**{escaped(short_name(candidate))}**", *cells) for kind, candidate, *cells in shown_rows(found)]
    with st.expander(headline(found), icon=":material/warning:"):
        st.table(pd.DataFrame(rows, columns=list(COLUMNS)), border="horizontal", hide_index=True)
        st.caption(f"The scores below count these differences, too. {rule_sentence(found)}")
