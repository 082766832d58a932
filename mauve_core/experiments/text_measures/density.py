"""Density: how deep a candidate's texts lie in human text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.clusters.neighbours import Choices, density_over_k
from mauve_core.experiments.text_measures.manifold import ManifoldMeasure


class Density(ManifoldMeasure):
    """Number of human texts whose neighborhood holds a text of the candidate, divided by k, averaged over texts."""

    name = "density"
    title = "Density"
    group = "closeness"
    description = (
        "The number of human texts whose 5 nearest human texts are no nearer than a text of the candidate, divided by "
        "5 and averaged over the candidate's texts. About 1 for people; larger for texts that crowd where human texts "
        "are dense. A single far-off human text cannot raise it much, as it can raise precision."
    )
    larger = "texts that crowd where human texts are dense"
    source = "Naeem et al. 2020, equation 4"
    bounds = (0.0, float("inf"))
    of_human = False

    def statistic(self, x: ArrayLike, manifold: ArrayLike, ks: Sequence[int], choices: Choices) -> NDArray[np.float64]:
        return density_over_k(x, manifold, ks, choices)
