"""Read files as text, alone or in a folder: open, unpack within a limit, decode line by line; errors name the place.

The last suffix of a name says how a file is compressed. Text is UTF-8. Byte order marks at the start are skipped, even
two, since some programs add one to a file that has one. The files of a folder are read within the limits of one file;
links to folders are not followed, so that no folder is read twice, and pipes, devices and hidden files are skipped.

Sources: RFC 1952 (gzip), RFC 8878 (Zstandard). Zstandard is part of Python from 3.14; before that, the package
``backports.zstd`` brings the same module.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import os
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import IO, Any

from mauve_core.base.errors import InputError, words_of
from mauve_core.texts import limits

# Name of each compression by its suffix, in any case.
PACKINGS = {".gz": "gzip", ".bz2": "bzip2", ".zst": "Zstandard"}

ZSTANDARD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def packing_of(path: Path) -> str:
    """Return the suffix, in lower case, that says how the file is compressed; empty if none does."""
    suffix = path.suffix.lower()
    return suffix if suffix in PACKINGS else ""


def opened(path: Path, packing: str, stream: IO[bytes] | None = None) -> IO[bytes]:
    """Open the file as a stream of bytes, unpacked if ``packing`` is one of ``PACKINGS``.

    ``stream`` is the file itself if it is open already.

    Raises
    ------
    InputError
        The file is compressed with Zstandard, and the package that reads it is not installed.
    OSError
        The file cannot be opened. Reading raises one of ``damages()``, or OSError, for damaged content.
    """
    source = path if stream is None else stream
    if packing == ".gz":
        return gzip.open(source, "rb")  # type: ignore[return-value]
    if packing == ".bz2":
        return bz2.open(source, "rb")
    if packing == ".zst":
        return zstandard(path).open(source, "rb")  # type: ignore[no-any-return]
    return path.open("rb") if stream is None else stream


def zstandard(path: Path) -> Any:
    """Return the module that reads Zstandard; InputError, which names the file and the package, without one."""
    try:
        return import_module(ZSTANDARD)
    except ImportError as error:
        raise InputError(
            f"{path} is compressed with Zstandard, which needs a package that is not installed",
            todo="Install it: pip install backports.zstd; or unpack the file: zstd -d FILE",
        ) from error


def damages() -> tuple[type[Exception], ...]:
    """Return the errors, other than OSError, that say that compressed content is cut off or damaged."""
    module = sys.modules.get(ZSTANDARD)
    return (EOFError, zlib.error, *([module.ZstdError] if module else []))


# Maximum unpacking ratio above that many bytes: text has a ratio of about 10, a bomb of about 1,000.
PACKED_RATIO, RATIO_FROM = 200, 64 * 1024**2

CHUNK = 1024**2
BOM = "\ufeff"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")

# How packed files begin.
PACKED = {
    b"\x1f\x8b": "a gzip file (.gz)",
    b"BZh": "a bzip2 file (.bz2)",
    b"(\xb5/\xfd": "a Zstandard file (.zst)",
    b"PK\x03\x04": "a ZIP archive",
}


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """Turn errors of the operating system or the decompressor about ``path`` into an InputError."""
    try:
        yield
    except gzip.BadGzipFile as error:
        raise InputError(
            f"{path} is not a gzip file, or its checksum is wrong",
            received=str(error),
            todo="Remove .gz from the name if the file is not compressed",
        ) from error
    except damages() as error:
        packing = packing_of(path)
        raise InputError(
            f"{path} is a damaged {PACKINGS.get(packing, 'compressed')} file, or none",
            received=words_of(error),
            todo="Copy it again" + (f", or remove {packing} from the name if it is not compressed" if packing else ""),
        ) from error
    except OSError as error:
        if error.errno is None and packing_of(path) == ".bz2":
            raise InputError(f"{path} is a damaged bzip2 file, or none", received=words_of(error)) from error
        is_long = error.errno == errno.ENAMETOOLONG
        todo = "Give a shorter name" if is_long else "Check its permissions"
        raise InputError(f"Cannot read {path}: {error.strerror or error}", todo=todo) from error


def require_content(path: Path, allowed: str = "a file") -> None:
    """Raise InputError unless the path is that of a file that holds something and is not too large."""
    if not path.exists():
        raise InputError(f"{path} does not exist", todo="Check the name and the folder")
    if not path.is_file():
        raise InputError(f"{path} is not a file", allowed=allowed)
    size = path.stat().st_size
    if size == 0:
        raise InputError(f"{path} is empty")
    if size > limits.unpacked_bytes():
        raise limits.too_large(path, limits.unpacked_bytes())


def lines_of(path: Path) -> list[tuple[int, str]]:
    """Return the lines of a text file, which may be compressed, each with its number from 1.

    Raises
    ------
    InputError
        The file is missing, empty, not UTF-8, damaged, or too large when unpacked.
    """
    packing = packing_of(path)
    with refusals(path):
        require_content(path)
        with opened(path, packing) as stream:
            found = list(islice(decoded_lines(stream, path, packed=bool(packing)), limits.rows() + 1))
    if len(found) > limits.rows():
        raise limits.too_many_rows(path, limits.rows())
    return found


def decoded_lines(stream: IO[bytes], path: Path, packed: bool) -> Iterator[tuple[int, str]]:
    """Yield line numbers and decoded lines with their endings; only a line feed ends a line, so no text is split."""
    number = total = 0
    most, longest = limits.rows() * limits.LINES_A_ROW, limits.characters() * limits.BYTES_A_CHARACTER
    most_bytes = unpacked_limit(path) if packed else limits.unpacked_bytes()
    while True:
        line = stream.readline(min(longest, most_bytes - total) + 1)
        if not line:
            return
        number += 1
        total += len(line)
        if total > most_bytes:
            raise limits.too_large(path, most_bytes)
        if len(line) > longest:
            raise limits.too_long(path, f"Line {number}", limits.characters())
        if number > most:
            raise limits.too_many_rows(path, limits.rows())
        text = _decoded(line, path, f"Line {number}")
        yield number, text.lstrip(BOM) if number == 1 else text


def decoded_parts(stream: IO[bytes], path: Path, packed: bool) -> Iterator[str]:
    """Yield the decoded content in parts of at most ``CHUNK`` bytes, however long its lines are."""
    number, before, total, held = 1, 0, 0, b""
    most = unpacked_limit(path) if packed else limits.unpacked_bytes()
    while piece := stream.readline(min(CHUNK, most - total + 1)):
        total += len(piece)
        if total > most:
            raise limits.too_large(path, most)
        data, held = _whole_characters(held + piece)
        text = _decoded(data, path, f"Line {number}", before)
        yield text.lstrip(BOM) if number == 1 and not before else text
        before += len(data)
        if piece.endswith(b"\n"):
            number, before = number + 1, 0
    if held:
        yield _decoded(held, path, f"Line {number}", before)


def _whole_characters(data: bytes) -> tuple[bytes, bytes]:
    """Split off the bytes of a character that is not yet complete."""
    for size in range(1, min(4, len(data) + 1)):
        if data[-size] >= 0xC0:  # the first byte of a character of two bytes or more
            complete = size >= (2 if data[-size] < 0xE0 else 3 if data[-size] < 0xF0 else 4)
            return (data, b"") if complete else (data[:-size], data[-size:])
        if data[-size] < 0x80:
            break
    return data, b""


class RowsOfLines:
    """Feed lines to the csv module, which takes four bytes per character of a quoted cell until it ends.

    Attributes
    ----------
    too_long : bool
        Whether a row was refused because it does not end within the limits.
    """

    def __init__(self, path: Path, lines: Iterator[tuple[int, str]]) -> None:
        self._path, self._lines, self._begins, self._length = path, lines, 1, 0
        self.too_long = False
        self._longest = limits.characters() * limits.BYTES_A_CHARACTER

    def __iter__(self) -> Iterator[str]:
        for number, line in self._lines:
            self._begins = self._begins if self._length else number
            self._length += len(line)
            if self._length > self._longest or number - self._begins > limits.characters():  # each line is a character
                self.too_long = True
                raise limits.too_long(self._path, f"The row that begins on line {self._begins}", limits.characters())
            yield line

    def row_ends(self) -> None:
        """Note that the next line starts a row."""
        self._length = 0


def _decoded(data: bytes, path: Path, location: str, before: int = 0) -> str:
    """Decode the bytes; anything but UTF-8 without NUL bytes is an error that names the byte, ``before`` it others."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        coding = "UTF-16" if data.startswith(UTF16_MARKS) else "CP1252"
        raise InputError(
            f"{location} of {path} is not UTF-8: byte {before + error.start + 1} is 0x{data[error.start]:02x}",
            allowed="UTF-8",
            todo=_unpack(data) or f"If it is {coding}, convert it: iconv -f {coding} -t UTF-8 FILE > NEW",
        ) from error
    if "\0" in text:
        convert = "If the file is UTF-16, convert it: iconv -f UTF-16LE -t UTF-8 FILE > NEW; a binary file is not text"
        raise InputError(
            f"{location} of {path} holds a NUL byte (byte {before + data.index(0) + 1})",
            allowed="UTF-8 text",
            todo=_unpack(data) or convert,
        )
    return text


def _unpack(data: bytes) -> str:
    """Say what to do with a packed file; nothing if it does not begin like one."""
    packed = next((form for mark, form in PACKED.items() if data.startswith(mark)), None)
    return f"It looks like {packed}: unpack it, or name it so" if packed else ""


def decoded_text(data: bytes, path: Path) -> str:
    """Decode the whole content as one text, with line endings unchanged."""
    lines = data.splitlines(keepends=True)
    text = "".join(_decoded(line, path, f"Line {number}") for number, line in enumerate(lines, start=1))
    return text.lstrip(BOM)


def unpacked(path: Path) -> bytes:
    """Unpack a compressed file unless it is too large; never hold more than the limit."""
    most = unpacked_limit(path)
    with opened(path, packing_of(path)) as stream:
        data = first_bytes(stream, most)
    if data is None:
        raise limits.too_large(path, most)
    return data


def first_bytes(stream: IO[bytes], most: int) -> bytes | None:
    """Return the whole content, or None if it is longer than ``most``; never hold more than that."""
    data = bytearray()
    while part := stream.read(min(CHUNK, most + 1 - len(data))):
        data += part
        if len(data) > most:
            return None
    return bytes(data)


def unpacked_limit(path: Path) -> int:
    """Return the bytes that this compressed file may unpack to."""
    return min(limits.unpacked_bytes(), max(RATIO_FROM, PACKED_RATIO * path.stat().st_size))


# Maximum bytes of a character.
UTF8_BYTES = 4

# Names of the samples that lm-evaluation-harness logs for each task, beside results_DATE.json.
SAMPLES = re.compile(r"samples_.*\.jsonl", re.DOTALL)

# Files of which a folder has one that ``save_to_disk`` of the package datasets wrote.
SAVED_DATA_SETS = ("state.json", "dataset_dict.json")

# Suffixes of files that a pattern may name, the likeliest first.
OTHER_SUFFIXES = (".jsonl", ".parquet", ".csv", ".tsv", ".json", ".eval", ".jsonl.gz", ".jsonl.zst")

COPY_IT = "Copy the file into the folder"

# Maximum number of samples files that the error names.
NAMED = 5


def spelled_out(name: str | os.PathLike[str]) -> str:
    """Return a file name as text: bytes that are not UTF-8 (lone surrogates in Python) become ``\\udce9``."""
    return os.fspath(name).encode(errors="backslashreplace").decode()


def text_files(folder: Path) -> tuple[list[Path], int]:
    """Return the sorted names of the .txt files below a folder, compressed ones too, and the number of other files.

    Raises
    ------
    InputError
        There are none, one is a link to a file outside the folder, or the files exceed the limit on rows or bytes of
        one file.
    """
    wanted: list[str] = []
    samples: list[str] = []
    others, size, most, most_bytes, pending = 0, 0, limits.rows(), limits.unpacked_bytes(), [""]
    seen = 0
    while pending:
        below = pending.pop()
        with refusals(folder / below), os.scandir(folder / below) as entries:
            for entry in entries:
                name, seen = f"{below}{entry.name}", seen + 1
                if seen > most:
                    raise limits.too_many_rows(folder, most)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(f"{name}/")
                elif not (_is_text_name(Path(name)) and Path(entry).is_file()):
                    others += not Path(entry).is_dir()
                    if SAMPLES.fullmatch(entry.name):
                        samples = sorted([*samples, spelled_out(name)])[:NAMED]
                else:
                    if entry.is_symlink():
                        require_inside(folder, Path(entry))
                    wanted.append(name)
                    size += entry.stat().st_size
                    if size > most_bytes:
                        raise limits.too_large(folder, most_bytes)
    if not wanted:
        raise InputError(
            f"The folder {folder} holds no .txt files",
            received=f"{others} files of other kinds",
            allowed=".txt, .txt.gz, .txt.bz2, .txt.zst",
            todo=_way_out(folder, samples),
        )
    return sorted(map(Path, wanted)), others


def require_inside(folder: Path, link: Path) -> None:
    """Refuse a link to a file outside the folder; InputError names it."""
    if leads_outside(folder, link):
        raise InputError(
            f"{link} is a link to a file outside its folder",
            allowed="files in the folder, and links to them",
            todo=f"{COPY_IT}, or name the files by a pattern",
        )


def leads_outside(folder: Path, file: Path) -> bool:
    """Return whether a file in a folder, by its name, is elsewhere, by links."""
    return not file.resolve().is_relative_to(folder.resolve())


def _way_out(folder: Path, samples: Sequence[str]) -> str:
    """Return what may have been meant by a folder without .txt files; empty for no guess."""
    if samples:
        return f"Give one of the samples of lm-evaluation-harness: {', '.join(samples)}"
    if any((folder / name).is_file() for name in SAVED_DATA_SETS):
        return f"Read it as a data set: hf:{folder}"
    other = next((suffix for suffix in OTHER_SUFFIXES if any(folder.glob(f"*{suffix}"))), None)
    return f"Name its files by a pattern: '{folder}/*{other}'" if other else ""


def texts_of(folder: Path, names: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the name and text of each file, with line endings unchanged.

    Raises
    ------
    InputError
        A file cannot be read, is not UTF-8 or is too long, or all together unpack to more than one file may.
    """
    left = limits.unpacked_bytes()
    for name in names:
        file = folder / name
        with refusals(file):
            data = _content(file)
        left -= len(data)
        if left < 0:
            raise limits.too_large(folder, limits.unpacked_bytes())
        yield name, decoded_text(data, file)


def _content(file: Path) -> bytes:
    """Return the bytes of one text file, unpacked if necessary; InputError if too long."""
    most = limits.characters() * UTF8_BYTES + 2 * len(BOM.encode()) + len("\r\n")
    with opened(file, packing_of(file)) as stream:
        data = first_bytes(stream, most)
    if data is None:
        raise limits.too_long(file, "The content", limits.characters())
    return data


def _is_text_name(name: Path) -> bool:
    hidden = any(part.startswith(".") for part in name.parts)
    plain = name.with_suffix("") if packing_of(name) else name
    return not hidden and plain.suffix.lower() == ".txt"
