"""Inception v3 for FID and KID: both resizes by plain twins, and features that do not depend on their batch.

tests/encoders/vision/test_inception_peers.py compares it with the packages that compute FID.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.base.files import digest_of_file
from mauve_core.encoders.catalogue import INCEPTION, identify, inception_weights
from mauve_core.encoders.models import language_model
from mauve_core.encoders.vision import is_vision_model, open_vision_model, vision_recipe

pytestmark = pytest.mark.integration

torch = pytest.importorskip("torch")

from mauve_core.encoders import vision_networks  # noqa: E402 (needs torch)
from tests.encoders.vision.random_inception import write_weights  # noqa: E402


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("torch")
    write_weights(found)
    return found


def noise(height: int, width: int) -> Image.Image:
    rng = np.random.default_rng(height)
    return Image.fromarray(rng.integers(256, size=(height, width, 3), dtype=np.uint8))


def test_the_network_has_the_papers_size() -> None:
    # torchvision's Inception v3 has 27,161,264 parameters, 3,326,696 of them in its second classifier and 2,049,000 in
    # its first.
    assert sum(each.numel() for each in vision_networks.InceptionV3().parameters()) == 21_785_568


def test_features_do_not_depend_on_their_batch(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = next(iter(INCEPTION))
    monkeypatch.setenv("TORCH_HOME", str(home))
    identity = identify(name)
    model = open_vision_model(EncoderConfig(model=name), identity, "cpu")
    prepared = [model.prepare(noise(height, 50)) for height in (20, 300, 90)]
    together = model.run(np.stack(prepared))
    assert together.shape == (3, vision_networks.INCEPTION_WIDTH)
    assert np.ptp(together, axis=0).mean() > 0.01, "features of different images differ"
    np.testing.assert_allclose(together, np.concatenate([model.run(each[None]) for each in prepared]), atol=1e-5)
    assert model.image_numbers == prepared[0].size
    assert model.notes == (f"The weights {inception_weights()} are not those of published values of FID and KID.",)
    monkeypatch.setattr("mauve_core.encoders.vision.INCEPTION_SHA256", digest_of_file(inception_weights()))
    assert open_vision_model(EncoderConfig(model=name), identity, "cpu").notes == ()


def test_the_identity_follows_the_weights_and_the_recipe_the_resize(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    path = inception_weights()
    path.parent.mkdir(parents=True)
    path.write_bytes(b"one")
    fid, clean = (identify(name) for name in INCEPTION)
    assert fid.digest == clean.digest
    assert is_vision_model(fid)
    assert "TensorFlow" in vision_recipe(fid)
    assert "antialiased" in vision_recipe(clean)
    assert vision_recipe(fid) != vision_recipe(clean)
    path.write_bytes(b"another")
    assert identify(fid.name).digest != fid.digest
    with pytest.raises(ModelUnavailableError, match=r"damaged.*Download them again"):
        open_vision_model(EncoderConfig(model=fid.name), fid, "cpu")
    with pytest.raises(InputError, match=r"one precision.*float32.*float16"):
        open_vision_model(EncoderConfig(model=fid.name, dtype="float16"), fid, "cpu")
    with pytest.raises(InputError, match="encodes images, not texts"):
        language_model(fid.name, None)


@pytest.mark.parametrize("size", [(5, 9), (299, 299), (450, 320)])
def test_tensorflows_resize_takes_the_pixels_before_and_after(size: tuple[int, int]) -> None:
    image = noise(*size)
    pixels = np.asarray(image, dtype=np.float64)
    ours = vision_networks.like_tensorflow(image).transpose(1, 2, 0) * 128 + 128
    for row, column in [(0, 0), (7, 100), (150, 3), (298, 298)]:
        y, x = row * size[0] / 299, column * size[1] / 299
        expected = np.zeros(3)
        for i, j in [(0, 0), (0, 1), (1, 0), (1, 1)]:
            weight = (y % 1 if i else 1 - y % 1) * (x % 1 if j else 1 - x % 1)
            expected += weight * pixels[min(int(y) + i, size[0] - 1), min(int(x) + j, size[1] - 1)]
        np.testing.assert_allclose(ours[row, column], expected, atol=0.01)


@pytest.mark.parametrize("size", [(40, 60), (299, 299), (900, 700)])
def test_the_clean_resize_is_antialiased_bicubic(size: tuple[int, int]) -> None:
    """torch has the same filter, with other rounding; where nothing is to be resized, the pixels stay."""
    image = noise(*size)
    whole = torch.from_numpy(np.asarray(image, dtype=np.float32).transpose(2, 0, 1))[None]
    resized = torch.nn.functional.interpolate(whole, (299, 299), mode="bicubic", antialias=True).clip(0, 255)
    np.testing.assert_allclose(vision_networks.clean(image) * 128 + 128, resized[0].numpy(), atol=0.01)


def test_only_the_clean_resize_averages_fine_stripes() -> None:
    stripes = Image.fromarray(np.repeat(np.uint8([[0, 255] * 448] * 896)[:, :, None], 3, axis=2))
    assert vision_networks.clean(stripes)[:, 20:-20, 20:-20].std() < 0.1
    assert vision_networks.like_tensorflow(stripes)[:, 20:-20, 20:-20].std() > 0.3


def test_weights_that_unpack_or_would_be_rounded_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_weights(tmp_path)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    path, name = inception_weights(), next(iter(INCEPTION))
    weights = torch.load(path, weights_only=True)
    torch.save({key: value.to(torch.int8) for key, value in weights.items()}, path)
    with pytest.raises(ModelUnavailableError, match=r"damaged.*Download them again"):
        open_vision_model(EncoderConfig(model=name), identify(name), "cpu")
    torch.save(weights, tmp_path / "plain.pth")
    with zipfile.ZipFile(tmp_path / "plain.pth") as plain, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for entry in plain.infolist():
            packed.writestr(entry.filename, plain.read(entry))
    with pytest.raises(ModelUnavailableError, match="its entries are compressed"):
        open_vision_model(EncoderConfig(model=name), identify(name), "cpu")
