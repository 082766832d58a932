"""Nearest rows on a device, exactly, in blocks of products."""

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
        Euclidean, from the differences of the rows: the products that find them lose digits of small distances.
    """
    import torch

    among = x if others is None else others
    center = among.mean(0)  # products of rows far from the origin lose digits
    turned, squares = (among - center).T, (among - center).square().sum(1)
    index = torch.empty((len(x), count), dtype=torch.int64, device=x.device)
    distance = torch.empty((len(x), count), dtype=torch.float32, device=x.device)

    def fill(part: slice) -> None:
        rows = x[part]
        apart = torch.addmm(squares, rows - center, turned, alpha=-2)
        if others is None:
            own = torch.arange(part.start, part.stop, device=x.device)
            apart.scatter_(1, own[:, None], torch.inf)
        found = apart.topk(count, dim=1, largest=False).indices
        exact = torch.stack([(rows - among[column]).norm(dim=1) for column in found.T], dim=1)
        distance[part], order = exact.sort(dim=1, stable=True)
        index[part] = found.gather(1, order)

    in_blocks(fill, len(x), 4 * (len(among) + 3 * x.shape[1]))
    return index, distance
