"""Arguments as callers give them: lists of texts, and names of runs, candidates and models.

Iterating over a table gives column names, over a mapping keys, over a text characters, and over a set no stable order.
Scores of these would look like any other, so what is not a list of texts is refused. Columns of pandas, polars, pyarrow
and NumPy are lists. Names are stored and shown, so they must be valid text.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from mauve_core.base.errors import InputError, UnknownNameError

COLUMNS_SHOWN = 10


def entries_of(values: Any, what: str) -> list[Any]:
    """Return the entries of a list, tuple, generator, array or table column, in order and by position.

    The index of a column does not matter. Messages call the list ``what``.

    Raises
    ------
    InputError
        A table, a mapping, a set, one text, an open file, or something that is not iterable.
    """
    if isinstance(values, (str, bytes, bytearray, memoryview)):
        kind = type(values).__name__
        wrong = f"{what}: a single text was given instead of a list of texts"
        raise InputError(wrong, allowed="a list of str", received=kind, todo="Put it in a list")
    columns = _columns(values)
    if columns is not None:
        raise _a_table(values, what, columns)
    if isinstance(values, Mapping):
        names = ", ".join(repr(name) for name, _ in zip(values, range(COLUMNS_SHOWN), strict=False))
        todo = "Pass one of its values, or all of them as list(mapping.values())"
        raise InputError(
            f"{what}: a mapping iterates over its keys", allowed="a list", received=f"keys {names}", todo=todo
        )
    if isinstance(values, (set, frozenset)):
        raise InputError(f"{what}: a set has no order", allowed="a list", todo="Sort it, or keep the list it came from")
    if isinstance(values, (io.IOBase, os.PathLike)):
        raise InputError(f"{what}: a file is not a list of texts", allowed="a list", todo="Read it with read_corpus")
    if hasattr(values, "to_pylist"):
        return list(values.to_pylist())  # a pyarrow column, whose entries are not Python values
    if not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        todo = "Pass its texts" if hasattr(values, "texts") else ""
        received = "None" if values is None else type(values).__name__
        raise InputError(f"{what} is not a list", allowed="a list", received=received, todo=todo)
    return list(values)


def text_list(values: Any, what: str) -> list[Any]:
    """Like :func:`entries_of`, for texts: an array must have one dimension. The entries are not checked."""
    if getattr(values, "ndim", 1) > 1 and _columns(values) is None:
        received = f"shape {tuple(values.shape)}"
        todo = "Pass one column, such as array[:, 0]"
        raise InputError(f"{what}: the array has more than one dimension", allowed="(n,)", received=received, todo=todo)
    return entries_of(values, what)


def _columns(values: Any) -> list[str] | None:
    """Return the column names of a pandas, polars, pyarrow or Hugging Face table; None for anything else."""
    for name in ("column_names", "columns"):
        columns = getattr(values, name, None)
        if columns is not None and not callable(columns):
            return [str(column) for column in columns]
    return None


def _a_table(values: Any, what: str, columns: list[str]) -> InputError:
    more = ", ..." if len(columns) > COLUMNS_SHOWN else ""
    received = f"{type(values).__name__} with the columns {', '.join(map(repr, columns[:COLUMNS_SHOWN]))}{more}"
    column = "text" if "text" in columns or not columns else columns[0]
    return InputError(
        f"{what}: a table was given instead of a list",
        allowed="one column",
        received=received,
        todo=f"Name the column, such as frame[{column!r}]",
    )


T = TypeVar("T")


def require_text(name: str, what: str) -> None:
    """Raise InputError for the name of a ``what`` ("run", "candidate") that UTF-8 cannot encode.

    Names in other encodings arrive as lone surrogates.
    """
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"The name of the {what} is not valid text: character {error.start + 1} is half of a surrogate pair",
            allowed="UTF-8",
            received=ascii(name),
            todo="Choose another name, or set the terminal to UTF-8",
        ) from error


def named(name: str, among: Mapping[str, T], what: str) -> T:
    """Return the value of that name; an UnknownNameError names the nearest, then all."""
    if isinstance(name, str) and name in among:
        return among[name]
    near = get_close_matches(name, among, n=1) if isinstance(name, str) else []
    raise UnknownNameError(
        f"No {what} named {name!r}",
        allowed=", ".join(among),
        todo=f"Did you mean {near[0]!r}?" if near else "",
    )
