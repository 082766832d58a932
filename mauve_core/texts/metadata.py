"""Metadata columns with stable types: a number stays a number, a missing value stays missing.

Column types: Booleans (``bool``, ``boolean`` with gaps), integers (``int64``, ``Int64`` with gaps), floats
(``float64``, NaN in gaps), text (``str``), or a mixture (``object``). CSV and TSV cells are text; a column becomes
numeric only if every filled cell is a number without leading zeros or a plus sign.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.texts.entries import position, require_encodable

if TYPE_CHECKING:
    import pandas as pd


WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
FLOAT = re.compile(r"-?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][+-]?[0-9]+)?|-?inf|nan", re.IGNORECASE)
INT64 = range(-(2**63), 2**63)
EXACT_IN_FLOAT = range(-(2**53), 2**53 + 1)
SCALARS = (str, bool, int, float)


def frame_of(columns: Mapping[str, Sequence[Any]], n: int, *, typed: bool) -> pd.DataFrame:
    """Build a frame of n rows from columns of n plain values (str, bool, int, float) or None.

    If ``typed`` is False, the values are text cells whose type must be parsed.
    """
    import pandas as pd

    series = {}
    for field, column in columns.items():
        values = [None if is_missing(value) else value for value in (column if typed else parse_cells(column))]
        series[field] = pd.Series(values, index=pd.RangeIndex(n), dtype=dtype_of(values))
    return pd.DataFrame(series, index=pd.RangeIndex(n))


def values_of(metadata: Mapping[str, Sequence[Any]] | pd.DataFrame | None) -> dict[str, list[Any]]:
    """Return plain Python values of each column; InputError if a field's name is not text or a value is not plain."""
    columns: dict[str, list[Any]] = {}
    for field in () if metadata is None else metadata:
        if not isinstance(field, str):
            raise InputError("The name of a metadata field is not text", allowed="str", received=repr(field))
        columns[field] = [plain(value) for value in metadata[field]]  # type: ignore[index]
        odd = next((value for value in columns[field] if not is_plain(value)), None)
        if odd is not None:
            raise InputError(
                f"The metadata field {field!r} holds a value of type {type(odd).__name__}",
                allowed="text, numbers, booleans, None",
            )
        for index, value in enumerate(columns[field]):
            if isinstance(value, str):
                require_encodable(value, f"The metadata field {field!r}", position(index))
    return columns


def plain(value: Any) -> Any:
    """Convert equivalents of str, bool, int, float and None to these, and dates and decimals to text."""
    if value is None or type(value) in SCALARS:
        return value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, datetime.timedelta)):
        return str(value)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return plain(value.item())
    return value


def is_plain(value: object) -> bool:
    """Return whether a metadata column can hold the value."""
    return value is None or isinstance(value, SCALARS)


def parse_cells(cells: Sequence[str | None]) -> list[Any]:
    """Parse cells as numbers if all filled ones are numbers, else keep them; an empty cell is None."""
    filled = [cell for cell in cells if cell]
    if filled and all(WHOLE.fullmatch(cell) for cell in filled):
        return [int(cell) if cell else None for cell in cells]
    if any(char.isdigit() for cell in filled for char in cell) and all(_is_number(cell) for cell in filled):
        return [float(cell) if cell else None for cell in cells]
    return [cell or None for cell in cells]


def dtype_of(values: Sequence[Any]) -> str:
    """Return the pandas dtype that holds these plain values without changing any."""
    kinds = {type(value) for value in values}
    gaps = type(None) in kinds
    kinds -= {type(None)}
    if kinds == {bool}:
        return "boolean" if gaps else "bool"
    if kinds == {int} and all(value is None or value in INT64 for value in values):
        return "Int64" if gaps else "int64"
    if kinds in ({float}, {float, int}) and all(type(v) is not int or v in EXACT_IN_FLOAT for v in values):
        return "float64"
    return "str" if kinds == {str} else "object"


def numbers_in(metadata: pd.DataFrame, names: Iterable[str]) -> dict[str, NDArray[np.float64]]:
    """Return the (n,) numbers of each of these columns; nan in gaps, and throughout where there is no such column."""
    return {
        name: metadata[name].to_numpy(np.float64) if name in metadata else np.full(len(metadata), np.nan)
        for name in names
    }


def python_values(column: pd.Series[Any]) -> list[Any]:
    """Return the plain values of a column that ``frame_of`` made, None where missing."""
    return [None if is_missing(value) else plain(value) for value in column.tolist()]


def is_missing(value: object) -> bool:
    """Return whether the value is None, NaN, NA or NaT."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _is_number(cell: str) -> bool:
    if FLOAT.fullmatch(cell):
        return math.isfinite(float(cell)) or not any(char.isdigit() for char in cell)
    return WHOLE.fullmatch(cell) is not None and int(cell) in EXACT_IN_FLOAT
