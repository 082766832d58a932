"""Changes of pixels beside Pillow, SciPy and colorsys, by hand, and what must hold for all of them."""

from __future__ import annotations

import colorsys
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter

from mauve_core.base.errors import InputError
from mauve_core.images import decoding
from mauve_core.images.perturbing import PERTURBATIONS, Alteration
from mauve_core.texts.kinds import parse_perturbation

SPECS = (
    *("jpeg-30", "blur-2", "noise-25", "resize-nearest", "resize-bilinear", "resize-bicubic", "resize-lanczos"),
    *("crop-0.5", "gray", "flip", "hue-90", "occlude-0.4"),
)
WIDTH, HEIGHT = 64, 48


def scene(width: int = WIDTH, height: int = HEIGHT, *, seed: int = 0) -> Image.Image:
    """Smooth colored shapes of some contrast, away from black and white."""
    rng = np.random.default_rng(seed)
    field = gaussian_filter(rng.normal(size=(height, width, 3)), (3, 3, 0), mode="nearest")
    return Image.fromarray(np.clip(128 + 40 * field / field.std(), 40, 215).astype(np.uint8))


def after(spec: str, image: Image.Image, *, seed: int = 0, digest: str = "ab") -> Image.Image:
    changed: Image.Image = Alteration(parse_perturbation(spec), seed)(image, digest)
    return changed


def numbers(image: Image.Image) -> NDArray[np.float64]:
    return np.asarray(image).astype(np.float64)


def error(spec: str, image: Image.Image) -> float:
    """Root mean square difference from the original."""
    return float(np.sqrt(np.mean((numbers(after(spec, image)) - numbers(image)) ** 2)))


@pytest.mark.parametrize("spec", SPECS)
def test_a_change_gives_rgb_again_and_depends_on_nothing_else(spec: str) -> None:
    image = scene()
    before = image.tobytes()
    first, again = after(spec, image), after(spec, image)
    assert (first.mode, first.tobytes()) == ("RGB", again.tobytes())
    assert image.tobytes() == before != first.tobytes()
    assert first.size == ((WIDTH // 2, HEIGHT // 2) if spec == "crop-0.5" else image.size)
    assert after(spec, scene(8, 9)).mode == "RGB"  # of the smallest images


def test_every_perturbation_is_among_those_tested() -> None:
    assert {parse_perturbation(spec).kind.name for spec in SPECS} == PERTURBATIONS.keys() - {"none"}


@pytest.mark.parametrize(
    "specs",
    [
        ("jpeg-95", "jpeg-60", "jpeg-20", "jpeg-3"),
        ("blur-0.7", "blur-2", "blur-6"),
        ("noise-2", "noise-20", "noise-60"),
        ("occlude-0.1", "occlude-0.4", "occlude-0.9"),
    ],
)
def test_more_of_a_change_is_farther_from_the_original(specs: tuple[str, ...]) -> None:
    errors = [error(spec, scene()) for spec in specs]
    assert errors == sorted(errors)
    assert errors[0] > 0


@pytest.mark.parametrize("sigma", [1, 3])
def test_a_blur_is_about_a_gaussian(sigma: float) -> None:
    image, inside = scene(120, 100), np.s_[15:-15, 15:-15]  # at the border, Pillow repeats what is blurred already
    exact = gaussian_filter(numbers(image), (sigma, sigma, 0), mode="nearest")[inside]
    found = numbers(after(f"blur-{sigma}", image))[inside]
    assert np.abs(found - exact).max() < 3  # of 255: three box filters for one Gaussian, and rounding in each
    assert found.mean() == pytest.approx(exact.mean(), abs=0.5)


def test_noise_has_its_standard_deviation_and_no_mean() -> None:
    gray = Image.new("RGB", (200, 150), (128, 128, 128))
    found = numbers(after("noise-10", gray)) - 128
    n = found.size
    assert abs(found.mean()) < 4 * 10 / np.sqrt(n)
    assert found.std() == pytest.approx(np.hypot(10, np.sqrt(1 / 12)), abs=4 * 10 / np.sqrt(2 * n))  # and rounding
    assert abs(np.corrcoef(found[..., 0].ravel(), found[..., 1].ravel())[0, 1]) < 4 / np.sqrt(n / 3)
    assert np.asarray(after("noise-200", gray)).max() == 255  # clipped, not wrapped around


def test_randomness_is_of_the_seed_and_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    for spec in ("noise-25", "occlude-0.2"):
        drawn = {after(spec, scene(), seed=seed, digest=digest).tobytes() for seed in (0, 1) for digest in ("a", "b")}
        assert len(drawn) == 4
    whole = after("noise-25", scene()).tobytes()
    monkeypatch.setattr(decoding, "AT_ONCE", 5 * WIDTH)
    assert after("noise-25", scene()).tobytes() == whole


def test_resizing_keeps_every_second_pixel_or_their_averages() -> None:
    nearest = numbers(after("resize-nearest", scene())).reshape(HEIGHT // 2, 2, WIDTH // 2, 2, 3)
    assert (nearest == nearest[:, :1, :, :1]).all()
    blocks = numbers(scene()).reshape(HEIGHT // 2, 2, WIDTH // 2, 2, 3)
    assert ((blocks == nearest).any(axis=(1, 3))).all()  # each block shows one of its own pixels
    errors = [error(f"resize-{name}", scene()) for name in ("nearest", "bilinear", "bicubic", "lanczos")]
    assert errors == sorted(errors, reverse=True)
    ramp = Image.fromarray(np.repeat(np.arange(0, 128, 2, dtype=np.uint8)[None, :, None], HEIGHT, axis=0).repeat(3, 2))
    inside = np.s_[:, 4:-4]
    assert np.abs(numbers(after("resize-bilinear", ramp)) - numbers(ramp))[inside].max() <= 1  # a line stays a line


@pytest.mark.parametrize(
    ("spec", "expected"),
    [("flip", lambda x: x[:, ::-1]), ("crop-0.5", lambda x: x[12:36, 16:48]), ("crop-0.01", lambda x: x[23:24, 31:32])],
)
def test_pixels_are_moved_or_kept(spec: str, expected: Callable[[np.ndarray], np.ndarray]) -> None:
    np.testing.assert_array_equal(np.asarray(after(spec, scene())), expected(np.asarray(scene())))


def test_gray_keeps_the_brightness() -> None:
    found = numbers(after("gray", scene()))
    luma = numbers(scene()) @ [0.299, 0.587, 0.114]
    assert np.abs(found - luma[..., None]).max() <= 1


@pytest.mark.parametrize("degrees", [1, 90, 123.4, 240, 359])
def test_hues_turn_as_colorsys_turns_them(degrees: float) -> None:
    corners = [(r, g, b) for r in (0, 100, 255) for g in (0, 100, 255) for b in (0, 100, 255)]
    image = Image.fromarray(np.array([*corners, *np.asarray(scene()).reshape(-1, 3)[:200]], dtype=np.uint8)[None])
    found = numbers(after(f"hue-{degrees}", image))[0]
    for before, turned in zip(numbers(image)[0] / 255, found, strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*before)
        exact = colorsys.hsv_to_rgb((hue + degrees / 360) % 1, saturation, value)
        np.testing.assert_allclose(turned, 255 * np.array(exact), atol=0.501)  # rounded to whole levels


def test_a_square_is_covered_and_nothing_else() -> None:
    places = set()
    for digest in "abcdefgh":
        image, found = np.asarray(scene()), np.asarray(after("occlude-0.5", scene(), digest=digest))
        rows, columns = np.nonzero((found != image).any(axis=2))
        inside = np.s_[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
        assert found[inside].shape[:2] == (HEIGHT // 2, HEIGHT // 2)
        assert (found[inside] == 128).all()
        places.add((rows.min(), columns.min()))
    assert len(places) > 4


def test_an_image_too_long_for_jpeg_is_refused() -> None:
    with pytest.raises(InputError, match="too long for JPEG"):
        after("jpeg-30", Image.new("RGB", (65_501, 8)))


@pytest.mark.parametrize(
    ("spec", "canonical", "title"),
    [
        ("jpeg-30", "jpeg-30", "JPEG, quality 30"),
        (" blur-3.0@0.50", "blur-3@0.5", "Blurred, 3 pixels, 50% of images"),
        ("noise-1e1", "noise-10", "Noise, 10 of 255 levels"),
        ("resize-lanczos", "resize-lanczos", "Resized, lanczos"),
        ("crop-0.80", "crop-0.8", "Cropped, 0.8 of each side kept"),
        ("hue-90", "hue-90", "Hue turned, 90°"),
        ("gray@0", "gray@0", "Gray, 0% of images"),
    ],
)
def test_names_are_read_and_written(spec: str, canonical: str, title: str) -> None:
    found = parse_perturbation(spec)
    assert (found.spec, found.title) == (canonical, title)
    assert parse_perturbation(canonical) == found


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("jpeg", r"jpeg-QUALITY@share of images \(QUALITY: a whole number from 1 to 100\)"),
        ("jpeg-0", "from 1 to 100.*quality=0"),
        ("jpeg-30.5", "a whole number"),
        ("jpeg-30:quality=20", "cannot be read"),
        ("blur--1", "above 0, up to 100 pixels"),
        ("blur-nan", "above 0, up to 100 pixels"),
        ("noise-x", "not a number"),
        ("crop-1", "above 0 and below 1"),
        ("hue-360", "above 0 and below 360"),
        ("gray-1", "No perturbation of that name.*crop-SHARE, gray, flip"),
        ("resize-cubic", "resize-bicubic"),
        ("flip@1.5", "The share of images is not usable"),
    ],
)
def test_what_is_no_perturbation_is_refused(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_perturbation(spec)
