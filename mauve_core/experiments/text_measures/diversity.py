"""Diversity within texts: how rarely a text repeats its own short phrases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.progress import Progress, silent
from mauve_core.estimators.token_sequences import NGrams, ngrams
from mauve_core.experiments.text_measures.base import NotDefinedError, PlainMeasure, Rows, Terms
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext

ORDERS = (2, 3, 4)


class Diversity(PlainMeasure):
    """Product over n = 2, 3, 4 of (distinct n-grams within each text, summed over texts) / (all n-grams), in words.

    Unlike distinct-n, it compares a text only with itself, so it hardly depends on the number of texts. White space
    separates words, as in the published figures.
    """

    name = "diversity"
    title = "Diversity"
    group = "diversity"
    description = (
        "The product over n = 2, 3, 4 of the share of a text's word n-grams that are distinct within the text."
    )
    larger = "texts that repeat themselves less"
    source = "Su et al. 2022, A Contrastive Framework for Neural Text Generation, section 5"
    bounds = (0.0, 1.0)

    def terms_of(self, texts: Collection, context: MeasureContext, progress: Progress = silent) -> Terms:  # noqa: ARG002
        words = context.words(texts)
        found = ngrams(words.ids, words.lengths, max(ORDERS))
        return _DiversityTerms([_counts(found[order - 1], len(texts)) for order in ORDERS])

    def settings(self, context: MeasureContext) -> dict[str, Any]:  # noqa: ARG002
        return {"tokens": "white-space words", "n-grams": list(ORDERS)}


class _DiversityTerms(Terms):
    def __init__(self, counts: list[NDArray[np.int64]]) -> None:
        self._counts = counts

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002
        sums = [(counts if rows is None else counts[rows]).sum(axis=0) for counts in self._counts]
        if not all(total for _, total in sums):
            raise NotDefinedError(f"no text has {max(ORDERS)} words")
        return math.prod(float(different / total) for different, total in sums)


def _counts(found: NGrams, texts: int) -> NDArray[np.int64]:
    """(texts, 2) numbers of distinct and of all n-grams of each text."""
    pairs = np.unique(found.owner * max(found.distinct, 1) + found.ids)
    different = np.bincount(pairs // max(found.distinct, 1), minlength=texts)
    return np.stack([different, np.bincount(found.owner, minlength=texts)], axis=1)
