"""Vision models of timm and of transformers: how their images are prepared, what is taken as a feature.

timm itself builds the network (ResNet, ViT, ConvNeXt, Swin and several hundred others), reads its weights and prepares
images, so that features are those of its own code: ``forward_head(forward_features(x), pre_logits=True)`` of what its
evaluation transform makes of an image. transformers wraps timm, too, but its wrapper does not open what timm has saved
since it stores the arguments of a model. What is added here are the restrictions of :mod:`mauve_core.encoders.loading`:
a configuration cannot build more than the weights on disk hold, and timm, which keeps random values for some missing
weights, must have read all of them.

Models of transformers (DINOv2, ViT, CLIP's and SigLIP's vision towers and others) prepare images by their own image
processor, always with Pillow, so that a feature does not depend on which packages are installed. A model that embeds
images and texts together gives its embedding of the image. Of other models it is the pooled output, or the first token
where the pooled output is a dense layer on top, which many files lack; without a class token, the average over places.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mauve_core.base.config import Precision
from mauve_core.base.errors import InputError, ModelUnavailableError, words_of
from mauve_core.base.extras import MissingPackageError, require
from mauve_core.clusters.devices import matrix_products
from mauve_core.encoders.catalogue import ModelIdentity
from mauve_core.encoders.devices import products_of
from mauve_core.encoders.hub import hub_file, quiet_libraries
from mauve_core.encoders.loading import SAFE, building_budget, load_config, load_weights, third_party
from mauve_core.encoders.model_files import (
    CONFIG,
    FindFile,
    StoredWeights,
    check_counts,
    damaged,
    files_in,
    find_weights,
    read_object,
    whole_number_tensors,
)
from mauve_core.encoders.models import checked_folder


@dataclass(frozen=True, eq=False)
class VisionModel:
    """A model of images.

    Attributes
    ----------
    identity : ModelIdentity
    recipe : str
        How an image is prepared and the model's output pooled, in words. It enters the key of features.
    prepare : callable
        RGB image -> float32 array, of one shape for all images. Threads may call it at once.
    run : callable
        (b, ...) prepared images -> (b, d) float32 features, both on the host.
    device : str
    image_numbers : int
        Numbers of a prepared image.
    notes : tuple of str
        What a reader must know of the features.
    """

    identity: ModelIdentity
    recipe: str
    prepare: Callable[[Image.Image], NDArray[np.float32]]
    run: Callable[[NDArray[np.float32]], NDArray[np.float32]]
    device: str
    image_numbers: int
    notes: tuple[str, ...] = ()


# The model_type that transformers gives a model of timm; timm itself writes none.
WRAPPED = "timm_wrapper"

# Weights that timm reads first, of those whose digest is known.
TIMM_FILES = ("model.safetensors", "pytorch_model.bin")

CHANNELS = 3

# Largest side to which an image is resized; models have up to some 1,000. The smallest network takes 400 MB at it.
MOST_PIXELS_OF_TIMM = 1536

_RECIPE = (
    f"prepared by timm's evaluation transform as its {CONFIG} says, the model's own pooled features before its head"
)


def is_of_timm(config: Mapping[str, Any]) -> bool:
    """Return whether a config.json is one of timm's."""
    return isinstance(config.get("architecture"), str) and config.get("model_type") in (None, WRAPPED)


def recipe_of_timm(_: ModelIdentity) -> str:
    """Return how images are prepared and outputs pooled; what config.json says is part of the model's digest."""
    return _RECIPE


def load_of_timm(identity: ModelIdentity, dtype: Precision, device: str) -> VisionModel:
    """Return the model on the device.

    Raises
    ------
    ModelUnavailableError
        timm is not installed or does not know the architecture, or not all weights are from the model's files.
    InputError
        The model takes no color images, or gives no one vector for an image.
    """
    import torch

    timm = _library(identity.name)
    folder = checked_folder(identity)
    stored = _stored(folder)
    config = read_object(folder / CONFIG)
    check_counts(config, folder / CONFIG)
    if not timm.is_model(config["architecture"]):
        raise ModelUnavailableError(
            f"timm {timm.__version__} does not know the architecture {config['architecture']!r} of {folder / CONFIG}",
            todo="Install a newer one: pip install -U timm",
        )
    torch_type = getattr(torch, "float32" if dtype == "tf32" else dtype)
    source, what = f"local-dir:{folder}", f"The model {identity.name} in {folder}"
    with third_party(what, identity.name, folder), building_budget(stored, torch_type.itemsize, identity.name):
        with torch.device("meta"):
            empty = timm.create_model(source)
        settings = timm.data.resolve_model_data_config(empty)
    _check_settings(settings, folder / CONFIG)
    _refuse_whole_numbers(empty, stored.files[0])
    with third_party(what, identity.name, folder):
        with _all_weights_read(stored.files[0]):
            model = timm.create_model(source, pretrained=True)
        transform = timm.data.create_transform(**settings, is_training=False)
        model = model.eval().requires_grad_(False).to(device, torch_type)

    def prepare(image: Image.Image) -> NDArray[np.float32]:
        with third_party(f"An image for the model {identity.name}", identity.name, folder):
            values = transform(image).numpy()
        return np.ascontiguousarray(values, dtype=np.float32)

    def run(images: NDArray[np.float32]) -> NDArray[np.float32]:
        with torch.inference_mode(), matrix_products(products_of(dtype), device):
            pixels = torch.from_numpy(images).to(device, torch_type)
            found = model.forward_head(model.forward_features(pixels), pre_logits=True)
            array: NDArray[np.float32] = found.float().cpu().numpy()
        return array

    sample = prepare(Image.new("RGB", (64, 64)))
    with third_party(what, identity.name, folder):
        shape = run(sample[None]).shape
    if len(shape) != 2:
        raise InputError(
            f"The model {identity.name} gives no one vector for an image",
            allowed="a model of timm with pooled features",
            received=f"an array of {' x '.join(map(str, shape[1:]))} numbers",
            todo=f"Set global_pool in its {CONFIG}, such as avg or token",
        )
    return VisionModel(identity, _RECIPE, prepare, run, device, sample.size)


def _library(name: str) -> Any:
    try:
        require("timm")
    except MissingPackageError as error:
        raise ModelUnavailableError(
            f"The model {name} needs the package timm, which is not installed",
            todo="Install it: pip install 'mauve-lens[timm]', or pip install timm",
        ) from error
    try:
        import timm
    except Exception as error:
        raise ModelUnavailableError(
            f"The model {name} needs timm, which cannot be imported: {words_of(error)}",
            todo="Install a torchvision that fits torch: the same build (CPU, CUDA), from where torch came",
        ) from error
    return timm


def _stored(folder: Path) -> StoredWeights:
    """Return the file of weights that timm will read."""
    if not any((folder / file).exists() for file in TIMM_FILES):
        raise ModelUnavailableError(
            f"The folder {folder} holds no weights of timm: no file named {' or '.join(TIMM_FILES)}"
        )
    return find_weights(folder, {"transformers_weights": next(file for file in TIMM_FILES if (folder / file).exists())})


def _check_settings(settings: Mapping[str, Any], path: Path) -> None:
    """Refuse images of other channels than three, and sizes beyond any model's."""
    size, crop = settings["input_size"], settings["crop_pct"]
    if len(size) != 3 or not all(isinstance(each, int) for each in size) or not isinstance(crop, int | float):
        raise damaged(path, f"input_size = {size}, crop_pct = {crop}", "three whole numbers, a number")
    channels, *sides = size
    largest = max(sides) / crop if crop > 0 else float("inf")
    if channels != CHANNELS:
        raise InputError(
            f"The model of {path} does not take color images",
            allowed=f"input_size = [{CHANNELS}, height, width]",
            received=f"{channels} channels",
            todo="Name another encoder",
        )
    if not 1 <= min(sides) <= largest <= MOST_PIXELS_OF_TIMM:
        raise damaged(
            path,
            f"input_size = {size}, crop_pct = {crop}",
            f"sides / crop_pct from 1 to {MOST_PIXELS_OF_TIMM:,} pixels",
        )


@contextmanager
def _all_weights_read(file: Path) -> Iterator[None]:
    """Refuse a model that timm builds here with random values in place of weights that ``file`` lacks.

    Every module with parts reports what was missing where its weights are read.
    """
    from torch.nn.modules.module import register_module_module_registration_hook

    own_thread, watched, reports = threading.get_ident(), set[Any](), list[Any]()

    def watch(module: Any, *_: Any) -> None:
        if threading.get_ident() == own_thread and module not in watched:
            watched.add(module)
            module.register_load_state_dict_post_hook(lambda _, keys: reports.append(keys))

    hook = register_module_module_registration_hook(watch)
    try:
        yield
    finally:
        hook.remove()
    missing = sorted({key for keys in reports for key in keys.missing_keys})
    if missing or not reports:
        what = f"missing {len(missing)}: {missing[0]}" if missing else "none was read"
        raise ModelUnavailableError(
            f"The weights in {file} do not match {CONFIG}; {what}",
            todo="Copy or download the whole model again",
        )


def _refuse_whole_numbers(model: Any, file: Path) -> None:
    weights = {name for name, tensor in model.state_dict().items() if tensor.is_floating_point()}
    for name in sorted(weights & whole_number_tensors(file)):
        raise ModelUnavailableError(
            f"The tensor {name} in {file} holds whole numbers",
            allowed="weights in floating point",
            todo="Copy or download the weights again",
        )


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


def recipe_of_transformers(identity: ModelIdentity) -> str:
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
def load_of_transformers(identity: ModelIdentity, dtype: Precision, device: str) -> VisionModel:
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
    return VisionModel(identity, recipe_of_transformers(identity), prepare, run, device, sample.size, notes)


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
