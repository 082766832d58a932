"""Steps of a sentence-transformers model after pooling: dense layers, layer norms, unit length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mauve_core.base.errors import library_errors, words_of
from mauve_core.encoders.model_files import check_weights, damaged
from mauve_core.encoders.sentence_modules import Step
from mauve_core.encoders.weight_types import read_pickle

if TYPE_CHECKING:
    from torch import Tensor

Apply = Callable[["Tensor"], "Tensor"]


def load_steps(steps: Sequence[Step], width: int, device: str) -> list[Apply]:
    """Return functions on (rows, ``width``) float32 vectors, to apply in turn, with their weights on ``device``.

    Raises
    ------
    ModelUnavailableError
        Weights are damaged or do not fit together; names the file.
    """
    functions = []
    for step in steps:
        functions.append(_function(step, width, device))
        width = step.width or width
    return functions


def _function(step: Step, width: int, device: str) -> Apply:
    from torch.nn import functional

    if step.weights is None:
        return partial(functional.normalize, dim=-1)
    weights = _weights(step.weights, device)
    if step.kind == "layer-norm":
        expected: dict[str, tuple[int, ...]] = {"norm.weight": (width,), "norm.bias": (width,)}
    else:
        expected = {"linear.weight": (step.width, width)}
        expected |= {"linear.bias": (step.width,)} if "linear.bias" in weights else {}
        expected |= {"residual.weight": (step.width, width)} if step.residual and step.width != width else {}
    shapes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if shapes != expected:
        raise damaged(step.weights, f"it holds {shapes} for vectors of {width} numbers", str(expected))
    if step.kind == "layer-norm":
        weight, bias = weights["norm.weight"], weights["norm.bias"]
        return lambda x: functional.layer_norm(x, (width,), weight, bias)
    return _dense(step, weights)


def _dense(step: Step, weights: dict[str, Tensor]) -> Apply:
    import torch
    from torch.nn.functional import linear

    weight, bias, across = weights["linear.weight"], weights.get("linear.bias"), weights.get("residual.weight")
    activation = getattr(torch.nn, step.activation)()

    def apply(x: Tensor) -> Tensor:
        y: Tensor = activation(linear(x, weight, bias))
        if not step.residual:
            return y
        return y + (x if across is None else linear(x, across))

    return apply


def _weights(path: Path, device: str) -> dict[str, Tensor]:
    """Return float32 tensors by name, from safetensors or from a pickle of nothing else."""
    import torch
    from safetensors.torch import load_file

    check_weights(path)
    with library_errors(lambda error: damaged(path, words_of(error))):
        tensors = load_file(path) if path.suffix == ".safetensors" else read_pickle(path, "cpu")
        return {name: tensor.to(device, torch.float32) for name, tensor in tensors.items()}
