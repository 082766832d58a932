"""Resolve device names to the torch devices of this machine, and copy arrays to them."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.extras import require

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
