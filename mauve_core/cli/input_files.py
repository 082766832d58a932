"""Files of texts on the command line: which side each is of, its fields, and what reading it told.

Every command that reads texts takes them in this way. ``-`` stands for standard input, which is stored like an upload,
and its stored name is used instead: so a run names a file that exists, and a job that goes on later reads the same
texts. An unused one is removed after some days, as uploads are.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.files import make_folder, storage_errors, write_atomically
from mauve_core.base.formatting import printable
from mauve_core.jobs import queue
from mauve_core.shards.places import is_url
from mauve_core.texts import Corpus, limits
from mauve_core.texts.data_sets import names_data_set
from mauve_core.texts.delimited import require_quoting
from mauve_core.texts.reading import WILD, matches
from mauve_core.texts.streams import CHUNK, PACKED
from mauve_core.texts.tables import DELIMITERS
from mauve_core.texts.text_files import TextFile, look_at

STANDARD_INPUT = "-"

# Format by the first bytes after white space. A header tells CSV and TSV; anything else is one text per line.
BEGINNINGS = {b"{": "jsonl", b"[": "json", b"PAR1": "parquet", b"PK\x03\x04": "eval"}

# Name of a column of a header: one word.
_COLUMN = re.compile(r'"?[A-Za-z_][\w.-]{0,40}"?')


def files_of(names: Mapping[str, str], *, quiet: bool = False) -> dict[str, str]:
    """Return the names of files by side, with standard input stored as in :func:`file_of`; for one side at most."""
    if list(names.values()).count(STANDARD_INPUT) > 1:
        sides = ", ".join(side for side, name in names.items() if name == STANDARD_INPUT)
        raise InputError("Standard input can serve only one side", received=f"{STANDARD_INPUT} for {sides}")
    return {side: file_of(name, quiet=quiet) for side, name in names.items()}


def file_of(name: str, *, quiet: bool = False) -> str:
    """Return the name of a file of texts; for ``-``, of the file that now holds what came by standard input.

    Raises
    ------
    InputError
        Nothing came, it is compressed, or it is more than a file may hold.
    StorageError
        The disk refuses.
    """
    if name != STANDARD_INPUT:
        return name
    if sys.stdin.isatty():
        sys.stderr.write("Reading texts from the terminal; end them with Ctrl-D.\n")
    uploads = queue.uploads_folder()
    with storage_errors(uploads):
        make_folder(uploads)
        with tempfile.TemporaryFile(dir=uploads) as kept:
            digest = _kept(sys.stdin.buffer, kept)
            size = kept.tell()
            kept.seek(0)
            form = _form_of(kept.read(CHUNK), name)
            kept.seek(0)
            path = uploads / digest / f"standard-input.{form}"
            if not queue.use_upload(path.parent) or not path.is_file() or path.stat().st_size != size:
                write_atomically(path, lambda file: shutil.copyfileobj(kept, file))
    if not quiet:
        lines = ", one text per line" if form == "txt" else ""
        sys.stderr.write(f"Standard input was read as .{form}{lines} ({size:,} bytes).\n")
    return str(path)


def _kept(stream: IO[bytes], file: IO[bytes]) -> str:
    """Write all that comes to a file and return its digest; InputError once it is more than a file may hold."""
    digest, size, ends = hashlib.sha256(), 0, 0
    most, most_lines = limits.unpacked_bytes(), limits.rows() * limits.LINES_A_ROW
    while part := stream.read(CHUNK):
        size, ends = size + len(part), ends + part.count(b"\n")
        if size > most or ends > most_lines:
            allowed = f"at most {most:,} bytes and {most_lines:,} lines"
            raise InputError("Standard input is too long", allowed=allowed)
        digest.update(part)
        file.write(part)
    return digest.hexdigest()


def _form_of(data: bytes, name: str) -> str:
    """Return the format that the beginning of the content suggests; InputError if it is empty or compressed."""
    if not data.strip():
        raise InputError("Standard input is empty", todo=f"Pipe texts into the command, or name a file for {name}")
    packed = next((what for begins, what in PACKED.items() if data.startswith(begins) and begins[:2] != b"PK"), None)
    if packed is not None:
        raise InputError("Standard input is compressed", received=packed, todo="Unpack it: gunzip, bunzip2 or unzstd")
    for begins, form in BEGINNINGS.items():
        if data.lstrip().startswith(begins):
            return form
    header = data.lstrip(b"\xef\xbb\xbf").partition(b"\n")[0].decode(errors="replace").rstrip("\r")
    for form, delimiter in DELIMITERS.items():
        cells = next(csv.reader([header], delimiter=delimiter), [])
        if len(cells) > 1 and all(map(_COLUMN.fullmatch, cells)):
            return form
    return "txt"


# What a file of texts may be, for help.
TEXT_FILE = (
    "JSONL, JSON, CSV, TSV, Parquet, text or Inspect log, also compressed; a folder of .txt files, a quoted pattern "
    "('out/*.jsonl'), a data set (hf:NAME), or - for standard input"
)

# Settings of reading that a side has once, as ``TextFile`` calls them.
_PARTS = ("text_field", "prompt_field", "id_field", "quoting", "generation", "group_field")


def add_field_options(
    parser: argparse.ArgumentParser, *, per_source: bool = False, names: str = f"{HUMAN} or a model's"
) -> None:
    """Add options for field names in files; with ``per_source``, also ``NAME=FIELD`` for a source, one of ``names``."""
    metavar = "[NAME=]FIELD" if per_source else "FIELD"
    text = "guessed by default" + (f"; NAME ({names}) limits the option to that file" if per_source else "")
    group = parser.add_argument_group("fields of the files", text)
    action = "append" if per_source else "store"
    for part in ("text", "prompt", "id"):
        inner = ", or a path into it: choices.0.text; of images, their column" if part == "text" else ""
        group.add_argument(f"--{part}-field", action=action, metavar=metavar, help=f"field with the {part}{inner}")
    group.add_argument(
        "--metadata-field", action="append", metavar=metavar, help="a field to keep as metadata; default: all others"
    )
    group.add_argument(
        "--quoting",
        action=action,
        metavar="[NAME=]none" if per_source else "none",
        help="read CSV or TSV without quoting: quote marks belong to the texts; default: found out",
    )
    group.add_argument(
        "--generation",
        action=action,
        metavar="[NAME=]N" if per_source else "N",
        help="read one generation alone: a value of the field generation, or a place in each row's list of texts, from "
        "0; default: all",
    )
    group.add_argument(
        "--group-field",
        action=action,
        metavar=metavar,
        help="field whose equal values make texts dependent, such as a document or an author: intervals and tests "
        "resample its values as wholes; default: the prompt",
    )


def refuse_fields(args: argparse.Namespace) -> None:
    """Raise InputError if a field of files is named where a stored run is read."""
    given = [part for part in (*_PARTS, "metadata_field") if getattr(args, part) is not None]
    if given:
        raise InputError(f"{_option(given[0])} is of files, and a stored run is read", todo="Leave it out")


def models_of(args: argparse.Namespace) -> dict[str, str]:
    """The file of each ``--model NAME=FILE``; InputError as in :func:`named`, or if a model has the human name."""
    models = named(args.model, "--model")
    if HUMAN in models:
        raise InputError(f"A model cannot be named {HUMAN!r}", todo="Choose another name: --model NAME=FILE")
    return models


def text_files(args: argparse.Namespace, paths: Mapping[str, str], *, quiet: bool) -> dict[str, TextFile]:
    """Each side's file with its fields, once standard input is stored; InputError as in :func:`source_fields`."""
    fields = {name: source_fields(args, name, list(paths)) for name in paths}
    return {name: TextFile(path, **fields[name]) for name, path in files_of(paths, quiet=quiet).items()}


def text_file(args: argparse.Namespace, path: str, *, quiet: bool) -> TextFile:
    """The only file of a command, whose field options name no side."""
    metadata = None if args.metadata_field is None else tuple(args.metadata_field)
    require_quoting(args.quoting)
    return TextFile(
        file_of(path, quiet=quiet), metadata_fields=metadata, **{part: getattr(args, part) for part in _PARTS}
    )


def read(files: Mapping[str, TextFile]) -> dict[str, Corpus]:
    """Read the texts of each side, once all files and their fields are found; errors as in ``look_at``."""
    tables = look_at(files.values())
    return {name: file.read(name, tables) for name, file in files.items()}


def notes_of(corpora: Mapping[str, Corpus]) -> list[str]:
    """What reading has guessed, left out and counted, with the side's name."""
    return [f"{name}: {note}" for name, corpus in corpora.items() for note in corpus.notes]


def say_notes(notes: Iterable[str]) -> None:
    """Write notes to standard error."""
    sys.stderr.writelines(f"{printable(note)}\n" for note in notes)


def named(values: Sequence[str], option: str) -> dict[str, str]:
    """Parse ``NAME=FILE`` options in order.

    A name may hold "=", as a decoder's does: the file is then the part that is there.

    Raises
    ------
    InputError
        A name or a file is missing, a name repeats, or of several possible files none or more than one is there.
    """
    result: dict[str, str] = {}
    for value in values:
        name, file = _split(value, option)
        if name in result:
            raise InputError(f"{option} names {name!r} twice", allowed="a different name for each file")
        result[name] = file
    return result


def _split(value: str, option: str) -> tuple[str, str]:
    """The name and the file of one option."""
    places = [place for place, sign in enumerate(value) if sign == "=" and 0 < place < len(value) - 1]
    splits = [(value[:place], value[place + 1 :]) for place in places]
    if not splits:
        raise InputError(f"{option} needs a name and a file", allowed=f"{option} NAME=FILE", received=value)
    if len(splits) == 1:
        return splits[0]
    there = [split for split in splits if _is_there(split[1])]
    if len(there) == 1:
        return there[0]
    if there:
        wrong = f"{option} can mean several files: " + ", or ".join(f"{file!r} named {name!r}" for name, file in there)
        raise InputError(wrong, received=value, todo="Rename or move one of the files")
    wrong = f"{option} names no file that exists: neither {' nor '.join(repr(file) for _, file in splits)}"
    raise InputError(wrong, received=value, todo="Check the name and the folder")


def _is_there(file: str) -> bool:
    """Whether a file, a folder or a match of a pattern exists; data sets, URLs and standard input count as there."""
    if file == STANDARD_INPUT or names_data_set(file) or is_url(file) or os.path.exists(file):  # noqa: PTH110 (any name)
        return True
    return WILD.search(file) is not None and any(True for _ in matches(Path(file)))


def source_and_field(value: str, sources: Sequence[str]) -> tuple[str | None, str]:
    """Split a ``[NAME=]FIELD`` option; None stands for every source. The longest name of a source counts."""
    name = max((each for each in sources if value.startswith(f"{each}=")), key=len, default=None)
    return name, value if name is None else value[len(name) + 1 :]


def for_source(values: Sequence[str] | None, source: str, sources: Sequence[str]) -> list[str]:
    """The ``[NAME=]FIELD`` options for one source: its own if any, else those for all sources."""
    found = [source_and_field(value, sources) for value in values or ()]
    return [field for name, field in found if name == source] or [field for name, field in found if name is None]


def source_fields(args: argparse.Namespace, source: str, sources: Sequence[str]) -> dict[str, Any]:
    """One source's field names, as arguments of ``TextFile``; InputError if an option repeats for it."""
    fields: dict[str, Any] = {}
    for part in _PARTS:
        chosen = for_source(getattr(args, part), source, sources)
        if len(chosen) > 1:
            wrong = f"{_option(part)} is given {len(chosen)} times for {source}"
            raise InputError(wrong, allowed="once for each source")
        fields[part] = chosen[0] if chosen else None
    require_quoting(fields["quoting"])
    return {**fields, "metadata_fields": tuple(for_source(args.metadata_field, source, sources)) or None}


def _option(part: str) -> str:
    return f"--{part.replace('_', '-')}"
