"""Checkpoints as older versions of transformers wrote them, among them those of gpt2-large and roberta-large.

They hold masks and positions that nobody learns, heads, an untrained pooler, GPT-2's weights without their prefix, and
BERT's norms under TensorFlow's names. All of that is left over or renamed, and the features stay what they are.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from mauve_core.base.config import EncoderConfig
from mauve_core.encoders import encode
from mauve_core.encoders.models import load_model
from tests.encoders.test_encode import RELATIVE, relative_error
from tests.tiny_models import LAYERS, POSITIONS, WIDTH

pytestmark = pytest.mark.integration

Arrays = dict[str, torch.Tensor]


def older_gpt2(arrays: Arrays) -> Arrays:
    older = {name.removeprefix("transformer."): array for name, array in arrays.items()}
    older.pop("lm_head.weight", None)
    for layer in range(LAYERS):
        older[f"h.{layer}.attn.bias"] = torch.tril(torch.ones(1, 1, POSITIONS, POSITIONS))
        older[f"h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    return older


def older_roberta(arrays: Arrays) -> Arrays:
    return arrays | {
        "roberta.embeddings.position_ids": torch.arange(POSITIONS + 2)[None],
        "roberta.pooler.dense.weight": torch.zeros(WIDTH, WIDTH),
        "roberta.pooler.dense.bias": torch.zeros(WIDTH),
        "lm_head.decoder.weight": arrays["roberta.embeddings.word_embeddings.weight"],
        "lm_head.decoder.bias": arrays["lm_head.bias"],
    }


def older_bert(arrays: Arrays) -> Arrays:
    names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}

    def renamed(name: str) -> str:
        for new, old in names.items():
            name = name.replace(new, old)
        return name

    return {renamed(name): array for name, array in arrays.items()} | {
        "bert.embeddings.position_ids": torch.arange(POSITIONS)[None],
        "cls.seq_relationship.weight": torch.zeros(2, WIDTH),
        "cls.seq_relationship.bias": torch.zeros(2),
    }


OLDER = {"gpt2": older_gpt2, "roberta": older_roberta, "bert": older_bert}


@pytest.mark.parametrize("pickled", [False, True], ids=["safetensors", "pickle"])
@pytest.mark.parametrize("name", OLDER)
def test_an_older_checkpoint_has_the_features_of_a_new_one(
    tiny: Callable[[str], str], tmp_path: Path, name: str, pickled: bool
) -> None:
    folder = Path(shutil.copytree(tiny(name), tmp_path / name))
    expected = encode(["Some text."], EncoderConfig(str(folder)), device="cpu").array
    file = folder / "model.safetensors"
    older = {key: array.clone() for key, array in OLDER[name](load_file(file)).items()}
    file.unlink()
    if pickled:
        torch.save(older, folder / "pytorch_model.bin")
    else:
        save_file(older, file, metadata={"format": "pt"})
    found = encode(["Some text."], EncoderConfig(str(folder)), device="cpu").array
    assert relative_error(found, expected) < RELATIVE
    assert np.isfinite(found).all()
    if name == "gpt2":
        load_model(str(folder), device="cpu", with_head=True)
