"""Where this machine keeps the work folders of comparisons, by the digest of what they found.

Runs are exchanged between people, so no run names a folder from which texts are read. The folder is looked up here, in
the home folder of whoever reads, where only comparisons that were stored with it are noted.
"""

from __future__ import annotations

import json
from pathlib import Path

from mauve_core.base.errors import StorageError, words_of
from mauve_core.base.files import home, read_stored, write_atomically
from mauve_core.shards.plan import Work
from mauve_core.shards.result import ShardedComparison

FOLDER = "work-folders"
"""In the home folder: a file for each comparison."""

MOST_BYTES = 1 << 16


def note_folder(work: Work, found: ShardedComparison) -> None:
    """Note where a comparison was made; StorageError if the disk refuses. The last of several equal ones is kept."""
    content = json.dumps({"folder": str(work.folder)}).encode()
    write_atomically(noted_path(found), lambda stream: stream.write(content))


def noted_folder(found: ShardedComparison) -> Path | None:
    """Where a comparison was made, None if that is not known here; StorageError if the note is damaged.

    The folder may have been removed since.
    """
    path = noted_path(found)
    try:
        folder = json.loads(read_stored(path, MOST_BYTES))["folder"]
        if not isinstance(folder, str) or not Path(folder).is_absolute():
            raise ValueError("it names no folder")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise StorageError(
            f"The note {path} of a work folder cannot be read: {words_of(error)}",
            todo="Remove it, then repeat the command of the comparison: what is done is not done again",
        ) from error
    return Path(folder)


def noted_path(found: ShardedComparison) -> Path:
    """Where the folder of a comparison is noted."""
    return home() / FOLDER / f"{found.digest()}.json"
