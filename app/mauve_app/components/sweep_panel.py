"""A score as one setting changes: the stored sweep as a chart and a table, and the form that computes one."""

from __future__ import annotations

import re

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from mauve_app.components import charts, comparison_settings, jobs, page_chrome, scores
from mauve_app.components.jobs import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.components.page_chrome import words
from mauve_app.server import access
from mauve_app.url import bound
from mauve_app.url.parameters import ChartOrTable, State
from mauve_core.analyses.estimator_sweeps import (
    BANDWIDTH_RANGE,
    EstimatorSweep,
    SweepTask,
    stored_estimator_sweep,
    usual_parameters,
)
from mauve_core.analyses.methods import ESTIMATORS
from mauve_core.analyses.sweeps import Sweep, require_axis, stored_sweep, sweep_run, usual_values
from mauve_core.analyses.tasks import Amount
from mauve_core.base.config import ESTIMATOR_AXES, EVERY_AXIS, METHOD_SEEDS, Axis, EstimatorAxis
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import NONE
from mauve_core.figures import sweeps
from mauve_core.figures import sweeps as figures
from mauve_core.figures.leaderboard import titled
from mauve_core.figures.theme import short_name
from mauve_core.runs import Run
from mauve_core.scoring.tables import mean_and_spread
from mauve_core.stats.scores import SCORES

TABS: dict[ChartOrTable, str] = {"chart": "Chart", "table": "Table"}

# Question that each sweep answers, and how to read it.
QUESTIONS: dict[Axis, str] = {
    "length": "Would longer texts tell the candidates apart? Both sides are cut to the same number of tokens and "
    "encoded again.",
    "n": "Are there enough {items}? Where lines are flat and bands narrow, more {items} change little; where lines "
    "still move, compare only at equal n.",
    "k": "Does the ranking depend on the number of clusters? Few clusters hide differences; many leave too few {items} "
    "in each.",
    "scale": "How much does the constant c stretch the scores? A larger c spreads out good candidates and squeezes "
    "the others together near 0.",
    "decoder": "Which value of the decoder's parameter comes closest to the {reference_items} under the run's encoder? "
    "Every candidate is a point.",
    "neighbors": "Does the score by nearest neighbors depend on their number? Few neighbors are noisy, many blur small "
    "differences.",
    "components": "How many principal components do the estimators without bins need? Where lines cross, the ranking "
    "depends on the choice; in the papers 5 or 10 are enough.",
    "bandwidth": "Does the score by kernel density depend on the bandwidth? Narrow kernels take noise for divergence, "
    "wide ones blur differences.",
}

_VALUES_HELP: dict[Axis, str] = {
    "length": "Below 256 tokens, texts show little of what sets a model apart (JMLR 2023, section 8).",
    "n": "Fewer than 1,000 {items} per side are too few for small gaps (JMLR 2023, section 8).",
    "k": "The papers use a tenth of the {items} (500 for 5,000) and find the ranking stable for k from 100 to 5,000.",
    "scale": "The papers use 5.",
    "neighbors": "The papers use 50.",
    "components": "The papers use 5 or 10, and find the Gaussian unusable at 100.",
    "bandwidth": f"1 is the bandwidth of least log loss; from {BANDWIDTH_RANGE[0]:g} to {BANDWIDTH_RANGE[1]:g}.",
}

AXIS_TITLES = {str(axis): title for of in (figures.TITLES, sweeps.ESTIMATOR_TITLES) for axis, title in of.items()}
X_TITLES = {str(axis): title for of in (figures.X_TITLES, sweeps.PARAMETER_TITLES) for axis, title in of.items()}

_SEEDS_OF_PARAMETERS = "Only an estimator that draws uses them: the Gaussian."

_NUMBERS = re.compile(r"[\s,;]+")


def show(run: Run, state: State) -> None:
    """Controls, the sweep that the URL names if it has been computed, and the form."""
    axes = [axis for axis in EVERY_AXIS if axis in {state.sweep_axis} or axis != "length" or run.comparison.has_words]
    with st.container(horizontal=True, gap="medium"):
        bound.segmented_control("sweep_axis", "Score against", {axis: AXIS_TITLES[axis] for axis in axes})
        if state.sweep_axis not in ESTIMATOR_AXES:
            bound.segmented_control(
                "score",
                "Score",
                {score: titled(score) for score in SCORES},
                help=f"↑ larger is closer to the {run.comparison.words.reference_items}, ↓ smaller is. MAUVE is what "
                "the papers report.",
            )
    st.caption(run.comparison.words.fill(QUESTIONS[state.sweep_axis]))
    sweep = or_error(_stored, run, state.sweep_axis)
    if isinstance(sweep, EstimatorSweep):
        _estimator_result(run, sweep)
    elif sweep is not None:
        _result(run, sweep, state.score)
    if not access.may_change():
        if sweep is None:
            st.info("This sweep has not been computed.", icon=":material/info:")
        return
    obstacle = _obstacle(run, state.sweep_axis)
    if obstacle:
        st.info(escaped(obstacle), icon=":material/info:")
        if state.sweep_axis == "decoder":
            generating = bound.on_click(decoders_section="generate")
            st.button(f"Generate {words().items} with several values", icon=":material/edit_note:", **generating)
    elif sweep is None:
        page_chrome.nothing_yet(
            "This sweep has not been computed yet.",
            "It shows the score of every candidate at every value, with its spread over seeds: a ranking that holds "
            "over a range can be trusted more than one at a single setting.",
            f"Press *Compute* below, or run `mauve-lens sweep {run.id} --over {state.sweep_axis}`.",
        )
        with jobs.box(_slot(run, state.sweep_axis), None):
            _form(run, state.sweep_axis, None)
    else:
        title = "Compute again" if state.sweep_axis == "decoder" else "Compute again with other values"
        with jobs.box(_slot(run, state.sweep_axis), title):
            _form(run, state.sweep_axis, sweep)


def read_numbers(text: str) -> tuple[float, ...] | None:
    """Parse numbers separated by commas, semicolons or spaces; None for an empty text.

    Raises
    ------
    InputError
        The text contains anything else.
    """
    parts = [part for part in _NUMBERS.split(text) if part]
    try:
        return tuple(float(part) for part in parts) or None
    except ValueError as error:
        raise InputError("Not a list of numbers", allowed="such as 10, 20, 50", received=text) from error


def shown_table(sweep: Sweep, score: str) -> pd.DataFrame:
    """One score of the sweep as text, a row per value: mean and seed spread in ``line_0``, ``line_1`` ..., n, k.

    Columns are not named after the lines, because a candidate may have any name.
    """
    cells = {(point.value, point.candidate): point for point in sweep.points}
    rows = []
    for value in sweep.values:
        points = {line: cells.get((value, line)) for line in sweep.candidates}
        present = [point for point in points.values() if point is not None]
        row = {"value": f"{value:g}"}
        for index, point in enumerate(points.values()):
            row[f"line_{index}"] = NONE if point is None else mean_and_spread(point.scores[score])
        row["n"] = ", ".join(dict.fromkeys(f"{point.n:,}" for point in present))
        row["k"] = ", ".join(dict.fromkeys(f"{point.k:,}" for point in present))
        rows.append(row)
    return pd.DataFrame(rows)


def shown_estimators(sweep: EstimatorSweep) -> pd.DataFrame:
    """The sweep as text, a row per estimator and value, with columns as of :func:`shown_table`."""
    cells = {(point.method, point.value, point.candidate): point for point in sweep.points}
    rows = []
    for estimator in sweep.estimators:
        for value in sweep.values:
            row = {"estimator": ESTIMATORS[estimator].title, "value": f"{value:g}"}
            for index, name in enumerate(sweep.candidates):
                point = cells.get((estimator, value, name))
                row[f"line_{index}"] = NONE if point is None else sweeps.score_in_words(point)
            rows.append(row)
    return pd.DataFrame(rows)


def _stored(run: Run, axis: Axis) -> Sweep | EstimatorSweep | None:
    parameter = _parameter(axis)
    return stored_sweep(run, require_axis(axis)) if parameter is None else stored_estimator_sweep(run, parameter)


def _parameter(axis: Axis) -> EstimatorAxis | None:
    return next((parameter for parameter in ESTIMATOR_AXES if parameter == axis), None)


def _estimator_result(run: Run, sweep: EstimatorSweep) -> None:
    order = [candidate.name for candidate in run.comparison.candidates]
    name, title = f"{run.name}-{sweep.over}-sweep", f"{SCORES['mauve'].title} against {X_TITLES[sweep.over]}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header(title, anchor=False)
        st.space("stretch")
        charts.csv_button(lambda: sweeps.estimator_sweep_frame(sweep), key="sweep_csv", file_name=name)
    shown_as, tab = bound.open_tab("sweep_as", TABS, "sweep_tabs")
    with tab:
        if shown_as == "chart":
            _chart(sweeps.estimator_sweep_figure(sweep, order), sweep.over, name, f"{title}, by estimator")
        else:
            lines = enumerate(sweep.candidates)
            st.dataframe(
                shown_estimators(sweep),
                hide_index=True,
                key="sweep_table",
                column_config={
                    "estimator": st.column_config.TextColumn("Estimator", pinned=True),
                    "value": st.column_config.TextColumn(X_TITLES[sweep.over], pinned=True),
                    **{f"line_{index}": st.column_config.TextColumn(short_name(line)) for index, line in lines},
                },
            )
    about = sweeps.ABOUT_BANDS if shown_as == "chart" else sweeps.ABOUT_SPREADS
    st.caption(f"{words().fill(about)} {sweeps.about_default(sweep)}")
    _notes_and_settings(run, sweep)


def _chart(figure: go.Figure, over: Axis, file_name: str, what: str) -> None:
    alt = f"{what}; the table has the same numbers."
    charts.show_chart(figure, key=f"sweep_chart_{over}", file_name=file_name, alt=alt)


def _result(run: Run, sweep: Sweep, score: str) -> None:
    if any(score not in point.scores for point in sweep.points):
        st.info("This sweep is older than the score: compute it again.", icon=":material/info:")
        return
    order = [candidate.name for candidate in run.comparison.candidates]
    name = f"{run.name}-{sweep.over}-sweep"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header(f"{SCORES[score].title} against {figures.X_TITLES[sweep.over]}", anchor=False)
        st.space("stretch")
        charts.csv_button(lambda: figures.sweep_frame(sweep), key="sweep_csv", file_name=name)
    shown_as, tab = bound.open_tab("sweep_as", TABS, "sweep_tabs")
    with tab:
        if shown_as == "chart":
            figure = figures.sweep_figure(sweep, score, order, figures.own_values(sweep, run.comparison))
            _chart(figure, sweep.over, f"{name}-{score}", f"{titled(score)} against {figures.X_TITLES[sweep.over]}")
        else:
            _table(sweep, score)
    seeds = sweep.settings.get("seeds")
    over = "one seed" if seeds == 1 else f"{seeds} seeds"
    st.caption(
        f"Pairwise partition. Mean ± one standard deviation over {over}; all other settings are the run's own. "
        f"{_sizes(sweep)} {figures.about_leaderboard(sweep)}"
    )
    _notes_and_settings(run, sweep)


def _notes_and_settings(run: Run, sweep: Sweep | EstimatorSweep) -> None:
    order = [candidate.name for candidate in run.comparison.candidates]
    scores.note_generations(run, *(name for name in sweep.candidates if name in order))
    if sweep.notes:
        st.caption("  \n".join(f":material/info: {escaped(note)}" for note in sweep.notes))
    part = st.expander("Settings of this sweep", icon=":material/tune:", key="sweep_settings", on_change="rerun")
    if part.open:
        with part:
            comparison_settings.show_tree(sweep.settings)


def _table(sweep: Sweep, score: str) -> None:
    lines = enumerate(sweep.candidates)
    st.dataframe(
        shown_table(sweep, score),
        hide_index=True,
        key="sweep_table",
        column_config={
            "value": st.column_config.TextColumn(figures.X_TITLES[sweep.over], pinned=True),
            **{f"line_{index}": st.column_config.TextColumn(short_name(line)) for index, line in lines},
        },
    )


def _sizes(sweep: Sweep) -> str:
    parts = []
    for name, sizes in (("n", [point.n for point in sweep.points]), ("k", [point.k for point in sweep.points])):
        low, high = min(sizes), max(sizes)
        parts.append(f"{name} = {low:,}" if low == high else f"{name} from {low:,} to {high:,}")
    return f"{', '.join(parts)}."


def _obstacle(run: Run, axis: Axis) -> str:
    """Why the run cannot have this sweep; empty if it can, or if only trying will tell."""
    if axis == "length" and not run.comparison.has_words:
        return f"This sweep cuts texts, and this run compares {run.comparison.words.items}."
    if axis == "length" and run.comparison.config.encoder is None:
        return "This run was made from given features, so its texts cannot be cut and encoded again."
    if axis == "decoder":
        try:
            sweep_run(run, "decoder")
        except InputError as error:
            return str(error)
    return ""


def _usual(run: Run, axis: Axis) -> tuple[float, ...] | None:
    parameter = _parameter(axis)
    return usual_values(run, require_axis(axis)) if parameter is None else usual_parameters(run, parameter)


def _form(run: Run, axis: Axis, sweep: Sweep | EstimatorSweep | None) -> None:
    suffix = f"{run.id}_{axis}_{sweep is not None}"
    values, seeds = st.columns([4, 1])
    text = ""
    if axis == "decoder":
        values.caption("Values are those of the run's decoders; scores are the run's own.")
    else:
        initial = sweep.values if sweep is not None else _usual(run, axis)
        text = values.text_input(
            f"Values: {X_TITLES[axis]}",
            value=", ".join(f"{value:g}" for value in initial or ()),
            key=f"sweep_values_{suffix}",
            placeholder="if empty: the longest text, half of it, a quarter of it ..." if axis == "length" else None,
            help="Comma-separated numbers. " + words().fill(_VALUES_HELP.get(axis, "")),
        )
    parameter = _parameter(axis)
    own = run.comparison.config.score.seeds if parameter is None else METHOD_SEEDS
    count = seeds.number_input(
        "Seeds",
        1,
        1000,
        int((sweep.settings.get("seeds") if sweep is not None else None) or own),
        key=f"sweep_seeds_{suffix}",
        help=_SEEDS_OF_PARAMETERS
        if parameter is not None
        else f"More seeds estimate the spread better. The run has {own}"
        + ("; this sweep cannot have more." if axis in ("scale", "decoder") else "."),
    )

    def task() -> SweepTask:
        return SweepTask(run.id, axis, read_numbers(text), int(count))

    def amount() -> Amount | None:
        described = task()
        is_stored = axis == "length" and sweep is not None and set(described.values or ()) <= set(sweep.values)
        return None if is_stored else described.amount(run)  # their cut texts have been encoded

    jobs.button(_slot(run, axis), "Compute", task, amount=amount, boxed=sweep is not None)


def _slot(run: Run, axis: Axis) -> JobSlot:
    return JobSlot(f"sweep_start_{axis}", SweepTask.kind, run.id)
