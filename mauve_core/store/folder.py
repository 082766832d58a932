"""One run's folder: what lies in it, how it is written, how it is read back.

``comparison.json`` (settings, scores, sources), ``joint.npy`` and one ``pairwise-<i>.npy`` a candidate ((seeds, n)
int32 labels, the human side first), ``halves.npy`` (of the human texts against themselves), ``projection.npy``, and for
each source ``texts-<i>.parquet`` and ``features-<i>.npy`` (float32, or float16 where they were given so).
What is found out about a run later stands beside it: ``attached/<name>.json`` (measures, sweeps), ``ratings.sqlite``.
What people say of it is ``about.json`` (``about.py``).
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core import records
from mauve_core.arrays import load_array
from mauve_core.corpus import Corpus
from mauve_core.errors import InputError, StorageError
from mauve_core.files import write_array, write_atomically
from mauve_core.given_features import write_features
from mauve_core.result import Comparison
from mauve_core.store.about import ABOUT, About, read_about

COMPARISON = "comparison.json"
ATTACHED = "attached"
RATINGS = "ratings.sqlite"
FORMAT = 1
"""Version of the folder's layout; a run of another version is refused, never guessed at."""

_WRITTEN = ("name", "created", "human", "candidates", "n", "encoder")
"""Fields of a run's line that are known when it is made and stand in its record."""

ID_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")


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
    tags : tuple of str
    notes : str
    bytes : int
        What the folder's files take, as far as the index knows.
    """

    id: str
    name: str
    created: str
    human: str
    candidates: tuple[str, ...]
    n: int
    encoder: str | None
    tags: tuple[str, ...] = ()
    notes: str = ""
    bytes: int = 0


@dataclass(frozen=True)
class Run:
    """A stored comparison with the texts behind it; ``corpora`` has a key for each source, ``human`` included."""

    id: str
    name: str
    created: str
    comparison: Comparison
    corpora: Mapping[str, Corpus]
    path: Path
    tags: tuple[str, ...] = ()
    notes: str = ""

    def features(self, source: str) -> NDArray[np.floating] | None:
        """(n, d) features of ``source`` as a read-only memory map; None when the run was saved without them.

        float32, or float16 where they were given in half precision.

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
        with damaged(self.id, path.name):
            array: NDArray[np.floating] = load_array(path, mapped=True)
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
        if not is_id(name) or not path.is_file():
            return None
        with damaged(self.id, f"{ATTACHED}/{name}.json"):
            values = json.loads(path.read_bytes())
            if not isinstance(values, dict):
                raise ValueError("not a JSON object")
        return values

    @property
    def summary(self) -> RunSummary:
        """The line that stands for this run in a list."""
        about = About(None, self.tags, self.notes)
        return _described(summary_of(self.id, self.name, self.created, self.comparison), about, folder_bytes(self.path))


def read_run(folder: Path) -> Run:
    """The run in a folder, with all texts in memory and features left on disk; StorageError where a file is damaged."""
    meta = read_record(folder)
    with damaged(folder.name, "the labels or the map"):
        comparison = records.comparison_from_record(meta["comparison"], _read_arrays(folder, meta["comparison"]))
    corpora = {}
    for index, source in enumerate(comparison.sources):
        file = f"texts-{index}.parquet"
        with damaged(folder.name, file):
            corpora[source.name] = Corpus.from_parquet(folder / file)
            if len(corpora[source.name]) != source.n or corpora[source.name].digest != source.digest:
                raise ValueError("these are not the texts that were compared")
    about = about_run(folder)
    name = meta["name"] if about.name is None else about.name
    return Run(folder.name, name, meta["created"], comparison, corpora, folder, about.tags, about.notes)


def read_summary(folder: Path) -> RunSummary:
    """A run's line in a list; neither texts nor features are read."""
    meta = read_record(folder)
    with damaged(folder.name, COMPARISON):
        values = meta["summary"]
        summary = RunSummary(folder.name, **{**values, "candidates": tuple(values["candidates"])})
    return _described(summary, about_run(folder), folder_bytes(folder))


def about_run(folder: Path) -> About:
    """What people said of the run; StorageError when the file is damaged."""
    with damaged(
        folder.name, ABOUT, todo=f"Repair or delete {folder / ABOUT}; it holds the name, tags and notes alone"
    ):
        return read_about(folder)


def folder_bytes(folder: str | os.PathLike[str]) -> int:
    """The size of all files below a folder; what vanishes meanwhile counts nothing."""
    total = 0
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                total += folder_bytes(entry.path)
            else:
                with suppress(FileNotFoundError):
                    total += entry.stat(follow_symlinks=False).st_size
    return total


def write_run(
    folder: Path,
    name: str,
    created: str,
    comparison: Comparison,
    corpora: Mapping[str, Corpus],
    features: Mapping[str, NDArray[np.floating]] | None,
) -> None:
    """Fill the folder; the record comes last, so that a folder with one is complete."""
    for key, array in records.arrays_of_comparison(comparison).items():
        write_array(folder / f"{key}.npy", array)
    for index, source in enumerate(comparison.sources):
        corpora[source.name].to_parquet(folder / f"texts-{index}.parquet")
        if features is not None:
            write_features(folder / f"features-{index}.npy", features[source.name])
    line = dataclasses.asdict(summary_of("", name, created, comparison))
    summary = {key: line[key] for key in _WRITTEN}
    meta = {"format": FORMAT, "name": name, "created": created, "summary": summary}
    meta["comparison"] = records.record_of_comparison(comparison)
    text = json.dumps(meta, ensure_ascii=False, indent=1, allow_nan=False)
    write_atomically(folder / COMPARISON, lambda stream: stream.write(text.encode()))


def check_sources(
    comparison: Comparison, corpora: Mapping[str, Corpus], features: Mapping[str, NDArray[np.floating]] | None
) -> None:
    """Every source has as many texts and, where any has some, features as it was compared with; else InputError."""
    for source in comparison.sources:
        held: list[tuple[str, Mapping[str, Any]]] = [("corpus", corpora)]
        held += [] if features is None else [("feature array", features)]
        for what, mapping in held:
            if source.name not in mapping or len(mapping[source.name]) != source.n:
                received = f"{len(mapping[source.name])} rows" if source.name in mapping else "none"
                raise InputError(
                    f"No usable {what} for the source {source.name!r}", allowed=f"{source.n} rows", received=received
                )


def summary_of(identifier: str, name: str, created: str, comparison: Comparison) -> RunSummary:
    """The line that stands for a run in a list."""
    encoder = comparison.config.encoder
    human, names = comparison.human, tuple(candidate.name for candidate in comparison.candidates)
    model = None if encoder is None else encoder.model
    return RunSummary(identifier, name, created, human.origin, names, human.n, model)


def _described(summary: RunSummary, about: About, size: int) -> RunSummary:
    name = summary.name if about.name is None else about.name
    return dataclasses.replace(summary, name=name, tags=about.tags, notes=about.notes, bytes=size)


def is_id(text: str) -> bool:
    """Whether a run or an attachment can be called so."""
    return ID_PATTERN.fullmatch(text) is not None


@contextmanager
def damaged(run_id: str, what: str, *, todo: str = "") -> Iterator[None]:
    """Turn what a broken file raises into a StorageError that names the run."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, AttributeError, RecursionError) as error:
        raise StorageError(
            f"Run {run_id} cannot be read, {what} is damaged or missing: {error}",
            todo=todo or f"Delete it with: mauve-lens runs delete {run_id}",
        ) from error


def read_record(folder: Path) -> dict[str, Any]:
    """What ``comparison.json`` holds; StorageError when it is damaged or of another layout."""
    with damaged(folder.name, COMPARISON):
        meta: dict[str, Any] = json.loads((folder / COMPARISON).read_bytes())
        if meta["format"] != FORMAT:
            raise ValueError(f"layout {meta['format']}, this program reads layout {FORMAT}")
    return meta


def _read_arrays(folder: Path, record: dict[str, Any]) -> dict[str, NDArray[Any]]:
    arrays = {}
    for key in records.array_keys(record):
        arrays[key] = load_array(folder / f"{key}.npy")
        arrays[key].setflags(write=False)
    return arrays
