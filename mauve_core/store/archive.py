"""A run as one zip file: the files of its folder and ``manifest.json`` with their sizes and digests.

Arrays and tables are stored uncompressed, so that reading and writing run at disk speed; JSON is compressed.
Precomputed results (``derived``) are left out and computed again where the run is opened.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from mauve_core.base.errors import StorageError
from mauve_core.base.files import storage_errors, write_atomically
from mauve_core.scoring.serialization import PROJECTION
from mauve_core.store.about import ABOUT
from mauve_core.store.folder import ATTACHED, COMPARISON, RATINGS, damaged, read_record

MAP = f"{PROJECTION}.npy"
SUFFIX = ".mauve-run.zip"
MANIFEST = "manifest.json"
FORMAT = 1
"""Version of the archive layout; other versions are refused."""

KNOWN_FILES = re.compile(
    rf"{re.escape(COMPARISON)}|{re.escape(ABOUT)}|{re.escape(RATINGS)}|(joint|projection|halves|prompts|generations|pairwise-\d{{1,6}})\.npy"
    rf"|texts-\d{{1,6}}\.parquet|features-\d{{1,6}}\.npy|{ATTACHED}/[a-z0-9][a-z0-9-]{{0,79}}\.json"
)
"""Files that an archive may hold besides its manifest: those of a run's folder (``folder.py``)."""

CHUNK = 1 << 20
_START_OF_TIME = (1980, 1, 1, 0, 0, 0)
_LARGE = 1 << 31


def archive_path(run_id: str, path: Path) -> Path:
    """Return the archive's path: inside ``path`` if that is a folder, else ``path``; raises StorageError."""
    with storage_errors(path):
        return path / f"{run_id}{SUFFIX}" if path.is_dir() else path


def write_archive(folder: Path, path: Path, *, ratings: bool = True) -> None:
    """Write a run's folder to one file, atomically.

    Ratings are copied as a consistent snapshot, even while people are rating, or left out. So is the comparison, to
    which a map may be added meanwhile: the archive holds the arrays that its own record names.

    Raises
    ------
    StorageError
        A file of the run is missing or damaged, or the disk refuses.
    """
    with tempfile.TemporaryDirectory(prefix="mauve-lens-") as scratch:
        record = Path(scratch) / COMPARISON
        with damaged(folder.name, COMPARISON):
            shutil.copyfile(folder / COMPARISON, record)  # before the names: arrays are written before their record
        files = {name: folder / name for name in _names(folder)} | {COMPARISON: record}
        with suppress(StorageError):  # a damaged record is exported as it is, for a person to look at
            if not read_record(record.parent).comparison.projection:
                files.pop(MAP, None)
        source = files.pop(RATINGS, None)
        if source is not None and ratings:
            files[RATINGS] = Path(scratch) / RATINGS
            _copy_ratings(source, files[RATINGS])
        write_atomically(path, lambda stream: _write(stream, folder.name, files))


def _copy_ratings(source: Path, target: Path) -> None:
    from mauve_core.judgments import RatingStore  # imports SciPy, which loading a run does not need

    try:
        RatingStore(source).copy_to(target)
    except StorageError as error:
        todo = f"{error.todo}. Or export the run without them: mauve-lens runs export ID --without-ratings"
        raise StorageError(error.wrong, todo=todo) from error


def _names(folder: Path) -> Iterator[str]:
    """Yield the names of all files that belong to the run, the comparison first."""
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    yield from sorted((name for name in found if KNOWN_FILES.fullmatch(name)), key=lambda name: name != COMPARISON)


def _write(stream: IO[bytes], run_id: str, files: dict[str, Path]) -> None:
    described: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(stream, "w") as archive:
        for name, path in files.items():
            with damaged(run_id, name), path.open("rb") as source:
                described[name] = _add(archive, name, source, path.stat().st_size)
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
