"""Feature matrices of several sides as one table, read block by block without a full copy, and checks of them.

The papers stack the features of both sides first (NeurIPS 2021, appendix C.3; JMLR 2023, section 4.1). For a million
texts per side at 768 dimensions, that float32 copy takes 6 GB. Here the matrices stay in memory or in a mapped file,
in their own precision; only a block of rows is converted to float32.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks

# Most columns of features: twice the widest encoders. A side's covariance takes eight bytes per pair of columns.
COLUMNS_VARIABLE, COLUMNS = "MAUVE_LENS_MAX_COLUMNS", 8192

# Digits of a limit in a variable of the environment; Python reads no number of thousands of digits.
_MOST_DIGITS = 18

# Largest block of rows in float32.
BLOCK_BYTES = 2**26


class Stacked:
    """Feature matrices stacked vertically, or chosen rows of the stack.

    Parameters
    ----------
    arrays : sequence of (n_i, d) array or Stacked
        Real numbers of any precision, including memory maps; at least one, all of one width.
    rows : (n,) array of int, optional
        Rows of the stack that form this table, in this order; all by default.
    name : str
        Name of the arrays in errors.

    Attributes
    ----------
    shape : (int, int)
    dtype : numpy.dtype
        float32, the precision of the output.

    Raises
    ------
    InputError
        There is no array, arrays are not two-dimensional or not numbers, have too many columns or different widths, or
        rows lie outside the stack.
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
        """The whole table in memory, for functions that need it."""
        if copy is False:
            raise ValueError("A stacked table cannot become one array without a copy")
        return np.array(self.block(0, len(self)), dtype=dtype)  # type: ignore[call-overload, no-any-return]

    def block(self, start: int, stop: int) -> NDArray[np.float32]:
        """(stop - start, d) float32 rows, fewer at the end; read-only, because they may be the array itself."""
        start, stop, _ = slice(start, stop).indices(len(self))
        if self._rows is not None:
            return self._take(self._rows[start:stop])
        blocks = []
        for part, end in zip(self._parts, self._ends, strict=True):
            first = int(end) - len(part)
            low, high = max(start - first, 0), min(stop, int(end)) - first
            if low < high:
                blocks.append(_narrow(part.block(low, high) if isinstance(part, Stacked) else part[low:high]))
        if not blocks:
            return np.empty((0, self.shape[1]), dtype=np.float32)
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def blocks(self, size: int = _checks.ROWS_AT_ONCE) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """The table in order: the slice of each block, and its at most ``size`` rows, fewer if rows are long."""
        size = max(1, min(size, BLOCK_BYTES // (4 * self.shape[1])))
        for part in _checks.row_blocks(len(self), size):
            yield part, self.block(part.start, part.stop)

    def take(self, rows: ArrayLike) -> NDArray[np.float32]:
        """(r, d) float32 copy of the rows at those positions, in that order; raises InputError outside the table."""
        chosen = _positions(rows, len(self))
        return self._take(chosen if self._rows is None else self._rows[chosen])

    def _take(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        taken = np.empty((len(rows), self.shape[1]), dtype=np.float32)
        which = np.searchsorted(self._ends, rows, side="right")
        for index, part in enumerate(self._parts):
            members = np.flatnonzero(which == index)
            if len(members):
                inside = rows[members] - (int(self._ends[index]) - len(part))
                taken[members] = part.take(inside) if isinstance(part, Stacked) else _narrow(part[inside])
        return taken


def stacked(x: ArrayLike | Stacked, *, name: str = "features") -> Stacked:
    """``x`` as a table to be read in blocks; a Stacked is returned unchanged."""
    return x if isinstance(x, Stacked) else Stacked([x], name=name)


def require_usable(
    x: ArrayLike | Stacked, *, name: str = "features", least_rows: int = 1, ids: Sequence[str] | None = None
) -> Stacked:
    """Check that every row has a direction, a block at a time; return ``x`` without copying it.

    Parameters
    ----------
    x : (n, d) array or Stacked
    name : str
        Name of the array in errors.
    least_rows : int
    ids : sequence of str, optional
        Errors also give the id of the first wrong row.

    Raises
    ------
    InputError
        The input is not a table, has too few rows, values not finite in float32, or rows of zeros (names rows).
    """
    table = stacked(x, name=name)
    _checks.require_rows(len(table), least_rows, name)
    finite, zero = np.ones(len(table), dtype=np.bool_), np.zeros(len(table), dtype=np.bool_)
    least = np.finfo(np.float32).tiny  # the length of a row of smaller numbers has no inverse in float32
    for block, rows in table.blocks():
        finite[block] = np.isfinite(rows).all(axis=1)
        zero[block] = (rows.max(axis=1) < least) & (rows.min(axis=1) > -least)
    if not finite.all():
        raise _checks.not_finite(name, _named(~finite, ids))
    if zero.any():
        raise InputError(
            f"The {name} hold rows of zeros, which have no direction",
            allowed=f"rows with at least one number of {least:.1e} or more, with either sign",
            received=f"smaller ones in {_named(zero, ids)}",
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
            f"The table of {name} has columns that are not features",
            allowed="floats in every column",
            received=", ".join(map(repr, other[:5])),
            todo="Leave them out, or pass an array: frame[features].to_numpy()",
        )


def require_columns(columns: int, name: str = "features") -> None:
    """InputError for too many columns: their covariance would fill the memory."""
    text = os.environ.get(COLUMNS_VARIABLE, "").strip() or str(COLUMNS)
    most = int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0
    if not most:
        raise InputError(
            f"{COLUMNS_VARIABLE} is not a valid limit", allowed="a whole number above 0", received=repr(text)
        )
    if columns > most:
        raise InputError(
            f"The {name} have too many columns",
            allowed=f"at most {most:,}",
            received=f"{columns:,}",
            todo=f"Use one row per text, not one column; or set {COLUMNS_VARIABLE}",
        )


def _table(values: ArrayLike, name: str) -> NDArray[np.generic]:
    _require_float_columns(values, name)
    array = _checks.real_numbers(values, f"The array of {name}")
    _checks.require_table(array, name)
    require_columns(array.shape[1], name)
    return array


def _named(chosen: NDArray[np.bool_], ids: Sequence[str] | None) -> str:
    first = "" if ids is None else f", text {ids[int(chosen.argmax())]!r}{' first' if chosen.sum() > 1 else ''}"
    return _checks.name_rows(chosen) + first


def _narrow(rows: NDArray[np.generic]) -> NDArray[np.float32]:
    """float32, without a copy if it is that already; values beyond its range become infinite."""
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
