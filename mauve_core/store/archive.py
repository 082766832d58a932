"""A run as one zip file: the files of its folder and ``manifest.json`` with their sizes and digests.

Arrays and tables are stored uncompressed, so that reading and writing run at disk speed; JSON is compressed.
Precomputed results (``derived``) are left out and computed again where the run is opened. So are damaged results of
``attached``, with a warning; a run with any other damage, a link included, is not exported. No link is followed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from mauve_core.base.errors import InputError, StorageError, words_of
from mauve_core.base.files import open_regular, read_stored, storage_errors, write_atomically
from mauve_core.scoring.serialization import PROJECTION
from mauve_core.store.about import ABOUT
from mauve_core.store.checking import check_json, checked_run
from mauve_core.store.folder import ATTACHED, BROKEN, COMPARISON, RATINGS, Run, damaged, read_record
from mauve_core.texts import limits

MAP = f"{PROJECTION}.npy"
SUFFIX = ".mauve-run.zip"
MANIFEST = "manifest.json"
# Version of the archive layout; other versions are refused.
FORMAT = 1

# Files that an archive may hold besides its manifest: those of a run's folder (``folder.py``).
KNOWN_FILES = re.compile(
    rf"{re.escape(COMPARISON)}|{re.escape(ABOUT)}|{re.escape(RATINGS)}|(joint|projection|halves|prompts|generations|groups|contents|pairwise-\d{{1,6}})\.npy"
    rf"|texts-\d{{1,6}}\.(parquet|thumbnails\.zip)|features-\d{{1,6}}\.npy|{ATTACHED}/[a-z0-9][a-z0-9-]{{0,79}}\.json"
)

CHUNK = 1 << 20
_RESTORE = "Restore the file from a copy of the run, or compare the texts again"
_START_OF_TIME = (1980, 1, 1, 0, 0, 0)
_LARGE = 1 << 31


class LeftOutWarning(UserWarning):
    """A damaged result of a run is not in its archive."""


def archive_path(run_id: str, path: Path) -> Path:
    """Return the archive's path: inside ``path`` if that is a folder, else ``path``; raises StorageError."""
    with storage_errors(path):
        return path / f"{run_id}{SUFFIX}" if path.is_dir() else path


def write_archive(
    folder: Path, path: Path, *, ratings: bool = True, documents: Mapping[str, Callable[[Run], object]] | None = None
) -> None:
    """Write a run's folder to one file, atomically.

    Ratings are copied as a consistent snapshot, even while people are rating, or left out. So is the comparison, to
    which a map may be added meanwhile: the archive holds the arrays that its own record names. The run is read as an
    import would read it, so that what is written can be imported.

    Parameters
    ----------
    folder, path : Path
    ratings : bool
    documents : mapping of str to callable, optional
        What reads and checks each result in ``attached/``, by name, and raises InputError or StorageError.

    Warns
    -----
    LeftOutWarning
        A result in ``attached/`` is damaged, and is not in the archive.

    Raises
    ------
    StorageError
        Another file of the run is missing, damaged or a link, or the disk refuses: nothing is written.
    """
    with tempfile.TemporaryDirectory(prefix="mauve-lens-") as scratch:
        snapshot = Path(scratch) / folder.name
        (snapshot / ATTACHED).mkdir(parents=True)
        files, left_out = _snapshot(folder, snapshot, ratings)
        try:
            run = checked_run(snapshot, {name for name in files if name != RATINGS})
        except StorageError as error:
            wrong, todo = (text.replace(str(snapshot), str(folder)) for text in (error.wrong, error.todo))
            raise StorageError(wrong, allowed=error.allowed, received=error.received, todo=todo) from error
        except BROKEN as error:
            reason = words_of(error).replace(f"{snapshot}/", "")
            raise StorageError(f"Run {folder.name} cannot be exported: {reason}", todo=_RESTORE) from error
        for name, read in (documents or {}).items():
            file = f"{ATTACHED}/{name}.json"
            try:
                if file in files:
                    read(run)
            except (InputError, StorageError) as error:
                left_out[file] = error.wrong
                del files[file]
        for file, reason in left_out.items():
            message = f"{file} of run {folder.name} is damaged and was left out of the export: {reason}"
            warnings.warn(message, LeftOutWarning, stacklevel=3)
        write_atomically(path, lambda stream: _write(stream, folder.name, files))


def _snapshot(folder: Path, snapshot: Path, ratings: bool) -> tuple[dict[str, Path], dict[str, str]]:
    """Return the files to write, by name, and why results are left out; ``snapshot`` gets copies and links of them."""
    record = snapshot / COMPARISON
    with damaged(folder.name, COMPARISON, todo=_RESTORE):  # before the names: arrays are written before their record
        record.write_bytes(read_stored(folder / COMPARISON, limits.document_bytes(), follow=False))
    has_map = read_record(snapshot).comparison.projection
    files, left_out = {COMPARISON: record}, {}
    if (folder / ATTACHED).is_symlink():
        left_out[ATTACHED] = "it is a link, not a folder"
    for name in _names(folder):
        path = folder.absolute() / name
        if name == COMPARISON or (name == RATINGS and not ratings) or (name == MAP and not has_map):
            continue
        reason = _damage(path, name)
        if reason and not name.startswith(ATTACHED):
            todo = f"{_RESTORE}. To export it without ratings, add --without-ratings" if name == RATINGS else _RESTORE
            raise StorageError(f"Run {folder.name} cannot be exported: {name} is damaged: {reason}", todo=todo)
        if reason:
            left_out[name] = reason
        elif name == RATINGS:
            files[name] = snapshot / RATINGS
            _copy_ratings(path, files[name])
        else:
            files[name] = path
            (snapshot / name).symlink_to(path)
    return files, left_out


def _damage(path: Path, name: str) -> str:
    """Return what is wrong with a file before it is read as part of a run; empty if nothing is."""
    try:
        with open_regular(path, follow=False):
            pass
        if name.startswith(ATTACHED):
            check_json(path, name)
    except (OSError, ValueError) as error:
        return words_of(error).removeprefix(f"{name}: ")
    return ""


def _copy_ratings(source: Path, target: Path) -> None:
    from mauve_core.judgments import RatingStore  # imports SciPy, which loading a run does not need

    try:
        RatingStore(source).copy_to(target)
    except StorageError as error:
        todo = f"{error.todo}. Or export the run without them: mauve-lens runs export ID --without-ratings"
        raise StorageError(error.wrong, todo=todo) from error


def _names(folder: Path) -> Iterator[str]:
    """Yield the names in the folder that belong to a run, whatever has them; those behind a linked folder do not."""
    found = [entry.name for entry in folder.iterdir()]
    if not (folder / ATTACHED).is_symlink() and (folder / ATTACHED).is_dir():
        found += [f"{ATTACHED}/{entry.name}" for entry in (folder / ATTACHED).iterdir()]
    yield from (name for name in sorted(found) if KNOWN_FILES.fullmatch(name))


def _write(stream: IO[bytes], run_id: str, files: dict[str, Path]) -> None:
    described: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(stream, "w") as archive:
        for name, path in files.items():
            with damaged(run_id, name), open_regular(path, follow=False) as source:
                described[name] = _add(archive, name, source, os.fstat(source.fileno()).st_size)
        manifest = {"format": FORMAT, "program": version("mauve-lens"), "id": run_id, "files": described}
        archive.writestr(_info(MANIFEST), json.dumps(manifest, indent=1))


def _add(archive: zipfile.ZipFile, name: str, source: IO[bytes], size: int) -> dict[str, Any]:
    digest, written = hashlib.sha256(), 0
    with archive.open(_info(name), "w", force_zip64=size > _LARGE // 2) as target:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            written += target.write(chunk)
    return {"size": written, "sha256": digest.hexdigest()}


def _info(name: str) -> zipfile.ZipInfo:
    """Return a zip entry without time or origin."""
    info = zipfile.ZipInfo(name, date_time=_START_OF_TIME)
    info.external_attr = 0o600 << 16
    info.compress_type = zipfile.ZIP_DEFLATED if name.endswith(".json") else zipfile.ZIP_STORED
    return info
