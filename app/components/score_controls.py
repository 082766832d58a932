"""The choices that act on scores at once: scaling constant, smoothing, partition. They live in the URL."""

from __future__ import annotations

import streamlit as st

from app.url import session
from app.url.state import State
from mauve_core.base.config import PartitionKind, Smoothing

SCALES = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 50.0)

SMOOTHING_TITLES: dict[Smoothing, str] = {
    "none": "None",
    "krichevsky-trofimov": "Krichevsky–Trofimov",
    "laplace": "Laplace",
    "braess-sauer": "Braess–Sauer",
    "good-turing": "Modified Good–Turing",
}
PARTITION_TITLES: dict[PartitionKind, str] = {"pairwise": "Pairwise (as published)", "joint": "Joint"}

_SCALE, _SMOOTHING, _PARTITION = "control_scale", "control_smoothing", "control_partition"


def show(state: State, run_scale: float, *, default_partition: PartitionKind) -> None:
    """Draw the controls at the values of ``state``.

    Parameters
    ----------
    run_scale : float
        The scaling constant under which the run was scored: the value when the URL names none.
    default_partition : {"pairwise", "joint"}
        The partition of this view when the URL names none.
    """
    partition = state.partition_or(default_partition)
    session.follow_url(_PARTITION, partition)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            "Partition",
            list(PARTITION_TITLES),
            default=partition,
            key=_PARTITION,
            required=True,
            format_func=PARTITION_TITLES.__getitem__,
            on_change=_write_partition,
            args=(default_partition,),
            help="Pairwise: humans are clustered with one candidate at a time, as in the papers. "
            "Joint: with all candidates at once, so that clusters are the same for all.",
        )
        smoothing(state, "MAUVE* always has Krichevsky–Trofimov.")
        scale(state, run_scale)


def scale(state: State, run_scale: float) -> float:
    """The choice of the scaling constant alone; ``run_scale`` is the value when the URL names none."""
    value = run_scale if state.scale is None else state.scale
    session.follow_url(_SCALE, value)
    return st.select_slider(
        "Scaling constant c",
        sorted({*SCALES, run_scale, value}),
        value,
        key=_SCALE,
        format_func=lambda each: f"{each:g}",
        on_change=_write_scale,
        args=(run_scale,),
        width=200,
        help="Larger values stretch differences between good models. "
        "Compare only scores of the same c. The papers take 5.",
    )


def smoothing(state: State, where: str) -> None:
    """The choice of smoothing alone; ``where`` says what it acts on."""
    session.follow_url(_SMOOTHING, state.smoothing)
    st.selectbox(
        "Smoothing of counts",
        list(SMOOTHING_TITLES),
        index=session.place(SMOOTHING_TITLES, state.smoothing),
        key=_SMOOTHING,
        format_func=SMOOTHING_TITLES.__getitem__,
        on_change=_write_smoothing,
        width=215,
        help="Texts added to every cluster: half a text (Krichevsky–Trofimov); one (Laplace); half where it has none, "
        "one where it has one, else three quarters (Braess–Sauer). Modified Good–Turing shifts counts by how many "
        f"clusters have the same count, and how many one text more. MAUVE of 2021 has none, MAUVE* of JMLR "
        f"2023 has Krichevsky–Trofimov. {where}",
    )


def smoothing_in_words(state: State) -> str:
    """The smoothing, for the middle of a sentence."""
    if state.smoothing == "none":
        return "no smoothing"
    return f"{SMOOTHING_TITLES[state.smoothing].replace('Modified', 'modified')} smoothing"


def described(state: State, partition: PartitionKind, run_scale: float) -> str:
    """The settings in words, for the line under a figure."""
    value = run_scale if state.scale is None else state.scale
    return f"{partition.capitalize()} partition, c = {value:g}, {smoothing_in_words(state)}"


def _write_scale(run_scale: float) -> None:
    chosen = st.session_state[_SCALE]
    session.update(scale=None if chosen == run_scale else chosen)


def _write_smoothing() -> None:
    session.update(smoothing=st.session_state[_SMOOTHING])


def _write_partition(default: PartitionKind) -> None:
    chosen = st.session_state[_PARTITION]
    session.update(partition=None if chosen == default else chosen)
