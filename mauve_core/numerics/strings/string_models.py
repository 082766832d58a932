"""Divergences between distributions over texts themselves, from an n-gram model of each side.

The string-based counterparts of the divergences on clusters (Pimentel, Meister and Cotterell, ICLR 2023, sections 2, 3
and 5): a 5-gram Kneser-Ney model is fitted to the texts of each side, each text gets a log-probability under both, and
means of log(p / q) over texts give forward, backward and exponentiated KL, Jensen-Shannon and AUC (equations 4 to 10).

The paper scores the texts that its models were fitted to, and whole texts (:data:`PUBLISHED`). Such texts look far
likelier to their own side's model than other texts of the same source, so that sides of one source come out far apart,
with Jensen-Shannon at log 2. The defaults differ in both. Held-out texts are free of that; with them, Jensen-Shannon is
on average no more than the true one, which is the largest over all ratios that could be put in the place of p / q
(Nguyen, Wainwright and Jordan 2010). Log ratios of whole texts are tens of nats off either way and make that bound
void; divided by the number of tokens they are not, and the KL divergences become those of a token.

Both models share one vocabulary, so that both are distributions over the same texts. P is the human side, natural
logarithms, larger is farther apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.divergences.frontier import Frontier, trapezoid_area
from mauve_core.numerics.divergences.summaries import STRING_SCALE
from mauve_core.numerics.ratios.log_ratios import LogRatios, direct_ratios, ratio_frontier
from mauve_core.numerics.resampling.jackknife import jackknife_sd
from mauve_core.numerics.strings.kneser_ney import KneserNey
from mauve_core.numerics.strings.sequences import Sequences, sequences

ORDER = 5
"""Tokens of the longest n-grams (ICLR 2023, section 5)."""

EVALUATED = ("held-out", "own")
"""Texts that are scored: those that no model was fitted to, or all, with both models fitted to all."""

NORMALISED = ("text", "token")
"""What a log ratio is that of: the whole text, or its tokens on average, the end of the text among them."""

PUBLISHED = {"evaluate": "own", "per": "text"}
"""What ICLR 2023 does."""

GROUPS = 20
"""Groups of texts of the jackknife."""


@dataclass(frozen=True, eq=False)
class StringRatios:
    """Log ratios of the two models' probabilities for the texts that were scored.

    Attributes
    ----------
    ratios : LogRatios
        log p / q, in nats, a value for each scored text of P and of Q; its notes say how the models were fitted.
    rows_p, rows_q : (a,) and (b,) int64 arrays
        Which texts those are, increasing.
    group_p, group_q : (a,) and (b,) int64 arrays
        Group of each in the jackknife; the texts of one row are in one group on both sides.
    """

    ratios: LogRatios
    rows_p: NDArray[np.int64]
    rows_q: NDArray[np.int64]
    group_p: NDArray[np.int64]
    group_q: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StringDivergences:
    """The five divergences of ICLR 2023 over strings.

    Attributes
    ----------
    values : mapping of str to float
        ``forward-kl``, ``backward-kl`` and ``jensen-shannon`` are means over texts, which fall below 0 where a side's
        texts are likelier under the other side's model; ``exponentiated-kl`` is inf beyond 709 nats. Jensen-Shannon
        is at most log 2, ``auc`` in [0, 1].
    sd : mapping of str to float
        Standard deviation of each over samples of scored texts, the models as they are, by the jackknife; inf for an
        infinite value.
    frontier : Frontier
        KL(Q || R) and KL(P || R) on the published weights, means over the own side's texts, but no less than 0.
    strings : StringRatios
    notes : tuple of str
        How the models were fitted, and whether the frontier had to be kept from falling below 0.
    """

    values: Mapping[str, float]
    sd: Mapping[str, float]
    frontier: Frontier
    strings: StringRatios
    notes: tuple[str, ...]


def string_divergences(
    p_texts: Sequence[ArrayLike],
    q_texts: Sequence[ArrayLike],
    *,
    order: int = ORDER,
    evaluate: str = "held-out",
    per: str = "token",
    scale: float = STRING_SCALE,
    held_out: float = 0.5,
    vocabulary: int | None = None,
    seed: int = 0,
) -> StringDivergences:
    """Fit both models, score texts, and summarise; see :func:`string_ratios` for the parameters it shares.

    Parameters
    ----------
    scale : float > 0
        The constant s of AUC.

    Returns
    -------
    StringDivergences

    Raises
    ------
    InputError
        As :func:`string_ratios`, or a scale that is not positive, or fewer than two scored texts on a side.
    """
    strings = string_ratios(
        p_texts, q_texts, order=order, evaluate=evaluate, per=per, held_out=held_out, vocabulary=vocabulary, seed=seed
    )
    values = five_divergences(strings.ratios, scale)
    sd = _sd(strings, values, scale)
    frontier = ratio_frontier(strings.ratios, expectation="first")
    middle = ratio_frontier(strings.ratios, weights=[0.5], expectation="first")
    kept = [name for name, error in (("Q || R", middle.type1), ("P || R", middle.type2)) if error[0] == 0]
    notes = tuple(f"The mean for KL({name}) at equal weights is below 0; the frontier has 0" for name in kept)
    notes = (*strings.ratios.notes, *notes)
    return StringDivergences(MappingProxyType(values), MappingProxyType(sd), frontier, strings, notes)


def string_ratios(
    p_texts: Sequence[ArrayLike],
    q_texts: Sequence[ArrayLike],
    *,
    order: int = ORDER,
    evaluate: str = "held-out",
    per: str = "token",
    held_out: float = 0.5,
    vocabulary: int | None = None,
    seed: int = 0,
) -> StringRatios:
    """Log ratios of texts under an n-gram model of each side.

    Parameters
    ----------
    p_texts, q_texts : sequences of sequences of int
        Token ids of the texts of the human side and of the candidate, without special tokens.
    order : int
        Tokens of the longest n-grams.
    evaluate : {"held-out", "own"}
        Whether the models are fitted to one part of each side and score the other, or are fitted to all and score all.
    per : {"text", "token"}
        Whether a ratio is that of the whole text or the geometric mean of those of its tokens.
    held_out : float in (0, 1)
        Share of the texts of each side that are scored and not fitted to; without effect on "own".
    vocabulary : int, optional
        How many token ids there are; None counts those that occur on either side.
    seed : int
        Which texts are held out. Texts of one row share their fate on both sides, as far as both have that row.

    Returns
    -------
    StringRatios

    Raises
    ------
    InputError
        Texts or an argument are not usable, or a part of a side would be empty.
    """
    for name, value, allowed in (("evaluate", evaluate, EVALUATED), ("per", per, NORMALISED)):
        if value not in allowed:
            raise InputError(f"The setting {name} has no such value", allowed=", ".join(allowed), received=repr(value))
    given_p, given_q = sequences(p_texts, "human texts"), sequences(q_texts, "candidate's texts")
    p, q, vocabulary = _shared_ids(given_p, given_q, vocabulary)
    seed = _checks.whole("The seed", seed, low=0)
    ranks = np.random.default_rng(np.random.SeedSequence(seed)).permutation(max(len(p), len(q)))
    fitted_p, scored_p = _parts(len(p), ranks, evaluate, held_out)
    fitted_q, scored_q = _parts(len(q), ranks, evaluate, held_out)
    model_p = KneserNey.fit([p[row] for row in fitted_p], vocabulary, order)
    model_q = KneserNey.fit([q[row] for row in fitted_q], vocabulary, order)
    at_p, at_q = [p[row] for row in scored_p], [q[row] for row in scored_q]
    size_p, size_q = (np.array([len(text) + 1 if per == "token" else 1 for text in side]) for side in (at_p, at_q))
    found = direct_ratios(
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
    ratios = LogRatios(found.at_p, found.at_q, (*notes, *found.notes))
    return StringRatios(ratios, scored_p, scored_q, ranks[scored_p] % GROUPS, ranks[scored_q] % GROUPS)


def five_divergences(ratios: LogRatios, scale: float = STRING_SCALE) -> dict[str, float]:
    """The five divergences of ICLR 2023 as means over texts of functions of the log ratio (equations 4 to 10).

    Parameters
    ----------
    ratios : LogRatios
        -inf at no text of P, inf at none of Q.
    scale : float > 0
        The constant s of AUC.

    Returns
    -------
    dict of str to float
        As :attr:`StringDivergences.values`.

    Raises
    ------
    InputError
        Ratios or a scale not usable.
    """
    area = trapezoid_area(*ratio_frontier(ratios, expectation="first").curve(scale))
    forward = float(ratios.at_p.mean())
    with np.errstate(over="ignore"):
        exponentiated = float(np.exp(forward))
    return {
        "forward-kl": forward,
        "backward-kl": float(-ratios.at_q.mean()),
        "exponentiated-kl": exponentiated,
        "jensen-shannon": float(np.log(2) + (log_expit(ratios.at_p).mean() + log_expit(-ratios.at_q).mean()) / 2),
        "auc": 1 - float(area),
    }


def _shared_ids(
    p: Sequences, q: Sequences, vocabulary: int | None
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]], int]:
    """The texts of both sides with ids below ``vocabulary``: those they came with, or the ones that occur, in order."""
    tokens = np.concatenate([p.tokens, q.tokens])
    if vocabulary is None:
        kinds, tokens = np.unique(tokens, return_inverse=True)
        vocabulary = max(1, kinds.size)
    rows = np.split(tokens, np.cumsum(np.concatenate([p.lengths, q.lengths]))[:-1])
    return rows[: p.lengths.size], rows[p.lengths.size :], vocabulary


def _parts(
    n: int, ranks: NDArray[np.int64], evaluate: str, share: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of a side of n texts that its model is fitted to, and rows that are scored: those of the lowest ranks."""
    every = np.arange(n)
    if evaluate == "own":
        return every, every
    if not 0 < share < 1:
        wrong = "The share of held-out texts is not usable"
        raise InputError(wrong, allowed="a number in (0, 1)", received=repr(share))
    scored = round(share * n)
    if not 0 < scored < n:
        wrong = "A side has too few texts to fit a model to some and score others"
        raise InputError(wrong, allowed="two or more, and a share of each part", received=f"{n} texts")
    chosen = np.zeros(n, dtype=np.bool_)
    chosen[np.argsort(ranks[:n])[:scored]] = True
    return every[~chosen], every[chosen]


def _sd(strings: StringRatios, values: Mapping[str, float], scale: float) -> dict[str, float]:
    """Standard deviation of each value by leaving out one group of texts after the other."""
    ratios, left_out, sizes = strings.ratios, [], []
    groups = np.union1d(strings.group_p, strings.group_q)
    for group in groups:
        kept_p, kept_q = strings.group_p != group, strings.group_q != group
        if not (kept_p.any() and kept_q.any()):
            raise InputError("Too few texts are scored to tell a spread", allowed="two or more on each side")
        left_out.append(five_divergences(LogRatios(ratios.at_p[kept_p], ratios.at_q[kept_q]), scale))
        sizes.append(int((~kept_p).sum() + (~kept_q).sum()))
    found = {}
    for name, value in values.items():
        without = [estimate[name] for estimate in left_out]
        finite = np.isfinite([value, *without]).all()
        with np.errstate(over="ignore"):
            found[name] = jackknife_sd(value, without, sizes) if finite else np.inf
    return found
