"""Images of every kind, good and bad: each is decoded as it should look, or refused in one clear line."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image, ImageOps

from mauve_core.images.decoding import (
    ANIMATED,
    CMYK,
    DEEP,
    GRAY,
    LEAST_SIDE,
    MOST_PIXELS,
    TRANSPARENT,
    TURNED,
    ImageRefusedError,
)
from tests.images.made import decode

SIZE = 24, 16


def photo(mode: str = "RGB", size: tuple[int, int] = SIZE) -> Image.Image:
    """A smooth picture, brighter to the right and redder at the bottom."""
    x, y = np.meshgrid(np.linspace(0, 255, size[0]), np.linspace(0, 255, size[1]))
    return Image.fromarray(np.stack([y, x, x], axis=2).astype(np.uint8)).convert(mode)


def saved(image: Image.Image, form: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *, depth: int = 8, color: int = 0, data: bytes = b"", more: bytes = b"") -> bytes:
    """A PNG with any header, whatever follows."""
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    end = chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + end


def turned(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return saved(photo(), "JPEG", exif=exif, quality=95)


def animated(form: str) -> bytes:
    frames = [photo(), Image.new("RGB", SIZE)]
    return saved(frames[0], form, save_all=True, append_images=frames[1:])


def deep_gray() -> bytes:
    return saved(Image.fromarray(np.asarray(photo("L")).astype(np.uint16) * 257), "PNG")


def deep_color() -> bytes:
    rows = b"".join(b"\0" + struct.pack(">3H", 0x8000, 0x1234, 0xFFFF) * 10 for _ in range(10))
    return png(10, 10, depth=16, color=2, data=rows)


JPEG_95 = {"quality": 95}


@pytest.mark.parametrize(
    ("data", "form", "changes"),
    [
        (saved(photo(), "PNG"), "PNG", ()),
        (saved(photo(), "JPEG", **JPEG_95), "JPEG", ()),
        (saved(photo(), "JPEG", progressive=True, **JPEG_95), "JPEG", ()),
        (saved(photo(), "WEBP", lossless=True), "WebP", ()),
        (saved(photo(), "TIFF"), "TIFF", ()),
        (saved(photo(), "TIFF", compression="tiff_lzw"), "TIFF", ()),
        (saved(photo().quantize(256), "GIF"), "GIF", ()),
        (saved(photo().quantize(256), "PNG"), "PNG", ()),
        (saved(photo("CMYK"), "JPEG", **JPEG_95), "JPEG", (CMYK,)),
        (animated("GIF"), "GIF", (ANIMATED,)),
        (animated("WEBP"), "WebP", (ANIMATED,)),
        (animated("TIFF"), "TIFF", (ANIMATED,)),
        (saved(photo("RGBA"), "PNG"), "PNG", ()),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,
)  # fmt: skip
def test_every_format_looks_like_the_photo(data: bytes, form: str, changes: tuple[str, ...]) -> None:
    picture = decode(data, "a")
    assert (picture.form, picture.changes, picture.pixels.mode, picture.pixels.size) == (form, changes, "RGB", SIZE)
    error = np.abs(np.asarray(picture.pixels).astype(int) - np.asarray(photo()).astype(int))
    assert error.mean() < 8


@pytest.mark.parametrize("data", [saved(photo("L"), "PNG"), saved(photo("L"), "JPEG", **JPEG_95), deep_gray()])
def test_gray_is_gray(data: bytes) -> None:
    picture = decode(data, "a")
    assert GRAY in picture.changes
    assert (DEEP in picture.changes) == (data == deep_gray())
    assert np.abs(np.asarray(picture.pixels)[..., 0].astype(int) - np.asarray(photo("L")).astype(int)).mean() < 4


def test_sixteen_bits_a_color_are_reduced() -> None:
    picture = decode(deep_color(), "a")
    assert picture.changes == (DEEP,)
    assert np.asarray(picture.pixels)[0, 0].tolist() == [0x80, 0x12, 0xFF]


def test_black_and_white_is_decoded() -> None:
    picture = decode(saved(photo("1"), "PNG"), "a")
    assert set(np.unique(np.asarray(picture.pixels)).tolist()) == {0, 255}


@pytest.mark.parametrize("orientation", range(1, 9))
def test_images_are_turned_as_the_camera_says(orientation: int) -> None:
    picture = decode(turned(orientation), "a")
    expected = ImageOps.exif_transpose(Image.open(io.BytesIO(turned(orientation))))
    assert expected is not None
    np.testing.assert_array_equal(np.asarray(picture.pixels), np.asarray(expected))
    assert picture.changes == ((TURNED,) if orientation > 1 else ())


def test_nothing_of_the_metadata_comes_along() -> None:
    exif = Image.Exif()
    exif[0x010F] = "the camera of Ann"
    picture = decode(saved(photo(), "JPEG", exif=exif, comment=b"secret"), "a")
    assert not picture.pixels.info
    assert not dict(picture.pixels.getexif())


@pytest.mark.parametrize("form", ["PNG", "WEBP"])
def test_transparent_images_lie_on_white(form: str) -> None:
    clear = photo("RGBA")
    clear.putalpha(Image.new("L", SIZE, 0))
    picture = decode(saved(clear, form, lossless=True) if form == "WEBP" else saved(clear, form), "a")
    assert picture.changes == (TRANSPARENT,)
    assert np.asarray(picture.pixels).min() == 255


def test_a_palette_with_a_transparent_color_lies_on_white() -> None:
    image = Image.new("P", SIZE, 0)
    image.putpalette([10, 20, 30] + [0] * 765)
    picture = decode(saved(image, "GIF", transparency=0), "a")
    assert picture.changes == (TRANSPARENT,)
    assert np.asarray(picture.pixels).min() == 255


def corrupted(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes(64) + data[middle + 64 :]


BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "is empty"),
    "zero bytes": (lambda: bytes(5000), "not an image that can be recognized"),
    "text": (lambda: b"Hello, I am no image.", "not an image that can be recognized"),
    "HTML": (lambda: b"<!doctype html><html>404</html>", "not an image that can be recognized"),
    "SVG": (lambda: b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "is an SVG drawing"),
    "HEIC": (lambda: b"\0\0\0\x18ftypheic" + bytes(500), "is a file of the kind HEIC"),
    "AVIF": (lambda: saved(photo(), "AVIF"), "is a file of the kind AVIF"),
    "BMP": (lambda: saved(photo(), "BMP"), "is a file of the kind BMP"),
    "PDF": (lambda: saved(photo(), "PDF"), "is a file of the kind PDF"),
    "ICO": (lambda: saved(photo(), "ICO"), "is a file of the kind ICO"),
    "PSD": (lambda: b"8BPS" + bytes(100), "is a file of the kind PSD"),
    "JPEG XL": (lambda: b"\xff\x0a" + bytes(100), "is a file of the kind JPEG XL"),
    "zip": (lambda: b"PK\3\4" + bytes(100), "is a file of the kind zip archive"),
    "PNG bomb": (lambda: png(100_000, 100_000), "pixels"),
    "PNG bomb of Pillow's size": (lambda: png(12_000, 9_000), "has 12,000 x 9,000 pixels"),
    "GIF bomb": (lambda: b"GIF89a\xff\xff\xff\xff" + saved(photo("L"), "GIF")[10:], "pixels"),
    "bomb of text": (lambda: png(16, 16, more=chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(10**8)))), "damaged PNG"),
    "1 x 1": (lambda: saved(photo(size=(1, 1)), "PNG"), "has 1 x 1 pixels"),
    "0 x 0": (lambda: png(0, 0), "pixels|damaged"),
    "30,000 x 2": (lambda: saved(photo(size=(30_000, 2)), "PNG"), "has 30,000 x 2 pixels"),
    "strip": (lambda: saved(photo(size=(1_000, 10)), "PNG"), "is a strip of 1,000 x 10 pixels"),
    "truncated PNG": (lambda: saved(photo(size=(200, 200)), "PNG")[:300], "damaged PNG"),
    "truncated JPEG": (lambda: saved(photo(size=(200, 200)), "JPEG")[:900], "damaged JPEG"),
    "truncated WebP": (lambda: saved(photo(size=(200, 200)), "WEBP")[:200], "WebP"),
    "truncated GIF": (lambda: saved(photo(size=(200, 200)).quantize(9), "GIF")[:100], "damaged GIF|GIF, but"),
    "truncated TIFF": (lambda: saved(photo(size=(200, 200)), "TIFF")[:5000], "TIFF"),
    "header alone": (lambda: b"\x89PNG\r\n\x1a\n", "begins as a PNG, but is damaged"),
    "JPEG's header alone": (lambda: b"\xff\xd8\xff\xe0", "begins as a JPEG, but is damaged"),
    "corrupted PNG": (lambda: corrupted(saved(photo(size=(99, 99)), "PNG")), "damaged PNG"),
    "PNG with wrong checksum": (lambda: saved(photo(), "PNG")[:20] + b"\1" + saved(photo(), "PNG")[21:], "PNG|pixels"),
    "decimal colors": (lambda: saved(Image.new("F", SIZE), "TIFF"), "colors of the kind F"),
    "32 bits": (lambda: saved(Image.fromarray(np.full((16, 24), 2**20, dtype=np.int32)), "TIFF"), "more than 16 bits"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_image_is_refused_in_one_line(kind: str) -> None:
    make, said = BAD[kind]
    with pytest.raises(ImageRefusedError, match=said) as raised:
        decode(make(), "folder/picture.png")
    assert str(raised.value).startswith("The image 'folder/picture.png' ")
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


def test_an_ending_that_is_wrong_does_not_matter() -> None:
    assert decode(saved(photo(), "JPEG"), "wrong.png").form == "JPEG"


def test_the_limits_themselves_are_allowed() -> None:
    assert decode(saved(photo(size=(LEAST_SIDE, LEAST_SIDE)), "PNG"), "a").pixels.size == (LEAST_SIDE, LEAST_SIDE)
    assert MOST_PIXELS < 2 * Image.MAX_IMAGE_PIXELS, "beyond, Pillow refuses before our own line"


@pytest.mark.parametrize("seed", range(3))
def test_bytes_changed_at_random_are_decoded_or_refused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    originals = [saved(photo(size=(60, 40)), form) for form in ("PNG", "JPEG", "WEBP", "TIFF")] + [animated("GIF")]
    refused = 0
    for _ in range(100):
        data = bytearray(originals[rng.integers(len(originals))])
        for place in rng.integers(len(data), size=rng.integers(1, 30)):
            data[place] = rng.integers(256)
        try:
            assert decode(bytes(data), "a").pixels.mode == "RGB"
        except ImageRefusedError:
            refused += 1
    assert 0 < refused < 100
