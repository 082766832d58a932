"""Map data of a comparison, a map sampled to fit a page, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from mauve_core.analysis.cluster_table import MISSES, cluster_table
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.figures.map import Colouring, map_figure
from mauve_core.figures.map_data import MOST_POINTS, Points, stratified_sample
from mauve_core.scoring.result import Comparison, Partition


def map_points(comparison: Comparison, partition: Partition, candidate: str, weight: float = 0.5) -> Points:
    """Map data of a comparison, with that partition's clusters by number; InputError if the comparison has no map."""
    if comparison.projection is None:
        raise InputError("This comparison has no map", todo="Compare again with the map switched on")
    table = cluster_table(partition.counts(HUMAN), partition.counts(candidate), weight)
    sizes = [source.n for source in comparison.sources]
    labels = [partition.labels.get(each.name, np.full(each.n, -1, dtype=np.int32)) for each in comparison.sources]
    return Points(
        xy=comparison.projection,
        source=np.repeat(np.arange(len(sizes), dtype=np.int16), sizes),
        names=tuple(source.name for source in comparison.sources),
        cluster=np.concatenate(labels),
        log2_ratio=table["log2_ratio"].to_numpy(),
        cost=signed_costs(table),
    )


def signed_costs(table: pd.DataFrame) -> NDArray[np.float64]:
    """(k,) shares of the frontier integral from a cluster table, negative where the model misses texts."""
    share = table["cost_share"].to_numpy()
    return np.where(table["direction"] == MISSES, -share, share)


def sampled_map(points: Points, *, most: int = MOST_POINTS, colouring: Colouring = "source") -> tuple[go.Figure, int]:
    """Draw at most ``most`` texts, over the density of all if some are left out; also return the number drawn."""
    everything = np.ones(points.source.size, dtype=np.bool_)
    drawn = stratified_sample(points.source, everything, most)
    density = everything if drawn.size < everything.size else None
    return map_figure(points, drawn, colouring=colouring, density=density), int(drawn.size)


def points_frame(points: Points, ids: Sequence[str]) -> pd.DataFrame:
    """One row per text, including those that no figure draws; ``ids`` are in map order.

    Returns
    -------
    DataFrame
        source, id, x, y, cluster (-1 if the partition excludes its source), then the cluster's log2_ratio and cost (NaN
        without a cluster).
    """
    clustered = points.cluster >= 0
    frame = pd.DataFrame(
        {
            "source": np.array(points.names, dtype=object)[points.source],
            "id": list(ids),
            "x": points.xy[:, 0],
            "y": points.xy[:, 1],
            "cluster": points.cluster,
        }
    )
    for name in ("log2_ratio", "cost"):
        frame[name] = np.where(clustered, getattr(points, name)[points.cluster], np.nan)
    return frame
