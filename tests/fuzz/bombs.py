"""Small files that claim, or unpack to, more than any memory holds: ``python -m tests.fuzz.bombs`` prints a table.

Each must be refused within the bounds of one case; of images, those that are too large are left out. Large files are
sparse: they take no room on the disk.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import json
import multiprocessing
import os
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, cast

from mauve_core.base.files import read_toml
from mauve_core.cli.input_files import file_of
from mauve_core.encoders.gguf_files import check_header
from mauve_core.encoders.servers import Server
from mauve_core.encoders.vector_files import read_vectors
from mauve_core.jobs import state
from mauve_core.runs.archive import MANIFEST
from mauve_core.runs.rating_tables import ratings_from_csv
from mauve_core.texts import read_corpus
from mauve_core.texts.streams import ZSTANDARD, lines_of
from tests.fuzz import reading, samples
from tests.fuzz.image_bombs import IMAGES
from tests.fuzz.oracle import MEGABYTES, SECONDS, Outcome, judged

GB = 1 << 30
# What a bomb holds is read up to a limit of the program: millions of rows, not a few kilobytes.
BOMB_SECONDS = 3 * SECONDS
HUGE = 1 << 60


@dataclass(frozen=True)
class Bomb:
    """A hostile input.

    Attributes
    ----------
    make : callable
        Writes it below a folder and returns its path.
    read : callable
        Does with it what the program does with a user's.
    refused : bool
        Whether that must be an error; some images may be read.
    """

    make: Callable[[Path], Path]
    read: Callable[[Path], object]
    refused: bool = True


# A function makes what is large or slow to make, since every run of the tests imports this module.
Data = bytes | Callable[[], bytes]


def data_of(given: Data) -> bytes:
    return given if isinstance(given, bytes) else given()


def bytes_(name: str, *parts: Data) -> Callable[[Path], Path]:
    """A file of these bytes."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(b"".join(map(data_of, parts)))
        return path

    return make


def packed(name: str, block: Data, times: int, head: bytes = b"") -> Callable[[Path], Path]:
    """A gzip file of a megabyte or so that unpacks to a head and then the block so often."""

    def make(folder: Path) -> Path:
        path, data = folder / name, data_of(block)
        with gzip.open(path, "wb", 9) as stream:
            stream.write(head)
            for _ in range(times):
                stream.write(data)
        return path

    return make


def members(
    name: str, pack: Callable[[bytes], bytes], block: bytes, times: int, head: bytes = b""
) -> Callable[[Path], Path]:
    """A file of packed members, one after the other: a head, then a block of 100 MB made of this one so often."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(pack(head) + pack(block * (100_000_000 // len(block))) * times)
        return path

    return make


def repeated(name: str, head: bytes, block: bytes, times: int, end: bytes = b"") -> Callable[[Path], Path]:
    """A file of a head, the block so often, and an end."""
    return bytes_(name, head, lambda: block * times, end)


def zstandard(data: bytes) -> bytes:
    """The data as a Zstandard frame."""
    return bytes(import_module(ZSTANDARD).compress(data))


def sparse(name: str, head: bytes, size: int) -> Callable[[Path], Path]:
    """A file that begins with these bytes and goes on with zeros up to the size."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(head)
        os.truncate(path, size)
        return path

    return make


def array(shape: object, dtype: str = "<f4", data: bytes = b"") -> bytes:
    """A .npy file that claims that shape."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(header) + 1) + header + b"\n" + data


def model(**files: Data) -> Callable[[Path], Path]:
    """A sound model's folder with these files in place of its own; ``__`` stands for a dot."""

    def make(folder: Path) -> Path:
        path = samples.model(folder)
        for name, data in files.items():
            (path / name.replace("__", ".")).write_bytes(data_of(data))
        return path

    return make


def config(**values: int) -> Callable[[Path], Path]:
    """A sound model's folder whose configuration has these values."""

    def make(folder: Path) -> Path:
        path = samples.model(folder)
        file = path / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | values))
        return path

    return make


def weights(header: bytes, length: int | None = None) -> bytes:
    """A safetensors file with that header."""
    return struct.pack("<Q", len(header) if length is None else length) + header


def gguf(tensors: int, fields: int, rest: bytes = b"") -> bytes:
    """The beginning of a GGUF file with these counts."""
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, fields) + rest


def gguf_string(text: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(text) if length is None else length) + text


def archive(entries: Iterator[tuple[str, int]], manifest: Data) -> Callable[[Path], Path]:
    """An archive with such a manifest and entries of so many zeros."""

    def make(folder: Path) -> Path:
        path = folder / "run.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as written:
            written.writestr(MANIFEST, data_of(manifest))
            for name, size in entries:
                with written.open(name, "w", force_zip64=True) as stream:
                    for _ in range(size >> 20):
                        stream.write(bytes(1 << 20))
        return path

    return make


def lying_archive(folder: Path) -> Path:
    """An entry that says that it is small and unpacks to a gigabyte."""
    path, data = folder / "run.zip", zlib.compress(bytes(GB), 9)[2:-4]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as written:
        files = {"comparison.json": {"size": 10, "sha256": "0" * 64}}
        written.writestr(MANIFEST, json.dumps({"format": 1, "program": "1", "id": "a", "files": files}))
        written.writestr("comparison.json", "x" * 10)
    whole = stream.getvalue()
    local = whole.index(b"PK\x03\x04", 4)
    head = bytearray(whole[local : local + 30 + len("comparison.json")])
    struct.pack_into("<I", head, 18, len(data))
    central = bytearray(whole[whole.index(b"PK\x01\x02") :])
    last = central.rindex(b"PK\x01\x02")
    struct.pack_into("<I", central, last + 20, len(data))
    end = central.rindex(b"PK\x05\x06")
    struct.pack_into("<I", central, end + 16, local + len(head) + len(data))
    path.write_bytes(whole[:local] + bytes(head) + data + bytes(central))
    return path


MEGABYTE = b"a" * (1 << 20)
DEEP = 1_000_000
# 3 MB in a file, 80 MB in memory.
LISTS = b"[]," * (1 << 20)

TEXTS = {
    "3 GB of one line, gzipped": packed("a.jsonl.gz", MEGABYTE, 3000),
    "a thousand million empty lines, gzipped": packed("a.txt.gz", b"\n" * (1 << 20), 1000),
    "a value of 1 GB, gzipped": packed("a.csv.gz", MEGABYTE, 1000, b'text\n"'),
    "10 GB of one line, in bzip2": members("a.jsonl.bz2", bz2.compress, MEGABYTE, 100),
    "10 GB of one line, in Zstandard": members("a.jsonl.zst", zstandard, MEGABYTE, 100),
    "a thousand million empty lines, in bzip2": members("a.txt.bz2", bz2.compress, b"\n", 10),
    "a thousand million empty lines, in Zstandard": members("a.txt.zst", zstandard, b"\n", 10),
    "a value of 1 GB, in Zstandard": members("a.csv.zst", zstandard, MEGABYTE, 10, b'text\n"'),
    "a Parquet file of 10 GB, in bzip2": members("a.parquet.bz2", bz2.compress, bytes(1 << 20), 100, b"PAR1"),
    "a million brackets deep": bytes_("a.jsonl", b'{"text": ', b"[" * DEEP, b"]" * DEEP, b"}\n"),
    "a million objects deep": bytes_("a.json", b'{"a":' * DEEP, b"1", b"}" * DEEP),
    "a million columns": bytes_(
        "a.csv", lambda: b",".join(b"c%d" % i for i in range(DEEP)), b"\n", b"," * (DEEP - 1), b"\n"
    ),
    "a hundred thousand keys in each of fifty rows, gzipped": packed(
        "b.jsonl.gz", lambda: json.dumps({f"k{i}": i for i in range(100_000)}).encode() + b"\n", 50
    ),
    "a number of ten million digits": bytes_("a.jsonl", b'{"text": "a", "n": ', lambda: b"9" * 10_000_000, b"}\n"),
    "a quote that does not end": packed("q.tsv.gz", b"\n" * (1 << 20), 200, b'text\n"'),
    "8 GB of zeros": sparse("a.txt", b"text\n", 8 * GB),
    "8 GB of zeros called Parquet": sparse("a.parquet", b"PAR1", 8 * GB),
    "an object of 22 million lists": repeated("a.json", b'{"a":[', LISTS, 21, b"[]]}"),
    "a record of five million lists": repeated("a.json", b'[{"text":"a","b":[', LISTS, 5, b"[]]}]"),
    "a line of five million lists": repeated("a.jsonl", b'{"text":"a","b":[', LISTS, 5, b"[]]}\n"),
    "lines of 400,000 lists, gzipped": packed("a.jsonl.gz", b'{"text":"a","b":[' + b"[]," * 400_000 + b"[]]}\n", 60),
}
FEATURES = {
    "an array of 2^60 rows": bytes_("a.npy", array((HUGE, 8))),
    "an array of 2^60 columns": bytes_("a.npy", array((8, HUGE))),
    "an array of 16 GB in one row": sparse("a.npy", array((1, 4 * GB)), 16 * GB + 200),
    "an array of no bytes a row": bytes_("a.npy", array((HUGE, 0))),
    "a header of 4 GB": sparse("a.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff", 8 * GB),
    "a header a million brackets deep": bytes_("a.npy", array("(" * DEEP)),
    "a type of 2^40 bytes": bytes_("a.npy", array((1, 1), f"<U{1 << 40}")),
    "a list of pickled objects": bytes_("a.npy", array((9, 9), "|O", b"\x80\x04\x95" + b"\xff" * 100)),
}
VECTORS = {
    "a hundred million words, gzipped": packed("v.txt.gz", b"a 0.1 0.2\n" * 100_000, 1000, b"the 0.1 0.2\n"),
    "a line of 8 GB": sparse("v.txt", b"the 0.1 0.2\n", 8 * GB),
    "3 GB, gzipped": packed("v.txt.gz", MEGABYTE, 3000, b"the 0.1 0.2\nword 0.1 "),
}
MODELS = {
    "2^60 words": config(vocab_size=HUGE),
    "2^40 dimensions": config(n_embd=1 << 40),
    "ten million layers": config(n_layer=10_000_000),
    "2^60 positions": config(n_positions=HUGE),
    "weights with a header of 2^60 bytes": model(model__safetensors=weights(b"{}", HUGE)),
    "weights of 2^60 numbers": model(
        model__safetensors=weights(
            b'{"wte.weight":{"dtype":"F32","shape":[1073741824,1073741824],"data_offsets":[0,4]}}'
        )
    ),
    "weights of half a million tensors": model(
        model__safetensors=lambda: weights(
            json.dumps(
                {f"t{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(500_000)}
            ).encode()
        )
    ),
    "a configuration a million brackets deep": model(config__json=b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}"),
    "a configuration of ten million lists": model(config__json=lambda: b'{"a":[' + LISTS * 10 + b"[]]}"),
    "a tokenizer a million brackets deep": model(tokenizer__json=b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}"),
    "a tokenizer of a gigabyte": lambda folder: _sparse_in(samples.model(folder), "tokenizer.json"),
    "a configuration of a gigabyte": lambda folder: _sparse_in(samples.model(folder), "config.json"),
}
GGUFS = {
    "2^60 fields": bytes_("m.gguf", gguf(0, HUGE)),
    "2^60 tensors": bytes_("m.gguf", gguf(HUGE, 0)),
    "a name of 2^60 bytes": bytes_("m.gguf", gguf(0, 1, gguf_string(b"a", HUGE))),
    "an array of 2^60 arrays": bytes_(
        "m.gguf", gguf(0, 1, gguf_string(b"a") + struct.pack("<IIQ", 9, 9, HUGE) + struct.pack("<IQ", 9, HUGE) * 99)
    ),
    "a tensor of 2^240 numbers": bytes_(
        "m.gguf", gguf(1, 0, gguf_string(b"t") + struct.pack("<IQQQQIQ", 4, HUGE, HUGE, HUGE, HUGE, 0, 0))
    ),
}
_LISTED = json.dumps({"format": 1, "program": "1", "id": "a", "files": {}}).encode()
ARCHIVES = {
    "an entry of 10 GB": archive(iter([("features-0.npy", 10 * GB)]), _LISTED),
    "an entry that says it is small": lying_archive,
    "ten thousand entries": archive(((f"texts-{i}.parquet", 0) for i in range(10_000)), _LISTED),
    "a manifest of 1 GB": archive(iter([]), lambda: b" " * GB),
    "a manifest a million brackets deep": archive(iter([]), b"[" * DEEP),
    "a manifest of a million files": archive(
        iter([]),
        lambda: json.dumps(
            {"format": 1, "id": "a", "files": {f"a{i}": {"size": 0, "sha256": ""} for i in range(DEEP)}}
        ).encode(),
    ),
}
MOLECULES = {
    "50 million, gzipped": packed("a.smi.gz", b"C\n" * (1 << 20), 50),
    "50 million, in Zstandard": members("a.smi.zst", zstandard, b"C\n", 1),
}
SETTINGS = {
    "a key of 20,000 parts": repeated("a.toml", b"a", b".a", 20_000, b" = 1\n"),
    "60 lines of keys of 500 parts": repeated("a.toml", b"", b"a" + b".a" * 499 + b".b = 1\n", 60),
}
STATES = {"20 million lists": repeated("state.json", b'{"a":[', LISTS, 20, b"[]]}")}
ANSWERS = {
    "22 million lists": repeated("a.json", b"[", LISTS, 21, b"[]]"),
}
PIPES = {"yes": bytes_("a", b"yes"), "zeros": bytes_("a", b"cat /dev/zero")}
PATTERNS = {
    "the whole disk": bytes_("a", b"/**/**/none.jsonl"),
    "seven folders": bytes_("a", b"/*/*/*/*/*/*/*/none.jsonl"),
}
RATINGS = {
    "a cell of 100 MB": bytes_("r.csv", b'rater,left,right,option\n"', lambda: b"a" * 100_000_000, b'",a,b,tie\n')
}


def _sparse_in(folder: Path, name: str) -> Path:
    sparse(name, b"{", GB)(folder)
    return folder


def piped(path: Path) -> str:
    """What a command writes without end, as standard input."""
    with subprocess.Popen(path.read_text().split(), stdout=subprocess.PIPE) as source:
        sys.stdin = io.TextIOWrapper(cast("BinaryIO", source.stdout))
        try:
            return file_of("-")
        finally:
            source.kill()


def _bombs() -> dict[str, Bomb]:
    ids = {b"the": 0, b"and": 1}
    groups: dict[str, tuple[dict[str, Callable[[Path], Path]], Callable[[Path], object]]] = {
        "texts": (TEXTS, read_corpus),
        "features": (FEATURES, reading.scored),
        "word vectors": (VECTORS, lambda path: read_vectors(path, ids)),
        "model": (MODELS, reading.encoded),
        "GGUF": (GGUFS, check_header),
        "archive": (ARCHIVES, reading.imported),
        "molecules": (MOLECULES, lines_of),
        "settings": (SETTINGS, read_toml),
        "state of a job": (STATES, state.read_json),
        "answer of a server": (ANSWERS, lambda path: Server("http://127.0.0.1:9/v1")._parsed(path.read_bytes())),
        "standard input": (PIPES, piped),
        "pattern": (PATTERNS, lambda path: read_corpus(path.read_text())),
        "ratings": (RATINGS, lambda path: ratings_from_csv(path.read_bytes())),
    }
    found = {
        f"{group}: {name}": Bomb(make, read) for group, (made, read) in groups.items() for name, make in made.items()
    }
    return found | {f"images: {name}": Bomb(make, read_corpus, refused=False) for name, make in IMAGES.items()}


BOMBS = _bombs()


def exploded(bomb: Bomb, folder: Path) -> Outcome:
    """What became of the bomb, made below the folder by a process of its own, which takes its memory with it."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=lambda: there.send(bomb.make(folder)))
    child.start()
    path = here.recv()
    child.join()
    return judged(lambda: bomb.read(path), folder, BOMB_SECONDS)


def main() -> int:
    """Print a row for each bomb."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="write the table to this file, too")
    parser.add_argument("--only", default="", help="a part of the names of those that are tried")
    given, wrong = parser.parse_args(), 0
    lines = ["| bomb | seconds | MB | answer |\n", "| --- | ---: | ---: | --- |\n"]
    sys.stdout.writelines(lines)
    for name, bomb in ((name, bomb) for name, bomb in BOMBS.items() if given.only in name):
        with tempfile.TemporaryDirectory() as folder:
            found = exploded(bomb, Path(folder))
            answer = (
                (found.wrong or found.answer or ("ACCEPTED" if bomb.refused else "read"))
                .replace(folder, "")
                .splitlines()[0]
            )
        wrong += bool(found.wrong) or (bomb.refused and not found.answer)
        lines.append(f"| {name} | {found.seconds:.1f} | {found.megabytes:.0f} | {answer} |\n")
        sys.stdout.write(lines[-1])
        sys.stdout.flush()
    if given.out is not None:
        bounds = f"Bounds: {BOMB_SECONDS} s and {MEGABYTES} MB."
        head = f"# Files that claim, or unpack to, more than memory holds\n\n{bounds}\n\n"
        given.out.write_text(head + "".join(lines))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
