"""The difference of every two candidates, folded under the leaderboard, and whether a test tells them apart."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import charts
from mauve_core.base.config import SCORES
from mauve_core.figures import differences
from mauve_core.scoring.result import Difference
from mauve_core.scoring.tables import TITLES, tests_sentence
from mauve_core.scoring.ties import disagreement_sentence
from mauve_core.store import Run

KEY = "differences"
_SCORE = SCORES[0]


def show(run: Run) -> None:
    """The matrix at the run's own settings; nothing for one candidate."""
    if run.comparison.differences:
        _folded(run.id)


@st.fragment
def _folded(run_id: str) -> None:
    """Drawn when it is opened."""
    run = cache.load_run(run_id)
    found = differences.ranked_pairs(run.comparison, _SCORE)
    apart = sum(each.told_apart for each in found)
    pairs = "1 pair" if len(found) == 1 else f"{len(found):,} pairs"
    title = f"Differences: {apart:,} of {pairs} told apart"
    folded = st.expander(title, icon=":material/grid_on:", key=KEY, on_change="rerun")
    if folded.open:
        with folded:
            _matrix(run, found)


def _matrix(run: Run, found: Sequence[Difference]) -> None:
    comparison = run.comparison
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
    told = (tests_sentence(found, comparison.words), comparison.words.said(disagreement_sentence(found)))
    st.caption(
        f"Violet: the row is closer to the {comparison.words.reference_items}; brown: the column is. "
        f"Bold with a dot: told apart.  \n{' '.join(filter(None, told))}  \nPairwise partitions, the "
        f"run's own settings, at this n and k; {comparison.config.score.confidence:.0%} intervals and p on hover."
    )
