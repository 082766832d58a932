"""Every way to attend gives the same on every torch; plain stand-ins have the parameters of each version's kernel."""

from __future__ import annotations

import importlib.util
import inspect
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from packaging.version import Version
from torch import Tensor
from transformers import AutoModel

from mauve_core.encoders import packed
from mauve_core.encoders.packed import Layout, Weights, attend_by_text, attend_padded, attend_varlen, read_weights
from tests.encoders.cuda_stand_in import KERNEL_MODULE, KERNELS, stand_in
from tests.encoders.test_packed import Tiny

LENGTHS = (30, 30, 12, 7, 1)
HEADS = 4
# Scales of the logits, relative to 1 / sqrt(head size).
USUAL, ODD = 1.0, 0.37


def drawn(kv_heads: int, size: int) -> tuple[Tensor, Tensor, Tensor, Layout]:
    """Queries, keys and values of packed texts, and where these lie."""
    generator = torch.Generator().manual_seed(6)
    shapes = ((sum(LENGTHS), heads, size) for heads in (HEADS, kv_heads, kv_heads))
    q, k, v = (torch.randn(shape, generator=generator) for shape in shapes)
    starts = tuple(np.cumsum([0, *LENGTHS[:-1]]).tolist())
    positions = torch.cat([torch.arange(length) for length in LENGTHS])
    return q, k, v, Layout(LENGTHS, starts, positions, torch.device("cpu"))


@pytest.fixture(scope="module")
def known(tiny: Tiny) -> Weights:
    """A model whose weights are bfloat16 on CUDA, in name."""
    found = read_weights(AutoModel.from_pretrained(tiny("gpt2")))
    assert found is not None
    return replace(found, dtype=torch.bfloat16, device=torch.device("cuda:0"))


def is_usable(version: str, size: int, scale: float, capability: tuple[int, int]) -> bool:
    """Whether that version's kernel takes this: from 2.10 on, scales of one's own from 2.11 on, by flash attention."""
    own_scale = scale != USUAL
    since = Version("2.11") if own_scale else Version("2.10")
    return Version(version) >= since and size % 8 == 0 and size <= 256 and capability >= (8, 0)


@pytest.mark.parametrize("capability", [(7, 5), (8, 0)])
@pytest.mark.parametrize("scale", [USUAL, ODD])
@pytest.mark.parametrize("size", [8, 12, 264])
@pytest.mark.parametrize("version", KERNELS)
def test_what_is_chosen_attends_as_text_by_text(
    known: Weights,
    version: str,
    size: int,
    scale: float,
    capability: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in(monkeypatch, capability, version)
    factor = scale * size**-0.5
    layers = [replace(layer, scale=factor) for layer in known.layers]
    chosen: Any = packed._attention_for(replace(known, layers=layers, head_size=size))
    wanted = attend_varlen if is_usable(version, size, scale, capability) else attend_padded
    assert getattr(chosen, "func", chosen) is wanted
    for causal, kv_heads in product((True, False), (HEADS, 2, 1)):
        q, k, v, layout = drawn(kv_heads, size)
        expected = attend_by_text(q, k, v, layout, causal, factor)
        # Both are sums of up to 30 products in another order.
        torch.testing.assert_close(chosen(q, k, v, layout, causal, factor), expected, rtol=1e-5, atol=1e-5)


def test_the_stand_in_for_the_installed_torch_has_the_parameters_of_its_kernel() -> None:
    """``python -m tests.versions`` runs this beside the oldest and the newest torch."""
    major_minor = Version(torch.__version__).release[:2]
    versions = [version for version in KERNELS if Version(version).release <= major_minor]
    kernel = KERNELS[max(versions, key=Version)] if versions else None
    if importlib.util.find_spec(KERNEL_MODULE) is None:
        assert kernel is None
        return
    from torch.nn.attention.varlen import varlen_attn

    assert kernel is not None
    found, true = (
        [(each.name, each.kind, each.default) for each in inspect.signature(function).parameters.values()]
        for function in (kernel, varlen_attn)
    )
    assert found == true
