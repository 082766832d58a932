"""What the tensors in a weight file are, without their numbers, and the one way to read a pickle of tensors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mauve_core.base.errors import library_errors
from mauve_core.encoders.model_files import damaged, opened_tensors


def whole_number_tensors(file: Path) -> set[str]:
    """Return the names of the tensors in a weight file that hold whole numbers or truth values.

    Raises
    ------
    ModelUnavailableError
        The file is damaged, a pickle of more than tensors, or holds complex numbers, which a model would cut to reals.
    """
    if file.suffix != ".safetensors":
        tensors = read_pickle(file, "meta")
        kinds = {name: str(getattr(tensor, "dtype", "")) for name, tensor in tensors.items()}
        _refuse_complex(file, (name for name, kind in kinds.items() if "complex" in kind))
        return {name for name, tensor in tensors.items() if not _is_floating(tensor)}
    with opened_tensors(file) as opened:
        kinds = {name: str(opened.get_slice(name).get_dtype()) for name in opened.keys()}  # noqa: SIM118
    _refuse_complex(file, (name for name, kind in kinds.items() if kind.startswith("C")))
    return {name for name, kind in kinds.items() if kind == "BOOL" or kind[0] in "IU"}


def _refuse_complex(file: Path, names: Iterable[str]) -> None:
    for name in names:
        raise damaged(file, f"{name} holds complex numbers", "weights in floating point")


def read_pickle(file: Path, device: str) -> dict[str, Any]:
    """Return what torch.save wrote, if that is tensors and plain containers; no code of the file is run.

    Raises
    ------
    ModelUnavailableError
        It is anything else, or damaged.
    """
    import torch

    what = "it is no plain PyTorch weights file: a pickle may contain only tensors"
    with library_errors(lambda _: damaged(file, what, "safetensors")):
        tensors = torch.load(file, map_location=device, weights_only=True, mmap=True)
    if not isinstance(tensors, dict):
        raise damaged(file, "it does not hold tensors by name", "safetensors")
    return tensors


def _is_floating(tensor: Any) -> bool:
    return bool(getattr(tensor, "is_floating_point", lambda: True)())
