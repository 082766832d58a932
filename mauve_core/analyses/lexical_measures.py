"""Text measures of words and tokens: Zipf, repetition, distinct n-grams, Self-BLEU, copied texts, length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.analyses.measure_inputs import Collection, MeasureContext
from mauve_core.analyses.measure_terms import MeanTerms, Measure, NotDefinedError, PlainMeasure, Rows, Terms
from mauve_core.base.progress import Progress, silent
from mauve_core.estimators.token_sequences import NGrams, Overlap, ends_in_copies, ngrams
from mauve_core.findings.copied import COPIED, WORDS, copied_flags

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


class Copied(Measure):
    """Share of texts of which over 20 % of the distinct 8-grams of words are in human texts, of P in other ones.

    The human texts are taken as given: the spread is over the texts that are held against them.
    """

    name = "copied"
    title = "Share of copied texts"
    group = "closeness"
    description = (
        "The share of texts of which more than a fifth of the runs of 8 words are in {reference_items}. "
        "{Reference_items} are held against the other {reference_items}."
    )
    larger = "more texts that repeat {reference_items} word for word"
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
