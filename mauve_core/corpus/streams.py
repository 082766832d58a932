"""Bytes of a file as text: opened, unpacked within a limit, decoded line by line, with errors that name the place.

Text is UTF-8; a byte order mark at the start is passed over. Source: RFC 1952 (gzip).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mauve_core.corpus import limits
from mauve_core.errors import InputError

UNPACKED_LIMIT = 2 * 1024**3
"""Bytes that a compressed file may unpack to; a larger one is refused, so that a small file cannot fill the memory."""

PACKED_RATIO, RATIO_FROM = 200, 64 * 1024**2
"""Times its packed size that a file may unpack to, above so many bytes: text is packed ten times, a bomb a thousand."""

CHUNK = 1024**2
BOM = "\ufeff"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """Turn what the operating system or the unpacking says about ``path`` into an InputError."""
    try:
        yield
    except gzip.BadGzipFile as error:
        raise InputError(
            f"{path} is not a gzip file, or its checksum is wrong",
            received=str(error),
            todo="Remove .gz if it is plain",
        ) from error
    except (EOFError, zlib.error) as error:
        raise InputError(f"{path} is a damaged gzip file", received=str(error), todo="Copy it again") from error
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}", todo="Check its permissions") from error


def opened(path: Path, packed: bool) -> IO[bytes]:
    """The file's bytes as a stream, unpacked where it is gzipped."""
    return gzip.open(path, "rb") if packed else path.open("rb")  # type: ignore[return-value]


def too_large(path: Path) -> InputError:
    """The error for a file that unpacks to more than the limit."""
    most = _unpacked_limit(path)
    return InputError(
        f"{path} unpacks to more than {most:,} bytes",
        allowed=f"at most {UNPACKED_LIMIT:,} bytes unpacked, and {PACKED_RATIO} times the packed size",
        todo="Split it, or unpack it yourself and give the plain file",
    )


def decoded_lines(stream: IO[bytes], path: Path, packed: bool) -> Iterator[tuple[int, str]]:
    """Line number and line with its ending, decoded; lines end with a line feed alone, so no text is split."""
    number = total = 0
    most, longest = limits.rows() * limits.LINES_A_ROW, limits.characters() * limits.BYTES_A_CHARACTER
    most_bytes = _unpacked_limit(path) if packed else None
    while True:
        line = stream.readline(longest + 1 if most_bytes is None else min(longest, most_bytes - total) + 1)
        if not line:
            return
        number += 1
        total += len(line)
        if most_bytes is not None and total > most_bytes:
            raise too_large(path)
        if len(line) > longest:
            raise limits.too_long(path, f"Line {number}", limits.characters())
        if number > most:
            raise limits.too_many_rows(path, limits.rows())
        text = _decoded(line, path, f"Line {number}")
        yield number, text.removeprefix(BOM) if number == 1 else text


def _decoded(data: bytes, path: Path, place: str) -> str:
    """The bytes as text; anything but UTF-8 without NUL bytes is an error that names the byte."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        coding = "UTF-16" if data.startswith(UTF16_MARKS) else "LATIN1"
        raise InputError(
            f"{place} of {path} is not UTF-8: byte {error.start + 1} is 0x{data[error.start]:02x}",
            allowed="UTF-8",
            todo=f"If it is {coding}, convert it: iconv -f {coding} -t UTF-8 FILE > NEW",
        ) from error
    if "\0" in text:
        raise InputError(
            f"{place} of {path} holds a NUL byte (byte {data.index(0) + 1})",
            allowed="UTF-8 text",
            todo="If the file is UTF-16, convert it: iconv -f UTF-16LE -t UTF-8 FILE > NEW; a binary file is no text",
        )
    return text


def decoded_text(data: bytes, path: Path) -> str:
    """The whole content as one text, line endings as they are."""
    lines = data.splitlines(keepends=True)
    text = "".join(_decoded(line, path, f"Line {number}") for number, line in enumerate(lines, start=1))
    return text.removeprefix(BOM)


def unpacked(path: Path) -> bytes:
    """The content of a gzip file, unless it is too large; then no more than the limit is ever held."""
    most, data = _unpacked_limit(path), bytearray()
    with gzip.open(path, "rb") as stream:
        while part := stream.read(min(CHUNK, most + 1 - len(data))):
            data += part
            if len(data) > most:
                raise too_large(path)
    return bytes(data)


def _unpacked_limit(path: Path) -> int:
    """Bytes that this file may unpack to."""
    return min(UNPACKED_LIMIT, max(RATIO_FROM, PACKED_RATIO * path.stat().st_size))
