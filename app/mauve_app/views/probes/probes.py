"""Probes: how scores react to deliberately changed texts or images, which of them move, and one text to try."""

from __future__ import annotations

import streamlit as st

from mauve_app.components import job_button, page_chrome, sidebar
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.components.saying import said
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import ProbesSection, State
from mauve_app.views.probes import probe_flow, probe_form, probe_table, text_lab
from mauve_core.corpus.kinds import kind_of
from mauve_core.experiments.robustness import ProbeTable, stored_probes
from mauve_core.store import Run

SECTIONS: dict[ProbesSection, str] = {
    "scores": "What the score notices",
    "flow": "Which texts move",
    "text": "Try a text",
}


ABOUT_TEXTS = (
    "Half of the texts are **changed on purpose** (articles dropped, words shuffled, letters mistyped) and compared "
    "with the other half. A score that sees meaning should hardly notice missing articles but should notice shuffled "
    "words. The same halves, untouched, are the noise floor, and the texts that change clusters show what the features "
    "see."
)
ABOUT_IMAGES = (
    "Half of the images are **changed on purpose** (stored as JPEG, blurred, flipped) and compared with the other "
    "half. A score that sees what images show should hardly notice a flip but should notice a strong blur. The same "
    "halves, untouched, are the noise floor, and the images that change clusters show what the features see."
)


def main() -> None:
    """Lay out the page."""
    head = page_chrome.head("Probes", "Which deliberate changes does the score notice, and which does it miss?")
    run, state = sidebar.opened_run(), session.current()
    if not kind_of(run.comparison.human.kind).probes:
        st.info(f"Nothing perturbs {run.comparison.words.items}, so there is nothing to probe.", icon=":material/info:")
        page_chrome.end()
    with head:
        section = bound.segmented_control(
            "probes_section", "Part", _sections(run), key="url_probes_section", label_visibility="collapsed"
        )
    if section == "text":
        text_lab.show(run)
        return
    table = or_error(stored_probes, run)
    wrong = probe_form.obstacle(run)
    if table is None:
        page_chrome.nothing_yet(
            "Nothing has been probed yet.",
            ABOUT_TEXTS if run.comparison.has_words else ABOUT_IMAGES,
            escaped(wrong)
            or f"Press *Probe* below, or run `mauve-lens probe {run.id}`. The changed {run.comparison.words.items} are "
            "encoded again, so this needs the run's encoder.",
        )
    elif section == "flow":
        probe_flow.show(run, table, state)
    else:
        probe_table.show(run, table, state)
    _form(run, state, table, wrong)


def _sections(run: Run) -> dict[ProbesSection, str]:
    """The parts of the page; only texts can be typed, and so tried."""
    words = run.comparison.words
    shown = {name: words.said(title) for name, title in SECTIONS.items()}
    return shown if run.comparison.has_words else {name: shown[name] for name in shown if name != "text"}


def _form(run: Run, state: State, table: ProbeTable | None, wrong: str) -> None:
    if not access.may_change():
        return
    if table is not None and wrong:
        st.info(escaped(wrong), icon=":material/info:")
    elif not wrong:
        again = None if table is None else said("Probe again with other perturbations or texts")
        with job_button.box(probe_form.slot(run), again):
            probe_form.show(run, state, table)


main()
