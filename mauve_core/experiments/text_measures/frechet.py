"""Fréchet distance: the distance between Gaussians with the means and covariances of the two sides' features."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.estimators.transport import frechet_cost
from mauve_core.experiments.text_measures.base import Measure, Need, NotDefinedError, Rows, Terms
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext


class Frechet(Measure):
    """Squared distance of the means, plus the least transport cost between the centered Gaussians.

    It has no T(P): between halves of the human texts it is larger than between most candidates and all of them, because
    it falls with the number of texts.
    """

    name = "frechet"
    title = "Fréchet distance"
    group = "closeness"
    description = "How far apart the means and covariances of the two sides' features are."
    larger = "texts that lie farther from human ones"
    source = "Heusel et al. 2017; JMLR 2023, sections 7.2 and 7.4.2"
    relational = True
    needs: ClassVar[frozenset[Need]] = frozenset({"features"})
    depends_on_n = True

    def terms(
        self,
        texts: Collection,
        human: Collection,
        context: MeasureContext,  # noqa: ARG002
        progress: Progress = silent,  # noqa: ARG002
    ) -> Terms:
        if min(len(texts), len(human)) < 2:
            raise NotDefinedError("a covariance needs two texts on each side")
        return _FrechetTerms(texts, human)

    def human_terms(self, human: Collection, context: MeasureContext, progress: Progress = silent) -> Terms | None:  # noqa: ARG002
        return None


class _FrechetTerms(Terms):
    def __init__(self, texts: Collection, human: Collection) -> None:
        if texts.features is None or human.features is None:
            raise InputError("The Fréchet distance needs the features of both sides")
        self._x_q, self._x_p = np.asarray(texts.features), np.asarray(human.features)

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:
        x_q = self._x_q if rows is None else self._x_q[rows]
        x_p = self._x_p if human_rows is None else self._x_p[human_rows]
        return frechet_cost(x_p, x_q)
