"""Methods: whether the ranking depends on the estimator or the encoder, and whether texts and clusters are enough."""

from __future__ import annotations

from mauve_app.components import folded, job_button, page_chrome, sidebar
from mauve_app.components.messages import or_error
from mauve_app.components.saying import said
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import MethodsSection
from mauve_app.views.methods import (
    encoder_form,
    encoder_table,
    method_form,
    method_table,
    position_table,
    sampling_panel,
)
from mauve_core.experiments.encoders import stored_encoders
from mauve_core.experiments.methods import stored_methods
from mauve_core.store import Run

SECTIONS: dict[MethodsSection, str] = {"methods": "Estimators", "encoders": "Encoders"}


def main() -> None:
    """Lay out the page."""
    head = page_chrome.head(
        "Methods", said("Does the ranking depend on how the gap is estimated, and are there enough texts?")
    )
    run = sidebar.opened_run()
    with head:
        section = bound.segmented_control(
            "methods_section", "Section", SECTIONS, key="url_methods_section", label_visibility="collapsed"
        )
    if section == "encoders":
        _encoders(run)
    else:
        _methods(run)


def _methods(run: Run) -> None:
    table = or_error(stored_methods, run)
    if table is None:
        page_chrome.nothing_yet(
            "Nothing has been computed yet.",
            "A score involves three choices: an **estimator** that turns features into two histograms, a "
            "**divergence** between them, and a **summary** of its frontier. MAUVE uses k-means, Kullback–Leibler and "
            "the area under the curve. Where other methods rank the candidates alike, the ranking does not depend on "
            "these choices.",
            f"Press *Compute* below, or run `mauve-lens methods {run.id} --preset divergences`. The preselected "
            "methods take seconds.",
        )
    else:
        method_table.show(run, table)
    if access.may_change():
        again = None if table is None else "Compute again with other methods"
        with job_button.box(method_form.slot(run), again):
            method_form.show(run, table)
    title = f"How many {run.comparison.words.items}, how many clusters"
    with folded.part(title, "methods_sampling", "straighten", asked=False) as part:
        if part.open:
            sampling_panel.show(run.id)


_OF_TEXTS = (
    ": a causal model's last token, an average over tokens, word vectors that know no order, or a sentence encoder "
    "that knows topics better than style"
)


def _encoders(run: Run) -> None:
    table = or_error(stored_encoders, run)
    if table is None:
        page_chrome.nothing_yet(
            said("The run's texts have been scored under one encoder only."),
            f"A score sees what its **encoder** sees{_OF_TEXTS if run.comparison.has_words else ''}. Where encoders "
            "rank the candidates alike, the ranking does not depend on this choice.",
            said(
                f"Press *Compute* below, or run `mauve-lens encoders {run.id}`. Texts that an encoder has not read yet "
                "take minutes."
            ),
        )
    else:
        encoder_table.show(run, table, session.current())
    position_table.show(run)
    if access.may_change():
        again = None if table is None else "Compute again with other encoders"
        with job_button.box(encoder_form.slot(run), again):
            encoder_form.show(run, table)


main()
