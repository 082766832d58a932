"""Every histogram that the scores of a comparison are made from."""

from __future__ import annotations

import dataclasses

import numpy as np

from mauve_core.base.config import PartitionKind
from mauve_core.scoring import estimates
from mauve_core.scoring.replicates import CountSamples, count_blocks
from mauve_core.scoring.result import Comparison


def sample_counts(comparison: Comparison, kind: PartitionKind = "pairwise") -> dict[str, CountSamples]:
    """Histograms of every candidate, of the texts and of all resamples of the bootstrap."""
    blocks = list(count_blocks(*estimates._drawn_parts(comparison, kind), comparison.config.score))
    return {name: _joined([block[name] for block in blocks]) for name in blocks[0]}


def _joined(blocks: list[CountSamples]) -> CountSamples:
    p, q = (np.concatenate([getattr(block, side) for block in blocks]) for side in ("p_resampled", "q_resampled"))
    return dataclasses.replace(blocks[0], p_resampled=p, q_resampled=q)
