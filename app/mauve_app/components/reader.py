"""One text whole, beside another source's text of the same prompt."""

from __future__ import annotations

import numpy as np
import streamlit as st

from mauve_app.caching import cache, texts
from mauve_app.components import contact_sheet, focus, text_search
from mauve_app.components.markup import escaped, swatch
from mauve_app.components.saying import said
from mauve_app.components.texts import about_text
from mauve_app.url import bound, session
from mauve_app.url.parameters import changed, to_query
from mauve_core.analysis.text_marks import found_text
from mauve_core.analysis.text_search import TextSearch
from mauve_core.base.config import HUMAN
from mauve_core.figures.theme import HUMAN_COLOUR, candidate_colour
from mauve_core.store import Run

_HEIGHT = 360


def show(run: Run, search: TextSearch, place: int) -> None:
    """The text at that place of the run, and its partner if another source has the prompt."""
    stack = cache.stack(run.id)
    name, row = stack.names[stack.source[place]], int(stack.position[place])
    others = partners(run, name, row)
    prompts = run.corpora[name].prompts
    if prompts is not None and prompts[row]:
        st.caption("Prompt")
        st.text(prompts[row])
    left, right = st.columns(2, gap="medium", vertical_alignment="bottom") if others else (st.container(), None)
    with left:
        st.markdown(f"{swatch(_colour(run, name))} **{escaped(run.comparison.words.source(name))}**")
        _text(run, search, name, row)
    if right is None:
        return
    state = session.current()
    usual = next(each for each in (state.reference, HUMAN, state.candidate, *others) if each in others)
    with right:
        beside = bound.selectbox(
            "beside",
            said("Same prompt, by"),
            list(others),
            usual,
            omit_default=False,
            format_func=run.comparison.words.source,
            label_visibility="collapsed",
        )
        _text(run, search, beside, others[beside])


def _colour(run: Run, name: str) -> str:
    if name == HUMAN:
        return HUMAN_COLOUR
    return candidate_colour([candidate.name for candidate in run.comparison.candidates], name)


def partners(run: Run, name: str, row: int) -> dict[str, int]:
    """The first text of the same prompt of every other source that has one, by row."""
    codes = texts.prompts(run.id)
    if codes is None:
        return {}
    rows = {other: np.flatnonzero(own == codes[name][row]) for other, own in codes.items() if other != name}
    return {other: int(same[0]) for other, same in rows.items() if same.size}


def _text(run: Run, search: TextSearch, name: str, row: int) -> None:
    corpus = run.corpora[name]
    text = corpus.texts[row]
    with st.container(border=True, gap="xsmall", height=_HEIGHT if run.comparison.has_words else "content"):
        st.text(about_text(corpus, row))
        contact_sheet.picture(run, name, row)
        st.html(found_text(text, text_search.found_spans(text, search)))
    _cluster_link(run, name, row)


def _cluster_link(run: Run, name: str, row: int) -> None:
    """The text's cluster, in the clusters of its own source, or of the candidate in focus for a human text."""
    state = session.current()
    here = focus.of(run, state if name == HUMAN else changed(state, candidate=name))
    cluster = int(here.partition.labels[name][row])
    st.page_link(
        "views/clusters/clusters.py",
        label=f"In cluster: {escaped(here.names[cluster])}",
        icon=":material/bar_chart:",
        query_params=to_query(changed(state, candidate=here.candidate, cluster=cluster)),
    )
