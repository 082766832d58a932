"""String kernels: similarity of texts by token ids alone, as Gram matrices of unit-length feature vectors.

There are two kernels (JMLR 2023, section 7.5.4). The n-gram kernel is the Jaccard similarity of two texts' sets of
n-grams. The gap-weighted subsequence kernel is that of Lodhi et al., *Text Classification using String Kernels*, JMLR
2, 2002. Both are normalized, K(x, y) / sqrt(K(x, x) K(y, y)), so that 2 - 2 K is a squared distance; nearest-neighbor
estimators need nothing else. No feature vector is formed: it would have one component per possible n tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from mauve_core.base.errors import InputError
from mauve_core.estimators.token_sequences import NGrams, Sequences, ngrams, sequences
from mauve_core.stats import _checks

# progress(stage, done, total)
Progress = Callable[[str, int, int], None]

# Stage name of the progress, which counts rows of the matrix for n-grams and pairs of texts for subsequences.
STAGE = "Comparing texts by their strings"

# Numbers of the subsequence recursion held at once: 8 MB, about the size of a processor's cache.
STATE_NUMBERS = 1 << 20

# Rows of the n-gram matrix formed at once.
_ROWS = 256

# A factor holds the decay over the steps of one text down to 1/_REACH; then the state absorbs it.
_REACH = 1e100


@dataclass(frozen=True, eq=False)
class Gram:
    """Similarities of texts.

    Attributes
    ----------
    kernel : (n, n) float64 array
        In [0, 1], symmetric, positive semi-definite up to rounding, 1 on the diagonal.
    cut : (n,) bool array
        Whether the text was longer than ``max_tokens`` and was cut there.
    steps : int
        Cost: entries formed for n-grams, (n - 1) times the pairs of equal tokens for subsequences.
    notes : tuple of str
        States how many texts were cut.
    """

    kernel: NDArray[np.float64]
    cut: NDArray[np.bool_]
    steps: int
    notes: tuple[str, ...]


def ngram_gram(
    texts: Sequence[ArrayLike],
    n: int | Sequence[int] = 3,
    *,
    max_tokens: int | None = None,
    progress: Progress | None = None,
) -> Gram:
    """n-gram kernel: shared n-grams over all n-grams of two texts, |A(x) & A(y)| / |A(x) | A(y)|.

    It is positive semi-definite, like the Jaccard similarity of sets; so is the mean over several n. The cost is
    n_texts^2 numbers and a sparse product that touches every pair of equal n-grams once.

    Parameters
    ----------
    texts : sequence of sequences of int
        Token ids of both sides together.
    n : int or sequence of int
        Length of the n-grams; several lengths give the mean of their similarities.
    max_tokens : int, optional
        Texts are cut after this many tokens; None keeps them whole.
    progress : callable, optional
        Called with (stage, rows done, rows).

    Raises
    ------
    InputError
        A text has fewer tokens than the largest n, or an argument is invalid.
    """
    orders = _orders(n)
    cut, rows = _read(texts, max_tokens, max(orders))
    found = ngrams(rows.tokens, rows.lengths, max(orders))
    many = rows.lengths.size
    kernel = np.zeros((many, many))
    members = [_member(found[order - 1], many) for order in orders]
    for block in _checks.row_blocks(many, _ROWS):
        _tell(progress, block.start, many)
        for member in members:
            kernel[block] += _jaccard(member, block)
    _tell(progress, many, many)
    return Gram(kernel / len(orders), cut, many * many * len(orders), _notes(cut, max_tokens))


def subsequence_gram(
    texts: Sequence[ArrayLike],
    n: int = 5,
    decay: float = 0.5,
    *,
    max_tokens: int | None = None,
    progress: Progress | None = None,
) -> Gram:
    """Gap-weighted subsequence kernel: shared subsequences of n tokens, each weighted by decay^(its span), squared.

    The feature of a text for n given tokens is the sum of decay^(last - first + 1) over all positions where they occur
    in that order, not necessarily adjacent. As in Rousu and Shawe-Taylor (JMLR 6, 2005), the recursion over n visits
    pairs of equal tokens only, here for one text against many at once. The cost is n M sqrt(t) for texts of up to t
    tokens that share M pairs of equal tokens. M is at most t^2 per pair of texts, and in prose one or two hundredths
    of that.

    Parameters
    ----------
    texts, max_tokens
        See :func:`ngram_gram`.
    n : int >= 1
        Tokens of a subsequence.
    decay : float in (0, 1]
        Weight of one more token of span; 1 counts subsequences regardless of gaps.
    progress : callable, optional
        Called with (stage, pairs of texts done, pairs of texts).

    Raises
    ------
    InputError
        A text has fewer than n tokens, a value leaves the range of float64, or an argument is invalid.
    """
    n = _checks.whole("The number of tokens in a subsequence", n, low=1)
    if not 0 < decay <= 1:
        raise InputError("The decay is not usable", allowed="a number above 0, at most 1", received=repr(decay))
    cut, rows = _read(texts, max_tokens, n)
    many = rows.lengths.size
    raw = np.zeros((many, many))
    width = max(1, int(np.ceil(np.sqrt(rows.lengths.max()))))
    texts_at_once = max(1, STATE_NUMBERS // (width * width * max(n - 1, 1)))
    done, total = 0, many * (many + 1) // 2
    for start in range(0, many, texts_at_once):
        stop = min(start + texts_at_once, many)
        others = _Occurrences.of(rows, start, stop)
        for row in range(stop):
            _tell(progress, done, total)
            first = max(row, start)
            raw[row, first:stop] = _against(_text(rows, row), others.after(first), n, float(decay), width)
            done += stop - first
    _tell(progress, done, total)
    return Gram(_normalised(raw), cut, _steps(rows, n), _notes(cut, max_tokens))


@dataclass(frozen=True, eq=False)
class _Occurrences:
    """Occurrences of the tokens of several texts, sorted by token, then text, then position.

    Attributes
    ----------
    token, owner, position : (t,) int64 arrays
    first, stop : int
        Texts from ``first`` to ``stop`` - 1.
    """

    token: NDArray[np.int64]
    owner: NDArray[np.int64]
    position: NDArray[np.int64]
    first: int
    stop: int

    @classmethod
    def of(cls, rows: Sequences, first: int, stop: int) -> _Occurrences:
        inside = slice(int(rows.lengths[:first].sum()), int(rows.lengths[:stop].sum()))
        token, owner, position = rows.tokens[inside], rows.owner[inside], rows.position[inside]
        order = np.argsort(token, kind="stable")
        return cls(token[order], owner[order], position[order], first, stop)

    def after(self, first: int) -> _Occurrences:
        """The same occurrences without the texts before ``first``."""
        if first == self.first:
            return self
        remaining = self.owner >= first
        return _Occurrences(self.token[remaining], self.owner[remaining], self.position[remaining], first, self.stop)


def _against(text: NDArray[np.int64], others: _Occurrences, n: int, decay: float, width: int) -> NDArray[np.float64]:
    """(stop - first,) kernel values of one text and each of the others, not normalized.

    Let S_i(a, b) be the weight of all pairs of equal subsequences of i tokens that end at a in the text and at b in
    the other: S_1 = decay^2 and, for equal tokens, S_i(a, b) = decay^2 sum over a' < a, b' < b of
    decay^((a - a' - 1) + (b - b' - 1)) S_(i-1)(a', b'). The kernel is the sum of S_n. While a advances, the state
    holds for each b' the sum over past a'. The sum over b' reads one block of positions, and one number for each
    earlier block.
    """
    texts = others.stop - others.first
    low, high = np.searchsorted(others.token, text, "left"), np.searchsorted(others.token, text, "right")
    values = np.zeros(texts)
    fine = np.zeros((texts * width, n - 1, width))
    coarse = np.zeros((texts, n - 1, width))
    powers = decay ** np.arange(width * width, dtype=np.float64)
    within, before = _decays(powers, width)
    reach = int(min(len(text), np.log(_REACH) / -np.log(decay))) if decay < 1 else len(text)
    base = 0
    orders = width * np.arange(n - 1)
    for a in np.flatnonzero(high > low).tolist():
        if a - base > reach:
            factor = decay ** (a - base)
            fine *= factor
            coarse *= factor
            base = a
        owner, position = others.owner[low[a] : high[a]] - others.first, others.position[low[a] : high[a]]
        block, offset = position // width, position % width
        cell = owner * width + block
        terms = np.empty((owner.size, n))
        terms[:, 0] = decay * decay
        sums = np.einsum("miw,mw->mi", fine[cell], within[offset])
        sums += np.einsum("miw,mw->mi", coarse[owner], before[block]) * powers[offset][:, None]
        terms[:, 1:] = sums * decay ** (a - base + 1.0)
        values += np.bincount(owner, weights=terms[:, -1], minlength=texts)
        new = terms[:, :-1] / decay ** (a - base)
        fine[cell, :, offset] += new  # one text has one token at a place, so no entry is written twice
        entry = (owner * (n - 1) * width + block)[:, None] + orders
        np.add.at(coarse.reshape(-1), entry.ravel(), (new * powers[width - 1 - offset][:, None]).ravel())
    return values


def _decays(powers: NDArray[np.float64], width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights of earlier positions: in the same block, [offset, other offset]; of whole blocks, [block, other]."""
    gap = np.subtract.outer(np.arange(width), np.arange(width)) - 1
    earlier = gap >= 0
    within = np.where(earlier, powers[np.maximum(gap, 0)], 0.0)
    before = np.where(earlier, powers[np.maximum(gap, 0) * width], 0.0)
    return within, before


def _normalised(raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """The full matrix with ones on the diagonal, from its upper triangle."""
    own = np.diag(raw)
    usable = np.isfinite(own) & (own > np.finfo(np.float64).tiny)
    if not usable.all() or not np.isfinite(raw).all():
        raise InputError(
            f"The subsequence kernel exceeds the range of float64 in {_checks.name_rows(~usable)}",
            todo="Choose a smaller n, or a decay that is neither tiny nor 1",
        )
    root = np.sqrt(own)
    kernel = np.minimum(np.triu(raw, 1) / root / root[:, None], 1.0)
    kernel += kernel.T
    np.fill_diagonal(kernel, 1.0)
    return kernel


def _member(found: NGrams, texts: int) -> csr_array:
    """(texts, n-grams) sparse matrix with a one where a text has an n-gram."""
    pairs = np.unique(found.owner * found.distinct + found.ids)
    row, column = pairs // found.distinct, pairs % found.distinct
    return csr_array((np.ones(pairs.size), (row, column)), shape=(texts, found.distinct))


def _jaccard(member: csr_array, block: slice) -> NDArray[np.float64]:
    sizes = np.diff(member.indptr)
    shared = (member[block] @ member.T).toarray()
    return np.asarray(shared / (sizes[block, None] + sizes - shared))


def _steps(rows: Sequences, n: int) -> int:
    counts = _member_counts(rows)
    everywhere = np.bincount(np.unique(rows.tokens, return_inverse=True)[1]).astype(np.float64)
    return (n - 1) * int(((everywhere**2).sum() + (counts**2).sum()) / 2)


def _member_counts(rows: Sequences) -> NDArray[np.float64]:
    """How often each text has each of its distinct tokens, in one row."""
    token = np.unique(rows.tokens, return_inverse=True)[1]
    pairs = rows.owner * (int(token.max()) + 1) + token
    return np.asarray(np.unique(pairs, return_counts=True)[1], dtype=np.float64)


def _text(rows: Sequences, row: int) -> NDArray[np.int64]:
    start = int(rows.starts[row])
    return rows.tokens[start : start + int(rows.lengths[row])]


def _orders(n: int | Sequence[int]) -> list[int]:
    orders = list(n) if isinstance(n, Sequence) else [n]
    if not orders or len(set(orders)) < len(orders):
        raise InputError("The lengths of the n-grams are not usable", allowed="one or more different whole numbers")
    return [_checks.whole("The length of the n-grams", order, low=1) for order in orders]


def _read(texts: Sequence[ArrayLike], max_tokens: int | None, least: int) -> tuple[NDArray[np.bool_], Sequences]:
    """Cut texts to ``max_tokens``, and say which were cut; none may be shorter than ``least``."""
    rows = sequences(texts)
    cut = np.zeros(rows.lengths.size, dtype=np.bool_)
    if max_tokens is not None:
        max_tokens = _checks.whole("The maximum number of tokens per text", max_tokens, low=least)
        cut = rows.lengths > max_tokens
        rows = rows.beginnings(max_tokens)
    short = rows.lengths < least
    if short.any():
        raise InputError(
            f"Texts are too short to be compared by {least} tokens",
            allowed=f"at least {least} tokens",
            received=f"fewer in {_checks.name_rows(short)}",
            todo="Leave them out, or compare by fewer tokens",
        )
    return cut, rows


def _notes(cut: NDArray[np.bool_], max_tokens: int | None) -> tuple[str, ...]:
    if not cut.any():
        return ()
    return (f"{int(cut.sum())} of {cut.size} texts truncated at {max_tokens} tokens",)


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(STAGE, done, total)
