"""Rows of several feature matrices read as one table, block by block, so that no whole copy is ever made.

The papers stack the features of both sides before anything else (NeurIPS 2021, appendix C.3; JMLR 2023, section 4.1).
A million texts a side, as float32, make that copy 6 GB at 768 dimensions. Here the matrices stay where they are, in
memory or in a file that is mapped, in whatever precision they are kept; only a block of rows is widened to float32.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks

COLUMNS_VARIABLE, COLUMNS = "MAUVE_LENS_MAX_COLUMNS", 8192
"""Columns of features: twice those of the widest encoders. A side's covariance takes eight bytes a pair of columns."""

BLOCK_BYTES = 2**26
"""Of a block of rows in float32, at most."""


class Stacked:
    """Feature matrices below each other, or chosen rows of that pile.

    Parameters
    ----------
    arrays : sequence of (n_i, d) array or Stacked
        Real numbers of any precision, memory maps included; at least one, all of one width.
    rows : (n,) array of int, optional
        Rows of the pile that make up this table, in this order; all of them when left out.
    name : str
        What errors call the arrays.

    Attributes
    ----------
    shape : (int, int)
    dtype : numpy.dtype
        float32: the precision of what comes out.

    Raises
    ------
    InputError
        No array, not two-dimensional, not numbers, too many columns, different widths, or rows outside the pile.
    """

    ndim = 2
    dtype = np.dtype(np.float32)
    shape: tuple[int, int]

    def __init__(
        self, arrays: Sequence[ArrayLike | Stacked], *, rows: ArrayLike | None = None, name: str = "features"
    ) -> None:
        if not len(arrays):
            raise InputError(f"There are no {name} to stack", allowed="at least one array")
        self._parts = [part if isinstance(part, Stacked) else _table(part, name) for part in arrays]
        widths = sorted({part.shape[1] for part in self._parts})
        if len(widths) > 1:
            received = ", ".join(map(str, widths))
            raise InputError(f"The {name} have different dimensions", allowed="one for all", received=received)
        self._ends = np.cumsum([len(part) for part in self._parts])
        pile = int(self._ends[-1])
        self._rows = None if rows is None else _positions(rows, pile)
        self.shape = (pile if self._rows is None else len(self._rows), widths[0])

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NDArray[np.float32]:
        """The whole table in memory, for a function that needs it so."""
        if copy is False:
            raise ValueError("A stacked table cannot become one array without a copy")
        return np.array(self.block(0, len(self)), dtype=dtype)  # type: ignore[call-overload, no-any-return]

    def block(self, start: int, stop: int) -> NDArray[np.float32]:
        """(stop - start, d) float32 rows, fewer at the end; to be read only, as they may be the array itself."""
        start, stop, _ = slice(start, stop).indices(len(self))
        if self._rows is not None:
            return self._take(self._rows[start:stop])
        found = []
        for part, end in zip(self._parts, self._ends, strict=True):
            first = int(end) - len(part)
            low, high = max(start - first, 0), min(stop, int(end)) - first
            if low < high:
                found.append(_narrow(part.block(low, high) if isinstance(part, Stacked) else part[low:high]))
        if not found:
            return np.empty((0, self.shape[1]), dtype=np.float32)
        return found[0] if len(found) == 1 else np.concatenate(found)

    def blocks(self, size: int = _checks.ROWS_AT_ONCE) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """The table in order: where each block belongs, and its at most ``size`` rows, fewer where rows are long."""
        size = max(1, min(size, BLOCK_BYTES // (4 * self.shape[1])))
        for start in range(0, len(self), size):
            part = slice(start, min(start + size, len(self)))
            yield part, self.block(part.start, part.stop)

    def take(self, rows: ArrayLike) -> NDArray[np.float32]:
        """(r, d) float32 copy of the rows at those positions, in that order; InputError outside the table."""
        chosen = _positions(rows, len(self))
        return self._take(chosen if self._rows is None else self._rows[chosen])

    def _take(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Rows of the pile."""
        taken = np.empty((len(rows), self.shape[1]), dtype=np.float32)
        which = np.searchsorted(self._ends, rows, side="right")
        for index, part in enumerate(self._parts):
            at = np.flatnonzero(which == index)
            if len(at):
                inside = rows[at] - (int(self._ends[index]) - len(part))
                taken[at] = part.take(inside) if isinstance(part, Stacked) else _narrow(part[inside])
        return taken


def stacked(x: ArrayLike | Stacked, *, name: str = "features") -> Stacked:
    """``x`` as a table that is read by blocks; ``x`` itself when it is one."""
    return x if isinstance(x, Stacked) else Stacked([x], name=name)


def require_usable(
    x: ArrayLike | Stacked, *, name: str = "features", least_rows: int = 1, ids: Sequence[str] | None = None
) -> Stacked:
    """Check that every row has a direction, a block at a time.

    Parameters
    ----------
    x : (n, d) array or Stacked
    name : str
        What errors call the array.
    least_rows : int
    ids : sequence of str, optional
        What else errors call the first row that is wrong.

    Returns
    -------
    Stacked
        ``x``, not copied.

    Raises
    ------
    InputError
        Not a table, too few rows, values that are not finite in float32, or rows of zeros (rows named, from 0).
    """
    table = stacked(x, name=name)
    if len(table) < least_rows:
        raise InputError(
            f"Too few rows of {name}",
            allowed=f"at least {least_rows}",
            received=str(len(table)),
            todo="Give more texts",
        )
    finite, zero = np.ones(len(table), dtype=np.bool_), np.zeros(len(table), dtype=np.bool_)
    for at, rows in table.blocks():
        finite[at], zero[at] = np.isfinite(rows).all(axis=1), np.logical_not(rows.any(axis=1))
    if not finite.all():
        raise InputError(
            f"The {name} hold values that are not finite in float32 (NaN, infinite or beyond 3e38)",
            allowed="finite numbers",
            received=f"such values in {_named(~finite, ids)}",
            todo="Encode those texts again, or leave them out",
        )
    if zero.any():
        raise InputError(
            f"The {name} hold rows of zeros, which have no direction",
            allowed="rows with at least one number other than 0",
            received=f"zeros in {_named(zero, ids)}",
            todo="Encode those texts again, or leave them out",
        )
    return table


def _require_float_columns(values: Any, name: str) -> None:
    """InputError for a data frame with a column of anything but floats: an index or a label would be a feature."""
    columns, dtypes = getattr(values, "columns", None), getattr(values, "dtypes", None)
    if columns is None or dtypes is None:
        return
    other = [str(column) for column, dtype in zip(columns, dtypes, strict=True) if "float" not in str(dtype).lower()]
    if other:
        raise InputError(
            f"The table of {name} has columns that are no features",
            allowed="floats in every column",
            received=", ".join(map(repr, other[:5])),
            todo="Leave them out, or give an array: frame[features].to_numpy()",
        )


def require_columns(columns: int, name: str = "features") -> None:
    """InputError for more columns than features may have: their covariance would fill the memory."""
    text = os.environ.get(COLUMNS_VARIABLE, "").strip() or str(COLUMNS)
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise InputError(f"{COLUMNS_VARIABLE} is no limit", allowed="a whole number above 0", received=repr(text))
    if columns > int(text):
        raise InputError(
            f"The {name} have too many columns",
            allowed=f"at most {int(text):,}",
            received=f"{columns:,}",
            todo=f"Give a row for each text, not a column; or set {COLUMNS_VARIABLE}",
        )


def _table(values: ArrayLike, name: str) -> NDArray[np.generic]:
    _require_float_columns(values, name)
    try:
        array = np.asanyarray(values)
    except ValueError as error:
        raise InputError(f"The array of {name} is ragged", allowed="rows of equal length") from error
    if array.dtype.kind not in "fiub":
        raise InputError(
            f"The array of {name} does not hold real numbers", allowed="real numbers", received=f"dtype {array.dtype}"
        )
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(
            f"The {name} do not form a table with a row for each text",
            allowed="an array of shape (n, d) with d at least 1",
            received=f"shape {array.shape}",
        )
    require_columns(array.shape[1], name)
    return array


def _named(chosen: NDArray[np.bool_], ids: Sequence[str] | None) -> str:
    first = "" if ids is None else f", text {ids[int(chosen.argmax())]!r}{' first' if chosen.sum() > 1 else ''}"
    return _checks.name_rows(chosen) + first


def _narrow(rows: NDArray[np.generic]) -> NDArray[np.float32]:
    """float32, the same memory where it is that already; what lies beyond its range becomes infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(rows).astype(np.float32, order="C", copy=False)


def _positions(rows: ArrayLike, n: int) -> NDArray[np.int64]:
    array = np.asarray(rows)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or int(array.min()) < 0 or int(array.max()) >= n:
        received = f"{array.dtype} array of shape {array.shape}"
        raise InputError(
            "These are not rows of the table", allowed=f"whole numbers from 0 to {n - 1}", received=received
        )
    return array.astype(np.int64, copy=False)
