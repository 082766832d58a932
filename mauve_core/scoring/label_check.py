"""Whether labels belong to the scores that are stored with them, for runs whose record holds no digests of its files.

MAUVE under each seed is computed again from the labels, which takes milliseconds: no resamples are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.numerics.divergences.frontier import mauve
from mauve_core.numerics.divergences.smoothing import probabilities
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.scoring.spread import Estimate

TOLERANCE = 1e-4
"""Largest difference from a stored score. Other versions of the program and of NumPy round by far less."""


def require_labels_of_scores(comparison: Comparison) -> None:
    """Raise ValueError unless the stored values of MAUVE are those of the labels, in every partition."""
    scale = comparison.config.score.scale
    for candidate in comparison.candidates:
        rows = comparison.generation_rows(candidate.name)
        _require(candidate.name, candidate.partitions, rows, candidate.scores["mauve"], scale)
        if comparison.joint:
            _require(candidate.name, comparison.joint, rows, candidate.joint_scores["mauve"], scale)
    if comparison.halves is not None:
        halves = comparison.halves
        _require(halves.name, halves.partitions, (np.arange(halves.source.n),), halves.scores["mauve"], scale)


def _require(
    name: str,
    partitions: Sequence[Partition],
    generations: Sequence[NDArray[np.intp]],
    stored: Estimate,
    scale: float,
) -> None:
    values = [
        np.mean([_mauve(part.with_texts(name, rows), name, scale) for rows in generations]) for part in partitions
    ]
    if not np.allclose(values, stored.values, rtol=0, atol=TOLERANCE):
        kind = partitions[0].kind
        raise ValueError(
            f"the {kind} labels of {name} give MAUVE {np.mean(values):.3f}, not the stored {stored.mean:.3f}"
        )


def _mauve(partition: Partition, name: str, scale: float) -> float:
    p, q = (probabilities(partition.counts(side), "none") for side in (HUMAN, name))
    return float(mauve(p, q, scale))
