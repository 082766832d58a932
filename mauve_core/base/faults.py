"""Faults of this program, as ``mauve-lens debug`` reports them: where in the code, and never what was worked on.

An exception that is none of ours is a fault. Its message may hold a user's text, so only its type is kept, with the
files, lines and functions that it passed.
"""

from __future__ import annotations

import errno
import json
import os
import traceback
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mauve_core.base.errors import StorageError
from mauve_core.base.files import home, make_folder, read_stored, remove, storage_error, write_atomically

# The last so many faults are kept.
REMEMBERED = 20

REPORT = "This is a fault of MAUVE Lens: please report it with the file that mauve-lens debug writes"

# What a disk or a device says that takes no more.
_OF_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

_FOLDER = "faults"
_FILE = "faults.json"
_PACKAGES = ("mauve_core", "mauve_app", "site-packages", "dist-packages")


def remember(error: BaseException, during: str) -> None:
    """Keep the fault; ``during`` is a command, a kind of job or a page. A disk that refuses it is no second fault."""
    fault = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "during": during,
        "errors": [_described(each) for each in _chain(error)],
    }
    with suppress(Exception):
        path = home() / _FOLDER / _FILE
        make_folder(path.parent)
        if path.exists() and not path.is_file():
            remove(path)
        faults = json.dumps([*remembered(), fault][-REMEMBERED:], indent=1)
        write_atomically(path, lambda stream: stream.write(faults.encode()))


def refused_by_system(error: BaseException) -> StorageError | None:
    """Return what the operating system refuses, in words of ours; None for a fault of this program.

    An error about a file names it; one without a name is about the output of this process.
    """
    if not isinstance(error, OSError):
        return None
    if isinstance(error.filename, str | bytes):
        return storage_error(os.fsdecode(error.filename), error)
    if error.errno not in _OF_OUTPUT:
        return None
    return StorageError(f"Cannot write the output: {error.strerror}", todo="Write it where there is room")


def remembered() -> Sequence[dict[str, Any]]:
    """The faults of this home, the last one at the end; empty if there are none or their file is damaged."""
    try:
        found = json.loads(read_stored(home() / _FOLDER / _FILE))
    except (OSError, ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _chain(error: BaseException | None) -> Sequence[BaseException]:
    """The error and those behind it, the first cause last."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _described(error: BaseException) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "type": f"{type(error).__module__}.{type(error).__qualname__}",
        "frames": [f"{_inside(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames],
    }


def _inside(filename: str) -> str:
    """The path from the package on: the rest of it tells where a user keeps things."""
    parts = Path(filename).parts
    start = max((place for place, part in enumerate(parts) if part in _PACKAGES), default=len(parts) - 1)
    return "/".join(parts[start:])
