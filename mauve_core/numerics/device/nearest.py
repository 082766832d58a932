"""Nearest rows on a device, in blocks of float64 products: in float32 they would hide who is nearest within a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mauve_core.numerics.device.memory import in_blocks

if TYPE_CHECKING:
    from torch import Tensor


def nearest_rows(x: Tensor, others: Tensor | None, count: int) -> tuple[Tensor, Tensor]:
    """The nearest of other rows, or of the same rows without the row itself, the nearest first.

    Parameters
    ----------
    x : (m, d) float32 tensor
    others : (n, d) float32 tensor or None
        None for the other rows of ``x``.
    count : int
        At most n, or m - 1.

    Returns
    -------
    index : (m, count) int64 tensor
    distance : (m, count) float32 tensor
        Euclidean.
    """
    import torch

    among = (x if others is None else others).double()
    center = among.mean(0)  # products of rows far from the origin lose digits
    turned, squares = (among - center).T, (among - center).square().sum(1)
    index = torch.empty((len(x), count), dtype=torch.int64, device=x.device)
    distance = torch.empty((len(x), count), dtype=torch.float32, device=x.device)

    def fill(part: slice) -> None:
        rows = x[part].double() - center
        apart = torch.addmm(squares, rows, turned, alpha=-2) + rows.square().sum(1, keepdim=True)
        if others is None:
            own = torch.arange(part.start, part.stop, device=x.device)
            apart.scatter_(1, own[:, None], torch.inf)
        found, index[part] = apart.topk(count, dim=1, largest=False)
        distance[part] = found.clamp_min_(0).sqrt_().float()

    in_blocks(fill, len(x), 8 * (2 * len(among) + 2 * x.shape[1]))
    return index, distance
