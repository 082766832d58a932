"""Methods: whether the ranking depends on how the gap is estimated, and whether there are enough texts and clusters."""

from __future__ import annotations

from app.components import job_panel, page_chrome, sidebar
from app.components.messages import or_error
from app.server import access
from app.views.methods import method_form, method_table, sampling_panel
from mauve_core.experiments.methods import stored_methods


def main() -> None:
    """Lay out the page."""
    page_chrome.title("Methods", "Does the ranking depend on how the gap is estimated, and are there enough texts?")
    run = sidebar.opened_run()
    job_panel.show(("methods",), run.id)
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
        with page_chrome.form_box(None if table is None else "Compute again with other methods"):
            method_form.show(run, table)
    sampling_panel.show(run.id)


main()
