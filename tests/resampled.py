"""Histograms of a comparison's sides and of their resamples, counted afresh."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.scoring.estimates import CountSamples, two_sides
from mauve_core.scoring.result import Comparison, Partition, PartitionKind
from mauve_core.stats.units import Draws


def sample_counts(comparison: Comparison, kind: PartitionKind = "pairwise") -> dict[str, CountSamples]:
    """Those of every candidate, all resamples at once."""
    found = {}
    for candidate in comparison.candidates:
        name, parts = candidate.name, comparison.joint if kind == "joint" else candidate.partitions
        texts = [np.stack([part.counts(side) for part in parts]) for side in (HUMAN, name)]
        sides, resamples = two_sides(comparison, kind, name), comparison.config.score.bootstrap
        draws = Draws(sides.units, resamples, np.random.default_rng(sides.seed))
        rate = sides.exchange_rate(resamples)
        drawn = [counted(parts, name, weights) for weights in draws.weights(rate)]
        found[name] = CountSamples(*texts, *drawn, rate)
    return found


def counted(parts: tuple[Partition, ...], name: str, weights: NDArray[np.integer]) -> NDArray[np.int64]:
    """Texts of each resample in each cluster under each seed, one histogram at a time; the human texts come first."""
    labels = [np.concatenate([part.labels[HUMAN], part.labels[name]]) for part in parts]
    rows = [[np.bincount(own, row, minlength=parts[0].k) for own in labels] for row in weights]
    return np.array(rows).astype(np.int64)
