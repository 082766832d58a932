"""Input of estimators (the human side and one candidate) and the interface of a fit.

A fit is the costly part and serves every divergence, smoothing and summary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import ScoreConfig
from mauve_core.base.progress import Progress, silent
from mauve_core.clusters.k_means import Clustering, default_k, kmeans
from mauve_core.clusters.reduction import reduce_features
from mauve_core.estimators.ratios import Coordinates, LogRatios
from mauve_core.estimators.transport import frechet_cost
from mauve_core.experiments.methods.method import Method
from mauve_core.scoring.streams import stream
from mauve_core.stats.divergences import probabilities
from mauve_core.stats.resampling import Corrected, bias_reduced
from mauve_core.stats.units import each_alone, units_of

Features = NDArray[np.float32]
Tokens = list[NDArray[np.int64]]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sides:
    """The human side and one candidate, ready for fitting.

    Attributes
    ----------
    x_p, x_q : (n, d) and (m, d) float32 arrays
    jackknife_rows : sequence of (rows of x_p, rows of x_q)
        Rows to keep when leaving out each group of texts; empty if no spread over texts is needed.
    tokens : callable
        Returns token ids of both sides, for estimators that read texts.
    ratios : callable, optional
        Returns probability ratios of the texts under two models, if known.
    units : pair of (n,) and (m,) arrays of int, optional
        Prompts of the texts of both sides by common numbers; None if each text stands alone.
    """

    x_p: Features
    x_q: Features
    jackknife_rows: Sequence[tuple[Rows, Rows]]
    score: ScoreConfig
    tokens: Callable[[], tuple[Tokens, Tokens]]
    device: str = "cpu"
    progress: Progress = silent
    ratios: Callable[[], LogRatios] | None = None
    units: tuple[Rows, Rows] | None = None

    @cached_property
    def reduced(self) -> NDArray[np.float32]:
        """(n + m, c) coordinates of both sides in one space, as for published scores."""
        stacked = np.concatenate([self.x_p, self.x_q])
        score = self.score
        return reduce_features(stacked, explained_variance=score.explained_variance, unit_rows=score.unit_rows).array

    def clustered(self, seed: SeedSequence) -> Clustering:
        """k-means of both sides in the reduced space, cached by seed."""
        key = (seed.entropy, seed.spawn_key)
        if key not in self._clustered:
            self._clustered[key] = kmeans(self.reduced, self.k, restarts=self.score.restarts, seed=seed)
        return self._clustered[key]

    @cached_property
    def _clustered(self) -> dict[object, Clustering]:
        return {}

    @cached_property
    def frechet(self) -> float:
        """The Fréchet distance, which two estimators start from."""
        return frechet_cost(self.x_p, self.x_q)

    @cached_property
    def frechet_left_out(self) -> NDArray[np.float64]:
        """(groups,) Fréchet distances without each group of texts."""
        return np.array([frechet_cost(self.x_p[p], self.x_q[q]) for p, q in self.jackknife_rows])

    @cached_property
    def coordinates(self) -> dict[Hashable, Coordinates]:
        """Cache of principal coordinates, for ``estimators.ratios.coordinates_kept``."""
        return {}

    @property
    def k(self) -> int:
        """Number of clusters if it is free."""
        return self.score.k or default_k(len(self.x_p), len(self.x_q))


class Fit(ABC):
    """One estimator fitted to two sides.

    Attributes
    ----------
    notes : tuple of str
        How it was computed.
    caveats : tuple of str
        Why its value is to be read with care.
    z : float or None
        Its standard score against halves of the human side, if any.
    """

    notes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    z: float | None = None

    @abstractmethod
    def value(self, method: Method) -> float:
        """The method's value on all texts; may be infinite."""

    @abstractmethod
    def left_out(self, method: Method) -> NDArray[np.float64] | None:
        """(groups,) values without each group of texts; None if unavailable."""


class Binned(Fit):
    """Texts in bins.

    Parameters
    ----------
    labels_p, labels_q : (n,) and (m,) arrays of int
    sides : Sides
        Whose texts these are: their groups and prompts, and the seed of a correction's resamples.
    """

    def __init__(
        self,
        labels_p: NDArray[np.int32],
        labels_q: NDArray[np.int32],
        k: int,
        sides: Sides,
    ) -> None:
        self.labels, self.k = (labels_p, labels_q), k
        if min(map(len, self.labels)) < k:
            self.notes = (f"{k:,} bins: fewer texts than bins on a side, so even equal sides look far apart",)
        self._jackknife_rows, self._units = sides.jackknife_rows, sides.units
        self._seed = stream(sides.score.seed, "correction")

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(k,) number of texts per bin, the human side first."""
        p, q = (np.bincount(labels, minlength=self.k).astype(np.int64) for labels in self.labels)
        return p, q

    def jackknife_counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(groups, k) counts without each group of texts."""
        p, q = (
            np.array(
                [np.bincount(labels[rows[side]], minlength=self.k) for rows in self._jackknife_rows], dtype=np.int64
            )
            for side, labels in enumerate(self.labels)
        )
        return p, q

    def value(self, method: Method) -> float:
        if method.correction != "none":
            return method.corrected_value(self._corrected)
        return float(method.value(*(probabilities(side, method.smoothing) for side in self.counts())))

    def left_out(self, method: Method) -> NDArray[np.float64] | None:
        if not self._jackknife_rows:
            return None
        if method.correction != "none":
            return np.array([method.corrected_value(found) for found in self._corrected_without_groups])
        return np.asarray(method.value(*(probabilities(side, method.smoothing) for side in self.jackknife_counts())))

    @cached_property
    def _corrected(self) -> Corrected:
        p, q = self.labels
        return self._bias_reduced(np.arange(p.size), np.arange(q.size))

    @cached_property
    def _corrected_without_groups(self) -> list[Corrected]:
        return [self._bias_reduced(*rows) for rows in self._jackknife_rows]

    def _bias_reduced(self, rows_p: Rows, rows_q: Rows) -> Corrected:
        """Of these rows; units are drawn as wholes, and by the same seed for all fits."""
        p, q = self.labels[0][rows_p], self.labels[1][rows_q]
        units = self._units
        drawn = each_alone(p.size, q.size) if units is None else units_of(units[0][rows_p], units[1][rows_q])
        return bias_reduced(p, q, self.k, drawn, seed=self._seed)
