"""Where this machine keeps the work folders of comparisons, by the digest of what they found.

Runs are exchanged between people, so no run names a folder from which texts are read. The folder is looked up here, in
the home folder of whoever reads, where only comparisons that were stored with it are noted.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from mauve_core.base.errors import StorageError, words_of
from mauve_core.base.files import home, read_stored, write_atomically
from mauve_core.shards.plan import Work
from mauve_core.shards.result import ShardedComparison

# In the home folder: a file for each comparison.
FOLDER = "work-folders"

MOST_BYTES = 1 << 16

# Notes of one comparison that are kept, the latest ones.
MOST_NOTES = 10


class Note(NamedTuple):
    """Where a comparison was made, and the id of the run that was stored of it."""

    folder: Path
    run: str


def take_note(work: Work, found: ShardedComparison, run: str) -> None:
    """Note where a comparison was made, and its run; StorageError if the disk refuses. Damaged notes are replaced."""
    note, before = Note(work.folder, run), tuple[Note, ...]()
    with suppress(StorageError):
        before = notes_of(found)
    notes = [note, *(each for each in before if each != note)][:MOST_NOTES]
    content = json.dumps([{"folder": str(each.folder), "run": each.run} for each in notes]).encode()
    write_atomically(notes_path(found), lambda stream: stream.write(content))


def notes_of(found: ShardedComparison) -> tuple[Note, ...]:
    """Where a comparison was made, the latest first; StorageError if the notes are damaged.

    Folders and runs may have been removed since.
    """
    path = notes_path(found)
    try:
        notes = json.loads(read_stored(path, MOST_BYTES))
        if not isinstance(notes, list):
            raise ValueError("it holds no list")
        return tuple(map(_note, notes))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise StorageError(
            f"The note {path} of a work folder cannot be read: {words_of(error)}",
            todo="Remove it, then repeat the command of the comparison: what is done is not done again",
        ) from error


def _note(values: dict[str, Any]) -> Note:
    folder, run = values["folder"], values["run"]
    if not isinstance(folder, str) or not Path(folder).is_absolute() or not isinstance(run, str):
        raise ValueError("it names no folder")
    return Note(Path(folder), run)


def notes_path(found: ShardedComparison) -> Path:
    """Where the folders of a comparison are noted."""
    return home() / FOLDER / f"{found.digest()}.json"
