"""Interface of the methods that partition feature space into bins.

The divergence frontier is estimated from two histograms over one partition of the rows of both sides together (JMLR
2023, section 4.1 and algorithm 1). The method is free. NeurIPS 2021, appendix C.3, tries k-means, a deep residual
mixture and a lattice on a learned sphere, and finds that they rank models alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks

# progress(stage, done, total)
Progress = Callable[[str, int, int], None]


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Quantised:
    """A partition of rows that also accepts new rows.

    Attributes
    ----------
    labels : (n,) int32 array
        Bin of each row, 0 to k - 1. Equal rows have equal labels.
    k : int
        Bins, including empty ones.
    objective : float
        Smaller is better; comparable only between fits of one quantizer to the same rows.
    assign : callable
        (m, d) array -> (m,) int32 labels of any rows. Raises InputError if the number of columns differs.
    """

    labels: NDArray[np.int32]
    k: int
    objective: float
    assign: Callable[[ArrayLike], NDArray[np.int32]]


class Quantiser(Protocol):
    """A partition method; its settings are its fields."""

    @property
    def name(self) -> str:
        """Name in settings."""

    @property
    def title(self) -> str:
        """Name for display."""

    @property
    def bins(self) -> int | None:
        """Fixed number of bins; None if the caller chooses it."""

    def fit(
        self,
        x: ArrayLike,
        k: int | None = None,
        *,
        seed: int | np.random.SeedSequence,
        progress: Progress | None = None,
        device: str = "cpu",
    ) -> Quantised:
        """Partition the rows.

        Parameters
        ----------
        x : (n, d) array
            Rows of both sides, usually ``reduce_features(...).array``.
        k : int, optional
            Bins. Required if ``bins`` is None; otherwise left out or equal to ``bins``.
        seed : int or numpy.random.SeedSequence
            Determines everything random; a given sequence is not changed.
        progress : callable, optional
            Called with the name of the stage, the amount done and the total.
        device : str
            Torch device for training. k-means always runs on the CPU.

        Raises
        ------
        InputError
            Rows are not finite, there are too few different ones, a setting is out of range, or the device is unknown.
        """


@dataclass(frozen=True)
class DistinctRows:
    """Rows without repetitions, in an order independent of the input.

    Attributes
    ----------
    rows : (m, d) float32 array
        Each distinct row once, sorted by the first column, then the second, and so on.
    index : (n,) array of int
        Position in ``rows`` of each given row.
    """

    rows: NDArray[np.float32]
    index: NDArray[np.intp]


def distinct_rows(x: ArrayLike) -> DistinctRows:
    """The distinct rows of an (n, d) array, sorted by their columns; 0 and -0 are one number.

    Results computed from ``rows`` are the same for any order of the input, and for equal rows. (The last digit of a
    matrix product may depend on the position of a row.)
    """
    array = _checks.features(x)
    order = np.lexsort(array.T[::-1])
    ordered = array[order] + np.float32(0)
    new = np.ones(len(array), dtype=np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    index = np.empty(len(array), dtype=np.intp)
    index[order] = np.cumsum(new) - 1
    return DistinctRows(ordered[new], index)


def label_rows(
    x: ArrayLike, columns: int, label: Callable[[NDArray[np.float64]], NDArray[np.integer]]
) -> NDArray[np.int32]:
    """Labels of the rows of ``x`` from ``label``, which gets each distinct row once, in blocks of rows.

    Raises
    ------
    InputError
        The input is not a table of finite numbers, or does not have ``columns`` columns.
    """
    distinct = distinct_rows(x)
    if distinct.rows.shape[1] != columns:
        raise InputError(
            "The rows do not have the columns of the fitted rows",
            allowed=f"{columns} columns",
            received=str(distinct.rows.shape[1]),
            todo="Project new features onto the components of the fitted rows",
        )
    blocks = _checks.row_blocks(len(distinct.rows))
    labels = np.concatenate([label(distinct.rows[block].astype(np.float64)) for block in blocks])
    return labels.astype(np.int32)[distinct.index]


def centre_and_scale(rows: NDArray[np.float32]) -> tuple[NDArray[np.float64], float]:
    """The mean row (d,), and the number that scales centered rows to a mean square of 1 per entry.

    A single number preserves relative distances between rows and makes step lengths independent of units.
    """
    centre = rows.mean(axis=0, dtype=np.float64)
    square = sum(float(((rows[block] - centre) ** 2).sum()) for block in _checks.row_blocks(len(rows)))
    return centre, float(np.sqrt(square / rows.size))


def require_distinct(distinct: DistinctRows, least: int, what: str) -> None:
    """InputError if there are fewer than ``least`` different rows."""
    if len(distinct.rows) < least:
        raise InputError(
            f"Too few different texts for {what}",
            allowed=f"at least {least} texts with different features",
            received=str(len(distinct.rows)),
            todo="Give more different texts, or choose k-means with a small k",
        )


def require_own_size(title: str, bins: int, k: int | None) -> None:
    """InputError if the requested number of bins is not the quantizer's."""
    if k is not None and k != bins:
        raise InputError(
            f"{title} sets the number of bins itself",
            allowed=f"no number of bins, or {bins}",
            received=repr(k),
            todo="Leave the number out, or choose k-means",
        )


def random_stream(seed: int | np.random.SeedSequence) -> np.random.Generator:
    """A generator that leaves a given sequence unchanged."""
    if not isinstance(seed, np.random.SeedSequence):
        seed = _checks.whole("The seed", seed, low=0)
    return np.random.default_rng(seed)


def require_finite(what: str, *arrays: NDArray[np.floating]) -> None:
    """InputError if training diverged; all labels would be 0."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise InputError(
            f"The training of {what} overflowed",
            todo="Choose a smaller learning rate, or check for features of very different scales",
        )
