"""The search for texts, which goes along from page to page: its fields, what it found, and the line that says so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mauve_app.caching import texts
from mauve_app.components.focus import Focus
from mauve_app.components.markup import escaped
from mauve_app.components.saying import said
from mauve_app.url import bound
from mauve_app.url.parameters import MAX_SEARCH, SEARCH, State
from mauve_core.analysis.selection import value_counts
from mauve_core.analysis.text_search import Shown, SourceShare, TextSearch, shares_found, spans
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import percent_with_interval
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures.theme import short_name
from mauve_core.store import Run

# By source, in the order of the map: which of its texts are found.
Found = dict[str, NDArray[np.bool_]]

_PANEL_WIDTH = 340
_HELP = (
    "Texts that contain all these words, in any order; upper and lower case are alike. `rain*`: words that begin so. "
    '`"heavy rain"`: the phrase. `-snow`: not this word.'
)
_PATTERN_HELP = (
    "Reads the query as a regular expression, with look-around and Unicode classes such as `\\p{Lu}`. Upper and lower "
    "case differ, unless it begins with `(?i)`."
)
_MARKING_SECONDS = 0.5
# Values of a field that are offered, besides the one in the link.
MOST_VALUES = 500


def of(run: Run, state: State) -> TextSearch:
    """The search that the URL describes, without what the run lacks."""
    known = state.search_field in _fields(run) and state.search_value is not None
    return TextSearch(
        query=state.search_query or "",
        as_pattern=state.search_pattern,
        source=state.search_source if state.search_source in _sources(run) else None,
        shortest=state.search_shortest,
        longest=state.search_longest,
        field=state.search_field if known else None,
        value=state.search_value if known else None,
        shown=_shown(run, state),
    )


def _shown(run: Run, state: State) -> Shown | None:
    """What the finding in the URL counts; None if the run has no such finding."""
    if state.search_finding is None:
        return None
    candidate, reference = findings_of(run, state)
    try:
        found = texts.findings(run.id, candidate, reference)
    except InputError:  # too few texts, which the page of findings says
        return None
    conditions = {each.key: each.condition for each in found}
    if state.search_finding not in conditions:
        return None
    items = run.comparison.words.items
    return Shown(reference, candidate, state.search_finding, conditions[state.search_finding], items)


def findings_of(run: Run, state: State) -> tuple[str, str]:
    """The candidate and the reference whose findings the URL means."""
    names = [candidate.name for candidate in run.comparison.candidates]
    candidate = state.candidate if state.candidate in names else names[0]
    usable = state.reference in _sources(run) and state.reference != candidate
    return candidate, str(state.reference) if usable else HUMAN


def found(run: Run, search: TextSearch) -> Found | None:
    """What the search found; None if it asks for nothing, or cannot be used, which is then said in place."""
    if not search.asks:
        return None
    try:
        return texts.found(run.id, search)
    except InputError as error:
        st.error(escaped(str(error)), icon=":material/search_off:")
        return None


def folded(run: Run, state: State) -> None:
    """The fields behind a button, for a page that shows something else first."""
    search = of(run, state)
    with (
        st.popover(f"Find {run.comparison.words.items}", icon=":material/search:", key="find"),
        st.container(width=_PANEL_WIDTH),
    ):
        query_field(state)
        narrowing(run, state)
        if search.asks:
            clear_button("find_clear_folded")


def query_field(state: State) -> None:
    """The query, and whether it is a regular expression."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            said("Find texts with"),
            placeholder='Words, "a phrase", begin*, -without',
            max_chars=MAX_SEARCH,
            help=said(_HELP),
            icon=":material/search:",
            **bound.bind("search_query", state.search_query or "", default=""),
        )
        st.toggle("Regular expression", help=_PATTERN_HELP, **bound.bind("search_pattern", state.search_pattern))


def narrowing(run: Run, state: State) -> None:
    """Source, length and metadata."""
    bound.selectbox(
        "search_source",
        "Source",
        [None, *_sources(run)],
        None,
        format_func=lambda name: "All" if name is None else run.comparison.words.source(name),
    )
    with st.container(horizontal=True):
        for field, label in (("search_shortest", "Words, at least"), ("search_longest", "At most")):
            st.number_input(
                label, min_value=0, step=10, placeholder="Any", width=150, **bound.bind(field, getattr(state, field))
            )
    fields = _fields(run)
    if not fields:
        return
    chosen = bound.selectbox("search_field", "Metadata", fields, None, placeholder="Any field")
    if chosen is not None:
        values = _values(run, chosen)
        offered = list(dict.fromkeys([*values[:MOST_VALUES], *({state.search_value} & set(values))]))
        some = "any" if len(offered) == len(values) else f"the {MOST_VALUES:,} most frequent"
        bound.selectbox("search_value", chosen, offered, None, placeholder=f"Choose {some} of {len(values):,} values")


def clear_button(key: str) -> None:
    st.button(
        "Clear the search", icon=":material/close:", type="tertiary", key=key, **bound.on_click(**dict.fromkeys(SEARCH))
    )


def line(here: Focus, search: TextSearch, masks: Found | None) -> None:
    """How many of the two sides' texts are found; nothing without a search."""
    if masks is None:
        return
    shares, words = (
        shares_found({name: masks[name] for name in (HUMAN, here.candidate)}, search),
        here.run.comparison.words,
    )
    parts = [f"{each.found:,} of {each.n:,} {_items_of(each.source, words)}, {share_in_words(each)}" for each in shares]
    with st.container(horizontal=True, vertical_alignment="center", key="found_line"):
        says = " and ".join(parts) or words.said("no text of these two sides")
        st.markdown(f":material/search: **{escaped(search.in_words())}**: {says}.", width="stretch")
        reads = "Read them" if here.run.comparison.has_words else "See them"
        st.page_link("views/texts/texts.py", label=reads, icon=":material/article:")
        clear_button("find_clear")


def found_spans(text: str, search: TextSearch | None) -> list[tuple[int, int]]:
    """Where a text has what was searched for, to mark it; nothing if it takes long to find."""
    if search is None:
        return []
    try:
        return spans(text, search, seconds=_MARKING_SECONDS)
    except InputError:  # the search itself has succeeded
        return []


def _items_of(source: str, words: Words) -> str:
    if source != HUMAN:
        return f"{words.items} by {escaped(short_name(source))}"
    return "texts by people" if words == TEXTS else words.reference_items


def share_in_words(each: SourceShare) -> str:
    """A share in percent, with its interval."""
    return percent_with_interval(each.share, each.low, each.high)


def stacked(masks: Found, names: Sequence[str]) -> NDArray[np.bool_]:
    """(n_total,) whether each text is found, in the order of the map."""
    return np.concatenate([masks[name] for name in names])


def _sources(run: Run) -> list[str]:
    return [source.name for source in run.comparison.sources]


def _fields(run: Run) -> list[str]:
    return list(dict.fromkeys(name for source in _sources(run) for name in run.corpora[source].metadata.columns))


def _values(run: Run, field: str) -> list[str]:
    """All values of a metadata field, the most frequent first."""
    counts: dict[str, int] = {}
    for source in _sources(run):
        metadata = run.corpora[source].metadata
        for value, count in (value_counts(metadata[field]) if field in metadata.columns else {}).items():
            counts[value] = counts.get(value, 0) + count
    return sorted(counts, key=lambda value: -counts[value])
