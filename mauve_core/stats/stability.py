"""Stability: whether the difference between P and Q in a cluster holds in other partitions and beyond chance.

A cluster d of any partition has the excess

    D(d) = (share of P's texts in d - share of Q's texts in d) / (share of all texts in d).

A cluster c of the reference partition is judged by its texts, wherever another partition puts them: S(c, r) is the
mean over the texts of c of D of their clusters in partition r. In the reference partition this is D(c). A difference
that depends on one k-means run's borders shrinks or changes sign in other runs; one that the texts carry stays. The
combined excess T(c) is the mean of S(c, r) over all partitions, including the reference.

Partitions are fitted without the sides. If P = Q, the side of a text is therefore an accident given all partitions.
The p-value of T(c) comes from exchanging units jointly for all partitions. Cluster sizes stay the same, so a draw takes
one sparse product. p-values are two-sided about the mean over all exchanges, hold at any number of draws (Phipson and
Smyth 2010), and are adjusted over clusters by Benjamini and Hochberg (1995).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array, hstack, vstack
from scipy.special import ndtri
from scipy.stats import false_discovery_control

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural, verb
from mauve_core.stats import _checks
from mauve_core.stats.resampling import child_generator, draw_sides, notes_on_fixed_texts, unit_codes
from mauve_core.stats.units import expected_share

# Largest adjusted p-value that counts; intervals have confidence 1 - this.
LEVEL = 0.05

# A stable cluster keeps its sign in at least this share of the other partitions.
AGREEMENT = 0.8

# A stable cluster keeps, on average, at least this share of its excess there.
KEPT = 0.5

LABELS = {
    "stable": "beyond chance, and the same in the other partitions",
    "unsure": "beyond chance by itself, but not after adjusting for all clusters, or not the same in other partitions",
    "noise": "no more than expected by chance",
}

MIN_PERMUTATIONS = 999

# Entries of a table of sides handled at once.
_ENTRIES = 1 << 23

# An excess up to this size is 0 up to rounding and has no sign.
_ZERO = 1e-12

# Two values tie within this share of the excess: sums in two orders differ by less.
_TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Stability:
    """Stability of each of the k clusters of the reference partition.

    Attributes
    ----------
    excess : (k,) float64 array
        D in the reference partition: positive if P has more than its share.
    elsewhere : (partitions - 1, k) float64 array
        S in each of the others.
    combined, sd, low, high : (k,) float64 arrays
        T, its standard deviation over samples of texts with partitions fixed, and a normal interval at 95 %.
    p, adjusted : (k,) float64 arrays
        Two-sided p-value of T, and the same adjusted over clusters; 1 for a cluster without texts.
    agreement : (k,) float64 array
        Share of the other partitions in which S has the sign of the excess.
    kept : (k,) float64 array
        Mean of S over the other partitions, divided by the excess; nan if that is 0.
    label : (k,) array of str
        A key of :data:`LABELS`. Stable: ``adjusted`` at most ``LEVEL``, ``agreement`` at least ``AGREEMENT``, ``kept``
        at least ``KEPT``. Unsure: otherwise, if ``p`` is at most ``LEVEL``. With a single partition nothing is stable.
    permutations : int
    notes : tuple of str
        Notes on texts that no draw could move and on clusters that could not be judged.
    """

    excess: NDArray[np.float64]
    elsewhere: NDArray[np.float64]
    combined: NDArray[np.float64]
    sd: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p: NDArray[np.float64]
    adjusted: NDArray[np.float64]
    agreement: NDArray[np.float64]
    kept: NDArray[np.float64]
    label: NDArray[np.str_]
    permutations: int
    notes: tuple[str, ...]


def cluster_stability(
    labels: Sequence[ArrayLike],
    n: int,
    *,
    k: int | None = None,
    units: ArrayLike | None = None,
    permutations: int | None = None,
    seed: int | np.random.SeedSequence,
) -> Stability:
    """Judge the clusters of the first partition by all partitions.

    Parameters
    ----------
    labels : sequence of (N,) arrays of int
        Cluster of each text in each partition, the reference first. Numbers of clusters may differ.
    n : int
        The first n texts are P's, the others Q's.
    k : int, optional
        Clusters of the reference; by default the highest label plus one.
    units : (N,) array of int, optional
        Unit of each text, which is exchanged as a whole; by default every text is one.
    permutations : int, optional
        Draws, B; by default k / ``LEVEL``, at least 999: with fewer, one real cluster among k could not pass.
    seed : int or numpy.random.SeedSequence

    Returns
    -------
    Stability

    Raises
    ------
    InputError
        Labels are not usable or differ in length, or a side has no texts.
    """
    rows = _rows(labels, n)
    k = int(rows[0].max()) + 1 if k is None else _checks.whole("The number of clusters", k, low=int(rows[0].max()) + 1)
    if permutations is None:
        permutations = max(MIN_PERMUTATIONS, round(k / LEVEL))
    permutations = _checks.whole("The number of permutations", permutations, low=1)
    sides = np.arange(rows[0].size) < n
    codes = np.arange(sides.size) if units is None else unit_codes(units, sides.size)
    notes = notes_on_fixed_texts(codes, sides)
    members = [_members(row, k if index == 0 else int(row.max()) + 1) for index, row in enumerate(rows)]
    spreads = [_spread(members[0], member) for member in members]
    by_partition = np.stack([each @ (member @ _contrast(sides)) for each, member in zip(spreads, members, strict=True)])
    kernel, member = hstack(spreads, format="csr") / len(rows), vstack(members, format="csr")
    far = _as_far(kernel, member, sides, codes, permutations, child_generator(seed))
    filled = np.asarray(members[0].sum(axis=1)) > 0
    p = np.where(filled, (1 + far) / (1 + permutations), 1.0)
    sd = _sd(kernel @ member, sides, codes)
    if not filled.all():
        empty = int((~filled).sum())
        hold = verb(empty, "holds", "hold")
        notes += (f"{plural(empty, 'cluster')} {hold} no text of either side and cannot be assessed",)
    return _judged(by_partition, sd, p, filled, permutations, notes)


def _judged(
    by_partition: NDArray[np.float64],
    sd: NDArray[np.float64],
    p: NDArray[np.float64],
    filled: NDArray[np.bool_],
    permutations: int,
    notes: tuple[str, ...],
) -> Stability:
    excess, elsewhere, combined = by_partition[0], by_partition[1:], by_partition.mean(axis=0)
    adjusted = np.ones_like(p)
    adjusted[filled] = false_discovery_control(p[filled])
    agreement, kept = np.full(p.size, np.nan), np.full(p.size, np.nan)
    if len(elsewhere):
        agreement = (_sign(elsewhere) == _sign(excess)).mean(axis=0)
        np.divide(elsewhere.mean(axis=0), excess, out=kept, where=np.abs(excess) > _ZERO)
    else:
        notes += ("There is only one partition, so no cluster is called stable",)
    # Comparisons with nan are false, so nothing unknown is stable.
    stable = (adjusted <= LEVEL) & (agreement >= AGREEMENT) & (kept >= KEPT)
    label = np.where(stable, "stable", np.where(p <= LEVEL, "unsure", "noise"))
    reach = float(ndtri(1 - LEVEL / 2)) * sd
    low, high = combined - reach, combined + reach
    return Stability(
        excess, elsewhere, combined, sd, low, high, p, adjusted, agreement, kept, label, permutations, notes
    )


def _sign(excess: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.where(np.abs(excess) > _ZERO, np.sign(excess), 0.0))


def _rows(labels: Sequence[ArrayLike], n: int) -> list[NDArray[np.intp]]:
    n = _checks.whole("The number of texts of P", n, low=1)
    arrays = [np.asarray(row) for row in labels]
    size = arrays[0].size if arrays else 0
    for array in arrays:
        if array.shape != (size,) or array.dtype.kind not in "iu" or (size and array.min() < 0):
            received = f"shape {array.shape}, dtype {array.dtype}"
            raise InputError("Labels are not usable", allowed=f"{size} whole numbers of at least 0", received=received)
    if size <= n:
        raise InputError("There is nothing to compare", allowed="a partition with texts of P and of Q")
    return [array.astype(np.intp) for array in arrays]


def _members(labels: NDArray[np.intp], k: int) -> Any:
    """(k, N) sparse table with a one where a text belongs to a cluster."""
    return csr_array((np.ones(labels.size), (labels, np.arange(labels.size))), shape=(k, labels.size))


def _contrast(of_p: NDArray[np.bool_] | NDArray[np.float64]) -> NDArray[np.float64]:
    """(N,) 1 / n for P's texts and -1 / m for Q's, or the mean by their chances: its sum over a set is the difference
    of the two shares."""
    return np.asarray(of_p / of_p.sum() - (1 - of_p) / (1 - of_p).sum())


def _spread(reference: Any, other: Any) -> Any:
    """(k, k') sparse: maps differences of shares in the clusters of ``other`` to S of the reference's clusters."""
    own, sizes = np.asarray(reference.sum(axis=1)), np.asarray(other.sum(axis=1))
    texts = reference.shape[1]
    by_row = np.divide(1.0, own, out=np.zeros_like(own), where=own > 0)
    by_column = np.divide(texts, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return (diags_array(by_row) @ (reference @ other.T) @ diags_array(by_column)).tocsr()


def _as_far(
    kernel: Any,
    member: Any,
    sides: NDArray[np.bool_],
    codes: NDArray[np.integer],
    permutations: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """(k,) draws in which T lies at least as far from its mean over all exchanges as observed."""
    mean = kernel @ (member @ _contrast(expected_share(sides, codes)))
    observed = np.abs(kernel @ (member @ _contrast(sides)) - mean)
    # Counts are whole and far below 2^24, which float32 holds exactly with half the traffic.
    narrow, all_texts = member.astype(np.float32), kernel @ np.asarray(member.sum(axis=1))
    far = np.zeros(kernel.shape[0], dtype=np.int64)
    for drawn in _draws(sides, codes, permutations, rng):
        counts = narrow @ np.ascontiguousarray(drawn.T, dtype=np.float32)
        n = drawn.sum(axis=1)  # differs between draws where units differ in size
        m = sides.size - n
        away = np.abs((kernel @ counts) * (1 / n + 1 / m) - all_texts[:, None] / m - mean[:, None])
        far += (away >= observed[:, None] * (1 - _TIE) - _ZERO).sum(axis=1)
    return far


def _draws(
    sides: NDArray[np.bool_], codes: NDArray[np.integer], permutations: int, rng: np.random.Generator
) -> Iterator[NDArray[np.bool_]]:
    """Tables (b, N) of sides, ``permutations`` rows in all, of exchanged units."""
    rows = max(1, _ENTRIES // sides.size)
    single = np.bincount(codes).max() == 1
    for start in range(0, permutations, rows):
        count = min(rows, permutations - start)
        if single:
            yield _draw_subsets(int(sides.sum()), sides.size, count, rng)
        else:
            yield draw_sides(sides, codes, count, rng)


def _draw_subsets(n: int, total: int, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(count, total) tables of n random positions per row: those of the n smallest keys, without sorting the rest."""
    drawn = np.zeros((count, total), dtype=np.bool_)
    left = np.arange(count)
    while left.size:
        keys = rng.integers(0, 1 << 32, size=(left.size, total), dtype=np.uint32)
        drawn[left] = keys < np.partition(keys, n, axis=1)[:, n, None]
        left = left[drawn[left].sum(axis=1) != n]  # two equal keys at the border: the row is drawn again
    return drawn


def _sd(weights: Any, sides: NDArray[np.bool_], codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """(k,) standard deviation of T, the mean of ``weights`` (k, N) over P's texts minus that over Q's, by blocks.

    Each side's texts scatter about their own mean. Texts of a block are summed before squaring, so that what the two
    texts of a prompt share cancels. Blocks of one text give the variance of a difference of two means.
    """
    n, m = int(sides.sum()), int((~sides).sum())
    parts = np.stack([sides / n, ~sides / m])
    means = [np.asarray(weights @ part) for part in parts]
    blocks = int(codes.max()) + 1
    block = csr_array((_contrast(sides), (np.arange(codes.size), codes)), shape=(codes.size, blocks))
    sums = weights @ block
    sums_by_block = [np.bincount(codes, weights=part, minlength=blocks) for part in parts]
    # Sum over blocks of (sum - expected)^2, expected = mean of P x share of P - mean of Q x share of Q.
    squares = np.asarray(sums.multiply(sums).sum(axis=1))
    cross = means[0] * (sums @ sums_by_block[0]) - means[1] * (sums @ sums_by_block[1])
    own = means[0] ** 2 * (sums_by_block[0] @ sums_by_block[0]) + means[1] ** 2 * (sums_by_block[1] @ sums_by_block[1])
    own -= 2 * means[0] * means[1] * (sums_by_block[0] @ sums_by_block[1])
    total = np.maximum(squares - 2 * cross + own, 0.0)
    return np.asarray(np.sqrt(total * blocks / max(blocks - 1, 1)))
