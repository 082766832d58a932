"""Vision models of timm: ResNet, ViT, ConvNeXt, EfficientNet, Swin and several hundred others.

timm itself builds the network, reads its weights and prepares images, so that features are those of its own code:
``forward_head(forward_features(x), pre_logits=True)`` of what its evaluation transform makes of an image. transformers
wraps timm, too, but its wrapper does not open what timm has saved since it stores the arguments of a model. What is
added here are the restrictions of :mod:`mauve_core.encoders.loading`: a configuration cannot build more than the
weights on disk hold, and timm, which keeps random values for some missing weights, must have read all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mauve_core.base.config import Precision
from mauve_core.base.errors import InputError, ModelUnavailableError, words_of
from mauve_core.base.extras import MissingPackageError, require
from mauve_core.encoders.catalogue import ModelIdentity
from mauve_core.encoders.loading import building_budget, third_party
from mauve_core.encoders.model_files import CONFIG, StoredWeights, check_counts, damaged, find_weights, read_object
from mauve_core.encoders.opening import checked_folder
from mauve_core.encoders.precision import products_of
from mauve_core.encoders.vision.model import VisionModel
from mauve_core.encoders.weight_types import whole_number_tensors
from mauve_core.numerics.device.products import matrix_products

# The model_type that transformers gives a model of timm; timm itself writes none.
WRAPPED = "timm_wrapper"

# Weights that timm reads first, of those whose digest is known.
FILES = ("model.safetensors", "pytorch_model.bin")

CHANNELS = 3

# Largest side to which an image is resized; models have up to some 1,000. The smallest network takes 400 MB at it.
MOST_PIXELS = 1536

_RECIPE = (
    f"prepared by timm's evaluation transform as its {CONFIG} says, the model's own pooled features before its head"
)


def is_of_timm(config: Mapping[str, Any]) -> bool:
    """Return whether a config.json is one of timm's."""
    return isinstance(config.get("architecture"), str) and config.get("model_type") in (None, WRAPPED)


def recipe_of(_: ModelIdentity) -> str:
    """Return how images are prepared and outputs pooled; what config.json says is part of the model's digest."""
    return _RECIPE


def load(identity: ModelIdentity, dtype: Precision, device: str) -> VisionModel:
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
    if not any((folder / file).exists() for file in FILES):
        raise ModelUnavailableError(f"The folder {folder} holds no weights of timm: no file named {' or '.join(FILES)}")
    return find_weights(folder, {"transformers_weights": next(file for file in FILES if (folder / file).exists())})


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
    if not 1 <= min(sides) <= largest <= MOST_PIXELS:
        raise damaged(
            path, f"input_size = {size}, crop_pct = {crop}", f"sides / crop_pct from 1 to {MOST_PIXELS:,} pixels"
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
