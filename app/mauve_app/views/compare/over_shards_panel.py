"""Scores over all texts of corpora in shards, where the run is a sample of these texts."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from mauve_app.components import verdict_lines
from mauve_app.components.markup import escaped
from mauve_core.base.errors import MauveLensError
from mauve_core.experiments.over_shards import (
    ABOUT,
    answers_over_all,
    is_sample,
    over_all_rows,
    sample_sentence,
    stored_over_shards,
)
from mauve_core.figures.theme import short_name
from mauve_core.store import Run


def show(run: Run) -> bool:
    """Who is closest over all texts, their scores, and that the run is a sample; nothing for other runs.

    Returns whether the rest of the page is of a sample.
    """
    try:
        found = stored_over_shards(run)
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return False
    if found is None:
        return False
    columns, rows = over_all_rows(found)
    with st.container(border=True, key="over_shards"):
        st.header("Over all texts", anchor=False, help=ABOUT)
        for said in answers_over_all(found, run):
            st.markdown(verdict_lines.in_markdown(said))
        cells = [(f"**{escaped(short_name(name))}**", *rest) for name, *rest in rows]
        st.table(pd.DataFrame(cells, columns=list(columns)), border="horizontal", hide_index=True)
        st.caption(sample_sentence(run, found))
    return is_sample(run, found)
