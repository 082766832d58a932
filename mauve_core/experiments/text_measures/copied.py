"""Share of copied texts: how many texts repeat the human texts word for word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mauve_core.analysis.copied import COPIED, WORDS, copied_flags
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.text_measures.base import Measure, NotDefinedError, Rows, Terms
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext


class Copied(Measure):
    """Share of texts of which over 20 % of the distinct 8-grams of words are in human texts, of P in other ones.

    The human texts are taken as given: the spread is over the texts that are held against them.
    """

    name = "copied"
    title = "Share of copied texts"
    group = "closeness"
    description = (
        "The share of texts of which more than a fifth of the runs of 8 words are in human texts. Human texts are held "
        "against the other human texts."
    )
    larger = "more texts that repeat human texts word for word"
    source = "ours; n-grams of training texts as in McCoy et al. 2023"
    bounds = (0.0, 1.0)

    def terms(
        self,
        texts: Collection,
        human: Collection,
        context: MeasureContext,  # noqa: ARG002
        progress: Progress = silent,  # noqa: ARG002
    ) -> Terms:
        return _CopiedTerms(texts, human.texts)

    def human_terms(self, human: Collection, context: MeasureContext, progress: Progress = silent) -> Terms | None:  # noqa: ARG002
        return _CopiedTerms(human, None)

    def settings(self, context: MeasureContext) -> dict[str, Any]:  # noqa: ARG002
        return {"tokens": "words without case", "n-gram": WORDS, "share": COPIED}


class _CopiedTerms(Terms):
    def __init__(self, texts: Collection, others: Sequence[str] | None) -> None:
        self._flags = copied_flags(texts.texts, others, texts.prompts)
        short = int(np.isnan(self._flags).sum())
        self.note = f"{short:,} texts under {WORDS} words left out" if short else ""

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002
        flags = self._flags if rows is None else self._flags[rows]
        flags = flags[~np.isnan(flags)]
        if not flags.size:
            raise NotDefinedError(f"no text has {WORDS} words")
        return float(flags.mean())
