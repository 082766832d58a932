"""The store of runs: each in a folder of its own, written under a hidden name and renamed when complete."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.corpus import Corpus
from mauve_core.errors import InputError
from mauve_core.files import home, storage_errors, write_atomically
from mauve_core.result import Comparison
from mauve_core.store import catalogue
from mauve_core.store.folder import ATTACHED, COMPARISON, RATINGS, Run, RunSummary, is_id, read_run, write_run

PARTIAL = ".partial-"
"""Prefix of a folder that is being written or deleted; never listed, never loaded."""

PARTIAL_KEPT_S = 24 * 3600
"""Age after which a folder left by a killed process is removed."""

Summaries = list[RunSummary]


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
        features: Mapping[str, NDArray[np.floating]] | None = None,
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
                write_run(partial, name, created, comparison, corpora, features)
                final = self._put(partial, base, replace)
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise
        run = Run(final.name, name, created, comparison, dict(corpora), final)
        catalogue.enter(self.root, run.summary)
        return run

    def list(self) -> Summaries:
        """Every complete run, the newest first; neither texts nor features are read.

        Raises
        ------
        StorageError
            The catalogue cannot be read.
        """
        return catalogue.summaries(self.root)

    def load(self, run_id: str) -> Run:
        """The run with that id, with all texts in memory and features left on disk.

        Raises
        ------
        InputError
            No run has that id.
        StorageError
            A file of the run is damaged or missing.
        """
        return read_run(self._folder(run_id))

    def attach(self, run_id: str, name: str, values: Mapping[str, Any]) -> None:
        """Keep a JSON object beside a run, in place of an earlier one of that name.

        Raises
        ------
        InputError
            No run has that id, or ``name`` is not made of small letters, digits and dashes.
        StorageError
            The disk refused; what was there stays.
        """
        if not is_id(name):
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
        catalogue.remove(self.root, run_id)

    def _folder(self, run_id: str) -> Path:
        folder = self.root / run_id if is_id(run_id) else None
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


def run_id(name: str) -> str:
    """The id that a run of that name asks for: ``My Run (1)`` -> ``my-run-1``; InputError when nothing is left."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].strip("-")
    if not slug:
        raise InputError("The run's name cannot be used", allowed="a name with a letter or digit", received=repr(name))
    return slug


def _check_sources(
    comparison: Comparison, corpora: Mapping[str, Corpus], features: Mapping[str, NDArray[np.floating]] | None
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


def _copy_ratings(source: Path, target: Path) -> None:
    """Copy a ratings file, with whatever lies in its write-ahead log; people's work outlives a run's recomputation."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
