"""Self-BLEU: how much of each text occurs in the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.progress import Progress, silent
from mauve_core.estimators.token_sequences import Overlap
from mauve_core.experiments.text_measures.base import NotDefinedError, PlainMeasure, Rows, Terms
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext

SAMPLE = 1000
ORDER = 4
# Orders without a match count 0.1 matches: method 1 of Chen and Cherry 2014, as in the papers' tool.
SMOOTHING = {"smooth_method": "floor", "smooth_value": 0.1}


class SelfBleu(PlainMeasure):
    """Mean sentence BLEU of 1,000 sampled texts, each with all other texts as references; 4-grams, from 0 to 1.

    sacrebleu's 13a tokenizer gives the words, and sacrebleu scores each text from its n-gram statistics; only the
    counting is done here, for all texts at once. A text with fewer than four words scores 0.
    """

    name = "self-bleu"
    title = "Self-BLEU"
    group = "diversity"
    description = "How much of a text occurs in the others: BLEU with all other texts as references, 4-grams."
    larger = "less diverse texts"
    source = "Zhu et al. 2018; Holtzman et al. 2020; JMLR 2023, section 6.3"
    bounds = (0.0, 1.0)
    depends_on_n = True

    def terms_of(self, texts: Collection, context: MeasureContext, progress: Progress = silent) -> Terms:  # noqa: ARG002
        if len(texts) < 2:
            raise NotDefinedError("a single text has no others to compare with")
        sample = np.sort(context.rng("self-BLEU").permutation(len(texts))[:SAMPLE])
        return _SelfBleuTerms(*word_ids(texts.texts), sample)

    def settings(self, context: MeasureContext) -> dict[str, Any]:  # noqa: ARG002
        from importlib.metadata import version

        return {"tokenizer": "13a", "sacrebleu": version("sacrebleu"), "sample": SAMPLE, **SMOOTHING}


class _SelfBleuTerms(Terms):
    def __init__(self, words: NDArray[np.int64], lengths: NDArray[np.int64], sample: NDArray[np.int64]) -> None:
        self._overlap = Overlap(words, lengths, ORDER)
        self._sample = sample
        if len(sample) < len(lengths):
            self.note = f"{len(sample):,} of {len(lengths):,} texts, each against all others"

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002
        sample = self._sample if rows is None else self._sample[np.isin(self._sample, rows)]
        if not len(sample) or (rows is not None and len(rows) < 2):
            raise NotDefinedError("no sampled text, or no other text, is left")
        return float(sentence_scores(self._overlap, sample, rows).mean())


def word_ids(texts: tuple[str, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Words of all texts as numbers, concatenated, and the number of words per text."""
    from sacrebleu.metrics.bleu import BLEU

    tokenize = BLEU(tokenize="13a").tokenizer
    known: dict[str, int] = {}
    words = [[known.setdefault(word, len(known)) for word in tokenize(text.rstrip()).split()] for text in texts]
    flat = np.fromiter((word for text in words for word in text), dtype=np.int64)
    return flat, np.array([len(text) for text in words], dtype=np.int64)


def sentence_scores(overlap: Overlap, rows: NDArray[np.int64], among: Rows = None) -> NDArray[np.float64]:
    """(m,) sacrebleu's BLEU, from 0 to 1, of each text at ``rows`` with all others as references."""
    from sacrebleu.metrics.bleu import BLEU

    found = overlap.statistics(rows, among)
    columns = (found.correct.tolist(), found.total.tolist(), found.length.tolist(), found.closest.tolist())
    scores = [BLEU.compute_bleu(*item, **SMOOTHING).score for item in zip(*columns, strict=True)]  # type: ignore[arg-type]
    return np.array(scores, dtype=np.float64) / 100
