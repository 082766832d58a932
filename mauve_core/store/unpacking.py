"""Turn an archive of a run into a folder, trusting nothing in it.

Names must be those of a run's files, sizes are bounded before anything is read, digests are compared, and the whole
run is read before it is put in place. On any error, the caller removes the partly filled folder.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mauve_core.base.archives import DAMAGES, open_zip
from mauve_core.base.errors import InputError, StorageError, words_of
from mauve_core.base.files import require_plain_file, storage_errors, sync_tree
from mauve_core.judgments import RatingStore
from mauve_core.store.archive import CHUNK, FORMAT, KNOWN_FILES, MANIFEST
from mauve_core.store.checking import checked_run
from mauve_core.store.folder import RATINGS, LayoutError, Run, is_id, parse_json, run_id

# Limit for all files of one run together.
MAX_BYTES = 20 << 30

MAX_FILES = 100_000
# Bytes of the zip file's directory, which is read at once.
MAX_DIRECTORY = 16 << 20

# Most bytes of a JSON file, and of the manifest.
MAX_JSON, MAX_MANIFEST = 256 << 20, 32 << 20

# Highest compression ratio of entries above 1 MiB; JSON reaches a tenth of it.
MAX_RATIO, RATIO_FROM = 300, 1 << 20

TODO = "Export the run again with: mauve-lens runs export"


@dataclass(frozen=True)
class Manifest:
    """The run's original id, and (size, SHA-256) by file."""

    id: str
    files: Mapping[str, tuple[int, str]]


def unpacked(path: Path, folder: Path, check: Callable[[Run], object] | None = None) -> Run:
    """Fill ``folder`` from an archive; the returned run has its original id. ``check`` may refuse it with our errors.

    Raises
    ------
    InputError
        The file is no archive of a run, is damaged or too large, or has unknown content.
    StorageError
        The disk refuses.
    """
    require_plain_file(path, "archive of a run")
    with _opened(path) as archive:
        manifest = read_manifest(archive)
        _unpack(archive, manifest, folder)
    run = _check_run(folder, path, check)
    return dataclasses.replace(run, id=manifest.id if is_id(manifest.id) else run_id(run.name))


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open the archive; any defect found inside the block becomes an InputError."""
    try:
        with path.open("rb") as stream, open_zip(stream, MAX_DIRECTORY) as archive:
            yield archive
    except InputError:
        raise
    except (OSError, RuntimeError, *DAMAGES) as error:
        raise _refused(path, f"it is not a zip file or is damaged: {words_of(error)}") from error


def read_manifest(archive: zipfile.ZipFile) -> Manifest:
    """Read the manifest and check it against the entries.

    Raises
    ------
    InputError
        An entry is compressed too far, is a link, has an unknown name, occurs twice or contradicts the manifest; or
        the run is too large.
    """
    path = Path(str(archive.filename))
    infos = archive.infolist()
    if len(infos) > MAX_FILES:
        raise _refused(path, f"it contains {len(infos)} files", allowed=f"up to {MAX_FILES}")
    for info in infos:
        _check_entry(path, info)
    names = [info.filename for info in infos]
    if len(set(names)) != len(names):
        raise _refused(path, "it contains the same file twice")
    if MANIFEST not in names:
        raise _refused(path, "it has no manifest", allowed="a file exported by this program")
    try:
        values = parse_json(archive.read(MANIFEST))
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"its manifest is damaged: {words_of(error)}") from error
    try:
        if values["format"] != FORMAT:
            received = f"layout {values['format']!r} of version {values['program']!r}"
            about = {"allowed": f"layout {FORMAT}", "received": received}
            if type(values["format"]) is int and values["format"] > FORMAT:
                about |= {"todo": "Update the program"}
            raise _refused(path, "it has a different layout", **about)
        files = {str(name): (int(item["size"]), str(item["sha256"])) for name, item in values["files"].items()}
        manifest = Manifest(str(values["id"]), files)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise _refused(path, f"its manifest is damaged: {words_of(error)}") from error
    sizes = {info.filename: info.file_size for info in infos if info.filename != MANIFEST}
    if sizes != {name: size for name, (size, _) in files.items()}:
        raise _refused(path, "its files do not match its manifest")
    if sum(sizes.values()) > MAX_BYTES:
        allowed, received = f"up to {MAX_BYTES >> 30} GiB", f"{sum(sizes.values()):,} bytes"
        raise _refused(path, "the run is too large", allowed=allowed, received=received)
    return manifest


def _check_entry(path: Path, info: zipfile.ZipInfo) -> None:
    name, size = info.filename, info.file_size
    if name != MANIFEST and not KNOWN_FILES.fullmatch(name):
        raise _refused(path, "it contains a file that does not belong to a run", received=repr(name[:200]))
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG) or info.is_dir():
        raise _refused(path, f"{name} is not a regular file")
    if info.flag_bits & 1:
        raise _refused(path, f"{name} is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _refused(path, f"{name} uses an unsupported compression method")
    if size > RATIO_FROM and size > MAX_RATIO * info.compress_size:
        wrong = f"{name} would expand from {info.compress_size:,} to {size:,} bytes"
        raise _refused(path, wrong, allowed=f"at most {MAX_RATIO} to 1")
    most = MAX_MANIFEST if name == MANIFEST else MAX_JSON
    if name.endswith(".json") and size > most:
        raise _refused(path, f"{name} is too large", allowed=f"up to {most >> 20} MiB", received=f"{size:,} bytes")


def _unpack(archive: zipfile.ZipFile, manifest: Manifest, folder: Path) -> None:
    """Write the files into a folder; InputError if one contradicts the manifest."""
    for name, (size, digest) in manifest.files.items():
        target = folder / name
        with storage_errors(target):
            target.parent.mkdir(exist_ok=True)
            hasher, written = hashlib.sha256(), 0
            with archive.open(name) as source, target.open("xb") as stream:
                while chunk := source.read(min(CHUNK, size + 1 - written)):
                    hasher.update(chunk)
                    written += stream.write(chunk)
                    if written > size:
                        break
        if (written, hasher.hexdigest()) != (size, digest):
            raise _refused(Path(str(archive.filename)), f"{name} has changed since it was exported")
    with storage_errors(folder):
        sync_tree(folder)


def _check_run(folder: Path, source: Path, check: Callable[[Run], object] | None) -> Run:
    """Read all content of the folder; InputError if it is no complete run or holds anything else."""
    try:
        names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        run = checked_run(folder, names)
        if RATINGS in names:
            RatingStore(folder / RATINGS).check()
        if check is not None:
            check(run)
    except (StorageError, ValueError, KeyError, TypeError, MemoryError, RecursionError, AttributeError) as error:
        reason = error.wrong if isinstance(error, StorageError | InputError) else words_of(error)
        reason = reason.replace(f"Run {folder.name} cannot be read because ", "").replace(f"{folder}{os.sep}", "")
        todo = {"todo": error.todo} if isinstance(error, LayoutError) else {}
        raise _refused(source, f"the run in it cannot be read: {reason}", **todo) from error
    return run


def _refused(path: Path, why: str, **about: Any) -> InputError:
    return InputError(f"{path.name} cannot be imported: {why}", **{"todo": TODO, **about})
