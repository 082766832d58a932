"""Zipf coefficient: how steeply word frequency falls with rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.text_measures.base import NotDefinedError, PlainMeasure, Rows, Terms
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext

# Ranks in the fit, as in the implementation of Holtzman et al. 2020 that the papers use. The tail of tokens seen once
# or twice is a plateau that depends more on the number of texts than on their words.
TOP_RANKS = 5000


class Zipf(PlainMeasure):
    """Negative slope of the least-squares line through (log rank, log frequency) of the 5,000 most frequent tokens.

    A steeper fall gives a larger coefficient; human web text has 0.952 in GPT-2's tokens (NeurIPS 2021, table 6).
    """

    name = "zipf"
    title = "Zipf coefficient"
    group = "diversity"
    description = (
        "How steeply the frequency of a token falls with its rank: the negative slope of log frequency over log rank, "
        "fitted by least squares to the 5,000 most frequent tokens."
    )
    larger = "texts that use a few tokens more often"
    source = "Zipf 1949; Holtzman et al. 2020; JMLR 2023, section 6.3"
    bounds = (float("-inf"), float("inf"))
    depends_on_n = True

    def terms_of(self, texts: Collection, context: MeasureContext, progress: Progress = silent) -> Terms:
        tokens = context.tokens(texts, progress)
        _, ids = np.unique(tokens.ids, return_inverse=True)
        return _ZipfTerms(ids, tokens.owner)

    def settings(self, context: MeasureContext) -> dict[str, Any]:
        return {"tokenizer": context.tokenizer, "ranks": TOP_RANKS}


class _ZipfTerms(Terms):
    def __init__(self, ids: NDArray[np.int64], owner: NDArray[np.int64]) -> None:
        self._ids, self._owner = ids, owner

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002
        ids = self._ids if rows is None else self._ids[np.isin(self._owner, rows)]
        counts = np.bincount(ids)
        frequencies = np.sort(counts[counts > 0])[::-1][:TOP_RANKS]
        if frequencies.size < 2:
            raise NotDefinedError("a line needs two different tokens")
        ranks = np.log(np.arange(1, frequencies.size + 1))
        ranks -= ranks.mean()
        return -float(ranks @ np.log(frequencies) / (ranks @ ranks))
