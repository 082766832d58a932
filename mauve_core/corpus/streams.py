"""Read a file's bytes as text: open, unpack within a limit, decode line by line; errors name the place.

Text is UTF-8. Byte order marks at the start are skipped, even two, since some programs add one to a file that has one.
``packing.py`` opens compressed files.
"""

from __future__ import annotations

import errno
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO

from mauve_core.base.errors import InputError, words_of
from mauve_core.corpus import limits
from mauve_core.corpus.packing import PACKINGS, damages, opened, packing_of

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
