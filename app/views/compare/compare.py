"""Compare: which candidate is closest to the human texts, how certain that is, and which error it makes."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.caching import cache
from app.components import charts, page_chrome, score_controls, sidebar
from app.components.markup import escaped
from app.url import bound, session
from app.url.parameters import State
from app.views.compare import advice, differences_panel, preflight_panel, report_panel
from mauve_core.base.config import PartitionKind
from mauve_core.base.formatting import with_spreads
from mauve_core.figures import frontier, leaderboard
from mauve_core.figures.theme import short_name
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import ceiling_sentence, rank_sentence, standings
from mauve_core.store import Run

_FRONTIER_HELP = (
    "Each curve plots a candidate's two errors against each other as the mixture R goes from the model's texts to the "
    "human ones. A curve near the upper right corner means that both errors are small; MAUVE is the area under it. A "
    "band spans the lowest to the highest k-means seed."
)


def main() -> None:
    """Lay out the page."""
    page_chrome.title(
        "Compare", "Which candidate is closest to the human texts, how certain is that, and which error does it make?"
    )
    run = sidebar.opened_run()
    state = session.current()
    run_scale = run.comparison.config.score.scale
    partition = state.partition_or("pairwise")
    score_controls.show(state, run_scale, default_partition="pairwise")
    preflight_panel.show(run.id)
    _leaderboard(run, state, partition)
    differences_panel.show(run)
    advice.show_warnings(run.comparison)
    _frontier(run.id)
    report_panel.show(run, state, partition)
    advice.show_settings(run.comparison)


def _leaderboard(run: Run, state: State, partition: PartitionKind) -> None:
    rescored = cache.rescored(run.id, partition, state.scale, state.smoothing)
    score = rescored.config.score
    frame = leaderboard.leaderboard_frame(rescored, partition).assign(smoothing=state.smoothing)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header(
            "Leaderboard",
            anchor=False,
            help=f"{rank_sentence(run.comparison)} ↑ larger is closer to the human texts, ↓ smaller is.",
        )
        st.space("stretch")
        charts.csv_button(lambda: frame, key="leaderboard_csv", file_name=f"{run.name}-leaderboard")
    st.table(leaderboard.shown_table(frame, escaped), border="horizontal", hide_index=True)
    charts.show_chart(
        leaderboard.interval_figure(rescored, partition),
        key="leaderboard_chart",
        file_name=f"{run.name}-scores",
        alt="Scores of all candidates with spread over seeds and bootstrap interval; the table above has the numbers.",
    )
    st.caption(
        f"Mean ± sd over {score.seeds} k-means seeds; below it the {score.confidence:.0%} bootstrap interval over "
        f"texts at this n and k (thin line). "
        f"{score_controls.described(state, partition, run.comparison.config.score.scale)}. "
        f"{run.comparison.human.n:,} human texts.{_about_ties(run, rescored, state)}{_about_halves(run, partition)}"
    )


def _about_ties(run: Run, shown: Comparison, state: State) -> str:
    if len(shown.candidates) < 2:
        return ""
    own = run.comparison.config.score.scale
    changed = shown.config.score.scale != own or state.smoothing != "none"
    tested = f" at the run's own c = {own:g}, without smoothing" if changed and shown.differences is not None else ""
    return f" Gray bracket: tied, {leaderboard.tie_in_words(shown)}{tested}."


def _about_halves(run: Run, partition: PartitionKind) -> str:
    halves = leaderboard.shown_halves(run.comparison, partition)
    if halves is None:
        return ""
    return f" {ceiling_sentence(halves.source.n, halves.partitions[0].k)}"


@st.fragment
def _frontier(run_id: str) -> None:
    run, state = cache.load_run(run_id), session.current()
    partition = state.partition_or("pairwise")
    scale = run.comparison.config.score.scale if state.scale is None else state.scale
    points = frontier.curve_points(cache.error_curves(run_id, partition, state.smoothing), scale)
    rescored = cache.rescored(run_id, partition, state.scale, state.smoothing)
    order = [standing.candidate.name for standing in standings(rescored, kind=partition)]
    chosen = state.candidate if state.candidate in order else order[0]
    banded = frontier.banded_names(order, chosen)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("Divergence curves", anchor=False, help=_FRONTIER_HELP)
        st.space("stretch")
        charts.csv_button(lambda: points, key="frontier_csv", file_name=f"{run.name}-divergence-curves")
    left, right = st.columns([9, 8], gap="medium")
    with right:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            weight = score_controls.weight(
                state,
                "Position of the marks on the curves, R = λ P + (1 − λ) Q. At 0.5 both sides count equally. The score "
                "comes from the whole curve, so this changes no rank.",
            )
            if len(banded) < len(order):
                _band_picker(order)
        _errors(frontier.at_weight(points, weight, order))
    with left:
        charts.show_chart(
            frontier.frontier_figure(points, weight, order=order, chosen=chosen),
            key="frontier_chart",
            file_name=f"{run.name}-divergence-curves",
            alt="Divergence curves of all candidates; the table beside it gives both errors at the chosen weight.",
        )
    bands = frontier.bands_in_words([escaped(short_name(name)) for name in banded], len(order))
    st.caption(f"{score_controls.described(state, partition, run.comparison.config.score.scale)}. {bands}")


def _band_picker(order: list[str]) -> None:
    bound.selectbox(
        "candidate",
        "Band of",
        order,
        order[0],
        omit_default=False,
        width=200,
        help="Highlights this candidate's curve, with its band from the lowest to the highest k-means seed: how far "
        "chance in the clustering moves it. The other pages then show this candidate.",
    )


def _errors(at_weight: pd.DataFrame) -> None:
    st.markdown(
        "**Adds**: the model writes what humans don't, KL(Q|R).  \n"
        "**Misses**: humans write what the model misses, KL(P|R)."
    )
    st.table(
        pd.DataFrame(
            {
                "Candidate": [f"**{escaped(short_name(name))}**" for name in at_weight["candidate"]],
                "Adds (type I)": with_spreads(at_weight["type_1"], at_weight["type_1_sd"]),
                "Misses (type II)": with_spreads(at_weight["type_2"], at_weight["type_2_sd"]),
            }
        ),
        border="horizontal",
        hide_index=True,
    )
    st.caption("In nats, mean ± sd over k-means seeds. R = λ P + (1 − λ) Q, P: humans; Q: the model.")


main()
