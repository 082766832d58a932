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
from mauve_core.texts.properties import TOKEN, WORD

# Words and punctuation marks of a row.
ROW = 10

# Share of the reference texts that have no row of so rare words.
USUAL = 0.99

# Share of the reference texts that have a common word, at least.
COMMON = 0.05

# Letters in a row, the space before and after a word among them.
LETTERS = 3

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
    does = "writes gibberish (runs of rare words)"
    condition = f"have {ROW} words in a row that are rarer than in {USUAL:.0%} of the reference texts"
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
    having, size = _having(tokens, reference), int(reference.sum())
    for index, (each, own) in enumerate(zip(tokens, reference.astype(int).tolist(), strict=True)):
        if len(each) >= ROW:
            counts, others = np.fromiter(map(having.__getitem__, each), np.int64, len(each)) - own, size - own
            sums = np.cumsum(np.append(0.0, -np.log2((counts + 0.5) / (others + 1))))
            rarest[index] = float((sums[ROW:] - sums[:-ROW]).max()) / ROW
    return rarest


def new_orders(words: Sequence[Sequence[str]], reference: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The share of a text's pairs of common words that no other reference text has; nan if there are none."""
    least = COMMON * reference.sum()
    having = _having(words, reference)
    usual = {word for word, count in having.items() if count >= least}
    pairs = [[pair for pair in pairwise(each) if usual.issuperset(pair)] for each in words]
    together = _having(pairs, reference)
    shares = np.full(len(words), np.nan)
    for index, (each, own) in enumerate(zip(pairs, reference.astype(int).tolist(), strict=True)):
        new = [together[pair] == own for pair in each if min(having[pair[0]], having[pair[1]]) - own >= least]
        if new:
            shares[index] = sum(new) / len(new)
    return shares


def new_spellings(words: Sequence[Sequence[str]], reference: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The share of a text's words with letters in an order that no other reference text has; nan if it has no words."""
    known = {word: _runs(word) for word in {word for each in words for word in each if word.isalpha()}}
    spelled = [
        [run for word in set(each) for run in known.get(word, ())] if use else []
        for each, use in zip(words, reference, strict=True)
    ]
    counts = _having(spelled, reference)
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


def _having(items: Sequence[Sequence[Any]], reference: NDArray[np.bool_]) -> Counter[Any]:
    """The number of reference texts with each item."""
    return Counter(item for each, use in zip(items, reference, strict=True) if use for item in set(each))
