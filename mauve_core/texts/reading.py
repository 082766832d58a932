"""Read what is named into rows: a file, a folder, the files of a pattern such as ``out/shard-*.jsonl``, or a data set.

The suffix decides the format (JSONL, JSON, CSV, TSV, Parquet, plain text, logs of Inspect), and that of a compression
may follow; a .json file may be a document or hold one object per line. Text is UTF-8, with or without a byte order
mark. The files of a pattern are read in the order of their paths, as one table. A name that begins with ``hf:`` is that
of a Hugging Face data set (:mod:`mauve_core.texts.data_sets`). Every error is an InputError that names the file and
the line; :mod:`mauve_core.texts.limits` bounds the unpacked content.

Sources: RFC 4180 (CSV; quotes inside a cell are doubled), jsonlines.org (one object per line).
"""

from __future__ import annotations

import fnmatch
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain, count, islice
from pathlib import Path
from typing import Annotated, Any

from mauve_core.base.errors import InputError, words_of
from mauve_core.base.formatting import plural, verb
from mauve_core.base.json_codec import parse_json, require_whole_characters, unique_names
from mauve_core.texts import limits
from mauve_core.texts.data_sets import absolute_name, names_data_set, read_data_set
from mauve_core.texts.delimited import Quoting, read_cells, require_quoting
from mauve_core.texts.entries import listing
from mauve_core.texts.inspect_logs import rows_of_archive
from mauve_core.texts.json_documents import MalformedJSONError, Reader, read_array, read_object
from mauve_core.texts.metadata import plain
from mauve_core.texts.parquet import ROWS_AT_A_TIME, ParquetTable, values_of
from mauve_core.texts.streams import (
    PACKINGS,
    decoded_lines,
    decoded_parts,
    opened,
    packing_of,
    refusals,
    require_content,
    spelled_out,
    text_files,
    texts_of,
    unpacked,
)
from mauve_core.texts.tables import DELIMITERS, Part, Rows, Table, as_row, blank_note, check_field_count

# Format by suffix, in any case; one of ``PACKINGS`` may follow.
SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".txt": "text",
    ".eval": "inspect",
}


def read_file(path: Path, quoting: Quoting | None = None) -> Table:
    """Read a file, or a folder of .txt files, into rows.

    Parameters
    ----------
    path : Path
        Its suffix decides the format, see ``SUFFIXES``.
    quoting : {"none"}, optional
        Of a CSV or TSV file; default: found out (:mod:`mauve_core.texts.delimited`).

    Returns
    -------
    Table
        At least one row. Plain text has the field ``text`` (one text per line, blank lines included); a folder has
        ``file`` (the name inside the folder, sorted) and ``text`` (the content without its last line ending).

    Raises
    ------
    InputError
        The file is missing, empty, of unknown format, not UTF-8, damaged, or too large when unpacked.
    """
    require_quoting(quoting)
    with refusals(path):
        if path.is_dir():
            return _read_folder(path)
        form, packing = _format_of(path)
        require_content(path, "a file, or a folder of .txt files")
        if form == "parquet":
            return _read_parquet(path, packed=bool(packing))
        if form == "inspect":
            return _read_inspect_log(path, packed=bool(packing))
        document = _read_document(path, packing, form) if form in ("json", "jsonl") else None
        if document is not None:
            return document
        table = _read_lines(path, packing, form, quoting=quoting)
    if not table.rows:
        raise InputError(f"{path} holds no rows", received="an empty file" if not table.columns else "only a header")
    return table


def first_rows(path: Path, most: int) -> Table | None:
    """Return the first rows of a file of lines or cells; None if it is of another format or no such rows begin it.

    No more is read than these lines, so a .json document is none, nor is a table whose first cells span many lines.
    """
    packing = packing_of(path)
    form = SUFFIXES.get((path.with_suffix("") if packing else path).suffix.lower(), "")
    if form not in (*DELIMITERS, "jsonl") or not path.is_file():
        return None
    try:
        with refusals(path):
            table = _read_lines(path, packing, form, most=most + 1)
    except InputError:
        return None
    return replace(table, rows=table.rows[:most])


def title_of(path: Path, suffixes: Container[str] = SUFFIXES) -> str:
    """Return the file's name without the suffixes of its format."""
    name = spelled_out(path.name)
    packing = packing_of(Path(name))
    name = name[: len(name) - len(packing)]
    suffix = Path(name).suffix
    return (name[: -len(suffix)] if suffix.lower() in suffixes else name) or path.name or str(path)


def _format_of(path: Path) -> tuple[str, str]:
    """Return the format by suffix, and the suffix of the compression, if any."""
    packing = packing_of(path)
    suffix = (path.with_suffix("") if packing else path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"The suffix of {path} is not that of a known format",
            allowed=f"{', '.join(SUFFIXES)}, each optionally with {', '.join(PACKINGS)}; or a folder of .txt files",
            received=repr(suffix) if suffix else "no suffix",
            todo="" if path.exists() else "Also, no such file or folder exists",
        )
    return SUFFIXES[suffix], packing


def _read_lines(
    path: Path, packing: str, form: str, *, most: int | None = None, quoting: Quoting | None = None
) -> Table:
    """Read a file of lines or cells; ``most`` is the number of lines that are read."""

    @contextmanager
    def lines() -> Iterator[Iterator[tuple[int, str]]]:
        with opened(path, packing) as stream:
            yield islice(decoded_lines(stream, path, packed=bool(packing)), most)

    if form in DELIMITERS:
        return read_cells(path, lines, form, quoting)
    with lines() as some:
        return _READERS[form](path, some)


def json_lines(path: Path, lines: Iterator[tuple[int, str]], *, alone: bool = True) -> Table:
    """Return the objects of numbered lines of a JSONL file; InputError for a line that holds none.

    With ``alone`` false, an object may go on over several lines, and the next one may begin on the same line: then
    the rows are numbered as those of a document are, not by their lines.
    """
    rows = Rows(path)
    blank, form = 0, "jsonl"
    for number, line in lines:
        if not line.strip():
            blank += 1
            continue
        try:
            rows.add(number, _json_object(line, path, number))
        except _NoJSONError as error:
            if alone:
                raise
            _add_values(rows, path, chain([line], (text for _, text in lines)), error)
            form = "json"
    numbered = enumerate((row for _, row in rows.kept), start=1)
    return Table(rows.kept if form == "jsonl" else [*numbered], tuple(rows.columns), path, form, blank_note(blank))


def _add_values(rows: Rows, path: Path, parts: Iterator[str], refused: _NoJSONError) -> None:
    """Add the objects that begin on a line which was refused, and all after it, wherever lines end."""
    reader = Reader(parts, path, before=refused.line - 1)
    while reader.peek():
        try:
            row = as_row(reader.value())
        except MalformedJSONError as error:
            raise (refused if error.line == refused.line else _on_lines(path, reader.line, error)) from error
        rows.add(len(rows.kept) + 1, _object(row, f"Record {len(rows.kept) + 1} of {path}"))


def _on_lines(path: Path, begins: int, error: MalformedJSONError) -> InputError:
    """Return the error for JSON that begins on a line, and is not valid with the lines after it either."""
    return InputError(
        f"Line {begins} of {path} is not valid JSON, nor is it with the lines after it: {error.problem}",
        allowed="one object on each line, or objects over several lines",
    )


def _read_document(path: Path, packing: str, form: str) -> Table | None:
    """Read a JSON document; None if the file holds an object on each line, or begins like no JSON that holds records.

    Of a file of JSONL, this is none either if its first line is JSON alone.
    """
    rows = Rows(path)
    notes: tuple[str, ...] = ()
    if form == "jsonl" and _begins_with_a_line(path, packing):
        return None
    with opened(path, packing) as stream:
        reader = Reader(decoded_parts(stream, path, packed=bool(packing)), path)
        begins, begins_on = reader.peek(), reader.line
        if begins == "[":
            read_array(reader, rows, path)
        elif begins == "{":
            try:
                found = read_object(reader, rows, path)
            except MalformedJSONError as error:
                if error.line == begins_on:
                    return None  # the error of the line says as much
                if form == "jsonl":
                    raise _on_lines(path, begins_on, error) from error
                raise
            if found is None:
                return None
            notes = found
        else:
            return None
    if not rows.kept:
        raise InputError(f"{path} holds no records", received="an empty array" if begins == "[" else "an empty object")
    return Table(rows.kept, tuple(rows.columns), path, "json", notes)


class _NoJSONError(InputError):
    """A line alone is not valid JSON; ``line`` is its number."""

    line: int = 1


def _begins_with_a_line(path: Path, packing: str) -> bool:
    """Return whether the first line that is not blank is JSON alone."""
    with opened(path, packing) as stream:
        for _, line in decoded_lines(stream, path, packed=bool(packing)):
            if line.strip():
                try:
                    parse_json(line)
                except json.JSONDecodeError:
                    return False
                except (ValueError, RecursionError):
                    return True  # the error of the line says as much
                return True
    return True


def _json_object(line: str, path: Path, number: int) -> dict[str, Any]:
    location = f"Line {number} of {path}"
    try:
        row = as_row(parse_json(line, object_pairs_hook=unique_names))
    except json.JSONDecodeError as error:
        refused = _NoJSONError(
            f"{location} is not valid JSON: {error.msg.removesuffix(' at')} at character {error.pos + 1}",
            allowed="one object per line",
        )
        refused.line = number
        raise refused from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{location} is JSON that cannot be used", allowed="one object per line", received=words_of(error)
        ) from error
    found = _object(row, location)
    require_whole_characters(line, found, location)
    return found


def _object(row: Any, location: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise InputError(
            f"{location} is not a JSON object",
            allowed='one object per line, such as {"text": "..."}',
            received=type(row).__name__,
            todo="Split the array into lines with: jq -c '.[]' FILE > NEW.jsonl; or name it .json"
            if isinstance(row, list)
            else "",
        )
    return row


def _read_text(path: Path, lines: Iterator[tuple[int, str]]) -> Table:
    rows = Rows(path)
    for number, line in lines:
        rows.add(number, {"text": _without_ending(line)})
    return Table(rows.kept, ("text",), path, "text")


def _without_ending(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def _read_folder(path: Path) -> Table:
    """Read each .txt file below the folder, compressed ones too, as one row, sorted by name."""
    names, others = text_files(path)
    rows = Rows(path)
    for number, (name, text) in enumerate(texts_of(path, names), start=1):
        rows.add(number, {"file": spelled_out(name), "text": _without_ending(text)})
    notes = (
        (f"{plural(others, 'other file')} in the folder {verb(others, 'was', 'were')} skipped (not .txt, or hidden).",)
        if others
        else ()
    )
    return Table(rows.kept, ("file", "text"), path, "folder", notes)


def _read_parquet(path: Path, packed: bool) -> Table:
    rows = Rows(path)
    with io.BytesIO(unpacked(path)) if packed else path.open("rb") as stream:
        table = ParquetTable(stream, path)
        check_field_count(table.names, path)
        try:
            for batch in table.batches():
                columns = [[plain(value) for value in values_of(column)] for column in batch.columns]
                for values in zip(*columns, strict=True):
                    rows.add(len(rows.kept) + 1, dict(zip(table.names, values, strict=True)))
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path} holds text that is not UTF-8, in the {ROWS_AT_A_TIME} rows after row {len(rows.kept)}",
                allowed="UTF-8",
            ) from error
    if not rows.kept:
        raise InputError(f"{path} holds no rows", received=f"a Parquet file with the columns {', '.join(table.names)}")
    return Table(rows.kept, table.names, path, "parquet")


def _read_inspect_log(path: Path, packed: bool) -> Table:
    rows = Rows(path)
    with io.BytesIO(unpacked(path)) if packed else path.open("rb") as stream:
        notes = rows_of_archive(stream, rows, path)
    return Table(rows.kept, tuple(rows.columns), path, "inspect", notes)


_READERS: dict[str, Callable[[Path, Iterator[tuple[int, str]]], Table]] = {
    "json": lambda path, lines: json_lines(path, lines, alone=False),
    "jsonl": lambda path, lines: json_lines(path, lines, alone=False),
    "text": _read_text,
}


# Characters that make a name a pattern, unless a file has just that name.
WILD = re.compile(r"[*?[]")

# A step of a pattern that stands for any number of folders.
EVERY_FOLDER = "**"

# Files that a pattern may name, and names that may be looked at for them.
MOST_FILES, MOST_SEEN = 10_000, 200_000


def read_table(path: str | Path, quoting: Quoting | None = None) -> Table:
    """Read the rows of a file, a folder, the files of a pattern, or a data set.

    Parameters
    ----------
    path : str or Path
        A file, whose suffix decides the format (``SUFFIXES``); a folder of .txt files; a pattern with ``*`` (any
        characters), ``**`` (any folders), ``?`` or ``[abc]``; or ``hf:NAME[#configuration][:split[:column]]``.
    quoting : {"none"}, optional
        Of CSV and TSV files, as for :func:`mauve_core.texts.reading.read_file`.

    Returns
    -------
    Table
        At least one row.

    Raises
    ------
    InputError
        As in ``read_file`` and ``read_data_set``; no file matches the pattern; or the files have different formats or
        exceed the limits of one file.
    """
    if names_data_set(str(path)):
        return read_data_set(str(path))
    path = Path(path)
    if is_pattern(path):
        return _read_files(path, quoting)
    return read_file(path, quoting)


def is_pattern(path: Path) -> bool:
    """Return whether the name is a pattern, not that of a file or folder."""
    return bool(WILD.search(str(path))) and not os.path.exists(path)  # noqa: PTH110 (a name may be too long to exist)


def absolute(path: str) -> str:
    """Return the name independent of the working folder; that of a data set of the hub stays as it is."""
    return absolute_name(path) if names_data_set(path) else str(Path(path).absolute())


@dataclass(frozen=True)
class Located:
    """Marks a field that holds a path on this machine, which ``absolute`` makes independent of the working folder."""

    absolute: Callable[[str], str]


# A file, folder, pattern or data set that :func:`read_table` reads, or a file of features.
FilePath = Annotated[str, Located(absolute)]


def files_of(pattern: Path) -> list[Path]:
    """Return the files that match a pattern, by path.

    Raises
    ------
    InputError
        There are none, or more than ``MOST_FILES``; or more than ``MOST_SEEN`` names had to be looked at.
    """
    files = sorted(islice(matches(pattern), MOST_FILES + 1))
    if not files:
        raise InputError(f"No file matches {pattern}", todo="Check the names and the folder")
    if len(files) > MOST_FILES:
        raise InputError(f"Too many files match {pattern}", allowed=f"at most {MOST_FILES:,}")
    return files


def matches(pattern: Path) -> Iterator[Path]:
    """Yield each file that matches a pattern as ``glob`` understands it; InputError as :func:`files_of`."""
    seen, walked = count(1), set[tuple[int, int, tuple[str, ...]]]()

    def names_in(folder: Path) -> Iterator[os.DirEntry[str]]:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if next(seen) > MOST_SEEN:
                    raise InputError(
                        f"The pattern {pattern} leads through too many files",
                        allowed=f"at most {MOST_SEEN:,} names in its folders",
                        todo="Begin it with the folder that holds the files",
                    )
                yield entry

    def below(folder: Path, steps: tuple[str, ...]) -> Iterator[Path]:
        if not steps:
            yield folder
        elif steps[0] == EVERY_FOLDER:
            if not os.path.isdir(folder):  # noqa: PTH112 (it raises nothing)
                return
            about = folder.stat()
            if (about.st_dev, about.st_ino, steps) in walked:  # a link leads to where we were
                return
            walked.add((about.st_dev, about.st_ino, steps))
            yield from below(folder, steps[1:])
            for entry in names_in(folder):
                path = folder / entry.name
                if not entry.name.startswith(".") and os.path.isdir(path):  # noqa: PTH112 (it raises nothing)
                    yield from below(path, steps)
                elif len(steps) == 1 and not entry.name.startswith("."):
                    yield path
        elif WILD.search(steps[0]):
            wanted = re.compile(fnmatch.translate(steps[0]))
            hidden = steps[0].startswith(".")
            for entry in names_in(folder):
                if wanted.match(entry.name) and entry.name.startswith(".") == hidden:
                    yield from below(folder / entry.name, steps[1:])
        elif os.path.lexists(folder / steps[0]):
            yield from below(folder / steps[0], steps[1:])

    start, *steps = pattern.parts if pattern.is_absolute() else ("", *pattern.parts)
    once = tuple(step for step, before in zip(steps, ("", *steps), strict=False) if not step == before == EVERY_FOLDER)
    found = set[Path]()
    for path in below(Path(start), once):
        if path not in found and os.path.isfile(path):  # noqa: PTH113 (it raises nothing)
            found.add(path)
            yield path


def _read_files(pattern: Path, quoting: Quoting | None) -> Table:
    """Read the files one after the other as one table, within the limits of one file."""
    files = files_of(pattern)
    if sum(path.stat().st_size for path in files) > limits.unpacked_bytes():
        raise limits.too_large(pattern, limits.unpacked_bytes())
    rows, parts, notes, before = Rows(pattern), [], [], 0
    names = _names(files)
    formats: dict[str, str] = {}
    layouts: dict[str, tuple[str, ...]] = {}
    for path, name in zip(files, names, strict=True):
        table = read_file(path, quoting)
        formats.setdefault(table.format, name)
        if len(formats) > 1:
            received = " and ".join(formats.values())
            raise InputError(f"The files of {pattern} have different formats", allowed="the same", received=received)
        parts.append(Part(name, before))
        layouts[name] = table.columns
        notes += [f"{name}: {note}" for note in table.notes]
        for number, row in table.rows:
            rows.add(before + number, row)
        before += table.rows[-1][0]
    (form,) = formats
    were = verb(len(files), "was", "were")
    which = f"{plural(len(files), 'file')} {were} read: {listing(names)}."
    return Table(rows.kept, tuple(rows.columns), pattern, form, (which, *_odd_columns(layouts), *notes), tuple(parts))


def _odd_columns(layouts: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Say which files lack columns of most others, whose layout is the most frequent one, and what they have instead.

    Columns that only some rows of JSON have are no such columns, so one more than the others have is passed over.
    """
    usual = set(Counter(frozenset(columns) for columns in layouts.values()).most_common(1)[0][0])
    odd: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for name, columns in layouts.items():
        missing = tuple(sorted(usual.difference(columns)))
        if missing:
            odd.setdefault((missing, tuple(sorted(set(columns) - usual))), []).append(name)
    for (missing, others), names in odd.items():
        instead = f" and {verb(len(names), 'has', 'have')} {listing([repr(each) for each in others])}" if others else ""
        yield (
            f"{listing(names)} {verb(len(names), 'lacks', 'lack')} {plural(len(missing), 'column')} of "
            f"{'the other files' if len(layouts) > 2 else 'the first file'}, "
            f"{listing([repr(each) for each in missing])}{instead}."
        )


def _names(files: list[Path]) -> list[str]:
    """Return what files are called in messages: their names, with their folders below the common one if they differ."""
    common = Path(os.path.commonpath([path.absolute().parent for path in files]))
    return [spelled_out(path.absolute().relative_to(common)) for path in files]
