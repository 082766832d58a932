"""Sparsemax score: how well a truncated distribution fits human text, with a bounded penalty for excluded tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mauve_core.experiments.text_measures.truncated import TruncatedMeasure


class Sparsemax(TruncatedMeasure):
    """Mean over tokens of p(x) + (1 - sum of p squared) / 2: one minus the sparsemax loss of Martins et al."""

    name = "sparsemax"
    title = "Sparsemax score"
    group = "likelihood"
    description = "How well the decoder's truncated distribution p fits human text: the mean of p(x) + (1 - ||p||²)/2."
    larger = "a decoder whose distribution fits human text better"
    source = "Martins et al. 2020, equation 8; JMLR 2023, table 15"
    bounds = (0.0, 1.0)

    def of_tokens(
        self,
        p: NDArray[np.float64],
        squares: NDArray[np.float64],
        vocabulary: NDArray[np.float64],  # noqa: ARG002
    ) -> float:
        return float(np.mean(p + (1 - squares) / 2))
