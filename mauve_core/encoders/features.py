"""Features of texts, and the store of features on disk.

A key covers everything that decides the numbers, so entries never become stale. An entry is a folder ``<root>/<key>/``
of plain ``.npy`` arrays (features, lengths, cut) and ``meta.json`` with their SHA-256. It is written under another name
and renamed, so it is complete or absent; of two writers of one key the first wins. Rows come from batches in any order;
finished rows of unfinished work are parts, ``<root>/<key>.<random>.npz``, so that a killed run loses seconds, not
hours. (Parts have no folder: another writer that finishes would remove it while we write.) What is no entry, or does
not match its digest, is removed with a warning and recomputed. Nothing is ever pickled. Features stay in float32, as
the encoder gave them, since they may serve more than scores. Half precision is for files of features
(:mod:`mauve_core.encoders.external_features`).
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base import files
from mauve_core.base.archives import load_array, load_arrays
from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.formatting import summary
from mauve_core.encoders.tokenizing import Tokenized

ARRAYS = ("features", "lengths", "cut")
META = "meta.json"
SERVER = ".server.json"
INCOMING = "incoming"


class DamagedEntryWarning(UserWarning):
    """A stored file did not match its digest; it was removed, and its rows are recomputed."""


@dataclass(frozen=True)
class StoredFeatures:
    """One finished entry.

    Attributes
    ----------
    array : (n, d) float32 array
        Read-only and memory-mapped.
    lengths : (n,) int32 array
        Tokens of each text after cutting.
    cut : (n,) bool array
        Whether the text was longer.
    meta : mapping
        The writer's notes on how it was made; plain JSON.
    """

    array: NDArray[np.float32]
    lengths: NDArray[np.int32]
    cut: NDArray[np.bool_]
    meta: Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """Finished rows of an unfinished entry.

    Attributes
    ----------
    indices : (r,) int64 array
        Rows of the entry, each once.
    array : (r, d) float32 array
    device : str
        Device that computed them.
    """

    indices: NDArray[np.int64]
    array: NDArray[np.float32]
    device: str


class FeatureStore:
    """The folder of features.

    Parameters
    ----------
    root : path, optional
        Defaults to ``features`` in the program's home folder (``mauve_core.base.files.home``).
    """

    def __init__(self, root: Path | str | None = None) -> None:
        self.root = files.home() / "features" if root is None else Path(root)

    def get(self, key: str) -> StoredFeatures | None:
        """Return the entry of that key, verified by its digests; None if it is missing or damaged.

        Warns
        -----
        DamagedEntryWarning
            It did not match its digests, or is no entry at all, and was removed.

        Raises
        ------
        StorageError
            The entry exists but cannot be read.
        """
        folder = self._entry(key)
        if not os.path.lexists(folder):
            return None
        try:
            return _read_entry(folder)
        except OSError as error:
            if not os.path.lexists(folder):
                return None
            if error.errno not in files.NO_FILE:
                raise _cannot_read(folder, error) from error
            self._remove_damaged(folder, str(error))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self._remove_damaged(folder, str(error))
        return None

    def has(self, key: str) -> bool:
        """Whether there is an entry of that key, unread."""
        return self._entry(key).is_dir()

    def put(
        self,
        key: str,
        array: NDArray[np.float32],
        lengths: NDArray[np.int32],
        cut: NDArray[np.bool_],
        meta: Mapping[str, Any],
    ) -> StoredFeatures:
        """Store a finished entry and drop its parts; an existing entry stays as it is.

        Raises
        ------
        InputError
            The arrays are not (n, d), (n,) and (n,) with n >= 1.
        StorageError
            The disk is full or refuses; stored data is not lost.
        """
        if array.ndim != 2 or not array.size or lengths.shape != (len(array),) or cut.shape != (len(array),):
            shapes = f"{array.shape}, {lengths.shape}, {cut.shape}"
            raise InputError(
                "These arrays are not features", allowed="shapes (n, d), (n,), (n,), n >= 1", received=shapes
            )
        stored = self.get(key)
        if stored is None:
            self._write_entry(key, StoredFeatures(array, lengths, cut, meta))
            stored = self.get(key)
        if stored is None:
            raise StorageError(f"The features written to {self._entry(key)} cannot be read back", todo="Check the disk")
        self.discard_parts(key)
        return stored

    def save_part(self, key: str, part: Part) -> None:
        """Save finished rows of an unfinished entry.

        Raises
        ------
        StorageError
            The disk is full or refuses; earlier parts are unchanged.
        """
        path = self._entry(key).with_suffix(f".{uuid.uuid4().hex}.npz")

        def write(stream: IO[bytes]) -> None:
            np.savez(stream, allow_pickle=False, indices=part.indices, array=part.array, device=np.array(part.device))

        files.write_atomically(path, write)

    def parts(self, key: str, rows: int) -> list[Part]:
        """Return the saved parts of an entry of ``rows`` rows; remove damaged ones with a DamagedEntryWarning."""
        found = []
        for path in self._parts(key):
            try:
                found.append(_read_part(path, rows))
            except FileNotFoundError:
                continue
            except (ValueError, KeyError) as error:
                _warn_damaged(path, str(error))
                with files.storage_errors(path):
                    files.remove(path)
            except OSError as error:
                raise _cannot_read(path, error) from error
        return found

    def discard_parts(self, key: str) -> None:
        """Delete the parts of that key."""
        for path in self._parts(key):
            with files.storage_errors(path):
                files.remove(path)

    def server_width(self, server: str, width: int) -> tuple[int, str]:
        """Return how many numbers the vectors of a server's model have, and when it gave the first.

        Kept from the first time on; ``server`` is the digest of its identity, and ``width`` what it gives now.

        Raises
        ------
        StorageError
            The disk is full or refuses.
        """
        path = self._entry(server).with_suffix(SERVER)
        try:
            kept = json.loads(files.read_stored(path))
            return int(kept["width"]), str(kept["since"])
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            _warn_damaged(path, str(error))
        except OSError as error:
            raise _cannot_read(path, error) from error
        since = datetime.now(UTC).isoformat(timespec="minutes")
        text = json.dumps({"width": width, "since": since})
        files.write_atomically(path, lambda stream: stream.write(text.encode()))
        return width, since

    def disk_use(self) -> int:
        """Return the bytes of everything stored, unfinished parts included."""
        total = 0
        for path in self.root.rglob("*"):
            with suppress(FileNotFoundError):  # finished or removed in the meantime
                total += path.lstat().st_size if path.is_file() else 0
        return total

    def sweep(self) -> None:
        """Delete what dead processes left unfinished."""
        for path in self.root.glob(".*"):
            files.remove_if_abandoned(path)

    def _entry(self, key: str) -> Path:
        if not key or not key.isalnum():
            raise InputError("This is not a feature key", allowed="letters and digits", received=repr(key))
        return self.root / key

    def _parts(self, key: str) -> list[Path]:
        return sorted(self.root.glob(f"{self._entry(key).name}.*.npz"))

    def _write_entry(self, key: str, entry: StoredFeatures) -> None:
        self.sweep()
        with files.storage_errors(self.root):
            files.make_folder(self.root)
            with files.partial_folder(self.root / INCOMING) as incoming:
                numbers = entry.array.astype(np.float32, copy=False), entry.lengths.astype(np.int32)
                digests = {}
                for name, values in zip(ARRAYS, (*numbers, entry.cut.astype(np.bool_)), strict=True):
                    digests[name] = _write_array(incoming / f"{name}.npy", values)
                text = json.dumps({"digests": digests, "meta": dict(entry.meta)}, indent=1)
                files.write_atomically(incoming / META, lambda stream: stream.write(text.encode()))
                with files.storage_errors(self._entry(key)):
                    _rename_unless_taken(incoming, self._entry(key))

    def _remove_damaged(self, folder: Path, reason: str) -> None:
        with files.storage_errors(folder):
            files.remove(folder)
        _warn_damaged(folder, reason)


class _HashingWriter:
    """Pass bytes on and hash them. Without a file descriptor, NumPy reports a full disk with its error number."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._stream.write(data)


def _write_array(path: Path, values: NDArray[Any]) -> str:
    """Write an ``.npy`` file; return its SHA-256."""
    digest = ""

    def write(stream: IO[bytes]) -> None:
        nonlocal digest
        writer = _HashingWriter(stream)
        np.lib.format.write_array(writer, np.ascontiguousarray(values), allow_pickle=False)
        digest = writer.digest.hexdigest()

    files.write_atomically(path, write)
    return digest


def _rename_unless_taken(source: Path, target: Path) -> None:
    """Rename a folder to ``target``, unless a finished entry is already there."""
    try:
        files.move_folder(source, target)
    except OSError:
        if not (target / META).is_file():
            raise


def _read_entry(folder: Path) -> StoredFeatures:
    record = json.loads(files.read_stored(folder / META))
    digests, meta = record["digests"], record["meta"]
    if not isinstance(meta, dict):
        raise TypeError("its notes are not an object")
    for name in ARRAYS:
        if files.digest_of_file(folder / f"{name}.npy") != digests[name]:
            raise ValueError(f"{name}.npy does not match its digest")
    array, lengths, cut = (load_array(folder / f"{name}.npy", mapped=True) for name in ARRAYS)
    return StoredFeatures(array=array, lengths=np.asarray(lengths), cut=np.asarray(cut), meta=meta)


def _read_part(path: Path, rows: int) -> Part:
    stored = load_arrays(path)
    indices, array, device = stored["indices"], stored["array"], str(stored["device"])
    if array.ndim != 2 or indices.shape != (len(array),) or not np.isin(indices, np.arange(rows)).all():
        raise ValueError(f"rows {array.shape} for indices {indices.shape} of {rows}")
    return Part(indices=indices, array=array, device=device)


def _warn_damaged(path: Path, reason: str) -> None:
    message = f"The stored features {path} were damaged ({reason}); they were removed and will be recomputed"
    warnings.warn(message, DamagedEntryWarning, stacklevel=4)


def _cannot_read(path: Path, error: OSError) -> StorageError:
    todo = f"Check the folder's permissions and the disk, or set {files.HOME_VARIABLE} to another folder"
    return StorageError(f"Cannot read {path}: {error.strerror or error}", todo=todo)


@dataclass(frozen=True, eq=False)
class Features:
    """Features of texts, in the order of the texts.

    Attributes
    ----------
    array : (n, d) float32 array
        Read-only and finite; memory-mapped if it is in the store.
    lengths : (n,) int32 array
        Tokens of each text after cutting, special tokens included.
    cut : (n,) bool array
        Whether the text was longer than the limit.
    key : str
        Key of these features in the store.
    device : str
        Device that computed them; several are joined by "+".
    limit : int
        Tokens at which texts were cut: the smaller of ``max_tokens`` and the model's maximum.
    notes : tuple of str
        What a reader must know, such as a model that takes fewer tokens than requested.
    pooling : str
        As in ``Tokenized``; empty if it is not known.
    """

    array: NDArray[np.float32]
    lengths: NDArray[np.int32]
    cut: NDArray[np.bool_]
    key: str
    device: str
    limit: int
    notes: tuple[str, ...] = ()
    pooling: str = ""

    def __repr__(self) -> str:
        n, d = self.array.shape
        cut = f"{int(self.cut.sum()):,} cut at {self.limit:,} tokens"
        return summary(f"<Features of {n:,} texts: {d:,} dimensions, {self.array.dtype}, {cut}, {self.device}>")


def kept_features(
    array: NDArray[np.float32],
    tokens: Tokenized,
    config: EncoderConfig,
    key: str,
    device: str,
    store: FeatureStore | None,
) -> Features:
    """Return finished features, stored if there is a store."""
    if store is None:
        return of_tokens(array, tokens, key, device)
    meta = {"config": config.as_dict(), "device": device, "limit": tokens.limit, "notes": list(tokens.notes)}
    meta["pooling"] = tokens.pooling
    return from_store(key, store.put(key, array, tokens.lengths, tokens.cut, meta))


def of_tokens(array: NDArray[np.float32], tokens: Tokenized, key: str, device: str) -> Features:
    """Return features that no store keeps, with read-only arrays."""
    for values in (array, tokens.lengths, tokens.cut):
        values.flags.writeable = False
    return Features(array, tokens.lengths, tokens.cut, key, device, tokens.limit, tokens.notes, tokens.pooling)


def from_store(key: str, stored: StoredFeatures) -> Features:
    """Return stored features."""
    meta = stored.meta
    return Features(
        array=stored.array,
        lengths=stored.lengths,
        cut=stored.cut,
        key=key,
        device=str(meta["device"]),
        limit=int(meta["limit"]),
        notes=tuple(meta["notes"]),
        pooling=str(meta.get("pooling", "")),
    )


# Interval between saved parts, and thus the maximum loss when the process is killed.
PART_SECONDS = 1.0

# On a slow disk, parts are less frequent: saving takes at most about this share of the time.
PART_SHARE = 0.02


class Rows:
    """Incoming rows of one entry, saved in the store as parts."""

    def __init__(self, tokens: Tokenized, key: str, store: FeatureStore | None) -> None:
        self._lengths = tokens.lengths.astype(np.int64)
        self._key, self._store = key, store
        self._done = np.zeros(len(tokens.lengths), dtype=np.bool_)
        self._array: NDArray[np.float32] | None = None
        self._devices: set[str] = set()
        self._pending: list[Part] = []
        self._saved, self._wait = time.monotonic(), PART_SECONDS
        self.tokens_total = int(self._lengths.sum())
        for part in [] if store is None else store.parts(key, len(self._done)):
            self._insert(part)

    @property
    def tokens_done(self) -> int:
        return int(self._lengths[self._done].sum())

    @property
    def width(self) -> int | None:
        """Numbers of a row; None before the first."""
        return None if self._array is None else self._array.shape[1]

    def missing(self) -> NDArray[np.int64]:
        return np.flatnonzero(~self._done)

    def add(self, indices: NDArray[np.int64], array: NDArray[np.float32], device: str) -> None:
        part = Part(indices=indices, array=array, device=device)
        self._insert(part)
        if self._store is not None:
            self._pending.append(part)
            if time.monotonic() - self._saved >= self._wait:
                self.keep()

    def keep(self) -> None:
        """Save what came in since the last time."""
        if self._store is None or not self._pending:
            return
        part = Part(
            indices=np.concatenate([part.indices for part in self._pending]),
            array=np.concatenate([part.array for part in self._pending]),
            device=self._pending[0].device,
        )
        begun = time.monotonic()
        self._store.save_part(self._key, part)
        self._pending = []
        self._saved = time.monotonic()
        self._wait = max(PART_SECONDS, (self._saved - begun) / PART_SHARE)

    def finished(self) -> tuple[NDArray[np.float32], str]:
        if self._array is None or not self._done.all():
            raise InputError("There are no texts to encode")
        return self._array, "+".join(sorted(self._devices))

    def _insert(self, part: Part) -> None:
        if self._array is None:
            self._array = np.empty((len(self._done), part.array.shape[1]), dtype=np.float32)
        self._array[part.indices] = part.array
        self._done[part.indices] = True
        self._devices.add(part.device)
