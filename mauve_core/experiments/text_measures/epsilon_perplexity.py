"""Epsilon-perplexity: the perplexity of human text under a truncated distribution with epsilon added."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.experiments.text_measures.context import MeasureContext
from mauve_core.experiments.text_measures.truncated import TruncatedMeasure

# With this value, greedy accuracy gives the published figures of greedy decoding (JMLR 2023, table 15).
EPSILON = 1e-5


class EpsilonPerplexity(TruncatedMeasure):
    """exp(-mean of log((p(x) + epsilon) / (1 + epsilon V))), where V is the vocabulary size."""

    name = "epsilon-perplexity"
    title = "ε-perplexity"
    group = "likelihood"
    description = (
        "The perplexity of human text under the decoder's truncated distribution with ε = 1e-5 added to every "
        "probability."
    )
    larger = "a decoder whose distribution fits human text worse"
    source = "Martins et al. 2020, equation 7; JMLR 2023, table 15"
    bounds = (1.0, float("inf"))

    def of_tokens(
        self,
        p: NDArray[np.float64],
        squares: NDArray[np.float64],  # noqa: ARG002
        vocabulary: NDArray[np.float64],
    ) -> float:
        return float(np.exp(-np.mean(np.log((p + EPSILON) / (1 + EPSILON * vocabulary)))))

    def settings(self, context: MeasureContext) -> dict[str, Any]:
        return {**super().settings(context), "epsilon": EPSILON}
