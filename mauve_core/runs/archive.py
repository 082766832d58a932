"""A run as one zip file: the files of its folder and ``manifest.json`` with their sizes and digests.

Arrays and tables are stored uncompressed, so that reading and writing run at disk speed; JSON is compressed.
Precomputed results (``derived``) are left out and computed again where the run is opened. So are damaged results of
``attached``, with a warning; a run with any other damage, a link included, is not exported. No link is followed.

An import trusts nothing: names must be those of a run's files, sizes are bounded before anything is read, digests are
compared, and the whole run is read before it is put in place. What is exported is read in the same way. On any error,
the caller removes the partly filled folder.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import stat
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from mauve_core.base.archives import DAMAGES, load_array, open_zip
from mauve_core.base.errors import InputError, StorageError, words_of
from mauve_core.base.files import (
    open_regular,
    read_stored,
    require_plain_file,
    storage_errors,
    sync_tree,
    write_atomically,
)
from mauve_core.clusters.features import require_usable
from mauve_core.runs.folder import (
    ABOUT,
    ATTACHED,
    BROKEN,
    COMPARISON,
    RATINGS,
    LayoutError,
    Run,
    damaged,
    is_id,
    parse_json,
    read_record,
    read_run,
    run_id,
)
from mauve_core.scoring.serialization import PROJECTION
from mauve_core.texts import limits
from mauve_core.texts.media import archive_beside
from mauve_core.texts.parquet import ParquetTable


def checked_run(folder: Path, names: set[str]) -> Run:
    """Return the run in a folder whose files have those names, relative to it; ratings are not read.

    Raises
    ------
    StorageError, InputError, or an exception of ``folder.BROKEN``
        It is no complete run, a file is damaged, or there are others.
    """
    _check_names(folder, names)
    for name in names:
        _check_file(folder, name)
    run = read_run(folder)
    drawn = {archive_beside(folder / f"texts-{index}.parquet").name for index in _drawn(run)}
    odd = drawn ^ {name for name in names if name.endswith(".zip")}
    if odd:
        raise InputError(f"missing or unexpected files: {', '.join(sorted(odd))}"[:500])
    for item in run.comparison.sources:
        media = run.corpora[item.name].media
        if media is not None:
            media.thumbnails.require_usable(media.digests)
        features = run.features(item.name)
        if features is not None:
            require_usable(features, name=f"features of {item.name!r}", ids=run.corpora[item.name].ids)
    return run


def _drawn(run: Run) -> list[int]:
    """Return the positions of the sources whose items are drawn."""
    sources = enumerate(run.comparison.sources)
    return [index for index, source in sources if run.corpora[source.name].media is not None]


def _check_names(folder: Path, names: set[str]) -> None:
    if COMPARISON not in names:
        raise InputError("it has no comparison")
    record = read_record(folder).comparison
    count = len(record.sources)
    arrays = {f"{key}.npy" for key in record.array_keys}
    tables = {f"texts-{index}.parquet" for index in range(count)}
    features = {f"features-{index}.npy" for index in range(count)}
    stored = {name for name in names if name.endswith((".npy", ".parquet"))}
    if stored not in (arrays | tables, arrays | tables | features):
        raise InputError(
            f"missing or unexpected files: {', '.join(sorted(stored ^ (arrays | tables | features)))}"[:500]
        )


def _check_file(folder: Path, name: str) -> None:
    """Check, before a file is loaded, that loading takes no more memory than its size suggests."""
    path = folder / name
    if name.endswith(".npy"):
        try:
            kind = load_array(path, mapped=True).dtype.kind
        except ValueError as error:
            raise InputError(f"{name}: {words_of(error)}") from error
        if kind not in "fi":
            raise InputError(f"{name} does not contain numbers")
    elif name.endswith(".parquet"):
        _check_table(path)
    elif name.endswith(".json"):
        check_json(path, name)


def check_json(path: Path, name: str) -> None:
    """Raise InputError unless a file holds a JSON object within the budgets."""
    try:
        parse_json(read_stored(path, limits.document_bytes()))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: {words_of(error)}") from error


def _check_table(path: Path) -> None:
    """Decode a table a few rows at a time, within its budget."""
    try:
        with open_regular(path) as stream:
            for _ in ParquetTable(stream, path).batches():
                pass
    except InputError as error:
        raise InputError(str(error).removesuffix(".")) from error


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
    from mauve_core.runs.ratings import RatingStore  # imports SciPy, which loading a run does not need

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
            from mauve_core.runs.ratings import RatingStore

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
