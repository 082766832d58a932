"""Two files of texts compared in sentences, without a run: two versions of a model, say; and a finding in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from mauve_app.bounded_cache import kept
from mauve_app.components import page_chrome, upload_cards
from mauve_app.components.markup import escaped
from mauve_app.selection import rows_of_event
from mauve_app.server import access
from mauve_app.uploaded_files import ReadFile
from mauve_app.url.bound import selection_of
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import MauveLensError
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures.theme import short_name
from mauve_core.findings.finding import Finding, findings_between
from mauve_core.texts import Corpus
from mauve_core.texts.text_files import TextFile

# Texts that are shown of the chosen finding.
SAMPLED = 3

_TABLE = "findings_files_table"


def show() -> None:
    """The folded part; nothing where nobody may upload."""
    if not access.may_change():
        return
    part = page_chrome.expander("Compare two files, without a run", "findings_files", "difference", asked=False)
    if not part.open:
        return
    with part:
        st.markdown(
            "Two versions of a model, say: the second file against the first. Texts are matched by prompt or id. "
            "Topics, and what a finding has to do with MAUVE, need a run."
        )
        read = upload_cards.show_side("findings", "Two files of texts", several=True)
        files = [each for each in read if each is not None]
        if len(files) != len(read):
            return  # the card of the other file says why
        if len(files) != 2:
            st.caption(f"Two files are compared; there {'is one' if len(files) == 1 else f'are {len(files)}'}.")
            return
        _compare(*files)


def _compare(first: ReadFile, second: ReadFile) -> None:
    try:
        found = _findings((first.name, first.file), (second.name, second.file))
        corpora = {each.name: _corpus(each.name, each.file) for each in (first, second)}
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    st.markdown(finding_in_markdown(found, second.name, first.name))
    if found:
        _table(found, corpora)


def _table(found: Sequence[Finding], corpora: dict[str, Corpus]) -> None:
    """The findings, and some texts that show the chosen one."""
    rows = [(each.statement, each.points) for each in found]
    st.dataframe(
        pd.DataFrame(rows, columns=["finding", "difference"]),
        key=_TABLE,
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        column_config={"finding": st.column_config.TextColumn(width="large")},
    )
    chosen = next((row for row in rows_of_event(selection_of(_TABLE)) if row < len(found)), 0)
    each = found[chosen]
    corpus = corpora[each.candidate if each.shown_by == "model" else each.reference]
    st.markdown(f"**{escaped(corpus.name)}**: {len(each.texts):,} texts {escaped(each.condition)}, such as")
    for row in each.texts[:SAMPLED]:
        with st.container(border=True):
            st.caption(escaped(corpus.ids[row]))
            st.text(corpus.texts[row])


@kept(max_entries=4)
def _corpus(name: str, file: TextFile) -> Corpus:
    return file.read(name)


@kept(max_entries=4, show_spinner="Testing statements about the texts")
def _findings(first: tuple[str, TextFile], second: tuple[str, TextFile]) -> tuple[Finding, ...]:
    return findings_between(_corpus(*first), _corpus(*second))


def finding_in_markdown(found: Sequence[Finding], candidate: str, reference: str, words: Words = TEXTS) -> str:
    """How many differences there are, and the clearest one."""
    name = f"**{escaped(short_name(candidate))}**"
    other, items = words.reference_items if reference == HUMAN else escaped(reference), words.items
    if not found:
        return f"No difference between {name} and {other} was found that holds for {items} that did not suggest it."
    first = found[0]
    ways = "one way" if len(found) == 1 else f"{len(found)} ways"
    return (
        f"{name} differs from {other} in **{ways}**, each confirmed on {items} that did not suggest it. Most clearly, "
        f"it **{escaped(first.does)}** ({escaped(first.numbers)})."
    )
