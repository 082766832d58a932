"""Form that starts a job: text measures to compute for a run, and the scoring model."""

from __future__ import annotations

from collections.abc import Collection as AbstractCollection
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mauve_app.components import job_button, model_picker
from mauve_app.components.job_button import JobSlot
from mauve_app.components.saying import said
from mauve_core.experiments.text_measures import MEASURES, Measure, measure_title
from mauve_core.store import Run
from mauve_core.tasks.measure import MeasureTask


def offered(run: Run) -> list[Measure]:
    """The measures that apply to what the run compares."""
    return [item for item in MEASURES.values() if run.comparison.has_words or "words" not in item.needs]


def show(run: Run, measured: AbstractCollection[str]) -> None:
    """Checkboxes for all measures; those in ``measured`` exist already and are initially unchecked."""
    has_features = all(run.features(source.name) is not None for source in run.comparison.sources)
    cheap = [item for item in offered(run) if "model" not in item.needs]
    with_model = [item for item in offered(run) if item not in cheap]
    left, right = st.columns(2, gap="medium")
    with left, st.container(border=True):
        st.markdown(said("**From texts and features**") if with_model else "**From features**")
        chosen = _boxes(run, cheap, measured, has_features=has_features, wanted=True)
        if not has_features:
            st.caption("This run was stored without features: measures that need them are left out.")
    costly, scorer = _with_model(right, run, with_model, measured) if with_model else ([], None)
    names = [*chosen, *costly]

    def task() -> MeasureTask:
        return MeasureTask(run.id, tuple(name for name in MEASURES if name in names), scorer)

    job_button.show(
        slot(run),
        "Measure",
        task,
        amount=lambda: task().amount(run),
        models=[] if scorer is None else [(scorer, None)],
        filled=bool(names),
        icon=":material/straighten:",
        boxed=bool(measured),
    )


def _with_model(
    box: DeltaGenerator, run: Run, items: Sequence[Measure], measured: AbstractCollection[str]
) -> tuple[list[str], str | None]:
    """Return the chosen measures that a model computes, and the model if there are any."""
    with box, st.container(border=True):
        st.markdown("**With a language model**")
        chosen = _boxes(run, items, measured, has_features=True, wanted=False)
        model = model_picker.show(
            "Scoring model",
            key="measure_model",
            causal=True,
            help_text=said("Reads every text. For measures of a decoder, choose the model that wrote the texts."),
        )
        texts = sum(source.n for source in run.comparison.sources)
        st.caption(
            f"The model reads {texts:,} texts. Measures of a decoder need its name: candidates named "
            "`nucleus:p=0.95`, or texts with a `decoder` column."
        )
    return chosen, model if chosen else None


def slot(run: Run) -> JobSlot:
    """Where the form's job stands."""
    return JobSlot("measure_start", MeasureTask.kind, run.id)


def _boxes(
    run: Run, items: Sequence[Measure], measured: AbstractCollection[str], *, has_features: bool, wanted: bool
) -> list[str]:
    chosen = []
    for item in items:
        is_measured = item.name in measured
        possible = has_features or "features" not in item.needs
        checked = st.checkbox(
            measure_title(item.name) + (" :green-badge[measured]" if is_measured else ""),
            value=wanted and possible and not is_measured,
            key=f"measure_{run.id}_{len(measured)}_{item.name}",
            disabled=not possible,
            help=said(f"{item.description} Larger: {item.larger}. {item.source}."),
        )
        if checked:
            chosen.append(item.name)
    return chosen
