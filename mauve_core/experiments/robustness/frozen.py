"""A run's fixed clusters, used to assign new texts to the nearest one.

Distances are in the space that the run's own texts span. Probe scores instead cluster both halves again, as
published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.config import ScoreConfig
from mauve_core.clusters.features import Stacked
from mauve_core.clusters.reduction import Projection, reduce_features
from mauve_core.scoring.result import Partition

# Number of rows per distance computation.
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class FrozenClusters:
    """Centroids of a partition; new texts change neither them nor the principal components.

    Attributes
    ----------
    projection : Projection
        To the space that the run's own texts span.
    centroids : (k, c) float64 array
        Means of the run's texts there by their stored labels.
    kept_share : float
        Share of the run's own texts that are nearest to their stored cluster's centroid; 1 if k-means converged.
    """

    projection: Projection
    centroids: NDArray[np.float64]
    kept_share: float

    def nearest(self, x: ArrayLike) -> NDArray[np.int32]:
        """(m,) cluster of the nearest centroid for each row of the (m, d) features."""
        return _nearest(self.projection.transform(x), self.centroids)


def freeze_clusters(
    partition: Partition, features: Mapping[str, NDArray[np.float32]], score: ScoreConfig
) -> FrozenClusters:
    """The clusters of a run's partition; ``features`` holds (n, d) arrays of every source of the partition."""
    own = Stacked([features[name] for name in partition.labels])
    labels = np.concatenate(list(partition.labels.values()))
    reduced = reduce_features(own, explained_variance=score.explained_variance, unit_rows=score.unit_rows)
    centroids = np.zeros((partition.k, reduced.array.shape[1]))
    np.add.at(centroids, labels, reduced.array.astype(np.float64))
    centroids /= np.bincount(labels, minlength=partition.k)[:, None]
    kept_share = float((_nearest(reduced.array, centroids) == labels).mean())
    return FrozenClusters(reduced.projection, centroids, kept_share)


def _nearest(rows: NDArray[np.float32], centroids: NDArray[np.float64]) -> NDArray[np.int32]:
    found = np.empty(len(rows), dtype=np.int32)
    squares = (centroids**2).sum(axis=1)
    for start in range(0, len(rows), _BLOCK):
        part = rows[start : start + _BLOCK].astype(np.float64)
        found[start : start + _BLOCK] = (squares - 2 * part @ centroids.T).argmin(axis=1)
    return found
