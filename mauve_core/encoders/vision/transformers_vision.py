"""Vision models of transformers: DINOv2, ViT, CLIP's and SigLIP's vision towers, ConvNeXt and others.

Images are prepared by the model's own image processor, always with Pillow, so that a feature does not depend on which
packages are installed. A model that embeds images and texts together gives its embedding of the image. Of other models
it is the pooled output, or the first token where the pooled output is a dense layer on top, which many files lack.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mauve_core.base.config import Precision
from mauve_core.base.errors import ModelUnavailableError
from mauve_core.encoders.catalogue import ModelIdentity
from mauve_core.encoders.hub_files import hub_file
from mauve_core.encoders.loading import SAFE, load_config, load_weights, third_party
from mauve_core.encoders.model_files import CONFIG, FindFile, files_in, read_object
from mauve_core.encoders.opening import checked_folder
from mauve_core.encoders.precision import products_of
from mauve_core.encoders.quiet import quiet_libraries
from mauve_core.encoders.vision.model import VisionModel
from mauve_core.numerics.device.products import matrix_products

PROCESSOR = "preprocessor_config.json"

TOWERS = ("clip_vision_model", "dinov3_convnext", "dinov3_vit", "siglip_vision_model")
"""Types of models that give features of images alone, and so are in no list of transformers by task."""

EMBEDDING = "its embedding, in the space that it shares with texts"
FIRST_TOKEN = "the first token of the last layer, that of the class"
PLACES = "the average over the places of the last map"
POOLER = "its pooled output"
"""What a feature is."""

_PROJECTED = "CLIPVisionModelWithProjection"


def find_in(identity: ModelIdentity) -> FindFile:
    """Return what finds a file of a model's folder, or of its repository on the hub."""
    if identity.kind == "hub":
        return lambda file: hub_file(identity.location, identity.revision or "main", file)
    return files_in(Path(identity.location))


def takes_images(identity: ModelIdentity) -> bool:
    """Return whether a folder or hub model is of a type that classifies images, embeds them with texts, or is a tower.

    Others that see images, such as masked autoencoders, which hide parts at random, or models that answer questions,
    give no feature of an image.
    """
    if identity.kind not in ("folder", "hub"):
        return False
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,
        MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES,
    )

    config = find_in(identity)(CONFIG)
    kind = None if config is None else read_object(config).get("model_type")
    mappings = MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES, MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES
    return isinstance(kind, str) and (kind in TOWERS or any(kind in names for names in mappings))


def recipe_of(identity: ModelIdentity) -> str:
    """Return how images are prepared, by the digest of the processor's settings; ModelUnavailableError without them."""
    found = find_in(identity)(PROCESSOR)
    if found is None:
        raise ModelUnavailableError(
            f"The model {identity.name} has no {PROCESSOR}, which says how images are prepared",
            todo="Copy it next to the weights",
        )
    settings = json.dumps(read_object(found), sort_keys=True)
    digest = hashlib.sha256(settings.encode()).hexdigest()[:16]
    return f"prepared as its {PROCESSOR} says ({digest}), pooled by the model's own rule"


@quiet_libraries()
def load(identity: ModelIdentity, dtype: Precision, device: str) -> VisionModel:
    """Return the model on the device; errors as :func:`mauve_core.encoders.loading.load_weights`."""
    import torch
    import transformers

    folder = checked_folder(identity)
    config = load_config(folder, identity.name)
    with third_party(f"The image processor of the model {identity.name} in {folder}", identity.name, folder):
        processor = transformers.AutoImageProcessor.from_pretrained(str(folder), backend="pil", **SAFE)
    torch_type = getattr(torch, "float32" if dtype == "tf32" else dtype)
    factory = getattr(transformers, _PROJECTED) if _PROJECTED in (config.architectures or ()) else None
    model = load_weights(
        folder, identity.name, config, torch_type, with_head=False, device=device, factory=factory
    ).eval()

    def prepare(image: Image.Image) -> NDArray[np.float32]:
        with third_party(f"An image for the model {identity.name}", identity.name, folder):
            values = processor(images=image, return_tensors="np")["pixel_values"][0]
        return np.ascontiguousarray(values, dtype=np.float32)

    def run(images: NDArray[np.float32]) -> NDArray[np.float32]:
        with torch.inference_mode(), matrix_products(products_of(dtype), device):
            pixels = torch.from_numpy(images).to(device, torch_type)
            found: NDArray[np.float32] = _pooled(model, pixels)[0].float().cpu().numpy()
        return found

    sample = prepare(Image.new("RGB", (64, 64)))
    with torch.inference_mode():
        _, rule = _pooled(model, torch.from_numpy(sample[None]).to(device, torch_type))
    notes = (f"{identity.name} gives of each image {rule}.",)
    return VisionModel(identity, recipe_of(identity), prepare, run, device, sample.size, notes)


def _pooled(model: Any, pixels: Any) -> tuple[Any, str]:
    """Return the (b, d) features of (b, 3, h, w) pixels, and in words what they are."""
    if hasattr(model, "get_image_features"):
        found = model.get_image_features(pixel_values=pixels)
        return getattr(
            found, "pooler_output", found
        ), EMBEDDING  # transformers 5 returns an output, 4 the tensor itself
    output = model(pixel_values=pixels)
    if (embedding := getattr(output, "image_embeds", None)) is not None:
        return embedding, EMBEDDING
    pooled = getattr(output, "pooler_output", None)
    if pooled is None or hasattr(getattr(model, "pooler", None), "dense"):
        last = output.last_hidden_state
        # A map has places, and no first token.
        return (last.mean(dim=(2, 3)), PLACES) if last.ndim == 4 else (last[:, 0], FIRST_TOKEN)
    return pooled.flatten(1), POOLER
