"""Histograms of resampled and of exchanged texts on a device.

Texts are drawn on the host, and only counted on the device, so the histograms are those that
:mod:`mauve_core.numerics.resampling.units` and :mod:`mauve_core.numerics.resampling.permutation` find.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mauve_core.numerics.device.memory import device_work, in_blocks, torch_device

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def weighted_counts_on(
    device: str, labels: NDArray[np.integer], k: int, weights: NDArray[np.integer]
) -> NDArray[np.int64]:
    """:func:`mauve_core.numerics.resampling.bootstrap.resampled_counts` of each seed's labels on a device.

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
    """:func:`mauve_core.numerics.resampling.permutation.counts_by_side` on a device."""
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
