"""Rows on a device and their distances, for many runs of k-means at once.

Runs are laid out as (g, r): r runs on each of g tables of equal size, so that all runs on one table share its rows in
one product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mauve_core.numerics.device.memory import in_blocks
from mauve_core.numerics.kmeans.nearest import ROUNDING

if TYPE_CHECKING:
    from torch import Tensor


class DeviceRows:
    """Tables of rows on one device.

    Parameters
    ----------
    x : (g, n, d) float32 tensor

    Attributes
    ----------
    squares : (g, n) float32 tensor
        Squared lengths of the rows.
    """

    def __init__(self, x: Tensor) -> None:
        self.x = x
        self.squares = (x * x).sum(2)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Tables, rows and columns."""
        tables, rows, columns = self.x.shape
        return tables, rows, columns

    def distances(self, chosen: Tensor) -> Tensor:
        """(g, r, c, n) squared distances of the rows at (g, r, c) to all of their table; rounding can make them < 0."""
        import torch

        tables, runs, count = chosen.shape
        flat = chosen.reshape(tables, runs * count, 1)
        rows = self.x.gather(1, flat.expand(-1, -1, self.shape[2]))
        found = torch.baddbmm(self.squares[:, None], rows, self.x.transpose(1, 2), alpha=-2)
        found += self.squares.gather(1, flat[..., 0])[..., None]
        return found.view(tables, runs, count, -1)

    def indistinct(self, chosen: Tensor) -> Tensor:
        """(g, r, n) squared distances from the rows at (g, r) below which rounding hides a difference."""
        return (self.squares[:, None] + self.squares.gather(1, chosen)[..., None]) * ROUNDING

    def nearest(self, centers: Tensor, used: Tensor, own: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The nearest center of each row in each run.

        Parameters
        ----------
        centers : (g, r, k, d) float32 tensor
        used : (g, r, k) bool tensor
            Centers that count.
        own : (g, r, n) int64 tensor, optional
            Current center of each row; the row stays unless another is nearer.

        Returns
        -------
        index : (g, r, n) int64 tensor
        distance : (g, r, n) float32 tensor
            Squared, not negative.
        """
        import torch

        tables, runs, k, columns = centers.shape
        turned = (-2 * centers).view(tables, runs * k, columns).transpose(1, 2)
        squares = torch.where(used, (centers * centers).sum(3), torch.inf).view(tables, 1, runs * k)
        shape = (tables, runs, self.shape[1])
        index = torch.empty(shape, dtype=torch.int64, device=self.x.device)
        distance = torch.empty(shape, dtype=torch.float32, device=self.x.device)

        def fill(part: slice) -> None:
            measured = _plus(squares, self.x[:, part], turned).view(tables, -1, runs, k)
            least, best = measured.min(3)
            if own is not None:
                mine = own[:, :, part].transpose(1, 2)
                stays = measured.gather(3, mine[..., None])[..., 0] <= least
                best = torch.where(stays, mine, best)
            least += self.squares[:, part, None]
            index[:, :, part], distance[:, :, part] = best.transpose(1, 2), least.transpose(1, 2)

        in_blocks(fill, self.shape[1], 4 * tables * runs * k)
        return index, distance.clamp_(min=0)


def _plus(bias: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Products (g, n, m) plus (g, 1, m); for one table in one kernel."""
    import torch

    if len(x) == 1:
        return torch.addmm(bias[0, 0], x[0], y[0])[None]
    return torch.baddbmm(bias, x, y)
