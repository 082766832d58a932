"""Every candidate at the size of human vs. human, folded under the leaderboard."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from mauve_app.components.markup import escaped
from mauve_core.figures import leaderboard
from mauve_core.figures.theme import short_name
from mauve_core.scoring.reference import LIKE_FOR_LIKE_NOTE, like_for_like_sentence
from mauve_core.store import Run


def show(run: Run) -> None:
    """The table at the run's own settings; nothing for a run without these scores."""
    columns, rows = leaderboard.like_for_like_rows(run.comparison)
    if not rows:
        return
    said = run.comparison.words.said
    part = st.expander(
        said("Like for like with human vs. human"), icon=":material/balance:", key="like_for_like", on_change="rerun"
    )
    if part.open:
        with part:
            cells = [
                (f"**{escaped(short_name(name))}**", *(each.replace("\n", "  \n") for each in rest))
                for name, *rest in rows
            ]
            st.table(pd.DataFrame(cells, columns=list(columns)), border="horizontal", hide_index=True)
            st.caption(said(f"{like_for_like_sentence(run.comparison)}  \n{LIKE_FOR_LIKE_NOTE}"))
