"""All scores of all candidates as a table and as panels, folded below the list of candidates."""

from __future__ import annotations

import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import charts, score_controls
from mauve_app.components.markup import escaped
from mauve_app.url import session
from mauve_app.url.parameters import State
from mauve_core.base.config import PartitionKind
from mauve_core.corpus.normalizing_steps import titles_of_steps
from mauve_core.figures import leaderboard
from mauve_core.scoring.reference import reference_sentences
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import spread_sentence
from mauve_core.scoring.ties import letters_sentence
from mauve_core.store import Run

KEY = "all_scores"


@st.fragment
def show(run_id: str) -> None:
    """Drawn when it is opened."""
    folded = st.expander("All scores", icon=":material/table_chart:", key=KEY, on_change="rerun")
    if not folded.open:
        return
    run, state = cache.load_run(run_id), session.current()
    with folded:
        _table(run, state)


def _table(run: Run, state: State) -> None:
    partition = state.partition
    rescored = cache.rescored(run.id, partition, state.scale, state.smoothing)
    score = rescored.config.score
    frame = leaderboard.leaderboard_frame(rescored, partition).assign(smoothing=state.smoothing)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.caption(f"↑ larger is closer to the {run.comparison.words.reference_items}, ↓ smaller is.")
        charts.csv_button(lambda: frame, key="scores_csv", file_name=f"{run.name}-scores")
    st.table(leaderboard.shown_table(frame, escaped), border="horizontal", hide_index=True)
    charts.show_chart(
        leaderboard.interval_figure(rescored, partition),
        key="scores_chart",
        file_name=f"{run.name}-scores",
        alt="Scores of all candidates with spread over seeds and bootstrap interval; the table above has the numbers.",
    )
    spread = f"Mean ± sd over {score.seeds} k-means seeds"
    if any(source.generations > 1 for source in run.comparison.sources):
        sentence = spread_sentence(run.comparison)
        spread = f"{sentence[0].upper()}{sentence[1:]}. n: {run.comparison.words.items} of one generation × generations"
    st.caption(
        f"{spread}; below it the {score.confidence:.0%} bootstrap interval (thin line). {_about_texts(run)}"
        f"{score_controls.described(state, partition, run.comparison.config.score.scale)}. "
        f"{run.comparison.human.n:,} {run.comparison.words.reference_items}.{_about_ties(run, rescored, state)}"
        f"{_about_halves(rescored, partition)}"
    )


def _about_texts(run: Run) -> str:
    """How texts were normalized, if they were."""
    steps = titles_of_steps(run.comparison.normalization)
    return f"Normalized on every side before encoding: {steps}. " if steps else ""


def _about_ties(run: Run, shown: Comparison, state: State) -> str:
    if len(shown.candidates) < 2:
        return ""
    own = run.comparison.config.score.scale
    changed = shown.config.score.scale != own or state.smoothing != "none"
    tested = f" at the run's own c = {own:g}, without smoothing" if changed else ""
    return f" Gray bracket: tied, {leaderboard.tie_in_words(shown)}{tested}. {letters_sentence(shown)}"


def _about_halves(shown: Comparison, partition: PartitionKind) -> str:
    if leaderboard.shown_halves(shown, partition) is None:
        return ""
    return f" {escaped(reference_sentences(shown))}"
