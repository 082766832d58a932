"""One run's folder: what lies in it, how it is written, how it is read back.

``comparison.json`` (settings, scores, sources), ``joint.npy`` and one ``pairwise-<i>.npy`` a candidate ((seeds, n)
int32 labels, the human side first), ``halves.npy`` (of the human texts against themselves), ``projection.npy``, and for
each source ``texts-<i>.parquet`` and ``features-<i>.npy`` (float32, or float16 where they were given so).
What is found out about a run later stands beside it: ``attached/<name>.json`` (measures, sweeps), ``ratings.sqlite``.
What people say of it is ``about.json`` (``about.py``).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from tokenize import TokenError
from typing import Any, NoReturn
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.array_files import load_array
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import write_array, write_atomically
from mauve_core.base.json_codec import from_json
from mauve_core.base.names import require_text
from mauve_core.base.validation import Count
from mauve_core.corpus import Corpus, limits
from mauve_core.encoders.external_features import write_features
from mauve_core.scoring import serialization
from mauve_core.scoring.result import Comparison
from mauve_core.store.about import ABOUT, About, read_about

COMPARISON = "comparison.json"
ATTACHED = "attached"
RATINGS = "ratings.sqlite"
FORMAT = 1
"""Version of the folder's layout; a run of another version is refused, never guessed at."""

BROKEN = (
    *(OSError, ValueError, KeyError, TypeError, IndexError, EOFError, AttributeError, RecursionError),
    *(MemoryError, OverflowError, SyntaxError, TokenError, BadZipFile),  # the headers of .npy files
)
"""What reading a broken file may raise."""

MAX_WORD = 10_000
"""Characters of a name or a path in a run's line."""

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
class Line:
    """What of a run's line is known when it is made, as it stands in its record."""

    name: str
    created: str
    human: str
    candidates: tuple[str, ...]
    n: Count
    encoder: str | None

    def __post_init__(self) -> None:
        datetime.fromisoformat(self.created)
        for word in (self.name, self.human, *self.candidates, self.encoder or ""):
            if len(word) > MAX_WORD:
                raise InputError("A name is too long", allowed=f"up to {MAX_WORD:,} characters", received=word[:80])


@dataclass(frozen=True)
class RunRecord:
    """What ``comparison.json`` holds."""

    format: int
    name: str
    created: str
    summary: Line
    comparison: serialization.ComparisonRecord

    def __post_init__(self) -> None:
        if (self.name, self.created) != (self.summary.name, self.summary.created):
            raise InputError("Its line in a list has another name or time", received=f"{self.name!r}, {self.created}")


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

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the comparison's record, hexadecimal: what follows from this run alone is known by it."""
        record = serialization.record_of_comparison(self.comparison)
        return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()

    def require_sources(self, names: Iterable[str], what: str) -> None:
        """InputError unless all names are of sources of this run."""
        known = [item.name for item in self.comparison.sources]
        for name in names:
            if name not in known:
                raise InputError(f"{what} is not of run {self.id}", allowed=", ".join(known), received=repr(name)[:80])

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
            return parse_json(path.read_bytes())

    @property
    def summary(self) -> RunSummary:
        """The line that stands for this run in a list."""
        about = About(None, self.tags, self.notes)
        return _described(summary_of(self.id, self.name, self.created, self.comparison), about, folder_bytes(self.path))


def read_run(folder: Path) -> Run:
    """The run in a folder, with all texts in memory and features left on disk; StorageError where a file is damaged."""
    meta = read_record(folder)
    with damaged(folder.name, "the labels or the map"):
        comparison = serialization.comparison_from_record(meta.comparison, _read_arrays(folder, meta.comparison))
    corpora = {}
    for index, source in enumerate(comparison.sources):
        file = f"texts-{index}.parquet"
        with damaged(folder.name, file):
            corpora[source.name] = Corpus.from_parquet(folder / file)
            if len(corpora[source.name]) != source.n or corpora[source.name].digest != source.digest:
                raise ValueError("these are not the texts that were compared")
    about = about_run(folder)
    name = meta.name if about.name is None else about.name
    return Run(folder.name, name, meta.created, comparison, corpora, folder, about.tags, about.notes)


def read_summary(folder: Path) -> RunSummary:
    """A run's line in a list; neither texts nor features are read."""
    line = read_record(folder).summary
    summary = RunSummary(folder.name, **vars(line))
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
    for key, array in serialization.arrays_of_comparison(comparison).items():
        write_array(folder / f"{key}.npy", array)
    for index, source in enumerate(comparison.sources):
        corpora[source.name].to_parquet(folder / f"texts-{index}.parquet")
        if features is not None:
            write_features(folder / f"features-{index}.npy", features[source.name])
    line = dataclasses.asdict(summary_of("", name, created, comparison))
    summary = {item.name: line[item.name] for item in dataclasses.fields(Line)}
    meta: dict[str, Any] = {"format": FORMAT, "name": name, "created": created, "summary": summary}
    meta["comparison"] = serialization.record_of_comparison(comparison)
    text = json.dumps(meta, ensure_ascii=False, indent=1, allow_nan=False)
    write_atomically(folder / COMPARISON, lambda stream: stream.write(text.encode()))


def check_sources(
    comparison: Comparison, corpora: Mapping[str, Corpus], features: Mapping[str, NDArray[np.floating]] | None
) -> None:
    """Every source has as many texts and, where any has some, features as it was compared with; else InputError."""
    for source in comparison.sources:
        found: list[tuple[str, Mapping[str, Any]]] = [("corpus", corpora)]
        found += [] if features is None else [("feature array", features)]
        for what, mapping in found:
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


def run_id(name: str) -> str:
    """The id that a run of that name asks for: ``My Run (1)`` -> ``my-run-1``; InputError when nothing is left."""
    require_text(name, "run")
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60].strip("-")
    if not slug:
        raise InputError("The run's name cannot be used", allowed="a name with a letter or digit", received=repr(name))
    return slug


def is_id(text: str) -> bool:
    """Whether a run or an attachment can be called so."""
    return ID_PATTERN.fullmatch(text) is not None


@contextmanager
def damaged(run_id: str, what: str, *, todo: str = "") -> Iterator[None]:
    """Turn what a broken file raises into a StorageError that names the run."""
    try:
        yield
    except BROKEN as error:
        raise StorageError(
            f"Run {run_id} cannot be read, {what} is damaged or missing: {error}",
            todo=todo or f"Delete it with: mauve-lens runs delete {run_id}",
        ) from error


def read_record(folder: Path) -> RunRecord:
    """What ``comparison.json`` holds, every leaf checked; StorageError when it is damaged or of another layout."""
    with damaged(folder.name, COMPARISON):
        values = parse_json((folder / COMPARISON).read_bytes())
        if values["format"] != FORMAT:
            raise ValueError(f"layout {values['format']}, this program reads layout {FORMAT}")
        return from_json(RunRecord, values, "run")


def parse_json(data: bytes) -> dict[str, Any]:
    """The object in JSON that may come from elsewhere.

    Raises
    ------
    ValueError
        It is no JSON object, holds NaN or Infinity, or more values than ``limits.values`` allows.
    RecursionError
        It is nested too deep.
    """
    if data.count(b",") + data.count(b"[") + data.count(b"{") > limits.values():
        raise limits.too_many_values(limits.values())

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"it holds {constant}")

    values = json.loads(data, parse_constant=refuse)
    if not isinstance(values, dict):
        raise ValueError("not a JSON object")
    return values


def _read_arrays(folder: Path, record: serialization.ComparisonRecord) -> dict[str, NDArray[Any]]:
    arrays = {}
    for key in record.array_keys:
        arrays[key] = load_array(folder / f"{key}.npy")
        arrays[key].setflags(write=False)
    return arrays
