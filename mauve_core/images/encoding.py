"""Encode images with a vision model, as :mod:`mauve_core.encoders.by_content` encodes items of any kind.

Images are decoded anew from where they were read; one that changed since then is refused.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import ModelUnavailableError
from mauve_core.corpus.corpus import Corpus
from mauve_core.encoders.by_content import ContentEncoder, ItemModel
from mauve_core.encoders.catalogue import IMAGE_ENCODERS, ModelIdentity, identify
from mauve_core.encoders.vision import VisionModel, is_vision_model, open_vision_model, vision_recipe
from mauve_core.images.originals import alteration_of, original
from mauve_core.images.tables import place_of

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
