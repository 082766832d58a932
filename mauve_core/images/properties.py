"""What can be said of an image by looking at its pixels: size, light, colors, sharpness."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PIL import Image
from scipy.ndimage import laplace

PROPERTIES: Mapping[str, str] = {
    "width": "width in pixels",
    "height": "height in pixels",
    "brightness": "brightness, 0 (black) to 1 (white)",
    "contrast": "contrast: standard deviation of the brightness",
    "saturation": "saturation, 0 (gray) to 1",
    "colorfulness": "colorfulness, 0 (gray) to about 1 (Hasler and Süsstrunk 2003)",
    "sharpness": "sharpness: variance of the Laplacian",
}
"""Name of each property, and what it is."""

COMPARED = 256
"""Pixels of the longer side at which light, colors and sharpness are compared; smaller images stay as they are."""

_LUMA = np.array([0.299, 0.587, 0.114])
"""Weights of red, green and blue in the brightness (ITU-R BT.601)."""


def properties_of(image: Image.Image) -> dict[str, float]:
    """Compute every property of an image.

    Parameters
    ----------
    image : PIL.Image.Image
        In RGB.

    Returns
    -------
    dict of str to float
        By name of :data:`PROPERTIES`. All but width and height are of the image at :data:`COMPARED` pixels.
    """
    small = image.copy()
    small.thumbnail((COMPARED, COMPARED), Image.Resampling.LANCZOS)
    rgb = np.asarray(small, dtype=np.float64) / 255
    light = rgb @ _LUMA
    largest, smallest = rgb.max(axis=2), rgb.min(axis=2)
    saturation = np.divide(largest - smallest, largest, out=np.zeros_like(largest), where=largest > 0)
    return {
        "width": float(image.width),
        "height": float(image.height),
        "brightness": float(light.mean()),
        "contrast": float(light.std()),
        "saturation": float(saturation.mean()),
        "colorfulness": _colorfulness(rgb),
        "sharpness": float(laplace(light, mode="nearest").var()),
    }


def _colorfulness(rgb: np.ndarray) -> float:
    """Hasler and Süsstrunk 2003, equation for M^(3), of colors from 0 to 1: spread and mean of the opponent colors."""
    red, green, blue = np.moveaxis(rgb, 2, 0)
    opponents = np.stack([red - green, (red + green) / 2 - blue])
    spread, mean = opponents.std(axis=(1, 2)), opponents.mean(axis=(1, 2))
    return float(np.hypot(*spread) + 0.3 * np.hypot(*mean))
