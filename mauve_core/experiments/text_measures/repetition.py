"""Repetition: the share of texts that end in a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from mauve_core.base.progress import Progress, silent
from mauve_core.estimators.token_sequences import ends_in_copies
from mauve_core.experiments.text_measures.base import MeanTerms, PlainMeasure, Terms
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext


class Repetition(PlainMeasure):
    """Share of texts that end in two or more contiguous copies of one phrase of any length, counted in tokens.

    A single repeated token counts, as in the definition of JMLR 2023, section 6.3.
    """

    name = "repetition"
    title = "Repetition"
    group = "diversity"
    description = "The share of texts that end in two or more contiguous copies of the same phrase."
    larger = "more texts that end in a loop"
    source = "Holtzman et al. 2020; JMLR 2023, section 6.3"
    bounds = (0.0, 1.0)

    def terms_of(self, texts: Collection, context: MeasureContext, progress: Progress = silent) -> Terms:
        return MeanTerms(
            np.array([ends_in_copies(ids) for ids in context.tokens(texts, progress).by_text()], dtype=float)
        )

    def settings(self, context: MeasureContext) -> dict[str, Any]:
        return {"tokenizer": context.tokenizer}
