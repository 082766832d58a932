"""Bootstrap of two sides by prompt, with texts exchanged between the sides until the bias of the bootstrap is gone.

A divergence between two finite samples is too large on average, and a sample of a sample has that bias twice: the
replicates of a plain bootstrap belong to two sources that are farther apart than the two that wrote the texts. Near
P = Q the spread of a divergence depends on the distance itself, so their interval is two to four times too wide there.

Here, each drawn prompt deals its texts to the two sides at random with probability t, the exchange rate. At t = 0 this
is the plain bootstrap; at t = 1 both sides are draws from one source, the null of a permutation test. The rate is
chosen so that the replicates have the observed divergence on average (:func:`exchange_rate`).
``benchmarks/interval_coverage.py`` measures the coverage.

Texts of one prompt are alike, so prompts are drawn, not texts. Texts without a prompt on the other side are drawn from
their own side, or with probability t from all such texts.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.threads import parallel_map, usable_cores

RATE_STEPS = 8
"""Bisections of the exchange rate: it is known to 1/256."""

RATE_REPLICATES = 200
"""Resamples from which the rate is found; their mean varies by a fourteenth of their spread."""

LEAST_PROMPTS = 10
"""Prompts with equally many texts on either side are drawn as wholes if there are at least this many of them."""

ROUNDING = 1e-12
"""Means of divergences that differ by less, relatively, are equal: those of sides without a common cluster all are."""

BLOCK_BYTES = 2**26
"""Memory of the resamples held at once."""

BYTES_PER_NUMBER = 16
"""Memory of a resample for each of its random numbers."""

STRIDE = 2**40
"""Places of the random stream from one resample to the next, more than any takes."""

_Weights = NDArray[np.int32]


@dataclass(frozen=True)
class Stratum:
    """Prompts with equally many texts of either side.

    Attributes
    ----------
    members : (G, a + b) int64 array
        Texts of each prompt, the a of P first; text n + j is the j-th of Q.
    of_p : int
        a, at least 1; b is at least 1, too.
    """

    members: NDArray[np.int64]
    of_p: int


@dataclass(frozen=True)
class PromptGroups:
    """The texts of two sides by prompt.

    Attributes
    ----------
    n, m : int
        Texts of P and of Q.
    shared : tuple of Stratum
        Prompts with texts of both sides.
    p_alone, q_alone : int64 arrays
        The other texts of P and of Q, as numbers below n and from n to n + m - 1.
    """

    n: int
    m: int
    shared: tuple[Stratum, ...]
    p_alone: NDArray[np.int64]
    q_alone: NDArray[np.int64]

    @property
    def row_width(self) -> int:
        """Random numbers that one resample takes."""
        dealt = sum(len(each.members) * (2 + each.members.shape[1]) for each in self.shared)
        return int(dealt + 3 * (self.p_alone.size + self.q_alone.size))


def prompt_groups(p_prompts: ArrayLike, q_prompts: ArrayLike) -> PromptGroups:
    """Group the texts of two sides by prompt.

    Prompts with a texts of P and b of Q are drawn as wholes if at least ``LEAST_PROMPTS`` have the same a and b.
    Others are divided into pairs of one text of each side, in order; what is left of them stands alone. The numbers
    only say which prompts are equal: prompts are in the order of their first texts.

    Parameters
    ----------
    p_prompts : (n,) array of int
        Prompt of each text of P; equal numbers mean the same prompt.
    q_prompts : (m,) array of int
        Prompt of each text of Q, by the same numbers.

    Raises
    ------
    InputError
        A side is not one row of whole numbers, or is empty.
    """
    sides = [np.asarray(prompts) for prompts in (p_prompts, q_prompts)]
    if any(side.ndim != 1 or side.size == 0 or side.dtype.kind not in "iu" for side in sides):
        raise InputError(
            "Prompts are not usable",
            allowed="one row of whole numbers for each side, one per text",
            received=" and ".join(f"{side.dtype} array of shape {side.shape}" for side in sides),
        )
    n, m = sides[0].size, sides[1].size
    codes = _by_appearance(np.concatenate(sides))
    of_p = np.bincount(codes[:n], minlength=codes.max() + 1)
    of_q = np.bincount(codes[n:], minlength=of_p.size)
    patterns, pattern_of, common = np.unique(
        np.stack([of_p, of_q], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    pattern_of = pattern_of.ravel()
    whole = (common >= LEAST_PROMPTS) & (patterns > 0).all(axis=1)
    order = np.argsort(codes, kind="stable")  # by prompt; P's texts stay before Q's
    by_pattern = pattern_of[codes[order]]
    shared = [
        Stratum(order[by_pattern == index].reshape(-1, int(patterns[index].sum())), int(patterns[index, 0]))
        for index in np.flatnonzero(whole)
    ]
    rest = order[~whole[by_pattern]]
    p_rest, q_rest = rest[rest < n], rest[rest >= n]
    p_turn, q_turn = _turns(codes[p_rest]), _turns(codes[q_rest])
    p_paired, q_paired = p_turn < of_q[codes[p_rest]], q_turn < of_p[codes[q_rest]]
    if p_paired.any():
        shared.append(Stratum(np.stack([p_rest[p_paired], q_rest[q_paired]], axis=1), 1))
    return PromptGroups(n, m, tuple(shared), p_rest[~p_paired], q_rest[~q_paired])


def generation_groups(p_prompts: ArrayLike, q_generations: Sequence[ArrayLike]) -> tuple[PromptGroups, ...]:
    """Group the texts of P with those of each generation of Q, so that equal random numbers draw equal prompts.

    Generations of several candidates may be given together, so that all candidates draw the same prompts.

    The prompts of which every generation has equally many texts come first in each group. The others, whose texts are
    missing in some generation, follow; only for these do the draws differ.

    Parameters
    ----------
    p_prompts : (n,) array of int
        Prompt of each text of P; equal numbers mean the same prompt.
    q_generations : sequence of (m,) arrays of int
        Prompt of each text of every generation of Q, by the same numbers.

    Returns
    -------
    tuple of PromptGroups
        One per generation.

    Raises
    ------
    InputError
        As :func:`prompt_groups`.
    """
    for own in q_generations:
        prompt_groups(p_prompts, own)  # raises InputError for unusable prompts
    stacked = np.concatenate([np.asarray(own) for own in (p_prompts, *q_generations)])
    codes = _by_appearance(stacked)
    p, *generations = np.split(codes, np.cumsum([len(np.asarray(own)) for own in (p_prompts, *q_generations)])[:-1])
    counts = np.stack([np.bincount(own, minlength=codes.max() + 1) for own in generations])
    steady = (counts == counts[0]).all(axis=0)
    found = []
    for own in generations:
        first, rest = (_groups_within(p, own, chosen) for chosen in (steady, ~steady))
        p_alone = np.concatenate([first.p_alone, rest.p_alone])
        q_alone = np.concatenate([first.q_alone, rest.q_alone])
        found.append(PromptGroups(p.size, own.size, first.shared + rest.shared, p_alone, q_alone))
    return tuple(found)


def _groups_within(p: NDArray[np.int64], q: NDArray[np.int64], chosen: NDArray[np.bool_]) -> PromptGroups:
    """Group the texts of the chosen prompts alone, by their numbers among all texts."""
    p_rows, q_rows = np.flatnonzero(chosen[p]), np.flatnonzero(chosen[q])
    if p_rows.size == 0 or q_rows.size == 0:
        return PromptGroups(p.size, q.size, (), p_rows, p.size + q_rows)
    groups = prompt_groups(p[p_rows], q[q_rows])
    number = np.concatenate([p_rows, p.size + q_rows])
    shared = tuple(Stratum(number[each.members], each.of_p) for each in groups.shared)
    return PromptGroups(p.size, q.size, shared, number[groups.p_alone], number[groups.q_alone])


def same_groups(one: PromptGroups, other: PromptGroups) -> bool:
    """Whether both draw the same texts by the same random numbers."""
    if (one.n, one.m, len(one.shared)) != (other.n, other.m, len(other.shared)):
        return False
    strata = zip(one.shared, other.shared, strict=True)
    return (
        np.array_equal(one.p_alone, other.p_alone)
        and np.array_equal(one.q_alone, other.q_alone)
        and all(a.of_p == b.of_p and np.array_equal(a.members, b.members) for a, b in strata)
    )


def _by_appearance(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    """Number equal entries from 0 in the order in which they first appear."""
    _, first, code = np.unique(numbers, return_index=True, return_inverse=True)
    place: NDArray[np.int64] = np.argsort(np.argsort(first))[code]
    return place


def _turns(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many equal codes stand before each of the sorted ``codes``."""
    return np.arange(codes.size) - np.searchsorted(codes, codes)


def separate_prompts(n: int, m: int) -> PromptGroups:
    """Groups of two sides without a common prompt: every text stands alone."""
    n, m = (_checks.whole("The number of texts", count, low=1) for count in (n, m))
    return PromptGroups(n, m, (), np.arange(n), np.arange(n, n + m))


class Draws:
    """Resamples of two sides whose random numbers serve every exchange rate.

    Prompts with texts of both sides are drawn with replacement, as many as there are, and so are the texts that stand
    alone on either side.

    Parameters
    ----------
    groups : PromptGroups
    count : int
        Resamples.
    rng : numpy.random.Generator
        NumPy's default one. What is drawn does not depend on how many resamples are drawn at once.
    """

    def __init__(self, groups: PromptGroups, count: int, rng: np.random.Generator) -> None:
        self.count, self._shape = count, (count, groups.n + groups.m)
        numbers = RandomNumbers(groups, count, rng)
        self._shared: list[tuple[NDArray[np.int64], int, NDArray[np.bool_], NDArray[np.float64]]] = []
        """Texts, how many go to P without exchange, which go there with it, and the number that the rate exceeds."""
        self._alone: list[tuple[bool, NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
        """Whether they go to P, texts without and with exchange, and that number."""
        for stratum, drawn in numbers.of_shared():
            texts = stratum.members[(drawn[..., 0] * len(stratum.members)).astype(np.int64)]
            ranks = np.argsort(np.argsort(drawn[..., 2:], axis=-1), axis=-1)
            self._shared.append((texts, stratum.of_p, ranks < stratum.of_p, drawn[..., 1]))
        for to_p, own, pool, drawn in numbers.of_alone():
            first, other = (drawn[..., i] * size for i, size in enumerate((own.size, pool.size)))
            self._alone.append((to_p, own[first.astype(np.int64)], pool[other.astype(np.int64)], drawn[..., 2]))

    def weights(self, rate: float) -> tuple[_Weights, _Weights]:
        """How often each resample has each of the n + m texts on side P, and on side Q: (B, n + m) each.

        Rows sum to n and to m.
        """
        on_p: list[NDArray[np.int64]] = []
        on_q: list[NDArray[np.int64]] = []
        for texts, of_p, dealt_to_p, uniform in self._shared:
            own_to_p = np.arange(texts.shape[-1]) < of_p
            mask = np.where((uniform < rate)[..., np.newaxis], dealt_to_p, own_to_p)
            cells = self._cells(texts)
            on_p.append(cells[mask])
            on_q.append(cells[~mask])
        for to_p, own, pooled, uniform in self._alone:
            (on_p if to_p else on_q).append(self._cells(np.where(uniform < rate, pooled, own)).ravel())
        return self._table(on_p), self._table(on_q)

    def counts(self, labels: NDArray[np.integer], k: int, rate: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The histograms of each resample.

        Parameters
        ----------
        labels : (seeds, n + m) array of int
            Cluster of each text, 0 to k - 1, under each seed.
        k : int
        rate : float
            The exchange rate.

        Returns
        -------
        p, q : (B, seeds, k) int64 arrays
        """
        from mauve_core.numerics.resampling.bootstrap import resampled_counts  # imports SciPy, which few callers need

        p, q = (
            np.stack([resampled_counts(own, k, weights) for own in labels], axis=1) for weights in self.weights(rate)
        )
        return p, q

    def _cells(self, texts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Position of each drawn text in the flattened table of weights."""
        count, width = self._shape
        return texts + width * np.arange(count).reshape(-1, *[1] * (texts.ndim - 1))

    def _table(self, cells: list[NDArray[np.int64]]) -> _Weights:
        count, width = self._shape
        return np.bincount(np.concatenate(cells), minlength=count * width).reshape(count, width).astype(np.int32)


class RandomNumbers:
    """The random numbers of some resamples, in the order in which every kind of draw takes them.

    Each resample has a part of the stream of its own, so that P is drawn alike with any Q whose prompts are those of
    P, or none of them, however many texts it has.

    Parameters
    ----------
    groups : PromptGroups
    count : int
    rng : numpy.random.Generator
        As in :class:`Draws`.
    """

    def __init__(self, groups: PromptGroups, count: int, rng: np.random.Generator) -> None:
        self._groups, self._count = groups, _checks.whole("The number of replicates", count, low=1)
        self._uniform = _random_rows_apart(rng, self._count, groups.row_width)

    def of_shared(self) -> Iterator[tuple[Stratum, NDArray[np.float64]]]:
        """Yield each stratum with (B, G, 2 + a + b) numbers: which prompt, whether to exchange, who goes where."""
        start = 0
        for stratum in self._groups.shared:
            rows, size = stratum.members.shape
            yield stratum, self._taken(start, rows, 2 + size)
            start += rows * (2 + size)

    def of_alone(self) -> Iterator[tuple[bool, NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
        """Yield whether texts go to P, those that stand alone on that side and on any, and (B, texts, 3) numbers.

        The numbers say which text of either, and whether to exchange.
        """
        groups = self._groups
        start = sum(stratum.members.shape[0] * (2 + stratum.members.shape[1]) for stratum in groups.shared)
        pool = np.concatenate([groups.p_alone, groups.q_alone])
        for to_p, own in ((True, groups.p_alone), (False, groups.q_alone)):
            if own.size:
                yield to_p, own, pool, self._taken(start, own.size, 3)
            start += 3 * own.size

    def _taken(self, start: int, rows: int, columns: int) -> NDArray[np.float64]:
        return self._uniform[:, start : start + rows * columns].reshape(self._count, rows, columns)


def random_rows(rng: np.random.Generator, count: int, width: int) -> NDArray[np.float64]:
    """(count, width) numbers that ``rng.random`` gives in this order, drawn on all cores.

    The generator must be NumPy's default, PCG64, whose stream can be entered at any place.
    """
    found = np.empty((count, width))

    def fill(part: slice) -> None:
        own = copy.deepcopy(rng)
        own.bit_generator.advance(part.start * width)  # type: ignore[attr-defined]
        own.random(out=found[part])

    parallel_map(fill, _checks.row_blocks(count, -(-count // usable_cores())))
    rng.bit_generator.advance(count * width)  # type: ignore[attr-defined]
    return found


def _random_rows_apart(rng: np.random.Generator, count: int, width: int) -> NDArray[np.float64]:
    """As :func:`random_rows`, but each row begins ``STRIDE`` places after the one before."""
    found = np.empty((count, width))

    def fill(part: slice) -> None:
        own = copy.deepcopy(rng)
        own.bit_generator.advance(part.start * STRIDE)  # type: ignore[attr-defined]
        for row in found[part]:
            own.random(out=row)
            own.bit_generator.advance(STRIDE - width)  # type: ignore[attr-defined]

    parallel_map(fill, _checks.row_blocks(count, -(-count // usable_cores())))
    rng.bit_generator.advance(count * STRIDE)  # type: ignore[attr-defined]
    return found


def fits(groups: PromptGroups, count: int) -> bool:
    """Whether so many resamples may be kept in memory."""
    return count <= _most_held(groups)


def _most_held(groups: PromptGroups) -> int:
    return BLOCK_BYTES // (BYTES_PER_NUMBER * groups.row_width)


def draw_blocks(
    groups: PromptGroups, replicates: int, rng: np.random.Generator, *, most: int | None = None
) -> Iterator[Draws]:
    """Yield :class:`Draws` in blocks of resamples, at most ``most`` in one."""
    block = max(1, min(most or replicates, _most_held(groups)))
    for start in range(0, replicates, block):
        yield Draws(groups, min(block, replicates - start), rng)


def exchange_rate(observed: float, mean_at: Callable[[float], float]) -> float:
    """The exchange rate at which the replicates of a divergence have the observed value on average.

    Parameters
    ----------
    observed : float
        The divergence of the texts.
    mean_at : callable
        Rate in [0, 1] -> mean of the replicates' divergences on the same draws; it falls with the rate, up to the
        noise of the draws.

    Returns
    -------
    float in [0, 1]
        Found by bisection. 1 if even full exchange leaves the mean above the observed value, as for texts of one
        source; 0 if the plain bootstrap is not above it.
    """

    def too_far(rate: float) -> bool:
        return mean_at(rate) > observed * (1 + ROUNDING)

    if not too_far(0.0):
        return 0.0
    if too_far(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(RATE_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if too_far(middle) else (low, middle)
    return (low + high) / 2
