"""Clusters of a partition: counts, costs with intervals, stability, purity, and whether there is a gap at all.

p is the human share of a cluster, q the candidate's. Its cost is its part of the frontier integral (JMLR 2023, section
3.2), (p + q) / 2 - p q / (p - q) log(p / q): 0 if p = q, else positive. Costs sum to the integral. The terms of the
two errors at one mixture weight (section 3.1) can be negative, so they are given in nats, not as shares.

Intervals of cost shares use the resamples of the scores, so a ledger and a leaderboard agree; they hold for all
clusters at once, and cover a share's expectation at this n and k (``tests/analysis/test_cost_intervals.py``).

A cluster is stable if its difference survives other k-means seeds and other numbers of clusters.

Two samples of human texts also have a gap, and clusters with shares of it. The gap test exchanges units of texts
between the sides and counts how often the frontier integral, averaged over seeds, is at least as large as observed.
Partitions were fitted without looking at who wrote what, so they serve every draw (``benchmarks/calibration.py``: the
level).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import significant
from mauve_core.base.json_codec import Count, NotNegative
from mauve_core.base.words import Words
from mauve_core.runs import Run
from mauve_core.runs.features import stored_features
from mauve_core.scoring.estimates import TwoSides, two_sides
from mauve_core.scoring.partitioning import clustering_seeds, partition, reduced_together
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.scoring.streams import stream
from mauve_core.stats.attributes import purity
from mauve_core.stats.divergences import count_pairs, error_shares, integral_terms, probabilities
from mauve_core.stats.multiple_tests import detectable_divergence
from mauve_core.stats.resampling import Statistic, permutation_test, simultaneous_intervals
from mauve_core.stats.stability import Stability, cluster_stability
from mauve_core.stats.units import centred_interval, draw_blocks, resampled_counts
from mauve_core.texts.metadata import is_missing

CONFIDENCE = 0.95
# Direction of a cluster: the model writes more of it than people do, or less.
ADDS, MISSES = "adds", "misses"

# Columns by which the histogram can be sorted, as far as a table has them; all descending but the cluster number.
ORDERS = {
    "cost": "Cost",
    "difference": "Difference p − q",
    "p": "{Reference} share p",
    "q": "Model share q",
    "type_1_nats": "Type I error",
    "type_2_nats": "Type II error",
    "found": "{Items} found",
    "cluster": "Cluster number",
}


def cluster_table(human: ArrayLike, model: ArrayLike, weight: float, smoothing: str = "none") -> pd.DataFrame:
    """Return a table with one row per cluster.

    Parameters
    ----------
    human, model : (k,) arrays of int
        Number of each side's texts in each cluster; neither side is empty.
    weight : float in (0, 1)
        Weight of P in the mixture R.
    smoothing : str
        A key of ``mauve_core.stats.divergences.SMOOTHINGS``. Applies to costs and errors; p and q are
        plain shares of the counts.

    Returns
    -------
    DataFrame
        cluster, human, model (counts), p, q, difference (p - q), log2_ratio (of shares with Krichevsky-Trofimov
        smoothing, so that an empty side stays finite), cost (part of the frontier integral, >= 0), cost_share (the
        same as a share of it, 0 to 1; 0 if it is 0), direction (``ADDS`` if q > p, ``MISSES`` if p > q, each smoothed
        as in the cost; empty if they are equal), type_1_nats, type_2_nats (the cluster's terms of KL(Q|R) and KL(P|R):
        negative where q, or p, is below the mixture).

    Raises
    ------
    InputError
        Counts of different length, an empty side, or a weight outside (0, 1).
    """
    counts = [np.asarray(side, dtype=np.int64) for side in (human, model)]
    if not 0 < weight < 1:
        raise InputError("The mixture weight is not usable", allowed="a number between 0 and 1", received=repr(weight))
    p, q = (probabilities(side) for side in counts)
    smooth_p, smooth_q = (probabilities(side, "krichevsky-trofimov") for side in counts)
    sides = probabilities(counts[0], smoothing), probabilities(counts[1], smoothing)
    errors, costs = error_shares(*sides, weight), integral_terms(*sides)
    return pd.DataFrame(
        {
            "cluster": np.arange(counts[0].size),
            "human": counts[0],
            "model": counts[1],
            "p": p,
            "q": q,
            "difference": p - q,
            "log2_ratio": np.log2(smooth_p / smooth_q),
            "cost": costs,
            "cost_share": of_total(costs),
            "direction": np.select([sides[1] > sides[0], sides[0] > sides[1]], [ADDS, MISSES], ""),
            "type_1_nats": errors[0],
            "type_2_nats": errors[1],
        }
    )


def with_intervals(table: pd.DataFrame, low: NDArray[np.float64], high: NDArray[np.float64]) -> pd.DataFrame:
    """Add low and high, the ends of each cluster's interval of ``cost_share`` (:func:`cost_intervals`).

    Tables of gaps that are no larger than chance (``mauve_core.findings.clusters``) do without, and nothing shows
    their costs.
    """
    return table.assign(low=low, high=high)


def with_found(
    table: pd.DataFrame, partition: Partition, candidate: str, found: Mapping[str, NDArray[np.bool_]]
) -> pd.DataFrame:
    """Add the texts of a search in each cluster: ``found_human``, ``found_model``, and ``found`` of both sides.

    ``found`` says by source which of its texts were found.
    """
    human, model = (
        np.bincount(partition.labels[name][found[name]], minlength=partition.k) for name in (HUMAN, candidate)
    )
    return table.assign(found_human=human, found_model=model, found=human + model)


def has_found(table: pd.DataFrame) -> bool:
    """Whether the table has the columns of :func:`with_found`."""
    return "found" in table.columns


def has_costs(table: pd.DataFrame) -> bool:
    """Whether costs may be shown: only with the intervals of :func:`with_intervals`."""
    return {"low", "high"} <= set(table.columns)


def ordered(table: pd.DataFrame, order: str) -> pd.DataFrame:
    """Sort the rows by a column of ``ORDERS``, descending (the cluster number: ascending), ties by number."""
    return table.sort_values([order, "cluster"], ascending=[order == "cluster", True], ignore_index=True)


def wilson_interval(
    count: ArrayLike, n: ArrayLike, confidence: float = CONFIDENCE
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the score interval of a share (Wilson 1927): it stays in [0, 1] and has width even at 0 and n.

    Parameters
    ----------
    count : (...) array of int, 0 to n
    n : (...) array of int > 0
    confidence : float in (0, 1)

    Returns
    -------
    low, high : (...) float64 arrays
    """
    counts, n = np.asarray(count, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if (n <= 0).any() or (counts < 0).any() or (counts > n).any():
        raise InputError("A share needs a count between 0 and n > 0", received=f"n = {n}")
    z2 = float(ndtri((1 + confidence) / 2)) ** 2
    centre = (counts + z2 / 2) / (n + z2)
    half = np.sqrt(z2 * (counts * (n - counts) / n + z2 / 4)) / (n + z2)
    low = np.where(counts == 0, 0.0, np.clip(centre - half, 0, 1))
    return low, np.where(counts == n, 1.0, np.clip(centre + half, 0, 1))


def value_counts(human: pd.Series | None, model: pd.Series | None, in_human: Any, in_model: Any) -> pd.DataFrame:
    """Count each value of a metadata column inside a cluster, and in all texts of each side.

    Parameters
    ----------
    human, model : Series or None
        The column on each side; None if that side has no such column.
    in_human, in_model : arrays of int
        Rows of the cluster's texts on each side.

    Returns
    -------
    DataFrame
        value (text, "(missing)" for a gap), human, all_human, model, all_model (counts); only values found in the
        cluster, the most frequent first, ties in alphabetical order.
    """
    columns = {}
    for name, series, rows in (("human", human, in_human), ("model", model, in_model)):
        values = pd.Series([], dtype=object) if series is None else series.astype(object)
        texts = values.map(lambda value: "(missing)" if pd.isna(value) else str(value))
        inside = texts.iloc[np.asarray(rows, dtype=np.intp)] if series is not None else texts
        columns[name], columns[f"all_{name}"] = inside.value_counts(), texts.value_counts()
    table = pd.DataFrame(columns).fillna(0).astype(int).rename_axis("value").reset_index()
    table = table[(table["human"] + table["model"]) > 0]
    table["sum"] = table["human"] + table["model"]
    table = table.sort_values(["sum", "value"], ascending=[False, True], ignore_index=True)
    return table[["value", "human", "all_human", "model", "all_model"]]


def of_total(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """(..., k) costs as shares of their sum; 0 if the sum is 0."""
    total = costs.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(costs, total, out=np.zeros_like(costs), where=total > 0))


_BOUNDS = (0.0, 1.0)


@dataclass(frozen=True)
class CostIntervals:
    """Intervals of the shares of one frontier integral, in [0, 1], at ``CONFIDENCE``.

    Attributes
    ----------
    low, high : (k,) float64 arrays
        Of each cluster's share, for all clusters at once.
    adds : (float, float)
        Of the share of all clusters of which the model writes more than people do.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    adds: tuple[float, float]

    @property
    def of_clusters(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Low and high."""
        return self.low, self.high


def exchange_rate(comparison: Comparison, kind: PartitionKind, candidate: str) -> float:
    """Return the exchange rate of the candidate's resamples, which is the same for every seed and smoothing."""
    return two_sides(comparison, kind, candidate).exchange_rate(comparison.config.score.bootstrap)


def cost_intervals(
    comparison: Comparison,
    kind: PartitionKind,
    candidate: str,
    seed: int,
    smoothing: str = "none",
    *,
    rate: float | None = None,
) -> CostIntervals:
    """Return the interval of each cluster's share of the frontier integral.

    Parameters
    ----------
    seed : int
        Index of the k-means seed whose clusters are meant.
    smoothing : str
        As in :func:`mauve_core.findings.clusters.cluster_table`.
    rate : float, optional
        From :func:`exchange_rate`, if it is known.

    Raises
    ------
    InputError
        The candidate or the partition is unknown.
    """
    shown = comparison.partition(kind, candidate, seed)
    rate = exchange_rate(comparison, kind, candidate) if rate is None else rate
    sides = dataclasses.replace(two_sides(comparison, kind, candidate), partitions=(shown,))
    return intervals_of(sides, comparison.config.score.bootstrap, rate, smoothing)


def costed_table(
    comparison: Comparison,
    kind: PartitionKind,
    candidate: str,
    seed: int,
    weight: float,
    *,
    rate: float | None = None,
) -> pd.DataFrame:
    """Return the table of one partition, with intervals: ``cluster_table`` and ``with_intervals`` in one.

    Whether there is a gap to explain is not asked (``mauve_core.findings.clusters``). ``rate`` is as in
    :func:`cost_intervals`.
    """
    part = comparison.partition(kind, candidate, seed)
    table = cluster_table(part.counts(HUMAN), part.counts(candidate), weight)
    return with_intervals(table, *cost_intervals(comparison, kind, candidate, seed, rate=rate).of_clusters)


def intervals_of(sides: TwoSides, replicates: int, rate: float, smoothing: str = "none") -> CostIntervals:
    """:func:`cost_intervals` of two sides with one partition."""
    shares = signed_shares(*sides.counts(), smoothing)[0]
    drawn = resampled_shares(sides, replicates, rate, smoothing)
    low, high = simultaneous_intervals(np.abs(shares), np.abs(drawn), CONFIDENCE, bounds=_BOUNDS)
    return CostIntervals(low, high, centred_interval(added(shares), added(drawn), CONFIDENCE, bounds=_BOUNDS))


def resampled_shares(sides: TwoSides, replicates: int, rate: float, smoothing: str = "none") -> NDArray[np.float64]:
    """(B, k) signed shares in resamples of two sides with one partition."""
    blocks = draw_blocks(sides.units, replicates, np.random.default_rng(sides.seed))
    return np.concatenate([signed_shares(*sides.resampled(draws, rate), smoothing)[:, 0] for draws in blocks])


def signed_shares(
    human: NDArray[np.integer], model: NDArray[np.integer], smoothing: str = "none"
) -> NDArray[np.float64]:
    """(..., k) shares of the frontier integral, from counts (..., k); negative where the model misses texts."""
    p, q = probabilities(human, smoothing), probabilities(model, smoothing)
    return np.copysign(of_total(integral_terms(p, q)), q - p)


def added(signed: NDArray[np.float64]) -> Any:
    """(...) share of what the model adds, from (..., k) signed shares."""
    return np.maximum(signed, 0.0).sum(axis=-1)


def assess_stability(
    comparison: Comparison,
    candidate: str,
    kind: PartitionKind = "pairwise",
    seed: int = 0,
    *,
    others: Sequence[Partition] = (),
    permutations: int | None = None,
) -> Stability:
    """Judge the clusters of one partition, from the stored labels and the run's seed alone, so results are
    reproducible.

    Parameters
    ----------
    candidate : str
    kind : {"pairwise", "joint"}
    seed : int
        Index of the k-means seed of the reference partition.
    others : sequence of Partition
        More partitions of the same texts, beside those of the other seeds.
    permutations : int, optional
        As in :func:`mauve_core.stats.stability.cluster_stability`.

    Raises
    ------
    InputError
        An unknown candidate or partition, or partitions of other texts.
    """
    reference = comparison.partition(kind, candidate, seed)
    stored = comparison.partitions(kind, candidate)
    chosen = [reference, *(part for index, part in enumerate(stored) if index != seed), *others]
    names = (HUMAN, candidate)
    sizes = {name: len(reference.labels[name]) for name in names}
    for part in chosen:
        if any(len(part.labels.get(name, ())) != sizes[name] for name in names):
            raise InputError("A partition does not belong to these texts", allowed=f"labels of {sizes}")
    return cluster_stability(
        [np.concatenate([part.labels[name] for name in names]) for part in chosen],
        sizes[HUMAN],
        k=reference.k,
        units=comparison.units_with(candidate).codes,
        permutations=permutations,
        seed=stream(comparison.config.score.seed, "permutations").spawn(1)[0],
    )


# Multiples of the run's own k at which it is clustered again.
FACTORS = (0.5, 2.0)


def repartition(run: Run, candidate: str, kind: PartitionKind = "joint") -> tuple[Partition, ...]:
    """Return one partition for each of ``FACTORS`` times the run's own k, of the same texts in the same space.

    Uses the first k-means seed of the run's own partitions and one start: enough to tell whether a cluster's texts
    still differ. A k equal to the run's own, or larger than half of the texts, is left out.

    Raises
    ------
    InputError
        An unknown candidate, features that were not kept, or fewer distinct features than clusters.
    """
    comparison = run.comparison
    comparison.candidate(candidate)  # raises InputError if unknown
    own, score = comparison.partition(kind, candidate, 0), comparison.config.score
    features = stored_features(run)
    sides = {name: features[name] for name in ((HUMAN, candidate) if kind == "pairwise" else features)}
    seed = clustering_seeds(score)[kind][0]
    reduced, sizes = reduced_together(sides, score), {name: len(array) for name, array in sides.items()}
    numbers = [max(2, round(own.k * factor)) for factor in FACTORS]
    usable = [k for k in dict.fromkeys(numbers) if k != own.k and k <= len(reduced) // 2]
    settings = [dataclasses.replace(score, k=k, restarts=1) for k in usable]
    return tuple(partition(kind, reduced, sizes, seed_index=0, seed=seed, score=each) for each in settings)


def purest_clusters(labels: ArrayLike, k: int, cells: NDArray[Any]) -> pd.DataFrame:
    """Return every cluster that has a text with a value, the purest first.

    Clusters are sorted by the lower end of the interval, so that a cluster of one text does not lead.

    Parameters
    ----------
    labels : (n,) array of int
        Cluster of each text, 0 to k - 1.
    k : int
    cells : (n,) object array
        Value of each text, None if it has none.

    Returns
    -------
    DataFrame
        cluster, value (its most frequent, as text; ties go to the value that is more frequent in all texts), count
        (texts here with that value), n (texts here with a value), share (count / n), low, high (Wilson's 95 % interval
        of the share, as if the value had been chosen beforehand), of_all (share of the value in all texts).

    Raises
    ------
    InputError
        Arrays that do not fit each other, or no text with a value.
    """
    clusters = np.asarray(labels)
    if clusters.shape != cells.shape:
        raise InputError("Labels and values do not match", allowed=f"{cells.shape}", received=f"{clusters.shape}")
    present = np.array([not is_missing(cell) for cell in cells.tolist()], dtype=bool)
    if not present.any():
        raise InputError("No text has a value", allowed="at least one value that is not missing")
    names, codes, totals = np.unique([str(cell) for cell in cells[present]], return_inverse=True, return_counts=True)
    order = np.argsort(-totals, kind="stable")
    codes = np.argsort(order)[codes.ravel()]
    found = purity(clusters[present], k, codes)
    sizes = np.bincount(clusters[present], minlength=k)
    filled = np.flatnonzero(sizes)
    top, n = found.top[filled], sizes[filled]
    count = np.rint(found.by_cluster[filled] * n).astype(np.int64)
    low, high = wilson_interval(count, n)
    table = pd.DataFrame(
        {
            "cluster": filled,
            "value": [str(names[order[code]]) for code in top],
            "count": count,
            "n": n,
            "share": count / n,
            "low": low,
            "high": high,
            "of_all": found.share[top],
        }
    )
    return table.sort_values(["low", "n", "cluster"], ascending=[False, False, True], ignore_index=True)


# Largest p-value at which shares are shown: one in a hundred candidates that write like people has shares.
LEVEL = 0.01

# Exchanges of texts. The p-value is a multiple of 1 / (DRAWS + 1), so 99 is the least number that can reach the level,
# and a single accident would decide; with 199 one accident among them is allowed, with 499 four.
DRAWS = 499

# LEVEL x (1 + draws) may be a whole number, which floating point misses by less.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class GapTest:
    """The test of one candidate.

    Attributes
    ----------
    observed : float
        Frontier integral, averaged over the k-means seeds.
    reached : int
        Draws with a frontier integral at least as large.
    draws : int
        0 if units support no test.
    why : str
        Why they do not; empty if they do.
    detectable : float
        How far above chance the frontier integral must truly lie (its bias-reduced value) for the test to reach
        ``LEVEL`` with probability .8; nan if units support no test or exchange changes nothing.
    """

    observed: NotNegative
    reached: Count
    draws: Count
    why: str = ""
    detectable: float = math.nan

    @property
    def p_value(self) -> float:
        """(1 + reached) / (1 + draws), in (0, 1]."""
        return (1 + self.reached) / (1 + self.draws)

    @property
    def allowed(self) -> int:
        """Most draws that may be as large if there is a gap to explain."""
        return math.floor(LEVEL * (1 + self.draws) + _ROUNDING) - 1

    def in_words(self, words: Words) -> str:
        """Return what pages and reports say instead of shares."""
        if self.why:
            return f"No test of the gap: {self.why}."
        return (
            f"Nothing to explain: the gap could be one between {words.reference_items}. With {words.items} exchanged "
            f"at random between the two sides, it is at least as large in {self.reached:,} of {self.draws:,} draws; "
            f"costs are shown if at most {self.allowed} are. {self.could_find()}"
        ).rstrip()

    def could_find(self) -> str:
        """Say which gap the test could have found; empty where it is not known."""
        if math.isnan(self.detectable):
            return ""
        gap = significant(self.detectable)
        return f"A true gap of {gap} (bias-reduced frontier integral) would be found 8 times in 10."

    @property
    def explains(self) -> bool:
        """Whether there is a gap to explain: the p-value is at most ``LEVEL``."""
        return self.reached <= self.allowed


def gap_test(
    comparison: Comparison, kind: PartitionKind, candidate: str, *, reference: str = HUMAN, draws: int = DRAWS
) -> GapTest:
    """Test whether the texts of the reference and a candidate's differ, on the comparison's partitions of that kind.

    Raises
    ------
    InputError
        The candidate is unknown.
    """
    partitions = comparison.partitions(kind, candidate)
    (seed,) = stream(comparison.config.score.seed, "gap").spawn(1)
    why = comparison.why_no_interval(reference, candidate)
    if why:
        return GapTest(0.0, 0, 0, why)
    units = comparison.units(reference, candidate)
    codes = np.concatenate([units[reference], units[candidate]])
    return gap_test_of(partitions, candidate, codes, reference=reference, draws=draws, seed=seed)


def gap_test_of(
    partitions: Sequence[Partition],
    candidate: str,
    units: NDArray[np.integer] | None,
    *,
    reference: str = HUMAN,
    draws: int = DRAWS,
    seed: np.random.SeedSequence,
) -> GapTest:
    """Test whether two sides differ.

    Parameters
    ----------
    partitions : sequence of Partition
        Of the same texts, one per k-means seed.
    units : (n + m,) array of int or None
        Unit of each text, those of the reference first. None: every text is one.
    """
    n, m = (partitions[0].labels[name].size for name in (reference, candidate))
    statistic = mean_integral(partitions, candidate, reference)
    found = permutation_test(statistic, n, m, permutations=draws, seed=seed, units=units)
    least = detectable_divergence(found.null, LEVEL)
    return GapTest(found.statistic, round(found.p_value * (1 + draws)) - 1, draws, detectable=least)


def mean_integral(partitions: Sequence[Partition], candidate: str, reference: str = HUMAN) -> Statistic:
    """Make the statistic of :func:`gap_test`: the frontier integral averaged over the partitions."""
    k = partitions[0].k
    labels = [np.concatenate([part.labels[name] for name in (reference, candidate)]) for part in partitions]
    both = np.stack([np.bincount(own, minlength=k) for own in labels])

    def statistic(first: NDArray[np.bool_], _: NDArray[np.bool_]) -> NDArray[np.float64]:
        weights = first.astype(np.int32)
        p = np.stack([resampled_counts(own, k, weights) for own in labels], axis=1)
        pairs = count_pairs(p, both - p)
        values = pairs.sums(integral_terms(*pairs.probabilities(0.0))[:, np.newaxis])
        return np.asarray(values.mean(axis=(1, 2)))

    return statistic
