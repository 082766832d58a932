"""Images as a kind of item: folders, zip archives and tables of PNG, JPEG, WebP, GIF and TIFF files.

An image's id is its path in the folder or archive, or that of its row in a table, and its text a few words that
describe it (:mod:`mauve_core.images.describing`). Folders become metadata: ``cats/indoors`` gives the columns
``folder`` and ``folder 2``. So do the properties of :mod:`mauve_core.images.properties`, and the columns of a table
(:mod:`mauve_core.images.tables`). Images of equal id on several sides belong together, as texts of one prompt do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.base.words import Words, real_items
from mauve_core.corpus.corpus import Corpus
from mauve_core.corpus.entries import pick
from mauve_core.corpus.folders import spelled_out
from mauve_core.corpus.formats import title_of
from mauve_core.corpus.kinds import PerturbedCorpus, require_no_fields
from mauve_core.corpus.media import Media
from mauve_core.corpus.metadata import frame_of, numbers_in
from mauve_core.corpus.offers import Offer
from mauve_core.corpus.perturbations import Perturbation, PerturbationKind
from mauve_core.corpus.properties import Property
from mauve_core.images.decoding import SUFFIXES
from mauve_core.images.offered import OFFER
from mauve_core.images.perturbing import PERTURBATIONS, PROBES, perturb
from mauve_core.images.properties import PROPERTIES
from mauve_core.images.reading import ReadImages, read_images, read_place
from mauve_core.images.tables import ImageTable, image_columns, is_image_table, open_table

if TYPE_CHECKING:
    import pandas as pd

    from mauve_core.images.encoding import ImageEncoder

# Files of a folder whose suffixes decide whether it holds images.
LOOKED_AT = 10_000

# Metadata column of the outermost folder; further ones are ``folder 2``, ``folder 3``.
FOLDER = "folder"


@dataclass(frozen=True)
class ImageKind:
    """Images; see :class:`mauve_core.corpus.kinds.Kind`."""

    name: str = "image"
    words: Words = field(default_factory=lambda: real_items("image", "images"))
    model: str = "efficientnet-lite0"
    offer: Offer = OFFER
    suffixes: tuple[str, ...] = ("zip", "parquet")
    has_words: bool = False
    properties: Mapping[str, Property] = field(default_factory=lambda: PROPERTIES)
    perturbations: Mapping[str, PerturbationKind[Image.Image]] = field(default_factory=lambda: PERTURBATIONS)
    probes: tuple[str, ...] = PROBES
    libraries: tuple[str, ...] = ("pillow",)

    def measure(self, corpus: Corpus) -> dict[str, NDArray[np.float64]]:
        """Return the properties that were found when the images were read."""
        return numbers_in(corpus.metadata, PROPERTIES)

    def described(self, corpus: Corpus) -> tuple[str, ...]:
        return corpus.texts

    def recognizes(self, path: Path, field: str | None = None) -> bool:
        """Whether most files of a folder are images, counted against .txt files; of a table, whether a column is.

        A zip archive is always read as one of images, which says what is wrong with it.
        """
        if path.is_dir():
            suffixes = [PurePosixPath(name).suffix.lower() for name in islice(_files_below(path), LOOKED_AT)]
            images = sum(suffix in SUFFIXES for suffix in suffixes)
            return images > suffixes.count(".txt")
        return path.suffix.lower() == ".zip" or is_image_table(path, field)

    def columns(self, path: Path) -> tuple[str, ...]:
        return image_columns(path)

    def read(
        self, path: str | Path, *, name: str | None, fields: Mapping[str, Any], progress: Progress = silent
    ) -> Corpus:
        """Read all images that can be used; the others are counted with their reasons.

        Raises
        ------
        InputError
            As :func:`mauve_core.images.reading.read_images`, or a field was named; or as
            :func:`mauve_core.images.tables.open_table`.
        """
        where = Path(path)
        if where.is_dir() or where.suffix.lower() == ".zip":
            require_no_fields(path, self.words.items, fields)
            table, found = None, read_images(path, progress)
        else:
            if "quoting" in fields:
                raise InputError(
                    f"{path} holds {self.words.items}; quoting is for tables of texts", todo="Leave it out"
                )
            table = open_table(where, **fields)
            found = read_place(table, progress)
        metadata, notes = frame_of(_columns(found), len(found.images), typed=True), found.notes
        if table is not None:
            described = _rows_of(table, found)
            twice = [str(field) for field in described if field in metadata]
            metadata = described.drop(columns=twice).join(metadata)
            if twice:
                notes = (f"Columns that are found from the images themselves replace: {', '.join(twice)}.", *notes)
            notes = (*table.notes, *notes)
        return Corpus(
            name=name or title_of(where),
            texts=tuple(image.words for image in found.images),
            ids=tuple(image.name for image in found.images),
            prompts=None,
            metadata=metadata,
            origin=spelled_out(path),
            notes=notes,
            exclusions=found.exclusions,
            fields=None if table is None else table.fields,
            numbered=table is not None and table.numbered,
            kind=self.name,
            media=Media(tuple(image.digest for image in found.images), found.thumbnails),
        )

    def encoder(self, config: EncoderConfig, device: str) -> ImageEncoder:
        from mauve_core.images.encoding import ImageEncoder

        return ImageEncoder(config, device)

    def perturb(
        self, corpus: Corpus, perturbation: Perturbation, *, seed: int, progress: Progress = silent
    ) -> PerturbedCorpus:
        return perturb(corpus, perturbation, seed=seed, progress=progress)


def _rows_of(table: ImageTable, found: ReadImages) -> pd.DataFrame:
    """The metadata that a table has of the images that were read."""
    kept = [table.row_of[image.name] for image in found.images]
    columns = {field: pick(table.table.values(field), kept) for field in table.fields.metadata}
    return frame_of(columns, len(kept), typed=table.table.typed)


def _columns(found: ReadImages) -> dict[str, list[Any]]:
    depth = max(len(image.levels) for image in found.images)
    columns: dict[str, list[Any]] = {
        FOLDER if level == 0 else f"{FOLDER} {level + 1}": [
            image.levels[level] if level < len(image.levels) else None for image in found.images
        ]
        for level in range(depth)
    }
    return columns | {name: [image.properties[name] for image in found.images] for name in PROPERTIES}


def _files_below(folder: Path) -> Iterator[str]:
    for _, _, files in os.walk(folder):
        yield from files


IMAGE = ImageKind()
