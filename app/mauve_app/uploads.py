"""Uploaded files: stored on disk by content, read through the core, and listed in the session until removed.

Memory holds only paths, a few lines, and of items that are not texts a few pictures and the digests that say whether
their features are stored: changing pages loses nothing, and a broken file affects only itself.

Decoding all items of a file may take minutes. It is done once, in a thread of its own, while the page shows how far it
is. Streamlit ends a script that is to run again at the next thing it draws; the work goes on, and the next run of the
script finds it, so that nothing is begun twice and nobody is stuck on a page.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import threading
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from mauve_app import uploaded_files
from mauve_app.bounded_cache import kept
from mauve_app.server import access
from mauve_app.uploaded_files import Items, Look, Outline
from mauve_core.analyses.tasks import SideSize
from mauve_core.base.config import KINDS, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.base.files import write_atomically
from mauve_core.base.progress import Progress
from mauve_core.encoders.devices import choose_precision
from mauve_core.encoders.encoder import feature_key
from mauve_core.encoders.features import FeatureStore
from mauve_core.jobs import queue
from mauve_core.jobs.aside import aside
from mauve_core.texts import Corpus, corpus_from_table, limits
from mauve_core.texts.building import Sources, guess_column, source_columns, sources_of, split_by
from mauve_core.texts.entries import doubt_about
from mauve_core.texts.fields import guess_fields
from mauve_core.texts.kinds import Kind, kind_at, kind_of
from mauve_core.texts.reading import read_file
from mauve_core.texts.streams import PACKINGS
from mauve_core.texts.tables import Table
from mauve_core.texts.text_files import TextFile

# Suffixes that may follow those of texts and molecules.
PACKED = [packing.removeprefix(".") for packing in PACKINGS]

NAME_LENGTH = 150
PREVIEWED = 3
# Characters of a text in the preview; Clusters and Map show the whole text.
SNIPPET = 300


def suffixes(kinds: Iterable[str] = KINDS) -> list[str]:
    """Suffixes of files that can hold items of these kinds, without a dot and unpacked."""
    return list(dict.fromkeys(suffix for kind in kinds for suffix in kind_of(kind).suffixes))


_UNSAFE = re.compile(r"[^\w.-]+")
_SUFFIX = re.compile(rf"(\.({'|'.join(suffixes())}))?(\.({'|'.join(PACKED)}))?$", re.IGNORECASE)


_T = TypeVar("_T")


@dataclass(frozen=True)
class Upload:
    """An uploaded file.

    Attributes
    ----------
    uid : str
        Distinguishes two uploads of one file; part of its widgets' keys.
    path : str
        Where the file is stored.
    title : str
        The file's name without suffixes: the candidate's initial name.
    """

    uid: str
    path: str
    title: str

    @property
    def file_name(self) -> str:
        """Name of the stored file."""
        return Path(self.path).name

    def without_folder(self, message: str) -> str:
        """``message`` with the file's name in place of its path, which nobody chose."""
        return message.replace(self.path, self.file_name)


def keep(file_name: str, data: bytes) -> Upload:
    """Write an uploaded file to the home folder atomically.

    Raises
    ------
    RefusedError
        The app is read-only.
    StorageError
        The disk fails.
    """
    access.require_change()
    name = safe_name(file_name)
    path = queue.uploads_folder() / hashlib.sha256(data).hexdigest() / name
    if not queue.use_upload(path.parent) or not path.is_file() or path.stat().st_size != len(data):
        write_atomically(path, lambda stream: stream.write(data))
    return Upload(secrets.token_hex(4), str(path), _SUFFIX.sub("", name) or name)


def release(file: UploadedFile) -> None:
    """Release Streamlit's in-memory copy of an upload, else held for the session; its uploader needs a new key."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)


def keep_prompted(corpus: Corpus, title: str) -> Upload:
    """Store ids, prompts and texts of a corpus as a JSONL file, like an upload; metadata is dropped.

    Raises
    ------
    InputError
        The corpus has no prompts.
    StorageError
        The disk fails.
    """
    if corpus.prompts is None:
        raise InputError(f"Corpus {corpus.name!r} has no prompts", todo="Upload a file with prompts")
    columns = zip(corpus.ids, corpus.prompts, corpus.texts, strict=True)
    lines = (json.dumps({"id": i, "prompt": prompt, "text": text}) for i, prompt, text in columns)
    return keep(f"{title}.jsonl", "".join(f"{line}\n" for line in lines).encode())


def safe_name(file_name: str) -> str:
    """The browser's file name without folders: letters, digits, dots, dashes; suffixes kept."""
    name = _UNSAFE.sub("-", re.split(r"[/\\]", file_name)[-1]).lstrip(".-") or "upload"
    suffix = _SUFFIX.search(name)
    ending = suffix.group(0) if suffix else ""
    return name.removesuffix(ending)[: NAME_LENGTH - len(ending)] + ending


def outline(path: str) -> Outline:
    """Outline an uploaded file; this restarts the time until it expires.

    Raises
    ------
    InputError
        It cannot be read or is no longer stored.
    """
    require_stored(path)
    return or_raised(_outline(path))


def require_stored(path: str) -> None:
    """Raise InputError if the upload is gone; this restarts the time until it expires."""
    if not queue.use_upload(Path(path).parent):
        raise InputError(
            f"{path} is no longer stored",
            allowed=f"at most {limits.upload_days()} days without use",
            todo="Add the file again",
        )


def look(path: str, text: str, prompt: str, identifier: str, by: str = "", source: str = "") -> Look:
    """The file, or one source in it, under the chosen fields; an empty string means none, as for ``read_corpus``.

    Raises
    ------
    InputError
        The file has no usable texts under these fields.
    """
    first = outline(path)
    if first.guess is not None and first.look is not None:
        guess = first.guess
        if not by and (text, prompt, identifier) == (guess.text, guess.prompt or "", guess.id or ""):
            return or_raised(first.look)
    if by:
        return or_raised(or_raised(_looks(path, text, prompt, identifier, by))[source])
    return or_raised(_look(path, text, prompt, identifier))


def or_raised(result: _T | InputError) -> _T:
    """What a cached reading returned; raised if it is an error."""
    if isinstance(result, InputError):
        raise result
    return result


# Reading a file takes memory for all of it, which is then released: only a few lines, or the error, are cached. The
# path is the key, because a file's folder is named by the digest of its content.


@st.cache_resource(max_entries=256, show_spinner="Reading the file")
def _outline(path: str) -> Outline | InputError:
    try:
        table = read_file(Path(path))
    except InputError as error:
        return without_frames(error)
    try:
        guess = guess_fields(table)
    except InputError as error:
        return Outline((*table.columns, *table.inner_fields), None, error.wrong, None, {})
    parts = (part for part in (guess.text, guess.prompt, guess.id) if part)
    fields = tuple(dict.fromkeys((*table.columns, *table.inner_fields, *parts)))
    sources = source_columns(table, (guess.text, guess.prompt, guess.id))
    counts = {
        column: Sources({name: range(len(rows)) for name, rows in found.rows.items()}, found.blank)
        for column, found in sources.items()
    }
    looked = _looked(table, guess.text, guess.prompt or "", guess.id or "")
    return Outline(fields, guess, "", looked, counts, guess_column(sources))


@st.cache_resource(max_entries=256, show_spinner="Reading the texts")
def _look(path: str, text: str, prompt: str, identifier: str) -> Look | InputError:
    try:
        return _looked(read_file(Path(path)), text, prompt, identifier)
    except InputError as error:
        return without_frames(error)


@st.cache_resource(max_entries=256, show_spinner="Reading the texts")
def _looks(path: str, text: str, prompt: str, identifier: str, by: str) -> dict[str, Look | InputError] | InputError:
    """What is shown of each source in the file."""
    try:
        table = read_file(Path(path))
        return {source: _looked(table, text, prompt, identifier, by, source) for source in sources_of(table, by).rows}
    except InputError as error:
        return without_frames(error)


def without_frames(error: InputError) -> InputError:
    """The error without its frames, which hold the file; raised if the system refused, which it may not do later."""
    if isinstance(error.__cause__, OSError) and error.__cause__.errno is not None:
        raise error
    return error.with_traceback(None)


def _looked(table: Table, text: str, prompt: str, identifier: str, by: str = "", source: str = "") -> Look | InputError:
    try:
        if by:
            parts = split_by(
                table, by, only=[source], text_field=text, prompt_field=prompt, id_field=identifier, metadata_fields=()
            )
            corpus = parts[source]
        else:
            corpus = corpus_from_table(table, text_field=text, prompt_field=prompt, id_field=identifier)
    except InputError as error:
        return error.with_traceback(None)  # its frames hold the file
    columns = {"Id": corpus.ids, "Text": corpus.texts, "Prompt": corpus.prompts}
    return Look(
        texts=len(corpus),
        left_out=sum(exclusion.count for exclusion in corpus.exclusions),
        scored=len(corpus) // max(1, len(set(corpus.generations))),
        prompted=corpus.prompts is not None,
        notes=tuple(corpus.notes),
        doubt=doubt_about(corpus.texts),
        first={
            title: tuple(map(_snippet, values[:PREVIEWED])) for title, values in columns.items() if values is not None
        },
    )


def _snippet(text: str) -> str:
    return text if len(text) <= SNIPPET else f"{text[:SNIPPET]}…"


# Works at once, of all sessions; each may have threads of its own.
AT_ONCE = 2

# Results that are kept while nobody asks for them: those of people who left the page.
UNCLAIMED = 8

SHOWN_AFTER_S = 0.3
# Seconds until progress is shown, and between two of its steps.
STEP_S = 0.2


@dataclass(eq=False)
class _Work(Generic[_T]):
    result: Future[_T] = field(default_factory=Future)
    told: tuple[str, int, int] = ("Waiting for other files", 0, 0)

    def tell(self, stage: str, done: int, total: int) -> None:
        self.told = stage, done, total


class BackgroundWork(Generic[_T]):
    """Works of one sort, by key."""

    def __init__(self) -> None:
        self._works: dict[Hashable, _Work[_T]] = {}
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(AT_ONCE)

    def result(self, key: Hashable, work: Callable[[Progress], _T]) -> _T:
        """What the work returns or raises; it is begun unless it is at work, and forgotten once its result is taken."""
        begun = self._begun(key, work)
        _show_progress(begun)
        with self._lock:
            self._works.pop(key, None)
        return begun.result.result()

    def _begun(self, key: Hashable, work: Callable[[Progress], _T]) -> _Work[_T]:
        with self._lock:
            if key not in self._works:
                unclaimed = [each for each, found in self._works.items() if found.result.done()]
                for each in unclaimed[: max(0, len(unclaimed) - UNCLAIMED + 1)]:
                    del self._works[each]
                self._works[key] = begun = _Work[_T]()
                threading.Thread(target=self._do, args=(begun, work), daemon=True).start()
            return self._works[key]

    def _do(self, begun: _Work[_T], work: Callable[[Progress], _T]) -> None:
        with self._slots:
            begun.tell("Opening the file", 0, 0)
            try:
                begun.result.set_result(work(begun.tell))
            except BaseException as error:  # noqa: BLE001 (whoever waits for the result gets it)
                begun.result.set_exception(error)


def _show_progress(work: _Work[_T]) -> None:
    """Wait for the end of the work, and draw a bar."""
    place, seconds = st.empty(), SHOWN_AFTER_S
    while not wait([work.result], seconds).done:
        stage, done, total = work.told
        words = f"{stage}: {done:,} of {total:,}" if total else stage
        place.progress(done / total if total else 0.0, text=words)
        seconds = STEP_S
    place.empty()


def kind_in(path: str, field: str | None = None) -> Kind:
    """The kind of the items of an uploaded file, or of one field of it."""
    return kind_of(_kind(path, field))


@st.cache_resource(max_entries=1024, show_spinner=False)
def _kind(path: str, field: str | None) -> str:
    # The first cells of such a table may be hundreds of megabytes.
    return aside(uploaded_files.kind_in, path, field) if _holds_bytes(path) else kind_at(path, field).name


@st.cache_resource(max_entries=256, show_spinner=False)
def columns_in(path: str) -> tuple[str, ...]:
    """The columns of an uploaded table that hold items of its kind."""
    return aside(uploaded_files.columns_in, path) if _holds_bytes(path) else kind_in(path).columns(Path(path))


def _holds_bytes(path: str) -> bool:
    return Path(path).suffix.lower() == ".parquet"


def items(path: str, field: str | None) -> Items:
    """Read an uploaded file, or wait until it is read; this restarts the time until it expires.

    Raises
    ------
    InputError
        It cannot be read, none of its items can be used, or it is no longer stored.
    """
    require_stored(path)
    key, kind = (path, field), kind_in(path, field)
    found = _KNOWN.get(key)
    if found is None:
        found = _READING.result(key, lambda progress: _read_aside(kind.name, path, field, progress))
        _KNOWN[key] = found
    return or_raised(_items(path, field, found))


_READING: BackgroundWork[Items | InputError] = BackgroundWork()
# What was read and is still kept.
_KNOWN: WeakValueDictionary[tuple[str, str | None], Items | InputError] = WeakValueDictionary()


@kept(max_entries=256)
def _items(path: str, field: str | None, _found: Items | InputError) -> Items | InputError:  # noqa: ARG001 (the key)
    return _found


def _read_aside(kind: str, path: str, field: str | None, progress: Progress) -> Items | InputError:
    try:
        return aside(uploaded_files.read, kind, path, field, progress=progress)
    except InputError as error:
        return without_frames(error)


def side_size(file: TextFile, encoder: EncoderConfig) -> SideSize:
    """The size of one side; a file of texts is read once for each encoder.

    Raises
    ------
    MauveLensError
        The file cannot be read, or the encoder is not on this machine.
    """
    kind = kind_in(file.path, file.text_field)
    if kind.has_words:
        count, key = _count_and_key(file, json.dumps(encoder.as_dict()))
    else:
        corpus = items(file.path, file.text_field).corpus
        count = len(corpus)
        if kind.offer.fetched(encoder.model, encoder.revision):
            return SideSize(count, stored=False, words=kind.words)
        key = kind.encoder(choose_precision(encoder).config, "auto").key(corpus)
    return SideSize(count, FeatureStore().has(key), kind.words)


@st.cache_data(max_entries=256, show_spinner=False)
def _count_and_key(file: TextFile, encoder: str) -> tuple[int, str]:
    """Number of texts and the key of their features; a file's folder is named by the digest of its content."""
    config = choose_precision(EncoderConfig.from_dict(json.loads(encoder))).config
    corpus = file.read("texts")
    return len(corpus), feature_key(corpus.encoder_inputs(config.with_prompt), config)
