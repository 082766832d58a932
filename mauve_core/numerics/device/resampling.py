"""Histograms of bootstrap resamples on a device; see :mod:`mauve_core.numerics.resampling.exchange`.

Random numbers are NumPy's, and everything after them is comparisons, places and counts, so the histograms are those of
the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mauve_core.numerics.device.memory import device_work, free_bytes, in_blocks, torch_device
from mauve_core.numerics.resampling.exchange import BYTES_PER_NUMBER, PromptGroups, RandomNumbers

if TYPE_CHECKING:
    import torch
    from torch import Tensor

MEMORY_SHARE = 0.25
"""Share of the device's free memory for a block of resamples."""


class DeviceDraws:
    """:class:`mauve_core.numerics.resampling.exchange.Draws`, counted on a device."""

    def __init__(self, groups: PromptGroups, count: int, rng: np.random.Generator, device: torch.device) -> None:
        self.count, self._device, self._texts = count, device, groups.n + groups.m
        numbers = RandomNumbers(groups, count, rng)
        self._shared: list[tuple[Tensor, int, Tensor, Tensor]] = []
        self._alone: list[tuple[bool, Tensor, Tensor, Tensor]] = []
        with device_work():
            for stratum, drawn in numbers.of_shared():
                uniform, members = self._sent(drawn), self._sent(stratum.members)
                texts = members[(uniform[..., 0] * len(members)).long()]
                ranks = uniform[..., 2:].argsort(-1).argsort(-1)
                self._shared.append((texts, stratum.of_p, ranks < stratum.of_p, uniform[..., 1].clone()))
            for to_p, own, pool, drawn in numbers.of_alone():
                uniform = self._sent(drawn)
                first, other = (uniform[..., index] * part.size for index, part in enumerate((own, pool)))
                texts, pooled = self._sent(own)[first.long()], self._sent(pool)[other.long()]
                self._alone.append((to_p, texts, pooled, uniform[..., 2].clone()))

    def counts(self, labels: NDArray[np.integer], k: int, rate: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As ``Draws.counts``."""
        import torch

        with device_work():
            clusters = self._sent(labels.astype(np.int64))
            found = torch.zeros((2, self.count, len(clusters), k), dtype=torch.int64, device=self._device)

            def count(part: slice) -> None:
                sides = list(self._dealt(part, rate))
                for seed, own in enumerate(clusters):
                    total = sum(self._histograms(side, own[texts], k) for side, texts in sides)
                    found[:, part, seed] = total

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

    def _histograms(self, side: Tensor, clusters: Tensor, k: int) -> Tensor:
        """(2, B, k) counts of the clusters of either side."""
        import torch

        rows = torch.arange(len(clusters), device=self._device)[:, None]
        cells = (side * len(clusters) + rows) * k + clusters
        return torch.bincount(cells.ravel(), minlength=2 * len(clusters) * k).view(2, len(clusters), k)

    def _sent(self, array: NDArray[np.generic]) -> Tensor:
        import torch

        return torch.from_numpy(np.require(array, requirements=["C", "W"])).to(self._device)


def draw_blocks_on(
    device: str, groups: PromptGroups, replicates: int, rng: np.random.Generator, *, most: int | None = None
) -> Iterator[DeviceDraws]:
    """:func:`mauve_core.numerics.resampling.exchange.draw_blocks` on a device, in blocks that fit in its memory."""
    place = torch_device(device)
    fitting = int(MEMORY_SHARE * free_bytes(place)) // (BYTES_PER_NUMBER * groups.row_width)
    block = max(1, min(most or replicates, fitting))
    for start in range(0, replicates, block):
        yield DeviceDraws(groups, min(block, replicates - start), rng, place)
