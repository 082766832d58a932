"""In what format the uploaded sides differ, before anything is started, and steps that make them alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from mauve_app.caching.format_check import FormatCheck, format_check
from mauve_app.components import normalize_choice
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.looks import ReadFile
from mauve_core.analysis.format_kinds import KINDS
from mauve_core.analysis.format_steps import steps_for
from mauve_core.analysis.preflight import COLUMNS, flagged_lines, headline, rule_sentence, shown_rows
from mauve_core.base.config import HUMAN
from mauve_core.corpus.normalizing_steps import EMPTIED, Change, title_of_step, titles_of_steps
from mauve_core.figures.theme import short_name

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
    steps = normalize_choice.show(STEPS, words=plain.words)
    checked = or_error(format_check, key, steps) if steps else plain
    if checked is None:
        return
    if steps:
        _effect(checked)
    with st.expander(f"All {len(KINDS)} kinds" + (", normalized" if steps else ""), key="format_kinds"):
        rows = shown_rows(checked.found, checked.found.rows)
        cells = [(kind, f"**{escaped(short_name(name))}**", *others) for kind, name, *others in rows]
        st.table(pd.DataFrame(cells, columns=list(COLUMNS)), border="horizontal", hide_index=True)
        st.caption(rule_sentence(checked.found))
    if plain.drawn < plain.of:
        st.caption(f"Checked on {plain.drawn:,} of {plain.of:,} texts, drawn at random from each side; all are scored.")


def _press(suggested: tuple[str, ...]) -> None:
    """A button for the steps that the flagged kinds need; none if they are ticked."""
    if set(suggested) <= set(normalize_choice.ticked(STEPS)):
        return
    st.button(
        f"Normalize: {titles_of_steps(suggested)}",
        key="normalize_flagged",
        icon=":material/format_clear:",
        on_click=normalize_choice.tick,
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
