"""Measure the unpacked size of a Parquet file's pages from the footer and the page headers alone.

The footer states sizes too, but nothing checks them against the pages, and readers allocate what a page's own header
says. Therefore every page header of a column chunk is read, and no page is unpacked.

Source: apache/parquet-format, parquet.thrift (FileMetaData, PageHeader) and Encodings.md; Thrift's compact protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

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
