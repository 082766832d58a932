"""Turn the bytes of an image file, which are untrusted, into pixels, or into a line that says why not.

Only five formats are tried, so that no other of Pillow's decoders sees a stranger's bytes. Size and shape are read from
the header and refused before pixels are decoded. What a conversion changed is named: colors, depth, transparency,
orientation, frames.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from mauve_core.base.errors import InputError, words_of

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "TIFF")
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".tif", ".tiff")

# Of a file.
MOST_BYTES = 200_000_000

# Of an image: 0.3 GB in memory while it is read.
MOST_PIXELS = 100_000_000

# Pixels of a side, from which an encoder can see anything.
LEAST_SIDE = 8

# Of the longer side to the shorter one; an encoder would see a strip as one line.
MOST_RATIO = 50

# What a transparent image is laid on, as browsers do.
_BACKGROUND = (255, 255, 255)

_MAGIC: tuple[tuple[bytes, int, str], ...] = (
    (b"\x89PNG", 0, "PNG"),
    (b"\xff\xd8\xff", 0, "JPEG"),
    (b"WEBP", 8, "WebP"),
    (b"GIF8", 0, "GIF"),
    (b"II*\0", 0, "TIFF"),
    (b"MM\0*", 0, "TIFF"),
    (b"ftyphei", 4, "HEIC"),
    (b"ftypmif1", 4, "HEIC"),
    (b"ftypavif", 4, "AVIF"),
    (b"BM", 0, "BMP"),
    (b"8BPS", 0, "PSD"),
    (b"%PDF", 0, "PDF"),
    (b"\0\0\1\0", 0, "ICO"),
    (b"\xff\x0a", 0, "JPEG XL"),
    (b"\0\0\0\x0cJXL ", 0, "JPEG XL"),
    (b"\0\0\0\x0cjP", 0, "JPEG 2000"),
    (b"PK\3\4", 0, "zip archive"),
)
_NO_IMAGES = ("PDF", "zip archive")
# Place of the byte with the bits a color.
_PNG_DEPTH = 24

_DEEPEST = 2**16 - 1
# Orientations of EXIF in which an image is not upright.
_TURNS = range(2, 9)

_READ = ("PNG", "JPEG", "WebP", "GIF", "TIFF")
_ALLOWED = "PNG, JPEG, WebP, GIF or TIFF"


# Why an image is left out; what was wrong with each one is in its own words.
Refusal = Literal["empty", "of another kind", "damaged", "too large", "too small", "unreadable", "of unusual colors"]


class ImageRefusedError(InputError):
    """An image that cannot be used.

    Parameters
    ----------
    name : str
        Its path or file name.
    reason : str
        Follows the name: ``is empty``.
    kind : Refusal
        Reasons that are counted together.
    """

    def __init__(self, name: str, reason: str, kind: Refusal, *, allowed: str = "", todo: str = "") -> None:
        self.name, self.reason, self.kind = name, reason, kind
        super().__init__(f"The image {name!r} {reason}", allowed=allowed, todo=todo)


@dataclass(frozen=True, eq=False)
class Picture:
    """An image as it is encoded and drawn.

    Attributes
    ----------
    pixels : PIL.Image.Image
        RGB, upright, without metadata.
    form : str
        "PNG", "JPEG", "WebP", "GIF" or "TIFF".
    changes : tuple of str
        What was converted, after a number of images: ``are animated: the first frame is used``.
    """

    pixels: Image.Image
    form: str
    changes: tuple[str, ...]


ANIMATED = "are animated or have several pages: the first one is used"
TURNED = "are turned as their camera says"
TRANSPARENT = "are transparent: they are laid on white"
DEEP = "have more than 8 bits a color: they are reduced to 8"
CMYK = "are in CMYK: they are converted to RGB"
GRAY = "are gray"


def begins_like_image(data: bytes) -> bool:
    """Return whether the first bytes are those of a known format of images, read or not."""
    return any(data[start : start + len(magic)] == magic for magic, start, form in _MAGIC if form not in _NO_IMAGES)


def decode(data: bytes, name: str) -> Picture:
    """Decode an image.

    Parameters
    ----------
    data : bytes
        The content of a file; its first bytes decide the format, not its name.
    name : str
        For errors.

    Raises
    ------
    ImageRefusedError
        It is empty, no image of a known format, damaged, too large, too small or a strip.
    """
    form = _form_of(data, name)
    with _refusals(name, form), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Pillow warns of is refused or converted here
        if form == "PNG":  # whose checksums Pillow looks at here alone; without them, wrong pixels would be taken
            with Image.open(io.BytesIO(data), formats=FORMATS) as unread:
                _require_shape(unread.size, name)
                unread.verify()
        with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
            _require_shape(opened.size, name)
            changes = [ANIMATED] if getattr(opened, "n_frames", 1) > 1 else []
            opened.seek(0)
            if opened.getexif().get(ExifTags.Base.Orientation, 1) in _TURNS:
                changes.append(TURNED)
            if form == "PNG" and data[_PNG_DEPTH] > 8:
                changes.append(DEEP)  # Pillow itself reduces colors, though not gray
            upright = ImageOps.exif_transpose(opened)
        pixels, converted = _rgb(upright, name)
    bare = Image.frombytes("RGB", pixels.size, pixels.tobytes())  # nothing of the file's metadata comes along
    return Picture(bare, form, tuple(dict.fromkeys((*changes, *converted))))


def _form_of(data: bytes, name: str) -> str:
    """The format by its first bytes; refuses what is none of those that are read."""
    if not data:
        raise ImageRefusedError(name, "is empty", "empty")
    if len(data) > MOST_BYTES:
        raise ImageRefusedError(
            name, f"has {len(data):,} bytes", "too large", allowed=f"at most {MOST_BYTES:,}", todo="Store it smaller"
        )
    form = next((form for magic, start, form in _MAGIC if data[start : start + len(magic)] == magic), None)
    if form in _READ:
        return str(form)
    if form is not None:
        raise ImageRefusedError(
            name, f"is a file of the kind {form}", "of another kind", allowed=_ALLOWED, todo="Convert it"
        )
    if b"<svg" in data[:1000].lower():
        raise ImageRefusedError(
            name, "is an SVG drawing, which has no pixels", "of another kind", allowed=_ALLOWED, todo="Convert it"
        )
    raise ImageRefusedError(name, "is not an image that can be recognized", "of another kind", allowed=_ALLOWED)


def _require_shape(size: tuple[int, int], name: str) -> None:
    """Refuse, from the header, what would take too much memory or show nothing."""
    width, height = size
    shown = f"{width:,} x {height:,} pixels"
    if width * height > MOST_PIXELS:
        raise ImageRefusedError(
            name, f"has {shown}", "too large", allowed=f"at most {MOST_PIXELS:,} in all", todo="Store it smaller"
        )
    if min(size) < LEAST_SIDE:
        raise ImageRefusedError(name, f"has {shown}", "too small", allowed=f"at least {LEAST_SIDE} a side")
    if max(size) > MOST_RATIO * min(size):
        raise ImageRefusedError(
            name, f"is a strip of {shown}", "too small", allowed=f"sides of a ratio of at most {MOST_RATIO}"
        )


def _rgb(image: Image.Image, name: str) -> tuple[Image.Image, tuple[str, ...]]:
    """The image in RGB, and what that changed."""
    mode = image.mode
    if mode.startswith("I"):
        values = np.asarray(image).astype(np.int64)
        if values.min() < 0 or values.max() > _DEEPEST:
            raise ImageRefusedError(
                name, "has more than 16 bits a color", "of unusual colors", allowed="8 or 16 bits a color"
            )
        return Image.fromarray((values // 257).astype(np.uint8)).convert("RGB"), (DEEP, GRAY)
    if mode in ("F", "LAB", "HSV"):
        raise ImageRefusedError(
            name, f"has colors of the kind {mode}", "of unusual colors", allowed="RGB, gray, palette or CMYK"
        )
    if mode == "CMYK":
        return image.convert("RGB"), (CMYK,)
    if mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        clear = image.convert("RGBA")
        seen = Image.new("RGBA", clear.size, _BACKGROUND)
        seen.alpha_composite(clear)
        lowest = int(np.asarray(clear.getchannel("A")).min())
        return seen.convert("RGB"), (TRANSPARENT,) if lowest < 255 else ()
    return image.convert("RGB"), (GRAY,) if mode in ("1", "L") else ()


@contextmanager
def _refusals(name: str, form: str) -> Iterator[None]:
    """Say of whatever the decoder stumbles over that the image is damaged."""
    try:
        yield
    except InputError:
        raise
    except Image.DecompressionBombError as error:
        allowed = f"at most {MOST_PIXELS:,} in all"
        raise ImageRefusedError(
            name, "has too many pixels", "too large", allowed=allowed, todo="Store it smaller"
        ) from error
    except UnidentifiedImageError as error:
        raise ImageRefusedError(name, f"begins as a {form}, but is damaged", "damaged") from error
    except Exception as error:
        raise ImageRefusedError(name, f"is a damaged {form}: {words_of(error)}", "damaged") from error
