"""Decode untrusted Parquet files within a budget that is checked before memory is allocated.

A kilobyte can encode "this text of ten megabytes, a thousand times", and the sizes in a footer are not checked against
the pages: readers allocate what a page's own header says. Therefore every page header of a column chunk is read first,
and no page is unpacked for that. Byte columns are read as dictionaries, which hold a repeated value once. Where a value
may repeat in other ways, few rows are decoded at a time, and a batch is counted before its values are expanded.

Arrow's own copy of the schema in the footer is ignored: it adds little to Parquet's (the unit of a duration, the name
of a time zone), and a small one can describe an arbitrarily large schema.

Source: apache/parquet-format, parquet.thrift (FileMetaData, PageHeader) and Encodings.md; Thrift's compact protocol.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from mauve_core.base.errors import InputError, library_errors
from mauve_core.texts import limits

if TYPE_CHECKING:
    import pyarrow as pa


# Bytes in which to look for a header; statistics of long texts require the larger ones.
HEADER_WINDOWS = (1 << 10, 1 << 16, 1 << 20)

# Bytes that a chunk may exceed its end: some old writers omitted a part, so readers allow it.
PADDING = 100

# Maximum pages of one file; each costs some microseconds.
MOST_PAGES = 200_000

# PLAIN_DICTIONARY, RLE_DICTIONARY: values are indices into the dictionary page, so few bytes repeat a long one.
DICTIONARY_ENCODINGS = frozenset({2, 8})

# DELTA_BYTE_ARRAY: a value is a prefix of the one before plus a suffix, so few bytes repeat a long one.
PREFIX_ENCODING = 7

_I32, _BINARY, _STRUCT = 5, 8, 12
_LISTS, _DOUBLE, _BYTE, _TRUTHS, _WHOLES = (9, 10), 7, 3, (1, 2), (4, 5, 6)
_I64 = 6
_DEPTH, _LAST_FIELD = 16, 2**15 - 1

# Type and value of a struct's fields, by field number.
_Fields = dict[int, tuple[int, Any]]


@dataclass(frozen=True)
class Chunk:
    """One column in one row group.

    Attributes
    ----------
    unpacked : int
        Bytes of all its pages once unpacked.
    values : int
        Values that its pages declare, missing ones included.
    encodings : frozenset of int
        Encodings of its data pages.
    repeatable : int
        Bytes of the longest value that pages can repeat at almost no cost; 0 if none can.
    pages : int
    largest : int
        Bytes of its largest page once unpacked.
    """

    unpacked: int
    values: int
    encodings: frozenset[int]
    repeatable: int
    pages: int
    largest: int


@dataclass(frozen=True)
class ChunkLocation:
    """Location of a chunk according to the footer: its first byte, its bytes, and its values."""

    start: int
    length: int
    values: int


@dataclass(frozen=True)
class Group:
    """A row group: its number of rows, and the location of each column's chunk."""

    rows: int
    locations: tuple[ChunkLocation, ...]


def groups_of(footer: bytes, columns: int) -> list[Group]:
    """Return the row groups of a footer, each with chunks of so many columns.

    pyarrow is not used, because some wrong values crash its process.

    Raises
    ------
    ValueError
        It is not a footer, or a group lacks a column.
    """
    try:
        found = [_group(fields) for fields in _structs(_Compact(footer).struct(), 4)]
    except IndexError as error:
        raise ValueError("the footer is incomplete") from error
    if any(len(group.locations) != columns for group in found):
        raise ValueError("a row group does not have all columns")
    return found


def _group(fields: _Fields) -> Group:
    locations = []
    for chunk in _structs(fields, 1):
        about = _part(chunk, 3)
        start, length, values = (_number(about, field, _I64) for field in (9, 7, 5))
        dictionary = _number(about, 11, _I64) if 11 in about else 0
        locations.append(ChunkLocation(dictionary if 0 < dictionary < start else start, length, values))
    return Group(_number(fields, 3, _I64), tuple(locations))


def _structs(fields: _Fields, field: int) -> list[_Fields]:
    kind, value = fields.get(field, (0, None))
    if kind not in _LISTS or not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError("the footer lacks a list, or has an invalid one")
    return value


def measure_chunk(stream: IO[bytes], location: ChunkLocation, most_pages: int) -> Chunk:
    """Walk the pages of a chunk as a reader does: until it has its values, or ends.

    Raises
    ------
    ValueError
        A header is invalid, or there are more than ``most_pages`` pages.
    """
    unpacked = seen = pages = longest = dictionary = 0
    encodings: set[int] = set()
    for kind, size, count, encoding in (
        _pages(stream, location.start, location.length + PADDING) if location.values else ()
    ):
        pages += 1
        if pages > most_pages:
            raise ValueError("it has too many pages")
        unpacked += size
        if kind == _DICTIONARY_PAGE:
            dictionary = max(dictionary, size)
        elif kind in _DATA_PAGES:
            longest, seen = max(longest, size), seen + count
            encodings.add(encoding)
            if seen >= location.values:
                break
    repeated = [dictionary] if encodings & DICTIONARY_ENCODINGS else []
    repeated += [longest] if PREFIX_ENCODING in encodings else []
    return Chunk(unpacked, seen, frozenset(encodings), max(repeated, default=0), pages, max(longest, dictionary))


# Page types; for data pages, the header field that holds the number of values.
_DICTIONARY_PAGE, _DATA_PAGES = 2, {0: 5, 3: 8}


def _pages(stream: IO[bytes], start: int, length: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield type, bytes in memory, values and encoding of each page."""
    offset = start
    while offset < start + length:
        header, ends = _header(stream, offset)
        if header is None:
            return
        kind, packed = _number(header, 1), _number(header, 3)
        size, count, encoding = max(_number(header, 2), packed), 0, -1
        if kind in _DATA_PAGES:
            about = _part(header, _DATA_PAGES[kind])
            count, encoding = _number(about, 1), _number(about, 2 if kind == 0 else 4)
        yield kind, size, count, encoding
        offset = ends + packed


def _header(stream: IO[bytes], offset: int) -> tuple[_Fields | None, int]:
    """Return the header at that position and its end; None at the end of the file."""
    for window in HEADER_WINDOWS:
        stream.seek(offset)
        data = stream.read(window)
        if not data:
            return None, offset
        reader = _Compact(data)
        try:
            return reader.struct(), offset + reader.offset
        except IndexError:
            if len(data) < window:
                break
    raise ValueError(
        f"the header of the page at byte {offset} is incomplete or longer than {HEADER_WINDOWS[-1]:,} bytes"
    )


def _number(fields: _Fields, field: int, expected: int = _I32) -> int:
    kind, value = fields.get(field, (0, 0))
    if kind != expected or value < 0:
        raise ValueError("the header of a page, or the footer, lacks a number or has an invalid one")
    return int(value)


def _part(fields: _Fields, field: int) -> _Fields:
    kind, value = fields.get(field, (0, {}))
    if kind != _STRUCT:
        raise ValueError("the header of a page, or the footer, lacks a required structure")
    return dict(value)


class _Compact:
    """Parser for Thrift's compact protocol, reduced to what a header needs: it keeps numbers and skips texts.

    Raises IndexError if the data end early, ValueError if they are invalid.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self.offset = data, 0

    def struct(self, depth: int = 0) -> _Fields:
        """Return type and value by field number; a repeated field is an error, since readers disagree on it."""
        fields: _Fields = {}
        field = 0
        while head := self._byte():
            kind, step = head & 15, head >> 4
            field = field + step if step else self._zigzag()
            if field in fields or not 0 < field <= _LAST_FIELD:
                raise ValueError("a header has a field twice, or a field with an invalid number")
            fields[field] = kind, (kind == 1 if kind in _TRUTHS else self._value(kind, depth + 1))
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEPTH:
            raise ValueError("a header is nested too deeply")
        if kind in _WHOLES:
            return self._zigzag()
        if kind == _BINARY:
            return self._skip(self._varint())
        if kind == _STRUCT:
            return self.struct(depth)
        if kind in _LISTS:
            return self._items(depth)
        if kind in (*_TRUTHS, _BYTE, _DOUBLE):
            return self._skip(8 if kind == _DOUBLE else 1)
        raise ValueError("a header holds an invalid type of value")

    def _items(self, depth: int) -> list[Any]:
        head = self._byte()
        count, kind = head >> 4, head & 15
        return [self._value(kind, depth + 1) for _ in range(self._varint() if count == 15 else count)]

    def _byte(self) -> int:
        value = self._data[self.offset]
        self.offset += 1
        return value

    def _skip(self, count: int) -> None:
        self.offset += count
        if self.offset > len(self._data):
            raise IndexError

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("a header holds a number that is too long")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


# Decoded bytes that any file may have, and maximum decoded bytes per byte of file: degenerate texts repeat a lot.
FREE, RATIO = 256 << 20, 1000

# Bytes of a footer that are always allowed; beyond them, the budget over 256, since a byte may expand 256-fold.
FOOTER_FREE, FOOTER_SHARE = 1 << 16, 256

ROWS_AT_A_TIME = 1024
# Maximum bytes of a batch whose pages can repeat a value at almost no cost.
BATCH_BYTES = 64 << 20

# Maximum bytes of a page whose values are let go as they are read: a reader unpacks it whole.
PAGE_BYTES = 128 << 20

# Maximum columns, nested ones included.
COLUMNS = 1000

# Maximum nesting of lists and structs.
NESTING = 32

_MAGIC = b"PAR1"
_ARROW_SCHEMA, _LEFT_ASIDE = b"ARROW:schema", b"ARROW_schema"
# Logical types of bytes that can be read as dictionaries, from pages of these encodings:
_SHARED = frozenset({"STRING", "NONE", "ENUM", "JSON", "BSON"})
_SHARED_ENCODINGS = DICTIONARY_ENCODINGS | {0}
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}


class LongPageError(InputError):
    """A page is too long to be unpacked."""


class ParquetTable:
    """A Parquet file whose row batches are decoded within a budget; errors call it ``path``.

    Attributes
    ----------
    names : tuple of str
        Column names.
    schema : pyarrow.Schema
    group_rows : tuple of int
        Rows of each row group.
    budget : int
        Maximum bytes of all values, each counted as often as it occurs.

    Parameters
    ----------
    stream : file of bytes
    path : Path
    passing : bool
        Whether values are let go as they are read, so that the limit on unpacked bytes does not apply to them; a file
        that unpacks to many times its size is refused all the same. Nothing is read as a dictionary, which would hold
        all values of a row group.

    Raises
    ------
    InputError
        Not a Parquet file, damaged, or over the budget of bytes, rows, columns or cells; also when reading batches.
    """

    def __init__(self, stream: IO[bytes], path: Path, *, passing: bool = False) -> None:
        self._stream, self._path, self._passing = stream, path, passing
        with refusals(path):
            size = stream.seek(0, io.SEEK_END)
            self.budget = max(FREE, RATIO * size)
            if not passing:
                self.budget = min(limits.unpacked_bytes(), self.budget)
            footer = _footer(stream, path, max(FOOTER_FREE, self.budget // FOOTER_SHARE))
            self._meta = _metadata(footer)
            self.schema: pa.Schema = self._meta.schema.to_arrow_schema()
            self.names: tuple[str, ...] = tuple(self.schema.names)
            self._columns = [self._meta.schema.column(index) for index in range(self._meta.num_columns)]
            self._check_names()
            groups = groups_of(footer, len(self._columns))
            self._chunks = self._measured(groups)
            self.group_rows = tuple(group.rows for group in groups)

    def batches(
        self, columns: Sequence[str] | None = None, *, first_group: int = 0, rows: int = ROWS_AT_A_TIME
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, at most so many at a time; a text column may be dictionary-encoded.

        Parameters
        ----------
        columns : sequence of str, optional
            Columns, or parts of them such as ``image.path``; default: all.
        first_group : int
            The row group to begin with.
        rows : int
        """
        import pyarrow.parquet as pq

        total = 0
        shared: list[str] | None = None
        with refusals(self._path):
            for group, chunks in islice(enumerate(self._chunks), first_group, None):
                apart = [not self._passing and self._is_shared(index, chunk) for index, chunk in enumerate(chunks)]
                paths = [column.path for column, is_shared in zip(self._columns, apart, strict=True) if is_shared]
                if shared != paths:
                    shared = paths
                    file = pq.ParquetFile(
                        self._stream,
                        metadata=self._meta,
                        read_dictionary=shared,
                        pre_buffer=False,
                        buffer_size=1 << 16,
                        arrow_extensions_enabled=False,
                    )
                if self._passing:
                    self._check_pages(chunks, columns)
                at_once = min(rows, self._rows_at_a_time(group, apart))
                for batch in file.iter_batches(at_once, row_groups=[group], columns=columns, use_threads=False):
                    total += sum(decoded_bytes(column) for column in batch.columns)
                    if total > self.budget:
                        raise limits.too_large(self._path, self.budget)
                    yield batch

    def _check_names(self) -> None:
        paths = [column.path for column in self._columns]
        if len(paths) > COLUMNS:
            raise InputError(
                f"{self._path} has more than {COLUMNS} different fields",
                allowed=f"at most {COLUMNS}, including nested ones",
            )
        if len(set(self.names)) != len(self.names) or len(set(paths)) != len(paths):
            raise InputError(f"{self._path} has two columns with the same name", allowed="different names")

    def _measured(self, groups: Sequence[Group]) -> list[list[Chunk]]:
        """Return the chunks of every row group, after checking them against the budgets."""
        rows, most_cells = sum(group.rows for group in groups), limits.cells()
        if rows > limits.rows():
            raise limits.too_many_rows(self._path, limits.rows())
        cells, unpacked, pages = rows * len(self._columns), 0, 0
        if cells > most_cells:
            raise limits.too_many_cells(self._path, most_cells)
        measured: list[list[Chunk]] = []
        for group in groups:
            measured.append([])
            for location, column in zip(group.locations, self._columns, strict=True):
                chunk = measure_chunk(self._stream, location, MOST_PAGES - pages)
                measured[-1].append(chunk)
                pages, unpacked = pages + chunk.pages, unpacked + chunk.unpacked
                cells += chunk.values if column.max_repetition_level else 0
                if cells > most_cells:
                    raise limits.too_many_cells(self._path, most_cells)
                if unpacked > self.budget:
                    raise limits.too_large(self._path, self.budget)
        return measured

    def _check_pages(self, chunks: Sequence[Chunk], columns: Sequence[str] | None) -> None:
        for column, chunk in zip(self._columns, chunks, strict=True):
            is_read = columns is None or any(f"{column.path}.".startswith(f"{name}.") for name in columns)
            if is_read and chunk.largest > PAGE_BYTES and column.logical_type.type != "STRING":
                raise LongPageError(
                    f"The column {column.path!r} of {self._path} has too long a page",
                    allowed=f"at most {PAGE_BYTES:,} bytes, which are unpacked at once",
                    received=f"{chunk.largest:,}",
                    todo="Write it in groups of 100 rows: row_group_size=100 for pandas and pyarrow",
                )

    def _is_shared(self, index: int, chunk: Chunk) -> bool:
        column = self._columns[index]
        bytes_of_text = column.physical_type == "BYTE_ARRAY" and column.logical_type.type in _SHARED
        return bytes_of_text and chunk.encodings <= _SHARED_ENCODINGS

    def _rows_at_a_time(self, group: int, shared: Sequence[bool]) -> int:
        """Return how many rows fit into a batch whatever value repeats; InputError if not even one does."""
        a_row = 0
        for column, chunk, is_shared in zip(self._columns, self._chunks[group], shared, strict=True):
            if column.physical_type == "BYTE_ARRAY":
                width = 0 if is_shared else chunk.repeatable
            else:
                width = _WIDTHS.get(column.physical_type, column.length)
            if column.max_repetition_level and width * chunk.values > self.budget:
                raise limits.too_large(self._path, self.budget)
            a_row += 0 if column.max_repetition_level else width
        return max(1, min(ROWS_AT_A_TIME, BATCH_BYTES // max(a_row, 1)))


def read_metadata(stream: IO[bytes], path: Path) -> Any:
    """Return the footer (``pyarrow.parquet.FileMetaData``) without Arrow's own schema, for ``ParquetFile``.

    Raises
    ------
    ValueError, OSError, pyarrow.ArrowException
        The footer is missing or damaged.
    """
    return _metadata(_footer(stream, path, math.inf))


def _footer(stream: IO[bytes], path: Path, most: float) -> bytes:
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - 8))
    tail = stream.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length > size - 12:
        raise ValueError("it does not end like a Parquet file")
    if length > most:
        raise InputError(
            f"The footer of {path} is too long",
            allowed=f"at most {most:,} bytes",
            received=f"{length:,}",
            todo=f"Write it with fewer columns or row groups, or set {limits.UNPACKED_VARIABLE}",
        )
    stream.seek(size - 8 - length)
    return stream.read(length).replace(_ARROW_SCHEMA, _LEFT_ASIDE)


def _metadata(footer: bytes) -> Any:
    import pyarrow.parquet as pq

    file = io.BytesIO(_MAGIC + footer + len(footer).to_bytes(4, "little") + _MAGIC)
    return pq.ParquetFile(file, schema_depth_limit=NESTING, arrow_extensions_enabled=False).metadata


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """Turn errors about a damaged Parquet file into an InputError."""

    def ours(error: BaseException) -> InputError:
        reason = str(error).splitlines()
        return InputError(
            f"{path} is not a Parquet file, or is damaged", received=reason[0] if reason else type(error).__name__
        )

    with library_errors(ours):
        yield


def decoded_bytes(array: pa.Array) -> int:
    """Return the bytes of the values, each counted as often as it occurs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.DictionaryArray):
        lengths = pc.binary_length(array.dictionary)
        return int(pc.sum(lengths.take(array.indices).cast(pa.int64())).as_py() or 0) + int(array.indices.nbytes)
    if isinstance(array, pa.StructArray):
        return sum(decoded_bytes(part) for part in array.flatten())
    if isinstance(array, pa.MapArray):
        return decoded_bytes(array.keys) + decoded_bytes(array.items) + 8 * len(array)
    if isinstance(array, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        return decoded_bytes(array.flatten()) + 8 * len(array)
    return int(array.nbytes)


def values_of(array: pa.Array) -> list[Any]:
    """Return the values as Python objects; dates beyond Python's years as Arrow writes them.

    Raises
    ------
    InputError
        Such dates lie within lists or structs.
    """
    import pyarrow as pa

    flat = array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array
    try:
        return list(flat.to_pylist())
    except OverflowError as error:
        try:
            return list(flat.cast(pa.string()).to_pylist())
        except pa.ArrowException:
            raise InputError(
                "A nested column of the file holds times that are out of range",
                allowed="the years 1 to 9999",
                received=str(flat.type),
                todo="Write them as text",
            ) from error
