"""Models of timm: their features against timm's own path, and folders that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from safetensors.numpy import load_file, save_file

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.encoders.catalogue import identify
from mauve_core.encoders.vision import VisionModel, is_vision_model, open_vision_model, vision_recipe
from tests.encoders.vision.test_vision_models import encoded, images

torch = pytest.importorskip("torch")
timm = pytest.importorskip("timm", reason="timm is not installed", exc_type=ImportError)

from timm.models import save_for_hf  # noqa: E402

# Architectures whose pooled features come from an average, a class token, two tokens, a hidden layer, an attention.
SMALL = {
    "resnet10t": {},
    "vit_tiny_patch16_224": {"depth": 2},
    "swin_tiny_patch4_window7_224": {"depths": (1, 1, 2, 1)},
    "vit_base_patch16_siglip_224": {"depth": 1, "embed_dim": 192},
    "vit_base_patch16_siglip_gap_224": {"depth": 1, "embed_dim": 192},
}

CHANGED = {"interpolation": "bilinear", "crop_pct": 0.8, "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]}


def written(folder: Path, name: str, more: Mapping[str, Any] = {}, **settings: Any) -> Path:
    """Save a model with random weights as timm does; ``settings`` replace those of its preparation of images."""
    torch.manual_seed(0)
    arguments = {**SMALL[name], **more}
    model = timm.create_model(name, **arguments).eval()
    for module in model.modules():  # running means of zero leave deep convolutions with nothing but rounding
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.weight, 1, 2)
            torch.nn.init.uniform_(module.bias, -0.5, 0.5)
    save_for_hf(model, folder, model_args=arguments, safe_serialization=True)
    change(folder, lambda config: config["pretrained_cfg"].update(settings))
    return folder


def change(folder: Path, how: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    how(config)
    path.write_text(json.dumps(config))


def opened(folder: Path) -> VisionModel:
    return open_vision_model(EncoderConfig(model=str(folder)), identify(str(folder)), "cpu")


def timms_own(folder: Path, found: list[Image.Image]) -> NDArray[np.float32]:
    """The features as timm's documentation computes them."""
    model = timm.create_model(f"local-dir:{folder}", pretrained=True, num_classes=0).eval()
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(model), is_training=False)
    with torch.inference_mode():
        array: NDArray[np.float32] = model(torch.stack([transform(each) for each in found])).numpy()
    return array


@pytest.mark.parametrize("settings", [{}, CHANGED], ids=["as it is", "changed preparation"])
@pytest.mark.parametrize("name", SMALL)
def test_features_are_those_of_timm(tmp_path: Path, name: str, settings: dict[str, Any]) -> None:
    folder, found = written(tmp_path, name, **settings), images(4, (310, 250))
    expected = timms_own(folder, found)
    assert np.ptp(expected, axis=0).max() > 1e-3, "features of different images differ"
    np.testing.assert_allclose(encoded(opened(folder), found), expected, rtol=1e-4, atol=1e-4)


def test_the_preparation_is_that_of_the_models_settings(tmp_path: Path) -> None:
    found = images(2, (310, 250))
    plain, other = (opened(written(tmp_path / name, "resnet10t", **own)) for name, own in (("a", {}), ("b", CHANGED)))
    assert np.abs(plain.prepare(found[0]) - other.prepare(found[0])).max() > 0.1
    assert plain.prepare(found[0]).shape == (3, 176, 176)


def test_a_folder_of_timm_takes_images_and_its_digest_follows_its_files(tmp_path: Path) -> None:
    folder = written(tmp_path, "resnet10t")
    before = identify(str(folder))
    assert is_vision_model(before)
    assert "timm's evaluation transform" in vision_recipe(before)
    change(folder, lambda config: config["pretrained_cfg"].update(crop_pct=0.8))
    changed = identify(str(folder))
    assert changed.digest != before.digest
    weights = load_file(folder / "model.safetensors")
    save_file({**weights, "conv1.0.weight": weights["conv1.0.weight"] + 1}, folder / "model.safetensors")
    assert identify(str(folder)).digest not in (before.digest, changed.digest)


def refused(folder: Path, match: str) -> None:
    with pytest.raises((InputError, ModelUnavailableError), match=match):
        opened(folder)


@pytest.mark.parametrize(
    ("how", "match"),
    [
        (lambda config: config.update(architecture="hf-hub:timm/resnet10t"), "does not know the architecture"),
        (lambda config: config["pretrained_cfg"].update(crop_pct=1e-6), "from 1 to 1,536 pixels"),
        (lambda config: config.setdefault("model_args", {}).update(checkpoint_path="/etc/passwd"), "cannot be loaded"),
        (lambda config: config.setdefault("model_args", {}).update(global_pool=""), "no one vector for an image"),
        (lambda config: config.setdefault("model_args", {}).update(layers=[20_000, 1, 1, 1]), "layers = 20,000"),
        (lambda config: config.setdefault("model_args", {}).update(width_factor=2.0), "cannot be loaded"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    tmp_path: Path, how: Callable[[dict[str, Any]], object], match: str
) -> None:
    folder = written(tmp_path, "resnet10t")
    change(folder, how)
    refused(folder, match)


def test_a_model_of_gray_images_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, "resnet10t", {"in_chans": 1}, input_size=(1, 176, 176))
    refused(folder, r"does not take color images.*\[3, height, width\].*1 channel")


def test_a_configuration_cannot_build_more_than_its_weights_hold(tmp_path: Path) -> None:
    folder = written(tmp_path, "vit_tiny_patch16_224")
    change(folder, lambda config: config.setdefault("model_args", {}).update(embed_dim=192_000))
    refused(folder, "declares more parameters than its weights hold")


def test_every_weight_is_from_the_file(tmp_path: Path) -> None:
    """timm itself keeps random values for weights that a file of this architecture lacks."""
    folder = written(tmp_path, "vit_base_patch16_siglip_gap_224")
    path = folder / "model.safetensors"
    weights = load_file(path)
    save_file({key: value for key, value in weights.items() if key != "blocks.0.mlp.fc1.weight"}, path)
    timm.create_model(f"local-dir:{folder}", pretrained=True)
    refused(folder, r"missing 1: blocks\.0\.mlp\.fc1\.weight")


def test_a_pickle_of_weights_is_read_and_one_of_code_is_not(tmp_path: Path) -> None:
    folder, found = written(tmp_path, "resnet10t"), images(2)
    before = encoded(opened(folder), found)
    weights = {key: torch.from_numpy(value) for key, value in load_file(folder / "model.safetensors").items()}
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    np.testing.assert_array_equal(encoded(opened(folder), found), before)
    torch.save({**weights, "x": Path("code")}, folder / "pytorch_model.bin")
    refused(folder, r"pytorch_model\.bin")
