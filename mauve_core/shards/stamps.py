"""Sizes and times of change of shards: a shard that is written anew under its old name is another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mauve_core.base.errors import InputError
from mauve_core.shards.failures import error_of
from mauve_core.shards.places import is_url, system_of, unreadable

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem


class Stamp(NamedTuple):
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
