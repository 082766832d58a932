"""Two CUDA devices for which the CPU stands in: what is sent to them stays where it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from mauve_core.encoders import encoder
from mauve_core.encoders.packed import read_weights

COUNT = 2
CAPABILITY = (9, 0)
NEWEST = "2.12"

KERNEL_MODULE = "torch.nn.attention.varlen"
Window = tuple[int, int]


def stand_in(
    patch: pytest.MonkeyPatch, capability: tuple[int, int] = CAPABILITY, torch_version: str = NEWEST
) -> list[Any]:
    """Let torch find ``COUNT`` CUDA devices until ``patch`` ends, with that version's kernel for unequal lengths.

    Returns the list in which each model that transformers loads will note its ``device_map``.
    """
    placed: list[Any] = []
    patch.setattr(torch.cuda, "is_available", lambda: True)
    patch.setattr(torch.cuda, "device_count", lambda: COUNT)
    patch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
    patch.setattr(torch.Tensor, "pin_memory", lambda self: self)
    for moved in (torch.Tensor, torch.nn.Module):
        patch.setattr(moved, "to", _staying(moved.to))
    patch.setattr(PreTrainedModel, "from_pretrained", _loading_here(PreTrainedModel.from_pretrained, placed))
    patch.setattr(encoder, "read_weights", on_cuda)
    patch.setitem(sys.modules, KERNEL_MODULE, _kernel_module(KERNELS[torch_version]))
    return placed


def _kernel_module(kernel: Callable[..., Tensor] | None) -> Any:
    """A module with this kernel; None, which Python takes for a module that does not exist."""
    if kernel is None:
        return None
    module = ModuleType(KERNEL_MODULE)
    module.varlen_attn = kernel  # type: ignore[attr-defined]
    return module


def varlen_2_10(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor,
    max_q: int,
    max_k: int,
    is_causal: bool = False,
    return_aux: object = None,
) -> Tensor:
    assert key.shape[1] == query.shape[1]
    return _plain(query, key, value, (cu_seq_q, cu_seq_k), (max_q, max_k), (-1, 0) if is_causal else (-1, -1), None)


def varlen_2_11(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor,
    max_q: int,
    max_k: int,
    *,
    return_aux: object = None,
    scale: float | None = None,
    window_size: Window = (-1, -1),
) -> Tensor:
    assert key.shape[1] == query.shape[1]
    return _plain(query, key, value, (cu_seq_q, cu_seq_k), (max_q, max_k), window_size, scale)


def varlen_2_12(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    *,
    return_aux: object = None,
    scale: float | None = None,
    window_size: Window = (-1, -1),
    enable_gqa: bool = False,
    seqused_k: Tensor | None = None,
    block_table: Tensor | None = None,
    num_splits: int | None = None,
) -> Tensor:
    assert enable_gqa == (query.shape[1] != key.shape[1])
    assert cu_seq_k is not None
    return _plain(query, key, value, (cu_seq_q, cu_seq_k), (max_q, max_k), window_size, scale)


# The kernel for texts of unequal length from each version of torch on, with the parameters that it has there.
KERNELS: Mapping[str, Callable[..., Tensor] | None] = {
    "2.9": None,
    "2.10": varlen_2_10,
    "2.11": varlen_2_11,
    NEWEST: varlen_2_12,
}


def _plain(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bounds: tuple[Tensor, Tensor],
    most: tuple[int, int],
    window: Window,
    scale: float | None,
) -> Tensor:
    """What the kernel computes, text by text; it reads its arguments as documented."""
    assert all(each.dtype == torch.int32 and torch.equal(each, bounds[0]) for each in bounds)
    assert set(most) == {int(bounds[0].diff().max())}
    left, right = window
    assert left == -1
    found = []
    for start, stop in pairwise(bounds[0].tolist()):
        one, two, three = (part[start:stop].transpose(0, 1) for part in (q, k, v))
        two, three = (part.repeat_interleave(len(one) // len(part), dim=0) for part in (two, three))
        logits = (q.shape[-1] ** -0.5 if scale is None else scale) * one @ two.transpose(1, 2)
        after = torch.ones_like(logits[0], dtype=torch.bool).triu(1)
        logits = logits.masked_fill(after, float("-inf")) if right == 0 else logits
        found.append((logits.softmax(-1) @ three).transpose(0, 1))
    return torch.cat(found)


def _loading_here(from_pretrained: Any, placed: list[Any]) -> Any:
    """``from_pretrained`` for which CUDA devices are the CPU; adds each ``device_map`` to ``placed``."""

    def loaded(cls: Any, *args: Any, device_map: Any = None, **options: Any) -> Any:
        placed.append(device_map)
        assert all(_names_cuda(device) for device in (device_map or {}).values())
        return from_pretrained.__func__(cls, *args, **options)

    return classmethod(loaded)


def _staying(to: Any) -> Any:
    """``to`` for which a CUDA device is where a thing already is."""

    def moved(self: Any, *args: Any, **options: Any) -> Any:
        kept = [arg for arg in args if not _names_cuda(arg)]
        if len(kept) < len(args):
            options.pop("non_blocking", None)
        return to(self, *kept, **options) if kept or options else self

    return moved


def _names_cuda(arg: object) -> bool:
    return isinstance(arg, str | torch.device) and torch.device(arg).type == "cuda"


def on_cuda(model: Any) -> Any:
    """The model's weights as if they lay on the first device; None if the model is not known."""
    weights = read_weights(model)
    return weights and replace(weights, device=torch.device("cuda:0"))
