"""Draw figures of a comparison or a stored run by name; for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go

from mauve_core.analysis.cluster_table import ADDS, MISSES, cluster_table, ordered
from mauve_core.analysis.cost_intervals import costed_table
from mauve_core.analysis.gap_table import ledger_rows
from mauve_core.analysis.gap_test import gap_test
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.figures.clusters import cluster_figure
from mauve_core.figures.differences import differences_figure
from mauve_core.figures.frontier import curve_points, error_curves, frontier_figure
from mauve_core.figures.gap import ledger_figure
from mauve_core.figures.leaderboard import interval_figure
from mauve_core.figures.map_points import map_points, sampled_map
from mauve_core.figures.notebook_renderer import show_in_exports
from mauve_core.figures.theme import candidate_colour
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import standings
from mauve_core.store import Run


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
    seed: int
    weight: float = 0.5


# Candidate, partition, seed and weight where none is given.
USUAL = (None, "pairwise", None, 0.5)


def figure(
    comparison: Comparison | Run,
    name: str,
    *,
    candidate: str | None = None,
    partition: PartitionKind = "pairwise",
    seed: int | None = None,
    weight: float = 0.5,
) -> go.Figure:
    """Draw one figure of a comparison or a run.

    Parameters
    ----------
    comparison : Comparison or Run
    name : str
        A key of :data:`FIGURES`; of a run, also of :data:`mauve_core.figures.of_run.RUN_FIGURES`, which show what is
        stored beside it with all candidates, and take no further settings.
    candidate : str, optional
        For figures of one candidate; default the one ranked last by MAUVE, because it has the largest gap. If there
        are many curves, only this candidate has a band; default the one ranked first.
    partition : {"pairwise", "joint"}, optional
        Default pairwise, as published and as on the leaderboard.
    seed : int, optional
        As in :class:`View`; default ``Comparison.median_seed`` of the candidate.
    weight
        As in :class:`View`.

    Raises
    ------
    InputError
        The figure, candidate or partition does not exist, the weight is not in (0, 1), the comparison has no map or
        no tested differences, or there is no gap to explain.

    Examples
    --------
    >>> import numpy as np
    >>> from mauve_core import compare, figure
    >>> rng = np.random.default_rng(0)
    >>> texts = {name: [f"{name} {number}" for number in range(40)] for name in ("human", "greedy")}
    >>> features = {"human": rng.normal(size=(40, 8)), "greedy": rng.normal(1, size=(40, 8))}
    >>> result = compare(texts["human"], {"greedy": texts["greedy"]}, features=features, draw_map=False)
    >>> drawn = figure(result, "frontier")
    >>> type(drawn).__name__
    'Figure'
    """
    show_in_exports()
    if isinstance(comparison, Run):
        if name not in FIGURES:
            return _of_run(comparison, name, (candidate, partition, seed, weight))
        comparison = comparison.comparison
    if name not in FIGURES:
        raise InputError(f"No figure is named {name!r}", allowed=", ".join(FIGURES))
    if partition not in ("pairwise", "joint"):
        raise InputError("Unknown partition", allowed="pairwise, joint", received=repr(partition))
    if not 0 < weight < 1:
        raise InputError("Invalid mixture weight", allowed="a number between 0 and 1", received=repr(weight))
    usual = standings(comparison)[0 if name == "frontier" else -1].candidate
    chosen = usual if candidate is None else comparison.candidate(candidate)
    own = comparison.median_seed(chosen.name, partition)
    return FIGURES[name](comparison, View(chosen.name, partition, own if seed is None else seed, weight))


def _of_run(run: Run, name: str, settings: tuple[object, ...]) -> go.Figure:
    from mauve_core.figures.of_run import RUN_FIGURES, run_figure  # imports what reads every stored result

    if name not in RUN_FIGURES:
        raise InputError(f"No figure is named {name!r}", allowed=", ".join((*FIGURES, *RUN_FIGURES)))
    if settings != USUAL:
        raise InputError(f"The figure {name} shows all candidates and takes no settings")
    return run_figure(run, name)


def _colour(comparison: Comparison, view: View) -> str:
    return candidate_colour([candidate.name for candidate in comparison.candidates], view.candidate)


def _leaderboard(comparison: Comparison, view: View) -> go.Figure:
    return interval_figure(comparison, view.partition)


def _differences(comparison: Comparison, view: View) -> go.Figure:  # noqa: ARG001 (both kinds decide each test)
    return differences_figure(comparison)


def _frontier(comparison: Comparison, view: View) -> go.Figure:
    points = curve_points(error_curves(comparison, view.partition), comparison.config.score.scale)
    order = [standing.candidate.name for standing in standings(comparison, kind=view.partition)]
    return frontier_figure(points, view.weight, order=order, chosen=view.candidate)


def _clusters(comparison: Comparison, view: View) -> go.Figure:
    where, colour = (comparison, view.partition, view.candidate), _colour(comparison, view)
    if gap_test(*where).explains:
        rows = ordered(costed_table(*where, view.seed, view.weight), "cost")
        return cluster_figure(rows, view.candidate, colour=colour, words=comparison.words)
    shown = comparison.partition(view.partition, view.candidate, view.seed)
    table = cluster_table(shown.counts(HUMAN), shown.counts(view.candidate), view.weight)
    return cluster_figure(ordered(table, "difference"), view.candidate, colour=colour, words=comparison.words)


def _ledger(direction: str) -> Callable[[Comparison, View], go.Figure]:
    def draw(comparison: Comparison, view: View) -> go.Figure:
        where = comparison, view.partition, view.candidate
        tested = gap_test(*where)
        if not tested.explains:
            raise InputError(tested.in_words().rstrip("."), todo="Draw the figure clusters, which needs no gap")
        rows = ledger_rows(costed_table(*where, view.seed, view.weight), direction)
        return ledger_figure(rows, direction, colour=_colour(comparison, view), words=comparison.words)

    return draw


def _map(comparison: Comparison, view: View) -> go.Figure:
    shown = comparison.partition(view.partition, view.candidate, view.seed)
    return sampled_map(map_points(comparison, shown, view.candidate, view.weight))[0]


# Maps a name to its drawing function.
FIGURES: dict[str, Callable[[Comparison, View], go.Figure]] = {
    "leaderboard": _leaderboard,
    "differences": _differences,
    "frontier": _frontier,
    "clusters": _clusters,
    "adds": _ledger(ADDS),
    "misses": _ledger(MISSES),
    "map": _map,
}
