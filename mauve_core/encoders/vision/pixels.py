"""Classical features of images, as a baseline that needs no network: a small picture, colors by place, edges by place.

Three blocks of one feature, each divided by the square root of its length, so that none outweighs the others by its
size: 16 x 16 brightness values; mean and standard deviation of red, green and blue in each of 4 x 4 fields; and the
strength of edges in 8 directions in each of these fields, as in histograms of oriented gradients (Dalal and Triggs,
CVPR 2005), of unit length over the whole image. A black image would be nothing but zeros and have no direction: it is
encoded as one of the darkest gray, whose direction is that of every image of one gray.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

# Pixels a side at which images are compared.
SIDE = 128

SMALL, FIELDS, DIRECTIONS = 16, 4, 8

# Numbers of a feature.
WIDTH = SMALL**2 + FIELDS**2 * (6 + DIRECTIONS)

RECIPE = (
    f"classical features of {SIDE} x {SIDE} pixels: a {SMALL} x {SMALL} picture, colors and edges in "
    f"{FIELDS} x {FIELDS} fields; black as the darkest gray"
)
# Weights of red, green and blue in the brightness (ITU-R BT.601).
_LUMA = np.array([0.299, 0.587, 0.114])


def features(image: Image.Image) -> NDArray[np.float32]:
    """Return the (480,) float32 features of an RGB image."""
    rgb = np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BICUBIC), dtype=np.float64) / 255
    if not rgb.any():
        rgb = rgb + 1 / 255
    light = rgb @ _LUMA
    cell = SIDE // SMALL
    picture = light.reshape(SMALL, cell, SMALL, cell).mean(axis=(1, 3))
    fields = _fields(rgb)
    colors = np.concatenate([fields.mean(axis=1), fields.std(axis=1)], axis=1)
    blocks = (picture, colors, _edges(light))
    return np.concatenate([block.ravel() / np.sqrt(block.size) for block in blocks]).astype(np.float32)


def _fields(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (fields, pixels, channels) of (side, side, channels)."""
    size, channels = SIDE // FIELDS, values.shape[2]
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
