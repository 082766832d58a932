"""How large shards are: bytes by a listing, rows from the beginning of a shard."""

from __future__ import annotations

import math
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.shards.encoding import NO_ARRAY, not_a_table, not_an_array, table_of
from mauve_core.shards.places import holds_features, name_of, opened_shard, stream_of, suffix_of
from mauve_core.texts.parquet import ParquetTable
from mauve_core.texts.streams import opened, packing_of, refusals

# Bytes of lines, unpacked, that are counted at the beginning of a shard, and bytes of the shard that they come from: a
# decompressor reads ahead, so fewer would tell too little.
LINES_BYTES, PACKED_BYTES = 2**23, 2**22

# Unpacked bytes after which counting ends anyway.
MOST_BYTES = 32 * LINES_BYTES

_CHUNK = 2**20


def rows_of(shard: str, size: int) -> float:
    """Return the rows of a shard of ``size`` bytes: as its footer or header says, or extrapolated from its first lines.

    Raises
    ------
    InputError
        The shard has vanished, is damaged, or holds nothing.
    """
    if holds_features(shard):
        with opened_shard(shard) as stream:
            return float(header_of(stream, shard)[0][0])
    path = Path(name_of(shard))
    with refusals(path), stream_of(shard) as stream:
        if suffix_of(shard) == ".parquet":
            return float(sum(ParquetTable(stream, path, passing=True).group_rows))
        content = opened(path, packing_of(path), stream)
        lines, read, last = 0, 0, b"\n"
        while chunk := content.read(_CHUNK):
            lines, read, last = lines + chunk.count(b"\n"), read + len(chunk), chunk[-1:]
            if read >= MOST_BYTES or (read >= LINES_BYTES and stream.tell() >= PACKED_BYTES):
                return lines * size / stream.tell()
        return float(lines + (last != b"\n"))


def lines_until(shard: str, enough: float, most_bytes: int) -> tuple[float, int]:
    """Count the lines of a shard until there are enough, or so many unpacked bytes are read.

    Returns
    -------
    lines, bytes : tuple of float and int
        The lines are infinite if the bytes do not suffice to say that they are too few.

    Raises
    ------
    InputError
        The shard has vanished or is damaged.
    """
    lines, read, last = 0, 0, b"\n"
    with refusals(Path(name_of(shard))), opened_shard(shard) as content:
        while lines < enough and (chunk := content.read(_CHUNK)):
            lines, read, last = lines + chunk.count(b"\n"), read + len(chunk), chunk[-1:]
            if read > most_bytes:
                return math.inf, read
    return lines + (last != b"\n"), read


def first_rows(shard: str, most: int) -> NDArray[np.floating]:
    """Return the first rows of a shard of features; of an object, little more than them is read.

    Raises
    ------
    InputError
        As :func:`mauve_core.shards.encoding.table_of`.
    """
    with opened_shard(shard) as stream:
        (rows, width), by_columns, dtype = header_of(stream, shard)
        if not by_columns:
            content = stream.read(min(rows, most) * width * dtype.itemsize)
            return np.frombuffer(content, dtype).reshape(-1, width)
    return table_of(shard)[:most]


def header_of(stream: IO[bytes], shard: str) -> tuple[tuple[int, int], bool, np.dtype[Any]]:
    """Shape, order and type of a table that begins here; InputError if it is none."""
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_columns, dtype = read(stream)
    except NO_ARRAY as error:
        raise not_an_array(shard) from error
    if len(shape) != 2 or dtype.kind != "f":
        raise not_a_table(shard, dtype, shape)
    return shape, by_columns, dtype
