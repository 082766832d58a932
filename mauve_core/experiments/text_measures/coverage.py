"""Coverage: the share of human texts that have a candidate's text among them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.clusters.neighbours import Choices, occupancy_over_k
from mauve_core.experiments.text_measures.manifold import ManifoldMeasure


class Coverage(ManifoldMeasure):
    """Share of human texts whose neighborhood holds a text of the candidate; neighborhoods are those of people."""

    name = "coverage"
    title = "Coverage"
    group = "closeness"
    description = (
        "The share of human texts with a text of the candidate nearer than, or as near as, their 5th nearest human "
        "text. Unlike recall, it rests on the human texts' neighborhoods, which a candidate's outliers cannot widen."
    )
    larger = "a candidate that covers more of human text"
    source = "Naeem et al. 2020, equation 5"
    of_human = False

    def statistic(self, x: ArrayLike, manifold: ArrayLike, ks: Sequence[int], choices: Choices) -> NDArray[np.float64]:
        return occupancy_over_k(x, manifold, ks, choices)
