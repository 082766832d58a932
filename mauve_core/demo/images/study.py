"""The demo of images as a run: held-out real digits against the model's, by the temperature of its noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mauve_core.base.config import CompareConfig, EncoderConfig
from mauve_core.base.errors import StorageError
from mauve_core.base.files import digest_of_file, home
from mauve_core.base.progress import Progress, silent
from mauve_core.corpus.kinds import kind_of
from mauve_core.corpus.text_files import TextFile
from mauve_core.demo.images.build import DATA, MANIFEST, write_archive
from mauve_core.demo.images.digits import SPLITS, real_digits
from mauve_core.store import RunStore
from mauve_core.tasks.comparison import ComparisonTask

DEMO_RUN = "demo-images"
KEPT = "demo-images"
"""Folder below the home folder, for the real digits: a run's images are read where they lie."""

MODEL = kind_of("image").model
OTHER_REAL = "other real"
NOTES = (
    "Handwritten digits of MNIST against those of a small model trained on others of them, by the temperature of its "
    f"noise. {OTHER_REAL!r} is a second set of real digits: what no model can be expected to beat."
)


def prepare_images(data: Path = DATA, *, again: bool = False, progress: Progress = silent) -> str:
    """Store the demo as a run, in minutes, and return its id.

    A stored run is kept unless ``again``, which moves it to the trash.

    Raises
    ------
    InputError
        The package with the real digits is missing.
    StorageError
        The committed archives are missing, or are not those of their manifest.
    """
    runs = RunStore()
    if any(summary.id == DEMO_RUN for summary in runs.list()):
        if not again:
            return DEMO_RUN
        runs.delete(DEMO_RUN)
    sides = {name: str(_checked(data, entry)) for name, entry in read_manifest(data)["sides"].items()}
    folder = home() / KEPT
    reference, other = folder / "real.zip", folder / "other-real.zip"
    write_archive(reference, real_digits("real"))
    write_archive(other, real_digits(OTHER_REAL), first=SPLITS["real"])
    run = ComparisonTask(
        name=DEMO_RUN,
        human=TextFile(str(reference)),
        candidates={name: TextFile(path) for name, path in (sides | {OTHER_REAL: str(other)}).items()},
        config=CompareConfig(encoder=EncoderConfig(model=MODEL)),
    ).make(progress)
    runs.describe(run.id, notes=NOTES)
    return run.id


def read_manifest(data: Path = DATA) -> dict[str, Any]:
    """Read what the images were made of; StorageError if there is nothing."""
    path = data / MANIFEST
    if not path.exists():
        raise StorageError(
            f"No images of the demo under {data}",
            todo="Make them: mauve-lens demo images --rebuild (a quarter of an hour)",
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
