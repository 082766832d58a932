"""Uploaded files: kept on disk by content, read through the core, remembered in the session until they are removed.

The session holds where each file lies, not the file, so that a change of page loses nothing and a broken file costs
only itself.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from app import access
from mauve_core.corpus import Corpus, corpus_from_table
from mauve_core.corpus.fields import Fields, guess_fields
from mauve_core.corpus.formats import Table, read_table
from mauve_core.errors import InputError
from mauve_core.files import home, write_atomically

UPLOADS = "uploads"
"""Folder of the uploads below the home folder; one folder a content, named by its SHA-256."""

SUFFIXES = ["jsonl", "ndjson", "json", "csv", "tsv", "parquet", "txt", "gz"]
"""What the browser offers to upload; ``gz`` around any of the others."""

NAME_LENGTH = 150
_UNSAFE = re.compile(r"[^\w.-]+")
_SUFFIX = re.compile(r"(\.(jsonl|ndjson|json|csv|tsv|parquet|txt))?(\.gz)?$", re.IGNORECASE)


@dataclass(frozen=True)
class Upload:
    """A file that came in.

    Attributes
    ----------
    uid : str
        Tells two uploads of one file apart; part of the keys of its widgets.
    path : str
        Where it is kept.
    title : str
        The file's name without suffixes: what a candidate is called until it is renamed.
    """

    uid: str
    path: str
    title: str

    @property
    def file_name(self) -> str:
        """Name of the file as it is kept."""
        return Path(self.path).name

    def without_folder(self, message: str) -> str:
        """A message about the file, with its name in place of the path that nobody chose."""
        return message.replace(self.path, self.file_name)


def keep(file_name: str, data: bytes) -> Upload:
    """Write an uploaded file below the home folder, whole or not at all.

    Raises
    ------
    RefusedError
        The app is shown read-only.
    StorageError
        The disk refuses.
    """
    access.require_change()
    name = safe_name(file_name)
    path = home().absolute() / UPLOADS / hashlib.sha256(data).hexdigest() / name
    if not path.is_file() or path.stat().st_size != len(data):
        write_atomically(path, lambda stream: stream.write(data))
    return Upload(secrets.token_hex(4), str(path), _SUFFIX.sub("", name) or name)


def keep_prompted(corpus: Corpus, title: str) -> Upload:
    """Keep ids, prompts and texts of a corpus as a JSONL file, as if it had been uploaded; metadata stays behind.

    Raises
    ------
    InputError
        The corpus has no prompts.
    StorageError
        The disk refuses.
    """
    if corpus.prompts is None:
        raise InputError(f"Corpus {corpus.name!r} has no prompts", todo="Upload a file that has")
    columns = zip(corpus.ids, corpus.prompts, corpus.texts, strict=True)
    lines = (json.dumps({"id": i, "prompt": prompt, "text": text}) for i, prompt, text in columns)
    return keep(f"{title}.jsonl", "".join(f"{line}\n" for line in lines).encode())


def safe_name(file_name: str) -> str:
    """The browser's name for a file as a plain name: no folders, letters, digits, dots, dashes; suffixes kept."""
    name = _UNSAFE.sub("-", re.split(r"[/\\]", file_name)[-1]).lstrip(".-") or "upload"
    suffix = _SUFFIX.search(name)
    ending = suffix.group(0) if suffix else ""
    return name.removesuffix(ending)[: NAME_LENGTH - len(ending)] + ending


@st.cache_resource(max_entries=32, show_spinner="Reading the file")
def table_of(path: str) -> Table:
    """The rows of an uploaded file; its folder's name is its content's digest, so the path is the key."""
    return read_table(path)


@st.cache_resource(max_entries=32, show_spinner=False)
def guessed_fields(path: str) -> Fields:
    """The fields that its names and contents suggest."""
    return guess_fields(table_of(path))


@st.cache_resource(max_entries=32, show_spinner="Reading the texts")
def corpus_of(path: str, text: str, prompt: str, identifier: str) -> Corpus:
    """The corpus under the chosen fields; an empty string means none, as for ``read_corpus``."""
    return corpus_from_table(table_of(path), text_field=text, prompt_field=prompt, id_field=identifier)
