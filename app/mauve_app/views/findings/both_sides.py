"""Pictures of both sides for a finding: those that show it beside those of the other side of which it is not so."""

from __future__ import annotations

import streamlit as st

from mauve_app.components import texts
from mauve_app.components.markup import escaped
from mauve_core.analysis.findings.finding import Finding, contrasted
from mauve_core.base.config import HUMAN
from mauve_core.figures.theme import HUMAN_COLOUR, candidate_colour, short_name
from mauve_core.store import Run


def show(run: Run, finding: Finding) -> None:
    """A sheet for either side, the reference first."""
    names = (finding.reference, finding.candidate)
    titles = [run.comparison.words.reference.capitalize() if name == HUMAN else short_name(name) for name in names]
    shown, other = titles if finding.shown_by == "human" else titles[::-1]
    st.caption(
        f"{escaped(shown)}: {finding.words.items} that {escaped(finding.condition)}. "
        f"{escaped(other)}: those of which this is not so."
    )
    sides = contrasted(finding, *(len(run.corpora[name]) for name in names))
    for place, name, title, indices, field in zip(
        st.columns(2, gap="medium"), names, titles, sides, ("human_text", "model_text"), strict=True
    ):
        with place:
            texts.show_texts(
                run, name, indices, field, title=title, colour=_colour(run, name), pager=False, key=f"findings_{field}"
            )


def _colour(run: Run, name: str) -> str:
    return HUMAN_COLOUR if name == HUMAN else candidate_colour([each.name for each in run.comparison.candidates], name)
