"""Draw figures of a comparison by name, without a stored run; for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go

from mauve_core.analysis.cluster_table import cluster_table, error_intervals, ordered
from mauve_core.analysis.gap_table import ledger_rows
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.figures.clusters import cluster_figure
from mauve_core.figures.differences import differences_figure
from mauve_core.figures.frontier import curve_points, error_curves, frontier_figure
from mauve_core.figures.gap import ledger_figure
from mauve_core.figures.leaderboard import interval_figure
from mauve_core.figures.map_points import map_points, sampled_map
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import standings


@dataclass(frozen=True)
class View:
    """Which part of a comparison a figure shows.

    Attributes
    ----------
    candidate : str
        The model side of a figure that has one; also the candidate whose band is drawn when there are many curves.
    partition : {"pairwise", "joint"}
    seed : int
        Index of the k-means seed, for figures of a single partition.
    weight : float in (0, 1)
        Weight of P in the mixture R.
    """

    candidate: str
    partition: PartitionKind
    seed: int = 0
    weight: float = 0.5


def figure(
    comparison: Comparison,
    name: str,
    *,
    candidate: str | None = None,
    partition: PartitionKind | None = None,
    seed: int = 0,
    weight: float = 0.5,
) -> go.Figure:
    """Draw one figure of a comparison.

    Parameters
    ----------
    name : str
        A key of :data:`FIGURES`.
    candidate : str, optional
        For figures of one candidate; default the one ranked last by MAUVE, because it has the largest gap. If there
        are many curves, only this candidate has a band; default the one ranked first.
    partition : {"pairwise", "joint"}, optional
        Default pairwise, as published, for scores and curves; joint for clusters, to compare candidates.
    seed, weight
        As in :class:`View`.

    Raises
    ------
    InputError
        The figure, candidate or partition does not exist, the weight is not in (0, 1), the comparison has no map, or
        its differences were not tested.
    """
    if name not in FIGURES:
        raise InputError(f"No figure is named {name!r}", allowed=", ".join(FIGURES))
    if partition not in (None, "pairwise", "joint"):
        raise InputError("Unknown partition", allowed="pairwise, joint", received=repr(partition))
    if not 0 < weight < 1:
        raise InputError("Invalid mixture weight", allowed="a number between 0 and 1", received=repr(weight))
    draw, default = FIGURES[name]
    usual = standings(comparison)[0 if name == "frontier" else -1].candidate
    chosen = usual if candidate is None else comparison.candidate(candidate)
    return draw(comparison, View(chosen.name, partition or default, seed, weight))


def _leaderboard(comparison: Comparison, view: View) -> go.Figure:
    return interval_figure(comparison, view.partition)


def _differences(comparison: Comparison, view: View) -> go.Figure:  # noqa: ARG001 (both kinds decide each test)
    return differences_figure(comparison)


def _frontier(comparison: Comparison, view: View) -> go.Figure:
    points = curve_points(error_curves(comparison, view.partition), comparison.config.score.scale)
    order = [standing.candidate.name for standing in standings(comparison, kind=view.partition)]
    return frontier_figure(points, view.weight, order=order, chosen=view.candidate)


def _clusters(comparison: Comparison, view: View) -> go.Figure:
    shown = comparison.partition(view.partition, view.candidate, view.seed)
    table = cluster_table(shown.counts(HUMAN), shown.counts(view.candidate), view.weight)
    return cluster_figure(ordered(table, "difference"), view.candidate)


def _ledger(error: str) -> Callable[[Comparison, View], go.Figure]:
    def draw(comparison: Comparison, view: View) -> go.Figure:
        shown = comparison.partition(view.partition, view.candidate, view.seed)
        counts = shown.counts(HUMAN), shown.counts(view.candidate)
        intervals = error_intervals(*counts, view.weight)[error]
        return ledger_figure(ledger_rows(cluster_table(*counts, view.weight), error, intervals), error, {})

    return draw


def _map(comparison: Comparison, view: View) -> go.Figure:
    shown = comparison.partition(view.partition, view.candidate, view.seed)
    return sampled_map(map_points(comparison, shown, view.candidate, view.weight))[0]


FIGURES: dict[str, tuple[Callable[[Comparison, View], go.Figure], PartitionKind]] = {
    "leaderboard": (_leaderboard, "pairwise"),
    "differences": (_differences, "pairwise"),
    "frontier": (_frontier, "pairwise"),
    "clusters": (_clusters, "joint"),
    "adds": (_ledger("type_1"), "joint"),
    "misses": (_ledger("type_2"), "joint"),
    "map": (_map, "joint"),
}
"""Maps a name to its drawing function and default partition."""
