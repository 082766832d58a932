"""Which texts of a source are probed: all, those of a cluster, of the map's lasso, or with some metadata values."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from app.selection import Stack, inside_polygon
from mauve_core.scoring.result import Comparison, Partition

MISSING = "(missing)"
"""How a gap in the metadata is named."""


def in_cluster(partition: Partition, source: str, cluster: int | None) -> tuple[int, ...]:
    """Rows of a source in a cluster; none without a cluster, or where the partition leaves the source out."""
    if cluster is None or source not in partition.labels:
        return ()
    return _rows(np.asarray(partition.labels[source]) == cluster)


def in_lasso(comparison: Comparison, source: str, lasso: Sequence[tuple[float, float]] | None) -> tuple[int, ...]:
    """Rows of a source within a polygon on the run's map; none without one of the two."""
    if lasso is None or comparison.projection is None:
        return ()
    stack = Stack.of(comparison)
    own = stack.source == stack.names.index(source)
    return _rows(inside_polygon(comparison.projection[own], np.array(lasso, dtype=np.float64)))


def value_counts(column: pd.Series) -> dict[str, int]:
    """How often each value of a metadata column stands there, as text, the most frequent first."""
    return {str(value): int(count) for value, count in _as_text(column).value_counts().items()}


def with_values(column: pd.Series, values: Collection[str]) -> tuple[int, ...]:
    """Rows whose value, as text, is one of those."""
    return _rows(_as_text(column).isin(list(values)).to_numpy(dtype=bool))


def _as_text(column: pd.Series) -> pd.Series:
    return column.astype(object).map(lambda value: MISSING if pd.isna(value) else str(value))


def _rows(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(row) for row in np.flatnonzero(mask))
