"""What the cluster pages look at: candidate, partition, seed and mixture weight, as controls over the URL's state."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.components.score_controls import PARTITION_TITLES
from app.url import session
from app.url.state import State
from mauve_core.base.config import PartitionKind
from mauve_core.scoring.result import Partition
from mauve_core.store import Run

WEIGHT_STEP = 0.01
_CANDIDATE, _PARTITION, _SEED, _WEIGHT = "focus_candidate", "focus_partition", "focus_seed", "focus_weight"
_CLUSTER = "focus_cluster"
_DEFAULT: PartitionKind = "joint"


@dataclass(frozen=True)
class Focus:
    """One candidate under one partition of one run.

    Attributes
    ----------
    run : Run
    candidate : str
    partition : Partition
    cluster : int or None
        The chosen cluster; None when none is chosen or the partition has no such cluster.
    """

    run: Run
    candidate: str
    partition: Partition
    cluster: int | None

    @property
    def key(self) -> tuple[str, PartitionKind, str, int]:
        """What caches and figures are keyed by."""
        return self.run.id, self.partition.kind, self.candidate, self.partition.seed


def of(run: Run, state: State) -> Focus:
    """The focus that the URL describes; what the run does not have falls back to its first."""
    names = [candidate.name for candidate in run.comparison.candidates]
    candidate = state.candidate if state.candidate in names else names[0]
    kind = state.partition_or(_DEFAULT)
    seed = state.seed if state.seed < run.comparison.config.score.seeds else 0
    partition = run.comparison.partition(kind, candidate, seed)
    cluster = state.cluster if state.cluster is not None and state.cluster < partition.k else None
    return Focus(run, candidate, partition, cluster)


def rows() -> DeltaGenerator:
    """Around rows of controls: beside each other where the window is wide enough, below each other elsewhere."""
    return st.container(horizontal=True, vertical_alignment="bottom")


def row() -> DeltaGenerator:
    """A row of controls that belong together."""
    return st.container(horizontal=True, vertical_alignment="bottom", width="content")


def controls(focus: Focus) -> None:
    """Candidate, partition and seed; to be called inside a row."""
    names = [candidate.name for candidate in focus.run.comparison.candidates]
    seeds = focus.run.comparison.config.score.seeds
    st.session_state[_CANDIDATE] = focus.candidate
    st.session_state[_PARTITION] = focus.partition.kind
    st.session_state[_SEED] = focus.partition.seed
    st.selectbox(
        "Candidate",
        names,
        key=_CANDIDATE,
        on_change=_write_candidate,
        width=220,
        help="The model side, Q. Humans, P, are the other side everywhere.",
    )
    st.selectbox(
        "Partition",
        ["joint", "pairwise"],
        key=_PARTITION,
        format_func=lambda kind: PARTITION_TITLES[kind],
        on_change=_write_partition,
        width=150,
        help="Joint: one set of clusters for all candidates, so that cluster 12 is the same everywhere. "
        "Pairwise: humans are clustered with one candidate at a time, as in the papers.",
    )
    if seeds > 1:
        st.selectbox(
            "Seed",
            range(seeds),
            key=_SEED,
            format_func=lambda seed: f"{seed + 1} of {seeds}",
            on_change=_write_seed,
            width=100,
            help="Each k-means seed gives other clusters. What matters shows under all of them; Gap marks what does.",
        )


def cluster_picker(focus: Focus) -> None:
    """The cluster in focus by its number: what a click in a chart does, for the keyboard."""
    session.follow_url(_CLUSTER, focus.cluster)
    st.selectbox(
        "Cluster",
        range(focus.partition.k),
        index=session.place(range(focus.partition.k), focus.cluster),
        key=_CLUSTER,
        on_change=_write_cluster,
        placeholder="None",
        width=110,
        help="The cluster whose texts are shown, by its number: type it, or click it in the chart. Numbers follow from "
        "the partition and the seed and mean nothing by themselves.",
    )


def weight_slider(state: State) -> float:
    """The mixture weight at which the errors are shared out, kept clear of the ends where they can be infinite."""
    low, high = WEIGHT_STEP, 1 - WEIGHT_STEP
    shown = min(max(round(state.weight, 2), low), high)
    if abs(st.session_state.get(_WEIGHT, -1.0) - shown) > WEIGHT_STEP / 2:
        session.follow_url(_WEIGHT, shown)
    return st.slider(
        "Weight λ of humans",
        low,
        high,
        shown,
        step=WEIGHT_STEP,
        key=_WEIGHT,
        on_change=_write_weight,
        width=160,
        help="The errors are shared out among the clusters at this point of the divergence curve, where R = λ P + "
        "(1 − λ) Q. At 0.5 both sides count alike; near 0 or 1 a cluster that one side lacks weighs most.",
    )


def _write_candidate() -> None:
    session.update(candidate=st.session_state[_CANDIDATE])


def _write_cluster() -> None:
    session.update(cluster=st.session_state[_CLUSTER])


def _write_partition() -> None:
    chosen = st.session_state[_PARTITION]
    session.update(partition=None if chosen == _DEFAULT else chosen)


def _write_seed() -> None:
    session.update(seed=st.session_state[_SEED])


def _write_weight() -> None:
    session.update(weight=st.session_state[_WEIGHT])
