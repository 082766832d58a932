"""Deliberate changes to the pixels of an image, with Pillow and NumPy: RGB image -> RGB image.

Sizes are in pixels of the original: on a large photo, a blur of 3 pixels is gone once an encoder has shrunk it. Colors
are changed a few rows at a time, so that an image takes little more memory than it has.
"""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from mauve_core.base.errors import InputError
from mauve_core.corpus.perturbations.perturbation import Values
from mauve_core.images.memory import strips

# What an occluded part shows.
MIDDLE_GRAY = (128, 128, 128)

# Pixels of a side that libjpeg writes at most.
_WIDEST_JPEG = 65_500


def jpeg(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:  # noqa: ARG001
    """Write as JPEG with 4:2:0 chroma subsampling, and read again.

    InputError if a side has more pixels than the format takes.
    """
    if max(image.size) > _WIDEST_JPEG:
        raise InputError(
            "An image is too long for JPEG",
            allowed=f"at most {_WIDEST_JPEG:,} pixels a side",
            received=f"{image.width:,} x {image.height:,}",
            todo="Leave this perturbation out",
        )
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=int(values["quality"]), subsampling="4:2:0")
    with Image.open(stream, formats=("JPEG",)) as written:
        return written.convert("RGB")


def blur(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:  # noqa: ARG001
    """Blur with a Gaussian, which Pillow approximates by three box filters."""
    return image.filter(ImageFilter.GaussianBlur(float(values["sigma"])))


def noise(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:
    """Add normal noise, independent for each pixel and color, and clip."""
    sigma = np.float32(values["sigma"])

    def noisy(colors: NDArray[np.float32]) -> NDArray[np.float32]:
        return colors + sigma * rng.standard_normal(colors.shape, dtype=np.float32)

    return _recolored(image, noisy)


def resized(filtered: Image.Resampling) -> Callable[[Image.Image, Values, np.random.Generator], Image.Image]:
    """Return the change that shrinks an image to half its width and height and enlarges it again with that filter."""

    def resize(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:  # noqa: ARG001
        half = max(1, round(image.width / 2)), max(1, round(image.height / 2))
        return image.resize(half, filtered).resize(image.size, filtered)

    return resize


def crop(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:  # noqa: ARG001
    """Keep the middle: that share of the width and of the height."""
    width, height = (max(1, round(float(values["share"]) * side)) for side in image.size)
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return image.crop((left, top, left + width, top + height))


def gray(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:  # noqa: ARG001
    """Take the colors away and keep the brightness (ITU-R BT.601)."""
    return image.convert("L").convert("RGB")


def flip(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:  # noqa: ARG001
    """Mirror left and right."""
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)


def hue(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:  # noqa: ARG001
    """Turn every hue on the color wheel (HSV); saturation and value, so the largest and smallest color, stay."""
    turn = float(values["degrees"]) / 60

    def turned(colors: NDArray[np.float32]) -> NDArray[np.float32]:
        largest = colors.max(axis=-1)
        chroma = largest - colors.min(axis=-1)
        sixth = _sixths(colors, largest, chroma) + turn
        # How far red, green and blue are below the largest color, as a function of the hue.
        places = ((start + sixth) % 6 for start in (5, 3, 1))
        below = [np.clip(np.minimum(place, 4 - place), 0, 1) for place in places]
        return np.asarray(largest[..., None] - chroma[..., None] * np.stack(below, axis=-1))

    return _recolored(image, turned)


def occlude(image: Image.Image, values: Values, rng: np.random.Generator) -> Image.Image:
    """Cover a square at a random place with gray; its side is that share of the image's shorter side."""
    side = max(1, round(float(values["share"]) * min(image.size)))
    left, top = (int(rng.integers(length - side + 1)) for length in image.size)
    covered = image.copy()
    covered.paste(MIDDLE_GRAY, (left, top, left + side, top + side))
    return covered


def _sixths(
    colors: NDArray[np.float32], largest: NDArray[np.float32], chroma: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the hue of each pixel in sixths of the color wheel, from -1 to 5; 0 for gray ones."""
    red, green, blue = np.moveaxis(colors, -1, 0)
    divisor = np.where(chroma > 0, chroma, 1)
    by_largest = [(green - blue) / divisor, 2 + (blue - red) / divisor, 4 + (red - green) / divisor]
    return np.select([largest == red, largest == green], by_largest[:2], by_largest[2])


def _recolored(image: Image.Image, change: Callable[[NDArray[np.float32]], NDArray[np.float32]]) -> Image.Image:
    """Change the colors, from 0 to 255, of some rows after others; results are rounded and clipped."""
    changed = Image.new("RGB", image.size)
    for top, part in strips(image):
        colors = np.clip(np.rint(change(np.asarray(part, dtype=np.float32))), 0, 255)
        changed.paste(Image.fromarray(colors.astype(np.uint8)), (0, top))
    return changed
