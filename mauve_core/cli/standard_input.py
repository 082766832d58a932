"""Texts from standard input: ``-`` in place of a file is stored like an upload, and its stored name is used instead.

So a run names a file that exists, and a job that goes on later reads the same texts. An unused one is removed after
some days, as uploads are.
"""

from __future__ import annotations

import hashlib
import sys

from mauve_core.base.errors import InputError
from mauve_core.base.files import write_atomically
from mauve_core.corpus import limits
from mauve_core.corpus.streams import first_bytes
from mauve_core.jobs import leftovers

STANDARD_INPUT = "-"

BEGINNINGS = {b"{": "jsonl", b"[": "json", b"PAR1": "parquet", b"PK\x03\x04": "eval"}
"""Format by the first bytes after white space; anything else is text, one per line."""


def file_of(name: str, *, quiet: bool = False) -> str:
    """Return the name of a file of texts; for ``-``, of the file that now holds what came by standard input.

    Raises
    ------
    InputError
        Nothing came, or more than a file may hold.
    StorageError
        The disk refuses.
    """
    if name != STANDARD_INPUT:
        return name
    stream = sys.stdin.buffer
    if sys.stdin.isatty():
        sys.stderr.write("Reading texts from the terminal; end them with Ctrl-D.\n")
    data = first_bytes(stream, limits.unpacked_bytes())
    if data is None:
        raise InputError("Standard input is too long", allowed=f"at most {limits.unpacked_bytes():,} bytes")
    if not data.strip():
        todo = f"Send texts, or use {STANDARD_INPUT} for one side alone: they can be read once"
        raise InputError("Standard input is empty", todo=todo)
    form = next((form for begins, form in BEGINNINGS.items() if data.lstrip().startswith(begins)), "txt")
    path = leftovers.uploads_folder() / hashlib.sha256(data).hexdigest() / f"standard-input.{form}"
    if not leftovers.use_upload(path.parent) or not path.is_file() or path.stat().st_size != len(data):
        write_atomically(path, lambda file: file.write(data))
    if not quiet:
        sys.stderr.write(f"Standard input was read as .{form} ({len(data):,} bytes).\n")
    return str(path)
