"""Images in tables (Parquet, Hugging Face data sets, paths in CSV or JSONL): their column, names and bytes.

A cell holds an image as bytes, as a struct of ``bytes`` and ``path`` (the form of the package datasets), or as text,
the path of a file. A column holds images if most of its first filled cells begin like images or, where bytes lie
elsewhere, are paths with a suffix of images. Unless a column is named, a table is one of images if a column of bytes or
structs holds images; or if a column of text holds such paths and no other is one of texts, by its name or content. A
prompt, a title or a label next to the paths is none (:mod:`mauve_core.texts.fields`). A table may be larger than
memory, so bytes are read a row at a time, and only those of one column.

A path, relative to the table or absolute, leads to a file below the table's folder, or the image is left out: a table
from elsewhere must not bring other files of this machine into a run. Links out of it are refused, as in folders.
"""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol

from mauve_core.base.errors import InputError, words_of
from mauve_core.base.extras import MissingPackageError
from mauve_core.base.files import open_regular
from mauve_core.images.decoding import FILES, IMAGE_SUFFIXES, ImageRefusedError, begins_like_image, require_bytes
from mauve_core.images.files import UNREAD_SUFFIXES, Folder, ImagePlace, folder_levels, place_at
from mauve_core.texts import limits
from mauve_core.texts.corpus import Corpus
from mauve_core.texts.data_sets import names_data_set, open_data_set, parse_name, refusals, table_of
from mauve_core.texts.entries import hold_text, id_of, id_problem, repeated_of, require_texts
from mauve_core.texts.fields import Fields, choose_fields, may_be_text
from mauve_core.texts.metadata import plain
from mauve_core.texts.parquet import ROWS_AT_A_TIME, LongPageError, ParquetTable, decoded_bytes, values_of
from mauve_core.texts.reading import SUFFIXES, first_rows, read_file
from mauve_core.texts.streams import spelled_out
from mauve_core.texts.tables import Rows, Table, check_field_count

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


NAME_IT = "Name the column: --text-field COLUMN on the command line, text_field in Python"


@dataclass(frozen=True, eq=False)
class ImageTable:
    """Images in a column of a table; see :class:`mauve_core.images.files.ImagePlace`.

    Attributes
    ----------
    columns : Columns
    table : Table
        Its rows without bytes.
    fields : Fields
        ``text`` is the column of images; ``id`` is None if images are called by their paths, or numbered.
    names : tuple of str
        One for each row, in their order, all different.
    numbered : bool
        Whether names are numbers of rows or lines.
    notes : tuple of str
        What was guessed.
    """

    columns: Columns
    table: Table
    fields: Fields
    names: tuple[str, ...]
    numbered: bool
    notes: tuple[str, ...]

    @property
    def path(self) -> Path:
        return self.columns.path

    @property
    def others(self) -> Counter[str]:
        return Counter()

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """Return the position of each image by name."""
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def _paths(self) -> list[str | None]:
        return self.table.values(self.fields.text)

    def label(self, name: str) -> str:
        return self.table.location(self.row_of[name]) if self.numbered else name

    def levels(self, name: str) -> tuple[str, ...]:
        found = _found(self._paths[self.row_of[name]], self.columns.roots)
        return () if found is None or PurePosixPath(found[1]).is_absolute() else folder_levels(found[1])

    @contextmanager
    def content(self, name: str) -> Iterator[bytes]:
        row = self.row_of.get(name)
        if row is None:
            raise ImageRefusedError(spelled_out(name), "is in no row of its table", "unreadable")
        data = self.columns.data(self.fields.text, row)
        if data is not None:
            require_bytes(len(data), self.label(name))
            with FILES.taken(len(data)):
                yield data
            return
        path = self._paths[row]
        if path is None or not path.strip():
            raise ImageRefusedError(self.label(name), "has no image", "empty")
        found = _found(path, self.columns.roots)
        if found is None:
            raise ImageRefusedError(
                spelled_out(path),
                "is outside the table's folder",
                "unreadable",
                todo="Put the table into the folder that holds the images",
            )
        folder, inside = found
        with Folder(folder, (), Counter()).content(inside) as data:
            yield data


def is_image_table(path: Path, field: str | None = None) -> bool:
    """Return whether a table's column holds images, or any column as the module says; False for what is no table."""
    return bool(image_columns(path, field or _named_by(path)))


def image_columns(path: Path, field: str | None = None) -> tuple[str, ...]:
    """Return the columns that hold images, as the module says, or the named one if it does; none of no table."""
    columns = None
    try:
        columns = columns_of(path)
        if columns is not None:
            first = columns.beginning()
            if field is None:
                return tuple(_image_columns(columns, first))
            return (field,) if _holds_images(columns, first, field) else ()
    except LongPageError:
        if columns is None or field is None or field in columns.stored:
            raise
    except (InputError, MissingPackageError, UnicodeDecodeError):
        pass  # whoever then reads the table as texts says what is wrong with it
    return ()


def open_table(
    path: Path,
    *,
    text_field: str | None = None,
    prompt_field: str | None = None,
    id_field: str | None = None,
    metadata_fields: Iterable[str] | None = None,
    generation: str | None = None,
) -> ImageTable:
    """Open a table of images.

    Parameters
    ----------
    path : Path
        A Parquet, CSV, TSV or JSONL file, or the name of a data set.
    text_field, id_field, metadata_fields
        As for :func:`mauve_core.texts.read_corpus`; ``text_field`` is the column of images.
    prompt_field, generation : str, optional
        Empty: images have no prompts and no generations.

    Raises
    ------
    InputError
        The table is missing, damaged, too large or empty, a column is missing, or does not hold what it is named for;
        or several columns hold images and none is named.
    """
    if prompt_field:
        raise InputError(
            "Images have no prompts", received=repr(prompt_field), todo="Leave the field out: it is kept as metadata"
        )
    if generation is not None:
        raise InputError("Images have no generations", received=repr(generation), todo="Leave the generation out")
    columns = columns_of(path)
    if columns is None:
        raise InputError(
            f"{path} is no table that can hold images", allowed="a .parquet, .csv, .tsv or .jsonl file, or hf:NAME"
        )
    column = _column(columns, text_field or _named_by(path))
    table = columns.described(column)
    if not table.rows:
        raise InputError(f"{path} holds no rows", received=f"the columns {', '.join(table.columns)}")
    require_texts(table.values(column), f"The field {column!r} of {path}", table.location)
    fields, notes = choose_fields(table, column, "", id_field, metadata_fields)
    fields = replace(fields, generation=None)
    names, numbered = None, False
    if fields.id is not None:
        names, fields = _own_ids(table, fields, notes, required=bool(id_field), keep=metadata_fields is None)
    if names is None:
        names = _path_ids(table.values(column), columns.roots)
    if names is None:
        names, numbered = [str(number) for number, _ in table.rows], True
    if text_field is None:
        notes.insert(0, f"Images were read from the column {column!r}, guessed by what it holds.")
    return ImageTable(columns, table, fields, tuple(names), numbered, (*table.notes, *notes))


def place_of(corpus: Corpus, *, local: bool = False) -> ImagePlace:
    """Return where the images of a corpus lie, without looking for them.

    Parameters
    ----------
    corpus : Corpus
    local : bool
        Whether no other machine may be asked.

    Raises
    ------
    InputError
        The folder, archive or table is gone; it is a data set of the hub, and ``local`` is true; or the table no longer
        has the column of images, or that of ids.
    """
    if corpus.fields is None:
        return place_at(Path(corpus.origin))
    path = Path(corpus.origin)
    if names_data_set(corpus.origin):
        if local and parse_name(corpus.origin).folder is None:
            raise InputError(
                f"The images are in the data set {corpus.origin} of the hub, which is not asked for one of them",
                todo="Save the data set with save_to_disk, and read them from hf:FOLDER",
            )
    elif not path.is_file():
        raise InputError(f"The images are no longer at {path}", todo="Put the table back, or read them anew")
    return open_table(path, text_field=corpus.fields.text, id_field=corpus.fields.id or "", metadata_fields=())


def _column(columns: Columns, named: str | None) -> str:
    """Return the column of images; InputError if the named one holds none, or if it cannot be told."""
    first = columns.beginning()
    if named is not None:
        if not (named in columns.stored or _holds_images(columns, first, named)):
            raise InputError(
                f"The field {named!r} of {columns.path} does not hold images or their paths",
                allowed=", ".join(map(repr, first)) or "no column",
            )
        return named
    found = _image_columns(columns, first)
    if len(found) != 1:
        what = "Several columns" if found else "No column"
        raise InputError(
            f"{what} of {columns.path} may hold the images", received=", ".join(map(repr, found or first)), todo=NAME_IT
        )
    return found[0]


def _image_columns(columns: Columns, first: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the columns that hold images without being named."""
    found = [column for column in first if _holds_images(columns, first, column)]
    stored = [column for column in found if column in columns.stored]
    others = [column for column in first if column not in (*found, *columns.stored)]
    return stored or ([] if any(may_be_text(column, first[column]) for column in others) else found)


def _holds_images(columns: Columns, first: Mapping[str, Sequence[Any]], column: str) -> bool:
    """Return whether most filled cells of a column are images, by how they begin, or paths of image files."""
    cells = first.get(column, ())
    filled = [cell for cell in cells if cell is not None and cell != ""]
    of_type = column in columns.stored or hold_text(cells)
    return of_type and 2 * sum(map(_is_image, filled)) > len(filled)


def _is_image(cell: Any) -> bool:
    if isinstance(cell, Mapping):
        return _is_image(cell.get(PATH) if cell.get(BYTES) is None else cell[BYTES])
    if isinstance(cell, bytes):
        return begins_like_image(cell)
    return (
        isinstance(cell, str)
        and "://" not in cell
        and PurePosixPath(cell).suffix.lower() in (*IMAGE_SUFFIXES, *UNREAD_SUFFIXES)
    )


def _own_ids(
    table: Table, fields: Fields, notes: list[str], *, required: bool, keep: bool
) -> tuple[list[str] | None, Fields]:
    """Return the ids of the id field; or none if it was guessed and does not name each image, and keep it or not."""
    ids = [id_of(value) for value in table.values(str(fields.id))]
    problem = id_problem(ids, [table.location(index) for index in range(len(ids))])
    if problem is None:
        return [str(each) for each in ids], fields
    if required:
        raise InputError(
            f"The id field {fields.id!r} of {table.path} {problem}", allowed="a different id for each image"
        )
    notes[:] = [note for note in notes if not note.startswith("Ids were read")]
    notes.append(f"The field {fields.id!r} is not read as ids, because it {problem}.")
    return None, replace(fields, id=None, metadata=(*fields.metadata, *([str(fields.id)] if keep else [])))


def _path_ids(paths: Sequence[str | None], roots: Sequence[Path]) -> list[str] | None:
    """Return the paths, those in the table's folder relative to it; None if one is missing or occurs twice."""
    names = [_found(path, roots) for path in paths]
    ids = [spelled_out(path if found is None else found[1]) for path, found in zip(paths, names, strict=True) if path]
    return None if len(ids) < len(paths) or repeated_of(ids) else ids


def _found(path: str | None, roots: Sequence[Path]) -> tuple[Path, str] | None:
    """Return the folder of a path and its place inside, with slashes; None if it leads out of all folders."""
    if not path or ".." in PurePosixPath(path).parts:
        return None
    given = Path(path)
    if not given.is_absolute():
        return roots[0], given.as_posix()
    for root in roots:
        for base in (root.absolute(), root.resolve()):
            if given.is_relative_to(base):
                return root, given.relative_to(base).as_posix()
    return None


def _named_by(path: Path) -> str | None:
    """Return the column that the name of a data set asks for."""
    with suppress(InputError):
        return parse_name(str(path)).column if names_data_set(str(path)) else None
    return None
