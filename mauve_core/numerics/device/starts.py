"""k-means++ for many runs at once; the rule is that of :mod:`mauve_core.numerics.kmeans.starts`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mauve_core.numerics.device.rows import DeviceRows
from mauve_core.numerics.kmeans import starts

if TYPE_CHECKING:
    from torch import Tensor


def first_partitions(
    rows: DeviceRows, k: int, randoms: Sequence[Sequence[np.random.Generator]]
) -> tuple[Tensor, Tensor, NDArray[np.int64]]:
    """Assign the rows to k of them in each of (g, r) runs, each with its own random numbers.

    Returns
    -------
    labels, distances : (g, r, n) int64 and float32 tensors
        Nearest center of each row, and the squared distance to it.
    centers : (g, r) int64 array
        Centers of each run; fewer than k if all other rows are copies of centers.
    """
    import torch

    device, n = rows.x.device, rows.shape[1]
    chosen = torch.tensor([[int(random.integers(n)) for random in each] for each in randoms], device=device)
    best = _lowered(rows, None, rows.distances(chosen[..., None])[:, :, 0], chosen)
    labels = torch.zeros(best.shape, dtype=torch.int64, device=device)
    count = torch.ones_like(chosen)
    counts, spread = np.ones(chosen.shape, dtype=np.int64), np.ones(chosen.shape, dtype=np.bool_)
    while True:
        batches = np.where(spread, np.minimum(np.minimum(k - counts, counts), starts.BATCH), 0)
        steps = int(batches.max())
        if not steps:
            return labels, best, counts
        cumulated = best.cumsum(2, dtype=torch.float64)
        totals = cumulated[:, :, -1:]
        points = torch.from_numpy(_drawn(randoms, batches * starts.DRAWS)).to(device)
        candidates = torch.searchsorted(cumulated, points * totals, right=True).clamp_(max=n - 1)
        taking = torch.arange(steps, device=device) < torch.from_numpy(batches).to(device)[..., None]
        taking &= totals > 0
        measured = rows.distances(candidates)
        for step in range(steps):
            part = slice(step * starts.DRAWS, (step + 1) * starts.DRAWS)
            offered = measured[:, :, part]
            taken = torch.minimum(offered, best[:, :, None]).sum(3).argmin(2, keepdim=True)
            near = offered.gather(2, taken[..., None].expand(-1, -1, 1, n))[:, :, 0]
            row = candidates[:, :, part].gather(2, taken)
            # Where the distance is 0 by now, the draws of this step are copies of centers.
            fresh = taking[..., step : step + 1] & (best.gather(2, row) > 0)
            labels = torch.where(fresh & (near < best), count[..., None], labels)
            best = torch.where(fresh, _lowered(rows, best, near, row[..., 0]), best)
            count += fresh[..., 0]
        counts, left = (part.cpu().numpy() for part in (count, totals[..., 0] > 0))
        spread &= left


def _drawn(randoms: Sequence[Sequence[np.random.Generator]], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """(g, r, most) uniform numbers: as many of each run's own as ``counts`` says, then zeros."""
    drawn = np.zeros((*counts.shape, int(counts.max())))
    for table, each in enumerate(randoms):
        for run, random in enumerate(each):
            drawn[table, run, : counts[table, run]] = random.random(counts[table, run])
    return drawn


def _lowered(rows: DeviceRows, best: Tensor | None, measured: Tensor, chosen: Tensor) -> Tensor:
    """Distances with the chosen row of each run as an additional center, 0 for its copies."""
    import torch

    lower = measured if best is None else torch.minimum(best, measured)
    return torch.where(measured <= rows.indistinct(chosen), 0.0, lower)
