"""What the cluster pages show: candidate, partition, seed and mixture weight, as controls over the URL's state."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.components import score_controls
from app.components.score_controls import PARTITION_TITLES
from app.url import bound
from app.url.parameters import State
from mauve_core.base.config import PartitionKind
from mauve_core.scoring.result import Partition
from mauve_core.store import Run

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
        None if no cluster is chosen or the partition does not have it.
    """

    run: Run
    candidate: str
    partition: Partition
    cluster: int | None

    @property
    def key(self) -> tuple[str, PartitionKind, str, int]:
        """Key for caches and figures."""
        return self.run.id, self.partition.kind, self.candidate, self.partition.seed


def of(run: Run, state: State) -> Focus:
    """The focus that the URL describes; a value that the run lacks falls back to the run's first."""
    names = [candidate.name for candidate in run.comparison.candidates]
    candidate = state.candidate if state.candidate in names else names[0]
    kind = state.partition_or(_DEFAULT)
    seed = state.seed if state.seed < run.comparison.config.score.seeds else 0
    partition = run.comparison.partition(kind, candidate, seed)
    cluster = state.cluster if state.cluster is not None and state.cluster < partition.k else None
    return Focus(run, candidate, partition, cluster)


def rows() -> DeltaGenerator:
    """Container for rows of controls: side by side if the window is wide enough, else stacked."""
    return st.container(horizontal=True, vertical_alignment="bottom")


def row() -> DeltaGenerator:
    """A row of controls that belong together."""
    return st.container(horizontal=True, vertical_alignment="bottom", width="content")


def controls(focus: Focus) -> None:
    """A row of candidate, partition, seed and cluster, the keyboard alternative to clicking in a chart."""
    names = [candidate.name for candidate in focus.run.comparison.candidates]
    seeds = focus.run.comparison.config.score.seeds
    with row():
        bound.selectbox(
            "candidate",
            "Candidate",
            names,
            names[0],
            omit_default=False,
            width=220,
            help="The model side, Q. The other side, P, is always the human texts.",
        )
        bound.selectbox(
            "partition",
            "Partition",
            {kind: PARTITION_TITLES[kind] for kind in ("joint", "pairwise")},
            _DEFAULT,
            width=150,
            help="Joint: one set of clusters for all candidates, so that cluster 12 is the same everywhere. Pairwise: "
            "the human texts are clustered with one candidate at a time, as in the papers.",
        )
        if seeds > 1:
            bound.selectbox(
                "seed",
                "Seed",
                range(seeds),
                0,
                format_func=lambda seed: f"{seed + 1} of {seeds}",
                width=100,
                help="Each k-means seed gives different clusters. What matters shows under all of them; Gap marks what "
                "does.",
            )
        bound.selectbox(
            "cluster",
            "Cluster",
            range(focus.partition.k),
            None,
            placeholder="None",
            width=110,
            help="Number of the cluster whose texts are shown: type it, or click the cluster in the chart. Numbers "
            "depend on the partition and the seed and mean nothing by themselves.",
        )


def weight_slider(state: State) -> float:
    """The mixture weight at which the clusters' shares of the errors are computed."""
    return score_controls.weight(
        state,
        "The errors are split among the clusters at this point of the divergence curve, where R = λ P + (1 − λ) Q. At "
        "0.5 both sides count equally; near 0 or 1, clusters that one side lacks weigh most.",
        width=160,
    )
