"""How matrix products of float32 factors are computed on CUDA devices.

torch has one setting for the whole process. It is in force only while work of ours is being started, and work that
wants the other kind takes turns.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

Products = Literal["ieee", "tf32"]
"""How float32 factors of matrix products are rounded: not at all, or to TF32. The words are torch's."""

_turn = threading.Condition()
_users, _in_force, _before = 0, "ieee", ""


@contextmanager
def matrix_products(products: Products, device: str) -> Iterator[None]:
    """Compute products like this on a CUDA device, and restore the process's own setting after the last user.

    The setting also holds where a caller chose TF32 for the whole process: features in float32 are the reference. Who
    wants the other kind waits. Kernels read the setting when they are started, so the work itself may still go on.
    """
    global _users, _in_force, _before
    if not device.startswith("cuda"):
        yield
        return
    with _turn:
        _turn.wait_for(lambda: not _users or _in_force == products)
        if not _users:
            _before, _in_force = _setting(), products
            _set(products)
        _users += 1
    try:
        yield
    finally:
        with _turn:
            _users -= 1
            if not _users:
                _set(_before)
                _turn.notify_all()


def _setting() -> str:
    """Return torch's setting; versions before 2.9 have a truth value instead, and mixing the two raises in others."""
    from torch.backends.cuda import matmul

    if hasattr(matmul, "fp32_precision"):
        return str(matmul.fp32_precision)
    return "tf32" if matmul.allow_tf32 else "ieee"


def _set(setting: str) -> None:
    from torch.backends.cuda import matmul

    if hasattr(matmul, "fp32_precision"):
        matmul.fp32_precision = setting
    else:
        matmul.allow_tf32 = setting == "tf32"
