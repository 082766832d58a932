"""Decoders: what each does to a model's texts, how its parameter changes the score, and texts under other decoders."""

from __future__ import annotations

from mauve_app.caching import cache
from mauve_app.components import job_button, page_chrome, saying, sidebar, sweep_panel
from mauve_app.components.messages import or_error
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import DecodersSection, State
from mauve_app.views.decoders import measure_form, measure_table, study_form, variety
from mauve_core.base.errors import MauveLensError
from mauve_core.experiments.text_measures.stored import stored_measurements
from mauve_core.store import Run

TITLES: dict[DecodersSection, str] = {
    "measures": "Measures",
    "variety": "Variety",
    "sweeps": "Sweeps",
    "generate": "Generate",
}


# Ways in which texts differ, and how long measuring takes.
_OF_TEXTS = (
    "**too predictable** or **too surprising** (perplexity), **too repetitive** or **too diverse** (repetition, "
    "distinct-4, self-BLEU), too short or too long",
    "Those on the left take seconds to minutes; for those on the right, a model reads every text.",
)

_OF_FEATURES = "**unlike** the human texts (precision), or **too much alike** (recall, coverage, the Vendi score)"


def main() -> None:
    """Lay out the page."""
    head = page_chrome.head(
        saying.said("Decoders"), saying.said("Which decoder should a model use, and how should it be set?")
    )
    state = session.current()
    offered = _offered(state)
    usual = _usual_section(state) if access.may_change() else "measures"
    # the default section changes once there is a run
    with head:
        section = bound.segmented_control(
            "decoders_section",
            "Section",
            offered,
            usual,
            key="url_decoders_section",
            omit_default=False,
            label_visibility="collapsed",
        )
    if section == "generate":
        study_form.show(_run_if_any(state))
        return
    run = sidebar.opened_run()
    if section == "sweeps":
        sweep_panel.show(run, state)
        return
    if section == "variety":
        page_chrome.require_words(run)
        variety.show(run)
    else:
        _measures(run)


def _offered(state: State) -> dict[DecodersSection, str]:
    """Sections by name: what changes something where one may, those about texts for texts or where a link asks."""
    about_texts, asked = ("variety", "generate"), state.decoders_section
    offered = [name for name in TITLES if saying.kind().has_words or name not in about_texts or name == asked]
    return {name: TITLES[name] for name in offered if access.may_change() or name != "generate"}


def _usual_section(state: State) -> DecodersSection:
    return "measures" if cache.opened_run_id(state.run) is not None else "generate"


def _run_if_any(state: State) -> Run | None:
    run_id = cache.opened_run_id(state.run)
    try:
        return None if run_id is None else cache.load_run(run_id)
    except MauveLensError:
        return None  # a study needs no run; the other sections report the error


def _measures(run: Run) -> None:
    measurements = or_error(stored_measurements, run)
    measured = () if measurements is None else measurements.measures
    if measurements is None or not measured:
        words = run.comparison.words
        ways, how_long = _OF_TEXTS if run.comparison.has_words else (_OF_FEATURES, "They take seconds to minutes.")
        page_chrome.nothing_yet(
            "Nothing has been measured yet.",
            words.said(
                f"A score says how far a candidate is from the human texts; measures say in what way: {ways}. Each is "
                "T(Q) of a candidate next to T(P) of the human texts; the gap between the two is what counts."
            ),
            f"Press *Measure* below, or run `mauve-lens measure {run.id}`. {how_long}",
        )
        if access.may_change():
            measure_form.show(run, measured)
        return
    measure_table.show(run, measurements)
    if not access.may_change():
        return
    missing = len({item.name for item in measure_form.offered(run)} - set(measured))
    title = f"Measure the other {missing}, or measure again" if missing else "Measure again"
    with job_button.box(measure_form.slot(run), title):
        measure_form.show(run, measured)


main()
