"""Log ratios of texts from an n-gram model of each side.

This is the string-based counterpart of clusters (Pimentel, Meister and Cotterell, ICLR 2023, sections 2, 3 and 5). A
5-gram Kneser-Ney model is fitted to the texts of each side, and each text gets a log-probability under both.

The paper scores whole texts, and the same ones that its models were fitted to. Such texts look far likelier to their
own side's model than other texts of the same source, so the sides of one source look far apart. Here texts are held
out, and their log ratios are divided by the number of tokens, because those of whole texts are off by tens of nats.

The models share one vocabulary, so both are distributions over the same texts. P is the human side; natural logarithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.ratios.log_ratios import LogRatios, direct_ratios
from mauve_core.numerics.strings.kneser_ney import KneserNey
from mauve_core.numerics.strings.sequences import Sequences, sequences

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
