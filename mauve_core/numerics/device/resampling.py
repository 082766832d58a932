"""Histograms of resampled and of exchanged texts on a device.

Random numbers are NumPy's, and everything after them is comparisons, places and counts, so the histograms are those
that :mod:`mauve_core.numerics.resampling.exchange` and :mod:`mauve_core.numerics.resampling.permutation` find.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mauve_core.numerics.device.memory import device_work, free_bytes, in_blocks, too_little_memory, torch_device
from mauve_core.numerics.resampling.exchange import PromptGroups, RandomNumbers, random_rows

if TYPE_CHECKING:
    import torch
    from torch import Tensor

MEMORY_SHARE = 0.25
"""Share of the device's free memory for all resamples that are kept."""

HOST_BYTES = 2**28
"""Memory of the random numbers that are on the host at once."""

BYTES_PER_NUMBER = 40
"""Memory on the device for each random number of a resample, while its texts are drawn."""


class DeviceDraws:
    """:class:`mauve_core.numerics.resampling.exchange.Draws`, counted on a device."""

    def __init__(self, groups: PromptGroups, count: int, rng: np.random.Generator, device: torch.device) -> None:
        import torch

        self.count, self._device, self._texts = count, device, groups.n + groups.m
        numbers = RandomNumbers(groups, count, rng)
        self._shared: list[tuple[Tensor, int, Tensor, Tensor]] = []
        self._alone: list[tuple[bool, Tensor, Tensor, Tensor]] = []
        with torch.inference_mode():
            for stratum, drawn in numbers.of_shared():
                uniform, members = _sent(drawn, device), _sent(stratum.members, device)
                texts = members[(uniform[..., 0] * len(members)).long()]
                ranks = uniform[..., 2:].argsort(-1).argsort(-1)
                self._shared.append((texts, stratum.of_p, ranks < stratum.of_p, uniform[..., 1].clone()))
            for to_p, own, pool, drawn in numbers.of_alone():
                uniform = _sent(drawn, device)
                first, other = (uniform[..., index] * part.size for index, part in enumerate((own, pool)))
                texts, pooled = _sent(own, device)[first.long()], _sent(pool, device)[other.long()]
                self._alone.append((to_p, texts, pooled, uniform[..., 2].clone()))

    def counts(self, labels: NDArray[np.integer], k: int, rate: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As ``Draws.counts``."""
        import torch

        with device_work(self._device):
            clusters = _sent(labels.astype(np.int64), self._device)
            found = torch.zeros((2, self.count, len(clusters), k), dtype=torch.int64, device=self._device)

            def count(part: slice) -> None:
                sides = list(self._dealt(part, rate))
                for seed, own in enumerate(clusters):
                    found[:, part, seed] = sum(histograms(side, own[texts], 2, k) for side, texts in sides)

            in_blocks(count, self.count, 4 * 8 * self._texts)
            p, q = found.cpu().numpy()
            return p, q

    def _dealt(self, part: slice, rate: float) -> Iterator[tuple[Tensor, Tensor]]:
        """Side (0 is P) and texts of some resamples, both (B, texts)."""
        import torch

        for texts, of_p, dealt_to_p, uniform in self._shared:
            own_to_p = torch.arange(texts.shape[-1], device=self._device) < of_p
            to_p = torch.where((uniform[part] < rate)[..., None], dealt_to_p[part], own_to_p)
            yield (~to_p).flatten(1).long(), texts[part].flatten(1)
        for goes_to_p, own, pooled, uniform in self._alone:
            texts = torch.where(uniform[part] < rate, pooled[part], own[part])
            yield torch.full_like(texts, int(not goes_to_p)), texts


def fits_on(device: str, groups: PromptGroups, count: int) -> bool:
    """Whether so many resamples may be kept in the device's memory."""
    room = MEMORY_SHARE * free_bytes(torch_device(device))
    return count * BYTES_PER_NUMBER * groups.row_width <= room


def draw_blocks_on(
    device: str, groups: PromptGroups, replicates: int, rng: np.random.Generator, *, most: int | None = None
) -> Iterator[DeviceDraws]:
    """:func:`mauve_core.numerics.resampling.exchange.draw_blocks` on a device.

    Blocks are halved for as long as the device refuses them.

    Raises
    ------
    InputError
        Not even one resample fits.
    """
    import torch

    place = torch_device(device)
    block = max(1, min(most or replicates, HOST_BYTES // (8 * groups.row_width)))
    left = replicates
    while left:
        state = rng.bit_generator.state
        try:
            drawn = DeviceDraws(groups, min(block, left), rng, place)
        except torch.OutOfMemoryError as error:
            if block == 1:
                raise too_little_memory() from error
            rng.bit_generator.state = state
            block = -(-min(block, left) // 2)
        else:
            left -= drawn.count
            yield drawn


def draw_sides_on(
    device: str, sides: NDArray[np.integer], codes: NDArray[np.intp], count: int, rng: np.random.Generator
) -> Tensor:
    """:func:`mauve_core.numerics.resampling.permutation.draw_sides` on a device, as (count, N) int64 numbers."""
    import torch

    place = torch_device(device)
    with device_work(place):
        blocks, own = _sent(codes, place), _sent(sides.astype(np.int64), place)
        order = (blocks + _sent(random_rows(rng, count, codes.size), place) / 2).argsort(1)
        in_blocks_order = own[blocks.argsort(stable=True)]
        return torch.empty_like(order).scatter_(1, order, in_blocks_order.expand(count, -1))


def counts_by_side_on(drawn: Tensor, labels: NDArray[np.integer], k: int, sides: int) -> NDArray[np.int64]:
    """Histograms of the texts on each side, under each seed.

    Parameters
    ----------
    drawn : (B, N) int64 tensor
        Side of each text, from 0.
    labels : (seeds, N) array of int
        Cluster of each text.
    k, sides : int

    Returns
    -------
    (sides, B, seeds, k) int64 array
    """
    import torch

    with device_work(drawn.device):
        clusters = _sent(labels.astype(np.int64), drawn.device)
        found = [histograms(drawn, own.expand_as(drawn), sides, k) for own in clusters]
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
