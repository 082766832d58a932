"""Where shards are: a folder, a pattern, a manifest or one file, on this machine's disks or in an object store.

Object stores are reached by URL (``s3://bucket/human/*.parquet``, ``gs://``, ``hf://``) through Arrow's file systems,
which read ranges of an object. Their credentials come from the environment and are never part of a URL, because URLs
are stored with the results. A shard that is written anew under its old name is another one: its size or time of change
tells.

If a shard cannot be used, the others go on, and one error at the end names them all. A damaged file of a work folder is
removed and made again.
"""

from __future__ import annotations

import fnmatch
import gzip
import io
import re
import stat
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, ParamSpec, Self, TypeVar
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from mauve_core.base.errors import InputError, StorageError, own_words_of, words_of
from mauve_core.base.files import NO_FILE, remove, require_plain_file, storage_errors
from mauve_core.encoders.features import DamagedEntryWarning
from mauve_core.texts.reading import WILD
from mauve_core.texts.streams import PACKINGS, opened, packing_of

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem


# Shards that an error names.
MOST_NAMED = 10

# Of the files that a step writes side by side: the record, which is written last, and what it has the digests of.
STEP_SUFFIXES = (".json", ".npy", ".npz", ".jsonl")

REPAIR = "Repair or remove them, or name other fields if these are wrong, then start again: finished shards are kept"


class ShardError(InputError):
    """A shard, or each of several, cannot be used; others may be (exit code 2)."""

    @classmethod
    def of(cls, error: InputError) -> Self:
        """The same error, word for word, as one about a single shard."""
        same = cls(error.wrong)
        vars(same).update(vars(error))
        same.args = error.args
        return same


class DamagedError(StorageError):
    """Files of the work folder are missing or not what a pass has written; the pass can write them again (exit code 1).

    Attributes
    ----------
    damage : tuple of (Path, str)
        The files, and what is wrong with each.
    """

    damage: tuple[tuple[Path, str], ...]

    @classmethod
    def of(cls, *damage: tuple[Path, str]) -> Self:
        """The error of some files."""
        each = [f"{path} is damaged or missing: {reason}" for path, reason in damage[:MOST_NAMED]]
        records = ", ".join(str(path.with_suffix(".json")) for path, _ in damage[:MOST_NAMED])
        todo = f"Remove {records}, then repeat the command of the comparison: what is there is not done again"
        error = cls("The work folder is damaged:", each=each, todo=todo)
        error.damage = damage
        return error


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Turn what reading a file of the work folder raises into a DamagedError; StorageError if the disk refuses."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_FILE:
            with storage_errors(path):
                raise
        raise DamagedError.of((path, error.strerror or str(error))) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedError.of((path, words_of(error))) from error


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def remade(step: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Let a step that goes on where it ended remove files that it finds damaged, say so, and begin anew.

    A DamagedError is raised if one file is damaged again.
    """

    @wraps(step)
    def again(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        seen = set[Path]()
        while True:
            try:
                return step(*args, **kwargs)
            except DamagedError as error:
                if seen & {path for path, _ in error.damage}:
                    raise
                for path, reason in error.damage:
                    seen.add(path)
                    for suffix in STEP_SUFFIXES:  # the record first, without which the step is not done
                        with storage_errors(path):
                            remove(path.with_suffix(suffix))
                    message = f"{path} was damaged or missing ({reason}); it was removed and is made again"
                    warnings.warn(message, DamagedEntryWarning, stacklevel=2)

    return again


@contextmanager
def about_one_shard() -> Iterator[None]:
    """Raise an InputError as one about a single shard."""
    try:
        yield
    except InputError as error:
        raise ShardError.of(error) from error


def error_of(errors: Sequence[InputError], shards: int, hopeless: str = "") -> InputError:
    """Return one error for those of several shards, out of so many; a single one stays as it is.

    ``hopeless`` says which of them are why no others were tried: "all of 'model' that were tried".
    """
    if len(errors) == 1:
        return errors[0]
    why = hopeless and f", among them {hopeless}, so no others were tried"
    each = [f"{error.wrong} (received: {error.received})" if error.received else error.wrong for error in errors]
    more, todos = len(each) - MOST_NAMED, {error.todo for error in errors}
    return ShardError(
        f"{len(errors):,} of {shards:,} shards cannot be used{why}:",
        each=each[:MOST_NAMED] + ([f"And {more:,} more"] if more > 0 else []),
        allowed="; ".join(dict.fromkeys(error.allowed for error in errors[:MOST_NAMED] if error.allowed)),
        todo=(todos.pop() if len(todos) == 1 else "") or REPAIR,
    )


TEXT_SUFFIXES = (".parquet", ".jsonl", ".ndjson")
FEATURE_SUFFIXES = (".npy",)
# A file with the path or URL of one shard on each line; relative paths begin at its folder.
MANIFEST_SUFFIX = ".manifest"

# Bytes of an object that are fetched at once where it is read from beginning to end.
READ_BYTES = 2**20

# The same where only the beginning of an object is looked at.
LOOK_BYTES = 2**16

MOST_SHARDS = 100_000

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_WILD_IN_URL = re.compile(r"[*\[]")
# What a URL may say of the store beside the place.
_QUERY = ("endpoint_override", "region", "scheme")


def is_url(where: str) -> bool:
    """Whether a place is a URL rather than a path."""
    return _URL.match(where) is not None


def list_shards(where: str | Path) -> tuple[str, ...]:
    """Return the shards of a side in the order of their names; of a manifest, in its own order.

    Parameters
    ----------
    where : str or Path
        A folder, of which all files with a known suffix count; a pattern with ``*`` or ``**``; a manifest; or a shard.
        All but a manifest may be a URL.

    Returns
    -------
    tuple of str
        Absolute paths and URLs: all of texts, or all of features.

    Raises
    ------
    InputError
        There is no shard, there are too many, shards of texts and of features are mixed, the store cannot be reached,
        or a URL holds credentials.
    """
    where = str(where)
    found = _listed_in_store(where) if is_url(where) else _listed_on_disk(Path(where).absolute())
    named, found = found, [name for name in found if _is_shard(name)]
    if not found:
        raise InputError(
            f"There are no shards at {where}",
            allowed=", ".join((*TEXT_SUFFIXES, *FEATURE_SUFFIXES)),
            todo=_about_json(named),
        )
    if len(found) > MOST_SHARDS:
        raise InputError(
            f"There are too many shards at {where}", allowed=f"at most {MOST_SHARDS:,}", received=f"{len(found):,}"
        )
    if len({holds_features(shard) for shard in found}) > 1:
        raise InputError(
            f"The shards at {where} are of different kinds",
            allowed="either texts or features",
            received=" and ".join(sorted({suffix_of(shard) for shard in found})),
        )
    return tuple(found)


def other_files(where: str) -> list[str]:
    """Names of files in a folder on this machine that are not shards; hidden ones and those with ``_`` do not count."""
    folder = Path(where)
    if is_url(where) or not folder.is_dir():
        return []
    files = (each for each in folder.rglob("*") if each.is_file() and not each.name.startswith((".", "_")))
    return sorted(str(each.relative_to(folder)) for each in files if not _is_shard(str(each)))


def holds_features(shard: str) -> bool:
    """Whether a shard holds features, not texts."""
    return suffix_of(shard) in FEATURE_SUFFIXES


@contextmanager
def opened_shard(shard: str, read_bytes: int = READ_BYTES) -> Iterator[IO[bytes]]:
    """Open a shard for reading; of an object, only the ranges that are read travel, of lines so many bytes at once.

    Raises
    ------
    InputError
        The shard has vanished since it was listed, or cannot be read; the error names it.
    """
    path = Path(name_of(shard))
    packing = packing_of(path)
    with stream_of(shard, read_bytes) as stream, opened(path, packing, stream) as content:
        try:
            yield content
        except gzip.BadGzipFile:
            raise
        except OSError as error:
            if is_url(shard):
                raise unreadable(shard, error) from error
            raise


def stream_of(shard: str, read_bytes: int = READ_BYTES) -> IO[bytes]:
    try:
        if not is_url(shard):
            return Path(shard).open("rb")
        system, path = system_of(shard)
        stream: Any = system.open_input_file(path)
    except OSError as error:
        raise unreadable(shard, error) from error
    # Arrow's own files have no lines; those with parts of their own are read by exact ranges.
    return stream if suffix_of(shard) == ".parquet" else io.BufferedReader(stream, read_bytes)


def _listed_on_disk(path: Path) -> list[str]:
    if path.suffix == MANIFEST_SUFFIX:
        return _listed_in_manifest(path)
    if path.is_dir():
        return sorted(str(each) for each in path.rglob("*") if each.is_file())
    if WILD.search(str(path)) and not path.exists():
        fixed = Path(*[part for part, wild in _parts_before_pattern(path) if not wild])
        pattern = str(path.relative_to(fixed))
        return sorted(str(each) for each in fixed.glob(pattern) if each.is_file())
    if not path.exists():
        raise InputError(f"{path} does not exist", todo="Check the name and the folder")
    if not _is_shard(str(path)):
        raise InputError(
            f"{path} is not a shard",
            allowed=f"{', '.join((*TEXT_SUFFIXES, *FEATURE_SUFFIXES))}, a folder or pattern, or {MANIFEST_SUFFIX}",
            received=repr(path.suffix),
            todo=_about_json([str(path)]),
        )
    return [str(path)]


def _parts_before_pattern(path: Path) -> list[tuple[str, bool]]:
    wild, found = False, []
    for part in path.parts:
        wild = wild or WILD.search(part) is not None
        found.append((part, wild))
    return found


def _listed_in_manifest(path: Path) -> list[str]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(str(path), error) from error
    named = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    shards = [name if is_url(name) else str((path.parent / name).absolute()) for name in named]
    repeated = {shard for shard in shards if shards.count(shard) > 1} if len(set(shards)) < len(shards) else set()
    wrong = sorted(repeated) or [shard for shard in shards if not _is_shard(shard)]
    if wrong:
        what = "names shards twice" if repeated else "names files that are not shards"
        todo = "" if repeated else _about_json(wrong)
        raise InputError(f"The manifest {path} {what}", received=", ".join(wrong[:3]), todo=todo)
    for shard in filter(is_url, shards):
        _checked_url(shard)
    return shards


def _listed_in_store(where: str) -> list[str]:
    from pyarrow.fs import FileSelector

    url = _checked_url(where)
    system, path = system_of(where)
    if _is_shard(path) and not _WILD_IN_URL.search(path):
        return [where]
    parts = path.rstrip("/").split("/")
    wild = next((index for index, part in enumerate(parts) if _WILD_IN_URL.search(part)), len(parts))
    try:
        infos = system.get_file_info(FileSelector("/".join(parts[:wild]), recursive=True, allow_not_found=True))
    except OSError as error:
        raise unreadable(where, error) from error
    wanted = [*parts, "**", "*"] if wild == len(parts) else parts
    names = sorted(info.path for info in infos if info.is_file and _matches(info.path.split("/"), wanted))
    return [urlunsplit((url.scheme, "", f"//{name}", url.query, "")) for name in names]


def _matches(parts: list[str], pattern: list[str]) -> bool:
    """Whether a path matches a pattern part by part; ``**`` stands for any number of parts."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[skipped:], pattern[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _checked_url(where: str) -> Any:
    url = urlsplit(where)
    unknown = [name for name, _ in parse_qsl(url.query) if name not in _QUERY]
    if url.username or url.password or unknown:
        shown = urlunsplit((url.scheme, url.netloc.rpartition("@")[2], url.path, "", ""))
        raise InputError(
            f"The URL of {shown} says more than where the shards are",
            allowed=f"no user and no key; after the question mark only {', '.join(_QUERY)}",
            todo="Give credentials in the environment, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        )
    return url


def system_of(where: str) -> tuple[FileSystem, str]:
    """Return Arrow's file system of a URL, and the path in it."""
    url = _checked_url(where)
    root = urlunsplit((url.scheme, url.netloc, "", url.query, ""))
    try:
        system = _system(root, url.scheme)
    except (OSError, ImportError, ValueError) as error:
        raise unreadable(where, error) from error
    return system, f"{url.netloc}{url.path}"


@cache
def _system(root: str, scheme: str) -> FileSystem:
    from pyarrow import fs

    if scheme in ("s3", "gs", "gcs"):
        return fs.FileSystem.from_uri(root)[0]
    fsspec = import_module("fsspec")
    return fs.PyFileSystem(fs.FSSpecHandler(fsspec.filesystem(scheme)))


def unreadable(shard: str, error: Exception) -> InputError:
    return InputError(
        f"The shard {shard} cannot be read: {own_words_of(error)}",
        todo="Check that it is still there and may be read, then start again: finished shards are kept",
    )


def name_of(shard: str) -> str:
    """The path or URL of a shard without what its URL says of the store."""
    return shard.split("?")[0] if is_url(shard) else shard


def format_of(shard: str) -> str:
    """The suffixes that say how a shard is written, such as ``.jsonl.gz``."""
    return suffix_of(shard) + packing_of(Path(name_of(shard)))


def _is_shard(shard: str) -> bool:
    name = PurePosixPath(name_of(shard)).name
    return not name.startswith((".", "_")) and suffix_of(shard) in (*TEXT_SUFFIXES, *FEATURE_SUFFIXES)


def _about_json(names: Sequence[str]) -> str:
    """Say how files named .json become shards, if there are any among ``names``; else nothing."""
    if not any(suffix_of(name) == ".json" and not PurePosixPath(name).name.startswith((".", "_")) for name in names):
        return ""
    return (
        "Rename .json files that hold one object per line to .jsonl; split one that holds an array into lines with: "
        "jq -c '.[]' FILE.json > FILE.jsonl"
    )


def suffix_of(shard: str) -> str:
    """The suffix of a shard's format; that of a compression may follow the format of lines."""
    path = PurePosixPath(name_of(shard))
    return (path.with_suffix("") if path.suffix.lower() in PACKINGS else path).suffix.lower()


@dataclass(frozen=True)
class Stamp:
    """What a listing says of a shard: its bytes, as it lies there, and when it was changed, if its store tells.

    Of objects the time has whole seconds: some stores list fractions, and leave them out when one object is asked for.
    """

    size: int
    changed_ns: int | None


def stamps_of(shards: Sequence[str]) -> list[Stamp]:
    """Return what is said of each shard, which several sides may name; in a store, by one listing of each folder.

    Raises
    ------
    InputError
        Shards have vanished, or their store cannot be reached.
    """
    found: dict[str, Stamp] = {}
    gone: list[InputError] = []
    folders: dict[tuple[str, str], tuple[FileSystem, dict[str, str]]] = {}
    different = dict.fromkeys(shards)
    for shard in different:
        if not is_url(shard):
            try:
                found[shard] = _on_disk(shard)
            except InputError as error:
                gone.append(error)
            continue
        system, path = system_of(shard)
        folder = path.rpartition("/")[0]
        folders.setdefault((str(id(system)), folder), (system, {}))[1][path] = shard
    for (_, folder), (system, wanted) in folders.items():
        listed = _listed(system, folder, wanted)
        found |= listed
        gone += [_gone(shard) for shard in wanted.values() if shard not in listed]
    if gone:
        raise error_of(gone, len(different))
    return [found[shard] for shard in shards]


def require_unchanged(shard: str, known: Mapping[str, Stamp]) -> None:
    """Raise InputError if a shard has vanished or been written anew since it was listed."""
    if shard not in known:
        return
    if not is_url(shard):
        now = _on_disk(shard)
    else:
        system, path = system_of(shard)
        try:
            info = system.get_file_info(path)
        except OSError as error:
            raise unreadable(shard, error) from error
        if info.size is None:
            raise _gone(shard)
        now = _of_object(info)
    if now != known[shard]:
        raise InputError(
            f"The shard {shard} was written anew after the comparison had begun",
            allowed=f"the file of {known[shard].size:,} bytes that was there",
            received=f"one of {now.size:,} bytes with another time of change",
            todo="Put it back, or compare again: only shards that have changed are encoded again",
        )


def _on_disk(shard: str) -> Stamp:
    try:
        found = Path(shard).stat()
    except OSError as error:
        raise unreadable(shard, error) from error
    if not stat.S_ISREG(found.st_mode):
        require_plain_file(Path(shard), "shard")
    return Stamp(found.st_size, found.st_mtime_ns)


def _listed(system: FileSystem, folder: str, wanted: dict[str, str]) -> dict[str, Stamp]:
    """The stamps of those shards that are in a folder of a store."""
    from pyarrow.fs import FileSelector

    shard = next(iter(wanted.values()))
    try:
        found = {info.path: info for info in system.get_file_info(FileSelector(folder))}
    except OSError as error:
        raise unreadable(shard, error) from error
    there = {path: shard for path, shard in wanted.items() if path in found and found[path].size is not None}
    return {shard: _of_object(found[path]) for path, shard in there.items()}


def _of_object(info: FileInfo) -> Stamp:
    return Stamp(info.size, None if info.mtime_ns is None else info.mtime_ns // 10**9 * 10**9)


def _gone(shard: str) -> InputError:
    return InputError(f"The shard {shard} is not there any more", todo="Check the folder, then start again")
