"""Histograms of a comparison's sides and of their resamples, counted afresh."""

from __future__ import annotations

import numpy as np

from mauve_core.base.config import HUMAN
from mauve_core.numerics.resampling.bootstrap import resampled_counts
from mauve_core.scoring.estimates import resamples
from mauve_core.scoring.replicates import CountSamples
from mauve_core.scoring.result import Comparison, PartitionKind


def sample_counts(comparison: Comparison, kind: PartitionKind = "pairwise") -> dict[str, CountSamples]:
    """Those of every candidate, all resamples at once."""
    found = {}
    for candidate in comparison.candidates:
        name, parts = candidate.name, comparison.joint if kind == "joint" else candidate.partitions
        texts = [np.stack([part.counts(side) for part in parts]) for side in (HUMAN, name)]
        drawn = [
            np.stack([resampled_counts(part.labels[side], part.k, weights) for part in parts], axis=1)
            for side, weights in ((side, resamples(comparison, side)) for side in (HUMAN, name))
        ]
        found[name] = CountSamples(*texts, *drawn)
    return found
