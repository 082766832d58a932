"""Text measures of a run: all of them as panels and as a table, a ranking by one, and a plot of two."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from mauve_app.components import charts, folded, settings_tree, verdict_lines
from mauve_app.components.markup import escaped
from mauve_app.components.saying import said
from mauve_app.url import bound, session
from mauve_app.url.parameters import MeasuresTab
from mauve_app.views.decoders import measure_differences, measure_lengths, measure_neighbours
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import NONE, UNKNOWN
from mauve_core.experiments.text_measures import MEASURES, Measurements, measure_title
from mauve_core.experiments.text_measures.ranking import closest_sentence
from mauve_core.figures import measures as figures
from mauve_core.figures.theme import short_name
from mauve_core.scoring.tables import mean_and_spread, rank_label, standings
from mauve_core.store import Run

TABS: dict[MeasuresTab, str] = {
    "closeness": "Closeness",
    "diversity": "Repetition and length",
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
    verdict_lines.show_closest(run)
    _overview(run, measurements, order)
    state = session.current()
    asked = state.ranking_measure is not None
    with folded.part("Ranking by one measure", "measures_ranking", "format_list_numbered", asked=asked) as part:
        if part.open:
            _ranking(run, measurements, order)
    names = [name for name in measurements.measures if any(_has(measurements, name, other) for other in order)]
    if len(names) > 1:
        asked = state.plot_x_measure is not None or state.plot_y_measure is not None
        with folded.part("Quality against diversity", "measures_plane", "scatter_plot", asked=asked) as part:
            if part.open:
                _plane(run, measurements, order, names)
    measure_neighbours.show(run, order)
    if run.comparison.has_words:
        measure_lengths.show(run, order)
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
            help=run.comparison.words.said(
                "T(Q) of every candidate next to T(P) of the human texts. No measure says which texts are better: a "
                "good decoder lies where people do."
            ),
        )
        st.space("stretch")
        frame = figures.measures_frame(measurements, order)
        charts.csv_button(lambda: frame, key="measures_csv", file_name=f"{run.name}-measures")
    groups = grouped(measurements.measures)
    shown_as, tab = bound.open_tab(
        "measures_as", {name: said(TABS[name]) for name in (*groups, "table")}, "measures_tabs"
    )
    with tab:
        if shown_as in groups:
            first = shown_as == next(iter(groups))
            mauve = {item.name: item.scores["mauve"] for item in run.comparison.candidates} if first else None
            charts.show_chart(
                figures.panels_figure(measurements, order, groups[shown_as], mauve, words=run.comparison.words),
                key="measures_chart",
                file_name=f"{run.name}-{shown_as}",
                alt=said(f"{TABS[shown_as]}: every candidate next to the human value; the table has the same numbers."),
            )
        else:
            values, gaps = overview_tables(run, measurements, order)
            st.caption(f"T, {run.comparison.words.reference_items} first")
            _wide_table(values, "measures_values")
            st.caption("Gap |T(Q) − T(P)|")
            _wide_table(gaps, "measures_gaps")
    st.caption(
        run.comparison.words.said(
            "Blue line: human texts, T(P). Dots: candidates, T(Q). Line and band: the interval over texts, about 95%; "
            f"{figures.spreads_in_words(measurements)}, {UNKNOWN} where none is available; of MAUVE, over k-means "
            f"seeds. {run.comparison.human.n:,} human texts."
        )
    )


def grouped(measures: Sequence[str]) -> dict[MeasuresTab, list[str]]:
    """The tabs with charts: groups that have a measure, in order."""
    found: dict[MeasuresTab, list[str]] = {"closeness": [], "diversity": [], "likelihood": []}
    for name in measures:
        found[MEASURES[name].group].append(name)
    return {group: names for group, names in found.items() if names}


def _wide_table(frame: pd.DataFrame, key: str) -> None:
    columns = {
        name: st.column_config.TextColumn(measure_title(name), help=said(MEASURES[name].description))
        for name in frame.columns[2:]
    }
    st.dataframe(
        frame,
        hide_index=True,
        key=key,
        column_config={
            "source": st.column_config.TextColumn(said("texts"), pinned=True),
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
    st.caption(words.said(f"{known.description} Larger: {known.larger}. Source: {known.source}."))
    closest = closest_sentence(measurements, measure, order, lambda name: f"**{escaped(short_name(name))}**", words)
    if closest:
        st.markdown(closest)
    st.table(ranking_table(run, frame), border="horizontal", hide_index=True)
    st.caption(
        words.said(
            "Smallest gap |T(Q) − T(P)| first; = where gaps are not told apart. Value ± sd over texts, below it the "
            "95% interval. MAUVE: the leaderboard's, of pairwise partitions: mean ± sd over seeds, and its rank."
            f"{_about_generations(measurements)}"
        )
    )
    notes = dict.fromkeys(filter(None, (_note(frame, index) for index in range(len(frame)))))
    if notes:
        st.caption("  \n".join(f":material/info: {escaped(note)}" for note in notes))
    measure_differences.show(run, measurements, measure, order)


def _about_generations(measurements: Measurements) -> str:
    words = figures.spreads_in_words(measurements)
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
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.caption(
            run.comparison.words.said(
                "Texts can be too predictable or too surprising, too repetitive or too diverse. A good decoder lies "
                "where the human texts do."
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
        figures.plane_figure(frame, across, along, order, run.comparison.words),
        key="plane_chart",
        file_name=f"{run.name}-{across}-{along}",
        alt=said(
            f"{measure_title(across)} against {measure_title(along)} of every candidate and the human texts; the "
            "tables above have the numbers."
        ),
    )
    human = "Blue cross: the human texts." if HUMAN in set(frame["source"]) else "One of the two measures has no T(P)."
    st.caption(run.comparison.words.said(f"{human} Lines: about 95% intervals over texts. n as in the table above."))


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
            settings_tree.show(measurements.settings)
