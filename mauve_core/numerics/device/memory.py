"""Tensors of rows on a device, in blocks that fit in its memory; products in full float32."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.device.products import matrix_products
from mauve_core.numerics.feature_space.stacked import Stacked

if TYPE_CHECKING:
    import torch
    from torch import Tensor

# Largest intermediate result; halved for as long as the device refuses it.
BLOCK_BYTES = 2**28

# Rows stay on the device if they take at most this share of its free memory; otherwise every pass sends them again.
KEPT_SHARE = 0.5

# Before a device's name: torch's own arithmetic there, also on the CPU, which is NumPy's otherwise.
PREFIX = "torch:"


def torch_device(name: str) -> torch.device:
    """The torch device for a name such as "cuda:0" or "torch:cpu"; InputError if torch cannot compute on it."""
    import torch

    bare = name.removeprefix(PREFIX)
    _checks.require_device(bare)
    return torch.device(bare)


@contextmanager
def device_work(device: torch.device) -> Iterator[None]:
    """Compute without gradients and with products of float32 in float32, whatever the process has set.

    TF32 would keep three digits of a distance. A lack of memory becomes an InputError.
    """
    import torch

    try:
        with torch.inference_mode(), matrix_products("ieee", device.type):
            yield
    except torch.OutOfMemoryError as error:
        raise too_little_memory() from error


def in_blocks(work: Callable[[slice], None], rows: int, bytes_a_row: int) -> None:
    """Call ``work`` with slices that cover the rows in order, of ``BLOCK_BYTES`` each or of less if they do not fit.

    ``work`` may be called again for rows that did not fit, and must then give the same.

    Raises
    ------
    InputError
        Not even one row fits.
    """
    import torch

    start, size = 0, max(1, BLOCK_BYTES // max(1, bytes_a_row))
    while start < rows:
        try:
            work(slice(start, min(start + size, rows)))
        except torch.OutOfMemoryError as error:
            if size == 1:
                raise too_little_memory() from error
            size = -(-min(size, rows - start) // 2)
        else:
            start += size


def too_little_memory() -> InputError:
    """The error for work that does not fit, however small the blocks."""
    return InputError(
        "This step does not fit in the memory of the device",
        todo="End other programs that use the device, or choose --device cpu",
    )


def free_bytes(device: torch.device) -> int:
    """Memory that is left, what torch keeps for later included; for devices that do not tell, what is surely there."""
    import torch

    if device.type != "cuda":
        return 16 * BLOCK_BYTES
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept


class DeviceTable:
    """Rows of a table as float32 tensors on a device; kept there if they fit well.

    Parameters
    ----------
    table : Stacked
        (n, d) features.
    device : torch.device
    """

    def __init__(self, table: Stacked, device: torch.device) -> None:
        self.table, self.device = table, device
        self._kept = self._all() if self._fits() else None

    def __len__(self) -> int:
        return len(self.table)

    def block(self, part: slice) -> Tensor:
        """(rows, d) float32 tensor; not to be changed."""
        return self._sent(part) if self._kept is None else self._kept[part]

    def _fits(self) -> bool:
        if self.device.type != "cuda":
            return True
        return 4 * len(self.table) * self.table.shape[1] <= KEPT_SHARE * free_bytes(self.device)

    def _all(self) -> Tensor:
        import torch

        kept = torch.empty(self.table.shape, dtype=torch.float32, device=self.device)

        def send(part: slice) -> None:
            kept[part] = self._sent(part)

        in_blocks(send, len(self.table), 4 * self.table.shape[1])
        return kept

    def _sent(self, part: slice) -> Tensor:
        """A copy on the device, by way of memory from which it can fetch without waiting for the processor."""
        import torch

        rows = self.table.block(part.start, part.stop)
        staged = torch.empty(rows.shape, dtype=torch.float32, pin_memory=self.device.type == "cuda")
        np.copyto(staged.numpy(), rows)
        return staged.to(self.device)
