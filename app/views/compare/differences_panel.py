"""The difference of every two candidates, folded under the leaderboard, and whether a test tells them apart."""

from __future__ import annotations

import streamlit as st

from app.components import charts
from mauve_core.base.config import SCORES
from mauve_core.figures import differences
from mauve_core.scoring.tables import TITLES, tests_sentence
from mauve_core.store import Run

_SCORE = SCORES[0]


def show(run: Run) -> None:
    """The matrix at the run's own settings; a sentence for a run made before there were tests; nothing for one
    candidate.
    """
    comparison = run.comparison
    if len(comparison.candidates) < 2:
        return
    if comparison.differences is None:
        st.caption(
            "Differences between candidates were not tested when this run was made, so candidates tie where their "
            "intervals overlap. To test them, duplicate the run on *Runs*; for the tests alone, enter "
            f"`mauve-lens test {run.id}`."
        )
        return
    found = differences.ranked_pairs(comparison, _SCORE)
    apart = sum(each.told_apart for each in found)
    pairs = "1 pair" if len(found) == 1 else f"{len(found):,} pairs"
    with st.expander(f"Differences: {apart:,} of {pairs} told apart", icon=":material/grid_on:", key="differences"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{TITLES[_SCORE]} of the row minus that of the column**", width="content")
            st.space("stretch")
            charts.csv_button(
                lambda: differences.differences_frame(comparison),
                key="differences_csv",
                file_name=f"{run.name}-differences",
            )
        charts.show_chart(
            differences.differences_figure(comparison, _SCORE),
            key="differences_chart",
            file_name=f"{run.name}-differences",
            alt="Differences of every two candidates, and which are told apart; the CSV has the numbers.",
        )
        st.caption(
            "Violet: the row is closer to the human texts; brown: the column is. "
            f"Bold with a dot: told apart.  \n{tests_sentence(found)}  \nPairwise partitions, the "
            f"run's own settings, at this n and k; {comparison.config.score.confidence:.0%} intervals and p on hover."
        )
