"""Features to the plane, for navigation only: clusters live in the original space (UMAP, McInnes et al. 2018)."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.numerics import _checks

NEIGHBOURS = 15
LEAST_ROWS = 3


def project(x: ArrayLike, *, seed: int) -> NDArray[np.float32]:
    """Place rows on a plane so that neighbours stay neighbours; equal input and seed give equal positions.

    Parameters
    ----------
    x : (n, d) array
        Rows, usually ``reduce_features(...).array``.
    seed : int
        At least 0, below 2**32.

    Returns
    -------
    (n, 2) float32 array
        Finite positions without unit; distances between far points mean nothing.

    Raises
    ------
    InputError
        No rows, values that are not finite, or a seed that is not a whole number.
    """
    rows = _checks.features(x, least_rows=1)
    seed = _checks.whole("The seed", seed, low=0)
    if len(rows) < LEAST_ROWS:  # no neighbourhood to keep: side by side
        return np.stack([np.arange(len(rows)), np.zeros(len(rows))], axis=1).astype(np.float32)
    with warnings.catch_warnings():
        _silence()
        from umap import UMAP

        reducer = UMAP(
            n_neighbors=max(2, min(NEIGHBOURS, len(rows) - 1)),
            n_components=2,
            init="pca" if min(rows.shape) > 2 else "random",
            random_state=seed % 2**32,
            n_jobs=1,
        )
        positions = reducer.fit_transform(rows)
    return np.ascontiguousarray(positions, dtype=np.float32)


def _silence() -> None:
    """What umap and numba say at import and about settings chosen here on purpose."""
    warnings.filterwarnings("ignore", module=r"(umap|numba|pynndescent)(\.|$)")
