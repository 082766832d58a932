"""Properties of images whose values are known, and thumbnails that look like their images."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageFilter

from mauve_core.images.decoding import thumbnail
from mauve_core.images.reading import PROPERTIES, properties_of
from mauve_core.texts.media import SIDES


def flat(*color: int, size: tuple[int, int] = (40, 20)) -> Image.Image:
    return Image.new("RGB", size, color)


def noise(size: tuple[int, int] = (64, 64)) -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(256, size=(*size, 3), dtype=np.uint8))


@pytest.mark.parametrize(
    ("color", "brightness", "saturation", "colorfulness"),
    [
        ((0, 0, 0), 0, 0, 0),
        ((255, 255, 255), 1, 0, 0),
        ((255, 0, 0), 0.299, 1, 0.3 * np.hypot(1, 0.5)),
        ((51, 102, 204), 0.299 * 0.2 + 0.587 * 0.4 + 0.114 * 0.8, 0.75, 0.3 * np.hypot(0.2, 0.5)),
    ],
)
def test_one_color(color, brightness, saturation, colorfulness):
    found = properties_of(flat(*color))
    assert list(found) == list(PROPERTIES)
    assert (found["width"], found["height"]) == (40, 20)
    assert found["brightness"] == pytest.approx(brightness)
    assert found["saturation"] == pytest.approx(saturation)
    assert found["colorfulness"] == pytest.approx(colorfulness)
    assert found["contrast"] == pytest.approx(0, abs=1e-12)
    assert found["sharpness"] == pytest.approx(0, abs=1e-12)


def test_half_black_half_white_has_the_largest_contrast():
    image = flat(0, 0, 0)
    image.paste((255, 255, 255), (0, 0, 20, 20))
    assert properties_of(image)["contrast"] == pytest.approx(0.5)


def test_blurred_images_are_less_sharp_and_gray_ones_less_colorful():
    sharp = properties_of(noise())
    blurred = properties_of(noise().filter(ImageFilter.GaussianBlur(2)))
    gray = properties_of(noise().convert("L").convert("RGB"))
    assert blurred["sharpness"] < sharp["sharpness"] / 10
    assert gray["colorfulness"] == pytest.approx(0, abs=1e-9)
    assert sharp["colorfulness"] > 0.3


def test_a_larger_copy_of_an_image_is_alike_but_for_its_size():
    image = noise((32, 32)).resize((512, 512), Image.Resampling.BICUBIC)
    large = image.resize((1024, 1024), Image.Resampling.BICUBIC)
    one, other = properties_of(image), properties_of(large)
    assert other["width"] == 2 * one["width"]
    for name in set(PROPERTIES) - {"width", "height"}:
        assert other[name] == pytest.approx(one[name], rel=0.05), name


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("size", [(100, 1000), (20, 10)])
def test_a_thumbnail_fits_and_looks_like_its_image(side, size):
    image = noise((8, 8)).resize(size, Image.Resampling.BICUBIC)
    with Image.open(io.BytesIO(thumbnail(image, side))) as found:
        assert found.format == "WEBP"
        assert max(found.size) == min(side, max(size))
        assert found.width / found.height == pytest.approx(size[0] / size[1], rel=0.11)
        expected = image.resize(found.size, Image.Resampling.LANCZOS).convert("L")
        assert np.abs(np.asarray(found.convert("L")).astype(int) - np.asarray(expected).astype(int)).mean() < 8
