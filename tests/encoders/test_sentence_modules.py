"""Sentence-transformers models against a slow plain twin: one text at a time, pooled and transformed by NumPy.

Tolerance 1e-5 of a row's norm, as in test_encode. The same models were held against sentence-transformers itself.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file
from transformers import AutoModel, AutoTokenizer

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.encoders import Encoder, PrefixEncoder, encode, feature_key
from mauve_core.encoders.catalogue import PACKAGED
from mauve_core.encoders.features import FeatureStore
from tests.encoders.test_encode import RELATIVE, relative_error
from tests.tiny_models import WIDTH

pytestmark = pytest.mark.integration

Tiny = Callable[[str], str]
Array = NDArray[np.float64]
OWN = "sentence_transformers.models."
COMMIT = "0123456789abcdef0123456789abcdef01234567"
ALL = ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
RNG = np.random.default_rng(5)
DENSE = RNG.normal(size=(8, WIDTH)).astype(np.float32), RNG.normal(size=8).astype(np.float32)
NORM = RNG.normal(size=8).astype(np.float32), RNG.normal(size=8).astype(np.float32)

POOLED: dict[str, Callable[[Array], Array]] = {
    "cls": lambda h: h[0],
    "max": lambda h: h.max(axis=0),
    "mean": lambda h: h.mean(axis=0),
    "mean_sqrt_len_tokens": lambda h: h.sum(axis=0) / np.sqrt(len(h)),
    "weightedmean": lambda h: np.average(h, axis=0, weights=np.arange(1, len(h) + 1)),
    "lasttoken": lambda h: h[-1],
}


def dump(path: Path, values: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(values))


def make(source: str, folder: Path, pooling: object, *, steps: Sequence[str] = (), **texts: object) -> Path:
    """A tiny model as sentence-transformers saves one."""
    shutil.copytree(source, folder)
    kinds = ["Transformer", "Pooling", *steps]
    places = ["", *(f"{index}_{kind}" for index, kind in enumerate(kinds) if index)]
    modules = [
        {"idx": index, "name": str(index), "path": place, "type": OWN + kind}
        for index, (kind, place) in enumerate(zip(kinds, places, strict=True))
    ]
    dump(folder / "modules.json", modules)
    dump(folder / "1_Pooling" / "config.json", pooling if isinstance(pooling, dict) else {"pooling_mode": pooling})
    dump(folder / "sentence_bert_config.json", {"max_seq_length": None, "do_lower_case": False} | texts)
    for place in places[2:]:
        (folder / place).mkdir()
    if "Dense" in steps:
        dump(folder / "2_Dense" / "config.json", {"in_features": WIDTH, "out_features": 8})
        save_file({"linear.weight": DENSE[0], "linear.bias": DENSE[1]}, folder / "2_Dense" / "model.safetensors")
    if "LayerNorm" in steps:
        dump(folder / "3_LayerNorm" / "config.json", {"dimension": 8})
        save_file({"norm.weight": NORM[0], "norm.bias": NORM[1]}, folder / "3_LayerNorm" / "model.safetensors")
    return folder


def states(folder: str, texts: Sequence[str], limit: int = 64) -> list[Array]:
    """(t, d) last hidden states of each text alone."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    found = []
    for text in texts:
        ids = tokenizer(text, truncation=True, max_length=limit)["input_ids"]
        with torch.no_grad():
            found.append(model(torch.tensor([ids])).last_hidden_state[0].double().numpy())
    return found


def twin(folder: str, texts: Sequence[str], modes: Sequence[str], limit: int = 64) -> Array:
    rows = states(folder, texts, limit)
    return np.stack([np.concatenate([POOLED[mode](hidden) for mode in modes]) for hidden in rows])


def unit(x: Array) -> Array:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.fixture
def sentence(tiny: Tiny, tmp_path: Path) -> Path:
    """Mean, then unit length, of the tiny BERT; texts are cut at 20 tokens."""
    return make(tiny("bert"), tmp_path / "sentence", "mean", steps=["Normalize"], max_seq_length=20)


def cached(folder: str | Path, cache: Path) -> Path:
    """The folder's place in the hub's local cache as someone/FOLDER."""
    place = cache / f"models--someone--{Path(folder).name}"
    shutil.copytree(folder, place / "snapshots" / COMMIT)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(COMMIT)
    return place


@pytest.fixture
def hub(sentence: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The hub id under which the hub's local cache has the same model; the hub itself does not answer."""
    cached(sentence, tmp_path / "cache")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    return "someone/sentence"


def features(model: object, texts: Sequence[str], **settings: Any) -> Any:
    return encode(texts, EncoderConfig(str(model), **settings), device="cpu")


@pytest.mark.parametrize("modes", [*([mode] for mode in ALL), ALL])
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_each_pooling(tiny: Tiny, texts: tuple[str, ...], tmp_path: Path, name: str, modes: list[str]) -> None:
    folder = make(tiny(name), tmp_path / "m", modes if len(modes) > 1 else modes[0])
    assert relative_error(features(folder, texts).array, twin(tiny(name), texts, modes)) < RELATIVE


def test_the_older_way_to_name_poolings(tiny: Tiny, texts: tuple[str, ...], tmp_path: Path) -> None:
    older = {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}
    folder = make(tiny("bert"), tmp_path / "m", older | {"pooling_mode_max_tokens": False})
    assert relative_error(features(folder, texts).array, twin(tiny("bert"), texts, ["cls", "mean"])) < RELATIVE


def test_what_follows_the_pooling(tiny: Tiny, texts: tuple[str, ...], tmp_path: Path) -> None:
    folder = make(tiny("bert"), tmp_path / "m", "mean", steps=["Dense", "LayerNorm", "Dropout", "Normalize"])
    found = features(folder, texts)
    x = np.tanh(twin(tiny("bert"), texts, ["mean"]) @ DENSE[0].T + DENSE[1])
    x = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5) * NORM[0] + NORM[1]
    assert relative_error(found.array, unit(x)) < RELATIVE
    assert "mean pooling, a dense layer with 8 outputs, layer norm, unit length" in found.notes[0]


def test_a_dense_layer_beside_its_input(tiny: Tiny, texts: tuple[str, ...], tmp_path: Path) -> None:
    folder = make(tiny("bert"), tmp_path / "m", "mean", steps=["Dense"])
    identity = "torch.nn.modules.linear.Identity"
    settings = {"out_features": 8, "bias": False, "activation_function": identity, "use_residual": True}
    dump(folder / "2_Dense" / "config.json", settings)
    across = np.ascontiguousarray(DENSE[0][::-1])
    save_file({"linear.weight": DENSE[0], "residual.weight": across}, folder / "2_Dense" / "model.safetensors")
    expected = twin(tiny("bert"), texts, ["mean"]) @ (DENSE[0] + across).T
    assert relative_error(features(folder, texts).array, expected) < RELATIVE


def test_prompt_length_and_case(tiny: Tiny, texts: tuple[str, ...], tmp_path: Path) -> None:
    folder = make(tiny("gpt2"), tmp_path / "m", "mean", do_lower_case=True, max_seq_length=12)
    dump(
        folder / "config_sentence_transformers.json", {"prompts": {"q": "Query: ", "d": ""}, "default_prompt_name": "q"}
    )
    found = features(folder, texts)
    expected = twin(tiny("gpt2"), [f"Query: {text}".lower() for text in texts], ["mean"], 12)
    assert relative_error(found.array, expected) < RELATIVE
    assert found.limit == 12
    assert "lowercase, prompt 'Query: '" in found.notes[0]
    with pytest.raises(InputError, match=r"text 1 \(counted"):
        features(folder, ["Something.", ""])


def test_hub_id_folder_and_older_layout_are_the_same(
    sentence: Path, hub: str, tiny: Tiny, texts: tuple[str, ...], tmp_path: Path
) -> None:
    expected = unit(twin(tiny("bert"), texts, ["mean"], 20))
    found = features(sentence, texts)
    assert relative_error(found.array, expected) < RELATIVE
    assert found.limit == 20
    np.testing.assert_array_equal(features(hub, texts).array, found.array)
    older = tmp_path / "older"
    shutil.copytree(sentence, older / "0_Transformer")
    for name in ("modules.json", "1_Pooling", "2_Normalize"):
        shutil.move(older / "0_Transformer" / name, older / name)
    modules = json.loads((older / "modules.json").read_text())
    dump(older / "modules.json", [modules[0] | {"path": "0_Transformer"}, *modules[1:]])
    np.testing.assert_array_equal(features(older, texts).array, found.array)


def test_a_hub_model_that_may_have_more_files_says_so(
    tiny: Tiny, hub: str, texts: tuple[str, ...], tmp_path: Path
) -> None:
    place = cached(tiny("bert"), tmp_path / "cache")
    found, plain = (features(model, texts) for model in ("someone/tiny-bert", tiny("bert")))
    np.testing.assert_array_equal(found.array, plain.array)
    assert "pooled by its first token" in found.notes[0]
    (place / ".no_exist" / COMMIT).mkdir(parents=True)
    (place / ".no_exist" / COMMIT / "modules.json").touch()
    assert features("someone/tiny-bert", texts).notes == plain.notes == ()
    (place / "snapshots" / COMMIT / "model.safetensors").unlink()
    with pytest.raises(ModelUnavailableError, match="not all on this machine"):
        features("someone/tiny-bert", texts)


@pytest.mark.skipif(PACKAGED["minilm"].locate() is None, reason="the minilm package is not installed")
@pytest.mark.trial
def test_the_package_and_its_folder_are_the_same(texts: tuple[str, ...]) -> None:
    folder = str(PACKAGED["minilm"].locate())
    found = features("minilm", texts[:8])
    assert (found.limit, found.pooling) == (256, "mean pooling, unit length")
    np.testing.assert_array_equal(features(folder, texts[:8]).array, found.array)
    assert relative_error(found.array, unit(twin(folder, texts[:8], ["mean"], 256))) < RELATIVE
    assert found.limit == 256


def test_a_pooling_that_is_named_is_that_of_the_plain_model(sentence: Path, tiny: Tiny, texts: tuple[str, ...]) -> None:
    for pooling in ("mean", "last", "first"):
        found, plain = (features(folder, texts, pooling=pooling) for folder in (sentence, tiny("bert")))
        np.testing.assert_array_equal(found.array, plain.array)
        assert found.notes == plain.notes == ()
        assert found.key == plain.key


def test_everything_in_the_files_counts_in_the_key(sentence: Path, tmp_path: Path) -> None:
    texts, config = ("First text.", "Second text."), EncoderConfig(str(sentence))
    keys = [feature_key(texts, config)]
    changes: dict[str, object] = {
        "1_Pooling/config.json": {"pooling_mode": "cls"},
        "sentence_bert_config.json": {"max_seq_length": 21, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": {"q": "Query: "}, "default_prompt_name": "q"},
        "modules.json": json.loads((sentence / "modules.json").read_text())[:2],
    }
    for name, values in changes.items():
        dump(sentence / name, values)
        keys.append(feature_key(texts, config))
    assert len(set(keys)) == len(keys)
    dense = make(str(sentence), tmp_path / "dense", "mean", steps=["Dense"])
    config = replace(config, model=str(dense))
    keys.append(feature_key(texts, config))
    save_file({"linear.weight": -DENSE[0], "linear.bias": DENSE[1]}, dense / "2_Dense" / "model.safetensors")
    assert len({*keys, feature_key(texts, config)}) == len(keys) + 1
    assert feature_key(texts, config) == features(dense, texts).key


@pytest.mark.trial
def test_devices_the_padded_pass_prefixes_and_the_store(tiny: Tiny, texts: tuple[str, ...], tmp_path: Path) -> None:
    for name, pooling in (("gpt2", "mean"), ("gpt2", "weightedmean"), ("bert", "lasttoken")):
        folder = make(tiny(name), tmp_path / f"{name}-{pooling}", pooling, steps=["Dense", "LayerNorm", "Normalize"])
        config, store = EncoderConfig(str(folder)), FeatureStore(tmp_path / "store")
        one = encode(texts, config, device="cpu", store=store)
        for device, packed in (("cpu,cpu", True), ("cpu", False), ("cpu,cpu", False)):
            other = Encoder(config, device=device, packed=packed, batch_tokens=70).encode(texts)
            assert relative_error(other.array, one.array) < RELATIVE
        found = PrefixEncoder(config, device="cpu").encode_prefixes(texts, (4, 11))
        for length in (4, 11):
            cut = encode(texts, replace(config, max_tokens=length), device="cpu")
            assert relative_error(found[length].array, cut.array) < RELATIVE
            assert found[length].key == cut.key
        again = encode(texts, config, device="cpu", store=store)
        assert again.notes == one.notes != ()


UNKNOWN: dict[str, tuple[str, object, str]] = {
    "router": ("modules.json", [{"type": OWN + "Router", "path": ""}], "Router"),
    "own class": (
        "modules.json",
        [{"type": OWN + "Transformer"}, {"type": OWN + "Pooling", "path": "1_Pooling"}, {"type": "own.Head"}],
        "own.Head",
    ),
    "no pooling": ("modules.json", [{"type": OWN + "Transformer"}, {"type": OWN + "Normalize"}], "Normalize"),
    "pooling": ("1_Pooling/config.json", {"pooling_mode": "attention"}, "attention"),
    "prompt left out": (
        "1_Pooling/config.json",
        {"pooling_mode": "mean", "include_prompt": False},
        "include_prompt",
    ),
    "activation": ("2_Dense/config.json", {"out_features": 8, "activation_function": "os.system"}, "os.system"),
    "tokens through a layer": (
        "2_Dense/config.json",
        {"out_features": 8, "module_input_name": "token_embeddings"},
        "Dense",
    ),
    "task": ("sentence_bert_config.json", {"transformer_task": "fill-mask"}, "transformer_task"),
    "chat": ("sentence_bert_config.json", {"modality_config": {"message": {}}}, "modality_config"),
    "arguments": ("sentence_bert_config.json", {"model_args": {"rotary": 1}}, "rotary"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_named_and_another_pooling_can_be_chosen(tiny: Tiny, tmp_path: Path, name: str) -> None:
    folder = make(tiny("bert"), tmp_path / "m", "mean", steps=["Dense"])
    dump(folder / "config_sentence_transformers.json", {"prompts": {"q": "Query: "}, "default_prompt_name": "q"})
    file, values, message = UNKNOWN[name]
    dump(folder / file, values)
    with pytest.raises(ModelUnavailableError, match=f"{message}.*--pooling mean, last or first"):
        features(folder, ["Some text."])
    assert features(folder, ["Some text."], pooling="mean").array.shape == (1, WIDTH)


DAMAGED: dict[str, tuple[str, str]] = {
    "modules.json": ("x", "modules.json"),
    "modules.json ": ("{}", "list of modules"),
    "modules.json  ": ('[{"type": "Transformer", "path": "/etc"}]', "leads out"),
    "modules.json   ": ('[{"type": 7}]', "type or path"),
    "1_Pooling/config.json": ("[]", "1_Pooling/config.json"),
    "1_Pooling/config.json ": ('{"pooling_mode": 7}', "pooling_mode"),
    "2_Dense/config.json": ('{"out_features": -1}', "features"),
    "2_Dense/config.json ": ('{"out_features": 9}', "2_Dense/model.safetensors"),
    "2_Dense/model.safetensors": ("x", "2_Dense/model.safetensors"),
    "sentence_bert_config.json": ('{"max_seq_length": "x"}', "max_seq_length"),
    "config_sentence_transformers.json": ('{"default_prompt_name": "q"}', "no prompt named 'q'"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_named(tiny: Tiny, tmp_path: Path, name: str) -> None:
    folder = make(tiny("bert"), tmp_path / "m", "mean", steps=["Dense"])
    content, message = DAMAGED[name]
    (folder / name.strip()).write_text(content)
    with pytest.raises(ModelUnavailableError, match=message):
        features(folder, ["Some text."])


@pytest.mark.parametrize("name", ["modules.json", "2_Dense/model.safetensors"])
def test_pipes_are_refused(tiny: Tiny, tmp_path: Path, name: str) -> None:
    folder = make(tiny("bert"), tmp_path / "m", "mean", steps=["Dense"])
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(InputError, match="a named pipe"):
        features(folder, ["Some text."])
