"""Precision of the forward pass: what "auto" means on a device, and what each precision costs.

TF32 keeps weights and activations in float32; the factors of matrix products are rounded to 10 bits after the leading
one, as tensor cores of NVIDIA's devices from compute capability 8.0 on do (:mod:`mauve_core.numerics.device.products`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from mauve_core.base.config import Dtype, EncoderConfig, Precision
from mauve_core.base.errors import InputError
from mauve_core.encoders.catalogue import has_no_tokenizer
from mauve_core.encoders.devices import resolve_devices
from mauve_core.numerics.device.products import Products

# Compute capability from which NVIDIA's devices have bfloat16 and TF32 in hardware.
TENSOR_CORES = (8, 0)


# Norm of a feature's difference from float32 over the feature's norm, the median over texts: measured on an NVIDIA H200
# with random weights in the shape of GPT-2 large (benchmarks/results/device.md).
ERRORS: Mapping[str, float] = {"tf32": 8.2e-4, "float16": 1.9e-3, "bfloat16": 1.5e-2}

# Change of MAUVE over its standard deviation over k-means seeds, the larger of two candidates of the demo study, with
# the default encoder (benchmarks/results/encoding_precision.md).
MAUVE_CHANGES: Mapping[str, float] = {"tf32": 0.21, "bfloat16": 0.24}


@dataclass(frozen=True)
class Chosen:
    """An encoder whose precision is known.

    Attributes
    ----------
    config : EncoderConfig
        Its ``dtype`` is never "auto".
    note : str
        What "auto" became and what that costs; empty if the precision was named.
    """

    config: EncoderConfig
    note: str


def choose_precision(config: EncoderConfig, device: str = "auto") -> Chosen:
    """Return the encoder with the precision that "auto" means on ``device``, whose names are as for ``encode``.

    bfloat16 if every device has it in hardware, which is asked of CUDA devices only; otherwise float32, which is also
    the precision of word vectors and servers.

    Raises
    ------
    InputError
        This machine lacks the device, or torch.
    """
    if config.dtype != "auto":
        return Chosen(config, "")
    if has_no_tokenizer(config.model):
        return Chosen(replace(config, dtype="float32"), "")
    devices = resolve_devices(device)
    if all(_is_rocm(name) or _has_tensor_cores(name) for name in devices):
        note = f"auto chose bfloat16 for {', '.join(devices)}. {cost_of('bfloat16')}".strip()
        return Chosen(replace(config, dtype="bfloat16"), note)
    allowed = "every device to be a CUDA device of compute capability 8.0 or higher"
    return Chosen(
        replace(config, dtype="float32"), f"auto chose float32 for {', '.join(devices)}: bfloat16 requires {allowed}."
    )


def with_known_precision(encoders: Sequence[EncoderConfig], device: str) -> list[EncoderConfig]:
    """Return the encoders with what :func:`choose_precision` chooses for each."""
    return [choose_precision(encoder, device).config for encoder in encoders]


def cost_of(dtype: Dtype) -> str:
    """Return a sentence on what this precision changes; empty where that has not been measured."""
    error = ERRORS.get(dtype)
    if error is None:
        return ""
    features = (
        f"In {dtype}, features differ from those in float32 by about {error:.1%} (median over texts, measured with "
        "GPT-2 large's shape)."
    )
    change = MAUVE_CHANGES.get(dtype)
    if change is None:
        return f"{features} What that does to MAUVE has not been measured."
    return (
        f"{features} MAUVE changed by up to {change:.2f} of its standard deviation over k-means seeds (measured with "
        "the default encoder on the demo study)."
    )


def checked_precision(dtype: Dtype, devices: Sequence[str] = ()) -> Precision:
    """Return a precision that was chosen and that these torch devices have; InputError if it is not such a one."""
    if dtype == "auto":
        raise InputError(
            "The precision has not been chosen",
            allowed=", ".join(get_args(Precision)),
            received=dtype,
            todo="Use Encoder, encode or compare, which choose it for a device, or name it",
        )
    without = [name for name in devices if not _has_tensor_cores(name)] if dtype == "tf32" else []
    if without:
        raise InputError(
            f"The device {without[0]} has no TF32",
            allowed="tf32 on NVIDIA devices of compute capability 8.0 or higher; float32, bfloat16, float16 elsewhere",
            received=f"--dtype tf32, --device {','.join(devices)}",
            todo="Use --dtype float32, or another device",
        )
    return dtype


def products_of(dtype: Dtype) -> Products:
    """Return how products of float32 factors are computed in this precision."""
    return "tf32" if dtype == "tf32" else "ieee"


def _has_tensor_cores(device: str) -> bool:
    """Whether it is one of NVIDIA's with bfloat16 and TF32; torch's own question knows only the current device."""
    import torch

    if not device.startswith("cuda") or _is_rocm(device):
        return False
    return torch.cuda.get_device_capability(device) >= TENSOR_CORES


def _is_rocm(device: str) -> bool:
    """Whether torch was built for AMD's devices, which it also names cuda; it counts bfloat16 among what they have."""
    import torch

    return device.startswith("cuda") and torch.version.hip is not None
