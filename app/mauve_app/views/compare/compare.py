"""Compare: which candidate is closest to the human texts, how certain that is, and where each one differs."""

from __future__ import annotations

import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import charts, page_chrome, score_controls, sidebar, tour_panel, verdict_lines
from mauve_app.components.saying import said
from mauve_app.url import session
from mauve_app.url.parameters import State, to_query
from mauve_app.views.compare import (
    advice,
    curves_panel,
    differences_panel,
    findings_panel,
    like_for_like_panel,
    over_shards_panel,
    paper_panel,
    preflight_panel,
    ranked_list,
    scores_panel,
)
from mauve_core.figures import leaderboard
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import rank_sentence
from mauve_core.store import Run

# Widths of the curves and the scores beside them.
_SHARES = [5, 4]


def main() -> None:
    """Lay out the page: the answer, its two pictures, the candidates in order, and the rest folded."""
    with page_chrome.head(
        "Compare",
        said("Which candidate is closest to the human texts under the run's encoder, and how certain is that?"),
    ):
        run = sidebar.opened_run()
        state = session.current()
        tour_panel.offer()
        score_controls.sensitivity(state, run.comparison)
    sampled = over_shards_panel.show(run)
    answer = st.container()
    preflight_panel.show(run)
    advice.show_serious(run.comparison)
    left, right = st.columns(_SHARES, gap="small")
    with left:
        curves_panel.show(run.id)
    with right:
        _scores(run, state)
    places = st.container()
    scores_panel.show(run.id)
    like_for_like_panel.show(run)
    over_shards_panel.show_equal(run)
    differences_panel.show(run)
    advice.show_others(run.comparison)
    advice.show_settings(run.comparison)
    paper_panel.show(run, state, state.partition)
    with answer:  # last, because a run without what is derived from it takes a while to say why
        verdict_lines.show(run, state, sampled=sampled)
        st.page_link(
            "views/findings/findings.py",
            label=run.comparison.words.said("What each candidate does more or less than people, in tested sentences"),
            icon=":material/arrow_forward:",
            query_params=to_query(state),
        )
    with places:
        ranked_list.show(run, state)
        verdict_lines.show_rest(run)
        if run.comparison.has_words:
            findings_panel.show(run, state)


def _scores(run: Run, state: State) -> None:
    partition = state.partition
    rescored = cache.rescored(run.id, partition, state.scale, state.smoothing)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("Scores", anchor=False, help=_about(run, rescored))
        st.space("stretch")
        charts.csv_button(
            lambda: leaderboard.leaderboard_frame(rescored, partition).assign(smoothing=state.smoothing),
            key="leaderboard_csv",
            file_name=f"{run.name}-leaderboard",
        )
    charts.show_chart(
        leaderboard.score_figure(rescored, partition),
        key="leaderboard_chart",
        file_name=f"{run.name}-mauve",
        alt="MAUVE of all candidates with spread over seeds and bootstrap interval; the list below has the numbers.",
    )


def _about(run: Run, shown: Comparison) -> str:
    score = shown.config.score
    return (
        f"Thick: ± sd over {score.seeds} k-means seeds; thin: {score.confidence:.0%} bootstrap interval. A gray "
        f"bracket joins candidates of equal rank. {rank_sentence(run.comparison)}"
    )


main()
