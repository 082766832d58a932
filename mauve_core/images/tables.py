"""Images in tables: which column holds them, what each is called, and a way to its bytes.

A column holds images if most of its first filled cells begin like images or, where bytes lie elsewhere, are paths with
a suffix of images. Unless a column is named, a table is one of images if a column of bytes, or of structs of bytes and
a path, holds images; or if a column of text holds such paths and no other is one of texts, by its name or content. A
prompt, a title or a label beside the paths is none (:mod:`mauve_core.corpus.fields`).

A path, relative to the table or absolute, leads to a file below the table's folder, or the image is left out: a table
from elsewhere must not bring other files of this machine into a run. Links out of it are refused, as in folders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.base.extras import MissingPackageError
from mauve_core.corpus.corpus import Corpus
from mauve_core.corpus.data_sets import names_data_set, parse_name
from mauve_core.corpus.entries import id_of, id_problem, repeated_of, require_texts
from mauve_core.corpus.fields import Fields, choose_fields, may_be_text
from mauve_core.corpus.folders import spelled_out
from mauve_core.corpus.looks import hold_text
from mauve_core.corpus.parquet import LongPageError
from mauve_core.corpus.table import Table
from mauve_core.images.columns import BYTES, PATH, Columns, columns_of
from mauve_core.images.decoding import FILES, SUFFIXES, ImageRefusedError, begins_like_image, require_bytes
from mauve_core.images.files import UNREAD_SUFFIXES, Folder, ImagePlace, folder_levels, place_at

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
        As for :func:`mauve_core.corpus.read_corpus`; ``text_field`` is the column of images.
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
        and PurePosixPath(cell).suffix.lower() in (*SUFFIXES, *UNREAD_SUFFIXES)
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
