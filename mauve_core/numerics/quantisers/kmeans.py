"""k-means, the default: any number of bins, from ``numerics.clustering``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics.kmeans.clustering import kmeans
from mauve_core.numerics.quantisers.base import Progress, Quantised, label_rows, silent

_STAGE = "k-means"


@dataclass(frozen=True)
class KMeans:
    """The best of several k-means runs; the labels are exactly those of :func:`numerics.clustering.kmeans`.

    ``assign`` gives the nearest center, the first one of a tie. If the best run stopped at ``max_iterations``, a row
    of the fit may lie nearer to another center than its own.

    Attributes
    ----------
    restarts, max_iterations : int
        k-means++ starts, and the limit on Lloyd iterations of each (NeurIPS 2021, appendix C.3).
    """

    restarts: int = 5
    max_iterations: int = 500

    name: ClassVar[str] = "kmeans"
    title: ClassVar[str] = "k-means"
    bins: ClassVar[None] = None

    def fit(
        self,
        x: ArrayLike,
        k: int | None = None,
        *,
        seed: int | np.random.SeedSequence,
        progress: Progress | None = None,
        device: str = "cpu",
    ) -> Quantised:
        """See :class:`mauve_core.numerics.quantisers.base.Quantiser`."""
        if k is None:
            raise InputError("k-means needs the number of bins", allowed="a whole number of at least 2")
        report = progress or silent
        report(_STAGE, 0, 1)
        clustering = kmeans(x, k, restarts=self.restarts, max_iterations=self.max_iterations, seed=seed, device=device)
        report(_STAGE, 1, 1)
        centres = clustering.centers
        offsets = np.einsum("ij,ij->i", centres, centres) / 2

        def nearest(rows: NDArray[np.float64]) -> NDArray[np.integer]:
            return np.asarray((rows @ centres.T - offsets).argmax(axis=1))

        def assign(new: ArrayLike) -> NDArray[np.int32]:
            return label_rows(new, centres.shape[1], nearest)

        return Quantised(clustering.labels, k, clustering.objective, assign)
