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
from mauve_core.base.errors import InputError
from mauve_core.encoders import encode, feature_key
from tests.encoders.test_encode import RELATIVE, relative_error
from tests.tiny_models import WIDTH

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


def test_what_follows_the_pooling(tiny: Tiny, texts: tuple[str, ...], tmp_path: Path) -> None:
    folder = make(tiny("bert"), tmp_path / "m", "mean", steps=["Dense", "LayerNorm", "Dropout", "Normalize"])
    found = features(folder, texts)
    x = np.tanh(twin(tiny("bert"), texts, ["mean"]) @ DENSE[0].T + DENSE[1])
    x = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5) * NORM[0] + NORM[1]
    assert relative_error(found.array, unit(x)) < RELATIVE
    assert "mean pooling, a dense layer with 8 outputs, layer norm, unit length" in found.notes[0]


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


@pytest.mark.parametrize("name", ["modules.json", "2_Dense/model.safetensors"])
def test_pipes_are_refused(tiny: Tiny, tmp_path: Path, name: str) -> None:
    folder = make(tiny("bert"), tmp_path / "m", "mean", steps=["Dense"])
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(InputError, match="a named pipe"):
        features(folder, ["Some text."])
