"""Turn the bytes of an image file, which are untrusted, into pixels, or into a line that says why not; thumbnails.

Only five formats are tried, so that no other of Pillow's decoders sees a stranger's bytes. Size and shape are read from
the header and refused before pixels are decoded. What a conversion changed is named: colors, depth, transparency,
orientation, frames.

A small file may declare any number of pixels. So the memory of all images at work, in whatever threads, is one room,
for which who needs some waits: what an image takes at most is reserved before its pixels are decoded, and given back
when its user has done with them. An image that does not fit alone is refused. Copies are converted some rows at a time.
"""

from __future__ import annotations

import io
import math
import struct
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import ExifTags, Image, ImageFile, ImageOps, JpegImagePlugin, TiffImagePlugin, TiffTags, UnidentifiedImageError

from mauve_core.base.errors import InputError, words_of

# Pixels of the rows that are taken at once.
AT_ONCE = 2**20

# Bytes of a part of a large image. glibc keeps up to 32 MB for the thread that freed them; more it gives back, so that
# what many threads free one after the other is not all kept.
Image.core.set_block_size(2**26)  # type: ignore[attr-defined]


class Room:
    """So many bytes in all.

    Whoever holds a part and asks for another waits for others that may do the same, so parts of one room are not taken
    one inside the other.
    """

    def __init__(self, total: int) -> None:
        self.total = self._free = total
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, amount: int) -> Iterator[None]:
        """While the block runs, hold that many bytes, or all if it is more."""
        held = min(amount, self.total)
        with self._changed:
            self._changed.wait_for(lambda: self._free >= held)
            self._free -= held
        try:
            yield
        finally:
            with self._changed:
                self._free += held
                self._changed.notify_all()


def strips(image: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    """The first row, and a copy, of some rows of an image after others."""
    rows = max(1, AT_ONCE // image.width)
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))


FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "TIFF")
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".tif", ".tiff")

# Of the files that are read at once, so of each.
FILES = Room(100_000_000)
# Of the images that are decoded at once, with the copies that decoders, encoders and perturbations make of them.
PIXELS = Room(400_000_000)

# Bytes a pixel: 4 of Pillow's RGB, as many of the file's own colors or of a turned copy, and what is computed of them.
# A progressive JPEG keeps its coefficients; the decoder of WebP has two canvases and hands out a third.
_TAKEN = {"WebP": 20}
_USUALLY_TAKEN = 12
# Bytes a byte of the file: chunks and tags are copied as they are looked at.
_COPIES = 3

# Of an image that is read at half its width and height.
MOST_PIXELS = 100_000_000

# Numbers in the tags of a TIFF, places of its strips among them: each may take 300 bytes while it is opened.
_MOST_VALUES, _MOST_DIRECTORIES = 250_000, 16
# Bytes of EXIF, whose numbers take thirty times as many; in a JPEG, pieces of at most 64 kB.
_MOST_EXIF, _EXIF, _MOST_PIECES = 2**20, b"Exif\0\0", 16
_BYTES, _TAG = (1, 2, 7), 12  # types of tags that stay bytes; bytes of a tag
_TILE_WIDTH, _TILE_LENGTH = 322, 323

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

_TURNS_ON_ITS_SIDE = range(5, 9)

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
    size : (int, int)
        Width and height of the file's image, upright; twice those of the pixels if it was read at half its sides.
    form : str
        "PNG", "JPEG", "WebP", "GIF" or "TIFF".
    changes : tuple of str
        What was converted, after a number of images: ``are animated: the first frame is used``.
    """

    pixels: Image.Image
    size: tuple[int, int]
    form: str
    changes: tuple[str, ...]


ANIMATED = "are animated or have several pages: the first one is used"
HALVED = "are too large to be read as they are: they are read at half their width and height"
TURNED = "are turned as their camera says"
TRANSPARENT = "are transparent: they are laid on white"
DEEP = "have more than 8 bits a color: they are reduced to 8"
CMYK = "are in CMYK: they are converted to RGB"
GRAY = "are gray"


def require_bytes(size: int, name: str) -> None:
    """Raise ImageRefusedError for a file of more bytes than are read."""
    if size > FILES.total:
        raise ImageRefusedError(
            name, f"has {size:,} bytes", "too large", allowed=f"at most {FILES.total:,}", todo="Store it smaller"
        )


def begins_like_image(data: bytes) -> bool:
    """Return whether the first bytes are those of a known format of images, read or not."""
    return any(data[start : start + len(magic)] == magic for magic, start, form in _MAGIC if form not in _NO_IMAGES)


@contextmanager
def decoded(data: bytes, name: str) -> Iterator[Picture]:
    """While the block runs, hold an image decoded, and room for its pixels and a copy or two of them.

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
    copies = _COPIES * len(data)
    with PIXELS.taken(copies), _refusals(name, form):
        _require_few_tags(data, form, name)
        with _opened(data) as unread:
            _require_shape(unread.size, name)
            taken, halved = _taken(unread, form, data, name)
            if form == "PNG":  # whose checksums Pillow looks at here alone; without them, wrong pixels would be taken
                unread.verify()
    with PIXELS.taken(max(taken, copies)):
        with _refusals(name, form):
            picture = _decoded(data, form, name, halved=halved)
        yield picture


def _decoded(data: bytes, form: str, name: str, *, halved: bool) -> Picture:
    with _opened(data) as opened:
        size = opened.size
        changes = [ANIMATED] if getattr(opened, "is_animated", False) else []
        if halved:
            opened.draft(None, (size[0] // 2, size[1] // 2))
            changes.append(HALVED)
        exif = opened.getexif()
        if len(opened.info.get("exif", b"")) > _MOST_EXIF:
            raise _too_many_tags(name)
        turn = exif.get(ExifTags.Base.Orientation, 1)
        if turn in _TURNS:
            changes.append(TURNED)
        if form == "PNG" and data[_PNG_DEPTH] > 8:
            changes.append(DEEP)  # Pillow itself reduces colors, though not gray
        ImageOps.exif_transpose(opened, in_place=True)
        if not halved:
            size = opened.size
        elif turn in _TURNS_ON_ITS_SIDE:
            size = size[::-1]
        pixels = Image.new("RGB", opened.size)  # nothing of the file's metadata comes along
        for top, part in strips(opened):
            converted, found = _rgb(part, name)
            pixels.paste(converted, (0, top))
            changes.extend(found)
    return Picture(pixels, size, form, tuple(dict.fromkeys(changes)))


@contextmanager
def _opened(data: bytes) -> Iterator[ImageFile.ImageFile]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Pillow warns of is refused or converted here
        with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
            yield opened


def _require_few_tags(data: bytes, form: str, name: str) -> None:
    """Refuse metadata whose numbers would fill the memory as the file is opened, before it is."""
    values = sum(_values(data)) if form == "TIFF" else 0
    if values > _MOST_VALUES or (form == "JPEG" and data.count(_EXIF) > _MOST_PIECES):
        raise _too_many_tags(name)


def _values(data: bytes) -> Iterator[int]:
    """The numbers of each tag of a TIFF's first page and of the directories that its tags name."""
    order, seen = "<" if data[:1] == b"I" else ">", set[int]()
    places = {*struct.unpack_from(f"{order}I", data, 4)}
    while places - seen and len(seen) < _MOST_DIRECTORIES:
        seen.add(at := min(places - seen))
        with suppress(struct.error):  # there is no more of it, and Pillow stops there, too
            (tags,) = struct.unpack_from(f"{order}H", data, at)
            for index in range(tags):
                tag, kind, count, value = struct.unpack_from(f"{order}HHII", data, at + 2 + _TAG * index)
                yield 0 if kind in _BYTES else count
                if tag in TiffTags.TAGS_V2_GROUPS:
                    places.add(value)
    if places - seen:
        yield _MOST_VALUES + 1


def _too_many_tags(name: str) -> ImageRefusedError:
    return ImageRefusedError(name, "has too much metadata, or is in too many pieces", "too large", todo="Store it anew")


def _taken(opened: ImageFile.ImageFile, form: str, data: bytes, name: str) -> tuple[int, bool]:
    """Return the bytes that an image takes while it is decoded and used, and whether it is read at half its sides."""
    tags = opened.tag_v2 if isinstance(opened, TiffImagePlugin.TiffImageFile) else {}
    tile = tags.get(_TILE_WIDTH, 1), tags.get(_TILE_LENGTH, 1)
    width, height = max(opened.size, tile, key=math.prod)
    pixels, each = width * height, _TAKEN.get(form, _USUALLY_TAKEN)
    if each * pixels <= PIXELS.total:
        return each * pixels, False
    if form == "JPEG" and pixels <= MOST_PIXELS and _is_one_scan(data):
        return each * pixels // 4, True
    raise ImageRefusedError(
        name,
        f"has {'a tile of ' if (width, height) == tile else ''}{width:,} x {height:,} pixels",
        "too large",
        allowed=f"at most {PIXELS.total // each:,} in all for this kind of {form}",
        todo="Store it smaller",
    )


def _is_one_scan(data: bytes) -> bool:
    """Whether all colors of a JPEG come row by row, so that no more than some rows need memory."""
    with JpegImagePlugin.JpegImageFile(io.BytesIO(data)) as opened:  # which stops behind the header of the first scan
        header = 6 + 2 * opened.layers
        start = (0 if opened.fp is None else opened.fp.tell()) - header
        return "progressive" not in opened.info and data[start : start + 3] == bytes((0, header, opened.layers))


def _form_of(data: bytes, name: str) -> str:
    """The format by its first bytes; refuses what is none of those that are read."""
    if not data:
        raise ImageRefusedError(name, "is empty", "empty")
    require_bytes(len(data), name)
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
        allowed = f"at most {PIXELS.total // _USUALLY_TAKEN:,} in all"
        raise ImageRefusedError(
            name, "has too many pixels", "too large", allowed=allowed, todo="Store it smaller"
        ) from error
    except UnidentifiedImageError as error:
        raise ImageRefusedError(name, f"begins as a {form}, but is damaged", "damaged") from error
    except Exception as error:
        raise ImageRefusedError(name, f"is a damaged {form}: {words_of(error)}", "damaged") from error


THUMBNAIL_QUALITY = 80


def thumbnail(image: Image.Image, side: int) -> bytes:
    """The image in WebP, at most ``side`` pixels wide and high; a smaller one keeps its size.

    Parameters
    ----------
    image : PIL.Image.Image
        In RGB.
    side : int
        Pixels.
    """
    small = image.copy()
    small.thumbnail((side, side), Image.Resampling.LANCZOS, reducing_gap=3.0)
    stream = io.BytesIO()
    small.save(stream, "WEBP", quality=THUMBNAIL_QUALITY, method=4)
    return stream.getvalue()
