"""Scores over all texts of corpora in shards, of which the run has a sample, or all."""

from __future__ import annotations

from contextlib import suppress

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
    same_texts,
    sample_sentence,
    stored_over_shards,
)
from mauve_core.figures.theme import short_name
from mauve_core.shards.result import ShardedComparison
from mauve_core.store import Run


def show(run: Run) -> bool:
    """Who is closest over all texts, their scores, and that the run is a sample; nothing for other runs.

    Returns whether the rest of the page is of a sample.
    """
    found = _read(run)
    if found is None:
        return False
    if not is_sample(run, found):  # the page's own answer is about the same texts
        for said in same_texts(found):
            st.markdown(verdict_lines.in_markdown(said))
        return False
    with st.container(border=True, key="over_shards"):
        st.header("Over all texts", anchor=False, help=ABOUT)
        for said in answers_over_all(found, run):
            st.markdown(verdict_lines.in_markdown(said))
        _table(found)
        st.caption(sample_sentence(run, found))
    return True


def show_equal(run: Run) -> None:
    """The scores over all texts, folded, if the run has all of them."""
    with suppress(MauveLensError):  # the top of the page says so
        found = stored_over_shards(run)
        if found is not None and not is_sample(run, found):
            with st.expander("Over all texts, from shards", icon=":material/stacks:", key="over_shards"):
                st.caption(f"{sample_sentence(run, found)} {ABOUT}")
                _table(found)


def _read(run: Run) -> ShardedComparison | None:
    try:
        return stored_over_shards(run)
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return None


def _table(found: ShardedComparison) -> None:
    columns, rows = over_all_rows(found)
    cells = [(f"**{escaped(short_name(name))}**", *rest) for name, *rest in rows]
    st.table(pd.DataFrame(cells, columns=list(columns)), border="horizontal", hide_index=True)
