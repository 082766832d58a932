"""The difference of every two candidates by one text measure, folded under the ranking, and who is told apart."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from mauve_app.components import charts
from mauve_core.experiments.text_measures import Measurements, measure_title
from mauve_core.experiments.text_measures.ranking import measure_tests_sentence, ranked_tests
from mauve_core.experiments.text_measures.spread import CONFIDENCE
from mauve_core.figures import differences
from mauve_core.store import Run


def show(run: Run, measurements: Measurements, measure: str, order: Sequence[str]) -> None:
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
                f"\n{run.comparison.words.said(measure_tests_sentence(found))}  \n{CONFIDENCE:.0%} intervals and p "
                f"on hover; the CSV also has the tests of the values T(Q)."
            )
