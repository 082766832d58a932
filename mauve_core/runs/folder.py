"""One run's folder: its files, how to write and read them, and what a run shows of itself.

``comparison.json`` (settings, scores, sources), ``joint.npy`` and one ``pairwise-<i>.npy`` per candidate ((seeds, n)
int32 labels, the human side first), ``halves.npy`` (labels of the halves of the human texts), ``projection.npy``,
``prompts.npy``, ``generations.npy``, ``groups.npy`` and ``contents.npy`` ((n,) int32, the prompt, the generation, the
group of each text, and equal numbers for equal texts), and for each source ``texts-<i>.parquet``, for items that are
drawn ``texts-<i>.thumbnails.zip`` (``texts/media.py``), and ``features-<i>.npy`` (float32, or float16 if given so).
Later results: ``attached/<name>.json`` (measures, sweeps) and ``ratings.sqlite``. ``about.json`` has name, tags and
notes, and moves with the run; :func:`merged` handles changes that others made since a person last looked.

The record is written last and holds the SHA-256 of every array, so that labels or features that were exchanged are
noticed where they are read.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from tokenize import TokenError
from typing import Annotated, Any, NoReturn
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.archives import load_array
from mauve_core.base.arguments import require_text
from mauve_core.base.config import TEXT, encoder_in_words
from mauve_core.base.errors import InputError, StorageError, words_of
from mauve_core.base.files import digest_of_file, read_stored, require_digest, write_array, write_atomically
from mauve_core.base.formatting import short
from mauve_core.base.json_codec import Count, Holds, from_json, require_few_values
from mauve_core.encoders.external_features import write_features
from mauve_core.scoring import serialization
from mauve_core.scoring.result import Comparison
from mauve_core.texts import Corpus, limits
from mauve_core.texts.media import archive_beside

ABOUT = "about.json"
# Limits: characters of a name, characters of a tag, tags per run, characters of the notes.
MAX_NAME, MAX_TAG, MAX_TAGS, MAX_NOTES = 200, 40, 20, 20_000

# Most bytes of the file, which at these limits takes a tenth of it.
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class About:
    """Name (None: as the run was saved), tags in alphabetical order, and notes."""

    name: str | None = None
    tags: tuple[str, ...] = ()
    notes: str = ""


class ChangedMeanwhileError(InputError):
    """Someone else has changed the name or notes since they were shown to the person who changes them now.

    Attributes
    ----------
    now : dict of str to str
        The current values, by part: ``name``, ``notes``.
    """

    def __init__(self, now: Mapping[str, str]) -> None:
        self.now = dict(now)
        parts = " and the ".join(self.now)
        received = "; ".join(f"{part} {_short(text)}" for part, text in self.now.items())
        todo = "Nothing was changed. Review the current values, then change or keep them"
        super().__init__(f"Someone else has since changed the run's {parts}", received=received, todo=todo)


def read_about(folder: Path) -> About:
    """Read ``about.json``; empty if there is no such file.

    Raises
    ------
    OSError, ValueError, KeyError, TypeError
        The file is damaged.
    """
    try:
        values = json.loads(read_stored(folder / ABOUT, MAX_BYTES))
    except FileNotFoundError:
        return About()
    name, tags, notes = values["name"], values["tags"], values["notes"]
    if not isinstance(tags, list):
        raise TypeError("the tags are not a list")
    return About(None if name is None else checked_name(name), checked_tags(tags), checked_notes(notes))


def write_about(folder: Path, about: About) -> None:
    """Write ``about.json`` atomically; StorageError if the disk refuses."""
    values = {"name": about.name, "tags": list(about.tags), "notes": about.notes}
    text = json.dumps(values, ensure_ascii=False, indent=1)
    write_atomically(folder / ABOUT, lambda stream: stream.write(text.encode()))


def merged(submitted: Mapping[str, Any], seen: About, now: About) -> dict[str, Any]:
    """Return the parts to write when a person who saw ``seen`` submits ``submitted`` and the file now holds ``now``.

    Parameters
    ----------
    submitted : mapping
        Checked values by part: ``name``, ``tags``, ``notes``.
    seen, now : About
        With names.

    Returns
    -------
    dict
        Without parts that the person left as seen. Tags are added and removed one by one, so that changes of
        others to other tags stay.

    Raises
    ------
    ChangedMeanwhileError
        Both sides changed the name or the notes, to different texts.
    InputError
        The merged tags are too many.
    """
    changes = {part: value for part, value in submitted.items() if value != getattr(seen, part)}
    if "tags" in changes:
        mine, before = {*changes["tags"]}, {*seen.tags}
        changes["tags"] = checked_tags(({*now.tags} - (before - mine)) | (mine - before))
    lost: dict[str, str] = {
        part: getattr(now, part)
        for part in ("name", "notes")
        if part in changes and getattr(now, part) not in (getattr(seen, part), changes[part])
    }
    if lost:
        raise ChangedMeanwhileError(lost)
    return changes


def checked_name(name: str) -> str:
    """Return the name on one line; InputError if it is empty or too long."""
    line = " ".join(_text(name, "name").split())
    if not line or len(line) > MAX_NAME:
        raise InputError("The run's name cannot be used", allowed=f"1 to {MAX_NAME} characters", received=_short(line))
    return line


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct tags, each on one line, in alphabetical order; InputError for an invalid tag."""
    if isinstance(tags, str):
        raise InputError("Tags must be a list", allowed="a list of words", received=_short(tags))
    lines = {" ".join(_text(tag, "tag").split()) for tag in tags} - {""}
    for line in sorted(lines):
        if len(line) > MAX_TAG or "," in line:
            raise InputError(
                "The tag cannot be used", allowed=f"up to {MAX_TAG} characters, no comma", received=_short(line)
            )
    if len(lines) > MAX_TAGS:
        raise InputError("The run has too many tags", allowed=f"up to {MAX_TAGS}", received=str(len(lines)))
    return tuple(sorted(lines, key=lambda line: (line.casefold(), line)))


def checked_notes(notes: str) -> str:
    """Return the notes without surrounding white space; InputError if they are too long."""
    text = _text(notes, "notes").strip()
    if len(text) > MAX_NOTES:
        wrong, received = "The notes are too long", f"{len(text)} characters"
        raise InputError(wrong, allowed=f"up to {MAX_NOTES} characters", received=received)
    return text


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"The {what} cannot be used", allowed="text", received=type(value).__name__)
    return storable(value)


def storable(text: str) -> str:
    """Remove characters that some files and pages refuse: NUL and lone surrogates."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")


COMPARISON = "comparison.json"
ATTACHED = "attached"
RATINGS = "ratings.sqlite"
# Version of the folder layout; others are refused. Before version 0.2.0 of the program it was 1.
FORMAT = 2

# For each result in ``attached/``, the command that makes it again; of a sweep, by the part before its dash.
MADE_BY = {
    "measures": "measure {run}",
    "lengths": "measure {run} --lengths LENGTHS",
    "neighbours": "measure {run} --neighbors NUMBERS",
    "methods": "methods {run}",
    "probes": "probe {run}",
    "attributes": "attributes {run}",
    "encoders": "encoders {run}",
    "positions": "encoders {run} --positions",
    "sweep": "sweep {run} --over {over}",
}

# Exceptions that reading a broken file may raise.
BROKEN = (
    *(OSError, ValueError, KeyError, TypeError, IndexError, EOFError, AttributeError, RecursionError),
    *(MemoryError, OverflowError, SyntaxError, TokenError, BadZipFile),  # from headers of .npy files
)

# Most characters of a name or path in a run's record.
MAX_WORD = 10_000

Digest = Annotated[str, Holds(lambda text: bool(re.fullmatch("[0-9a-f]{64}", text)), "a SHA-256")]

ID_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")


@dataclass(frozen=True)
class RunSummary:
    """A run as lists show it.

    Attributes
    ----------
    id : str
        Unique, safe in a URL and as a folder name.
    name : str
        As given by the person who started the run.
    created : str
        ISO 8601, UTC.
    human : str
        Origin of the human texts.
    candidates : tuple of str
        Their names.
    n : int
        Number of human texts.
    encoder : str or None
        The encoder's model; None if the run has features without an encoder.
    tags : tuple of str
        Given by people.
    notes : str
        Written by people.
    bytes : int
        Size of the folder's files, as far as the index knows.
    kind : str
        Kind of the items: "text", "image" ...
    features_from : str or None
        What made features that the run has without an encoder, such as "gpt2, from shards"; None if unknown.
    """

    id: str
    name: str
    created: str
    human: str
    candidates: tuple[str, ...]
    n: Count
    encoder: str | None
    tags: tuple[str, ...] = ()
    notes: str = ""
    bytes: Count = 0
    kind: str = TEXT
    features_from: str | None = None

    @property
    def made_by(self) -> str:
        """The encoder's model, or what is known of the features (``mauve_core.base.config``)."""
        return encoder_in_words(self.encoder, self.features_from)


@dataclass(frozen=True)
class RunRecord:
    """Content of ``comparison.json``; ``files`` has the SHA-256 of each array by the name of its file."""

    format: int
    name: str
    created: str
    comparison: serialization.ComparisonRecord
    files: Mapping[str, Digest]

    def __post_init__(self) -> None:
        datetime.fromisoformat(self.created)
        encoder, names = self.comparison.config.encoder, [source.name for source in self.comparison.sources]
        for word in (self.name, self.comparison.human.origin, *names, "" if encoder is None else encoder.model):
            if len(word) > MAX_WORD:
                raise InputError("A name is too long", allowed=f"up to {MAX_WORD:,} characters", received=word[:80])


@dataclass(frozen=True)
class Run:
    """A stored comparison with its texts; ``corpora`` has a key for each source, ``human`` included.

    ``files`` is as in :class:`RunRecord`.
    """

    id: str
    name: str
    created: str
    comparison: Comparison
    corpora: Mapping[str, Corpus]
    path: Path
    tags: tuple[str, ...] = ()
    notes: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return self.comparison.in_lines(f"Run {short(self.name)} of {self.created[:10]} (id {self.id})")

    def features(self, source: str) -> NDArray[np.floating] | None:
        """Return the (n, d) features of ``source`` as a read-only memory map; None if the run was saved without them.

        float32, or float16 if they were given in half precision.

        Raises
        ------
        InputError
            The comparison has no such source.
        StorageError
            The stored array is damaged, another than was stored with the run, or gone with it.
        """
        path = self.path / f"features-{self.index_of(source)}.npy"
        if not path.exists():
            if not self.path.is_dir():
                raise StorageError(f"Run {self.id} was deleted or replaced as it was read", todo="Open it again")
            return None
        with damaged(self.id, path.name):
            array: NDArray[np.floating] = load_array(path, mapped=True)
            if array.ndim != 2 or len(array) != len(self.corpora[source]):
                raise ValueError(f"shape {array.shape} for {len(self.corpora[source])} texts")
            require_digest(path, self.files.get(path.name))
        return array

    def index_of(self, source: str) -> int:
        """Return the position of ``source`` among the comparison's sources; InputError if there is none."""
        names = [item.name for item in self.comparison.sources]
        if source not in names:
            raise InputError(f"No source named {source!r} in run {self.id}", allowed=", ".join(names))
        return names.index(source)

    @cached_property
    def digest(self) -> str:
        """As :func:`digest_of`: identifies what was precomputed from this run."""
        return digest_of(self.comparison)

    def require_sources(self, names: Iterable[str], what: str) -> None:
        """Raise InputError unless all names are sources of this run."""
        known = [item.name for item in self.comparison.sources]
        for name in names:
            if name not in known:
                raise InputError(
                    f"{what} does not belong to run {self.id}", allowed=", ".join(known), received=repr(name)[:80]
                )

    @property
    def ratings_path(self) -> Path:
        """Path of people's ratings of this run's texts; the file need not exist yet."""
        return self.path / RATINGS

    def attachment(self, name: str) -> dict[str, Any] | None:
        """Read what :meth:`RunStore.attach` kept under that name, anew on each call; None if there is nothing.

        Raises
        ------
        StorageError
            The file is damaged; the run is not.
        """
        if not is_id(name):
            return None
        path = self.path / ATTACHED / f"{name}.json"
        try:
            return parse_json(read_stored(path, limits.document_bytes()))
        except FileNotFoundError:
            return None
        except BROKEN as error:
            wrong = f"The result {name} of run {self.id} is damaged: {words_of(error)}"
            raise StorageError(wrong, todo=_made_again(self.id, name, path)) from error

    def attached_on(self, name: str) -> str:
        """Return the day on which an attachment was written on this machine, such as 2026-11-24, in UTC."""
        written = (self.path / ATTACHED / f"{name}.json").stat().st_mtime
        return datetime.fromtimestamp(written, UTC).date().isoformat()

    @property
    def summary(self) -> RunSummary:
        """Return the run as lists show it."""
        about = About(None, self.tags, self.notes)
        return _summary(self.path, self.name, self.created, self.comparison, about)


def digest_of(comparison: Comparison) -> str:
    """SHA-256 of a comparison's record, hexadecimal, without its map and times: a map may be added later."""
    record = serialization.record_of_comparison(comparison)
    del record["projection"], record["map_fitted"]
    for part, left_out in (("config", "projection"), ("environment", "seconds")):
        record[part] = {name: value for name, value in record[part].items() if name != left_out}
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def read_run(folder: Path) -> Run:
    """Read a run with all texts in memory and features left on disk; StorageError if a file is damaged."""
    meta = read_record(folder)
    comparison = read_comparison(folder, meta)
    corpora = {}
    for index, source in enumerate(comparison.sources):
        file = f"texts-{index}.parquet"
        cure = f"Restore the file from a copy of the run, or delete the run with: mauve-lens runs delete {folder.name}"
        with damaged(folder.name, file, todo=cure):
            corpora[source.name] = _texts(folder / file, folder.name, cure)
            corpus = corpora[source.name]
            if (len(corpus), corpus.digest, corpus.kind) != (source.n, source.digest, source.kind):
                raise ValueError("these are not the texts that were compared")
        if corpus.media is not None:
            thumbnails = archive_beside(folder / file)
            with damaged(folder.name, thumbnails.name, todo=cure):
                require_digest(thumbnails, meta.files.get(thumbnails.name))
    about = about_run(folder)
    name = meta.name if about.name is None else about.name
    return Run(folder.name, name, meta.created, comparison, corpora, folder, about.tags, about.notes, meta.files)


def _texts(path: Path, run_id: str, cure: str) -> Corpus:
    try:
        return Corpus.from_parquet(path)
    except StorageError as error:
        wrong = f"Run {run_id} cannot be read because {error.wrong}"
        raise StorageError(wrong, allowed=error.allowed, received=error.received, todo=cure) from error


def read_comparison(folder: Path, meta: RunRecord) -> Comparison:
    """Read the comparison of that record with its arrays, without texts; StorageError if a file is damaged."""
    arrays = _read_arrays(folder, meta)
    with damaged(folder.name, "the labels or the map"):
        return serialization.comparison_from_record(meta.comparison, arrays)


def read_summary(folder: Path) -> RunSummary:
    """Read a run's summary without its texts or features."""
    record = read_record(folder)
    return _summary(folder, record.name, record.created, record.comparison, about_run(folder))


def about_run(folder: Path) -> About:
    """Read a run's name, tags and notes; StorageError if the file is damaged."""
    with damaged(folder.name, ABOUT, todo=f"Repair or delete {folder / ABOUT}; it holds only the name, tags and notes"):
        return read_about(folder)


def folder_bytes(folder: str | os.PathLike[str]) -> int:
    """Return the size of all files below a folder; files that vanish meanwhile count nothing."""
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
) -> dict[str, str]:
    """Fill the folder; return the digests of its arrays.

    The record is written last, so a folder with a record is complete.
    """
    arrays = serialization.arrays_of_comparison(comparison)
    for key, array in arrays.items():
        write_array(folder / f"{key}.npy", array)
    names = [f"{key}.npy" for key in arrays]
    for index, source in enumerate(comparison.sources):
        corpora[source.name].to_parquet(table := folder / f"texts-{index}.parquet")
        names += [archive_beside(table).name] if corpora[source.name].media is not None else []
        if features is not None:
            names.append(f"features-{index}.npy")
            write_features(folder / names[-1], features[source.name])
    files = {each: digest_of_file(folder / each) for each in names}
    _write_record(folder, name, created, comparison, files)
    return files


def write_map(folder: Path, meta: RunRecord, comparison: Comparison) -> None:
    """Add the comparison's map to a complete folder whose record is ``meta``.

    The record is replaced last, in one step: until then, the folder is a run without a map.
    """
    path = folder / f"{serialization.PROJECTION}.npy"
    write_array(path, serialization.arrays_of_comparison(comparison)[serialization.PROJECTION])
    files = {**meta.files, path.name: digest_of_file(path)}
    _write_record(folder, meta.name, meta.created, comparison, files)


def _write_record(folder: Path, name: str, created: str, comparison: Comparison, files: Mapping[str, str]) -> None:
    meta: dict[str, Any] = {"format": FORMAT, "name": name, "created": created}
    meta |= {"comparison": serialization.record_of_comparison(comparison), "files": dict(files)}
    text = json.dumps(meta, ensure_ascii=False, indent=1, allow_nan=False)
    write_atomically(folder / COMPARISON, lambda stream: stream.write(text.encode()))


def check_sources(
    comparison: Comparison, corpora: Mapping[str, Corpus], features: Mapping[str, NDArray[np.floating]] | None
) -> None:
    """Raise InputError unless every source has as many texts, and features if any are given, as were compared."""
    for source in comparison.sources:
        mappings: list[tuple[str, Mapping[str, Any]]] = [("corpus", corpora)]
        mappings += [] if features is None else [("feature array", features)]
        for what, mapping in mappings:
            if source.name not in mapping or len(mapping[source.name]) != source.n:
                received = f"{len(mapping[source.name])} rows" if source.name in mapping else "none"
                raise InputError(
                    f"No usable {what} for the source {source.name!r}", allowed=f"{source.n} rows", received=received
                )


def _summary(
    folder: Path, name: str, created: str, comparison: Comparison | serialization.ComparisonRecord, about: About
) -> RunSummary:
    human, *others = comparison.sources
    encoder = comparison.config.encoder
    return RunSummary(
        folder.name,
        name if about.name is None else about.name,
        created,
        human.origin,
        tuple(source.name for source in others),
        human.n,
        None if encoder is None else encoder.model,
        about.tags,
        about.notes,
        folder_bytes(folder),
        human.kind,
        comparison.config.features_from,
    )


def run_id(name: str) -> str:
    """Return the id for a run name: ``My Run (1)`` -> ``my-run-1``, ``Café`` -> ``cafe``; InputError if it is empty."""
    require_text(name, "run")
    letters = unicodedata.normalize("NFKD", name).lower()
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-")
    if not slug:
        allowed = "a name with a letter from a to z or a digit"
        raise InputError("The run's name cannot be used", allowed=allowed, received=repr(name))
    return slug


def is_id(text: str) -> bool:
    """Whether the text is a valid id of a run or an attachment."""
    return ID_PATTERN.fullmatch(text) is not None


class LayoutError(StorageError):
    """A run was stored by a version of the program whose layout this one does not read."""


@contextmanager
def damaged(run_id: str, what: str, *, todo: str = "") -> Iterator[None]:
    """Turn exceptions from a broken file into a StorageError that names the run."""
    try:
        yield
    except BROKEN as error:
        raise StorageError(
            f"Run {run_id} cannot be read because {what} is damaged or missing: {words_of(error)}",
            todo=todo or f"Delete it with: mauve-lens runs delete {run_id}",
        ) from error


def read_record(folder: Path) -> RunRecord:
    """Read ``comparison.json`` and check every leaf; StorageError if it is damaged or of another layout."""
    with damaged(folder.name, COMPARISON):
        values = parse_json(read_stored(folder / COMPARISON, limits.document_bytes()))
        if type(values["format"]) is int and values["format"] != FORMAT:
            newer = values["format"] > FORMAT
            raise LayoutError(
                f"Run {folder.name} cannot be read because it was made by a version of MAUVE Lens "
                f"{'newer than this one' if newer else 'before 0.2.0'}",
                todo="Update the program" if newer else "Compare its texts again",
            )
        return from_json(RunRecord, values, "run")


def parse_json(data: bytes) -> dict[str, Any]:
    """Parse a JSON object from an untrusted source.

    Raises
    ------
    ValueError
        It is no JSON object, holds NaN or Infinity, or has more values than ``limits.values`` allows.
    RecursionError
        It is nested too deep.
    """
    try:
        require_few_values(data, limits.values())
    except ValueError as error:
        raise limits.too_many_values(limits.values()) from error

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"it contains {constant}")

    values = json.loads(data, parse_constant=refuse)
    if not isinstance(values, dict):
        raise ValueError("not a JSON object")
    return values


def _read_arrays(folder: Path, meta: RunRecord) -> dict[str, NDArray[Any]]:
    arrays = {}
    for key in meta.comparison.array_keys:
        path = folder / f"{key}.npy"
        with damaged(folder.name, path.name):
            arrays[key] = load_array(path)
            arrays[key].setflags(write=False)
            require_digest(path, meta.files.get(path.name))
    return arrays


def _made_again(run_id: str, name: str, path: Path) -> str:
    command = MADE_BY.get(name) or MADE_BY.get(name.partition("-")[0])
    if command is None:
        return f"Delete {path}; the run is complete without it"
    over = name.partition("-")[2]
    return f"The run is complete without it. Make it again with: mauve-lens {command.format(run=run_id, over=over)}"
