"""Read images of a folder, archive or table: which are usable, what each looks like, what was left out or converted.

Originals stay where they are. Images are decoded by several threads, one at a time each, and thumbnails go to a file,
so memory does not grow with their number but for a digest and properties of each: size, light, colors, sharpness. A few
words (its folders, its shape, what its properties say) stand for an image where words are searched, counted and
compared; their limits are fixed, so that a word means the same on every side of every comparison.
"""

from __future__ import annotations

import colorsys
import hashlib
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image, ImageStat

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, counted, silent
from mauve_core.images.decoding import ImageRefusedError, decoded, thumbnail
from mauve_core.images.files import ImagePlace, images_at
from mauve_core.texts.entries import EXAMPLES, Exclusion, exclusions_by_reason, repeats_among
from mauve_core.texts.media import SIDES, Thumbnails
from mauve_core.texts.properties import Property, comparative


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
        As :func:`mauve_core.images.reading.properties_of` gives them.
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


STAGE = "Reading images"
# Images decoded at once, of the larger ones as many as there is room for.
THREADS = 4


@dataclass(frozen=True, eq=False)
class ReadImage:
    """A usable image.

    Attributes
    ----------
    name : str
        Its path in the folder or archive, or its id in the table.
    digest : str
        SHA-256 of its file, in hexadecimal.
    levels : tuple of str
        The folders that it is in, from the outermost.
    properties : dict of str to float
        As in ``mauve_core.images.reading``.
    words : str
        As in ``mauve_core.images.reading``.
    changes : tuple of str
        What was converted when it was decoded.
    """

    name: str
    digest: str
    levels: tuple[str, ...]
    properties: dict[str, float]
    words: str
    changes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ReadImages:
    """All usable images of a folder, archive or table.

    Attributes
    ----------
    place : ImagePlace
        Where their bytes are.
    images : tuple of ReadImage
        At least one, in the order of the place's names.
    thumbnails : Thumbnails
        Of all images.
    exclusions : tuple of Exclusion
        Images that cannot be used, by reason.
    notes : tuple of str
        What a reader must know: conversions, duplicates, other files.
    """

    place: ImagePlace
    images: tuple[ReadImage, ...]
    thumbnails: Thumbnails
    exclusions: tuple[Exclusion, ...]
    notes: tuple[str, ...]


def read_images(path: str | Path, progress: Progress = silent) -> ReadImages:
    """Read the images below a folder or in a zip archive.

    Parameters
    ----------
    path : str or Path
    progress : callable
        As for :func:`read_place`.

    Raises
    ------
    InputError
        As :func:`mauve_core.images.files.images_at` and :func:`read_place`.
    """
    return read_place(images_at(Path(path)), progress)


def read_place(place: ImagePlace, progress: Progress = silent) -> ReadImages:
    """Read the images of a folder, an archive or a table.

    Parameters
    ----------
    place : ImagePlace
    progress : callable
        Called as ``progress("Reading images", images done, images)``.

    Raises
    ------
    InputError
        None of the images can be used, with the reason of the first; or a table is damaged.
    """
    done = counted(progress, STAGE, len(place.names))
    images, refused, thumbnails = list[ReadImage](), list[ImageRefusedError](), Thumbnails()
    drawn = set[str]()
    for found in _in_threads(place):
        if isinstance(found, ImageRefusedError):
            refused.append(found)
        else:
            image, pictures = found
            images.append(image)
            if image.digest not in drawn:
                drawn.add(image.digest)
                thumbnails.add(image.digest, pictures)
        done()
    if not images:
        wrong = f"No image of {place.path} can be used"
        raise InputError(wrong, received=f"{len(refused):,} images", todo=str(refused[0]))
    exclusions = _exclusions(refused)
    return ReadImages(place, tuple(images), thumbnails, exclusions, _notes(place, images, exclusions))


# An image and its thumbnails, or why there is none.
_Read = tuple[ReadImage, tuple[bytes, ...]] | ImageRefusedError


def _read(place: ImagePlace, name: str) -> _Read:
    try:
        with place.content(name) as data, decoded(data, place.label(name)) as picture:
            levels, properties = place.levels(name), properties_of(picture.pixels)
            properties |= dict(zip(("width", "height"), map(float, picture.size), strict=True))
            words = description(properties, levels, mean_color(picture.pixels))
            image = ReadImage(name, hashlib.sha256(data).hexdigest(), levels, properties, words, picture.changes)
            return image, tuple(thumbnail(picture.pixels, side) for side in SIDES)
    except ImageRefusedError as refusal:
        return refusal


def _in_threads(place: ImagePlace) -> Iterator[_Read]:
    """The images in the order of their names; no more are read ahead than there are threads."""
    names = iter(place.names)
    with ThreadPoolExecutor(THREADS) as pool:
        pending = deque(pool.submit(_read, place, name) for name in islice(names, THREADS))
        while pending:
            yield pending.popleft().result()
            pending.extend(pool.submit(_read, place, name) for name in islice(names, 1))


def _exclusions(refused: Sequence[ImageRefusedError]) -> tuple[Exclusion, ...]:
    return exclusions_by_reason((each.kind, f"{each.name} {each.reason}") for each in refused)


def _notes(place: ImagePlace, images: Sequence[ReadImage], exclusions: Sequence[Exclusion]) -> tuple[str, ...]:
    changes = Counter(change for image in images for change in image.changes)
    notes = [f"{exclusion}." for exclusion in exclusions]
    notes += [f"{count:,} of {len(images):,} images {change}." for change, count in changes.items()]
    notes += repeats_among([image.name for image in images], [image.digest for image in images], "images")
    if place.others:
        kinds = ", ".join(
            f"{count:,} {suffix or 'without suffix'}" for suffix, count in place.others.most_common(EXAMPLES)
        )
        notes.append(f"Files of other kinds are not read: {kinds}.")
    return tuple(notes)
