"""A run's clusters, held still: which of them is nearest to a text that was not there when they were made.

Distances are measured in the space that the run's own texts span. Scores of a probe cluster both halves anew
instead, as published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import ScoreConfig
from mauve_core.numerics.feature_space.reduction import reduce_features
from mauve_core.scoring.result import Partition

_BLOCK = 4096
"""Rows whose distances are taken at once."""


def nearest_clusters(
    partition: Partition,
    features: Mapping[str, NDArray[np.float32]],
    new: Sequence[NDArray[np.float32]],
    score: ScoreConfig,
) -> tuple[list[NDArray[np.int32]], float]:
    """The cluster whose centroid is nearest to each new row, in the space that the run's own features span.

    Centroids are the means of the run's texts by their stored labels; neither they nor the principal components learn
    from the new rows.

    Parameters
    ----------
    partition : Partition
        Whose sources ``features`` hold in the same order.
    features : mapping of str to (n, d) float32 array
    new : sequence of (m_i, d) float32 arrays
        May be empty, and so may each of them.
    score : ScoreConfig
        The run's.

    Returns
    -------
    labels : list of (m_i,) int32 arrays
    kept : float
        Share of the run's own texts whose nearest centroid is that of their stored cluster; 1 where k-means settled.
    """
    own = np.concatenate([features[name] for name in partition.labels])
    labels = np.concatenate(list(partition.labels.values()))
    stacked = np.concatenate([own, *new])
    fitted = np.arange(len(own))
    reduced = reduce_features(stacked, explained_variance=score.explained_variance, fit_rows=fitted).array
    centers = np.zeros((partition.k, reduced.shape[1]))
    np.add.at(centers, labels, reduced[: len(own)].astype(np.float64))
    centers /= np.bincount(labels, minlength=partition.k)[:, None]
    nearest = _nearest(reduced, centers)
    cuts = np.cumsum([len(own), *(len(part) for part in new)])
    return np.split(nearest, cuts[:-1])[1:] if new else [], float((nearest[: len(own)] == labels).mean())


def _nearest(rows: NDArray[np.float32], centers: NDArray[np.float64]) -> NDArray[np.int32]:
    found = np.empty(len(rows), dtype=np.int32)
    squares = (centers**2).sum(axis=1)
    for start in range(0, len(rows), _BLOCK):
        part = rows[start : start + _BLOCK].astype(np.float64)
        found[start : start + _BLOCK] = (squares - 2 * part @ centers.T).argmin(axis=1)
    return found
