"""In what format the uploaded sides differ, before anything is started, and steps that make them alike.

Only some texts of each file are checked, as they are or after some steps of normalizing, and none are kept in memory.
The paths of uploads name their content, so they serve as keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
import streamlit as st

from mauve_app.bounded_cache import kept
from mauve_app.components import comparison_settings
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.uploaded_files import ReadFile
from mauve_core.base.config import HUMAN
from mauve_core.base.words import TEXTS
from mauve_core.figures.theme import short_name
from mauve_core.findings.format_checks import (
    COLUMNS,
    KINDS,
    Preflight,
    common_words,
    drawn_texts,
    flagged_lines,
    headline,
    preflight,
    rule_sentence,
    shown_rows,
    steps_for,
)
from mauve_core.texts import Corpus
from mauve_core.texts.normalizing import normalize
from mauve_core.texts.normalizing_steps import EMPTIED, Change, title_of_step, titles_of_steps
from mauve_core.texts.text_files import TextFile

# Session key of the ticked steps.
STEPS = "normalize"

_HELP = (
    "A score counts differences of format, too: white space, length, line breaks. You may start without changing "
    "anything."
)


def show(files: Sequence[ReadFile]) -> None:
    """The flagged kinds with what to do, the steps, what they would change, and all kinds in a folded table."""
    st.header("Format", anchor=False, help=_HELP)
    key = tuple((file.name, file.file) for file in files)
    plain = or_error(format_check, key)
    if plain is None:
        return
    if plain.found.shown:
        lines = "\n".join(f"- {escaped(line)}" for line in flagged_lines(plain.found))
        st.warning(f"{escaped(headline(plain.found))}\n\n{lines}", icon=":material/warning:")
    else:
        st.caption(escaped(headline(plain.found)))
    _press(steps_for(plain.found))
    steps = comparison_settings.pick_steps(STEPS, words=plain.words)
    checked = or_error(format_check, key, steps) if steps else plain
    if checked is None:
        return
    if steps:
        _effect(checked)
    with st.expander(f"All {len(KINDS)} kinds" + (", normalized" if steps else ""), key="format_kinds"):
        rows = shown_rows(checked.found, checked.found.rows)
        cells = [(kind, f"**{escaped(short_name(name))}**", *others) for kind, name, *others in rows]
        st.table(pd.DataFrame(cells, columns=list(map(TEXTS.fill, COLUMNS))), border="horizontal", hide_index=True)
        st.caption(rule_sentence(checked.found))
    if plain.drawn < plain.of:
        st.caption(f"Checked on {plain.drawn:,} of {plain.of:,} texts, drawn at random from each side; all are scored.")


def _press(suggested: tuple[str, ...]) -> None:
    """A button for the steps that the flagged kinds need; none if they are ticked."""
    if set(suggested) <= set(comparison_settings.ticked_steps(STEPS)):
        return
    st.button(
        f"Normalize: {titles_of_steps(suggested)}",
        key="normalize_flagged",
        icon=":material/format_clear:",
        on_click=comparison_settings.tick_steps,
        args=(STEPS, suggested),
        help="Ticks these steps below; untick them to undo it.",
    )


def _effect(checked: FormatCheck) -> None:
    changed = [f"- {escaped(line)}" for line in change_lines(checked.changes)]
    st.markdown("\n".join(changed))
    st.caption(f"Normalized: {escaped(headline(checked.found))}")


def change_lines(changes: Mapping[str, Sequence[Change]]) -> list[str]:
    """For each step, how many texts of every side it changes: "white space: 391 of 500 human texts, 0 of 500 of m"."""
    by_step: dict[str, list[str]] = {}
    for name, of_side in changes.items():
        for change in of_side:
            whose = "human texts" if name == HUMAN else f"of {short_name(name)}"
            by_step.setdefault(change.step, []).append(f"{change.count:,} of {change.of:,} {whose}")
    titles = {step: "left empty" if step == EMPTIED else title_of_step(step) for step in by_step}
    return [f"{titles[step]}: changes {', '.join(counts)}" for step, counts in by_step.items()]


# Name and file of each source, the human side first.
Files = tuple[tuple[str, TextFile], ...]


@dataclass(frozen=True)
class FormatCheck:
    """What the drawn texts show.

    Attributes
    ----------
    found : Preflight
        After the steps.
    changes : mapping of str to tuple of Change
        By source, what each step did to the drawn texts.
    drawn : int
        Number of texts of the side with the most drawn ones.
    of : int
        Number of texts of the largest side.
    words : int
        As ``mauve_core.findings.format_checks.common_words``, after the steps.
    """

    found: Preflight
    changes: Mapping[str, tuple[Change, ...]]
    drawn: int
    of: int
    words: int


@kept(max_entries=32, show_spinner="Checking the format")
def format_check(files: Files, steps: tuple[str, ...] = ()) -> FormatCheck:
    """Check uploaded files.

    Raises
    ------
    InputError
        A file cannot be read, or normalizing leaves nothing of a side.
    """
    found = {name: _drawn(name, file) for name, file in files}
    corpora = {name: corpus for name, (corpus, _) in found.items()}
    drawn, of = max(map(len, corpora.values())), max(total for _, total in found.values())
    corpora = normalize(corpora, steps) if steps else corpora
    changes = {name: corpus.normalized for name, corpus in corpora.items()}
    return FormatCheck(preflight(corpora), changes, drawn, of, common_words(corpora))


def _drawn(name: str, file: TextFile) -> tuple[Corpus, int]:
    """The drawn texts of a source, and how many it has."""
    corpus = replace(file, metadata_fields=()).read(name)
    return drawn_texts(corpus), len(corpus)
