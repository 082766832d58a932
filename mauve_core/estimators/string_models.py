"""Log ratios of texts from an n-gram model of each side, with interpolated modified Kneser-Ney smoothing.

The string-based counterpart of clusters (Pimentel, Meister and Cotterell, ICLR 2023, sections 2, 3 and 5): 5-gram
models over one vocabulary. The paper scores the whole texts that its models were fitted to, which look far likelier to
their own side's model, so the sides of one source look far apart; here texts are held out, and log ratios are divided
by the number of tokens, because those of whole texts are off by tens of nats. P is the human side; natural logarithms.

Chen and Goodman, Computer Speech and Language 1999, section 3, in the form of Heafield et al., ACL 2013, section 3:

    p(w | context) = (a(context w) - D(a)) / sum_x a(context x) + b(context) p(w | context without its first token)

a is the adjusted count: of an n-gram's occurrences at the highest order, of distinct preceding tokens below (or of
occurrences, for n-grams that open a text). D is one of three discounts, for a of 1, 2 and 3 or more, and b the mass
that they remove. The lowest order is interpolated with equal probabilities of all tokens and the end of the text, so
every text has a probability. The id of an n-gram is the position of (id of all its tokens but the last, last token) in
a sorted table: counting is sorting and lookup is searching, for all tokens at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.estimators.ratios import LogRatios, direct_ratios
from mauve_core.estimators.token_sequences import Sequences, sequences
from mauve_core.stats import _checks

# Tokens of the longest n-grams (ICLR 2023, section 5).
ORDER = 5

# Share of the texts of each side that is held out and scored.
HELD_OUT = 0.5


@dataclass(frozen=True, eq=False)
class StringRatios:
    """Log ratios of the two models' probabilities for the held-out texts.

    Attributes
    ----------
    ratios : LogRatios
        log p / q, in nats, for each scored text of P and of Q; its notes say how the models were fitted.
    rows_p, rows_q : (a,) and (b,) int64 arrays
        Rows of these texts, increasing.
    """

    ratios: LogRatios
    rows_p: NDArray[np.int64]
    rows_q: NDArray[np.int64]


def string_ratios(
    p_texts: Sequence[ArrayLike],
    q_texts: Sequence[ArrayLike],
    *,
    order: int = ORDER,
    seed: int = 0,
) -> StringRatios:
    """Log ratios of held-out texts under an n-gram model of each side, divided by the number of tokens plus one.

    Parameters
    ----------
    p_texts, q_texts : sequences of sequences of int
        Token ids of the human texts and of the candidate's, without special tokens.
    order : int
        Tokens of the longest n-grams.
    seed : int
        Decides which texts are held out. A row that both sides have is held out on both or on neither.

    Returns
    -------
    StringRatios

    Raises
    ------
    InputError
        Texts or an argument are not usable, or a part of a side would be empty.
    """
    p, q, vocabulary = _shared_ids(sequences(p_texts, "human texts"), sequences(q_texts, "candidate texts"))
    seed = _checks.whole("The seed", seed, low=0)
    ranks = np.random.default_rng(np.random.SeedSequence(seed)).permutation(max(len(p), len(q)))
    fitted_p, scored_p = _parts(len(p), ranks)
    fitted_q, scored_q = _parts(len(q), ranks)
    model_p = KneserNey.fit([p[row] for row in fitted_p], vocabulary, order)
    model_q = KneserNey.fit([q[row] for row in fitted_q], vocabulary, order)
    at_p, at_q = [p[row] for row in scored_p], [q[row] for row in scored_q]
    size_p, size_q = (np.array([len(text) + 1 for text in side]) for side in (at_p, at_q))
    scored = direct_ratios(
        model_p.log_probabilities(at_p) / size_p,
        model_q.log_probabilities(at_p) / size_p,
        model_p.log_probabilities(at_q) / size_q,
        model_q.log_probabilities(at_q) / size_q,
    )
    notes = (
        f"{order}-gram models of {len(fitted_p)} human and {len(fitted_q)} candidate texts over {vocabulary} tokens",
        *(f"Human side: {note}" for note in model_p.notes),
        *(f"Candidate: {note}" for note in model_q.notes),
    )
    ratios = LogRatios(scored.at_p, scored.at_q, (*notes, *scored.notes))
    return StringRatios(ratios, scored_p, scored_q)


def _shared_ids(p: Sequences, q: Sequences) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]], int]:
    """The texts of both sides with ids renumbered among those that occur, and the number of these."""
    kinds, tokens = np.unique(np.concatenate([p.tokens, q.tokens]), return_inverse=True)
    rows = np.split(tokens, np.cumsum(np.concatenate([p.lengths, q.lengths]))[:-1])
    return rows[: p.lengths.size], rows[p.lengths.size :], max(1, kinds.size)


def _parts(n: int, ranks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of a side of n texts to fit the model to, and rows to score: those of the lowest ranks."""
    every, scored = np.arange(n), round(HELD_OUT * n)
    if not 0 < scored < n:
        wrong = "A side has too few texts to fit a model on some and score others"
        raise InputError(wrong, allowed="two or more", received=f"{n} texts")
    chosen = np.zeros(n, dtype=np.bool_)
    chosen[np.argsort(ranks[:n])[:scored]] = True
    return every[~chosen], every[chosen]


# Discounts if counts of counts allow none, as in few or handmade texts; KenLM uses the same ones.
FALLBACK = (0.5, 1.0, 1.5)


# Id of an n-gram that was never seen or would extend beyond its text.
_NONE = -1


@dataclass(frozen=True, eq=False)
class _Level:
    """The n-grams of one order.

    Attributes
    ----------
    keys : (g,) int64 array
        Sorted: id of the context times the number of symbols, plus the last token; the position is the n-gram's id.
    discounted : (g,) float64 array
        Discounted count over the sum of the context's counts.
    weight : (h,) float64 array
        Weight of the lower order after each of the h contexts; 1 if nothing follows the context.
    """

    keys: NDArray[np.int64]
    discounted: NDArray[np.float64]
    weight: NDArray[np.float64]

    @cached_property
    def cumulative(self) -> NDArray[np.float64]:
        """(g + 1,) sums of ``discounted`` before each n-gram, and of all."""
        return np.concatenate([[0.0], np.cumsum(self.discounted)])


@dataclass(frozen=True, eq=False)
class KneserNey:
    """A fitted model, created by :meth:`fit`.

    Attributes
    ----------
    order : int
        Tokens of the longest n-grams.
    vocabulary : int
        Token ids are 0 to ``vocabulary`` - 1.
    discounts : (order, 3) float64 array
        Discounts of the adjusted counts 1, 2, and 3 or more, for each order from 1.
    notes : tuple of str
        Orders that use :data:`FALLBACK`.
    """

    order: int
    vocabulary: int
    discounts: NDArray[np.float64]
    notes: tuple[str, ...]
    _levels: tuple[_Level, ...]

    @classmethod
    def fit(cls, texts: Sequence[ArrayLike], vocabulary: int, order: int = 5) -> KneserNey:
        """Estimate a model from texts.

        Parameters
        ----------
        texts : sequence of sequences of int
            Token ids; a text may be empty, and its end still counts.
        vocabulary : int
            Number of token ids, seen or not.
        order : int >= 1

        Raises
        ------
        InputError
            There is no text, or a token id lies outside the vocabulary.
        """
        order = _checks.whole("The order of the n-gram model", order, low=1)
        vocabulary = _checks.whole("The size of the vocabulary", vocabulary, low=1)
        counts = _count(_framed(texts, vocabulary), vocabulary + 2, order)
        discounts, notes = np.tile(FALLBACK, (order, 1)), []
        for number, level in enumerate(counts, start=1):
            estimated = estimated_discounts(level.adjusted)
            if estimated is not None:
                discounts[number - 1] = estimated
            elif level.adjusted.any():
                notes.append(f"Counts of {number}-grams allow no discounts; {FALLBACK} are used")
        levels = tuple(_level(level, chosen) for level, chosen in zip(counts, discounts, strict=True))
        return cls(order, vocabulary, discounts, tuple(notes), levels)

    def token_log_probabilities(self, texts: Sequence[ArrayLike]) -> NDArray[np.float64]:
        """Log-probability of every token given those before it in its text.

        Parameters
        ----------
        texts : sequence of sequences of int
            n texts of t tokens in all.

        Returns
        -------
        (t + n,) float64 array
            In nats, text after text; the last value of each text is that of its end.

        Raises
        ------
        InputError
            There is no text, or a token id lies outside the vocabulary.
        """
        framed = _framed(texts, self.vocabulary)
        symbols, left = framed.tokens, framed.left
        chance = np.full(symbols.size, 1 / (self.vocabulary + 1))
        grams = np.zeros(symbols.size, dtype=np.int64)  # by first token: the one n-gram of no tokens
        for length, level in enumerate(self._levels):
            first = np.flatnonzero(left > length)
            context, last = grams[first], first + length
            found = _find(level.keys, context, symbols[last], self.vocabulary + 2)
            weight = np.append(level.weight, 1.0)[context]  # the last of each row belongs to _NONE
            chance[last] = np.append(level.discounted, 0.0)[found] + weight * chance[last]
            grams = np.full(symbols.size, _NONE, dtype=np.int64)
            grams[first] = found
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(chance[framed.position > 0]))

    def log_probabilities(self, texts: Sequence[ArrayLike]) -> NDArray[np.float64]:
        """(n,) log-probabilities of whole texts with their ends, in nats; see :meth:`token_log_probabilities`."""
        values = self.token_log_probabilities(texts)
        owner = np.repeat(np.arange(len(texts)), [len(np.asarray(text)) + 1 for text in texts])
        return np.asarray(np.bincount(owner, weights=values, minlength=len(texts)), dtype=np.float64)

    def draw(self, contexts: ArrayLike, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draw a next symbol after each context.

        Parameters
        ----------
        contexts : (n, order - 1) array of int
            The symbols before, the nearest last: token ids, ``vocabulary`` + 1 for the start of the text, and -1 for
            what precedes the start and for tokens outside the vocabulary.
        rng : Generator

        Returns
        -------
        (n,) int64 array
            Token ids; ``vocabulary`` is the end of the text.
        (n,) float64 array
            Their log-probabilities, in nats.

        Raises
        ------
        InputError
            The contexts have another shape or other symbols.
        """
        before, symbols = np.asarray(contexts), self.vocabulary + 2
        shaped = before.ndim == 2 and before.shape[1] == self.order - 1 and before.dtype.kind in "iu"
        if not shaped or ((before < -1) | (before >= symbols)).any():
            allowed = f"whole numbers from -1 to {symbols - 1}, of shape (n, {self.order - 1})"
            received = f"{before.dtype} array of shape {before.shape}"
            raise InputError("The contexts are not usable", allowed=allowed, received=received)
        grams = [self._ids(before[:, before.shape[1] - length :]) for length in range(self.order)]
        drawn, left = np.empty(len(before), dtype=np.int64), np.arange(len(before))
        for level, context in zip(self._levels[::-1], grams[::-1], strict=True):
            chance = rng.random(left.size)
            here = chance < 1 - np.append(level.weight, 1.0)[context[left]]  # the last weight belongs to _NONE
            bounds = context[left[here]][None] * symbols + [[0], [symbols]]
            first, end = np.searchsorted(level.keys, bounds)
            found = np.searchsorted(level.cumulative, level.cumulative[first] + chance[here], side="right") - 1
            drawn[left[here]] = level.keys[np.clip(found, first, end - 1)] % symbols
            left = left[~here]
        drawn[left] = rng.integers(self.vocabulary + 1, size=left.size)
        probability = np.full(len(before), 1 / (self.vocabulary + 1))
        for level, context in zip(self._levels, grams, strict=True):
            found = _find(level.keys, context, drawn, symbols)
            probability = np.append(level.discounted, 0.0)[found] + np.append(level.weight, 1.0)[context] * probability
        return drawn, np.log(probability)

    def _ids(self, symbols: NDArray[np.integer]) -> NDArray[np.int64]:
        """Ids of the n-grams in the rows of an (n, length) array of symbols; none where a symbol is -1."""
        grams = np.zeros(len(symbols), dtype=np.int64)
        for level, column in zip(self._levels, symbols.T, strict=False):
            grams = np.where(column < 0, _NONE, _find(level.keys, grams, column, self.vocabulary + 2))
        return grams


def estimated_discounts(adjusted: ArrayLike) -> NDArray[np.float64] | None:
    """Discounts of the adjusted counts 1, 2, and 3 or more (Chen and Goodman 1999, equation 17).

    With t_k the number of n-grams whose adjusted count is k, D_k = k - (k + 1) t_1 / (t_1 + 2 t_2) t_(k + 1) / t_k.

    Parameters
    ----------
    adjusted : (g,) array of int
        Adjusted counts of the n-grams of one order.

    Returns
    -------
    (3,) float64 array or None
        D_k in [0, k]; None if a t_k is 0 or a D_k would leave that range.
    """
    counts = np.asarray(adjusted)
    t = np.bincount(counts[counts <= 4], minlength=5).astype(np.float64)
    if not t[1:4].all():
        return None
    k = np.arange(1.0, 4.0)
    found = k - (k + 1) * t[1] / (t[1] + 2 * t[2]) * t[2:5] / t[1:4]
    return found if (found >= 0).all() else None


@dataclass(frozen=True, eq=False)
class _Framed:
    """Texts with a symbol before and after each, concatenated.

    Attributes
    ----------
    tokens : (s,) int64 array
        The end of a text is ``vocabulary``, its start ``vocabulary`` + 1.
    position, left : (s,) int64 arrays
        Symbols of the text before this one, and those from it to the text's end.
    """

    tokens: NDArray[np.int64]
    position: NDArray[np.int64]
    left: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Counts:
    """The n-grams of one order in the training texts.

    Attributes
    ----------
    keys : (g,) int64 array
        As in :class:`_Level`.
    context : (g,) int64 array
        Id of the n-gram without its last token, among the ``contexts`` of the order below.
    contexts : int
    adjusted : (g,) int64 array
    """

    keys: NDArray[np.int64]
    context: NDArray[np.int64]
    contexts: int
    adjusted: NDArray[np.int64]


def _framed(texts: Sequence[ArrayLike], vocabulary: int) -> _Framed:
    flat = sequences(texts)
    if flat.tokens.size and flat.tokens.max() >= vocabulary:
        allowed = f"0 to {vocabulary - 1}"
        raise InputError("A token id is outside the vocabulary", allowed=allowed, received=str(flat.tokens.max()))
    framed = Sequences(np.full(flat.tokens.size + 2 * flat.lengths.size, vocabulary), flat.lengths + 2)
    position = framed.position
    left = np.repeat(framed.lengths, framed.lengths) - position
    framed.tokens[position == 0] = vocabulary + 1
    framed.tokens[(position > 0) & (left > 1)] = flat.tokens
    return _Framed(framed.tokens, position, left)


def _count(framed: _Framed, symbols: int, order: int) -> list[_Counts]:
    """Adjusted counts of every order from 1 to ``order``."""
    counts: list[_Counts] = []
    grams = np.zeros(framed.tokens.size, dtype=np.int64)  # by first token: the one n-gram of no tokens
    contexts = 1
    opens = np.zeros(contexts, dtype=np.bool_)
    for length in range(order):
        first = np.flatnonzero(framed.left > length)
        if contexts > np.iinfo(np.int64).max // symbols:
            raise InputError("The vocabulary is too large for this many n-grams", received=f"{symbols - 2} tokens")
        keys, where, ids, times = np.unique(
            grams[first] * symbols + framed.tokens[first + length],
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        if counts:
            before = np.bincount(grams[first[where] + 1], minlength=contexts)  # different tokens before each n-gram
            counts[-1] = replace(counts[-1], adjusted=np.where(opens, counts[-1].adjusted, before))
        opens = framed.tokens[first[where]] == symbols - 1
        adjusted = np.where(opens, 0, times) if length == 0 else times  # a start is never predicted
        counts.append(_Counts(keys, keys // symbols, contexts, adjusted))
        grams = np.full(framed.tokens.size, _NONE, dtype=np.int64)
        grams[first] = ids
        contexts = keys.size
    return counts


def _level(counts: _Counts, discounts: NDArray[np.float64]) -> _Level:
    taken = np.append(0.0, discounts)[np.minimum(counts.adjusted, 3)]
    total = np.bincount(counts.context, weights=counts.adjusted, minlength=counts.contexts)
    removed = np.bincount(counts.context, weights=taken, minlength=counts.contexts)
    weight = np.divide(removed, total, out=np.ones(counts.contexts), where=total > 0)
    return _Level(counts.keys, (counts.adjusted - taken) / total[counts.context], weight)


def _find(
    keys: NDArray[np.int64], context: NDArray[np.int64], token: NDArray[np.int64], symbols: int
) -> NDArray[np.int64]:
    """Ids of n-grams; none if the context has none, whose key is then negative."""
    if not keys.size:
        return np.full(context.size, _NONE, dtype=np.int64)
    wanted = context * symbols + token
    position = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[position] == wanted, position, _NONE)
