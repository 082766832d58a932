"""How matrix products and convolutions of float32 factors are computed on CUDA devices.

torch has settings for the whole process. They are in force only while work of ours is being started, and work that
wants the other kind takes turns.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

# How float32 factors of products are rounded: not at all, or to TF32. The words are torch's.
Products = Literal["ieee", "tf32"]

_turn = threading.Condition()
_users, _in_force = 0, "ieee"
_before: tuple[object, ...] = ()


@contextmanager
def matrix_products(products: Products, device: str) -> Iterator[None]:
    """Compute products and convolutions like this on a CUDA device; the last user restores the setting of the process.

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
            _before, _in_force = _settings(), products
            _set(_wanted(products))
        _users += 1
    try:
        yield
    finally:
        with _turn:
            _users -= 1
            if not _users:
                _set(_before)
                _turn.notify_all()


def _holders() -> tuple[list[Any], str]:
    """Return what holds torch's settings, and by which name.

    Convolutions have one of their own, with TF32 as its default. Versions before 2.9 have truth values instead, and
    mixing the two kinds raises in others.
    """
    from torch.backends import cuda
    from torch.backends import cudnn as cudnn_module

    cudnn: Any = cudnn_module  # its parts are made at run time
    if hasattr(cuda.matmul, "fp32_precision"):
        return [cuda.matmul, cudnn.conv], "fp32_precision"
    return [cuda.matmul, cudnn], "allow_tf32"


def _settings() -> tuple[object, ...]:
    holders, name = _holders()
    return tuple(getattr(holder, name) for holder in holders)


def _set(settings: Iterable[object]) -> None:
    holders, name = _holders()
    for holder, setting in zip(holders, settings, strict=True):
        setattr(holder, name, setting)


def _wanted(products: Products) -> tuple[object, ...]:
    holders, name = _holders()
    return (products if name == "fp32_precision" else products == "tf32",) * len(holders)
