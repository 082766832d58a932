"""A few words that describe an image: its folders, its shape, and what its properties say.

They stand for an image where words are searched, counted and compared. Limits are fixed, so that a word means the same
on every side of every comparison.
"""

from __future__ import annotations

import colorsys
from collections.abc import Iterator, Mapping, Sequence

# Brightness below and above which an image is called so.
DARK, BRIGHT = 0.3, 0.7

# Contrast.
FLAT, STARK = 0.08, 0.3

# Saturation.
GRAY, PALE, VIVID = 0.03, 0.2, 0.6

# Sharpness.
BLURRED, SHARP = 0.015, 0.15

# Ratio of sides from which an image is wide or tall.
WIDE = 1.2

# Names of equal parts of the color wheel, the first around red.
HUES = ("red", "orange", "yellow", "green", "green", "cyan", "blue", "blue", "purple", "pink")


def description(properties: Mapping[str, float], levels: Sequence[str], color: tuple[float, float, float]) -> str:
    """Return the words of an image, joined by commas: ``cats, wide, dark, blue``.

    Parameters
    ----------
    properties : mapping of str to float
        As :func:`mauve_core.images.properties.properties_of` gives them.
    levels : sequence of str
        The folders that it is in.
    color : (red, green, blue)
        Its mean color, from 0 to 1.
    """
    return ", ".join((*levels, *_words(properties, color)))


def _words(properties: Mapping[str, float], color: tuple[float, float, float]) -> Iterator[str]:
    ratio = properties["width"] / properties["height"]
    yield "wide" if ratio >= WIDE else "tall" if ratio <= 1 / WIDE else "square"
    yield from _ends(properties["brightness"], DARK, BRIGHT, "dark", "bright")
    yield from _ends(properties["contrast"], FLAT, STARK, "flat", "stark")
    yield from _ends(properties["sharpness"], BLURRED, SHARP, "blurred", "sharp")
    saturation = properties["saturation"]
    if saturation < GRAY:
        yield "gray"
        return
    yield from _ends(saturation, PALE, VIVID, "pale", "vivid")
    hue = colorsys.rgb_to_hsv(*color)[0]
    yield HUES[round(hue * len(HUES)) % len(HUES)]


def _ends(value: float, low: float, high: float, less: str, more: str) -> Iterator[str]:
    if value < low:
        yield less
    elif value > high:
        yield more
