"""What can be said of an image by looking at its pixels: size, light, colors, sharpness."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PIL import Image, ImageStat

from mauve_core.corpus.properties import Property, comparative


def _property(name: str, title: str, unit: str, description: str, more: str, less: str, size: str = "") -> Property:
    """A property of images; ``size`` says an amount of it, around ``{}``, if it is one."""
    return comparative("images", name, title, unit, description, more, less, size, f"are {size}" if size else "")


# By name, in display order.
PROPERTIES: Mapping[str, Property] = {
    each.name: each
    for each in (
        _property("width", "Width", "pixels", "Width of the image.", "wider", "narrower", "{} pixels wide"),
        _property("height", "Height", "pixels", "Height of the image.", "taller", "shorter", "{} pixels high"),
        _property("brightness", "Brightness", "", "Mean brightness: 0 is black, 100% is white.", "brighter", "darker"),
        _property(
            "contrast",
            "Contrast",
            "",
            "Standard deviation of the brightness.",
            "richer in contrast",
            "poorer in contrast",
        ),
        _property(
            "saturation", "Saturation", "", "Mean saturation (HSV): 0 is gray.", "more saturated", "less saturated"
        ),
        _property(
            "colorfulness",
            "Colorfulness",
            "",
            "Spread and mean of the opponent colors (Hasler and Süsstrunk 2003); 0 is gray.",
            "more colorful",
            "less colorful",
        ),
        _property(
            "sharpness",
            "Sharpness",
            "",
            "Standard deviation of the Laplacian of the brightness.",
            "sharper",
            "blurrier",
        ),
    )
}

# Pixels of the longer side at which light, colors and sharpness are compared; smaller images stay as they are.
COMPARED = 256

# Weights of red, green and blue in the brightness (ITU-R BT.601).
_LUMA = np.array([0.299, 0.587, 0.114])


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
    from scipy.ndimage import laplace  # a command that reads no image needs no SciPy

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
        "sharpness": float(laplace(light, mode="nearest").std()),
    }


def mean_color(image: Image.Image) -> tuple[float, float, float]:
    """Return the mean of red, green and blue over an image in RGB, each from 0 to 1."""
    red, green, blue = ImageStat.Stat(image).mean
    return red / 255, green / 255, blue / 255


def _colorfulness(rgb: np.ndarray) -> float:
    """Hasler and Süsstrunk 2003, equation for M^(3), of colors from 0 to 1: spread and mean of the opponent colors."""
    red, green, blue = np.moveaxis(rgb, 2, 0)
    opponents = np.stack([red - green, (red + green) / 2 - blue])
    spread, mean = opponents.std(axis=(1, 2)), opponents.mean(axis=(1, 2))
    return float(np.hypot(*spread) + 0.3 * np.hypot(*mean))
