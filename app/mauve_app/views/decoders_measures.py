"""Text measures of a run: all of them as panels and as a table, a ranking by one, a plot of two, and their form.

Folded under the ranking: the difference of every two candidates by one measure, measures over the length of the texts,
and precision, recall, density and coverage over the number of neighbors, each with the form that computes it.
"""

from __future__ import annotations

from collections.abc import Collection as AbstractCollection
from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mauve_app import cache
from mauve_app.bounded_cache import kept_by_run
from mauve_app.components import charts, comparison_settings, jobs, page_chrome, scores
from mauve_app.components.jobs import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.components.page_chrome import words
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import MeasuresTab
from mauve_core.analyses.feature_measures import NEIGHBOURS
from mauve_core.analyses.measure_terms import CONFIDENCE, Measure, Measurements
from mauve_core.analyses.measures_over_lengths import ATTACHMENT as LENGTHS_ATTACHMENT
from mauve_core.analyses.measures_over_lengths import (
    OVER_LENGTH,
    LengthsTask,
    LengthTable,
    length_measure_title,
    lengths_in,
    stored_lengths,
)
from mauve_core.analyses.measures_over_lengths import order_sentence as length_order_sentence
from mauve_core.analyses.measures_over_neighbours import ATTACHMENT as NEIGHBOURS_ATTACHMENT
from mauve_core.analyses.measures_over_neighbours import (
    USUAL,
    NeighboursTask,
    NeighbourTable,
    numbers_of_neighbours,
    stored_neighbours,
)
from mauve_core.analyses.measures_over_neighbours import order_sentence as neighbour_order_sentence
from mauve_core.analyses.text_measures import (
    MEASURES,
    MeasureTask,
    closest_sentence,
    measure_tests_sentence,
    measure_title,
    ranked_tests,
)
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import NONE, UNKNOWN
from mauve_core.base.words import TEXTS
from mauve_core.figures import differences
from mauve_core.figures import measures as figures
from mauve_core.figures import measures as length_figures
from mauve_core.figures import measures as neighbour_figures
from mauve_core.figures.theme import short_name
from mauve_core.runs import ATTACHED, Run
from mauve_core.scoring.tables import mean_and_spread, rank_label, standings

TABS: dict[MeasuresTab, str] = {
    "closeness": "Closeness",
    "diversity": "Diversity and length",
    "likelihood": "Likelihood",
    "table": "Table",
}
# Default measures of the plot's horizontal axis, in order of preference.
_QUALITY = ("perplexity", "repetition", "zipf", "length", "precision")

# The same for the vertical axis.
_DIVERSITY = ("distinct", "diversity", "self-bleu", "length", "recall")


def show(run: Run, measurements: Measurements) -> None:
    """Show everything that was measured."""
    order = [candidate.name for candidate in run.comparison.candidates]
    scores.show_closest(run)
    _overview(run, measurements, order)
    state = session.current()
    asked = state.ranking_measure is not None
    with page_chrome.expander(
        "Ranking by one measure", "measures_ranking", "format_list_numbered", asked=asked
    ) as part:
        if part.open:
            _ranking(run, measurements, order)
    names = [name for name in measurements.measures if any(_has(measurements, name, other) for other in order)]
    if len(names) > 1:
        asked = state.plot_x_measure is not None or state.plot_y_measure is not None
        with page_chrome.expander("Quality against diversity", "measures_plane", "scatter_plot", asked=asked) as part:
            if part.open:
                _plane(run, measurements, order, names)
    _over_neighbours(run, order)
    if run.comparison.has_words:
        _over_lengths(run, order)
    _settings(measurements)


def overview_tables(run: Run, measurements: Measurements, order: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """T of every source and the candidates' gaps, as text: a row per source, a column per measure.

    The second column is MAUVE, mean and spread over seeds.
    """
    values = [{"source": run.comparison.words.source(HUMAN), "mauve": ""}]
    values += [{"source": name, "mauve": _mauve(run, name)} for name in order]
    gaps = [dict(row) for row in values[1:]]
    for measure in measurements.measures:
        rows = {name: measurements.row(measure, name) for name in order}
        human = next((row.human for row in rows.values() if row is not None and row.human is not None), None)
        values[0][measure] = figures.value_label(human)
        for index, row in enumerate(rows.values()):
            values[index + 1][measure] = figures.value_label(None if row is None else row.model)
            gaps[index][measure] = figures.value_label(None if row is None else row.gap)
    return pd.DataFrame(values), pd.DataFrame(gaps)


def _overview(run: Run, measurements: Measurements, order: Sequence[str]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header(
            "All measures",
            anchor=False,
            help=run.comparison.words.fill(
                "T(Q) of every candidate next to T(P) of the {reference_items}. No measure says which {items} are "
                "better: a good candidate lies where the {reference_items} do."
            ),
        )
        st.space("stretch")
        frame = figures.measures_frame(measurements, order)
        charts.csv_button(lambda: frame, key="measures_csv", file_name=f"{run.name}-measures")
    groups = grouped(measurements.measures)
    shown_as, tab = bound.open_tab("measures_as", {name: TABS[name] for name in (*groups, "table")}, "measures_tabs")
    with tab:
        if shown_as in groups:
            first = shown_as == next(iter(groups))
            mauve = {item.name: item.scores["mauve"] for item in run.comparison.candidates} if first else None
            charts.show_chart(
                figures.panels_figure(measurements, order, groups[shown_as], mauve, words=run.comparison.words),
                key="measures_chart",
                file_name=f"{run.name}-{shown_as}",
                alt=f"{TABS[shown_as]}: every candidate next to the {words().reference} value; the table has the same "
                "numbers.",
            )
        else:
            values, gaps = overview_tables(run, measurements, order)
            st.caption(f"T, {run.comparison.words.reference_items} first")
            _wide_table(values, "measures_values")
            st.caption("Gap |T(Q) − T(P)|")
            _wide_table(gaps, "measures_gaps")
    st.caption(
        f"Blue line: {run.comparison.words.reference_items}, T(P). Dots: candidates, T(Q). Line and band: the interval "
        f"over {run.comparison.words.items}, about 95%; "
        f"{figures.spreads_in_words(measurements, run.comparison.words)}, {UNKNOWN} where none is available; of MAUVE, "
        f"over k-means seeds. {run.comparison.human.n:,} {run.comparison.words.reference_items}."
    )


def grouped(measures: Sequence[str]) -> dict[MeasuresTab, list[str]]:
    """The tabs with charts: groups that have a measure, in order."""
    found: dict[MeasuresTab, list[str]] = {"closeness": [], "diversity": [], "likelihood": []}
    for name in measures:
        found[MEASURES[name].group].append(name)
    return {group: names for group, names in found.items() if names}


def _wide_table(frame: pd.DataFrame, key: str) -> None:
    columns = {
        name: st.column_config.TextColumn(measure_title(name), help=words().fill(MEASURES[name].description))
        for name in frame.columns[2:]
    }
    st.dataframe(
        frame,
        hide_index=True,
        key=key,
        column_config={
            "source": st.column_config.TextColumn(words().items, pinned=True),
            "mauve": st.column_config.TextColumn(
                "MAUVE", help="The leaderboard's: mean ± sd over k-means seeds, pairwise partitions"
            ),
            **columns,
        },
    )


def _ranking(run: Run, measurements: Measurements, order: Sequence[str]) -> None:
    measure = _picker("ranking_measure", "Measure", measurements.measures, (*_QUALITY, *measurements.measures))
    frame = figures.ranking_frame(measurements, measure, order)
    known, words = MEASURES[measure], run.comparison.words
    st.caption(words.fill(f"{known.description} Larger: {known.larger}. Source: {known.source}."))
    closest = closest_sentence(measurements, measure, order, lambda name: f"**{escaped(short_name(name))}**", words)
    if closest:
        st.markdown(closest)
    st.table(ranking_table(run, frame), border="horizontal", hide_index=True)
    st.caption(
        f"Smallest gap |T(Q) − T(P)| first; = where gaps are not told apart. Value ± sd over {words.items}, below it "
        "the 95% interval. MAUVE: the leaderboard's, of pairwise partitions: mean ± sd over seeds, and its "
        f"rank.{_about_generations(measurements)}"
    )
    notes = dict.fromkeys(filter(None, (_note(frame, index) for index in range(len(frame)))))
    if notes:
        st.caption("  \n".join(f":material/info: {escaped(note)}" for note in notes))
    _differences(run, measurements, measure, order)


def _about_generations(measurements: Measurements) -> str:
    words = figures.spreads_in_words(measurements, TEXTS)
    return f" {words[0].upper()}{words[1:]}." if "(generations)" in words else ""


def ranking_table(run: Run, frame: pd.DataFrame) -> pd.DataFrame:
    """``ranking_frame`` as Markdown cells, with the run's MAUVE and the rank by it."""
    ranks = {item.candidate.name: rank_label(item.rank, item.tied) for item in standings(run.comparison)}
    return pd.DataFrame(
        [
            {
                "Rank": rank_label(row["rank"], row["tied"]) if row["rank"] else NONE,
                "Candidate": f"**{escaped(short_name(row['candidate']))}**",
                "T(Q)": figures.cell_label(row, "model"),
                "T(P)": figures.cell_label(row, "human"),
                "Gap": figures.cell_label(row, "gap"),
                "MAUVE": f"{_mauve(run, row['candidate'])} ({ranks[row['candidate']]})",
                "n": NONE if pd.isna(row["n"]) else f"{int(row['n']):,}",
            }
            for _, row in frame.iterrows()
        ]
    )


def _note(frame: pd.DataFrame, index: int) -> str:
    """The row's note, with its candidate unless all rows have the note."""
    note = str(frame["note"].iloc[index])
    shared = len(frame) > 1 and frame["note"].nunique() == 1
    return note if shared or not note else f"{frame['candidate'].iloc[index]}: {note}"


def _plane(run: Run, measurements: Measurements, order: Sequence[str], names: Sequence[str]) -> None:
    words = run.comparison.words
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.caption(
            words.fill(
                "{Items} can be too predictable or too surprising, too repetitive or too diverse. A good candidate "
                "lies where the {reference_items} do."
            ),
            width="stretch",
        )
        csv = st.container(width="content")
    with st.container(horizontal=True):
        across = _picker("plot_x_measure", "Horizontal", names, _QUALITY)
        others = [name for name in names if name != across]
        along = _picker("plot_y_measure", "Vertical", others, _DIVERSITY)
    frame = figures.plane_frame(measurements, across, along, order)
    with csv:
        charts.csv_button(lambda: frame, key="plane_csv", file_name=f"{run.name}-{across}-{along}")
    if frame.empty:
        st.info("No candidate has both measures.")
        return
    charts.show_chart(
        figures.plane_figure(frame, across, along, order, words),
        key="plane_chart",
        file_name=f"{run.name}-{across}-{along}",
        alt=f"{measure_title(across)} against {measure_title(along)} of every candidate and the "
        f"{words.reference_items}; the tables above have the numbers.",
    )
    human = "One of the two measures has no T(P)."
    if HUMAN in set(frame["source"]):
        human = f"Blue cross: the {words.reference_items}."
    st.caption(f"{human} Lines: about 95% intervals over {words.items}. n as in the table above.")


def _has(measurements: Measurements, measure: str, candidate: str) -> bool:
    row = measurements.row(measure, candidate)
    return row is not None and row.model is not None


def _picker(field: str, label: str, names: Sequence[str], preferred: Sequence[str] = ()) -> str:
    """One of ``names``: the URL's, else the first of ``preferred`` that is available, else the first."""
    default = next(name for name in (*preferred, *names) if name in names)
    return bound.selectbox(field, label, {name: measure_title(name) for name in names}, default, width=260)


def _mauve(run: Run, name: str) -> str:
    return mean_and_spread(run.comparison.candidate(name).scores["mauve"])


def _settings(measurements: Measurements) -> None:
    part = st.expander("How these were measured", icon=":material/tune:", key="measures_settings", on_change="rerun")
    if part.open:
        with part:
            for note in measurements.notes:
                st.text(note)
            comparison_settings.show_tree(measurements.settings)


def offered(run: Run) -> list[Measure]:
    """The measures that apply to what the run compares."""
    return [item for item in MEASURES.values() if run.comparison.has_words or "words" not in item.needs]


def show_form(run: Run, measured: AbstractCollection[str]) -> None:
    """Checkboxes for all measures; those in ``measured`` exist already and are initially unchecked."""
    has_features = all(run.features(source.name) is not None for source in run.comparison.sources)
    cheap = [item for item in offered(run) if "model" not in item.needs]
    with_model = [item for item in offered(run) if item not in cheap]
    left, right = st.columns(2, gap="medium")
    with left, st.container(border=True):
        st.markdown(f"**From {words().items} and features**" if with_model else "**From features**")
        chosen = _boxes(run, cheap, measured, has_features=has_features, wanted=True)
        if not has_features:
            st.caption("This run was stored without features: measures that need them are left out.")
    costly, scorer = _with_model(right, run, with_model, measured) if with_model else ([], None)
    names = [*chosen, *costly]

    def task() -> MeasureTask:
        return MeasureTask(run.id, tuple(name for name in MEASURES if name in names), scorer)

    jobs.button(
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
        model = comparison_settings.pick_model(
            "Scoring model",
            key="measure_model",
            causal=True,
            help_text="Reads every text. For measures of a decoder, choose the model that wrote the texts.",
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
            help=words().fill(f"{item.description} Larger: {item.larger}. {item.source}."),
        )
        if checked:
            chosen.append(item.name)
    return chosen


def _differences(run: Run, measurements: Measurements, measure: str, order: Sequence[str]) -> None:
    """The matrix of gaps, or of values where T(P) is not defined; nothing for one candidate."""
    found = ranked_tests(measurements, measure, order)
    if not found:
        return
    gaps = found[0].of == "gap"
    apart = sum(each.told_apart for each in found)
    pairs = "1 pair" if len(found) == 1 else f"{len(found):,} pairs"
    title = f"Differences: {apart:,} of {pairs} told apart"
    part = st.expander(title, icon=":material/grid_on:", key="measure_differences", on_change="rerun")
    if part.open:
        with part:
            with st.container(horizontal=True, vertical_alignment="center"):
                what = "gap of the row minus that of the column" if gaps else "row minus column"
                st.markdown(f"**{measure_title(measure)}: {what}**", width="content")
                st.space("stretch")
                charts.csv_button(
                    lambda: differences.measure_differences_frame(measurements),
                    key="measure_differences_csv",
                    file_name=f"{run.name}-measure-differences",
                )
            charts.show_chart(
                differences.measure_differences_figure(measurements, measure, order, run.comparison.words),
                key="measure_differences_chart",
                file_name=f"{run.name}-{measure}-differences",
                alt="Differences of every two candidates by this measure, and which are told apart; the CSV has the "
                "numbers.",
            )
            colors = (
                f"Violet: the row is closer to the {run.comparison.words.reference_items}; brown: the column is."
                if gaps
                else "Violet: the row has the larger value; brown: the column has."
            )
            st.caption(
                f"{colors} Bold with a dot: told apart.  "
                f"\n{measure_tests_sentence(found, run.comparison.words)}  \n{CONFIDENCE:.0%} intervals and p "
                f"on hover; the CSV also has the tests of the values T(Q)."
            )


_PAPERS = ("frechet", "perplexity", "sparsemax")
_EXAMPLE = "32,64,128"


def _over_lengths(run: Run, order: Sequence[str]) -> None:
    """The stored table, if any, and the form; nothing in a read-only app without a table."""
    path = run.path / ATTACHED / f"{LENGTHS_ATTACHMENT}.json"
    table = or_error(_read_lengths, run.id, path.stat().st_mtime_ns if path.is_file() else None)
    if table is None and not access.may_change():
        return
    part = st.expander(
        "Measures over the length of the texts",
        icon=":material/show_chart:",
        key="measures_over_length",
        on_change="rerun",
    )
    if part.open:
        with part:
            _lengths(run, table, order)


def _lengths(run: Run, table: LengthTable | None, order: Sequence[str]) -> None:
    if table is None:
        st.markdown(
            "Does a measure get worse as texts get longer? All texts are cut to their first tokens and measured at "
            "each length. Press *Compute over length*, or run "
            f"`mauve-lens measure {run.id} --lengths {_EXAMPLE} --scorer MODEL`."
        )
    else:
        _lengths_result(run, table, order)
    if access.may_change():
        _lengths_form(run, table)


@kept_by_run(max_entries=8, show_spinner=False)
def _read_lengths(run_id: str, stamp: int | None) -> LengthTable | None:  # noqa: ARG001 (the stamp is part of the key)
    return stored_lengths(cache.load_run(run_id))


def _lengths_result(run: Run, table: LengthTable, order: Sequence[str]) -> None:
    with st.container(horizontal=True, vertical_alignment="top"):
        sentences = filter(None, (escaped(length_order_sentence(table, measure)) for measure in table.measures))
        st.markdown("  \n".join(sentences), width="stretch")
        charts.csv_button(
            partial(length_figures.lengths_frame, table), key="lengths_csv", file_name=f"{run.name}-lengths"
        )
    chart, *tables = st.tabs(
        ["Chart", *(escaped(length_measure_title(measure)) for measure in table.measures)], key="lengths_tabs"
    )
    with chart:
        charts.show_chart(
            length_figures.lengths_figure(table, order, run.comparison.words),
            key="lengths_chart",
            file_name=f"{run.name}-lengths",
            alt=f"Each measure of every candidate and of the {run.comparison.words.reference_items} against the length "
            f"to which all {run.comparison.words.items} are cut; the tables have the numbers.",
        )
    for tab, measure in zip(tables, table.measures, strict=True):
        with tab:
            st.dataframe(length_figures.lengths_table(table, measure, order), hide_index=True, key=f"lengths_{measure}")
            if table.has_gaps(measure):
                st.caption("Gap |T(Q) − T(P)|")
                gaps = length_figures.lengths_table(table, measure, order, gaps=True)
                st.dataframe(gaps, hide_index=True, key=f"lengths_gaps_{measure}")
    st.caption(length_figures.lengths_described(table, run.comparison.words))
    for note in table.notes:
        st.text(note)


def _lengths_form(run: Run, table: LengthTable | None) -> None:
    encoded = run.comparison.config.encoder is not None
    possible = [name for name, item in OVER_LENGTH.items() if encoded or "features" not in item.needs]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Lengths in tokens",
            key=f"lengths_values_{run.id}_{table is not None}",
            placeholder=_EXAMPLE,
            help="Whole numbers. Without any: the longest text's, its half, its quarter and so on.",
            width=220,
        )
        names = st.multiselect(
            "Measures",
            possible,
            [name for name in _PAPERS if name in possible],
            key=f"lengths_measures_{run.id}",
            format_func=length_measure_title,
        )
    scored = any("model" in OVER_LENGTH[name].needs for name in names)
    model = None
    if scored:
        model = comparison_settings.pick_model(
            "Scoring model for cut texts",
            key="lengths_model",
            causal=True,
            help_text="Reads every text once. For measures of a decoder, choose the model that wrote the texts.",
        )

    def task() -> LengthsTask:
        lengths = lengths_in(text) if text.strip() else None
        return LengthsTask(run.id, lengths, tuple(name for name in OVER_LENGTH if name in names), model)

    jobs.button(
        JobSlot("lengths_start", LengthsTask.kind, run.id),
        "Compute over length",
        task,
        models=[] if model is None else [(model, None)],
        filled=bool(names),
        primary=False,
    )


_TABLE_HEIGHT = 380


def _over_neighbours(run: Run, order: Sequence[str]) -> None:
    """The stored table, if any, and the form; nothing in a read-only app without a table."""
    path = run.path / ATTACHED / f"{NEIGHBOURS_ATTACHMENT}.json"
    table = or_error(_read_neighbours, run.id, path.stat().st_mtime_ns if path.is_file() else None)
    if table is None and not access.may_change():
        return
    part = st.expander(
        "Precision and recall over the number of neighbors",
        icon=":material/show_chart:",
        key="neighbours_over_k",
        on_change="rerun",
    )
    if part.open:
        with part:
            _neighbours(run, table, order)


def _neighbours(run: Run, table: NeighbourTable | None, order: Sequence[str]) -> None:
    if table is None:
        st.markdown(
            f"Precision, recall, density and coverage look at the k = {NEIGHBOURS} nearest "
            f"{run.comparison.words.items}. Does another k order the candidates otherwise? Press *Compute over k*, or "
            f"run `mauve-lens measure {run.id} --neighbors {USUAL[0]}-{USUAL[-1]}`."
        )
    else:
        _neighbours_result(run, table, order)
    if access.may_change():
        _neighbours_form(run, table)


@kept_by_run(max_entries=8, show_spinner=False)
def _read_neighbours(run_id: str, stamp: int | None) -> NeighbourTable | None:  # noqa: ARG001 (the stamp is part of the key)
    return stored_neighbours(cache.load_run(run_id))


def _neighbours_result(run: Run, table: NeighbourTable, order: Sequence[str]) -> None:
    with st.container(horizontal=True, vertical_alignment="top"):
        sentences = filter(None, (neighbour_order_sentence(table, measure) for measure in table.measures))
        st.markdown("  \n".join(sentences), width="stretch")
        charts.csv_button(
            partial(neighbour_figures.neighbours_frame, table), key="neighbours_csv", file_name=f"{run.name}-neighbors"
        )
    chart, *tables = st.tabs(["Chart", *map(measure_title, table.measures)], key="neighbours_tabs")
    with chart:
        charts.show_chart(
            neighbour_figures.neighbours_figure(table, order, run.comparison.words),
            key="neighbours_chart",
            file_name=f"{run.name}-neighbors",
            alt="Precision, recall, density and coverage of every candidate and of two halves of the "
            f"{words().reference_items} against the number of neighbors; the tables have the numbers.",
        )
    for tab, measure in zip(tables, table.measures, strict=True):
        with tab:
            frame = neighbour_figures.neighbours_table(table, measure, order, run.comparison.words)
            st.dataframe(frame, hide_index=True, key=f"neighbours_{measure}", height=_TABLE_HEIGHT)
    st.caption(neighbour_figures.neighbours_described(table, run.comparison.words))
    for note in table.notes:
        st.text(note)


def _neighbours_form(run: Run, table: NeighbourTable | None) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Numbers of neighbors k",
            key=f"neighbours_ks_{run.id}_{table is not None}",
            placeholder=f"{USUAL[0]}-{USUAL[-1]}",
            help="Numbers and ranges, such as 1,5,10-20.",
            width=220,
        )
        jobs.button(
            JobSlot("neighbours_start", NeighboursTask.kind, run.id),
            "Compute over k",
            lambda: NeighboursTask(run.id, numbers_of_neighbours(text) if text.strip() else None),
            primary=False,
        )
