"""Runs on disk: a comparison with its texts, labels, map and features, saved whole or not at all, reopened bit for bit.

A run is one folder below ``<home>/runs``: ``comparison.json`` (settings, scores, sources), ``joint.npy`` and one
``pairwise-<i>.npy`` a candidate ((seeds, n) int32 labels, the human side first), ``halves.npy`` (of the human texts
against themselves), ``projection.npy``, and for each source ``texts-<i>.parquet`` and ``features-<i>.npy``. It is
written under a hidden name and renamed when complete.
What is found out about a run later stands beside it: ``attached/<name>.json`` (measures, sweeps), ``ratings.sqlite``.
``catalogue.sqlite`` is an index of those folders and is brought up to date from them whenever runs are listed.
Nothing is pickled, and loading imports neither torch nor transformers.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core import records
from mauve_core.corpus import Corpus
from mauve_core.errors import InputError, StorageError
from mauve_core.files import home, storage_errors, write_atomically
from mauve_core.result import Comparison

CATALOGUE = "catalogue.sqlite"
COMPARISON = "comparison.json"
ATTACHED = "attached"
RATINGS = "ratings.sqlite"
FORMAT = 1
"""Version of the folder's layout; a run of another version is refused, never guessed at."""

ID_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
PARTIAL = ".partial-"
"""Prefix of a folder that is being written or deleted; never listed, never loaded."""

PARTIAL_KEPT_S = 24 * 3600
"""Age after which a folder left by a killed process is removed."""

_COLUMNS = "id, name, created, human, candidates, n, encoder"
_SCHEMA = f"CREATE TABLE IF NOT EXISTS runs ({_COLUMNS.replace('id,', 'id TEXT PRIMARY KEY,', 1)})"


@dataclass(frozen=True)
class RunSummary:
    """What a list of runs shows.

    Attributes
    ----------
    id : str
        Unique, safe in a URL and as a folder's name.
    name : str
        As given by the person who started the run.
    created : str
        ISO 8601, UTC.
    human : str
        Where the human texts came from.
    candidates : tuple of str
    n : int
        Number of human texts.
    encoder : str or None
        The encoder's model; None when features were given.
    """

    id: str
    name: str
    created: str
    human: str
    candidates: tuple[str, ...]
    n: int
    encoder: str | None


Summaries = list[RunSummary]


@dataclass(frozen=True)
class Run:
    """A stored comparison with the texts behind it; ``corpora`` has a key for each source, ``human`` included."""

    id: str
    name: str
    created: str
    comparison: Comparison
    corpora: Mapping[str, Corpus]
    path: Path

    def features(self, source: str) -> NDArray[np.float32] | None:
        """(n, d) features of ``source`` as a read-only memory map; None when the run was saved without them.

        Raises
        ------
        InputError
            The comparison has no such source.
        StorageError
            The stored array is damaged.
        """
        names = [item.name for item in self.comparison.sources]
        if source not in names:
            raise InputError(f"No source named {source!r} in run {self.id}", allowed=", ".join(names))
        path = self.path / f"features-{names.index(source)}.npy"
        if not path.exists():
            return None
        with _damaged(self.id, path.name):
            array: NDArray[np.float32] = np.load(path, mmap_mode="r", allow_pickle=False)
            if array.ndim != 2 or len(array) != len(self.corpora[source]):
                raise ValueError(f"shape {array.shape} for {len(self.corpora[source])} texts")
        return array

    @property
    def ratings_path(self) -> Path:
        """Where people's ratings of this run's texts are kept; the file need not exist yet."""
        return self.path / RATINGS

    def attachment(self, name: str) -> dict[str, Any] | None:
        """What :meth:`RunStore.attach` kept under that name, read anew each time; None when there is nothing.

        Raises
        ------
        StorageError
            The file is damaged.
        """
        path = self.path / ATTACHED / f"{name}.json"
        if not _is_id(name) or not path.is_file():
            return None
        with _damaged(self.id, f"{ATTACHED}/{name}.json"):
            values = json.loads(path.read_bytes())
            if not isinstance(values, dict):
                raise ValueError("not a JSON object")
        return values

    @property
    def summary(self) -> RunSummary:
        """The line that stands for this run in a list."""
        return _summary(self.id, self.name, self.created, self.comparison)


class RunStore:
    """The runs below one folder.

    Parameters
    ----------
    root : Path or None
        None takes ``runs`` below :func:`mauve_core.files.home`.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = home() / "runs" if root is None else Path(root)
        with storage_errors(self.root):
            self.root.mkdir(parents=True, exist_ok=True)

    def save(
        self,
        name: str,
        comparison: Comparison,
        corpora: Mapping[str, Corpus],
        features: Mapping[str, NDArray[np.float32]] | None = None,
        *,
        replace: bool = False,
    ) -> Run:
        """Store a comparison under an id made from ``name``.

        Parameters
        ----------
        name : str
            Any text with a letter or a digit; a second run of that name gets ``-2``, ``-3`` ... behind its id.
        corpora, features : mapping of str to Corpus, of str to (n, d) array
            For each source of the comparison, ``human`` included; features may be left out, but not in part.
        replace : bool
            Take the place of the run with the same id instead.

        Raises
        ------
        InputError
            The name is empty, or a source has no corpus, or a corpus or array has another number of rows.
        StorageError
            The disk refused; the runs stored so far are as they were.
        """
        base = run_id(name)
        _check_sources(comparison, corpora, features)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        self._remove_abandoned()
        with storage_errors(self.root):
            partial = Path(tempfile.mkdtemp(dir=self.root, prefix=PARTIAL))
            try:
                _write(partial, name, created, comparison, corpora, features)
                final = self._put(partial, base, replace)
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise
        run = Run(final.name, name, created, comparison, dict(corpora), final)
        with self._catalogue() as catalogue:
            _insert(catalogue, run.summary)
        return run

    def list(self) -> Summaries:
        """Every complete run, the newest first; neither texts nor features are read.

        Raises
        ------
        StorageError
            The catalogue cannot be read.
        """
        with storage_errors(self.root):
            folders = {path.parent.name for path in self.root.glob(f"*/{COMPARISON}") if _is_id(path.parent.name)}
        with self._catalogue() as catalogue:
            known = {row[0] for row in catalogue.execute("SELECT id FROM runs")}
            catalogue.executemany("DELETE FROM runs WHERE id = ?", [(gone,) for gone in known - folders])
            for found in sorted(folders - known):
                _insert(catalogue, self._read_summary(found))
            rows = catalogue.execute(f"SELECT {_COLUMNS} FROM runs ORDER BY created DESC, id").fetchall()
        return [
            RunSummary(identifier, name, created, human, tuple(json.loads(candidates)), n, encoder)
            for identifier, name, created, human, candidates, n, encoder in rows
        ]

    def load(self, run_id: str) -> Run:
        """The run with that id, with all texts in memory and features left on disk.

        Raises
        ------
        InputError
            No run has that id.
        StorageError
            A file of the run is damaged or missing.
        """
        folder = self._folder(run_id)
        meta = _read_json(folder)
        with _damaged(run_id, "the labels or the map"):
            comparison = records.comparison_from_record(meta["comparison"], _read_arrays(folder, meta["comparison"]))
        corpora = {}
        for index, source in enumerate(comparison.sources):
            file = f"texts-{index}.parquet"
            with _damaged(run_id, file):
                corpora[source.name] = Corpus.from_parquet(folder / file)
                if len(corpora[source.name]) != source.n or corpora[source.name].digest != source.digest:
                    raise ValueError("these are not the texts that were compared")
        return Run(run_id, meta["name"], meta["created"], comparison, corpora, folder)

    def attach(self, run_id: str, name: str, values: Mapping[str, Any]) -> None:
        """Keep a JSON object beside a run, in place of an earlier one of that name.

        Raises
        ------
        InputError
            No run has that id, or ``name`` is not made of small letters, digits and dashes.
        StorageError
            The disk refused; what was there stays.
        """
        if not _is_id(name):
            raise InputError("Nothing can be attached under that name", allowed="a-z, 0-9, dashes", received=repr(name))
        text = json.dumps(dict(values), ensure_ascii=False, indent=1, allow_nan=False)
        path = self._folder(run_id) / ATTACHED / f"{name}.json"
        write_atomically(path, lambda stream: stream.write(text.encode()))

    def delete(self, run_id: str) -> None:
        """Remove the run with that id; InputError when there is none, StorageError when the disk refuses."""
        folder = self._folder(run_id)
        with storage_errors(folder):
            hidden = Path(tempfile.mkdtemp(dir=self.root, prefix=PARTIAL))
            folder.rename(hidden / "run")
            shutil.rmtree(hidden)
        with self._catalogue() as catalogue:
            catalogue.execute("DELETE FROM runs WHERE id = ?", (run_id,))

    def _folder(self, run_id: str) -> Path:
        folder = self.root / run_id if _is_id(run_id) else None
        if folder is None or not (folder / COMPARISON).is_file():
            names = ", ".join(summary.id for summary in self.list()) or "none is stored yet"
            raise InputError(f"No run has the id {run_id!r}", allowed=names, todo="List them with: mauve-lens runs")
        return folder

    def _put(self, partial: Path, base: str, replace: bool) -> Path:
        """Rename the finished folder to the first free id, or over the run of that id."""
        if replace and (self.root / base).exists():
            old = partial.with_name(partial.name + "-old")
            if (self.root / base / RATINGS).exists():
                _copy_ratings(self.root / base / RATINGS, partial / RATINGS)
            (self.root / base).rename(old)
            partial.rename(self.root / base)
            shutil.rmtree(old)
            return self.root / base
        number = 1
        while True:
            final = self.root / (base if number == 1 else f"{base}-{number}")
            if not final.exists():
                try:
                    return partial.rename(final)
                except OSError:
                    if not final.exists():
                        raise
            number += 1

    def _remove_abandoned(self) -> None:
        for folder in self.root.glob(f"{PARTIAL}*"):
            try:
                age = time.time() - folder.stat().st_mtime
            except FileNotFoundError:
                continue
            if age > PARTIAL_KEPT_S:
                shutil.rmtree(folder, ignore_errors=True)

    def _read_summary(self, run_id: str) -> RunSummary:
        meta = _read_json(self.root / run_id)
        with _damaged(run_id, COMPARISON):
            values = meta["summary"]
            return RunSummary(run_id, **{**values, "candidates": tuple(values["candidates"])})

    @contextmanager
    def _catalogue(self) -> Iterator[sqlite3.Connection]:
        path = self.root / CATALOGUE
        try:
            with closing(sqlite3.connect(path, timeout=30)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
                with connection:
                    connection.execute(_SCHEMA)
                    yield connection
        except sqlite3.Error as error:
            todo = "Free some space or check its permissions; the file may be deleted, it is rebuilt from the runs"
            raise StorageError(f"The catalogue {path} cannot be used: {error}", todo=todo) from error


def _copy_ratings(source: Path, target: Path) -> None:
    """Copy a ratings file, with whatever lies in its write-ahead log; people's work outlives a run's recomputation."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


def run_id(name: str) -> str:
    """The id that a run of that name asks for: ``My Run (1)`` -> ``my-run-1``; InputError when nothing is left."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].strip("-")
    if not slug:
        raise InputError("The run's name cannot be used", allowed="a name with a letter or digit", received=repr(name))
    return slug


def _is_id(text: str) -> bool:
    return ID_PATTERN.fullmatch(text) is not None


def _summary(identifier: str, name: str, created: str, comparison: Comparison) -> RunSummary:
    encoder = comparison.config.encoder
    human, names = comparison.human, tuple(candidate.name for candidate in comparison.candidates)
    model = None if encoder is None else encoder.model
    return RunSummary(identifier, name, created, human.origin, names, human.n, model)


def _insert(catalogue: sqlite3.Connection, summary: RunSummary) -> None:
    values = (summary.id, summary.name, summary.created, summary.human, json.dumps(summary.candidates))
    catalogue.execute(
        f"INSERT OR REPLACE INTO runs ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", (*values, summary.n, summary.encoder)
    )


def _check_sources(
    comparison: Comparison, corpora: Mapping[str, Corpus], features: Mapping[str, NDArray[np.float32]] | None
) -> None:
    for source in comparison.sources:
        held: list[tuple[str, Mapping[str, Any]]] = [("corpus", corpora)]
        held += [] if features is None else [("feature array", features)]
        for what, mapping in held:
            if source.name not in mapping or len(mapping[source.name]) != source.n:
                received = f"{len(mapping[source.name])} rows" if source.name in mapping else "none"
                raise InputError(
                    f"No usable {what} for the source {source.name!r}", allowed=f"{source.n} rows", received=received
                )


def _write(
    folder: Path,
    name: str,
    created: str,
    comparison: Comparison,
    corpora: Mapping[str, Corpus],
    features: Mapping[str, NDArray[np.float32]] | None,
) -> None:
    for key, array in records.arrays_of_comparison(comparison).items():
        _save_array(folder / f"{key}.npy", array)
    for index, source in enumerate(comparison.sources):
        corpora[source.name].to_parquet(folder / f"texts-{index}.parquet")
        if features is not None:
            _save_array(folder / f"features-{index}.npy", np.asarray(features[source.name], dtype=np.float32))
    summary = vars(_summary("", name, created, comparison)).copy()
    del summary["id"]
    meta = {"format": FORMAT, "name": name, "created": created, "summary": summary}
    meta["comparison"] = records.record_of_comparison(comparison)
    text = json.dumps(meta, ensure_ascii=False, indent=1, allow_nan=False)
    write_atomically(folder / COMPARISON, lambda stream: stream.write(text.encode()))


def _save_array(path: Path, array: NDArray[Any]) -> None:
    write_atomically(path, lambda stream: np.save(stream, array, allow_pickle=False))


def _read_json(folder: Path) -> dict[str, Any]:
    with _damaged(folder.name, COMPARISON):
        meta: dict[str, Any] = json.loads((folder / COMPARISON).read_bytes())
        if meta["format"] != FORMAT:
            raise ValueError(f"layout {meta['format']}, this program reads layout {FORMAT}")
    return meta


def _read_arrays(folder: Path, record: dict[str, Any]) -> dict[str, NDArray[Any]]:
    arrays = {}
    for key in records.array_keys(record):
        arrays[key] = np.load(folder / f"{key}.npy", allow_pickle=False)
        arrays[key].setflags(write=False)
    return arrays


@contextmanager
def _damaged(run_id: str, what: str) -> Iterator[None]:
    """Turn what a broken file raises into a StorageError that names the run."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError) as error:
        raise StorageError(
            f"Run {run_id} cannot be read, {what} is damaged or missing: {error}",
            todo=f"Delete it with: mauve-lens runs delete {run_id}",
        ) from error
