"""Distinct-n: the share of distinct n-grams among all n-grams."""

from __future__ import annotations

from typing import Any

import numpy as np

from mauve_core.base.progress import Progress, silent
from mauve_core.estimators.token_sequences import NGrams, ngrams
from mauve_core.experiments.text_measures.base import NotDefinedError, PlainMeasure, Rows, Terms
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext


class Distinct(PlainMeasure):
    """Number of distinct n-grams of all texts together, divided by the number of all n-grams; n is 4 in the papers."""

    name = "distinct"
    title = "Distinct-4"
    group = "diversity"
    description = "The share of distinct n-grams among all n-grams of all texts, in tokens, n = 4."
    larger = "more diverse texts"
    source = "Li et al. 2016; JMLR 2023, section 6.3"
    bounds = (0.0, 1.0)
    depends_on_n = True

    def __init__(self, n: int = 4) -> None:
        self.n = n

    def terms_of(self, texts: Collection, context: MeasureContext, progress: Progress = silent) -> Terms:
        tokens = context.tokens(texts, progress)
        return _DistinctTerms(ngrams(tokens.ids, tokens.lengths, self.n)[-1], self.n)

    def settings(self, context: MeasureContext) -> dict[str, Any]:
        return {"tokenizer": context.tokenizer, "n-gram": self.n}


class _DistinctTerms(Terms):
    def __init__(self, ngrams: NGrams, n: int) -> None:
        self._ngrams, self._n = ngrams, n

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002
        ids = self._ngrams.ids if rows is None else self._ngrams.ids[np.isin(self._ngrams.owner, rows)]
        if not ids.size:
            raise NotDefinedError(f"no text has {self._n} tokens")
        return float(np.count_nonzero(np.bincount(ids)) / ids.size)
