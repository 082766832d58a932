"""Images as a kind of item: folders, zip archives and tables of PNG, JPEG, WebP, GIF and TIFF files; their encoders.

An image's id is its path in the folder or archive, or that of its row in a table, and its text a few words that
describe it (:mod:`mauve_core.images.reading`). Folders become metadata: ``cats/indoors`` gives the columns
``folder`` and ``folder 2``. So do the image's properties and the columns of a table. Images of equal id on several
sides belong together, as texts of one prompt do. To be encoded by a vision model, images are decoded anew from where
they were read; one that changed since then is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.base.progress import Progress, silent
from mauve_core.base.words import Words
from mauve_core.encoders import hub
from mauve_core.encoders.by_content import ContentEncoder, ItemModel
from mauve_core.encoders.catalogue import (
    IMAGE_ENCODERS,
    INCEPTION_CLEAN,
    INCEPTION_FID,
    PIXELS,
    VISION,
    ModelIdentity,
    check_model,
    identify,
    inception_weights,
    must_be_fetched,
)
from mauve_core.encoders.vision import is_vision_model, open_vision_model, vision_recipe
from mauve_core.encoders.vision_models import VisionModel
from mauve_core.images.decoding import IMAGE_SUFFIXES
from mauve_core.images.files import alteration_of, original
from mauve_core.images.perturbing import PERTURBATIONS, PROBES, perturb
from mauve_core.images.reading import PROPERTIES, ReadImages, read_images, read_place
from mauve_core.images.tables import ImageTable, image_columns, is_image_table, open_table, place_of
from mauve_core.texts.corpus import Corpus
from mauve_core.texts.entries import pick
from mauve_core.texts.kinds import AvailableModel, Offer, PerturbedCorpus, require_no_fields
from mauve_core.texts.media import Media
from mauve_core.texts.metadata import frame_of, numbers_in
from mauve_core.texts.perturbations import Perturbation, PerturbationKind
from mauve_core.texts.properties import Property
from mauve_core.texts.reading import title_of
from mauve_core.texts.streams import spelled_out

if TYPE_CHECKING:
    import pandas as pd


# Numbers of prepared images in a batch, by kind of device.
BATCH_NUMBERS = {"cpu": 16 * 3 * 224 * 224, "cuda": 256 * 3 * 224 * 224}


class ImageEncoder(ContentEncoder[NDArray[np.float32]]):
    """A vision model; parameters and errors as those of :class:`ContentEncoder`."""

    kind = "image"

    def identify(self) -> tuple[ModelIdentity, str]:
        identity = identify(self.config.model, self.config.revision)
        require_takes_images(identity)
        return identity, vision_recipe(identity, self.config.pooling)

    def open(self, identity: ModelIdentity, device: str) -> ItemModel[NDArray[np.float32]]:
        model = open_vision_model(self.config, identity, device)

        def reader(corpus: Corpus) -> Callable[[int], NDArray[np.float32]]:
            place, digests = place_of(corpus), self.digests(corpus)
            alteration = alteration_of(corpus)

            def prepare(index: int) -> NDArray[np.float32]:
                name, digest = corpus.ids[index], digests[index]
                made = None if alteration is None else alteration.made(digest)
                if made is not None:
                    return model.prepare(made)
                with original(place, name, digest) as image:
                    return model.prepare(image if alteration is None else alteration(image, digest))

            return prepare

        return ItemModel(
            reader, lambda images: model.run(np.stack(images)), model.device, _batch_size(model), model.notes
        )


def require_takes_images(identity: ModelIdentity) -> None:
    """Raise ModelUnavailableError unless the model is one of images."""
    if not is_vision_model(identity):
        raise ModelUnavailableError(
            f"The model {identity.name} does not encode images",
            allowed=f"{', '.join(IMAGE_ENCODERS)}, or a vision model's Hugging Face id or folder, such as "
            "facebook/dinov2-small, openai/clip-vit-base-patch32 or timm/resnet50.a1_in1k",
            todo="Name another encoder",
        )


def _batch_size(model: VisionModel) -> int:
    return max(1, BATCH_NUMBERS["cuda" if "cuda" in model.device else "cpu"] // model.image_numbers)


_INCEPTION = {
    INCEPTION_FID: "Inception v3 with the resize of TensorFlow, as most published FIDs and KIDs have it",
    INCEPTION_CLEAN: "Inception v3 with the resize of clean-fid",
}
_PIXELS = "Brightness, colors and edges by place: a baseline without a network (offline)"
_HUB = {
    "facebook/dinov2-small": "DINOv2 small, trained on images alone (hub)",
    "openai/clip-vit-base-patch32": "CLIP, trained on images and their captions (hub)",
    "google/siglip-base-patch16-224": "SigLIP, trained on images and their captions (hub)",
    "timm/resnet50.a1_in1k": "ResNet-50, trained on ImageNet's classes, by timm (hub)",
}

# Settings of models of transformers and timm; others compute in one way.
_OF_TRANSFORMERS = frozenset({"dtype", "revision"})


def available_encoders() -> tuple[AvailableModel, ...]:
    """Return the encoders that ship, that of one file, the baseline, and common hub models."""
    weights = inception_weights().is_file()
    found = {name: (model.description, model.locate() is not None) for name, model in VISION.items()}
    found |= {name: (text, weights) for name, text in _INCEPTION.items()}
    found |= {PIXELS: (_PIXELS, True)}
    found |= {name: (text, hub.cached_commit(name, None) is not None) for name, text in _HUB.items()}
    return tuple(AvailableModel(name, text, ready, causal=False) for name, (text, ready) in found.items())


def check_encoder(name: str, revision: str | None = None) -> None:
    """Refuse what is known to be no encoder of images, without asking the hub.

    Raises
    ------
    InputError, ModelUnavailableError
        As :func:`mauve_core.encoders.check_model`, or the model is on this machine and takes no images.
    """
    check_model(name, revision)
    if not must_be_fetched(name, revision):
        require_takes_images(identify(name, revision))


OFFER = Offer(
    models=available_encoders,
    others="Or type the Hugging Face id or the folder of a vision model.",
    settings=lambda model: frozenset() if model in IMAGE_ENCODERS else _OF_TRANSFORMERS,
    fetched=must_be_fetched,
    check=check_encoder,
)


# Files of a folder whose suffixes decide whether it holds images.
LOOKED_AT = 10_000

# Metadata column of the outermost folder; further ones are ``folder 2``, ``folder 3``.
FOLDER = "folder"


@dataclass(frozen=True)
class ImageKind:
    """Images; see :class:`mauve_core.texts.kinds.Kind`."""

    name: str = "image"
    words: Words = field(default_factory=lambda: Words("image", "images", "real", "real images", "id"))
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
            images = sum(suffix in IMAGE_SUFFIXES for suffix in suffixes)
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
