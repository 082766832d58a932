"""Project features to the plane, for navigation only: clusters live in the original space (UMAP, McInnes et al. 2018).

UMAP takes minutes for tens of thousands of rows. Beyond ``MOST_FITTED`` rows, it is fitted on a sample with rows of
every stratum (source and cluster), and each other row is placed at its nearest fitted neighbors. UMAP's own placement
adds gradient descent; it takes many times as long and preserves neighborhoods about as well (measured by
``benchmarks/map_sample.py``).

scikit-learn finds the neighbors of the fitted rows exactly, in blocks of products. UMAP's own search compiles in every
process, which takes longer than everything else at these numbers of rows.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError, MauveLensError, library_errors, words_of
from mauve_core.numerics import _checks
from mauve_core.numerics.feature_space.stacked import Stacked, stacked
from mauve_core.numerics.threads import openmp_threads_kept

NEIGHBOURS = 15
LEAST_ROWS = 3
# Most rows for fitting the map; further rows are placed among them.
MOST_FITTED = 20_000

# Fitted neighbors that determine the position of another row.
PLACED_BY = 5


def _silent(done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Map:
    """Positions of rows on the plane.

    Attributes
    ----------
    positions : (n, 2) float32 array
        Finite, without unit; distances between far points mean nothing.
    fitted : int
        Rows on which UMAP was fitted; the others were placed.
    """

    positions: NDArray[np.float32]
    fitted: int


def map_of(
    x: ArrayLike | Stacked,
    strata: ArrayLike,
    *,
    seed: int,
    most: int = MOST_FITTED,
    device: str = "cpu",
    progress: Callable[[int, int], None] = _silent,
) -> Map:
    """Place any number of rows on a plane; equal input and seed give equal positions on equal devices.

    Parameters
    ----------
    x : (n, d) array or Stacked
        Rows, usually ``reduce_features(...).array``; read in blocks.
    strata : (n,) array of int
        Group of each row, such as source and cluster; the fit includes rows of every group.
    seed : int
        At least 0, below 2**32.
    most : int
        Most rows to fit UMAP on, except that every stratum has at least one.
    device : str
        "cpu" for umap-learn; otherwise where torch does the same (:mod:`mauve_core.numerics.device.layout`).
    progress : callable, optional
        Called with the number of placed rows, and of all rows; while UMAP fits, in proportion to its epochs. What it
        raises stops the fit.

    Raises
    ------
    InputError
        There are no rows, values are not finite, strata are not one per row, or the seed is not a whole number.
    """
    table, seed = stacked(x), _checks.whole("The seed", seed, low=0)
    groups = np.asarray(strata)
    if groups.shape != (len(table),) or groups.dtype.kind not in "iu":
        raise InputError(
            "The strata do not match the rows", allowed=f"{len(table)} whole numbers", received=str(groups.shape)
        )
    most = _checks.whole("The number of rows to fit", most, low=PLACED_BY)
    rows = sampled_rows(groups, most, np.random.default_rng([seed, len(table)]))
    fitted = table.block(0, len(table)) if len(rows) == len(table) else table.take(rows)
    progress(0, len(table))
    own = project(
        fitted,
        seed=seed,
        device=device,
        progress=lambda done, epochs: progress(len(rows) * done // epochs, len(table)),
    )
    progress(len(rows), len(table))
    if len(rows) == len(table):
        return Map(own, len(table))
    positions = np.empty((len(table), 2), dtype=np.float32)
    others = np.ones(len(table), dtype=np.bool_)
    others[rows], positions[rows] = False, own
    left = Stacked([table], rows=np.flatnonzero(others))
    positions[others] = placed(left, fitted, own, lambda done, _: progress(len(rows) + done, len(table)), device)
    return Map(positions, len(rows))


def project(
    x: ArrayLike, *, seed: int, device: str = "cpu", progress: Callable[[int, int], None] = _silent
) -> NDArray[np.float32]:
    """Place rows on a plane so that neighbors stay neighbors; equal input and seed give equal positions.

    Parameters
    ----------
    x : (n, d) array
    seed : int
    device : str
        As in :func:`map_of`.
    progress : callable, optional
        Called with UMAP's epoch and their number.

    Returns
    -------
    (n, 2) float32 array
        As ``Map.positions``.

    Raises
    ------
    InputError
        There are no rows, values are not finite, or the seed is not a whole number.
    MauveLensError
        UMAP fails.
    """
    rows = _checks.features(x, least_rows=1)
    seed = _checks.whole("The seed", seed, low=0)
    if len(rows) < LEAST_ROWS:  # no neighbourhood to keep: side by side
        return np.stack([np.arange(len(rows)), np.zeros(len(rows))], axis=1).astype(np.float32)
    if device != "cpu":
        from mauve_core.numerics.device.layout import project_on

        return project_on(device, rows, _neighbours(rows), seed=seed % 2**32, progress=progress)
    with warnings.catch_warnings(), openmp_threads_kept():
        _silence()
        reported = {"file": _Epochs(progress), "disable": False, "leave": False, "bar_format": _Epochs.FORMAT}
        nearby = nearest(rows, _neighbours(rows))
        with library_errors(lambda error: MauveLensError(f"UMAP cannot make the map: {words_of(error)}")):
            reducer = reducer_of(rows, seed, precomputed_knn=nearby, tqdm_kwds=reported)
            positions = reducer.fit_transform(rows)
    return np.ascontiguousarray(positions, dtype=np.float32)


def reducer_of(rows: NDArray[np.float32], seed: int, **options: Any) -> Any:
    """The unfitted UMAP estimator for these rows; ``options`` are UMAP's own."""
    from umap import UMAP

    _keep_compiled()
    return UMAP(
        n_neighbors=_neighbours(rows),
        n_components=2,
        init="pca" if min(rows.shape) > 2 else "random",
        random_state=seed % 2**32,
        n_jobs=1,
        **options,
    )


class _Epochs:
    """The file into which UMAP's progress bar writes; it passes the numbers on."""

    FORMAT = "{n_fmt}/{total_fmt}"

    def __init__(self, progress: Callable[[int, int], None]) -> None:
        self._progress = progress

    def write(self, text: str) -> None:
        found = re.search(r"(\d+)/(\d+)", text)
        if found is not None:
            self._progress(int(found[1]), int(found[2]))

    def flush(self) -> None:
        """Keep nothing back."""


def nearest(rows: NDArray[np.float32], count: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """(n, count) indices of the nearest rows and their Euclidean distances; each row is its own first neighbor."""
    from sklearn.neighbors import NearestNeighbors

    distances, others = NearestNeighbors(n_neighbors=count - 1, algorithm="brute").fit(rows).kneighbors()
    itself = np.arange(len(rows))
    return (
        np.column_stack([itself, others]).astype(np.int32),
        np.column_stack([np.zeros(len(rows)), distances]).astype(np.float32),
    )


def sampled_rows(strata: NDArray[np.integer], most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sorted rows, each stratum in proportion to its size and with at least one row; all rows if there are few."""
    n = len(strata)
    if n <= most:
        return np.arange(n)
    order = rng.permutation(n)
    order = order[np.argsort(strata[order], kind="stable")]
    _, firsts = np.unique(strata[order], return_index=True)
    # Rows are in random order within strata; even steps take each stratum's share.
    steps = np.linspace(0, n, max(most - len(firsts), 0), endpoint=False).astype(np.int64)
    return np.unique(order[np.union1d(firsts, steps)])


def placed(
    x: ArrayLike | Stacked,
    fitted: NDArray[np.float32],
    positions: NDArray[np.float32],
    progress: Callable[[int, int], None] = _silent,
    device: str = "cpu",
) -> NDArray[np.float32]:
    """Positions of further rows: the median of those of the nearest fitted rows, per coordinate.

    A mean would put a row with neighbors in two groups into the empty space between them.

    Parameters
    ----------
    x : (m, d) array or Stacked
    fitted : (n, d) float32 array
        At least ``PLACED_BY`` rows.
    positions : (n, 2) array
        Positions of the fitted rows.
    progress : callable
        Called with the number of rows placed so far, and of all rows.
    device : str
        Where the nearest rows are found, as in :func:`map_of`.

    Returns
    -------
    (m, 2) float32 array
        Within the rectangle of ``positions``.
    """
    table = stacked(x)
    if device != "cpu":
        from mauve_core.numerics.device.layout import placed_on

        return placed_on(device, table, fitted, positions, PLACED_BY, progress)
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=PLACED_BY, algorithm="brute").fit(fitted)
    positions_2d = np.empty((len(table), 2), dtype=np.float32)
    for block, rows in table.blocks():
        positions_2d[block] = np.median(positions[search.kneighbors(rows, return_distance=False)], axis=1)
        progress(block.stop, len(table))
    return positions_2d


def _neighbours(rows: NDArray[np.float32]) -> int:
    """Number of neighbors per row, including itself."""
    return max(2, min(NEIGHBOURS, len(rows) - 1))


@functools.cache
def _keep_compiled() -> None:
    """Cache on disk what UMAP compiles, as it does for a smaller function; otherwise every process compiles it again.

    Numba compiles anew if the function's file, numba or the processor changes.
    """
    from umap import layouts, umap_

    for compiled in (
        umap_.smooth_knn_dist,
        umap_.compute_membership_strengths,
        layouts._nb_optimize_layout_euclidean_single_epoch,
    ):
        compiled.enable_caching()


def _silence() -> None:
    """Silence umap and numba at import and about settings chosen here on purpose."""
    warnings.filterwarnings("ignore", module=r"(umap|numba|pynndescent)(\.|$)")
