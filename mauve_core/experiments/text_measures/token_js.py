"""Token Jensen–Shannon divergence between a truncated distribution and the human token."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from mauve_core.experiments.text_measures.truncated import TruncatedMeasure

MOST = float(np.log(2))


class TokenJS(TruncatedMeasure):
    """Mean over tokens of JS(p, one-hot at x), in nats; 0 where p(x) = 1, log 2 where p(x) = 0."""

    name = "token-js"
    title = "Token JS"
    group = "likelihood"
    unit = "nats"
    description = (
        "The mean Jensen-Shannon divergence between the decoder's truncated distribution and the token that a person "
        "wrote."
    )
    larger = "a decoder whose distribution fits human text worse"
    source = "Martins et al. 2020, equation 9; JMLR 2023, table 15"
    bounds = (0.0, MOST)

    def of_tokens(
        self,
        p: NDArray[np.float64],
        squares: NDArray[np.float64],  # noqa: ARG002
        vocabulary: NDArray[np.float64],  # noqa: ARG002
    ) -> float:
        return float(np.mean(js_to_one_hot(p)))


def js_to_one_hot(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """JS between a distribution and the one-hot at a word of probability p.

    Relative to the mean m of the two, the other words all have ratio 2 and contribute (1 - p) log 2 together; only p
    matters.
    """
    own = xlogy(p, p) - xlogy(p, (1 + p) / 2)
    divergence: NDArray[np.float64] = 0.5 * (own + (1 - p) * MOST - np.log((1 + p) / 2))
    return divergence
