"""Work on a torch device: its memory, rows in blocks that fit, products in full float32, histograms of resamples.

torch has settings of matrix products and convolutions for the whole process. They are in force only while work of ours
is being started, and work that wants the other kind takes turns. Resampled and exchanged texts are drawn on the host
and only counted on the device, so the histograms are those of :mod:`mauve_core.stats.units` and
:mod:`mauve_core.stats.resampling`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.clusters.features import Stacked
from mauve_core.stats import _checks

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


def weighted_counts_on(
    device: str, labels: NDArray[np.integer], k: int, weights: NDArray[np.integer]
) -> NDArray[np.int64]:
    """:func:`mauve_core.stats.units.resampled_counts` of each seed's labels on a device.

    Parameters
    ----------
    device : str
    labels : (seeds, N) array of int
        Cluster of each text, 0 to k - 1.
    k : int
    weights : (B, N) array of int
        How often each resample has each text.

    Returns
    -------
    (B, seeds, k) int64 array
    """
    import torch

    place = torch_device(device)
    found = np.empty((len(weights), len(labels), k), dtype=np.int64)
    with device_work(place):
        clusters = _sent(labels.astype(np.int64), place)

        def count(part: slice) -> None:
            drawn = _sent(weights[part].astype(np.float64), place)
            for seed, own in enumerate(clusters):
                counts = torch.zeros((len(drawn), k), dtype=torch.float64, device=place).index_add_(1, own, drawn)
                found[part, seed] = counts.cpu().numpy()

        in_blocks(count, len(weights), 8 * weights.shape[1])
    return found


def counts_by_side_on(
    device: str, drawn: NDArray[np.integer], labels: NDArray[np.integer], k: int, sides: int
) -> NDArray[np.int64]:
    """:func:`mauve_core.stats.resampling.counts_by_side` on a device."""
    import torch

    place = torch_device(device)
    with device_work(place):
        slots = _sent(drawn.astype(np.int64), place)
        clusters = _sent(labels.astype(np.int64), place)
        found = [histograms(slots, own.expand_as(slots), sides, k) for own in clusters]
        return torch.stack(found, dim=2).cpu().numpy()


def histograms(side: Tensor, clusters: Tensor, sides: int, k: int) -> Tensor:
    """(sides, B, k) counts of the clusters of each row's texts, by side; both are (B, texts)."""
    import torch

    count = len(side)
    rows = torch.arange(count, device=side.device)[:, None]
    cells = (side * count + rows) * k + clusters
    return torch.bincount(cells.ravel(), minlength=sides * count * k).view(sides, count, k)


def _sent(array: NDArray[np.generic], device: torch.device) -> Tensor:
    import torch

    return torch.from_numpy(np.require(array, requirements=["C", "W"])).to(device)
