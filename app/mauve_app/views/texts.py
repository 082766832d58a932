"""Texts: all texts of the run, searched and read, each beside another source's text of the same prompt."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from mauve_app import cache
from mauve_app.components import charts, page_chrome, text_search
from mauve_app.components.markup import escaped
from mauve_app.components.page_chrome import words
from mauve_app.components.sidebar import opened_run
from mauve_app.components.text_search import Found, share_in_words
from mauve_app.selection import clicked_value
from mauve_app.url import bound, session
from mauve_app.url.parameters import changed, to_query
from mauve_core.analyses.selection import SourceShare, TextSearch, shares_found
from mauve_core.base.config import HUMAN
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures.findings import shares_figure
from mauve_core.figures.theme import short_name
from mauve_core.runs import Run

_WITHOUT = {"gap_tab": "what-if", "what_if_selection": "found"}
# Page, title, icon and what to change of the view.
_ELSEWHERE: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("views/clusters.py", "In which clusters", ":material/bar_chart:", {"clusters_order": "found"}),
    ("views/gap.py", "Scores without them", ":material/balance:", _WITHOUT),
    ("views/map.py", "On the map", ":material/scatter_plot:", {}),
)

_CHART = "texts_chart"
# Session key: the source of each row of the chart.
_SOURCES = "texts_sources"


def main() -> None:
    """Lay out the page."""
    page_chrome.head(
        words().items.capitalize(), f"What do {words().reference} and model {words().items} contain, and how often?"
    )
    run, state = opened_run(), session.current()
    search = text_search.of(run, state)
    with st.container(horizontal=True, vertical_alignment="bottom", key="texts_search"):
        text_search.query_field(state)
        with st.popover("Narrow down", icon=":material/filter_alt:", key="texts_narrow"):
            text_search.narrowing(run, state)
    found = text_search.found(run, search)
    if found is None:
        found = {source.name: np.ones(source.n, dtype=np.bool_) for source in run.comparison.sources}
        ways = "read them" if run.comparison.has_words else "look at them"
        st.markdown(f"{_everything(run)} Search them for words, or {ways} here.")
        _list(run, TextSearch(), found)
        return
    st.markdown(sentence(search, shares_found(found, search), run.comparison.words))
    with st.container(horizontal=True, vertical_alignment="center"):
        for page, title, icon, changes in _ELSEWHERE:
            st.page_link(page, label=title, icon=icon, query_params=to_query(changed(state, **changes)))
        text_search.clear_button("texts_clear")
    left, right = st.columns([2, 3], gap="medium")
    with left:
        _shares(run, search)
    with right:
        _list(run, search, found)


def _everything(run: Run) -> str:
    sources = run.comparison.sources
    return f"**{run.comparison.words.count(sum(source.n for source in sources))}** of {len(sources)} sources."


def sentence(search: TextSearch, shares: Sequence[SourceShare], words: Words = TEXTS) -> str:
    """How many texts are found, and in which share of the sources' texts, in Markdown."""
    total, n = sum(each.found for each in shares), sum(each.n for each in shares)
    parts = [f"**{escaped(search.in_words())}**: {total:,} of {n:,} {words.items}."]
    parts += [f"{words.reference.capitalize()}: {share_in_words(each)}." for each in shares if each.source == HUMAN]
    models = sorted((each for each in shares if each.source != HUMAN), key=lambda each: each.share)
    if len(models) == 1:
        parts.append(f"{escaped(short_name(models[0].source))}: {share_in_words(models[0])}.")
    elif models:
        least, most = (
            f"{share_in_words(each)} in {escaped(short_name(each.source))}" for each in (models[0], models[-1])
        )
        parts.append(f"Candidates: from {least} to {most}.")
    return " ".join(parts)


def _shares(run: Run, search: TextSearch) -> None:
    """The share of every source; all are counted, also while one is chosen."""
    everywhere = dataclasses.replace(search, source=None)
    found = text_search.found(run, everywhere)
    if found is None:
        return  # only a source was asked for
    shares = shares_found(found, everywhere)
    st.session_state[_SOURCES] = [each.source for each in shares]
    name = f"{run.name}-{run.comparison.words.items}-found"
    charts.show_chart(
        shares_figure(
            shares,
            [each.name for each in run.comparison.candidates],
            chosen=search.source,
            words=run.comparison.words,
        ),
        key=_CHART,
        file_name=name,
        on_select=_choose_source,
        selection_mode="points",
        alt=f"Share of each source's {words().items} that the search found, with its interval; the CSV has the "
        "numbers.",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f"Lines: 95% intervals by Wilson, each by itself. Click a row for its {words().items} alone.",
            width="stretch",
        )
        charts.csv_button(
            lambda: pd.DataFrame([vars(each) | {"share": each.share} for each in shares]),
            key="texts_csv",
            file_name=name,
        )


def _choose_source() -> None:
    row, sources = clicked_value(bound.selection_of(_CHART), 0), st.session_state[_SOURCES]
    if row is not None and row < len(sources):
        current = session.current().search_source
        session.update(search_source=None if sources[row] == current else sources[row])


def _list(run: Run, search: TextSearch, found: Found) -> None:
    """A page of what was found, and the open text."""
    stack = cache.stack(run.id)
    places = np.flatnonzero(text_search.stacked(found, stack.names))
    if not places.size:
        st.caption(f"No {words().item} has this. Search for fewer words, or for their beginnings: `rain*`.")
        return
    text_search.show_list(run, search, places)


if __name__ == "__main__":
    main()
