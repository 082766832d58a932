"""Units of resampling, and the bootstrap over them: what is drawn, exchanged or left out as a whole.

A unit is a connected component of texts of one group (a prompt, a document, an author) and of equal texts: several
texts of a prompt are alike whether or not the other side has the prompt, and a text that occurs twice is one text.

The bootstrap draws units with replacement, in fixed clusters. A divergence between two finite samples is too large on
average, and a sample of a sample has that bias twice: the replicates of a plain bootstrap belong to two sources that
are farther apart than the two that wrote the texts. So :func:`centred_interval` takes only the spread of the replicates
about their own mean. Near P = Q that spread depends on the distance itself and would be two to four times too wide, so
each drawn unit deals its texts to the two sides at random with probability t, the exchange rate: t = 0 is the plain
bootstrap, t = 1 the null of a permutation test. It is chosen so that the replicates have the observed divergence on
average (:func:`exchange_rate`); ``benchmarks/calibration.py`` measures the coverage. An interval is that of the score
at this sample size, not of its limit.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks
from mauve_core.stats.threads import parallel_map, usable_cores

# Units that a side needs for an interval or a test.
LEAST_UNITS = 20

# Share of a side's texts that one unit may have: what a larger one does decides the interval.
MOST_SHARE = 0.2

# Bisections of the exchange rate: it is known to 1/256.
RATE_STEPS = 8

# Resamples from which the rate is found; their mean varies by a fourteenth of their spread.
RATE_REPLICATES = 200

# Means of divergences that differ by less, relatively, are equal: those of sides without a common cluster all are.
ROUNDING = 1e-12

# Memory of the resamples held at once.
BLOCK_BYTES = 2**26

# Memory of a resample for each of its random numbers.
BYTES_PER_NUMBER = 16

_Weights = NDArray[np.int32]
_Codes = NDArray[np.int64]


def connected(groups: ArrayLike, contents: ArrayLike) -> _Codes:
    """Number the connected components of texts with an equal group or equal contents.

    Parameters
    ----------
    groups, contents : (n,) array of int
        Of each text; equal numbers, equal group or text.

    Returns
    -------
    (n,) int64 array
        Unit of each text, from 0 in the order of their first texts.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    one, other = (np.unique(np.asarray(each), return_inverse=True)[1] for each in (groups, contents))
    if one.size == 0:
        return np.empty(0, dtype=np.int64)
    nodes = int(one.max()) + 1
    size = nodes + int(other.max()) + 1
    edges = coo_array((np.ones(one.size, dtype=np.bool_), (one, nodes + other)), shape=(size, size))
    return by_appearance(connected_components(edges, directed=False)[1][one])


def by_appearance(numbers: ArrayLike) -> _Codes:
    """Number equal entries from 0 in the order in which they first appear."""
    _, first, code = np.unique(np.asarray(numbers), return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))
    return np.asarray(place[code.ravel()], dtype=np.int64)


def together(order: NDArray[np.integer], units: ArrayLike) -> NDArray[np.int64]:
    """Rows in this order, but those of a unit at the place of its first; ``units`` has that of each row of the data."""
    return np.asarray(order[np.argsort(by_appearance(np.asarray(units)[order]), kind="stable")], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Units:
    """The texts of two sides by unit.

    Attributes
    ----------
    p, q : (n,), (m,) int64 arrays
        Unit of each text of either side.
    shared, p_alone, q_alone : int64 arrays
        Units of both sides, and of one alone. A generation of Q has those of all generations, so that equal random
        numbers draw equal units for all: some may have no text in it.
    lots : int
        Most texts of a dealt unit, in any of the generations.
    """

    p: _Codes
    q: _Codes
    shared: _Codes
    p_alone: _Codes
    q_alone: _Codes
    lots: int = 0

    @property
    def n(self) -> int:
        return self.p.size

    @property
    def m(self) -> int:
        return self.q.size

    @property
    def codes(self) -> _Codes:
        """(n + m,) unit of each text, those of P first."""
        return np.concatenate([self.p, self.q])

    @cached_property
    def count(self) -> int:
        return int(max(each.max(initial=-1) for each in (self.shared, self.p_alone, self.q_alone))) + 1

    @cached_property
    def sizes(self) -> tuple[_Codes, _Codes]:
        """(count,) texts of P and of Q in each unit."""
        of_p, of_q = (np.bincount(side, minlength=self.count) for side in (self.p, self.q))
        return of_p, of_q

    @cached_property
    def dealt(self) -> _Codes:
        """Shared units whose texts are dealt to the two sides: those with texts of both, but for pairs, which swap."""
        of_p, of_q = (side[self.shared] for side in self.sizes)
        return np.asarray(self.shared[(of_p > 0) & (of_q > 0) & (of_p + of_q > 2)], dtype=np.int64)

    @property
    def even(self) -> bool:
        """Whether all shared units are alike in size, and so are all others: resamples then have equally many texts."""
        sizes, alone = np.stack(self.sizes, axis=1), np.concatenate([self.p_alone, self.q_alone])
        return max(len(np.unique(each, axis=0)) for each in (sizes[self.shared], sizes[alone].sum(axis=1))) <= 1

    @property
    def row_width(self) -> int:
        """Random numbers that one resample takes."""
        return (3 + self.lots) * self.shared.size + 3 * (self.p_alone.size + self.q_alone.size)


def units_of(p: ArrayLike, q: ArrayLike) -> Units:
    """Arrange the texts of two sides by unit.

    Parameters
    ----------
    p, q : (n,), (m,) arrays of int
        Unit of each text, by the same numbers for both sides.

    Raises
    ------
    InputError
        A side is not one row of whole numbers, or is empty.
    """
    return generation_units(p, [q])[0]


def generation_units(p: ArrayLike, generations: Sequence[ArrayLike]) -> tuple[Units, ...]:
    """Arrange the texts of P with those of each generation of Q, so that equal random numbers draw equal units."""
    sides = [np.asarray(side) for side in (p, *generations)]
    if any(side.ndim != 1 or side.size == 0 or side.dtype.kind not in "iu" for side in sides):
        raise InputError(
            "Units are not usable",
            allowed="one row of whole numbers for each side, one per text",
            received=" and ".join(f"{side.dtype} array of shape {side.shape}" for side in sides),
        )
    codes = by_appearance(np.concatenate(sides))
    own, *others = np.split(codes, np.cumsum([side.size for side in sides])[:-1])
    in_p, in_q = np.unique(own), np.unique(np.concatenate(others))
    classes = (
        np.intersect1d(in_p, in_q),
        np.setdiff1d(in_p, in_q, assume_unique=True),
        np.setdiff1d(in_q, in_p, assume_unique=True),
    )
    found = [Units(own, other, *classes) for other in others]
    lots = max(int(np.add(*each.sizes)[each.dealt].max(initial=0)) for each in found)
    return tuple(replace(each, lots=lots) for each in found)


def each_alone(n: int, m: int) -> Units:
    """Units of two sides whose texts are all independent."""
    n, m = (_checks.whole("The number of texts", count, low=1) for count in (n, m))
    return Units(np.arange(n), np.arange(n, n + m), np.empty(0, np.int64), np.arange(n), np.arange(n, n + m))


def too_few(*sides: ArrayLike) -> str:
    """Say why units support neither an interval nor a test; empty if they do.

    Parameters
    ----------
    sides : (n,) arrays of int
        Unit of each text of a side.
    """
    return few_units(*(np.unique(np.asarray(side), return_counts=True)[1] for side in sides))


def few_units(*sides: NDArray[np.integer]) -> str:
    """:func:`too_few` of the numbers of texts of each side's units."""
    for sizes in sides:
        if sizes.size < LEAST_UNITS:
            return f"{sizes.size} independent units on a side; an interval needs {LEAST_UNITS}"
        if sizes.max() > MOST_SHARE * sizes.sum():
            return f"one unit has {sizes.max():,} of {sizes.sum():,} texts of a side; an interval needs at most a fifth"
    return ""


def require_units(wrong: str, *sides: ArrayLike) -> None:
    """Raise InputError, which says what is wrong, if units of sides, as for :func:`too_few`, support no test."""
    why = too_few(*sides)
    if why:
        raise InputError(
            wrong,
            allowed=f"{LEAST_UNITS} or more independent units a side: prompts, documents or single texts",
            received=why,
            todo="Give texts of more prompts; where texts of one prompt are independent, leave the prompts out: "
            "--prompt-field ''",
        )


class Draws:
    """Resamples of two sides whose random numbers serve every exchange rate.

    Units of both sides are drawn with replacement, as many as there are, and so are the units of either side alone.

    Parameters
    ----------
    units : Units
    count : int
        Resamples.
    rng : numpy.random.Generator
        NumPy's default one. What is drawn does not depend on how many resamples are drawn at once.
    """

    def __init__(self, units: Units, count: int, rng: np.random.Generator) -> None:
        self._units, self.count = units, _checks.whole("The number of replicates", count, low=1)
        uniform, start = random_rows(rng, count, units.row_width), 0

        def taken(width: int, each: int) -> NDArray[np.float64]:
            nonlocal start
            start += width * each
            return uniform[:, start - width * each : start].reshape(count, width, each)

        shared, alone = units.shared.size, (units.p_alone, units.q_alone)
        pool = np.concatenate(alone)
        drawn = taken(shared, 3)
        self._shared = units.shared[_places(drawn[..., 0], shared)], drawn[..., 1], drawn[..., 2] < 1 / 2
        self._alone = []
        for own in alone:
            drawn = taken(own.size, 3)
            chosen = own[_places(drawn[..., 0], own.size)], pool[_places(drawn[..., 1], pool.size)]
            self._alone.append((*chosen, drawn[..., 2]))
        self._order = taken(shared, units.lots)

    def weights(self, rate: float) -> tuple[_Weights, _Weights]:
        """How often each resample has each of the n + m texts on side P, and on side Q: (B, n + m) each.

        Rows sum to n and to m if units are even; otherwise, without exchange, on average.
        """
        units, (shared, uniform, coin) = self._units, self._shared
        exchanged, of_p, of_q = uniform < rate, *units.sizes
        is_dealt = np.zeros(units.count, dtype=np.bool_)
        is_dealt[units.dealt] = True
        is_pair = (of_p == 1) & (of_q == 1)
        dealt, swapped = exchanged & is_dealt[shared], exchanged & coin & is_pair[shared]
        kept = self._times(shared, ~dealt & ~swapped)
        moved = self._times(shared, swapped)
        on_p, on_q = (self._times(np.where(uniform < rate, pooled, own)) for own, pooled, uniform in self._alone)
        p, q = units.p, units.q
        to_p = np.concatenate([(kept + on_p)[:, p], (moved + on_p)[:, q]], axis=1)
        to_q = np.concatenate([(moved + on_q)[:, p], (kept + on_q)[:, q]], axis=1)
        if dealt.any():
            self._deal(np.nonzero(dealt), to_p, to_q)
        return to_p, to_q

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
        p, q = (
            np.stack([resampled_counts(own, k, weights) for own in labels], axis=1) for weights in self.weights(rate)
        )
        return p, q

    def _times(self, drawn: _Codes, chosen: NDArray[np.bool_] | None = None) -> _Weights:
        """(B, units) how often each unit was drawn, where chosen."""
        cells = drawn + self._units.count * np.arange(self.count)[:, np.newaxis]
        cells = cells.ravel() if chosen is None else cells[chosen]
        size = self._units.count * self.count
        return np.bincount(cells, minlength=size).astype(np.int32).reshape(self.count, -1)

    def _deal(self, where: tuple[NDArray[np.intp], ...], to_p: _Weights, to_q: _Weights) -> None:
        """Deal the texts of drawn units to the two sides, as many to each as it had."""
        units = self._units
        members, sizes = _members(units.codes, units.count), np.add(*units.sizes)
        drawn = self._shared[0][where]
        texts, keys = members[drawn], self._order[where].copy()[:, : members.shape[1]]
        texts = texts[:, : keys.shape[1]]
        keys[np.arange(keys.shape[1]) >= sizes[drawn, np.newaxis]] = 2.0
        ranks = keys.argsort(axis=1).argsort(axis=1)
        first = ranks < units.sizes[0][drawn, np.newaxis]
        rows = np.broadcast_to(where[0][:, np.newaxis], texts.shape)
        there = texts >= 0
        for side, chosen in ((to_p, first & there), (to_q, ~first & there)):
            np.add.at(side, (rows[chosen], texts[chosen]), 1)


def _places(uniform: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    return (uniform * size).astype(np.int64)


def _members(codes: _Codes, count: int) -> _Codes:
    """(count, most) texts of each unit, filled up with -1."""
    sizes = np.bincount(codes, minlength=count)
    order = np.argsort(codes, kind="stable")
    turn = np.arange(codes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    found = np.full((count, int(sizes.max())), -1)
    found[codes[order], turn] = order
    return found


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


def fits(units: Units, count: int) -> bool:
    """Whether so many resamples may be kept in memory."""
    return count <= _most_held(units)


def _most_held(units: Units) -> int:
    return BLOCK_BYTES // (BYTES_PER_NUMBER * units.row_width)


def draw_blocks(units: Units, replicates: int, rng: np.random.Generator, *, most: int | None = None) -> Iterator[Draws]:
    """Yield :class:`Draws` in blocks of resamples, at most ``most`` in one."""
    block = max(1, min(most or replicates, _most_held(units)))
    for start in range(0, replicates, block):
        yield Draws(units, min(block, replicates - start), rng)


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


def draw_slots(
    slots: NDArray[np.int32], units: ArrayLike, of_first: int, count: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Exchange whole units between two sides: the draws of a permutation test of P = Q.

    - A unit with equally many texts of both sides in every slot keeps its sides or swaps them.
    - The texts of a unit of both sides with other numbers are dealt anew, as many to each slot as it had.
    - Units of one side alone are dealt to the two sides as wholes. Their sizes may differ between sides, as where one
      side has every text twice; so many texts go to the first side that the variance of the difference of two means
      of independent units is that of the observed sides.

    Parameters
    ----------
    slots : (N,) int32 array
        Slot of each text: those of the first side are 0 to ``of_first - 1``, those of the second follow. A slot is a
        generation.
    units : (N,) array of int
    of_first, count : int
        Slots of the first side, and draws.
    rng : numpy.random.Generator

    Returns
    -------
    (count, N) int32 array
        Slot of each text in each draw. Texts of units of one side alone keep theirs if the other has none such.
    """
    codes = by_appearance(units)
    total, of_slots = int(codes.max()) + 1, int(slots.max()) + 1
    first = slots < of_first
    table = np.zeros((total, of_slots), dtype=np.int64)
    np.add.at(table, (codes, slots), 1)
    of_p, of_q = table[:, :of_first], table[:, of_first:]
    same = of_p.shape == of_q.shape
    there = np.stack([of_p.any(axis=1), of_q.any(axis=1)])
    shared = np.asarray(there.all(axis=0))
    swaps: NDArray[np.bool_] = np.zeros(total, dtype=np.bool_)
    if same:
        swaps[shared] = (of_p == of_q).all(axis=1)[shared]
    drawn = np.repeat(slots[np.newaxis], count, axis=0)
    other = np.where(first, slots + of_first, slots - of_first) if same else slots
    moved = np.zeros((count, total), dtype=np.bool_)
    alone = np.flatnonzero(~shared)
    mixed = (shared & ~swaps)[codes]
    is_p = there[0][alone]
    wholes = same and bool(is_p.any() and not is_p.all())
    if not same and is_p.any() and not is_p.all():  # generations that differ in number have no counterparts
        codes = np.where(shared[codes], codes, total)
        mixed |= codes == total
    rows = np.flatnonzero(mixed)
    widths = [int(swaps.sum()), alone.size * wholes, rows.size]
    uniform = np.split(rng.random((count, sum(widths))), np.cumsum(widths)[:-1], axis=1)
    moved[:, swaps] = uniform[0] < 1 / 2
    if wholes:
        moved[:, alone] = _dealt_wholes(table[alone].sum(axis=1), is_p, uniform[1]) != is_p
    if moved.any():
        drawn = np.where(moved[:, codes], other, drawn).astype(np.int32)
    if rows.size:
        drawn[:, rows] = _within(slots[rows], codes[rows], uniform[2])
    return drawn


def _dealt_wholes(sizes: NDArray[np.int64], is_p: NDArray[np.bool_], uniform: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(count, units) which units go to P."""
    order = uniform.argsort(axis=1)
    ordered = sizes[order]
    within = np.cumsum(ordered, axis=1) - ordered / 2 < share_to_first(sizes, is_p) * sizes.sum()
    found = np.empty(within.shape, dtype=np.bool_)
    np.put_along_axis(found, order, within, axis=1)
    return found


def share_to_first(sizes: NDArray[np.int64], is_p: NDArray[np.bool_]) -> float:
    """Share of the texts of units of one side alone that :func:`draw_slots` deals to the first side.

    Dealt in shares f and 1 - f, the variance of the difference of two means of independent units is proportional to
    1 / (f (1 - f)); f makes it that of the observed sides, or the least. If all sizes are equal, f is the first side's
    share of the texts.
    """
    n, m = int(sizes[is_p].sum()), int(sizes[~is_p].sum())
    squares = sizes.astype(np.float64) ** 2
    variance = squares[is_p].sum() / n**2 + squares[~is_p].sum() / m**2
    product = min(squares.sum() / ((n + m) ** 2 * variance), 1 / 4)
    lesser = (1 - math.sqrt(max(0.0, 1 - 4 * product))) / 2
    return lesser if n <= m else 1 - lesser


def expected_share(of_first: NDArray[np.bool_], units: ArrayLike) -> NDArray[np.float64]:
    """(N,) share of the draws of :func:`draw_slots` in which each text is of the first side, of one generation each."""
    codes = by_appearance(units)
    sizes, of_p = np.bincount(codes), np.bincount(codes, weights=of_first)
    share = of_p / sizes
    alone = (share == 0) | (share == 1)
    is_p = share[alone] == 1
    if is_p.any() and not is_p.all():
        share[alone] = share_to_first(sizes[alone], is_p)
    return np.asarray(share[codes])


def _within(slots: NDArray[np.int32], codes: NDArray[np.int64], uniform: NDArray[np.float64]) -> NDArray[np.int32]:
    """(count, N) random orders of ``slots`` among texts of equal codes."""
    # Dividing by 2 keeps every key below the next code after rounding.
    order = np.argsort(codes + uniform / 2, axis=1)
    drawn = np.empty(order.shape, dtype=np.int32)
    np.put_along_axis(drawn, order, slots[np.argsort(codes, kind="stable")][np.newaxis], axis=1)
    return drawn


def resampled_counts(labels: ArrayLike, k: int, weights: NDArray[np.integer]) -> NDArray[np.int64]:
    """The histogram of each resample.

    Parameters
    ----------
    labels : (n,) array of int
        Cluster of each text, 0 to k - 1.
    k : int
        Clusters.
    weights : (B, n) array of int
        How often each resample has each text, for example from ``Draws.weights`` in
        :mod:`mauve_core.stats.units`; the same weights serve every partition of the same texts.

    Returns
    -------
    (B, k) int64 array
        Texts of each resample in each cluster.

    Raises
    ------
    InputError
        Labels lie outside 0 to k - 1, or their number differs from the columns of ``weights``.
    """
    from scipy.sparse import csr_array  # few callers need SciPy

    k = _checks.whole("The number of clusters", k, low=1)
    array = np.asarray(labels)
    usable = array.ndim == 1 and array.dtype.kind in "iu" and array.size > 0
    if not usable or array.min() < 0 or array.max() >= k:
        raise InputError("Labels are not usable", allowed=f"one row of whole numbers from 0 to {k - 1}")
    if weights.ndim != 2 or weights.shape[1] != array.size:
        raise InputError(
            "Weights and labels do not match",
            allowed=f"weights of shape (B, {array.size})",
            received=f"shape {weights.shape}",
        )
    ones = np.ones(array.size, dtype=np.int32)  # int64 would widen a copy of all weights; a count is at most n
    member = csr_array((ones, (array, np.arange(array.size))), shape=(k, array.size))
    return np.ascontiguousarray((member @ weights.T).T, dtype=np.int64)


def centred_interval(
    estimate: float,
    replicates: ArrayLike,
    confidence: float,
    *,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[float, float]:
    """Estimate plus the central quantiles of the replicates about their mean, clipped to the score's bounds.

    Parameters
    ----------
    estimate : float
        Score of the texts.
    replicates : (B,) array
        Score of each resample.
    confidence : float in (0, 1)
        Share of the replicates between the two quantiles.
    bounds : (float, float)
        Range of the score.

    Returns
    -------
    low, high : float

    Raises
    ------
    InputError
        There are fewer than two replicates, values are not finite, or the confidence lies outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise InputError("The confidence is not usable", allowed="a number in (0, 1)", received=repr(confidence))
    values = _checks.numbers(replicates, "The array of replicates").astype(np.float64)
    if values.ndim != 1 or values.size < 2 or not np.isfinite(values).all() or not np.isfinite(estimate):
        raise InputError(
            "Bootstrap values are not usable", allowed="a finite estimate and two or more finite replicates"
        )
    tail = (1 - confidence) / 2
    low, high = estimate + np.quantile(values, [tail, 1 - tail]) - values.mean()
    return float(np.clip(low, *bounds)), float(np.clip(high, *bounds))
