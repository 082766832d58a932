"""Damaged archives: whatever they raise is known, and a directory is bounded before it is read."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import pytest

from mauve_core.base import archives
from mauve_core.base.archives import DAMAGES, open_zip


def archive(method: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as made:
        for number in range(3):
            made.writestr(f"{number}.txt", b"some words of a text " * 40)
    return stream.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_damage_raises_is_known(method: int) -> None:
    whole, rng, raised = archive(method), np.random.default_rng(method), 0
    for _ in range(400):
        data = bytearray(whole)
        for place in rng.integers(len(data), size=rng.integers(1, 9)):
            data[place] ^= int(rng.integers(1, 256))
        if rng.random() < 0.2:
            del data[rng.integers(len(data)) :]
        try:
            with open_zip(io.BytesIO(data)) as found:
                for name in found.namelist():
                    found.read(name)
        except (OSError, RuntimeError, *DAMAGES):
            raised += 1
    assert raised > 200


def test_a_directory_is_bounded_whatever_the_end_of_the_archive_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "DIRECTORY_BYTES", 100)
    data = bytearray(archive(zipfile.ZIP_STORED))
    with pytest.raises(zipfile.BadZipFile, match="its file list takes 153 bytes; at most 100 are allowed"):
        open_zip(io.BytesIO(data))
    start = data.rindex(b"PK\5\6")
    size, offset = struct.unpack("<II", data[start + 12 : start + 20])
    wide = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 3, 3, size, offset)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, start, 1)
    data[start + 12 : start + 16] = b"\xff" * 4  # the size stands in the record of ZIP64
    with pytest.raises(zipfile.BadZipFile, match="its file list takes 153 bytes"):
        open_zip(io.BytesIO(bytes(data[:start]) + wide + locator + bytes(data[start:])))
