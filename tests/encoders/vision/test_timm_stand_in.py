"""What is added to timm, on machines without it: a stand-in has the few functions of timm that are called."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mauve_core.base.errors import InputError, ModelUnavailableError
from tests.encoders.vision.test_vision_models import encoded, images, opened

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file  # noqa: E402
from torch import Tensor, nn  # noqa: E402

SIDE = 24


class Net(nn.Module):
    """A convolution, an average over places, and a classifier."""

    def __init__(self, channels: int, width: int, pooled: bool) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(channels, width, 5, 3), nn.BatchNorm2d(width))
        self.fc, self.pooled = nn.Linear(width, 3), pooled

    def forward_features(self, x: Tensor) -> Tensor:
        return self.stem(x).relu()

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        x = x.mean(dim=(2, 3)) if self.pooled else x
        return x if pre_logits else self.fc(x)


def create_model(source: str, pretrained: bool = False) -> Net:
    folder = Path(source.removeprefix("local-dir:"))
    settings = json.loads((folder / "config.json").read_text())["pretrained_cfg"]
    model = Net(settings["input_size"][0], settings["width"], settings["pooled"])
    model.settings = settings
    if pretrained and settings["read"]:
        model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
    return model


def create_transform(*, input_size: list[int], crop_pct: float, is_training: bool) -> Any:
    assert not is_training
    side = input_size[1]

    def transform(image: Image.Image) -> Tensor:
        values = np.asarray(image.resize((side, side)), dtype=np.float32)
        return torch.from_numpy(values / 255 * crop_pct).permute(2, 0, 1)

    return transform


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model's folder, and the stand-in in place of timm."""
    data = SimpleNamespace(
        resolve_model_data_config=lambda model: {name: model.settings[name] for name in ("input_size", "crop_pct")},
        create_transform=create_transform,
    )
    stand_in = SimpleNamespace(
        __version__="0", is_model=lambda name: name == "net", create_model=create_model, data=data, __spec__=None
    )
    monkeypatch.setitem(sys.modules, "timm", stand_in)
    monkeypatch.setattr("mauve_core.base.extras.find_spec", lambda _: True)
    torch.manual_seed(0)
    save_file(Net(3, 8, True).state_dict(), tmp_path / "model.safetensors")
    write(tmp_path)
    return tmp_path


def write(folder: Path, architecture: str = "net", **changed: Any) -> None:
    settings = {"input_size": [3, SIDE, SIDE], "crop_pct": 0.8, "width": 8, "pooled": True, "read": True, **changed}
    (folder / "config.json").write_text(json.dumps({"architecture": architecture, "pretrained_cfg": settings}))


def test_features_are_what_the_head_is_given(folder: Path) -> None:
    found = images(5)
    model, transform = create_model(f"local-dir:{folder}", pretrained=True).eval(), create_transform(
        input_size=[3, SIDE, SIDE], crop_pct=0.8, is_training=False
    )  # fmt: skip
    with torch.inference_mode():
        expected = model.stem(torch.stack([transform(each) for each in found])).relu().mean(dim=(2, 3)).numpy()
    ours = opened(str(folder))
    assert ours.image_numbers == 3 * SIDE**2
    np.testing.assert_allclose(encoded(ours, found), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"architecture": "hf-hub:someone/net"}, "timm 0 does not know the architecture 'hf-hub:someone/net'"),
        ({"input_size": [1, SIDE, SIDE]}, r"does not take color images.*1 channels"),
        ({"input_size": [3, 2000, SIDE]}, "from 1 to 1,536 pixels"),
        ({"input_size": [3, 0, SIDE]}, "from 1 to 1,536 pixels"),
        ({"input_size": [3, SIDE]}, "three whole numbers"),
        ({"input_size": [3, "24", SIDE]}, "three whole numbers"),
        ({"crop_pct": 1e-3}, "from 1 to 1,536 pixels"),
        ({"crop_pct": float("nan")}, "from 1 to 1,536 pixels"),
        ({"crop_pct": "all"}, "three whole numbers, a number"),
        ({"pooled": False}, r"no one vector for an image.*8 x 7 x 7 numbers"),
        ({"width": 2_000_000}, "declares more parameters than its weights hold"),
        ({"depths": [20_000]}, "depths = 20,000 is more than any model has"),
        ({"width": 9}, "size mismatch"),
        ({"read": False}, "none was read"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_refused(folder: Path, changed: dict[str, Any], match: str) -> None:
    write(folder, **changed)
    with pytest.raises((InputError, ModelUnavailableError), match=match):
        opened(str(folder))


def test_a_weight_that_is_not_in_the_file_is_named(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["stem.1.bias"]
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ModelUnavailableError, match=r"do not match config\.json; missing 1: stem\.1\.bias"):
        opened(str(folder))


def test_complex_weights_are_refused(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file({**weights, "fc.weight": weights["fc.weight"].to(torch.complex64)}, folder / "model.safetensors")
    with pytest.raises(ModelUnavailableError, match=r"fc\.weight holds complex numbers"):
        opened(str(folder))


def test_weights_of_whole_numbers_are_refused_and_counters_are_not(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    assert not weights["stem.1.num_batches_tracked"].is_floating_point()
    save_file({**weights, "fc.weight": weights["fc.weight"].to(torch.int8)}, folder / "model.safetensors")
    with pytest.raises(ModelUnavailableError, match=r"fc\.weight.*whole numbers"):
        opened(str(folder))
