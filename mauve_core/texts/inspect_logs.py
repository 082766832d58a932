"""Read logs of Inspect, the evaluation framework of the UK AI Security Institute: .eval files, or the same as JSON.

An .eval file is a ZIP archive with a JSON file for each sample, ``samples/ID_epoch_N.json``, packed with deflate or, by
newer versions, with Zstandard. Of a sample, what was asked and the last output are kept; its messages and events, which
can hold a thousand times as much, are not.

Source: inspect.aisi.org.uk, "Log Files".
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from mauve_core.base.archives import DAMAGES, open_zip
from mauve_core.base.errors import InputError, words_of
from mauve_core.base.json_codec import parse_json, require_whole_characters, unique_names
from mauve_core.texts import limits
from mauve_core.texts.generations import GENERATION
from mauve_core.texts.streams import first_bytes, unpacked_limit, zstandard
from mauve_core.texts.tables import Rows

# Fields of a sample that become fields of its row; its epoch becomes the field ``generation``.
KEPT = ("id", "input", "target", "choices", "output", "metadata", "scores", "error", "limit")

# Ids are sorted as if padded with zeros to this length, so that ``t10`` follows ``t9``.
ID_WIDTH = 20

SAMPLE = re.compile(r"samples/.*\.json", re.DOTALL)
HEADER = "header.json"

# How a text begins that stands in the sample's ``attachments``, under the hash that follows.
ATTACHMENT = "attachment://"

ZSTANDARD_MEMBER = 93
# Methods of compression of a ZIP member that Inspect uses (APPNOTE.TXT of PKWARE, section 4.4.5).
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTANDARD_MEMBER)

# Status of a log whose evaluation ran to its end.
FINISHED = "success"

ALLOWED = "an .eval file as Inspect writes it"


def is_inspect_log(content: Mapping[str, Any]) -> bool:
    """Return whether a JSON object is a whole log: its samples, beside what was evaluated and how that ended."""
    return isinstance(content.get("samples"), list) and {"eval", "status", "version"} <= content.keys()


def rows_of_json(content: Mapping[str, Any], path: Path) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return a row for each sample of a log in JSON, and sentences on the log."""
    rows = [_row(sample, f"Sample {number}", path) for number, sample in enumerate(content["samples"], start=1)]
    return _in_order(rows), _notes(rows, content.get("status"))


def rows_of_archive(stream: IO[bytes], rows: Rows, path: Path) -> tuple[str, ...]:
    """Add a row for each sample of an .eval file, by epoch and id; return sentences on the log.

    Raises
    ------
    InputError
        It is no ZIP archive, is damaged, holds no samples, or needs a package that is not installed.
    """
    archives = _archives()
    try:
        with open_zip(stream, module=archives) as archive:
            members = [info for info in archive.infolist() if SAMPLE.fullmatch(info.filename)]
            if len(members) > limits.rows():
                raise limits.too_many_rows(path, limits.rows())
            other = next((info.compress_type for info in archive.infolist() if info.compress_type not in METHODS), None)
            if other is not None:
                raise InputError(f"{path} is not a log of Inspect", allowed=ALLOWED, received=f"ZIP method {other}")
            if any(info.compress_type == ZSTANDARD_MEMBER for info in members) and archives is zipfile:
                zstandard(path)  # says what to install
            samples = list(_samples(archive, members, path))
            status = _status(archive, path)
    except InputError:
        raise
    except (archives.BadZipFile, RuntimeError, *DAMAGES) as error:
        raise InputError(f"{path} is not a log of Inspect", allowed=ALLOWED, received=words_of(error)) from error
    if not samples:
        todo = "Run the evaluation with log_samples on"
        raise InputError(f"{path} holds no samples", allowed=ALLOWED, todo=todo)
    for number, row in enumerate(_in_order(samples), start=1):
        rows.add(number, row)
    return _notes(samples, status)


def _archives() -> Any:
    """Return the module that reads ZIP archives; one that knows Zstandard, where it is installed."""
    if sys.version_info >= (3, 14):
        return zipfile
    try:
        return import_module("backports.zstd.zipfile")
    except ImportError:
        return zipfile


def _samples(archive: Any, members: list[Any], path: Path) -> Iterator[dict[str, Any]]:
    """Yield the row of each sample, within the limits of a file and of a line of JSONL."""
    left, longest = unpacked_limit(path), limits.characters() * limits.BYTES_A_CHARACTER
    for member in members:
        where = f"The sample {member.filename!r}"
        data = _content(archive, member, min(left, longest))
        if data is None:
            raise limits.too_large(path, left) if left < longest else limits.too_long(path, where, limits.characters())
        left -= len(data)
        yield _row(_json(data, f"{where} of {path}"), where, path)


def _content(archive: Any, member: Any, most: int) -> bytes | None:
    """Return the unpacked content of a member, or None if it is longer than ``most``, whatever the archive says."""
    with archive.open(member) as stream:
        return first_bytes(stream, most)


def _json(data: bytes, where: str) -> Any:
    try:
        source = data.decode()
        value = parse_json(source, object_pairs_hook=unique_names)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON that can be used", allowed=ALLOWED, received=words_of(error)) from error
    require_whole_characters(source, value, where)
    return value


def _status(archive: Any, path: Path) -> Any:
    """Return how the evaluation ended; None if it never came to write that."""
    if HEADER not in archive.namelist():
        return None
    data = _content(archive, archive.getinfo(HEADER), limits.document_bytes())
    header = None if data is None else _json(data, f"{HEADER} of {path}")
    return header.get("status") if isinstance(header, dict) else None


def _row(sample: Any, where: str, path: Path) -> dict[str, Any]:
    if not isinstance(sample, dict) or "output" not in sample:
        raise InputError(f"{where} of {path} has no output", allowed=ALLOWED, received=type(sample).__name__)
    attached = sample.get("attachments")
    kept = {name: sample[name] for name in KEPT if name in sample}
    if sample.get("error") is not None:
        kept["output"] = None
    if isinstance(attached, dict) and attached:
        kept = _Attachments(attached, where, path).put_into(kept)
    return kept if sample.get("epoch") is None else kept | {GENERATION: sample["epoch"]}


class _Attachments:
    """The texts that a sample keeps apart, each of which any number of references may name."""

    def __init__(self, texts: Mapping[str, Any], where: str, path: Path) -> None:
        self._texts, self._where, self._path = texts, where, path
        self._left = limits.characters() * limits.BYTES_A_CHARACTER

    def put_into(self, value: Any) -> Any:
        """Return the value with each reference replaced by its text; InputError if that makes the sample too long."""
        if isinstance(value, str) and value.startswith(ATTACHMENT):
            text = self._texts.get(value.removeprefix(ATTACHMENT))
            if not isinstance(text, str):
                return value
            self._left -= len(text)
            if self._left < 0:
                raise limits.too_long(self._path, self._where, limits.characters())
            return text
        if isinstance(value, list):
            return [self.put_into(entry) for entry in value]
        if isinstance(value, dict):
            return {name: self.put_into(entry) for name, entry in value.items()}
        return value


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows by epoch and id, as a log holds them as they were finished; of one epoch, without its number."""

    def location(row: Mapping[str, Any]) -> tuple[int, str]:
        epoch = row.get(GENERATION)
        return epoch if isinstance(epoch, int) else 0, str(row.get("id")).zfill(ID_WIDTH)

    ordered = sorted(rows, key=location)
    if len(_epochs(rows)) > 1:
        return ordered
    return [{name: value for name, value in row.items() if name != GENERATION} for row in ordered]


def _epochs(rows: Sequence[Mapping[str, Any]]) -> set[str]:
    return {str(row.get(GENERATION)) for row in rows}


def _notes(rows: Sequence[Mapping[str, Any]], status: Any) -> tuple[str, ...]:
    epochs = len(_epochs(rows))
    failed = sum(row.get("error") is not None for row in rows)
    notes = []
    if epochs > 1:
        notes.append(f"The log holds {epochs} epochs; each counts as a generation.")
    if failed:
        counted = "1 sample" if failed == 1 else f"{failed:,} samples"
        notes.append(f"{counted} ended with an error; what had been written by then is not read.")
    if status != FINISHED:
        how = "the log was never finished" if status is None else f"its status is {status!r}"
        notes.append(f"The evaluation did not end with success: {how}.")
    return tuple(notes)
