"""Read the texts of a shard a few at a time, so that memory does not grow with the shard."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.shards.places import LOOK_BYTES, name_of, opened_shard
from mauve_core.texts.entries import Exclusion, id_of, keep, pick, require_texts
from mauve_core.texts.fields import Fields, choose_fields, failed_requests
from mauve_core.texts.metadata import plain
from mauve_core.texts.parquet import ParquetTable, read_metadata, values_of
from mauve_core.texts.parquet import refusals as parquet_refusals
from mauve_core.texts.reading import json_lines
from mauve_core.texts.streams import decoded_lines, refusals
from mauve_core.texts.tables import Table

if TYPE_CHECKING:
    import pyarrow as pa

# Rows of a file that are held as Python objects.
ROWS_AT_A_TIME = 1024


@dataclass(frozen=True)
class Named:
    """The fields that the caller named; None is guessed from the first rows of each shard, "" means none."""

    text: str | None = None
    prompt: str | None = None
    id: str | None = None


@dataclass(frozen=True, eq=False)
class Texts:
    """Some usable texts of a shard.

    Attributes
    ----------
    texts : tuple of str
    prompts : tuple of str or None
        None where the shard has no field of prompts.
    ids : tuple of str
        Those of the id field; otherwise the first 16 hexadecimal digits of the text's SHA-256, so that an id does not
        depend on how texts are divided into shards. Equal texts then have equal ids.
    """

    texts: tuple[str, ...]
    prompts: tuple[str, ...] | None
    ids: tuple[str, ...]


@dataclass
class Tally:
    """What was seen of a shard so far.

    Attributes
    ----------
    left_out : dict of str to int
        Rows that were left out, by reason.
    fields : Fields or None
    digest : hash
        SHA-256 of ids, prompts and texts, in order.
    """

    left_out: dict[str, int] = field(default_factory=dict)
    fields: Fields | None = None
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    @property
    def names(self) -> tuple[str | None, ...]:
        """Names of the fields of texts, prompts and ids, None for no field; () before the first row."""
        return () if self.fields is None else (self.fields.text, self.fields.prompt, self.fields.id)

    def _add(self, exclusions: tuple[Exclusion, ...]) -> None:
        for exclusion in exclusions:
            self.left_out[exclusion.reason] = self.left_out.get(exclusion.reason, 0) + exclusion.count


def texts_of(shard: str, named: Named, tally: Tally) -> Iterator[Texts]:
    """Yield the usable texts of a shard in order, at most ``ROWS_AT_A_TIME`` at once; ``tally`` counts the others.

    Raises
    ------
    InputError
        As :func:`mauve_core.texts.read_corpus`, or the shard has vanished.
    """
    path = Path(name_of(shard))
    with refusals(path), opened_shard(shard) as stream:
        for table in _tables(stream, path):
            found = _usable(table, named, tally)
            if found.texts:
                yield found


class Layout(NamedTuple):
    """What the footer of a shard, or its first row, says.

    Attributes
    ----------
    columns : tuple of str
        With their types in Parquet; of lines, the fields of the first one.
    rows : int or None
        None for lines, which do not say how many they are.
    """

    columns: tuple[str, ...]
    rows: int | None


def layout_of(shard: str) -> Layout:
    """Return what the footer of a shard says, or its first row; little is read.

    Raises
    ------
    InputError
        The shard has vanished, or its footer or first row cannot be read.
    """
    path = Path(name_of(shard))
    with refusals(path), opened_shard(shard, LOOK_BYTES) as stream:
        if path.suffix.lower() == ".parquet":
            with parquet_refusals(path):
                footer = read_metadata(stream, path)
                return Layout(tuple(map(str, footer.schema.to_arrow_schema())), footer.num_rows)
        return Layout(next((table.columns for table in _tables(stream, path, rows=1) if table.rows), ()), None)


def first_fields(shard: str, named: Named) -> tuple[str | None, ...]:
    """The fields that the first rows of a shard give, () for no rows; InputError if these rows cannot be used."""
    path, tally = Path(name_of(shard)), Tally()
    with refusals(path), opened_shard(shard, LOOK_BYTES) as stream:
        for table in islice(_tables(stream, path), 1):
            _usable(table, named, tally)
    return tally.names


class OneText(NamedTuple):
    """A text with its id and its prompt, which is None where the shard has no field of prompts."""

    id: str
    prompt: str | None
    text: str


def texts_at(shard: str, named: Named, rows: Sequence[int], *, complete: bool) -> dict[int, OneText]:
    """Read the texts of a shard at ``rows``, ascending, counted from 0 among those that :func:`texts_of` yields.

    ``complete`` says that nothing is left out of the shard: then only the row groups of these rows are read from
    Parquet. Rows that the shard lacks are missing in the result.

    Raises
    ------
    InputError
        As :func:`texts_of`.
    """
    path, tally, found, passed = Path(name_of(shard)), Tally(), dict[int, OneText](), 0
    jumps = complete and path.suffix.lower() == ".parquet"
    with refusals(path), opened_shard(shard) as stream:
        for table in _parquet_tables_with(stream, path, rows) if jumps else _tables(stream, path):
            some = _usable(table, named, tally)
            first = table.rows[0][0] - 1 if jumps else passed
            passed += len(some.texts)
            for row in rows[bisect_left(rows, first) : bisect_left(rows, first + len(some.texts))]:
                place = row - first
                prompt = None if some.prompts is None else some.prompts[place]
                found[row] = OneText(some.ids[place], prompt, some.texts[place])
            if len(found) == len(rows):
                break
    return found


def groups_of(prompts: Sequence[str] | None, ids: Sequence[str]) -> NDArray[np.uint64]:
    """(n,) digests of the prompts, or of the ids where there are none or blank ones: texts with equal ones are drawn
    together. In memory equal texts of different prompts are, too (``stats.units``), which no shard knows.
    """
    return digests_of(tuple(prompt if prompt.strip() else own for prompt, own in zip(prompts or ids, ids, strict=True)))


def digests_of(words: tuple[str, ...]) -> NDArray[np.uint64]:
    """(n,) first eight bytes of the SHA-256 of each string, as numbers."""
    data = b"".join(hashlib.sha256(word.encode()).digest()[:8] for word in words)
    return np.frombuffer(data, dtype="<u8").astype(np.uint64)


def _usable(table: Table, named: Named, tally: Tally) -> Texts:
    if tally.fields is None:
        tally.fields, _ = choose_fields(table, named.text, named.prompt, named.id, None)
    fields = tally.fields
    if fields.generation is not None:
        raise InputError(
            f"{table.path} has several generations, by {fields.text!r} and {fields.generation!r}",
            allowed="one generation in shards: the score of several is the mean of theirs",
            todo="Write each generation to shards of its own, without that field, and compare them as candidates",
        )
    texts = [None] * len(table.rows) if table.find(fields.text) is None else table.values(fields.text)
    require_texts(texts, f"The field {fields.text!r} of {table.path}", table.location)
    kept, exclusions = keep(texts, table.location, f"without the field {fields.text!r}", failed_requests(table))
    tally._add(exclusions)
    chosen = tuple(pick(texts, kept))
    ids = _ids(table, fields.id, kept, chosen)
    prompts = None
    if fields.prompt is not None:
        values = table.find(fields.prompt) or [None] * len(table.rows)
        require_texts(values, f"The field {fields.prompt!r} of {table.path}", table.location)
        prompts = tuple(value or "" for value in pick(values, kept))
    for parts in zip(ids, prompts or ("",) * len(ids), chosen, strict=True):
        for part in parts:
            data = part.encode()
            tally.digest.update(len(data).to_bytes(8, "little") + data)
    return Texts(chosen, prompts, ids)


def id_of_text(text: str) -> str:
    """The id of a text that came without one."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _ids(table: Table, name: str | None, kept: list[int], texts: tuple[str, ...]) -> tuple[str, ...]:
    given = None if name is None else table.find(name)
    if given is None:
        return tuple(map(id_of_text, texts))
    ids = [id_of(given[index]) for index in kept]
    if None in ids:
        raise InputError(
            f"The id field {name!r} of {table.path} has no usable id at {table.location(kept[ids.index(None)])}",
            allowed="a text or a whole number",
            todo='Name no id field (--id-field ""): ids then come from the texts',
        )
    return tuple(map(str, ids))


def _tables(stream: IO[bytes], path: Path, rows: int = ROWS_AT_A_TIME) -> Iterator[Table]:
    """Yield the rows of an open shard in order, a few at a time; of lines, as many as are asked for."""
    if path.suffix.lower() == ".parquet":
        yield from _parquet_tables(stream, path)
        return
    lines = decoded_lines(stream, path, packed=False)
    while True:
        some = list(islice(lines, rows))
        if not some:
            return
        yield json_lines(path, iter(some))


def _parquet_tables(stream: IO[bytes], path: Path) -> Iterator[Table]:
    content, before = ParquetTable(stream, path, passing=True), 0
    for batch in content.batches(rows=ROWS_AT_A_TIME):
        yield _table_of(batch, content.names, path, before)
        before += len(batch)


def _parquet_tables_with(stream: IO[bytes], path: Path, rows: Sequence[int]) -> Iterator[Table]:
    """The first rows of a file, by which fields are guessed, and those parts that hold any of ``rows``."""
    content = ParquetTable(stream, path, passing=True)
    ends = list(accumulate(content.group_rows))
    for group in sorted({0, *(bisect_right(ends, row) for row in rows)} & set(range(len(ends)))):
        before = ends[group] - content.group_rows[group]
        last = bisect_left(rows, ends[group])
        for batch in content.batches(first_group=group, rows=ROWS_AT_A_TIME):
            first = bisect_left(rows, before)
            if before and first >= last:
                break
            if not before or rows[first] < before + len(batch):
                yield _table_of(batch, content.names, path, before)
            before += len(batch)


def _table_of(batch: pa.RecordBatch, names: tuple[str, ...], path: Path, before: int) -> Table:
    columns = [[plain(value) for value in values_of(column)] for column in batch.columns]
    rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    return Table([(before + number, row) for number, row in enumerate(rows, 1)], names, path, "parquet")
