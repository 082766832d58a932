"""Figures of a comparison or a stored run by name, for notebooks and scripts; and a comparison's own display there.

The display (leaderboard, warnings, and the divergence curves as a static drawing) needs no script and no network, so
Jupyter, VS Code and notebook converters show it offline and before the notebook is trusted. Under ipykernel, Plotly
shows a figure as its own type of data alone, which programs that turn a notebook into a page, such as nbconvert, do not
draw; so Plotly's HTML is added.
"""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import plotly.graph_objects as go
import plotly.io as pio

from mauve_core.analyses.gap import ledger_rows
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import SCORE_DECIMALS, interval, printable, with_spread
from mauve_core.figures.clusters import cluster_figure
from mauve_core.figures.differences import differences_figure
from mauve_core.figures.frontier import (
    banded_names,
    bands_in_words,
    curve_points,
    error_curves,
    frontier_figure,
    frontier_svg,
)
from mauve_core.figures.gap import ledger_figure
from mauve_core.figures.leaderboard import interval_figure, leaderboard_frame, titled
from mauve_core.figures.text_map import map_points, sampled_map
from mauve_core.figures.theme import candidate_colour, short_name
from mauve_core.findings.clusters import ADDS, MISSES, cluster_table, costed_table, gap_test, ordered
from mauve_core.runs import Run
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import places_sentence, rank_label, standings, texts_interval

OWN_TYPE = "plotly_mimetype"
# Plotly's choice for notebooks that are not run by ipykernel.
WITH_HTML = "plotly_mimetype+notebook"


@cache
def show_in_exports() -> None:
    """Add HTML to what figures show, once in a process, where the kernel's default is in force and nobody chose it."""
    in_kernel = "ipykernel" in sys.modules and sys.modules["IPython"].get_ipython() is not None
    if in_kernel and pio.renderers.default == OWN_TYPE and "PLOTLY_RENDERER" not in os.environ:
        pio.renderers.default = WITH_HTML


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
            raise InputError(
                tested.in_words(comparison.words).rstrip("."), todo="Draw the figure clusters, which needs no gap"
            )
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


_CELL = "padding:4px 10px;text-align:left;white-space:nowrap"


def notebook_html(comparison: Comparison) -> str:
    """The comparison as HTML in one ``div``, with all text escaped."""
    points = curve_points(error_curves(comparison, "pairwise"), comparison.config.score.scale)
    order = [standing.candidate.name for standing in standings(comparison)]
    banded = banded_names(order, order[0])
    bands = bands_in_words([_safe(short_name(name)) for name in banded], len(order))
    warnings = "".join(f"<li>{_safe(warning)}</li>" for warning in comparison.warnings)
    names = ", ".join(f"<code>{name}</code>" for name in FIGURES)
    return (
        f"<div>{_table(comparison)}<p style='max-width:60em'>{_about(comparison)}</p>"
        + (f"<p style='margin-bottom:0'><b>Warnings</b></p><ul>{warnings}</ul>" if warnings else "")
        + f"{frontier_svg(points, order, banded)}<p style='opacity:.75'>Divergence curves of the pairwise partitions. "
        f"{bands} Interactive: <code>mauve_core.figure(comparison, name)</code> with {names}.</p></div>"
    )


def _table(comparison: Comparison) -> str:
    frame = leaderboard_frame(comparison, "pairwise")
    lettered, names = bool(frame["letters"].any()), comparison.score_names
    heads = ["Rank", *(["Letters"] if lettered else []), "Candidate", *(titled(name) for name in names), "n", "k"]
    rows = []
    for _, row in frame.iterrows():
        cells = [rank_label(int(row["rank"]), bool(row["tied"])), *([row["letters"]] if lettered else [])]
        cells.append(f"<b>{_safe(str(row['candidate']))}</b>")
        for score in names:
            mean = with_spread(row[score], row[f"{score}_sd"], SCORE_DECIMALS, value_in="<b>{}</b>")
            low_high = interval(row[f"{score}_low"], row[f"{score}_high"], SCORE_DECIMALS)
            cells.append(f"{mean}<br><small>{low_high}</small>")
        cells += [f"{row['n']:,}", f"{row['k']:,}"]
        rows.append("<tr>" + "".join(f"<td style='{_CELL}'>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th scope='col' style='{_CELL}'>{name}</th>" for name in heads)
    caption = "<caption style='text-align:left'><b>Leaderboard</b></caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _about(comparison: Comparison) -> str:
    score = comparison.config.score
    seeds = f"mean ± sd over {score.seeds} k-means seeds" if score.seeds > 1 else "one k-means seed, no spread known"
    return (
        f"Pairwise partitions; {seeds}; below it the {texts_interval(score.confidence)}. "
        f"{_safe(places_sentence(comparison))} {comparison.human.n:,} {comparison.words.reference_items}; "
        f"encoder: {_safe(comparison.config.made_by)}; c = {score.scale:g}."
    )


def _safe(text: str) -> str:
    return html.escape(printable(text))
