"""Figures of what is stored beside a run: measures, methods, encoders, probes, sweeps and columns of metadata."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import plotly.graph_objects as go

from mauve_core.analyses.attached_results import DOCUMENTS
from mauve_core.base.config import AXES, ESTIMATOR_AXES
from mauve_core.base.errors import InputError
from mauve_core.figures import agreement, attributes, probes
from mauve_core.figures.agreement import agreement_figure
from mauve_core.figures.measures import lengths_figure, neighbours_figure, panels_figure
from mauve_core.figures.methods import bump_figure
from mauve_core.figures.sweeps import estimator_sweep_figure, own_values, sweep_figure
from mauve_core.runs import Run
from mauve_core.runs.folder import MADE_BY

# The score of figures that show one.
SCORE = "mauve"

# The distance of the figure of probes, as on the page.
PROBED_BY = "jensen-shannon"

_Draw = Callable[[Any, Run], go.Figure]


def run_figure(run: Run, name: str) -> go.Figure:
    """Draw what a command has stored beside a run, with all of the run's candidates.

    Parameters
    ----------
    run : Run
    name : str
        A key of :data:`RUN_FIGURES`.

    Raises
    ------
    InputError
        The figure does not exist, or the run has no such results; names the command that makes them.
    StorageError
        The stored results are damaged.
    """
    if name not in RUN_FIGURES:
        raise InputError(f"No figure of stored results is named {name!r}", allowed=", ".join(RUN_FIGURES))
    document, draw = RUN_FIGURES[name]
    found = DOCUMENTS[document](run)
    if found is None:
        base, _, over = document.partition("-")
        command = MADE_BY.get(document, MADE_BY.get(base, "")).format(run=run.id, over=over)
        raise InputError(f"Run {run.id} has no {document} to draw", todo=f"Compute them with: mauve-lens {command}")
    return draw(found, run)


def _order(run: Run) -> list[str]:
    return [candidate.name for candidate in run.comparison.candidates]


def _attributes(part: str, table: Any, run: Run) -> go.Figure:
    lines = attributes.lines_of(part, table)
    if not lines:
        raise InputError(f"No column of metadata in run {run.id} can be drawn this way")
    return attributes.part_figure(part, table, lines)


# Maps a name to what it draws, by its name among the run's stored results, and to its drawing function.
RUN_FIGURES: dict[str, tuple[str, _Draw]] = {
    "measures": ("measures", lambda table, run: panels_figure(table, _order(run), words=run.comparison.words)),
    "lengths": ("lengths", lambda table, run: lengths_figure(table, _order(run), run.comparison.words)),
    "neighbors": ("neighbours", lambda table, run: neighbours_figure(table, _order(run), run.comparison.words)),
    "methods": ("methods", lambda table, run: bump_figure(table, _order(run), run.comparison)),
    "methods-agreement": ("methods", lambda table, run: agreement_figure(table)),  # noqa: ARG005 (as the others)
    "encoders": ("encoders", lambda table, run: agreement.encoder_agreement_figure(table, SCORE)),  # noqa: ARG005
    "probes": ("probes", lambda table, run: probes.distance_figure(table, PROBED_BY, _order(run))),
    **{f"metadata-{part}": ("attributes", partial(_attributes, part)) for part in attributes.PARTS},
    **{
        f"sweep-{axis}": (
            f"sweep-{axis}",
            lambda table, run: sweep_figure(table, SCORE, _order(run), own_values(table, run.comparison)),
        )
        for axis in AXES
    },
    **{
        f"sweep-{axis}": (f"sweep-{axis}", lambda table, run: estimator_sweep_figure(table, _order(run)))
        for axis in ESTIMATOR_AXES
    },
}
