"""The gap as a ledger over clusters, the few clusters that make up most of it, and the score with other text weights.

The ledger of the frontier integral has one table for what the model adds and one for what it misses; the others of a
direction are summed in one more row, so that both tables together add up to the integral.

A what-if scores a candidate with other weights under every k-means seed and with bootstrap intervals. Weights belong
to texts, because clusters of different partitions do not match: dropping a cluster of one seed drops its texts, and
the other seeds' partitions then lack the same texts. Partitions stay those of all texts. The resamples are those of the
comparison's own intervals, so the change of a score has its own interval, narrower than the difference of two. If few
clusters change, sums over the others are reused (``stats.what_if``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.findings.clusters import ADDS, MISSES, has_found
from mauve_core.findings.why_cards import labelled
from mauve_core.scoring.estimates import (
    CountSamples,
    ScoreBasis,
    Spread,
    basis_of,
    basis_of_sides,
    estimate_of,
    if_known,
    resamples,
    spreads_of,
    two_sides,
)
from mauve_core.scoring.result import Comparison, Estimate, Partition
from mauve_core.stats.divergences import added_count, count_pairs, error_sums, frontier_integral, probabilities
from mauve_core.stats.scores import SCORES, score_counts
from mauve_core.stats.units import BLOCK_BYTES
from mauve_core.stats.what_if import Bins, ShiftedSums, Step, dropped, matched, shifted_sums, weighted_counts

_Totals = tuple[NDArray[np.float64], NDArray[np.float64]]

# Limit of draws and counts kept for what-ifs about one candidate; four to sixteen bytes each.
MOST_CELLS = 2**30

# If a larger share of the clusters changes, counting all anew is faster.
MOST_TOUCHED = 0.2


@dataclass(frozen=True)
class WhatIf:
    """Scores of one candidate, unchanged and with other weights.

    Attributes
    ----------
    before, after, change : mapping of str to Estimate
        By score; ``change`` is after - before, resampled together. ``before`` is the score of the comparison. Texts
        that are weighted belong to their side, so no resample of ``after`` and ``change`` exchanges any.
    texts : mapping of str to float
        Total weight, after, of the texts of the human side and of the candidate.
    """

    before: Mapping[str, Estimate]
    after: Mapping[str, Estimate]
    change: Mapping[str, Estimate]
    texts: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Prepared:
    """One candidate's partitions, resamples and unchanged scores.

    Attributes
    ----------
    candidate : str
    partitions : tuple of Partition
        One per k-means seed.
    drawn : mapping of str to (n, B) int32 array
        By side, human and candidate: how often each resample draws each text.
    counts : mapping of str to (B, seeds, k) float64 array
        By side: texts of each resample in each cluster.
    basis : ScoreBasis
        With all weights 1, as the comparison scores it.
    drawn_basis : ScoreBasis
        With all weights 1, from ``drawn``.
    sums : mapping of float to ShiftedSums
        By the count that a smoothing adds: those of the scores, if they add one.
    scale, smoothing, confidence
        Settings of the scores and their intervals. ``scale`` may be replaced.
    too_few : str
        Why units support no interval; empty if they do.
    """

    candidate: str
    partitions: tuple[Partition, ...]
    drawn: Mapping[str, NDArray[np.int32]]
    counts: Mapping[str, NDArray[np.float64]]
    basis: ScoreBasis
    drawn_basis: ScoreBasis
    sums: Mapping[float, ShiftedSums]
    scale: float
    smoothing: str
    confidence: float
    too_few: str

    @property
    def before(self) -> dict[str, Spread]:
        """Return every score with all weights 1, as the comparison scores it."""
        return spreads_of(self.basis, self.scale)

    @property
    def drawn_before(self) -> dict[str, Spread]:
        """Return the same from ``drawn``, to be subtracted from scores with other weights."""
        return spreads_of(self.drawn_basis, self.scale)


def text_weights(partition: Partition, source: str, weights: ArrayLike) -> NDArray[np.float64]:
    """Return the (n,) weight of each text of ``source``: that of its cluster in ``weights`` (k,)."""
    by_cluster = np.asarray(weights, dtype=np.float64)
    if source not in partition.labels:
        raise InputError(f"No source named {source!r} in this partition", allowed=", ".join(partition.labels))
    if by_cluster.shape != (partition.k,):
        received = f"shape {by_cluster.shape}"
        raise InputError("The weights do not match the clusters", allowed=f"shape ({partition.k},)", received=received)
    return by_cluster[partition.labels[source]]


def prepare(
    comparison: Comparison,
    candidate: str,
    kind: PartitionKind = "pairwise",
    smoothing: str = "none",
    basis: ScoreBasis | None = None,
) -> Prepared:
    """Prepare what-ifs about a candidate; keep the result between calls of :func:`what_if`.

    Parameters
    ----------
    candidate : str
    kind : {"pairwise", "joint"}
        The partitions that are kept.
    smoothing : str
        As in :func:`mauve_core.stats.divergences.probabilities`, for every score but ``mauve_star``. A
        smoothing that needs whole counts refuses fractional weights.
    basis : ScoreBasis, optional
        The candidate's ``mauve_core.scoring.estimates.score_basis`` under the same settings, if known.

    Raises
    ------
    InputError
        An unknown candidate or smoothing.
    """
    added_count(smoothing)  # raises InputError
    partitions = comparison.partitions(kind, candidate)
    _require_room(comparison, partitions, candidate)
    drawn = {source: np.ascontiguousarray(own.T) for source, own in resamples(comparison, candidate).items()}
    ones = {source: np.ones(len(draws)) for source, draws in drawn.items()}
    counts = {source: _resampled(partitions, source, draws, ones[source]) for source, draws in drawn.items()}
    observed = [counts[source].astype(np.int64) for source in (HUMAN, candidate)]
    if basis is None or basis.generations > 1:  # a what-if weighs the texts of all generations together
        basis = basis_of_sides(two_sides(comparison, kind, candidate), comparison.config.score, smoothing)
    drawn_basis = basis_of(
        CountSamples(*two_sides(comparison, kind, candidate).counts(), observed[0], observed[1]), smoothing
    )
    pairs = count_pairs(observed[0], observed[1])
    wanted = {added_count(each) for each in _smoothings(smoothing)}
    sums = {each: shifted_sums(pairs, each) for each in wanted if each is not None}
    score = comparison.config.score
    parts = tuple(partitions)
    settings = score.scale, smoothing, score.confidence, comparison.why_no_interval(HUMAN, candidate)
    return Prepared(candidate, parts, drawn, counts, basis, drawn_basis, sums, *settings)


def what_if(prepared: Prepared, *, human: ArrayLike | None = None, model: ArrayLike | None = None) -> WhatIf:
    """Score a candidate again with weights for texts.

    Parameters
    ----------
    prepared : Prepared
    human, model : (n,) array, optional
        Weight of each text of the human side and of the candidate; a mask selects texts. None gives all weight 1.

    Raises
    ------
    InputError
        Weights that are unusable or not one per text, or that leave a side, or a resample of it, without texts.
    """
    weights = {
        source: np.ones(len(draws)) if values is None else _usable(values, source, len(draws))
        for (source, draws), values in zip(prepared.drawn.items(), (human, model), strict=True)
    }
    before, drawn, confidence = prepared.before, prepared.drawn_before, prepared.confidence
    same = all((each == 1).all() for each in weights.values())
    after = before if same else _spreads(prepared, weights)  # exactly equal, so that an unchanged score has change 0
    change = {
        name: Spread(spread.values - drawn[name].values, spread.resampled - drawn[name].resampled)
        for name, spread in (drawn if same else after).items()
    }
    bounds = {name: score.bounds for name, score in SCORES.items()}
    either_way = {name: (low - high, high - low) for name, (low, high) in bounds.items()}

    def estimates(spreads: Mapping[str, Spread], bounds: Mapping[str, tuple[float, float]]) -> dict[str, Estimate]:
        found = {name: estimate_of(spread, confidence, bounds[name]) for name, spread in spreads.items()}
        return if_known(found, prepared.too_few, bounds)

    return WhatIf(
        before=estimates(before, bounds),
        after=estimates(after, bounds),
        change=estimates(change, either_way),
        texts={source: float(each.sum()) for source, each in weights.items()},
    )


def _require_room(comparison: Comparison, partitions: Sequence[Partition], candidate: str) -> None:
    resampled = comparison.config.score.bootstrap
    texts = sum(source.n for source in comparison.sources if source.name in (HUMAN, candidate))
    cells = resampled * (texts + 2 * len(partitions) * partitions[0].k)
    if cells > MOST_CELLS:
        raise InputError(
            f"What-ifs with {resampled:,} resamples of {texts:,} texts take too much memory",
            allowed=f"at most {MOST_CELLS:,}, counted as resamples x (texts + seeds x clusters of both sides)",
            received=f"{cells:,}",
            todo="Compare the texts again with fewer resamples",
        )


def _usable(values: ArrayLike, source: str, n: int) -> NDArray[np.float64]:
    weights = np.asarray(values, dtype=np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError(
            f"The weights of {source!r} are not usable",
            allowed=f"one finite number for each of its {n} texts, none negative and not all 0",
            received=f"shape {weights.shape}",
        )
    return weights


def _spreads(prepared: Prepared, weights: Mapping[str, NDArray[np.float64]]) -> dict[str, Spread]:
    """Return every score of the weighted texts and of their resamples, the latter to about 1e-13."""
    partitions, scale, smoothing = prepared.partitions, prepared.scale, prepared.smoothing
    p, q = (
        np.stack([weighted_counts(part.labels[source], part.k, each) for part in partitions])
        for source, each in weights.items()
    )
    values = score_counts(p, q, scale=scale, smoothing=smoothing)
    counted, change = cache(partial(_counted, prepared, weights)), _change(prepared, weights)
    under = {each: _Resamples(prepared, counted, change, each) for each in _smoothings(smoothing)}
    found = {}
    for name, score in SCORES.items():
        own = under[score.smoothing or smoothing]
        parts = score.of(*own.shares) if score.weighted is None else score.weighted(own)
        found[name] = Spread(values[name], score.value(parts, scale))
    return found


def _smoothings(smoothing: str) -> set[str]:
    """That which is asked for, and those that scores have of their own."""
    return {score.smoothing or smoothing for score in SCORES.values()}


@dataclass(frozen=True, eq=False)
class _Change:
    """How weights change the resamples, relative to each side's most frequent weight.

    Attributes
    ----------
    usual : (2,) float64 array
        Those weights.
    totals : two (B,) arrays
        Total weight of each resample's texts, over ``usual``.
    bins : Bins
        Clusters with texts of any other weight, without smoothing.
    """

    usual: NDArray[np.float64]
    totals: _Totals
    bins: Bins


def _change(prepared: Prepared, weights: Mapping[str, NDArray[np.float64]]) -> _Change | None:
    """Return the change; None if too many clusters change for the shortcut to pay off."""
    sources, partitions = list(weights), prepared.partitions
    usual = [_most_frequent(each) for each in weights.values()]
    if min(usual) == 0:
        return None
    other = {source: np.flatnonzero(weights[source] != one) for source, one in zip(sources, usual, strict=True)}
    touched = np.zeros((len(partitions), partitions[0].k), dtype=np.bool_)
    for source, texts in other.items():
        for index, part in enumerate(partitions):
            touched[index, part.labels[source][texts]] = True
    seeds, clusters = np.nonzero(touched)
    if seeds.size > MOST_TOUCHED * touched.size:
        return None
    number = np.full(touched.shape, -1)
    number[seeds, clusters] = np.arange(seeds.size)
    before, after, totals = [], [], []
    for (source, texts), one in zip(other.items(), usual, strict=True):
        draws = prepared.drawn[source]
        extra = weights[source][texts] / one - 1
        moved = draws[texts].astype(np.float64)
        bins = np.concatenate([number[index, part.labels[source][texts]] for index, part in enumerate(partitions)])
        columns = np.tile(np.arange(texts.size), len(partitions))
        member = csr_array((extra[columns], (bins, columns)), shape=(seeds.size, texts.size))
        before.append(prepared.counts[source][:, seeds, clusters])
        after.append(np.maximum(before[-1] + (member @ moved).T, 0.0))  # rounding must not leave a negative count
        totals.append(draws.sum(axis=0) + extra @ moved)
    belongs = (seeds == np.arange(len(partitions))[:, None]).astype(np.float64)
    bins_changed = Bins((before[0], before[1]), (after[0], after[1]), belongs)
    return _Change(np.array(usual), (totals[0], totals[1]), bins_changed)


def _most_frequent(weights: NDArray[np.float64]) -> float:
    found, times = np.unique(weights, return_counts=True)
    return float(found[times.argmax()])


@dataclass(frozen=True, eq=False)
class _Resamples:
    """The weighted resamples under a smoothing, from the kept sums if that is fast, else counted anew."""

    prepared: Prepared
    counted: Callable[[], list[NDArray[np.float64]]]
    change: _Change | None
    smoothing: str

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """(B, seeds, 2, m) both errors of the frontiers."""
        shifted = self._shifted
        return np.maximum(error_sums(*self.shares) if shifted is None else shifted[0].errors(*shifted[1:]), 0.0)

    @property
    def integral(self) -> NDArray[np.float64]:
        """(B, seeds) frontier integrals."""
        shifted = self._shifted
        return frontier_integral(*self.shares) if shifted is None else shifted[0].frontier_integral(*shifted[1:])

    @property
    def shares(self) -> list[NDArray[np.float64]]:
        """(B, seeds, k) probabilities of either side."""
        return [probabilities(side, self.smoothing) for side in self.counted()]

    @property
    def _shifted(self) -> tuple[ShiftedSums, _Totals, Bins] | None:
        change, added = self.change, added_count(self.smoothing)
        if change is None or added is None or min(total.min() for total in change.totals) <= 0:
            return None
        if added and (change.usual != 1).any():
            return None  # the added counts would need the same weight as the texts
        sums, more = self.prepared.sums[added], added * self.prepared.partitions[0].k
        totals = change.totals[0] + more, change.totals[1] + more
        if not sums.serves(totals):
            return None
        (p, q), (p_after, q_after), member = change.bins.before, change.bins.after, change.bins.member
        return sums, totals, Bins((p + added, q + added), (p_after + added, q_after + added), member)


def _counted(prepared: Prepared, weights: Mapping[str, NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """(B, seeds, k) weighted counts of either side of the resamples."""
    partitions, drawn = prepared.partitions, prepared.drawn
    counts = [_resampled(partitions, source, drawn[source], each) for source, each in weights.items()]
    if any((side.sum(axis=-1) == 0).any() for side in counts):
        raise InputError(
            "Too few texts are left: a resample contains none of them",
            todo="Keep more texts, or give them weights above 0",
        )
    return counts


def _resampled(
    partitions: Sequence[Partition], source: str, drawn: NDArray[np.int32], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the (B, seeds, k) weighted counts of the resamples."""
    texts, block = np.arange(weights.size), max(1, BLOCK_BYTES // (8 * weights.size))
    counts = np.empty((drawn.shape[1], len(partitions), partitions[0].k))
    members = [csr_array((weights, (part.labels[source], texts)), shape=(part.k, weights.size)) for part in partitions]
    for start in range(0, len(counts), block):
        some = slice(start, start + block)
        numbers = drawn[:, some].astype(np.float64)
        for index, member in enumerate(members):
            counts[some, index] = (member @ numbers).T
    return counts


DIRECTIONS = (ADDS, MISSES)

# Clusters of a direction that have a row of their own.
MOST_SHOWN = 12

# Cluster number of a row that sums up several clusters.
TOGETHER = -1


def ledger_rows(table: pd.DataFrame, direction: str, most: int = MOST_SHOWN) -> pd.DataFrame:
    """Return the costliest clusters of one direction, and the sum of its others.

    Parameters
    ----------
    table : DataFrame
        From ``mauve_core.findings.clusters.with_intervals``.
    direction : {"adds", "misses"}
        Clusters of which the model writes more than people do, or less.
    most : int
        Clusters with a row of their own.

    Returns
    -------
    DataFrame
        cluster (``TOGETHER`` for a sum), clusters (how many the row covers), cost, share (of the frontier integral),
        low, high (of the share; NaN for a sum), human, model (counts), and the columns of texts found, if the table has
        them. The costliest first, then one row with the rest, if there is one. The costs of both directions sum to the
        frontier integral.
    """
    own = np.flatnonzero(table["direction"].to_numpy() == direction)
    columns = {
        "cluster": table["cluster"].to_numpy(),
        "clusters": np.ones(len(table), dtype=np.int64),
        "cost": table["cost"].to_numpy(),
        "share": table["cost_share"].to_numpy(),
        "low": table["low"].to_numpy(),
        "high": table["high"].to_numpy(),
        "human": table["human"].to_numpy(),
        "model": table["model"].to_numpy(),
    }
    counts = ["human", "model"]
    if has_found(table):
        counts += ["found_human", "found_model"]
        columns |= {name: table[name].to_numpy() for name in counts}
    order = own[np.lexsort((columns["cluster"][own], -columns["cost"][own]))]
    shown, rest = order[:most], order[most:]
    sums = [_together(columns, rest, counts)] if rest.size else []
    return pd.DataFrame(
        {
            name: np.append(values[shown], np.array([each[name] for each in sums], dtype=values.dtype))
            for name, values in columns.items()
        }
    )


def _together(columns: dict[str, NDArray[Any]], indices: NDArray[np.intp], counts: Sequence[str]) -> dict[str, float]:
    summed = {name: columns[name][indices].sum() for name in ("clusters", "cost", "share", *counts)}
    return {"cluster": TOGETHER, "low": np.nan, "high": np.nan, **summed}


def row_labels(rows: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return row titles: a cluster's name and number, or how many are summed up."""
    parts = zip(rows["cluster"].tolist(), rows["clusters"].tolist(), strict=True)
    return [
        labelled(names, int(cluster)) if cluster != TOGETHER else f"{int(number)} more" for cluster, number in parts
    ]


def step_rows(
    steps: Sequence[Step],
    partitions: Sequence[Partition],
    shown: Partition,
    candidate: str,
    *,
    action: str,
    score: str,
    scale: float,
    smoothing: str,
) -> pd.DataFrame:
    """Return the greedy list as a table, with the spread over the k-means seeds.

    The list comes from one partition. Weighting the same texts in the other partitions shows how much of the gain
    depends on one clustering's borders.

    Parameters
    ----------
    steps : sequence of Step
        From ``mauve_core.stats.what_if.greedy`` on the counts of ``shown``.
    partitions : sequence of Partition
        One per seed, including ``shown``.
    action : {"match", "drop"}
    score : str
        The score that the list was made by.

    Returns
    -------
    DataFrame
        step (0: unchanged), cluster (``TOGETHER`` at step 0), filled, closed (share of the gap), every score by name
        in ``shown``; mean, sd of ``score`` over the seeds. mean and sd are NaN from the first cluster without
        candidate texts, which no weights can fill; sd is NaN with one seed.
    """
    p, q = shown.counts(HUMAN), shown.counts(candidate)
    first = {name: float(value) for name, value in score_counts(p, q, scale=scale, smoothing=smoothing).items()}
    rows: list[dict[str, object]] = [{"step": 0, "cluster": TOGETHER, "filled": False, "closed": 0.0, **first}]
    for number, step in enumerate(steps, start=1):
        rows.append(
            {"step": number, "cluster": step.cluster, "filled": step.filled, "closed": step.closed, **step.scores}
        )
    weights = [_weights_after(steps[:index], p, q, action) for index in range(len(rows))]
    spreads = _spreads_over_seeds(weights, partitions, shown, candidate, score, scale=scale, smoothing=smoothing)
    return pd.DataFrame(rows).assign(mean=[mean for mean, _ in spreads], sd=[sd for _, sd in spreads])


def _weights_after(
    steps: Sequence[Step], p: NDArray[np.int64], q: NDArray[np.int64], action: str
) -> NDArray[np.float64] | None:
    """Return the (k,) weights of the candidate's texts after these steps; None if no weights achieve them."""
    clusters = [step.cluster for step in steps]
    if action == "drop":
        return dropped(p.size, clusters)
    try:
        return matched(p, q, clusters)
    except InputError:
        return None


def _spreads_over_seeds(
    weights: Sequence[NDArray[np.float64] | None],
    partitions: Sequence[Partition],
    shown: Partition,
    candidate: str,
    score: str,
    *,
    scale: float,
    smoothing: str,
) -> list[tuple[float, float]]:
    """Return the score's mean and standard deviation over the seeds, under each of the weights; NaN for None."""
    usable = [index for index, each in enumerate(weights) if each is not None]
    texts = np.stack([text_weights(shown, candidate, each) for each in weights if each is not None])
    human = np.stack([part.counts(HUMAN) for part in partitions])
    model = np.stack([weighted_counts(part.labels[candidate], part.k, texts) for part in partitions], axis=1)
    values = score_counts(human, model, scale=scale, smoothing=smoothing)[score]
    found = [(np.nan, np.nan)] * len(weights)
    for index, each in zip(usable, values, strict=True):
        found[index] = float(each.mean()), float(each.std(ddof=1)) if len(partitions) > 1 else np.nan
    return found
