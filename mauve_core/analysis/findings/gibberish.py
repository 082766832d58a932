"""Texts unlike the reference ones in their words: rare words in a row, common words or letters in a new order.

The reference is the human texts that suggest statements. None of them counts for itself, so they and the texts that
are tested, of either side, are all measured against other texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.analysis.findings.amounts import Amount, at_best_limit
from mauve_core.analysis.findings.statements import Statement
from mauve_core.analysis.properties import TOKEN, WORD

ROW = 10
"""Words and punctuation marks of a row."""

USUAL = 0.99
"""Share of the reference texts that have no row of so rare words."""

COMMON = 0.05
"""Share of the reference texts that have a common word, at least."""

LETTERS = 3
"""Letters in a row, the space before and after a word among them."""

ORDERS = Amount(
    "word order",
    "puts common words in unusual orders more often",
    "puts common words in unusual orders less often",
    "of their pairs of common words in an order that no reference text has",
)
SPELLINGS = Amount(
    "letters",
    "writes more words of unusual spelling",
    "writes fewer words of unusual spelling",
    f"words with {LETTERS} letters in an order that no reference text has",
)


def garbled(texts: Sequence[str], of_model: NDArray[np.bool_], suggesting: NDArray[np.bool_]) -> Iterator[Statement]:
    """Yield a statement about rows of rare words, about the order of common words, and about the order of letters."""
    reference = suggesting & ~of_model
    low = [text.lower() for text in texts]
    rarity = rarest_rows([TOKEN.findall(text) for text in low], reference)
    limit = np.quantile(rarity[reference], USUAL, method="higher")
    does = "writes gibberish-like rows of rare words"
    condition = f"have {ROW} words in a row that are rarer than any in {USUAL:.0%} of the reference texts"
    yield Statement("gibberish", f"{does} more often", f"{does} less often", condition, rarity > limit)
    words = [WORD.findall(text) for text in low]
    for amount, values in (
        (ORDERS, new_orders(words, reference)),
        (SPELLINGS, new_spellings(words, reference)),
    ):
        yield from at_best_limit(amount, values, of_model, suggesting)


def rarest_rows(tokens: Sequence[Sequence[str]], reference: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How rare the rarest row of a text is: the mean of -log2 of the shares of other reference texts with its words.

    Returns
    -------
    (n,) float64 array
        Bits; -inf for a text that is shorter than a row.
    """
    rarest = np.full(len(tokens), -np.inf)
    for index, counts in enumerate(_others(tokens, reference)):
        if counts.size >= ROW:
            others = reference.sum() - reference[index]
            sums = np.cumsum(np.append(0.0, -np.log2((counts + 0.5) / (others + 1))))
            rarest[index] = float((sums[ROW:] - sums[:-ROW]).max()) / ROW
    return rarest


def new_orders(words: Sequence[Sequence[str]], reference: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The share of a text's pairs of common words that no other reference text has; nan if there are none."""
    least = COMMON * reference.sum()
    shares = np.full(len(words), np.nan)
    alone, pairs = _others(words, reference), _others([list(pairwise(each)) for each in words], reference)
    for index, (each, of_pairs) in enumerate(zip(alone, pairs, strict=True)):
        common = (each[:-1] >= least) & (each[1:] >= least)
        if common.any():
            shares[index] = (of_pairs[common] == 0).mean()
    return shares


def new_spellings(words: Sequence[Sequence[str]], reference: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The share of a text's words with letters in an order that no other reference text has; nan if it has no words."""
    known = {word: _runs(word) for word in {word for each in words for word in each if word.isalpha()}}
    counts = Counter(
        run
        for each, use in zip(words, reference, strict=True)
        if use
        for run in {run for word in set(each) for run in known.get(word, ())}
    )
    rarest = {word: min(counts[run] for run in runs) for word, runs in known.items()}
    shares = np.full(len(words), np.nan)
    for index, (each, use) in enumerate(zip(words, reference, strict=True)):
        found = [rarest[word] for word in each if word in rarest]
        if found:
            shares[index] = (np.array(found) == int(use)).mean()
    return shares


def _runs(word: str) -> list[str]:
    padded = f" {word} "
    return [padded[start : start + LETTERS] for start in range(len(padded) - LETTERS + 1)]


def _others(items: Sequence[Sequence[Any]], reference: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """Yield, for each text, the number of other reference texts with each of its items."""
    counts = Counter(item for each, use in zip(items, reference, strict=True) if use for item in set(each))
    for each, use in zip(items, reference, strict=True):
        yield np.array([counts[item] for item in each], dtype=np.int64) - int(use)
