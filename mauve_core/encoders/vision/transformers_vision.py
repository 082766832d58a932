"""Vision models of transformers: DINOv2, ViT, CLIP's and SigLIP's vision towers, ConvNeXt and others.

Images are prepared by the model's own image processor, always with Pillow, so that a feature does not depend on which
packages are installed. A model that embeds images and texts together gives its embedding of the image. Of other models
it is the pooled output, or the first token where the pooled output is a dense layer on top, which many files lack;
without a class token, the average over places.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mauve_core.base.config import Precision
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.encoders.catalogue import ModelIdentity
from mauve_core.encoders.hub_files import hub_file
from mauve_core.encoders.loading import SAFE, load_config, load_weights, third_party
from mauve_core.encoders.model_files import CONFIG, FindFile, damaged, files_in, read_object
from mauve_core.encoders.opening import checked_folder
from mauve_core.encoders.precision import products_of
from mauve_core.encoders.quiet import quiet_libraries
from mauve_core.encoders.vision.model import VisionModel
from mauve_core.numerics.device.products import matrix_products

PROCESSOR = "preprocessor_config.json"

# Largest side to which an image is resized; those of Donut have it, other models up to some 1,000.
MOST_PIXELS = 2560

# Types of models that give features of images alone, and so are in no list of transformers by task.
TOWERS = ("clip_vision_model", "dinov3_convnext", "dinov3_vit", "siglip_vision_model")

# Types that give features of images; they are known before transformers is imported.
TYPES = frozenset((
    "align", "altclip", "beit", "bit", "blip", "chinese_clip", "clip", "clipseg", "convnext", "convnextv2", "cvt",
    "data2vec-vision", "deit", "dinat", "dinov2", "dinov2_with_registers", "donut-swin", "efficientnet", "focalnet",
    "hiera", "ijepa", "levit", "metaclip_2", "mobilenet_v1", "mobilenet_v2", "mobilevit", "mobilevitv2", "poolformer",
    "pvt", "pvt_v2", "regnet", "resnet", "segformer", "siglip", "swiftformer", "swin", "swinv2", "textnet", "vit",
    "vit_msn", *TOWERS,
))  # fmt: skip

# Types that transformers lists among those above, and why they give no feature.
REFUSED = {
    "hgnet_v2": "which gives maps of several depths",
    "imagegpt": "which reads an image as a sequence of colors",
    "perceiver": "which takes arrays of any kind, through a network of its own for each kind",
    "pp_lcnet": "which transformers has with its classifier only",
    "shieldgemma2": "which answers questions about an image",
    "siglip2": "whose images keep their own proportions (NaFlex)",
    "videoprism": "which takes videos",
}

# Types whose tokens are all places of the image, and without a pooled output.
WITHOUT_CLASS_TOKEN = ("ijepa",)

EMBEDDING = "its embedding, in the space that it shares with texts"
FIRST_TOKEN = "the first token of the last layer, that of the class"
PLACES = "the average over the places of the last layer"
# What a feature is.
POOLER = "its pooled output"

_PROJECTED = "CLIPVisionModelWithProjection"


def find_in(identity: ModelIdentity) -> FindFile:
    """Return what finds a file of a model's folder, or of its repository on the hub."""
    if identity.kind == "hub":
        return lambda file: hub_file(identity.location, identity.revision or "main", file)
    return files_in(Path(identity.location))


def config_of(identity: ModelIdentity) -> dict[str, Any] | None:
    """Return the content of the config.json of a folder or hub model; None if it has none or is of another kind."""
    found = find_in(identity)(CONFIG) if identity.kind in ("folder", "hub") else None
    return None if found is None else read_object(found)


def takes_images(config: Mapping[str, Any], name: str) -> bool:
    """Return whether a model is of a type that classifies images, embeds them with texts, or is a tower.

    Others that see images, such as masked autoencoders, which hide parts at random, or models that answer questions,
    give no feature of an image. transformers is asked about types that are not in ``TYPES``.

    Raises
    ------
    InputError
        The type is one of ``REFUSED``.
    """
    kind = config.get("model_type")
    if not isinstance(kind, str):
        return False
    if kind in REFUSED:
        raise InputError(
            f"The model {name} is of type {kind}, {REFUSED[kind]}",
            allowed="models that give one vector for an image of fixed size",
            todo="Name another encoder, such as facebook/dinov2-small or google/siglip2-base-patch16-224",
        )
    if kind in TYPES:
        return True
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,
        MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES,
    )

    mappings = MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES, MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES
    return any(kind in names for names in mappings)


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
    averaged = (config_of(identity) or {}).get("model_type") in WITHOUT_CLASS_TOKEN
    pooled = "averaged over places" if averaged else "pooled by the model's own rule"
    return f"prepared as its {PROCESSOR} says ({digest}), {pooled}"


@quiet_libraries()
def load(identity: ModelIdentity, dtype: Precision, device: str) -> VisionModel:
    """Return the model on the device; errors as :func:`mauve_core.encoders.loading.load_weights`."""
    import torch
    import transformers

    folder = checked_folder(identity)
    config = load_config(folder, identity.name)
    if (folder / PROCESSOR).exists():
        _check_sizes(folder / PROCESSOR)
    with third_party(f"The image processor of the model {identity.name} in {folder}", identity.name, folder):
        processor = transformers.AutoImageProcessor.from_pretrained(str(folder), backend="pil", **SAFE)
    torch_type = getattr(torch, "float32" if dtype == "tf32" else dtype)
    factory = getattr(transformers, _PROJECTED) if _PROJECTED in (config.architectures or ()) else None
    model = load_weights(
        folder, identity.name, config, torch_type, with_head=False, device=device, factory=factory
    ).eval()

    def prepared(image: Image.Image) -> NDArray[np.float32]:
        with third_party(f"An image for the model {identity.name}", identity.name, folder):
            values = processor(images=image, return_tensors="np")["pixel_values"][0]
        return np.ascontiguousarray(values, dtype=np.float32)

    sample = prepared(Image.new("RGB", (64, 64)))

    def prepare(image: Image.Image) -> NDArray[np.float32]:
        values = prepared(image)
        if values.shape != sample.shape:
            raise InputError(
                f"The {PROCESSOR} of the model {identity.name} prepares images of different shapes differently",
                allowed=f"{' x '.join(map(str, sample.shape))} numbers for every image, as for a square",
                received=f"{' x '.join(map(str, values.shape))} numbers for one of {image.width} x {image.height}",
                todo="Set a height and a width as its size, or cut out a square (do_center_crop)",
            )
        return values

    def run(images: NDArray[np.float32]) -> NDArray[np.float32]:
        with torch.inference_mode(), matrix_products(products_of(dtype), device):
            pixels = torch.from_numpy(images).to(device, torch_type)
            found: NDArray[np.float32] = _pooled(model, pixels)[0].float().cpu().numpy()
        return found

    with torch.inference_mode():
        _, rule = _pooled(model, torch.from_numpy(sample[None]).to(device, torch_type))
    notes = (f"{identity.name} gives of each image {rule}.",)
    return VisionModel(identity, recipe_of(identity), prepare, run, device, sample.size, notes)


def _check_sizes(path: Path) -> None:
    """Refuse settings of a processor with sizes beyond any model's."""
    settings = read_object(path)
    crop = settings.get("crop_pct")  # of ConvNeXt: the part of the resized image that is cut out
    part = crop if isinstance(crop, int | float) and 0 < crop < 1 else 1
    for name, value in settings.items():
        sides = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        if name.endswith("size") and any(isinstance(side, int | float) and side / part > MOST_PIXELS for side in sides):
            within = f"sides{' / crop_pct' if part < 1 else ''} of up to {MOST_PIXELS:,} pixels"
            raise damaged(path, f"{name} = {value!r}{f', crop_pct = {crop}' if part < 1 else ''}", within)


def _pooled(model: Any, pixels: Any) -> tuple[Any, str]:
    """Return the (b, d) features of (b, 3, h, w) pixels, and in words what they are."""
    if hasattr(model, "get_image_features"):
        found = model.get_image_features(pixel_values=pixels)
        # transformers 5 returns an output, 4 the tensor itself.
        return getattr(found, "pooler_output", found), EMBEDDING
    output = model(pixel_values=pixels)
    if (embedding := getattr(output, "image_embeds", None)) is not None:
        return embedding, EMBEDDING
    pooled = getattr(output, "pooler_output", None)
    if pooled is not None and not hasattr(getattr(model, "pooler", None), "dense"):
        return pooled.flatten(1), POOLER
    last = output.last_hidden_state
    if last.ndim == 4:  # a map has places, and no first token
        return last.mean(dim=(2, 3)), PLACES
    return (last.mean(dim=1), PLACES) if model.config.model_type in WITHOUT_CLASS_TOKEN else (last[:, 0], FIRST_TOKEN)
