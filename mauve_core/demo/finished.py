"""A finished run among the program's files: the files of its folder in one archive, but items, features and ratings.

The items belong to others, and features lie beside the archive or nowhere; both are given when the run is stored. Also
left out are score bases, which are large, and words, which hold much of the texts: pages compute them in seconds.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import StorageError, words_of
from mauve_core.base.files import exclusive_lock, home, storage_errors, write_atomically
from mauve_core.runs import Run, RunStore
from mauve_core.runs.folder import ATTACHED, RunRecord, digest_of, read_comparison, read_record, write_run
from mauve_core.runs.placing import locked, partial_folder, put, replace_run
from mauve_core.scoring.result import Comparison
from mauve_core.texts import Corpus
from mauve_core.texts.media import archive_beside

FINISHED = "run.zip"
_LEFT_OUT = re.compile(r"(texts|features)-.*|ratings\..*|derived/(basis|words)-.*")

# For another process that stores one: on a busy machine, the pictures of its items take minutes.
PATIENCE_S = 600.0

# The corpora of a run, and its features if they are there, by source.
Sides = tuple[Mapping[str, Corpus], Mapping[str, NDArray[np.floating]] | None]


def pack(run: Run, path: Path) -> None:
    """Write a stored run to an archive for :func:`store`; equal files give equal bytes."""
    files = {file.relative_to(run.path).as_posix(): file for file in run.path.rglob("*") if file.is_file()}
    names = sorted(name for name in files if not _LEFT_OUT.fullmatch(name))

    def write(stream: object) -> None:
        with zipfile.ZipFile(stream, "w") as archive:  # type: ignore[call-overload]
            for name in names:
                archive.writestr(zipfile.ZipInfo(name), files[name].read_bytes(), zipfile.ZIP_DEFLATED)

    write_atomically(path, write)


def store(path: Path, sides: Callable[[], Sides], *, todo: str) -> Run:
    """Store a finished run under its id, in place of another run that has it; of two at once, one waits for the other.

    Parameters
    ----------
    path : Path
        From :func:`pack`.
    sides : callable
        Not called if the run is stored already, which then only gets the results that it lacks.
    todo : str
        What makes the archive anew.

    Raises
    ------
    StorageError
        The archive is missing or damaged, the sides are not those that were compared, or the disk refuses.
    """
    runs, cure = RunStore(), f"Install MAUVE Lens again, or make it anew: {todo}"
    with storage_errors(home()):
        alone = exclusive_lock(os.open(home(), os.O_RDONLY), f"the demo in {home()}", PATIENCE_S)
    with storage_errors(runs.root), alone, partial_folder(runs.root) as folder:
        record, comparison, results = _unpacked(path, folder, cure)
        final = runs.root / record.name
        is_there = any(summary.id == final.name for summary in runs.list())
        if is_there and (run := runs.load(final.name)).digest == digest_of(comparison):
            for name, values in results.items():
                if not (run.path / ATTACHED / f"{name}.json").exists():
                    runs.attach(run.id, name, values)
            return run
        corpora, features = sides()
        written = write_run(folder, record.name, record.created, comparison, corpora, features)
        own = {archive_beside(Path(f"texts-{index}.parquet")).name for index in range(len(corpora))}
        other = [name for name, digest in written.items() if name not in own and digest != record.files.get(name)]
        other += [source.name for source in comparison.sources if corpora[source.name].digest != source.digest]
        if other:
            raise StorageError(f"The finished run was not made of these: {', '.join(other)}", todo=cure)
        if final.exists():
            with locked(runs.root):
                replace_run(folder, final)
        else:
            put(folder, runs.root, final.name)
    return runs.load(final.name)


def results_of(path: Path) -> tuple[Comparison, dict[str, Any]]:
    """Return the comparison of a finished run and its results by name; StorageError if the archive cannot be read."""
    with TemporaryDirectory() as folder:
        return _unpacked(path, Path(folder), "Make it anew")[1:]


def _unpacked(path: Path, folder: Path, cure: str) -> tuple[RunRecord, Comparison, dict[str, Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
    except (FileNotFoundError, zipfile.BadZipFile, zlib.error) as error:
        raise StorageError(f"The finished run {path} is missing or damaged: {words_of(error)}", todo=cure) from error
    record = read_record(folder)
    results = {file.stem: json.loads(file.read_bytes()) for file in (folder / ATTACHED).glob("*.json")}
    return record, read_comparison(folder, record), results
