"""Make the committed images of the demo: train the model of digits, and sample it at each temperature."""

from __future__ import annotations

import io
import json
import platform
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from mauve_core.base.bundled import bundled
from mauve_core.base.files import digest_of_file, write_atomically
from mauve_core.base.progress import Progress, silent
from mauve_core.demo.images.digits import PACKAGE, SHA256, SPLIT_SEED, SPLITS, Digits, real_digits
from mauve_core.demo.images.flow import Velocity, sample, train

DATA = bundled("demo_images")
TEMPERATURES = (0.4, 0.6, 0.8, 1.0, 1.2)
STEPS = {"training": 3_000, "sampling": 12}
SEED = 0
MANIFEST = "manifest.json"
WHITE = 128
"""Values from which on a pixel is written as white."""


def side_name(temperature: float) -> str:
    """Return a side's name, in which the sweep over decoders finds the temperature."""
    return f"temperature:t={temperature:g}"


def build_images(data: Path = DATA, *, progress: Progress = silent) -> Path:
    """Train the model and write its digits under ``data``; see :func:`write_sides`. A quarter of an hour on two cores.

    Raises
    ------
    InputError, StorageError
        As :func:`mauve_core.demo.images.digits.real_digits`.
    """
    return write_sides(train(real_digits("training"), steps=STEPS["training"], seed=SEED, progress=progress), data)


def write_sides(model: Velocity, data: Path) -> Path:
    """Write an archive of PNG files for each temperature, and the manifest, whose path is returned.

    Each digit has the class and the name of a held-out real digit. All temperatures start from the same noise, but for
    its scale.
    """
    labels = real_digits("real").labels
    sides: dict[str, Any] = {}
    for temperature in TEMPERATURES:
        made = sample(model, labels, temperature=temperature, steps=STEPS["sampling"], seed=SEED)
        path = data / f"temperature-{temperature:g}.zip"
        write_archive(path, made)
        sides[side_name(temperature)] = {
            "file": path.name,
            "temperature": temperature,
            "images": len(made),
            "sha256": digest_of_file(path),
        }
    manifest = {
        "real": {"package": PACKAGE, "file_sha256": SHA256, "split_seed": SPLIT_SEED, "splits": SPLITS},
        "model": {
            "parameters": sum(weights.numel() for weights in model.parameters()),
            "steps": STEPS,
            "seed": SEED,
            "torch": torch.__version__,
            "machine": platform.machine(),
        },
        "sides": sides,
        "command": "mauve-lens demo images --rebuild",
    }
    text = json.dumps(manifest, indent=1) + "\n"
    write_atomically(data / MANIFEST, lambda stream: stream.write(text.encode()))
    return data / MANIFEST


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
            for name, data in _files(digits, first):
                archive.writestr(zipfile.ZipInfo(name), data)  # without a time, so that bytes are equal

    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, write)


def _files(digits: Digits, first: int) -> Iterator[tuple[str, bytes]]:
    for number, (pixels, label) in enumerate(zip(digits.pixels, digits.labels, strict=True), first):
        stream = io.BytesIO()
        Image.fromarray(pixels >= WHITE).save(stream, "PNG", optimize=True)
        yield f"{label}/{number:04d}.png", stream.getvalue()
