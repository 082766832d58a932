"""GGUF files: check the header before any library trusts it, and convert the file into a plain checkpoint.

GGUF files load slowly (about 20 s for 135 million weights). The first use converts one into a plain checkpoint in the
program's home folder; later uses load that in a fraction of a second.
"""

from __future__ import annotations

import logging
import mmap
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import prod
from pathlib import Path
from typing import Any

from mauve_core.base.errors import StorageError, library_errors, words_of
from mauve_core.base.files import (
    close_to_others,
    home,
    make_folder,
    move_folder,
    partial_folder,
    require_plain_file,
    storage_errors,
    sync_tree,
)
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import ModelIdentity
from mauve_core.encoders.hub import quiet_libraries, tensors_reported
from mauve_core.encoders.loading import (
    SAFE,
    building_budget,
    check_loaded,
    correct_special_tokens,
    is_older,
    third_party,
)
from mauve_core.encoders.model_files import CONFIG, MOST_OF_A_KIND, StoredWeights, damaged

# Stage name for progress; counts tensors.
STAGE = "Converting the GGUF file"

# Part of a converted checkpoint's name; raise it when the conversion changes.
CONVERSION_FORMAT = 1

# Name of a GGUF file in a folder that holds nothing else, since files beside it do not belong to it.
ALONE = "model.gguf"

MOST_FIELDS, MOST_TENSORS, MOST_DIMENSIONS = 100_000, 1_000_000, 8
# Maximum strings in one list; a vocabulary has a few hundred thousand.
MOST_STRINGS = 10_000_000

# Maximum weights per byte; the coarsest quantization takes more than one bit each.
NUMBERS_A_BYTE = 8

_STRING, _LIST = 8, 9
# GGUF's scalar types as struct codes.
_SCALARS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}


def converted(identity: ModelIdentity, progress: Progress = silent) -> Path:
    """Return the folder of the plain checkpoint of a GGUF file; create it if missing.

    ``progress`` is called as ``progress("Converting the GGUF file", tensors done, tensors)`` when it is created.

    Raises
    ------
    ModelUnavailableError, InputError
        The file is damaged, or lacks weights that its own settings require.
    StorageError
        The disk is full or refuses.
    """
    folder = _folder_of(identity)
    if not (folder / CONFIG).exists():
        _convert(Path(identity.location), folder, progress)
    return folder


def converted_tokenizer(identity: ModelIdentity) -> Path:
    """Return a folder with the tokenizer of a GGUF file; create it if missing. Weights are not converted.

    Raises
    ------
    ModelUnavailableError
        The file is damaged.
    StorageError
        The disk is full or refuses.
    """
    whole = _folder_of(identity)
    if (whole / CONFIG).exists():
        return whole
    folder = whole.with_name(f"{whole.name}-tokenizer")
    if not folder.exists():
        _convert_tokenizer(Path(identity.location), folder)
    return folder


def check_header(path: Path) -> StoredWeights:
    """Check every count and length in the header of a GGUF file; return what its tensors hold.

    Raises
    ------
    ModelUnavailableError, InputError
        It is damaged, or declares more than it can hold.
    """
    size = require_plain_file(path, "GGUF file")
    if size < 24:
        raise damaged(path, f"it has {size} bytes, too few for a GGUF file")
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return _Header(path, data).stored()
        except struct.error as error:
            raise damaged(path, "its header ends before it is complete") from error


class _Header:
    """Reader of a header, which starts with its magic, version, number of tensors and number of fields."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self._path, self._data, self._offset = path, data, 4

    def stored(self) -> StoredWeights:
        if self._data[:4] != b"GGUF":
            raise damaged(self._path, "it does not begin like a GGUF file")
        version, tensors, fields = self._take("I"), self._take("Q"), self._take("Q")
        if version not in (2, 3):
            raise damaged(self._path, f"its GGUF version is {version}", "version 2 or 3")
        self._require(fields <= MOST_FIELDS, f"{fields:,} fields")
        self._require(tensors <= MOST_TENSORS, f"{tensors:,} tensors")
        for _ in range(fields):
            self._field()
        numbers = sum(self._tensor() for _ in range(tensors))
        self._require(numbers <= NUMBERS_A_BYTE * len(self._data), f"{numbers:,} weights in {len(self._data):,} bytes")
        return StoredWeights((self._path,), tensors, numbers)

    def _field(self) -> None:
        name, kind = self._string(), self._take("I")
        if kind == _STRING:
            self._string()
        elif kind == _LIST:
            self._list(name)
        else:
            value = self._value(kind)
            counts = name.endswith((b".block_count", b".expert_count"))
            self._require(not counts or value <= MOST_OF_A_KIND, f"{name.decode(errors='replace')} = {value:,}")

    def _list(self, name: bytes) -> None:
        kind, length = self._take("I"), self._take("Q")
        if kind == _STRING:
            self._require(length <= MOST_STRINGS, f"{length:,} strings in {name.decode(errors='replace')}")
            for _ in range(length):
                self._string()
            return
        if kind not in _SCALARS:
            raise damaged(self._path, f"it holds a list of type {kind}")
        self._skip(length * struct.calcsize(f"<{_SCALARS[kind]}"))

    def _tensor(self) -> int:
        self._string()
        dimensions = self._take("I")
        self._require(dimensions <= MOST_DIMENSIONS, f"a tensor of {dimensions:,} dimensions")
        numbers = prod(self._take("Q") for _ in range(dimensions))
        self._take("I")
        self._take("Q")
        return numbers

    def _value(self, kind: int) -> float:
        if kind not in _SCALARS:
            raise damaged(self._path, f"it holds a value of type {kind}")
        return self._take(_SCALARS[kind])

    def _string(self) -> bytes:
        start = self._offset + 8
        self._skip(self._take("Q"))
        return self._data[start : self._offset]

    def _take(self, kind: str) -> int:
        (value,) = struct.unpack_from(f"<{kind}", self._data, self._offset)
        self._offset += struct.calcsize(f"<{kind}")
        return value  # type: ignore[no-any-return]

    def _skip(self, length: int) -> None:
        self._require(length <= len(self._data) - self._offset, f"{length:,} bytes after byte {self._offset:,}")
        self._offset += length

    def _require(self, fits: bool, what: str) -> None:
        if not fits:
            raise damaged(self._path, f"its header declares {what}, which it cannot hold")


def _folder_of(identity: ModelIdentity) -> Path:
    """Return where the file's plain checkpoint is, or will be; an older transformers cannot read that of a newer."""
    name = f"{Path(identity.location).stem}-{identity.digest[:16]}-{CONVERSION_FORMAT}"
    return home() / "models" / (f"{name}-older" if is_older() else name)


def _convert(gguf: Path, folder: Path, progress: Progress) -> None:
    """Write the GGUF file's weights (as float32) and tokenizer into ``folder``, atomically."""
    from transformers import AutoModelForCausalLM

    stored = check_header(gguf)
    logging.getLogger(__name__).info("Converting %s into a plain checkpoint (once, about 20 s)", gguf.name)
    with _becoming(folder, gguf) as (scratch, alone):
        with (
            third_party(f"The GGUF file {gguf}", gguf.name, gguf),
            building_budget(stored, 4, gguf.name, builds=2),  # some versions build it first to name its tensors
            quiet_libraries(),
            tensors_reported(progress, STAGE),
        ):
            tokenizer = _tokenizer(alone)
            quantised, info = AutoModelForCausalLM.from_pretrained(
                str(alone), gguf_file=ALONE, output_loading_info=True, **SAFE
            )
            settings = {key: value for key, value in quantised.config.to_dict().items() if key != "quantization_config"}
            plain = AutoModelForCausalLM.from_config(type(quantised.config).from_dict(settings))
            plain.load_state_dict(quantised.state_dict())
        check_loaded(quantised, info, str(gguf))
        with _saving(folder):
            plain.save_pretrained(scratch)
            tokenizer.save_pretrained(scratch)


def _convert_tokenizer(gguf: Path, folder: Path) -> None:
    """Write the GGUF file's tokenizer into ``folder``, atomically."""
    check_header(gguf)
    with _becoming(folder, gguf) as (scratch, alone):
        with third_party(f"The GGUF file {gguf}", gguf.name, gguf), quiet_libraries():
            tokenizer = _tokenizer(alone)
        with _saving(folder):
            tokenizer.save_pretrained(scratch)


@contextmanager
def _saving(folder: Path) -> Iterator[None]:
    """Save with a library, which may say of a full disk what it likes; StorageError."""
    wrong = f"Cannot write {folder}"
    with (
        library_errors(lambda error: StorageError(f"{wrong}: {words_of(error)}", todo="Free some space")),
        storage_errors(folder),
        quiet_libraries(),
    ):
        yield


def _tokenizer(alone: Path) -> Any:
    """Return the tokenizer of the GGUF file in the folder ``alone``."""
    from transformers import AutoConfig, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(alone), gguf_file=ALONE, **SAFE)
    correct_special_tokens(tokenizer, AutoConfig.from_pretrained(str(alone), gguf_file=ALONE, **SAFE))
    return tokenizer


@contextmanager
def _becoming(folder: Path, gguf: Path) -> Iterator[tuple[Path, Path]]:
    """Give a folder that becomes ``folder`` at the end, and one in which the GGUF file stands alone as ``ALONE``."""
    with ExitStack() as folders:
        with storage_errors(folder):
            make_folder(folder.parent)
            scratch, alone = (folders.enter_context(partial_folder(folder)) for _ in range(2))
            (alone / ALONE).symlink_to(gguf)
        yield scratch, alone
        with storage_errors(folder):
            close_to_others(scratch)
            if not folder.exists():  # another process may have been faster
                sync_tree(scratch)
                move_folder(scratch, folder)
