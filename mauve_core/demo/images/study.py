"""The demo of images as a run: held-out real digits against the model's, by the temperature of its noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import StorageError
from mauve_core.base.files import bundled, digest_of_file, home
from mauve_core.base.progress import Progress, silent
from mauve_core.demo.finished import FINISHED, store
from mauve_core.demo.images.digits import SPLITS, real_digits, write_archive
from mauve_core.texts import Corpus, read_corpus

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
