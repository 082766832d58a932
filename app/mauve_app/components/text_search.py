"""The search for texts, which goes along from page to page: its fields, what it found, and the line that says so.

What was found is a list, a page at a time; the open text stands whole beside another source's text of the same prompt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from mauve_app import cache
from mauve_app.components import focus, texts
from mauve_app.components.focus import Focus
from mauve_app.components.markup import escaped, swatch
from mauve_app.components.page_chrome import words
from mauve_app.components.texts import about_text
from mauve_app.server.run_files import picture_url
from mauve_app.url import bound, session
from mauve_app.url.parameters import MAX_SEARCH, SEARCH, State, changed, to_query
from mauve_core.analyses.selection import Shown, SourceShare, TextSearch, excerpt, shares_found, spans, value_counts
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import percent_with_interval
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures.theme import HUMAN_COLOUR, candidate_colour, short_name
from mauve_core.findings.marked_texts import found_text
from mauve_core.runs import Run

# By source, in the order of the map: which of its texts are found.
Found = dict[str, NDArray[np.bool_]]

_PANEL_WIDTH = 340
_HELP = (
    "{Items} that contain all these words, in any order; upper and lower case are alike. `rain*`: words that begin so. "
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
        found = cache.text_findings(run.id, candidate, reference)
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
        return cache.texts_found(run.id, search)
    except InputError as error:
        st.error(escaped(str(error)), icon=":material/search_off:")
        return None


def search_button(run: Run, state: State) -> None:
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
            f"Find {words().items} with",
            placeholder='Words, "a phrase", begin*, -without',
            max_chars=MAX_SEARCH,
            help=words().fill(_HELP),
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
        says = " and ".join(parts) or f"no {words.item} of these two sides"
        st.markdown(f":material/search: **{escaped(search.in_words())}**: {says}.", width="stretch")
        reads = "Read them" if here.run.comparison.has_words else "See them"
        st.page_link("views/texts.py", label=reads, icon=":material/article:")
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


PAGE_SIZE = 8
# Letters before and after what was found, in the list.
BEFORE, AFTER = 24, 120


@st.fragment
def show_list(run: Run, search: TextSearch, places: np.ndarray) -> None:
    """The texts at those places of the run, and the open one; turning a page or choosing a text reruns nothing else."""
    state = session.current()
    wanted = np.flatnonzero(places == state.read_text) if state.read_text is not None else places[:0]
    opened = int(places[wanted[0]]) if wanted.size else int(places[0])
    page, pages = int(wanted[0]) // PAGE_SIZE + 1 if wanted.size else 1, -(-places.size // PAGE_SIZE)
    listed = places[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    bound.table(
        "read_text",
        listing(run, search, listed),
        listed.tolist(),
        key=f"texts_list_{page}_{places.size}",
        usual=opened,
        column_config={
            "picture": st.column_config.ImageColumn(width=70),
            "source": st.column_config.TextColumn(width=130),
            "id": st.column_config.TextColumn(width=90),
            "text": st.column_config.TextColumn("text" if run.comparison.has_words else "words", width="large"),
        },
    )
    if pages > 1:  # turning opens the page's first text
        turned = bound.bind(
            "read_text",
            page,
            key="texts_turn",
            keyword="default",
            changes=lambda turn: {"read_text": int(places[(turn - 1) * PAGE_SIZE])},
        )
        st.pagination(pages, max_visible_pages=5, **turned)
    show_text(run, search, opened)


def listing(run: Run, search: TextSearch, places: np.ndarray) -> pd.DataFrame:
    """Source, id and, of the texts at ``places``, what stands around the first place found, else the beginning."""
    stack, rows = cache.stack(run.id), []
    for place in places.tolist():
        name = stack.names[stack.source[place]]
        corpus, row = run.corpora[name], int(stack.position[place])
        text = corpus.texts[row]
        rows.append(
            (
                run.comparison.words.source(short_name(name)),
                corpus.ids[row],
                excerpt(text, found_spans(text, search), BEFORE, AFTER),
            )
        )
    table = pd.DataFrame(rows, columns=["source", "id", "text"])
    if run.corpora[HUMAN].media is not None:
        owners = [(stack.names[stack.source[place]], int(stack.position[place])) for place in places.tolist()]
        table.insert(0, "picture", [picture_url(run, name, row) for name, row in owners])
    return table


_HEIGHT = 360


def show_text(run: Run, search: TextSearch, place: int) -> None:
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
            f"Same {words().group}, by",
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
    codes = cache.prompt_numbers(run.id)
    if codes is None:
        return {}
    rows = {other: np.flatnonzero(own == codes[name][row]) for other, own in codes.items() if other != name}
    return {other: int(same[0]) for other, same in rows.items() if same.size}


def _text(run: Run, search: TextSearch, name: str, row: int) -> None:
    corpus = run.corpora[name]
    text = corpus.texts[row]
    with st.container(border=True, gap="xsmall", height=_HEIGHT if run.comparison.has_words else "content"):
        st.text(about_text(corpus, row))
        texts.picture(run, name, row)
        st.html(found_text(text, found_spans(text, search)))
    _cluster_link(run, name, row)


def _cluster_link(run: Run, name: str, row: int) -> None:
    """The text's cluster, in the clusters of its own source, or of the candidate in focus for a human text."""
    state = session.current()
    here = focus.of(run, state if name == HUMAN else changed(state, candidate=name))
    cluster = int(here.partition.labels[name][row])
    st.page_link(
        "views/clusters.py",
        label=f"In cluster: {escaped(here.names[cluster])}",
        icon=":material/bar_chart:",
        query_params=to_query(changed(state, candidate=here.candidate, cluster=cluster)),
    )
