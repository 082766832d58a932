"""Length: mean number of words per text."""

from __future__ import annotations

from typing import Any

import numpy as np

from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.text_measures.base import MeanTerms, PlainMeasure, Terms
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext


class Length(PlainMeasure):
    """Mean number of white-space words per text, without its prompt; independent of the model."""

    name = "length"
    title = "Length"
    group = "diversity"
    unit = "words"
    description = "The mean number of words in a text, without its prompt."
    larger = "longer texts"
    source = "Su et al. 2022, section 5"

    def terms_of(self, texts: Collection, context: MeasureContext, progress: Progress = silent) -> Terms:  # noqa: ARG002
        return MeanTerms(context.words(texts).lengths.astype(np.float64))

    def settings(self, context: MeasureContext) -> dict[str, Any]:  # noqa: ARG002
        return {"tokens": "white-space words"}
