"""The torch devices of this machine, and the precision of a forward pass: what "auto" means, what each one costs.

TF32 keeps weights and activations in float32; the factors of matrix products are rounded to 10 bits after the leading
one, as tensor cores of NVIDIA's devices from compute capability 8.0 on do (:mod:`mauve_core.clusters.devices`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from numpy.typing import NDArray

from mauve_core.base.config import Dtype, EncoderConfig, Precision
from mauve_core.base.errors import InputError
from mauve_core.base.extras import require
from mauve_core.clusters.devices import Products
from mauve_core.encoders.catalogue import has_no_tokenizer

if TYPE_CHECKING:
    import torch
    from torch import Tensor


ALLOWED = "auto, cpu, cuda, cuda:0, ..., mps"

_NAME = re.compile(r"auto|(?:cpu|cuda|mps)(?::[0-9]{1,3})?")

# What the drivers of NVIDIA's and AMD's GPUs, and of either under Windows' Linux, put there.
DRIVER_FILES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")

# Environment variables with the GPUs that a process may use, as torch counts them; the first that is set counts.
VISIBLE = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def first_gpu() -> str | None:
    """Return the torch device of the first GPU, or None; torch is not loaded where there is no driver for one."""
    if "torch" not in sys.modules and not any(Path(file).exists() for file in DRIVER_FILES):
        return None
    if find_spec("torch") is None:
        return None
    found = resolve_device("auto")
    return None if found == "cpu" else found


def resolve_device(device: str) -> str:
    """Return the torch device for ``device``; InputError if this machine lacks it, or torch."""
    require("torch")
    _require_name(device)
    import torch

    if device == "auto":
        return "cuda:0" if torch.cuda.is_available() else "cpu"
    try:
        named = torch.device(device)
    except RuntimeError as error:
        raise InputError(f"No device named {device!r}", allowed=ALLOWED) from error
    counts = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    if named.type not in counts:
        raise InputError(f"Models cannot run on the device {device!r}", allowed=ALLOWED)
    if not counts[named.type]:
        wrong = f"This machine has no {named.type.upper()} device"
        raise InputError(wrong, received=device, todo="Use --device cpu or auto")
    if (named.index or 0) >= counts[named.type]:
        existing = ", ".join(f"{named.type}:{index}" for index in range(counts[named.type]))
        raise InputError(f"This machine has no device {device}", allowed=f"auto, cpu, {existing}")
    return device


def _require_name(device: str) -> None:
    """Raise InputError for what is no name of a device, before torch is imported."""
    if _NAME.fullmatch(device) is None:
        raise InputError(f"No device named {device!r}", allowed=ALLOWED)


def resolve_devices(device: str) -> tuple[str, ...]:
    """Return all torch devices for ``device``; InputError if this machine lacks one, or torch.

    "auto" and "cuda" mean every CUDA device; commas separate names.
    """
    require("torch")
    names = [part.strip() for part in device.split(",")]
    for name in names:
        _require_name(name)
    import torch

    found: list[str] = []
    for name in names:
        one = resolve_device(name)
        every = name == "cuda" or (name == "auto" and one != "cpu")
        found += [f"cuda:{index}" for index in range(torch.cuda.device_count())] if every else [one]
    return tuple(found)


def visible_variable() -> str:
    """Return the one of ``VISIBLE`` that decides here."""
    return next((name for name in VISIBLE if os.environ.get(name)), VISIBLE[-1])


def gpus_for(device: str) -> tuple[str | None, ...]:
    """Divide the GPUs that ``device`` means among processes.

    Parameters
    ----------
    device : str
        As for :func:`resolve_devices`; "auto" and "cuda" give each process one GPU.

    Returns
    -------
    tuple of str or None
        What :func:`visible_variable` is set to in each process; None leaves it, for one that uses what ``device``
        names. Empty for the CPU.

    Raises
    ------
    InputError
        This machine lacks a device, or torch.
    """
    if device == "cpu" or (device == "auto" and first_gpu() is None):
        return ()
    found = resolve_devices(device)
    if set(found) == {"cpu"}:
        return ()
    if device not in ("auto", "cuda"):
        return (None,)
    visible = os.environ.get(visible_variable())
    names = [name.strip() for name in visible.split(",")] if visible else [str(index) for index in range(len(found))]
    return tuple(names[: len(found)])


def to_device(array: NDArray[Any], device: torch.device) -> Tensor:
    """Copy to the device; for a GPU from pinned memory, so that the copy does not block."""
    import torch

    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


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
