"""The divergence curves of a run as a still drawing, small enough for a context."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mauve_core.agents.access import Access
from mauve_core.agents.answers import Figure
from mauve_core.agents.errors import CallError
from mauve_core.agents.parts import named, settings_of
from mauve_core.figures.frontier import banded_names, curve_points, error_curves
from mauve_core.figures.still import frontier_svg
from mauve_core.scoring.tables import standings

# As many as the drawing names; about half a kilobyte each.
MOST_CURVES = 22

# Points of a curve: as many as the grid of published scores has.
POINTS = 25


def figure(access: Access, run_id: str) -> tuple[Figure, str]:
    """Draw the curves of all candidates, in the colors of the app; return facts on the drawing, and it as SVG."""
    run = access.load(run_id)
    comparison = run.comparison
    order = [each.candidate.name for each in standings(comparison)]
    if len(order) > MOST_CURVES:
        allowed = f"runs of up to {MOST_CURVES} candidates"
        todo = "The leaderboard has all of them, and the app shows their curves"
        raise CallError(
            "The run has too many curves for a drawing", allowed=allowed, received=str(len(order)), todo=todo
        )
    points = curve_points(error_curves(comparison, "pairwise"), comparison.config.score.scale)
    thinned = pd.concat([_thinned(part) for _, part in points.groupby("candidate", sort=False)], ignore_index=True)
    banded = banded_names(order, order[0])
    bands = "all curves" if len(banded) == len(order) else "the first one on the leaderboard alone"
    svg = frontier_svg(thinned, order, banded)
    facts = Figure(
        run=run.id,
        title="Divergence curves of the pairwise partitions",
        caption=[
            f"A curve nearer to the corner (1, 1) is closer to the human texts; drawn through {POINTS} points, "
            "means over the k-means seeds.",
            f"A band spans the lowest to the highest k-means seed; it is shown for {bands}.",
            "A drawing ranks nothing: the tests of the leaderboard do.",
        ],
        candidates=[named(comparison, name) for name in order],
        uri=f"mauve-lens://runs/{run.id}/divergence-curves.svg",
        svg_bytes=len(svg.encode()),
        settings=settings_of(comparison),
    )
    return facts, svg


def _thinned(points: pd.DataFrame) -> pd.DataFrame:
    """At most ``POINTS`` rows of one curve, the ends among them."""
    kept = np.unique(np.linspace(0, len(points) - 1, POINTS).round().astype(int))
    return points.iloc[kept]
