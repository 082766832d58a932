"""Histograms of text resamples, computed in blocks, and the memory limit of a comparison's resamples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.corpus import limits
from mauve_core.numerics.resampling.bootstrap import WEIGHT_BYTES, resample_weights, resampled_counts
from mauve_core.scoring.result import Partition

COUNT_BYTES = 2**27
"""Memory of the resamples' histograms that are held at once."""

Parts = Mapping[str, Sequence[Partition]]
"""Partitions of the human side with each candidate, by candidate name; one per seed."""

Generators = Mapping[str, np.random.Generator]
"""Random stream of every side, the human side included."""


@dataclass(frozen=True)
class CountSamples:
    """Histograms of one candidate, for the texts and for the bootstrap resamples.

    Attributes
    ----------
    p, q : (seeds, k) int64 arrays
        Human and candidate counts under each k-means seed.
    p_resampled, q_resampled : (B, seeds, k) int64 arrays
        The same for each resample of the texts; all seeds share the resamples.
    """

    p: NDArray[np.int64]
    q: NDArray[np.int64]
    p_resampled: NDArray[np.int64]
    q_resampled: NDArray[np.int64]


def require_room(score: ScoreConfig, sizes: Sequence[int]) -> None:
    """Raise InputError if a comparison's labels or resamples would exceed the memory.

    The human side comes first in ``sizes``, the numbers of texts.
    """
    human, *others = sizes
    labels = score.seeds * (sum(sizes) + sum(human + n for n in others))
    if labels > limits.labels():
        raise InputError(
            f"This many texts with {score.seeds:,} seeds would take too much memory",
            allowed=f"at most {limits.labels():,} labels: seeds x texts, joint and pairwise",
            received=f"{labels:,}",
            todo=f"Use fewer seeds, or set {limits.LABELS_VARIABLE}",
        )
    drawn = score.bootstrap * score.seeds * len(others)
    if drawn > limits.resamples():
        raise InputError(
            f"A bootstrap of {score.bootstrap:,} resamples would take too much memory",
            allowed=f"at most {limits.resamples():,}, counted as resamples x seeds x candidates",
            received=f"{score.bootstrap:,} x {score.seeds:,} x {len(others):,}",
            todo=f"Use fewer resamples (500 give a good interval), or set {limits.RESAMPLES_VARIABLE}",
        )


def count_blocks(parts: Parts, rngs: Generators, score: ScoreConfig) -> Iterator[dict[str, CountSamples]]:
    """Yield the counts of every candidate in blocks of resamples, so that memory does not grow with their number."""
    own = {name: [np.stack([part.counts(side) for part in of]) for side in (HUMAN, name)] for name, of in parts.items()}
    sizes = [len(next(iter(parts.values()))[0].labels[HUMAN]), *(len(of[0].labels[name]) for name, of in parts.items())]
    cells = sum(p.size + q.size for p, q in own.values())
    chunk = max(1, min(COUNT_BYTES // (8 * cells), WEIGHT_BYTES // (4 * max(sizes))))
    for start in range(0, score.bootstrap, chunk):
        count = min(chunk, score.bootstrap - start)
        weights = resample_weights(sizes[0], count, rngs[HUMAN])
        human = {name: _resampled(HUMAN, of, weights) for name, of in parts.items()}
        block = {}
        for (name, of), n in zip(parts.items(), sizes[1:], strict=True):
            weights = resample_weights(n, count, rngs[name])
            block[name] = CountSamples(own[name][0], own[name][1], human.pop(name), _resampled(name, of, weights))
        yield block


def _resampled(source: str, partitions: Sequence[Partition], weights: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the (B, seeds, k) counts of one source's resamples."""
    return np.stack([resampled_counts(part.labels[source], part.k, weights) for part in partitions], axis=1)
