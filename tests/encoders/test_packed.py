"""The packed pass against transformers' own on padded batches.

Tolerance 1e-5 of a row's norm, as in test_encode: both compute the same functions and round in another order.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoModel, GPT2Config, GPT2Model, LlamaConfig, LlamaModel
from transformers.activations import ACT2FN

from mauve_core.base.config import EncoderConfig
from mauve_core.encoders import Encoder, encode, packed
from mauve_core.encoders.batching import TokenIds, pad
from mauve_core.encoders.packed import (
    ACTIVATIONS,
    PackedModel,
    activate,
    attend_by_text,
    attend_padded,
    attend_varlen,
    read_weights,
)
from mauve_core.encoders.pooling import pool
from tests.encoders.cuda_stand_in import KERNELS, on_cuda, stand_in
from tests.encoders.test_encode import CAUSAL, MASKED, RELATIVE, relative_error
from tests.tiny_models import LAYERS, WIDTH, rotary

pytestmark = pytest.mark.integration

Tiny = Callable[[str], str]
POOLINGS: tuple[Any, ...] = ("last", "first", "mean")
GPT2_SIZES: dict[str, Any] = {
    "vocab_size": 300,
    "n_positions": 64,
    "n_embd": WIDTH,
    "n_layer": LAYERS,
    "n_head": 4,
    "initializer_range": 0.3,
}
LLAMA: dict[str, Any] = {
    "vocab_size": 300,
    "hidden_size": WIDTH,
    "intermediate_size": 48,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "initializer_range": 0.3,
}


LLAMA_3: dict[str, Any] = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}


@pytest.fixture(scope="module")
def ids() -> list[TokenIds]:
    """Texts of 30, 30, 12, 7 and 1 tokens."""
    rng = np.random.default_rng(3)
    return [rng.integers(5, 100, size=size).astype(np.int32) for size in (30, 30, 12, 7, 1)]


def padded_states(model: Any, ids: Sequence[TokenIds]) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    """Hidden states of transformers' own pass, and the mask."""
    array, mask = map(torch.from_numpy, pad(ids, model.config.pad_token_id or 0))
    with torch.inference_mode():
        return model(input_ids=array, attention_mask=mask, output_hidden_states=True).hidden_states, mask


def made(config: Any, factory: Any) -> Any:
    config._attn_implementation = "eager"  # the fused attention of older versions leaves out GPT-2's own scales
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        return factory(config).eval().requires_grad_(requires_grad=False)


def gap(received: torch.Tensor, expected: torch.Tensor) -> float:
    return relative_error(received.numpy(), expected.numpy())


@pytest.mark.parametrize("attention", [attend_by_text, attend_padded])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_every_layer_and_pooling(
    tiny: Tiny, ids: list[TokenIds], name: str, pooling: Any, attention: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "_attention_for", lambda _: attention)
    model = AutoModel.from_pretrained(tiny(name)).eval()
    states, mask = padded_states(model, ids)
    weights = read_weights(model)
    assert weights is not None
    for layer in range(LAYERS + 1):
        found = PackedModel(weights, pooling, layer).vectors(ids)
        assert gap(found, pool(states[layer], mask, pooling)) < RELATIVE
        alone = torch.cat([PackedModel(weights, pooling, layer).vectors([row]) for row in ids])
        assert gap(alone, found) < RELATIVE


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("name", CAUSAL)
def test_beginnings(tiny: Tiny, ids: list[TokenIds], name: str, pooling: Any) -> None:
    model = AutoModel.from_pretrained(tiny(name)).eval()
    states, mask = padded_states(model, ids)
    weights = read_weights(model)
    assert weights is not None
    places = torch.arange(mask.shape[1])
    expected = [pool(states[-1], mask * (places < length), pooling) for length in (2, 20)]
    found = PackedModel(weights, pooling, LAYERS).vectors(ids, (2, 20))
    assert gap(found, torch.cat(expected, dim=1)) < RELATIVE


@pytest.mark.parametrize(
    ("config", "factory"),
    [
        (GPT2Config(**GPT2_SIZES, scale_attn_by_inverse_layer_idx=True), GPT2Model),
        (GPT2Config(**GPT2_SIZES, scale_attn_weights=False, n_inner=40), GPT2Model),
        *((GPT2Config(**GPT2_SIZES, activation_function=name), GPT2Model) for name in ACTIVATIONS),
        (LlamaConfig(**LLAMA, attention_bias=True, mlp_bias=True, head_dim=16), LlamaModel),
        (LlamaConfig(**LLAMA, num_key_value_heads=1), LlamaModel),
        (LlamaConfig(**LLAMA, **rotary(LLAMA_3)), LlamaModel),
    ],
)
def test_variants_that_are_known(ids: list[TokenIds], config: Any, factory: Any) -> None:
    model = made(config, factory)
    weights = read_weights(model)
    assert weights is not None
    states, mask = padded_states(model, ids)
    assert gap(PackedModel(weights, "last", LAYERS).vectors(ids), pool(states[-1], mask, "last")) < RELATIVE


@pytest.mark.parametrize(
    ("config", "factory"),
    [
        (GPT2Config(**GPT2_SIZES, activation_function="quick_gelu"), GPT2Model),
        (GPT2Config(**GPT2_SIZES, add_cross_attention=True), GPT2Model),
        (LlamaConfig(**LLAMA, hidden_act="mish"), LlamaModel),
        (LlamaConfig(**LLAMA, **rotary({"rope_type": "dynamic", "factor": 2.0})), LlamaModel),
    ],
)
def test_variants_that_are_not(config: Any, factory: Any) -> None:
    assert read_weights(made(config, factory)) is None


def test_a_weight_without_a_place_makes_a_model_unknown() -> None:
    model = made(GPT2Config(**GPT2_SIZES), GPT2Model)
    assert read_weights(model) is not None
    model.h[0].attn.adapter = torch.nn.Linear(WIDTH, 2)
    assert read_weights(model) is None


def test_an_unknown_model_is_encoded_as_transformers_does(
    tiny: Tiny, texts: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(tiny("gpt2"), tmp_path / "quick"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"activation_function": "quick_gelu"}))
    expected = Encoder(EncoderConfig(str(folder)), device="cpu", packed=False).encode(texts)
    monkeypatch.setattr(PackedModel, "vectors", None)
    found = encode(texts, EncoderConfig(str(folder)), device="cpu")
    np.testing.assert_array_equal(found.array, expected.array)


@pytest.mark.parametrize(
    ("name", "pooling"),
    [*((name, "auto") for name in (*CAUSAL, *MASKED)), ("gpt2", "first"), ("llama", "mean"), ("bert", "last")],
)
def test_features_are_those_of_the_padded_pass(tiny: Tiny, texts: tuple[str, ...], name: str, pooling: Any) -> None:
    config = EncoderConfig(tiny(name), pooling=pooling, layer=-2 if pooling == "mean" else -1)
    found, plain = (Encoder(config, device="cpu", packed=way).encode(texts) for way in (True, False))
    assert relative_error(found.array, plain.array) < RELATIVE
    assert found.key == plain.key


def test_a_padding_token_that_a_text_spells_out(tiny: Tiny) -> None:
    model = AutoModel.from_pretrained(tiny("roberta")).eval()
    ids = [np.array(row, dtype=np.int32) for row in ([0, 9, model.config.pad_token_id, 11, 2], [0, 7, 2])]
    weights = read_weights(model)
    assert weights is not None
    states, mask = padded_states(model, ids)
    assert gap(PackedModel(weights, "mean", LAYERS).vectors(ids), pool(states[-1], mask, "mean")) < RELATIVE


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    x = torch.cat([torch.linspace(-30, 30, 4001), torch.tensor([0.0, -1e-20, 1e4, -1e4])])
    found = activate(x.clone(), ACTIVATIONS[name])
    expected = ACT2FN[name](x.double())
    # A few roundings: of the result, and of the logit of the sigmoid where it is small (up to 1e-7 of an x up to 10).
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=2e-6)


# The kernel for unequal lengths exists on CUDA alone; plain ones with each torch's parameters stand in.
@pytest.mark.parametrize("version", KERNELS)
@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_every_version_of_the_kernel(
    tiny: Tiny, ids: list[TokenIds], name: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = AutoModel.from_pretrained(tiny(name)).eval()
    check_the_kernel(model, ids, version, monkeypatch)


@pytest.mark.parametrize("version", KERNELS)
@pytest.mark.parametrize("kv_heads", [1, 2])
def test_heads_that_share_keys_with_every_version_of_the_kernel(
    ids: list[TokenIds], kv_heads: int, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = made(LlamaConfig(**LLAMA, num_key_value_heads=kv_heads), LlamaModel)
    check_the_kernel(model, ids, version, monkeypatch)


@pytest.mark.parametrize("version", KERNELS)
def test_another_scale_with_every_version_of_the_kernel(
    ids: list[TokenIds], version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = made(GPT2Config(**GPT2_SIZES, scale_attn_by_inverse_layer_idx=True), GPT2Model)
    check_the_kernel(model, ids, version, monkeypatch, padded=("2.9", "2.10"))


def check_the_kernel(
    model: Any, ids: list[TokenIds], version: str, patch: pytest.MonkeyPatch, padded: Sequence[str] = ("2.9",)
) -> None:
    """The packed pass is that of transformers; the versions of torch in ``padded`` cannot use the kernel."""
    states, mask = padded_states(model, ids)
    stand_in(patch, torch_version=version)
    weights = replace(on_cuda(model), dtype=torch.bfloat16)  # in name: the arrays stay float32
    found = PackedModel(weights, "mean", LAYERS)
    assert (found._attend is attend_padded) == (version in padded)
    assert gap(found.vectors(ids), pool(states[-1], mask, "mean")) < RELATIVE


@pytest.mark.parametrize(
    ("dtype", "capability", "size", "expected"),
    [
        ("bfloat16", (9, 0), 64, attend_varlen),
        ("float16", (8, 0), 256, attend_varlen),
        ("float32", (9, 0), 64, attend_padded),
        ("float16", (7, 5), 64, attend_padded),
        ("bfloat16", (9, 0), 264, attend_padded),
        ("bfloat16", (9, 0), 36, attend_padded),
    ],
)
def test_the_kernel_takes_what_flash_attention_takes(
    tiny: Tiny,
    dtype: str,
    capability: tuple[int, int],
    size: int,
    expected: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weights = read_weights(AutoModel.from_pretrained(tiny("gpt2")))
    assert weights is not None
    stand_in(monkeypatch, capability)
    there = replace(weights, dtype=getattr(torch, dtype), head_size=size)
    assert packed._attention_for(there) is attend_by_text
    found = packed._attention_for(replace(there, device=torch.device("cuda:1")))
    assert getattr(found, "func", found) is expected


@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_half_precision_on_cuda(tiny: Tiny, texts: tuple[str, ...], name: str, cuda: str) -> None:
    config = EncoderConfig(tiny(name), dtype="bfloat16")
    found, plain = (Encoder(config, device=cuda, packed=way).encode(texts) for way in (True, False))
    full = encode(texts, replace(config, dtype="float32"), device="cpu")
    worst: NDArray[np.float64] = np.array([relative_error(one.array, full.array) for one in (found, plain)])
    assert worst[0] < 2 * worst[1]  # no farther from float32 than the padded pass, in other roundings
