"""A run's fixed clusters, for texts that it was not made of: the nearest cluster, and for one text its nearest texts.

Distances to clusters are in the space that the run's own texts span; probe scores instead cluster both halves again,
as published. Distances between texts, and how far a change moves one, are cosine distances between encoder features,
because clusters depend on the direction of features.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.config import HUMAN, EncoderConfig, ScoreConfig
from mauve_core.clusters.features import Stacked
from mauve_core.clusters.reduction import Projection, reduce_features
from mauve_core.encoders import Encoder
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


# Sample size of human texts for the usual nearest-neighbor distance.
SAMPLED = 500


@dataclass(frozen=True)
class Neighbour:
    """A text of the run near a given one.

    Attributes
    ----------
    row : int
        Its index in the source.
    distance : float
        Cosine distance, in [0, 2].
    """

    source: str
    row: int
    distance: float


@dataclass(frozen=True, eq=False)
class Encoded:
    """A text as the encoder sees it.

    Attributes
    ----------
    vector : (d,) float32 array
    tokens : int
        Number after truncation.
    cut : bool
        Whether the text was longer than the encoder's limit.
    """

    vector: NDArray[np.float32]
    tokens: int
    cut: bool


class TextSpace:
    """A run's features with its first joint partition.

    Parameters
    ----------
    features : mapping of str to (n, d) float32 array
        Of every source, in the run's order.
    partition : Partition
        Of all these sources.
    score : ScoreConfig
        The run's.
    """

    def __init__(self, features: Mapping[str, NDArray[np.float32]], partition: Partition, score: ScoreConfig) -> None:
        self._features = features
        self._clusters = freeze_clusters(partition, features, score)
        self._sides = {side: _Side(features, names) for side, names in _sides(list(features)).items()}

    def clusters(self, vectors: Sequence[NDArray[np.float32]]) -> list[int]:
        """The cluster of the nearest centroid for each vector."""
        return [int(label) for label in self._clusters.nearest(np.stack(vectors))]

    def nearest(
        self, vector: NDArray[np.float32], side: str, count: int, *, exclude: tuple[str, int] | None = None
    ) -> list[Neighbour]:
        """The nearest texts of one side (``human`` or ``model``), except the (source, row) in ``exclude``."""
        return self._sides[side].nearest(vector, count, exclude)

    def usual_distance(self) -> float:
        """Median cosine distance of a human text to its nearest neighbor, over up to ``SAMPLED`` texts."""
        own = self._features[HUMAN]
        step = -(-len(own) // SAMPLED)
        rows = range(0, len(own), step)
        found = [self.nearest(np.asarray(own[row]), HUMAN, 1, exclude=(HUMAN, row))[0].distance for row in rows]
        return float(np.median(found))


class SharedEncoder:
    """An encoder shared by all visitors of the app; one text at a time, because tokenizers are not thread-safe."""

    def __init__(self, config: EncoderConfig) -> None:
        self._encoder, self._lock = Encoder(config), Lock()
        # Whether it has encoded a text and thus loaded its model.
        self.loaded = False

    def encode(self, text: str) -> Encoded:
        """The features of one text.

        Raises
        ------
        MauveLensError
            The model is unavailable, or it knows nothing in the text.
        """
        with self._lock:
            found = self._encoder.encode([text])
            self.loaded = True
        return Encoded(np.array(found.array[0]), int(found.lengths[0]), bool(found.cut[0]))

    def seconds_per_text(self, texts: Sequence[str]) -> float:
        """Mean time for one of these texts, encoded one by one after the model has been loaded and has encoded one.

        An upper bound for many texts, which are encoded in parallel. Errors as :meth:`encode`.
        """
        self.encode(texts[0])
        begun = time.perf_counter()
        for text in texts:
            self.encode(text)
        return (time.perf_counter() - begun) / len(texts)


def cosine_distance(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """In [0, 2]; exactly 0 for equal vectors."""
    u, v = _unit(np.stack([one, other]))
    return float(((u - v) ** 2).sum() / 2)


class _Side:
    def __init__(self, features: Mapping[str, NDArray[np.float32]], names: Collection[str]) -> None:
        from sklearn.neighbors import NearestNeighbors

        self._rows = [(name, row) for name in names for row in range(len(features[name]))]
        self._index = NearestNeighbors(metric="cosine", algorithm="brute")
        self._index.fit(np.concatenate([features[name] for name in names]))

    def nearest(self, vector: NDArray[np.float32], count: int, exclude: tuple[str, int] | None) -> list[Neighbour]:
        wanted = min(count + (exclude is not None), len(self._rows))
        distances, found = self._index.kneighbors(vector[None], wanted)
        neighbours = [
            Neighbour(self._rows[index][0], self._rows[index][1], max(float(distance), 0.0))
            for distance, index in zip(distances[0], found[0], strict=True)
        ]
        return [item for item in neighbours if (item.source, item.row) != exclude][:count]


def _sides(names: Sequence[str]) -> dict[str, list[str]]:
    return {HUMAN: [HUMAN], "model": [name for name in names if name != HUMAN]}


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = rows.astype(np.float64)
    unit: NDArray[np.float64] = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    return unit
