"""Weights go to a CUDA device as they are read, and to the CPU as ever.

transformers places a model on "cpu:0" and "meta" by the code that places it on a GPU; before version 5 it reads files
onto the device itself, which safetensors does for a GPU alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from mauve_core.encoders import models
from mauve_core.encoders.adapters import Adapter
from mauve_core.encoders.loading import is_older, load_config, load_weights
from tests.encoders.cuda_stand_in import stand_in
from tests.tiny_models import MAKERS

pytestmark = pytest.mark.integration

Tiny = Callable[[str], str]
CASES = [*((kind, False) for kind in MAKERS), ("gpt2", True), ("llama", True)]


def tensors(folder: str, *, with_head: bool, device: str, dtype: Any) -> dict[str, torch.Tensor]:
    """Weights and buffers by name, without the pooler, which is drawn at random where it is missing."""
    config = load_config(Path(folder), folder)
    model = load_weights(Path(folder), folder, config, dtype, with_head=with_head, device=device)
    found = dict(model.named_parameters()) | dict(model.named_buffers())
    return {name: tensor for name, tensor in found.items() if not name.startswith("pooler.")}


@pytest.mark.skipif(is_older(), reason="safetensors reads onto no such device")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("kind", "with_head"), CASES)
def test_all_of_a_model_is_placed(tiny: Tiny, kind: str, with_head: bool, dtype: Any) -> None:
    plain, placed, elsewhere = (
        tensors(tiny(kind), with_head=with_head, device=device, dtype=dtype) for device in ("cpu", "cpu:0", "meta")
    )
    assert plain.keys() == placed.keys() == elsewhere.keys()
    assert all(torch.equal(tensor, placed[name]) for name, tensor in plain.items())
    assert {tensor.device.type for tensor in elsewhere.values()} == {"meta"}


@pytest.mark.parametrize(
    ("device", "has_adapter", "expected"),
    [("cuda:1", False, {"": "cuda:1"}), ("cuda", False, {"": "cuda"}), ("cuda:1", True, None), ("cpu", False, None)],
)
def test_only_cuda_devices_and_plain_models_are_loaded_directly(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, device: str, has_adapter: bool, expected: Any
) -> None:
    placed, merged = stand_in(monkeypatch), []
    opened = models.open_model(tiny("gpt2"), device=device)
    if has_adapter:
        opened = replace(opened, identity=replace(opened.identity, adapter=cast(Adapter, "an adapter")))
        monkeypatch.setattr(models, "merge_adapter", lambda *args: merged.append(args))
    assert models.with_weights(opened).device == device
    assert placed == [expected]
    assert len(merged) == has_adapter
