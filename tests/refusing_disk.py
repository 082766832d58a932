"""A home whose disk refuses for a while, by an audit hook, which sees a file before it is opened, renamed or removed.

File modes would not do: they do not bind root.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# What the disk says: the first to changes alone, the second to reading, too.
READ_ONLY, BROKEN = errno.EROFS, errno.EIO

_CHANGES = frozenset(
    {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "os.utime", "os.chmod"}
)
_READS = frozenset({"open", "os.listdir", "os.scandir", "sqlite3.connect"})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

# Folder and error number, while a disk refuses.
_refused: list[tuple[str, int]] = []

_hooks: list[object] = []


@contextmanager
def refusing(home: Path, code: int) -> Iterator[None]:
    """Refuse what happens to ``home`` and below it in this block.

    SQLite reads and writes unseen: it changes the index of a disk that is read-only.
    """
    if not _hooks:  # the interpreter keeps it for good
        sys.addaudithook(_hook)
        _hooks.append(_hook)
    _refused.append((str(home), code))
    try:
        yield
    finally:
        _refused.clear()


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _refused or (event not in _CHANGES and event not in _READS):
        return
    (home, code), path = _refused[0], os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes) else ""
    writes = event in _CHANGES or (event == "open" and arguments[2] & _WRITING)
    if path.startswith(home) and (writes or code == BROKEN):
        if event == "sqlite3.connect":
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error
        raise OSError(code, os.strerror(code), path)
