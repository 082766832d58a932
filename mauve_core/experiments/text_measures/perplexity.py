"""Generation perplexity: how well a language model predicts the texts."""

from __future__ import annotations

import math
from typing import Any

from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.text_measures.base import PlainMeasure, Rows, Terms
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext
from mauve_core.experiments.text_measures.positions import Positions


class Perplexity(PlainMeasure):
    """exp(sum of -log Q(token) / number of tokens), over all tokens of all texts, each text after its prompt."""

    name = "perplexity"
    title = "Generation perplexity"
    group = "likelihood"
    description = "How surprising the texts are, token by token, to the scoring model, each text read after its prompt."
    larger = "texts that the scoring model finds less likely"
    source = "Fan et al. 2018; JMLR 2023, section 6.3"
    needs = frozenset({"model", "words"})
    bounds = (1.0, float("inf"))

    def terms_of(self, texts: Collection, context: MeasureContext, progress: Progress = silent) -> Terms:
        return _PerplexityTerms(context.likelihoods(texts, progress))

    def settings(self, context: MeasureContext) -> dict[str, Any]:
        return {"scorer": context.scorer, "max_tokens": context.max_tokens}


class _PerplexityTerms(Terms):
    def __init__(self, losses: Positions) -> None:
        self._losses = losses
        self.note = losses.note

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002
        return math.exp(self._losses.of_texts(rows).mean())
