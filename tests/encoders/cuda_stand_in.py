"""Two CUDA devices for which the CPU stands in: what is sent to them stays where it is."""

from __future__ import annotations

import inspect
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch.nn.attention import varlen

from mauve_core.encoders import encoder
from mauve_core.encoders.weights import read_weights

COUNT = 2
CAPABILITY = (9, 0)
_SIGNATURE = inspect.signature(varlen.varlen_attn)


def stand_in(patch: pytest.MonkeyPatch, capability: tuple[int, int] = CAPABILITY) -> None:
    """Let torch find ``COUNT`` CUDA devices until ``patch`` ends."""
    patch.setattr(torch.cuda, "is_available", lambda: True)
    patch.setattr(torch.cuda, "device_count", lambda: COUNT)
    patch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
    patch.setattr(torch.Tensor, "pin_memory", lambda self: self)
    for moved in (torch.Tensor, torch.nn.Module):
        patch.setattr(moved, "to", _staying(moved.to))
    patch.setattr(encoder, "read_weights", _on_cuda)
    patch.setattr(varlen, "varlen_attn", plain_varlen)


def plain_varlen(*args: Any, **options: Any) -> torch.Tensor:
    """What the kernel computes, text by text; it takes what the kernel takes, and reads it as documented."""
    asked = _SIGNATURE.bind(*args, **options)
    asked.apply_defaults()
    q, k, v, q_bounds, k_bounds, q_most, k_most = list(asked.arguments.values())[:7]
    assert q_bounds.dtype == k_bounds.dtype == torch.int32
    assert q_most == k_most == int(q_bounds.diff().max())
    assert asked.arguments["enable_gqa"] == (q.shape[1] != k.shape[1])
    left, right = asked.arguments["window_size"]
    assert left == -1
    found = []
    for start, stop in pairwise(q_bounds.tolist()):
        one, two, three = (part[start:stop].transpose(0, 1) for part in (q, k, v))
        two, three = (part.repeat_interleave(len(one) // len(part), dim=0) for part in (two, three))
        logits = asked.arguments["scale"] * one @ two.transpose(1, 2)
        after = torch.ones_like(logits[0], dtype=torch.bool).triu(1)
        logits = logits.masked_fill(after, float("-inf")) if right == 0 else logits
        found.append((logits.softmax(-1) @ three).transpose(0, 1))
    return torch.cat(found)


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


def _on_cuda(model: Any) -> Any:
    weights = read_weights(model)
    return weights and replace(weights, device=torch.device("cuda:0"))
