"""Permutation tests: whether two sides differ by more than chance.

Under the hypothesis P = Q, the side of a text is an accident. :func:`permutation_test` draws the sides anew and counts
how often the score is at least as far as observed. The observed sides count as one of the draws, so the p-value is
never 0 and holds its level at any number of draws (Phipson and Smyth, 2010). Texts of one unit are not independent, so
units are exchanged as wholes (:func:`mauve_core.numerics.resampling.units.draw_slots`). Any score can be tested, for
example one of histograms over a fixed partition (:func:`histogram_statistic`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.divergences.smoothing import probabilities
from mauve_core.numerics.resampling.bootstrap import resampled_counts
from mauve_core.numerics.resampling.units import by_appearance, draw_slots

# Rows of the first side (b, N) and of the second (b, N) -> (b,) scores; rows in neither side are left out.
Statistic: TypeAlias = Callable[[NDArray[np.bool_], NDArray[np.bool_]], NDArray[np.float64]]

# Entries of a table of sides handled at once.
_ENTRIES = 1 << 23

# Two scores tie within this share of the largest: sums of one score in two orders differ by less.
_TIE = 1e-9


@dataclass(frozen=True)
class PermutationTest:
    """A test of P = Q.

    Attributes
    ----------
    statistic : float
        Score of the observed sides.
    p_value : float
        (1 + draws at least as far) / (1 + draws), in (0, 1].
    null : (B,) float64 array
        Score of each draw.
    n, m : int
        Texts of P and of Q.
    notes : tuple of str
        Notes on texts that no draw could move.
    """

    statistic: float
    p_value: float
    null: NDArray[np.float64]
    n: int
    m: int
    notes: tuple[str, ...] = ()


def permutation_test(
    statistic: Statistic,
    n: int,
    m: int,
    *,
    permutations: int = 999,
    seed: int | np.random.SeedSequence,
    units: ArrayLike | None = None,
    higher_is_closer: bool = False,
) -> PermutationTest:
    """Test P = Q by redrawing which n of the n + m texts are P's.

    Parameters
    ----------
    statistic : callable
        See :data:`Statistic`; rows 0 to n - 1 are P's texts, the m others Q's. Scores may be infinite.
    n, m : int
        Texts of each side.
    permutations : int
        Draws, B; the p-value is a multiple of 1 / (B + 1).
    seed : int or numpy.random.SeedSequence
    units : (n + m,) array of int, optional
        Unit of each text, which is exchanged as a whole; by default every text is one.
    higher_is_closer : bool
        For scores that are largest if P = Q, such as MAUVE.

    Returns
    -------
    PermutationTest

    Raises
    ------
    InputError
        Units are not one per text, a score is nan, or a setting is out of range.
    """
    n, m = (_checks.whole("The number of texts", count, low=1) for count in (n, m))
    permutations = _checks.whole("The number of permutations", permutations, low=1)
    sides = np.arange(n + m) < n
    codes = np.arange(n + m) if units is None else unit_codes(units, n + m)
    notes = notes_on_fixed_texts(codes, sides)
    rng = child_generator(seed)
    observed = float(_scores(statistic, sides[None], ~sides[None])[0])
    drawn = (draw_sides(sides, codes, count, rng) for count in _portions(permutations, n + m))
    null = np.concatenate([_scores(statistic, first, ~first) for first in drawn])
    farther = _as_far(-null, -observed) if higher_is_closer else _as_far(null, observed)
    return PermutationTest(observed, (1 + int(farther.sum())) / (1 + permutations), null, n, m, notes)


def histogram_statistic(
    labels: ArrayLike,
    k: int,
    score: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
    *,
    smoothing: str = "none",
) -> Statistic:
    """Make a statistic from a score of two histograms over a fixed partition.

    The partition must not depend on the sides: k-means on all texts treats them alike.

    Parameters
    ----------
    labels : (N,) array of int
        Cluster of each text, 0 to k - 1.
    k : int
        Clusters.
    score : callable
        Probabilities p (b, k) and q (b, k) -> (b,), for example ``numerics.divergences.frontier_integral``.
    smoothing : str
        See :func:`mauve_core.numerics.divergences.smoothing.probabilities`.

    Returns
    -------
    Statistic
    """

    def statistic(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.float64]:
        p, q = (
            probabilities(resampled_counts(labels, k, side.astype(np.int32)), smoothing) for side in (first, second)
        )
        return score(p, q)

    return statistic


def sequential_p_value(null: ArrayLike, observed: float, stop: int) -> float:
    """Two-sided p-value of a test that may stop early.

    Parameters
    ----------
    null : (B,) array
        Scores of the draws, in the order drawn; whoever draws may stop once ``stop`` of them are as far from 0 as the
        observed score.
    observed : float
    stop : int

    Returns
    -------
    float in (0, 1]
        ``stop`` over the number of draws that it took, or, if fewer than ``stop`` are as far, (1 + their number) /
        (1 + B). It holds its level like that of a test with a fixed number of draws (Besag and Clifford, *Sequential
        Monte Carlo p-values*, Biometrika 1991).
    """
    values = np.abs(np.asarray(null, dtype=np.float64))
    farther = np.flatnonzero(_as_far(values, abs(observed)))
    if farther.size >= stop:
        return float(stop / (farther[stop - 1] + 1))
    return float((1 + farther.size) / (1 + values.size))


def draw_sides(sides: NDArray[np.bool_], units: ArrayLike, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(count, N) tables of which texts are P's in each draw, from ``sides`` (N,) and the unit of each text."""
    return np.asarray(draw_slots(np.where(sides, 0, 1).astype(np.int32), units, 1, count, rng) == 0)


def counts_by_side(drawn: NDArray[np.integer], labels: NDArray[np.integer], k: int, sides: int) -> NDArray[np.int64]:
    """Histograms of the texts on each side, under each seed.

    Parameters
    ----------
    drawn : (B, N) array of int
        Side of each text, from 0.
    labels : (seeds, N) array of int
        Cluster of each text, 0 to k - 1.
    k, sides : int

    Returns
    -------
    (sides, B, seeds, k) int64 array
    """
    found = np.empty((sides, len(drawn), len(labels), k), dtype=np.int64)
    found[-1] = [np.bincount(own, minlength=k) for own in labels]
    for side in range(sides - 1):
        weights = (drawn == side).astype(np.int32)
        for seed, own in enumerate(labels):
            found[side, :, seed] = resampled_counts(own, k, weights)
        found[-1] -= found[side]
    return found


def draw_splits(n: int, size: int, count: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Two (count, n) tables of disjoint random subsets of ``size`` entries per row."""
    order = np.argsort(rng.random((count, n)), axis=1)
    parts = np.zeros((2, count, n), dtype=np.bool_)
    for index in range(2):
        np.put_along_axis(parts[index], order[:, index * size : (index + 1) * size], True, axis=1)
    return parts[0], parts[1]


def child_generator(seed: int | np.random.SeedSequence) -> np.random.Generator:
    """Generator from a child of the seed: whoever drew the data from the same seed gets other numbers here."""
    return np.random.default_rng(_checks.seed_sequence(seed).spawn(1)[0])


def unit_codes(units: ArrayLike, count: int) -> NDArray[np.int64]:
    """(count,) number of each text's unit, from 0; InputError if there is not one unit per text."""
    array = np.asarray(units)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise InputError(
            "Units are not usable",
            allowed=f"whole numbers, one for each of the {count} texts",
            received=f"shape {array.shape}, dtype {array.dtype}",
        )
    return by_appearance(array)


def notes_on_fixed_texts(codes: NDArray[np.int64], sides: NDArray[np.bool_]) -> tuple[str, ...]:
    """Notes on the texts whose units are those of one side alone, if the other has none such."""
    of_p, of_q = np.bincount(codes, weights=sides) > 0, np.bincount(codes, weights=~sides) > 0
    p_alone, q_alone = of_p & ~of_q, of_q & ~of_p
    if p_alone.any() and q_alone.any():
        return ()
    fixed = (p_alone | q_alone)[codes]
    if not fixed.any():
        return ()
    left, right = int((fixed & sides).sum()), int((fixed & ~sides).sum())
    return (f"{left} texts of P and {right} of Q have no counterpart on the other side, so they never change sides",)


def _portions(count: int, width: int) -> Iterator[int]:
    """``count`` split into blocks of rows handled at once; a generator's draws do not depend on the split."""
    rows = max(1, _ENTRIES // width)
    for start in range(0, count, rows):
        yield min(rows, count - start)


def _scores(statistic: Statistic, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.float64]:
    values = np.asarray(statistic(first, second), dtype=np.float64)
    if values.shape != first.shape[:1]:
        received = f"shape {values.shape} for {len(first)} draws"
        raise InputError("The statistic does not give a score for each draw", allowed="shape (b,)", received=received)
    if np.isnan(values).any():
        raise InputError("The statistic is NaN for some draws", allowed="scores that are numbers")
    return values


def _as_far(null: NDArray[np.float64], observed: float) -> NDArray[np.bool_]:
    """Where ``null`` is at least ``observed``, including ties up to rounding."""
    sizes = np.abs(np.append(null, observed))
    return np.asarray(null >= observed - _TIE * sizes[np.isfinite(sizes)].max(initial=0.0))
