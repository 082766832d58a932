"""Texts from standard input: ``-`` in place of a file is stored like an upload, and its stored name is used instead.

So a run names a file that exists, and a job that goes on later reads the same texts. An unused one is removed after
some days, as uploads are.
"""

from __future__ import annotations

import csv
import hashlib
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from typing import IO

from mauve_core.base.errors import InputError
from mauve_core.base.files import make_folder, storage_errors, write_atomically
from mauve_core.jobs import leftovers
from mauve_core.texts import limits
from mauve_core.texts.streams import CHUNK, PACKED
from mauve_core.texts.tables import DELIMITERS

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
    uploads = leftovers.uploads_folder()
    with storage_errors(uploads):
        make_folder(uploads)
        with tempfile.TemporaryFile(dir=uploads) as kept:
            digest = _kept(sys.stdin.buffer, kept)
            size = kept.tell()
            kept.seek(0)
            form = _form_of(kept.read(CHUNK), name)
            kept.seek(0)
            path = uploads / digest / f"standard-input.{form}"
            if not leftovers.use_upload(path.parent) or not path.is_file() or path.stat().st_size != size:
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
