"""Controls that change scores at once: scaling constant, smoothing, partition. Their values are in the URL."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.url import bound
from app.url.parameters import State
from mauve_core.base.config import PartitionKind, Smoothing
from mauve_core.figures.frontier import WEIGHT_STEP

SCALES = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 50.0)

SMOOTHING_TITLES: dict[Smoothing, str] = {
    "none": "None",
    "krichevsky-trofimov": "Krichevsky–Trofimov",
    "laplace": "Laplace",
    "braess-sauer": "Braess–Sauer",
    "good-turing": "Modified Good–Turing",
}
PARTITION_TITLES: dict[PartitionKind, str] = {"pairwise": "Pairwise (as published)", "joint": "Joint"}


def show(state: State, run_scale: float, *, default_partition: PartitionKind) -> None:
    """Draw the controls with the values of ``state``.

    Parameters
    ----------
    run_scale : float
        The run's scaling constant: the value if the URL names none.
    default_partition : {"pairwise", "joint"}
        The partition of this view if the URL names none.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bound.segmented_control(
            "partition",
            "Partition",
            PARTITION_TITLES,
            default_partition,
            help="Pairwise: the human texts are clustered with one candidate at a time, as in the papers. Joint: with "
            "all candidates at once, so that clusters are the same for all.",
        )
        smoothing("MAUVE* always has Krichevsky–Trofimov.")
        scale(state, run_scale)


def scale(state: State, run_scale: float) -> float:
    """The scaling constant alone; ``run_scale`` is the value if the URL names none."""
    value = run_scale if state.scale is None else state.scale
    st.select_slider(
        "Scaling constant c",
        sorted({*SCALES, run_scale, value}),
        format_func=lambda each: f"{each:g}",
        width=200,
        help="Larger values stretch differences between good models. Compare only scores with the same c. The papers "
        "use 5.",
        **bound.bind("scale", value, default=run_scale),
    )
    return value


def weight(state: State, about: str, **keywords: Any) -> float:
    """The weight of P in the mixture R, kept away from 0 and 1, where errors can be infinite."""
    low, high = WEIGHT_STEP, 1 - WEIGHT_STEP
    shown = min(max(round(state.weight, 2), low), high)
    link = bound.bind("weight", shown)
    st.slider("Weight λ of humans", low, high, step=WEIGHT_STEP, help=about, **link, **keywords)
    return shown


def smoothing(where: str) -> None:
    """The smoothing alone; ``where`` says what it acts on."""
    bound.selectbox(
        "smoothing",
        "Smoothing of counts",
        SMOOTHING_TITLES,
        None,
        width=215,
        help="Texts added to every cluster: 1/2 (Krichevsky–Trofimov); 1 (Laplace); 1/2 to a cluster with none, 1 to "
        "one with one text, else 3/4 (Braess–Sauer). Modified Good–Turing adjusts counts by how many clusters have "
        "the same count, and how many have one text more. MAUVE of 2021 has no smoothing; MAUVE* of JMLR 2023 has "
        f"Krichevsky–Trofimov. {where}",
    )


def smoothing_in_words(state: State) -> str:
    """The smoothing, worded for the middle of a sentence."""
    if state.smoothing == "none":
        return "no smoothing"
    return f"{SMOOTHING_TITLES[state.smoothing].replace('Modified', 'modified')} smoothing"


def described(state: State, partition: PartitionKind, run_scale: float) -> str:
    """The settings in words, for the line under a figure."""
    value = run_scale if state.scale is None else state.scale
    return f"{partition.capitalize()} partition, c = {value:g}, {smoothing_in_words(state)}"
