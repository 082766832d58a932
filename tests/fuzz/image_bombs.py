"""Images that take much memory, each kind in an archive beside small ones, which are read in any case."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from tests.images.test_decoding import chunk, saved

# Usable images beside the hostile ones.
GOOD = 24
# Pixels of a side: more than are allowed in any format but JPEG, which is read at half of it; and as many as are.
SIDE = 9_999
LARGEST, LARGEST_WEBP = 5_773, 4_472


def blank(mode: str, side: int = LARGEST) -> Image.Image:
    return Image.new(mode, (side, side), 200 if mode in ("L", "P") else (200, 90, 10, 120)[: len(mode)])


def gif() -> bytes:
    """An image of 8 x 8 pixels on a canvas of 9,999 x 9,999."""
    data = bytearray(saved(Image.new("P", (8, 8), 1), "GIF"))
    data[6:10] = struct.pack("<HH", SIDE, SIDE)
    return bytes(data)


def png(mode: str, more: bytes = b"", side: int = LARGEST) -> bytes:
    """A PNG of one color, with other chunks after its header."""
    depth, color, width = {"L": (8, 0, 1), "RGB": (8, 2, 3), "RGBA": (8, 6, 4), "I;16": (16, 0, 2)}[mode]
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, depth, color, 0, 0, 0))
    rows = chunk(b"IDAT", zlib.compress((b"\0" + b"\x64" * (width * side)) * side, 1))
    return b"\x89PNG\r\n\x1a\n" + header + more + rows + chunk(b"IEND", b"")


def tiff(entries: dict[int, tuple[int, int, int]], data: bytes = b"") -> bytes:
    """A TIFF with one directory, whose entries are a type, a count, and a value or the place of values; then data.

    The data begin at byte 4096.
    """
    listed = b"".join(struct.pack("<HHII", tag, *entry) for tag, entry in sorted(entries.items()))
    return (struct.pack("<2sHIH", b"II", 42, 8, len(entries)) + listed + bytes(4)).ljust(4096, b"\0") + data


GRAY = {256: (4, 1, 64), 257: (4, 1, 64), 258: (3, 1, 8), 259: (3, 1, 8), 262: (3, 1, 1), 277: (3, 1, 1)}


def strips() -> bytes:
    """A small gray image of two million strips."""
    places = {259: (3, 1, 1), 273: (4, 2_000_000, 4096), 278: (4, 1, 1), 279: (4, 2_000_000, 4096)}
    return tiff(GRAY | places, bytes(8_000_000))


def tile() -> bytes:
    """A small gray image in one tile of 20,000 x 20,000 pixels."""
    data = zlib.compress(bytes(20_000 * 20_000), 1)
    places = {322: (4, 1, 20_000), 323: (4, 1, 20_000), 324: (4, 1, 4096), 325: (4, 1, len(data))}
    return tiff(GRAY | places, data)


def exif() -> bytes:
    """A JPEG whose EXIF has a resolution of three million fractions, in segments that are joined."""
    many = 3_000_000
    listed = tiff({282: (5, many, 4096), 296: (3, 1, 2)}, struct.pack("<II", 1, 3) * many)
    parts = [listed[i : i + 60_000] for i in range(0, len(listed), 60_000)]
    found = b"".join(struct.pack(">HH", 0xFFE1, len(p) + 8) + b"Exif\0\0" + p for p in parts)
    return b"\xff\xd8" + found + saved(Image.new("RGB", (64, 64)), "JPEG")[2:]


def moving(form: str) -> bytes:
    """Three frames, each of the whole canvas."""
    frames = [Image.new("RGB", (4000, 4000), color) for color in ("red", "green", "blue")]
    return saved(frames[0], form, save_all=True, append_images=frames[1:], lossless=True, method=0, **CODED)


def beside(*bombs: Callable[[], bytes]) -> Callable[[Path], Path]:
    """A zip archive with small images and the hostile ones."""

    def write(folder: Path) -> Path:
        with zipfile.ZipFile(folder / "images.zip", "w") as archive:
            for number in range(GOOD):
                noise = np.random.default_rng(number).integers(0, 255, (32, 32, 3), dtype=np.uint8)
                archive.writestr(f"g{number:02}.png", saved(Image.fromarray(noise), "PNG"))
            made = {bomb: bomb() for bomb in bombs}  # one for each function
            for number, bomb in enumerate(bombs):
                archive.writestr(f"a{number}.png", made[bomb])
        return folder / "images.zip"

    return write


TURNED = chunk(b"eXIf", tiff({274: (3, 1, 6)})[:64])
CODED = {"compression": "tiff_adobe_deflate"}
IMAGES: dict[str, Callable[[Path], Path]] = {
    "four GIFs, 100 million pixels": beside(*[gif] * 4),
    "four PNGs, 100 million pixels": beside(*[lambda: png("RGB", side=SIDE)] * 4),
    "a WebP, 100 million pixels": beside(lambda: saved(blank("RGB", SIDE), "WEBP", lossless=True, method=0, quality=0)),
    "a TIFF, 100 million pixels": beside(lambda: saved(blank("RGB", SIDE), "TIFF", **CODED)),
    "a JPEG in CMYK, 100 million pixels": beside(lambda: saved(blank("CMYK", SIDE), "JPEG")),
    "a progressive JPEG, 100 million pixels": beside(lambda: saved(blank("RGB", SIDE), "JPEG", progressive=True)),
    "four transparent PNGs, turned": beside(*[lambda: png("RGBA", TURNED)] * 4),
    "four deep PNGs": beside(*[lambda: png("I;16")] * 4),
    "four palettes with a transparent color": beside(*[lambda: saved(blank("P"), "PNG", transparency=200)] * 4),
    "four progressive JPEGs in CMYK": beside(*[lambda: saved(blank("CMYK"), "JPEG", progressive=True)] * 4),
    "four WebPs": beside(*[lambda: saved(blank("RGBA", LARGEST_WEBP), "WEBP", lossless=True, quality=0, method=0)] * 4),
    "four transparent TIFFs": beside(*[lambda: saved(blank("RGBA"), "TIFF", **CODED)] * 4),
    "forty of 4 to 8 million pixels": beside(*[lambda n=n: png("RGBA", TURNED, 2000 + 20 * n) for n in range(40)]),
    "a PNG with 90 MB of color profile": beside(lambda: png("L", chunk(b"iCCP", b"a\0\0" + bytes(90_000_000)), 64)),
    "a PNG with 90 MB of text": beside(lambda: png("L", chunk(b"tEXt", b"a\0" + bytes(90_000_000)), 64)),
    "a JPEG with large metadata": beside(exif),
    "a moving PNG": beside(lambda: moving("PNG")),
    "a moving WebP": beside(lambda: moving("WEBP")),
    "a TIFF of pages": beside(lambda: moving("TIFF")),
    "a TIFF of two million strips": beside(strips),
    "a TIFF of one huge tile": beside(tile),
    "a JPEG 2000 and an icon": beside(lambda: saved(blank("L"), "JPEG2000"), lambda: b"icns" + bytes(10**7)),
}
