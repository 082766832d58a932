"""Divergence curves of all candidates, and both errors at a weight."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import charts, generations_note, score_controls
from mauve_app.components.markup import escaped
from mauve_app.components.saying import said
from mauve_app.url import bound, session
from mauve_app.url.parameters import State
from mauve_core.base.formatting import with_spreads
from mauve_core.figures import frontier
from mauve_core.figures.theme import short_name
from mauve_core.scoring.tables import standings

_HELP = (
    "Each curve plots a candidate's two errors against each other as the mixture R goes from the model's texts to the "
    "human ones. A curve near the upper right corner means that both errors are small; MAUVE is the area under it. "
    "Hover over a curve for the clusters that make most of each error there, under the median seed. "
)


@st.fragment
def show(run_id: str) -> None:
    """The chart, each curve with its candidate's name, and the errors that belong to its marks."""
    run, state = cache.load_run(run_id), session.current()
    scale = score_controls.scale_of(state, run.comparison)
    points = frontier.curve_points(cache.error_curves(run_id, state.partition, state.smoothing), scale)
    rescored = cache.rescored(run_id, state.partition, state.scale, state.smoothing)
    order = [standing.candidate.name for standing in standings(rescored, kind=state.partition)]
    chosen = state.candidate if state.candidate in order else order[0]
    banded = frontier.banded_names(order, chosen)
    bands = frontier.bands_in_words([escaped(short_name(name)) for name in banded], len(order))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("Divergence curves", anchor=False, help=f"{said(_HELP)}{bands}")
        st.space("stretch")
        with st.popover("Errors", icon=":material/swap_horiz:", type="tertiary", key="errors"):
            weight = _controls(state, order, choosing=len(banded) < len(order))
            _errors(frontier.at_weight(points, weight, order))
        charts.csv_button(lambda: points, key="frontier_csv", file_name=f"{run.name}-divergence-curves")
    charts.show_chart(
        frontier.frontier_figure(
            points,
            weight,
            order=order,
            chosen=chosen,
            leading=cache.leading_clusters(run_id, state.partition, state.smoothing),
            words=run.comparison.words,
        ),
        key="frontier_chart",
        file_name=f"{run.name}-divergence-curves",
        alt="Divergence curves of all candidates; the table under Errors gives both errors at the chosen weight.",
    )
    generations_note.show(run, *order)


def _controls(state: State, order: list[str], *, choosing: bool) -> float:
    weight = score_controls.weight(
        state,
        "Position of the marks on the curves, R = λ P + (1 − λ) Q. At 0.5 both sides count equally. The score "
        "comes from the whole curve, so this changes no rank.",
    )
    if choosing:
        bound.selectbox(
            "candidate",
            "Band of",
            order,
            order[0],
            omit_default=False,
            help="Highlights this candidate's curve, with its band from the lowest to the highest k-means seed: how "
            "far chance in the clustering moves it. The other pages then show this candidate.",
        )
    return weight


def _errors(at_weight: pd.DataFrame) -> None:
    st.markdown(
        said(
            "**Adds**: the model writes what humans don't, KL(Q|R).  \n"
            "**Misses**: humans write what the model misses, KL(P|R)."
        )
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
    st.caption(said("In nats, mean ± sd over k-means seeds. R = λ P + (1 − λ) Q, P: humans; Q: the model."))
