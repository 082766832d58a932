"""Hostile inputs, each read in a fresh process: peak memory and seconds (``python -m tests.bombs [PART OF A NAME]``).

A row of ``BOMBS`` is a name, a function that writes the input below an empty folder and returns its path, and a
function that does with that path what the program does with a user's. The input is written by another process than the
one that is measured; to add a row, add these two functions. Printed are the bytes of the input, the peak of the reading
process above what it took before (megabytes), seconds, and what became of it: what the reader returned, or the words of
an error of ours. The exit code is 1 if a row took more than ``MOST_MB`` or ended with any other exception.
``tests/fuzz/bombs.py`` has those that must be refused whatever they take.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from mauve_core.base.errors import MauveLensError
from mauve_core.base.toml_files import read_toml
from mauve_core.cli.standard_input import file_of
from mauve_core.corpus import read_corpus
from mauve_core.corpus.packing import ZSTANDARD
from mauve_core.corpus.streams import lines_of
from mauve_core.encoders.model_files import read_json
from mauve_core.encoders.servers.client import Server
from mauve_core.encoders.vector_files import read_vectors
from mauve_core.jobs import state

MOST_MB = 600  # above what the process takes before it reads
GOOD = 24  # usable images beside the hostile ones
SIDE = 9_999  # pixels: just below the 100 million that were once allowed


class Bomb(NamedTuple):
    name: str
    write: Callable[[Path], Path]
    read: Callable[[Path], str]


def images(path: Path) -> str:
    """Read a folder, archive or table of images, as a comparison does."""
    corpus = read_corpus(path)
    return f"{len(corpus)} images; {' '.join(corpus.notes)}"


def saved(image: Image.Image, form: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def blank(mode: str) -> Image.Image:
    return Image.new(mode, (SIDE, SIDE), 200 if mode in ("L", "P", "I;16", "I") else (200, 90, 10, 120)[: len(mode)])


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def gif() -> bytes:
    """An image of 8 x 8 pixels on a canvas of 9,999 x 9,999."""
    data = bytearray(saved(Image.new("P", (8, 8), 1), "GIF"))
    data[6:10] = struct.pack("<HH", SIDE, SIDE)
    return bytes(data)


def png(mode: str, more: bytes = b"", side: int = SIDE) -> bytes:
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


def strips() -> bytes:
    """A small gray image of two million strips."""
    many = 2_000_000
    shape = {256: (4, 1, 64), 257: (4, 1, 64), 258: (3, 1, 8), 259: (3, 1, 1), 262: (3, 1, 1), 277: (3, 1, 1)}
    return tiff(shape | {273: (4, many, 4096), 278: (4, 1, 1), 279: (4, many, 4096)}, bytes(4 * many))


def tile() -> bytes:
    """A small gray image in one tile of 20,000 x 20,000 pixels."""
    data = zlib.compress(bytes(20_000 * 20_000), 1)
    shape = {256: (4, 1, 64), 257: (4, 1, 64), 258: (3, 1, 8), 259: (3, 1, 8), 262: (3, 1, 1), 277: (3, 1, 1)}
    return tiff(shape | {322: (4, 1, 20_000), 323: (4, 1, 20_000), 324: (4, 1, 4096), 325: (4, 1, len(data))}, data)


def exif() -> bytes:
    """A JPEG whose EXIF has a resolution of three million fractions, in segments that are joined."""
    many = 3_000_000
    listed = tiff({282: (5, many, 4096), 296: (3, 1, 2)}, struct.pack("<II", 1, 3) * many)
    parts = [listed[i : i + 60_000] for i in range(0, len(listed), 60_000)]
    found = b"".join(struct.pack(">HH", 0xFFE1, len(p) + 8) + b"Exif\0\0" + p for p in parts)
    return b"\xff\xd8" + found + saved(Image.new("RGB", (64, 64)), "JPEG")[2:]


def moving(form: str) -> bytes:
    """Three frames, each of the whole canvas."""
    frames = [Image.new("RGB", (5000, 5000), color) for color in ("red", "green", "blue")]
    return saved(frames[0], form, save_all=True, append_images=frames[1:], lossless=True, method=0)


def beside(*bombs: Callable[[], bytes]) -> Callable[[Path], Path]:
    """A zip archive with small images and the hostile ones."""

    def write(folder: Path) -> Path:
        with zipfile.ZipFile(folder / "images.zip", "w") as archive:
            for number in range(GOOD):
                noise = np.random.default_rng(number).integers(0, 255, (32, 32, 3), dtype=np.uint8)
                archive.writestr(f"g{number:02}.png", saved(Image.fromarray(noise), "PNG"))
            made = {bomb: bomb() for bomb in bombs}
            for number, bomb in enumerate(bombs):
                archive.writestr(f"a{number}.png", made[bomb])
        return folder / "images.zip"

    return write


def table(folder: Path) -> Path:
    """A Parquet file of images that end in 60 MB of zeros each."""
    cells = [saved(Image.new("RGB", (32, 32), (number, 90, 9)), "JPEG") + bytes(60_000_000) for number in range(GOOD)]
    pq.write_table(pa.table({"image": cells}), folder / "images.parquet", compression="zstd", use_dictionary=False)
    return folder / "images.parquet"


IMAGES: dict[str, Callable[[Path], Path]] = {
    "four GIFs": beside(*[gif] * 4),
    "a gray PNG": beside(lambda: png("L")),
    "four PNGs": beside(*[lambda: png("RGB")] * 4),
    "a transparent PNG": beside(lambda: png("RGBA")),
    "a deep PNG": beside(lambda: png("I;16")),
    "a palette with a transparent color": beside(lambda: saved(blank("P"), "PNG", transparency=200, compress_level=1)),
    "a PNG with 90 MB of color profile": beside(lambda: png("L", chunk(b"iCCP", b"a\0\0" + bytes(90_000_000)), 64)),
    "a PNG with 90 MB of text": beside(lambda: png("L", chunk(b"tEXt", b"a\0" + bytes(90_000_000)), 64)),
    "a moving PNG": beside(lambda: moving("PNG")),
    "a progressive JPEG": beside(lambda: saved(blank("RGB"), "JPEG", progressive=True, subsampling=0)),
    "a JPEG in CMYK": beside(lambda: saved(blank("CMYK"), "JPEG")),
    "a JPEG with large metadata": beside(exif),
    "a WebP": beside(lambda: saved(blank("RGB"), "WEBP", lossless=True, method=0, quality=0)),
    "a moving WebP": beside(lambda: moving("WEBP")),
    "a TIFF": beside(lambda: saved(blank("RGB"), "TIFF", compression="tiff_adobe_deflate")),
    "a transparent TIFF": beside(lambda: saved(blank("RGBA"), "TIFF", compression="tiff_lzw")),
    "a TIFF of many pages": beside(lambda: moving("TIFF")),
    "a TIFF of two million strips": beside(strips),
    "a TIFF of one huge tile": beside(tile),
    "a JPEG 2000 and icons": beside(lambda: saved(blank("L"), "JPEG2000"), lambda: b"icns" + bytes(10**7)),
    "a table": table,
}


def wrote(name: str, head: bytes, block: bytes, times: int, end: bytes = b"") -> Callable[[Path], Path]:
    """A file of a head, a block so many times and an end, packed if its name says so."""

    def write(folder: Path) -> Path:
        path = folder / name
        opens = {".gz": gzip.open, ".bz2": bz2.open, ".zst": import_module(ZSTANDARD).open}
        with opens.get(path.suffix, Path.open)(path, "wb") as stream:
            stream.write(head)
            for _ in range(times):
                stream.write(block)
            stream.write(end)
        return path

    return write


def _vectors(path: Path) -> object:
    return read_vectors(path, {b"the": 0})


def _pattern(path: Path) -> object:
    return read_corpus(path.read_text())


def _said(read: Callable[[Path], object]) -> Callable[[Path], str]:
    return lambda path: str(read(path))[:80]


def piped(path: Path) -> str:
    """What a command writes without end, as standard input."""
    with subprocess.Popen([*path.read_text().split()], stdout=subprocess.PIPE) as source:
        sys.stdin = io.TextIOWrapper(cast(BinaryIO, source.stdout))
        try:
            return file_of("-")
        finally:
            source.kill()


LISTS = b"[]," * (1 << 20)  # 3 MB in a file, 80 MB in memory
LINES = b"C\n" * (1 << 20)
OTHERS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], object]]] = {
    "a key of 20,000 parts": (wrote("a.toml", b"a", b".a", 20_000, b" = 1\n"), read_toml),
    "60 lines of keys of 500 parts": (wrote("a.toml", b"", b"a" + b".a" * 499 + b".%d = 1\n" % 7, 60), read_toml),
    "an object of 22 million lists": (wrote("a.json", b'{"a":[', LISTS, 21, b"[]]}"), read_corpus),
    "a record of five million lists": (wrote("a.json", b'[{"text":"a","b":[', LISTS, 5, b"[]]}]"), read_corpus),
    "a line of five million lists": (wrote("a.jsonl", b'{"text":"a","b":[', LISTS, 5, b"[]]}\n"), read_corpus),
    "lines of 400,000 lists each": (
        wrote("a.jsonl.gz", b"", b'{"text":"a","b":[' + b"[]," * 400_000 + b"[]]}\n", 60),
        read_corpus,
    ),
    "settings of a model": (wrote("config.json", b'{"a":[', LISTS, 10, b"[]]}"), read_json),
    "the state of a job": (wrote("state.json", b'{"a":[', LISTS, 20, b"[]]}"), state.read_json),
    "an answer of a server": (
        wrote("a.json", b"[", LISTS, 21, b"[]]"),
        lambda path: Server("http://127.0.0.1:9/v1")._parsed(path.read_bytes()),
    ),
    "an answer of texts alone": (
        wrote("a.json", b'["', b"a, b, " * 1_000_000, 5, b'"]'),
        lambda path: Server("http://127.0.0.1:9/v1")._parsed(path.read_bytes()),
    ),
    **{
        f"30 million molecules, {packed}": (wrote(f"a.smi{packed}", b"", LINES, 30), lines_of)
        for packed in (".gz", ".bz2", ".zst")
    },
    "vectors without end": (wrote("v.txt.gz", b"the 0.1\n", b"a 0.1\n" * 100_000, 1000), _vectors),
    "yes": (wrote("a", b"yes", b"", 0), piped),
    "zeros": (wrote("a", b"cat /dev/zero", b"", 0), piped),
    "a pattern of the whole disk": (wrote("a", b"/**/**/none.jsonl", b"", 0), _pattern),
    "a pattern of seven folders": (wrote("a", b"/*/*/*/*/*/*/*/none.jsonl", b"", 0), _pattern),
}
BOMBS = [
    *(Bomb(f"images: {name}", write, images) for name, write in IMAGES.items()),
    *(Bomb(f"limits: {name}", write, _said(read)) for name, (write, read) in OTHERS.items()),
]


def measured(bomb: Bomb, path: Path) -> None:
    """In the child: read, and print what became of it, megabytes and seconds."""
    before, began, wrong = _status("VmRSS"), time.monotonic(), False
    try:
        said = bomb.read(path)
    except MauveLensError as error:
        said = str(error)
    except BaseException as error:  # noqa: BLE001 (whatever it is, it is what is looked for)
        said, wrong = f"{type(error).__name__}: {error}", True
    result = {"said": said, "wrong": wrong, "mb": _status("VmHWM") - before, "s": time.monotonic() - began}
    sys.stdout.write(json.dumps(result))


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024


def exploded(bomb: Bomb) -> bool:
    """Print the bomb's row; whether all is well."""
    with tempfile.TemporaryDirectory() as folder:
        path = bomb.write(Path(folder))
        size = path.stat().st_size if path.is_file() else sum(each.stat().st_size for each in path.rglob("*"))
        command = [sys.executable, "-m", "tests.bombs", "--read", bomb.name, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = (
        json.loads(done.stdout) if done.returncode == 0 else {"said": f"died ({done.returncode}): {done.stderr[-200:]}"}
    )
    well = not found.get("wrong", True) and found["mb"] <= MOST_MB
    words = " ".join(found["said"].replace(folder, "").split())
    row = (bomb.name, f"{size:,}", f"{found.get('mb', 0):.0f}", f"{found.get('s', 0):.1f}", words[:300])
    sys.stdout.write(f"| {' | '.join(row)} |{'' if well else ' WRONG'}\n")
    sys.stdout.flush()
    return well


def main(argv: list[str]) -> int:
    if argv[:1] == ["--read"]:
        measured(next(bomb for bomb in BOMBS if bomb.name == argv[1]), Path(argv[2]))
        return 0
    sys.stdout.write("| input | bytes | MB | s | answer |\n| --- | ---: | ---: | ---: | --- |\n")
    well = [exploded(bomb) for bomb in BOMBS if not argv or argv[0] in bomb.name]
    return int(not all(well))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
