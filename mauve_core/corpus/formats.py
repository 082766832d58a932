"""Read files into rows: JSONL, JSON, CSV, TSV, Parquet, plain text, logs of Inspect, or a folder of text files.

The suffix decides the format, and that of a compression may follow; a .json file may be a document or hold one object
per line. Text is UTF-8, with or without a byte order mark. Every error is an InputError that names the file and the
line. ``limits.py`` bounds the unpacked content.

Sources: RFC 4180 (CSV; quotes inside a cell are doubled), jsonlines.org (one object per line).
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from mauve_core.base.errors import InputError, words_of
from mauve_core.base.formatting import plural, verb
from mauve_core.base.json_values import parse_json
from mauve_core.corpus.delimited import Quoting, read_cells, require_quoting
from mauve_core.corpus.folders import spelled_out, text_files, texts_of
from mauve_core.corpus.inspect_logs import rows_of_archive
from mauve_core.corpus.json_documents import (
    MalformedJSONError,
    Reader,
    read_array,
    read_object,
)
from mauve_core.corpus.json_values import require_whole_characters, unique_names
from mauve_core.corpus.metadata import plain
from mauve_core.corpus.packing import PACKINGS, opened, packing_of
from mauve_core.corpus.parquet import ROWS_AT_A_TIME, ParquetTable, values_of
from mauve_core.corpus.paths import as_row
from mauve_core.corpus.rows import Rows, check_field_count
from mauve_core.corpus.streams import decoded_lines, decoded_parts, refusals, require_content, unpacked
from mauve_core.corpus.table import DELIMITERS, Table, blank_note

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
        Of a CSV or TSV file; default: found out (:mod:`mauve_core.corpus.delimited`).

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
