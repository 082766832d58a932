"""Columns of tables that may hold images: of Parquet files, of Hugging Face data sets, and of paths in CSV or JSONL.

A cell holds an image as bytes, as a struct of ``bytes`` and ``path`` (the form of the package datasets), or as text,
the path of a file. A table of images may be larger than memory, so bytes are read a row at a time, and only those of
one column.
"""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mauve_core.base.errors import InputError, words_of
from mauve_core.base.files import open_regular
from mauve_core.corpus import limits
from mauve_core.corpus.data_sets import names_data_set, open_data_set, parse_name, refusals, table_of
from mauve_core.corpus.formats import SUFFIXES, first_rows, read_file
from mauve_core.corpus.metadata import plain
from mauve_core.corpus.parquet import ROWS_AT_A_TIME, ParquetTable, decoded_bytes, values_of
from mauve_core.corpus.rows import Rows, check_field_count
from mauve_core.corpus.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset

# First rows of a table, which decide whether a column holds images.
LOOKED_AT = 16

# Cells that stay in memory, because threads ask a little out of order, and the bytes of all but the last.
KEPT, KEPT_BYTES = 48, 2**24

# Parts of a struct that holds an image.
BYTES, PATH = "bytes", "path"


class Columns(Protocol):
    """A table that may hold images.

    Attributes
    ----------
    path : Path
        The file, or the name of a data set.
    stored : tuple of str
        Columns whose type is that of images: bytes, or a struct of bytes and a path.
    roots : tuple of Path
        Folders in which paths of image files may lead; a relative path is one in the first.
    """

    @property
    def path(self) -> Path: ...

    @property
    def stored(self) -> tuple[str, ...]: ...

    @property
    def roots(self) -> tuple[Path, ...]: ...

    def beginning(self) -> Mapping[str, list[Any]]:
        """Return the first cells of the stored columns and of those of text, by column."""
        ...

    def described(self, column: str) -> Table:
        """Return all rows without bytes: the columns of plain values, and in ``column`` the path of each image or None.

        Raises
        ------
        InputError
            The file is damaged or exceeds the limits on tables.
        """
        ...

    def data(self, column: str, row: int) -> bytes | None:
        """Return the bytes in a cell; None if it has none. Threads may call this at once."""
        ...


def columns_of(path: Path) -> Columns | None:
    """Open a table; None if it is neither a Parquet file, a CSV, TSV or JSONL file, nor a data set.

    Raises
    ------
    InputError
        It is damaged, or the data set cannot be read.
    """
    if names_data_set(str(path)):
        return DataSetColumns(path)
    if not path.is_file():
        return None
    if SUFFIXES.get(path.suffix.lower()) == "parquet":
        return ParquetColumns(path)
    found = first_rows(path, LOOKED_AT)
    return None if found is None else TextColumns(path, found)


class TextColumns:
    """Columns of paths in a CSV, TSV or JSONL file, whose first rows are given."""

    stored: tuple[str, ...] = ()

    def __init__(self, path: Path, first: Table) -> None:
        self.path, self.roots, self._first = path, (path.parent,), first

    def beginning(self) -> Mapping[str, list[Any]]:
        return {column: self._first.values(column) for column in self._first.columns}

    def described(self, column: str) -> Table:
        del column
        return read_file(self.path)

    def data(self, column: str, row: int) -> bytes | None:
        del column, row
        return None


class ParquetColumns:
    """Columns of a Parquet file. Cells are read forward; going back, or to another row group, begins at its first."""

    def __init__(self, path: Path) -> None:
        self.path, self.roots = path, (path.parent,)
        try:
            stream = open_regular(path)
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: {words_of(error)}", todo="Check its permissions") from error
        weakref.finalize(self, stream.close)
        self._table = ParquetTable(stream, path, passing=True)
        self._schema = self._table.schema
        self.stored = tuple(field.name for field in self._schema if _is_stored(field.type))
        self._ends = list(accumulate(self._table.group_rows))
        self._lock = threading.Lock()
        self._column = ""
        self._waiting: Iterator[bytes | None] = iter(())
        self._next = 0
        self._kept: deque[bytes | None] = deque(maxlen=KEPT)

    def beginning(self) -> Mapping[str, list[Any]]:
        names = [field.name for field in self._schema if field.name in self.stored or _is_text(field.type)]
        batch = next(self._table.batches(names, rows=LOOKED_AT), None) if names else None
        return {name: [] if batch is None else values_of(batch[name]) for name in names}

    def described(self, column: str) -> Table:
        kept = [field.name for field in self._schema if _is_plain(field.type)]
        has_path = self._is_struct(column)
        names = [*kept, column] if column not in kept else kept
        check_field_count(names, self.path)
        rows, total, most = Rows(self.path), 0, limits.unpacked_bytes()
        for batch in self._batches_of([*kept, f"{column}.{PATH}"] if has_path else kept):
            total += sum(decoded_bytes(each) for each in batch.columns)
            if total > most:
                raise limits.too_large(self.path, most)
            columns = {name: [plain(value) for value in values_of(batch[name])] for name in kept}
            if column not in columns:
                columns[column] = _part(batch[column], PATH) if has_path else [None] * batch.num_rows
            for values in zip(*columns.values(), strict=True):
                rows.add(len(rows.kept) + 1, dict(zip(columns, values, strict=True)))
        return Table(rows.kept, tuple(names), self.path, "parquet")

    def data(self, column: str, row: int) -> bytes | None:
        if column not in self.stored:
            return None
        with self._lock:
            if column != self._column or row < self._next - len(self._kept) or self._group_start(row) > self._next:
                self._begin(column, row)
            while row >= self._next:
                try:
                    self._kept.append(next(self._waiting))
                except StopIteration:
                    wrong = f"{self.path} is damaged: it has fewer rows than it says"
                    raise InputError(wrong, todo="Copy it again") from None
                self._next += 1
                while len(self._kept) > 1 and sum(len(cell or b"") for cell in self._kept) > KEPT_BYTES:
                    self._kept.popleft()
            return self._kept[row - self._next]

    def _begin(self, column: str, row: int) -> None:
        """Go to the row group of a row."""
        self._column, self._next = column, self._group_start(row)
        self._kept.clear()
        self._waiting = self._cells(column, bisect_right(self._ends, row))

    def _group_start(self, row: int) -> int:
        """Return the first row of the group that a row is in."""
        group = bisect_right(self._ends, row)
        return self._ends[group - 1] if group else 0

    def _cells(self, column: str, group: int) -> Iterator[bytes | None]:
        parts = [f"{column}.{BYTES}"] if self._is_struct(column) else [column]
        for batch in self._table.batches(parts, first_group=group, rows=1):
            yield from _part(batch[column], BYTES)

    def _batches_of(self, parts: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield batches of these columns; without any, of the number of rows alone."""
        import pyarrow as pa

        if parts:
            yield from self._table.batches(parts)
            return
        for rows in self._table.group_rows:
            for start in range(0, rows, ROWS_AT_A_TIME):
                nothing = pa.array([{}] * min(ROWS_AT_A_TIME, rows - start), pa.struct([]))
                yield pa.RecordBatch.from_struct_array(nothing)

    def _is_struct(self, column: str) -> bool:
        return column in self.stored and _is_struct_type(self._schema.field(column).type)


class DataSetColumns:
    """Columns of a data set of the package datasets, which are mapped from disk, undecoded.

    Paths may lead into the folder that the name gives, or into the package's caches, where it put the files itself.
    """

    def __init__(self, path: Path) -> None:
        self.path, name = path, str(path)
        data = open_data_set(name)
        with refusals(name):
            self._data = data.with_format("arrow")
        self._rows = data
        schema = data.features.arrow_schema
        self._types = {field.name: field.type for field in schema}
        self.stored = tuple(field.name for field in schema if _is_stored(field.type))
        self.roots = _roots(name)
        self._alone: dict[str, Dataset] = {}
        self._lock = threading.Lock()

    def beginning(self) -> Mapping[str, list[Any]]:
        if not self.stored:
            return {}
        with refusals(str(self.path)):
            first = self._data.select_columns(list(self.stored))[:LOOKED_AT]
            return {name: first[name].to_pylist() for name in self.stored}

    def described(self, column: str) -> Table:
        binary = [name for name in self.stored if not _is_struct_type(self._types[name])]
        table = table_of(self._rows, str(self.path), apart={column, *binary})
        with refusals(str(self.path)):
            batches = self._data.select_columns([column]).iter(ROWS_AT_A_TIME)
            paths = [path for batch in batches for path in _part(batch[column].combine_chunks(), PATH)]
        rows = [(number, {**row, column: path}) for (number, row), path in zip(table.rows, paths, strict=True)]
        return Table(rows, (*table.columns, column), self.path, table.format, table.notes)

    def data(self, column: str, row: int) -> bytes | None:
        with self._lock, refusals(str(self.path)):
            if column not in self._alone:
                self._alone[column] = self._data.select_columns([column])
            cell = self._alone[column][row][column].combine_chunks()
            found: bytes | None = next(iter(_part(cell, BYTES)))
            return found


def _part(array: pa.Array, part: str) -> list[Any]:
    """Return the bytes or the path of each cell."""
    if not _is_struct_type(array.type):
        return values_of(array) if part == BYTES else [None] * len(array)
    parts = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
    return values_of(parts[part])


def _is_stored(kind: pa.DataType) -> bool:
    """Return whether a type is that of images: bytes, or a struct of bytes and a path."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        parts = {field.name: field.type for field in kind}
        return parts.keys() == {BYTES, PATH} and _is_binary(parts[BYTES]) and _is_text(parts[PATH])
    return _is_binary(kind)


def _is_struct_type(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_struct(kind))


def _is_binary(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_plain(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return not (pa.types.is_nested(kind) or _is_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _roots(name: str) -> tuple[Path, ...]:
    asked = parse_name(name)
    if asked.folder is not None:
        return (asked.folder.absolute(),)
    import datasets
    from huggingface_hub import constants

    caches = (constants.HF_HUB_CACHE, datasets.config.HF_DATASETS_CACHE, datasets.config.DOWNLOADED_DATASETS_PATH)
    return tuple(map(Path, caches))
