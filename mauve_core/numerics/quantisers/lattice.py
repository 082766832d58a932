"""Bins from the integer points of a sphere in 4 dimensions, to which a net maps the rows: 744 of radius sqrt(50).

NeurIPS 2021, appendix C.3: a row gets the point u that minimizes |f(x) - u / r|^2, with f the net of
:mod:`mauve_core.numerics.quantisers.spreading`. Points are equally long, so u maximizes f(x) . u; bins can be empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.numerics import _checks
from mauve_core.numerics.quantisers.base import Progress, Quantised, label_rows, require_own_size
from mauve_core.numerics.quantisers.spreading import DIMENSIONS, SpreadingSettings, fit_map, images


@dataclass(frozen=True)
class Lattice(SpreadingSettings):
    """A row's bin is the lattice point nearest to its image.

    Attributes
    ----------
    squared_radius : int
        Sum of the squares of a point's coordinates.
    """

    squared_radius: int = 50

    name: ClassVar[str] = "lattice"
    title: ClassVar[str] = "Lattice"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.whole("The squared radius", self.squared_radius, low=1)

    @property
    def bins(self) -> int:
        """Points of the lattice on the sphere."""
        return len(sphere_points(self.squared_radius))

    def fit(
        self,
        x: ArrayLike,
        k: int | None = None,
        *,
        seed: int | np.random.SeedSequence,
        progress: Progress | None = None,
        device: str = "cpu",
    ) -> Quantised:
        """See :class:`mauve_core.numerics.quantisers.base.Quantiser`; needs three different rows.

        Labels do not depend on the order of the rows. Equal seeds give equal labels on the CPU with equally many
        threads; on other devices, up to the rounding of sums. ``objective`` is the mean loss of one more pass over the
        rows after training.
        """
        require_own_size(self.title, self.bins, k)
        net, loss = fit_map(x, self, seed=seed, progress=progress, device=device)
        points = sphere_points(self.squared_radius)

        def assign(new: ArrayLike) -> NDArray[np.int32]:
            return label_rows(new, len(net.first), lambda rows: nearest_point(images(net, rows), points))

        return Quantised(assign(x), self.bins, loss, assign)


@cache
def sphere_points(squared_radius: int) -> NDArray[np.int64]:
    """All points of 4 integers whose squares sum to ``squared_radius``, sorted: (points, 4) int64, read-only."""
    side = np.arange(-int(np.sqrt(squared_radius)), int(np.sqrt(squared_radius)) + 1)
    grid = np.stack(np.meshgrid(*[side] * DIMENSIONS, indexing="ij"), axis=-1).reshape(-1, DIMENSIONS)
    points: NDArray[np.int64] = grid[(grid**2).sum(axis=1) == squared_radius]
    points.setflags(write=False)
    return points


def nearest_point(vectors: NDArray[np.float64], points: NDArray[np.int64]) -> NDArray[np.intp]:
    """The point of the sphere nearest to each vector's direction, the first one of a tie: (n, 4) -> (n,)."""
    return np.asarray((vectors @ points.T.astype(np.float64)).argmax(axis=1))
