"""Models of images: classical features by hand, the small network's weights, and transformers' own path."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from safetensors.numpy import save_file

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.encoders import vision, vision_models
from mauve_core.encoders.catalogue import EFFICIENTNET, PIXELS, VISION, ModelIdentity, identify
from mauve_core.encoders.models import language_model
from mauve_core.encoders.vision import VisionModel, is_vision_model, open_vision_model, vision_recipe

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SIDE = 32


def images(n: int, size: tuple[int, int] = (50, 40)) -> list[Image.Image]:
    rng = np.random.default_rng(7)
    small = rng.integers(256, size=(n, 5, 6, 3), dtype=np.uint8)
    return [Image.fromarray(each).resize(size, Image.Resampling.BICUBIC) for each in small]


def opened(name: str) -> VisionModel:
    return open_vision_model(EncoderConfig(model=name), identify(name), "cpu")


def encoded(model: VisionModel, found: list[Image.Image]) -> NDArray[np.float32]:
    return model.run(np.stack([model.prepare(each) for each in found]))


def test_pixels_of_one_color_are_that_color_without_edges() -> None:
    found = vision.features_of_pixels(Image.new("RGB", (40, 30), (255, 0, 0)))
    assert found.shape == (vision.PIXELS_WIDTH,)
    picture, colors, edges = np.split(found, [256, 352])
    np.testing.assert_allclose(picture * 16, 0.299, atol=1e-6)
    np.testing.assert_allclose(colors.reshape(16, 6) * np.sqrt(96), [[1, 0, 0, 0, 0, 0]] * 16, atol=1e-6)
    assert not edges.any()


def test_pixels_of_black_have_the_direction_of_any_gray() -> None:
    black, darkest, gray = (
        vision.features_of_pixels(Image.new("RGB", (40, 30), (level,) * 3)) for level in (0, 1, 128)
    )
    np.testing.assert_array_equal(black, darkest)
    np.testing.assert_allclose(black / np.linalg.norm(black), gray / np.linalg.norm(gray), atol=1e-6)


def test_pixels_see_the_direction_of_stripes() -> None:
    stripes = (np.arange(128) // 8 % 2 * 255).astype(np.uint8)
    upright, flat = (
        vision.features_of_pixels(Image.fromarray(np.broadcast_to(each, (128, 128)).copy()).convert("RGB"))[
            352:
        ].reshape(16, 8)
        for each in (stripes, stripes[:, None])
    )
    assert np.allclose(np.linalg.norm(upright), 1, atol=1e-6)
    assert set(upright.argmax(axis=1)) == {0}
    assert set(flat.argmax(axis=1)) == {4}


def small(kind: str) -> Any:
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    vision = {**sizes, "image_size": SIDE, "patch_size": 8}
    torch.manual_seed(0)
    if kind == "vit":
        return transformers.ViTModel(transformers.ViTConfig(**vision), add_pooling_layer=False)
    if kind == "dinov2":
        return transformers.Dinov2Model(transformers.Dinov2Config(**vision))
    if kind == "beit":
        return transformers.BeitModel(transformers.BeitConfig(**vision))
    if kind == "dinov3":
        return transformers.DINOv3ViTModel(transformers.DINOv3ViTConfig(**vision))
    if kind == "dinov3 of convolutions":
        sizes = {"hidden_sizes": [8, 8, 8, 16], "depths": [1, 1, 1, 1]}
        return transformers.DINOv3ConvNextModel(transformers.DINOv3ConvNextConfig(**sizes, image_size=SIDE))
    if kind == "siglip tower":
        return transformers.SiglipVisionModel(transformers.SiglipVisionConfig(**vision))
    if kind == "clip tower":
        return transformers.CLIPVisionModel(transformers.CLIPVisionConfig(**vision))
    if kind == "clip tower, projected":
        return transformers.CLIPVisionModelWithProjection(transformers.CLIPVisionConfig(**vision, projection_dim=12))
    if kind == "clip":
        text = {**sizes, "vocab_size": 50, "bos_token_id": 0, "eos_token_id": 1}
        return transformers.CLIPModel(
            transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=12)
        )
    return transformers.ConvNextModel(
        transformers.ConvNextConfig(num_stages=2, hidden_sizes=[8, 16], depths=[1, 1], image_size=SIDE)
    )


def plain(kind: str, model: Any, values: Any) -> Any:
    """The features as transformers' documentation computes them."""
    if kind == "clip":
        return model.visual_projection(model.vision_model(pixel_values=values).pooler_output)
    output = model(pixel_values=values)
    if kind == "clip tower, projected":
        return output.image_embeds
    return output.last_hidden_state[:, 0] if kind in ("vit", "dinov2") else output.pooler_output


TOWERS = ["dinov3", "dinov3 of convolutions", "siglip tower", "clip tower", "clip tower, projected"]


@pytest.fixture(params=["vit", "beit", "dinov2", "clip", "convnext", *TOWERS])
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Any, Path]:
    model = small(request.param).eval()
    model.save_pretrained(tmp_path)
    settings = {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True, "size": {"height": SIDE, "width": SIDE}, "resample": 3,
        "do_rescale": True, "rescale_factor": 1 / 255,
        "do_normalize": True, "image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.4],
    }  # fmt: skip
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings))
    return request.param, model, tmp_path


def test_features_are_those_of_transformers(saved: tuple[str, Any, Path]) -> None:
    kind, model, folder = saved
    found = images(7)
    ours = encoded(opened(str(folder)), found)
    values = [np.asarray(each.resize((SIDE, SIDE), Image.Resampling.BICUBIC), dtype=np.float64) / 255 for each in found]
    scaled = (np.stack(values) - [0.5, 0.4, 0.3]) / [0.2, 0.3, 0.4]
    with torch.inference_mode():
        expected = plain(kind, model, torch.from_numpy(scaled.transpose(0, 3, 1, 2).astype(np.float32)))
    np.testing.assert_allclose(ours, expected.reshape(7, -1).numpy(), atol=1e-4)


def test_a_feature_does_not_depend_on_its_batch(saved: tuple[str, Any, Path]) -> None:
    model, found = opened(str(saved[2])), images(5)
    together = encoded(model, found)
    alone = np.concatenate([encoded(model, [each]) for each in found])
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize(("dtype", "products"), [("float32", "ieee"), ("tf32", "tf32")])
def test_passes_compute_in_the_precision_that_was_asked_for(
    saved: tuple[str, Any, Path], monkeypatch: pytest.MonkeyPatch, dtype: Any, products: str
) -> None:
    asked = []

    def spy(products: str, device: str) -> nullcontext[None]:
        asked.append((products, device))
        return nullcontext()

    monkeypatch.setattr(vision_models, "matrix_products", spy)
    encoded(vision_models.load_of_transformers(identify(str(saved[2])), dtype, "cpu"), images(2))
    assert asked == [(products, "cpu")]


def test_a_model_says_whether_it_takes_images(saved: tuple[str, Any, Path], tmp_path: Path) -> None:
    assert is_vision_model(identify(str(saved[2])))
    assert is_vision_model(identify(PIXELS))
    text = tmp_path / "text"
    transformers.BertModel(
        transformers.BertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=1)
    ).save_pretrained(text)
    assert not is_vision_model(identify(str(text)))


def test_the_recipe_follows_the_processor(saved: tuple[str, Any, Path]) -> None:
    identity, path = identify(str(saved[2])), saved[2] / "preprocessor_config.json"
    before = vision_recipe(identity)
    path.write_text(path.read_text().replace("0.5", "0.6"))
    assert vision_recipe(identity) != before
    path.unlink()
    with pytest.raises(ModelUnavailableError, match=r"has no preprocessor_config\.json"):
        vision_recipe(identity)


@pytest.mark.parametrize("saved", ["vit"], indirect=True)
@pytest.mark.parametrize(
    "changed", [{"size": {"height": 3000, "width": SIDE}}, {"crop_size": 3000}, {"size": {"x": SIDE}, "crop_pct": 1e-3}]
)
def test_sizes_beyond_any_models_are_refused(saved: tuple[str, Any, Path], changed: dict[str, Any]) -> None:
    path = saved[2] / "preprocessor_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    with pytest.raises(ModelUnavailableError, match=r"size = .*Allowed: sides .*of up to 2,560 pixels"):
        opened(str(saved[2]))


@pytest.mark.parametrize("saved", ["vit"], indirect=True)
def test_an_adapter_of_a_model_of_images_is_not_taken_for_its_base(saved: tuple[str, Any, Path]) -> None:
    folder = saved[2] / "adapter"
    folder.mkdir()
    settings = {"peft_type": "LORA", "r": 1, "base_model_name_or_path": str(saved[2])}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    save_file({"a.lora_A.weight": np.ones((1, 1), np.float32)}, folder / "adapter_model.safetensors")
    with pytest.raises(InputError, match="is an adapter of a model that takes images, into which none is merged here"):
        is_vision_model(identify(str(folder)))


def test_a_masked_autoencoder_is_refused(tmp_path: Path) -> None:
    config = transformers.ViTMAEConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=SIDE, patch_size=8,
        decoder_hidden_size=16, decoder_num_hidden_layers=1, decoder_num_attention_heads=2,
    )  # fmt: skip
    transformers.ViTMAEModel(config).save_pretrained(tmp_path)
    assert not is_vision_model(identify(str(tmp_path)))


def test_classical_features_have_one_precision() -> None:
    with pytest.raises(InputError, match=r"one precision.*float32.*bfloat16"):
        open_vision_model(EncoderConfig(model=PIXELS, dtype="bfloat16"), identify(PIXELS), "cpu")


@pytest.mark.parametrize("content", [b"no weights", b"another"])
def test_damaged_weights_of_the_small_network_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "w.pth").write_bytes(content)
    identity = ModelIdentity(EFFICIENTNET, "package", str(tmp_path / "w.pth"), "0")
    with pytest.raises(ModelUnavailableError, match="damaged"):
        open_vision_model(EncoderConfig(model=EFFICIENTNET), identity, "cpu")


def test_another_pooling_is_refused() -> None:
    with pytest.raises(InputError, match="pooling does not apply to images"):
        vision_recipe(identify(PIXELS), "mean")


def test_a_model_of_images_is_refused_for_texts() -> None:
    with pytest.raises(InputError, match="encodes images, not texts"):
        language_model(PIXELS, None)


@pytest.mark.slow
@pytest.mark.skipif(VISION[EFFICIENTNET].locate() is None, reason="its package is not installed")
def test_the_small_network_knows_a_flower_and_a_temple() -> None:
    from sklearn.datasets import load_sample_images

    model = opened(EFFICIENTNET)
    weights = torch.load(identify(EFFICIENTNET).location, weights_only=True)
    features = encoded(model, [Image.fromarray(each) for each in load_sample_images().images])
    assert features.shape == (2, 1280)
    classes = features @ weights["_fc.weight"].numpy().T + weights["_fc.bias"].numpy()
    assert classes.argmax(axis=1).tolist() == [698, 985]  # palace, daisy
