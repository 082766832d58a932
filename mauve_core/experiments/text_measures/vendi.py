"""Vendi score: the effective number of different texts."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.text_measures.base import Need, NotDefinedError, PlainMeasure, Rows, Terms
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext
from mauve_core.stats.diversity import vendi_score


class Vendi(PlainMeasure):
    """Exponential of the entropy of the eigenvalues of the texts' cosine similarities, divided by n."""

    name = "vendi"
    title = "Vendi score"
    group = "diversity"
    description = (
        "The effective number of different texts, from the cosine similarities of their features: 1 if all are equal, "
        "n if every two are orthogonal. It looks at one side alone and ignores quality. Where two candidates answer "
        "different prompts, the test of their difference finds one about twice too often."
    )
    larger = "more diverse texts"
    source = "Friedman and Dieng 2023, definition 3.1"
    needs: ClassVar[frozenset[Need]] = frozenset({"features"})
    bounds = (1.0, float("inf"))
    depends_on_n = True

    def terms_of(self, texts: Collection, context: MeasureContext, progress: Progress = silent) -> Terms:  # noqa: ARG002
        if texts.features is None:
            raise InputError(f"{self.title} needs the features of the texts")
        if not np.any(texts.features, axis=1).all():
            raise NotDefinedError("the features of a text are all 0, so it has no direction")
        return _VendiTerms(texts.features)


class _VendiTerms(Terms):
    def __init__(self, features: NDArray[np.floating]) -> None:
        self._features = features

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002
        return vendi_score(self._features if rows is None else self._features[rows])
