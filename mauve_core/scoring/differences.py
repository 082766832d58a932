"""Test which of two candidates is closer to the human texts, and whether they write alike.

**Closer.** The hypothesis is that both have the same expected score at equal n and k. Two candidates may be equally far
from the human texts in different directions, so exchanging their texts does not test it. Instead, the variance of the
difference D of their scores is that of a delete-a-group jackknife over units on fixed partitions, in which what the two
share in a unit cancels, plus that of the mean over k-means seeds. Near P = Q a divergence is a quadratic form of the
texts, whose variance a jackknife doubles: the excess is estimated from pairs of groups left out together and taken off
(Efron and Stein, *The Jackknife Estimate of Variance*, Annals of Statistics 9, 1981), but no more than half. As much as
is taken off, the seeds count less: where half is, not at all. D over the root is compared with Student's t, and
p-values are adjusted over all pairs of candidates by Holm's method. That the partition depends on the texts, too, adds
nothing that simulations could see (``benchmarks/calibration.py``). A jackknife over refitted partitions would not do:
the chance of each k-means enters it multiplied by the root of the number of groups.

Where the two have unequally many texts, both are scored in the joint partition, at the smaller number.

**Write alike.** Under the hypothesis that both are one source, who wrote which text is an accident. Units are exchanged
between the two in the joint partitions, which were fitted without looking at who wrote what, and it is counted how
often their scores then differ at least as much as observed.

The score of a candidate with several generations is the mean over them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from mauve_core.base.config import HUMAN
from mauve_core.base.progress import Progress, counted, silent
from mauve_core.scoring.estimates import COUNT_BYTES, CountSamples, Spread, basis_of, spreads_of
from mauve_core.scoring.result import SIGNIFICANT, Comparison, Difference, Partition
from mauve_core.scoring.streams import stream
from mauve_core.stats.divergences import REFERENCE_WEIGHTS
from mauve_core.stats.multiple_tests import detectable, holm
from mauve_core.stats.resampling import counts_by_side, jackknife_parts, sequential_p_value, t_interval
from mauve_core.stats.scores import REFERENCE_SCORE, SCORES, score_counts
from mauve_core.stats.units import draw_slots, too_few

# Groups of units that the jackknife leaves out in turn.
FOLDS = 50

# Pairs of groups that are left out together.
PAIRS = 150

# Two candidates are scored at their own sizes if their numbers of texts differ by at most this share of the larger.
LIKE_SIZES = 0.01

# Memory of the frontiers that are held at once.
TABLE_BYTES = 2**26

# Exchanges that a test draws at most.
PERMUTATIONS = 999

# A test ends once this many exchanges differ at least as much as observed, so that clear ties take no time.
STOP = 20

# Exchanges drawn before the first look; each later block is as long as all before it.
FIRST_BLOCK = 100

_Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _LeftOut:
    """Fold of each text by side, pairs of folds, and the candidates' :func:`left_out_scores`."""

    folds: Mapping[str, NDArray[np.intp]]
    together: NDArray[np.intp]
    scores: Mapping[str, dict[str, _Numbers]]

    @property
    def count(self) -> int:
        return _count(self.folds)


def differences_of(comparison: Comparison, progress: Progress = silent, device: str = "cpu") -> tuple[Difference, ...]:
    """Return the difference of every two candidates under every score.

    Parameters
    ----------
    comparison : Comparison
        Scored.
    progress : callable
        Called with (stage, done, total).
    device : str
        Where exchanged texts are counted, as in :func:`mauve_core.clusters.k_means.kmeans`.

    Returns
    -------
    tuple of Difference
        Each pair under every score; empty for one candidate. Where the units of a pair support no test, the interval
        is the whole range and the p-values are 1.
    """
    score, names = comparison.config.score, [each.name for each in comparison.candidates]
    pairs = list(combinations(names, 2))
    if not pairs:
        return ()
    usable = [name for name in names if not comparison.why_no_interval(HUMAN, name)]

    def left_out(*sides: str) -> _LeftOut | None:
        """Folds of these candidates' units and their scores without each; None if the units support no test."""
        units = comparison.units(HUMAN, *sides)
        if too_few(*units.values()):
            return None
        folds = deal_to_groups(units, stream(score.seed, "differences"), most=FOLDS)
        together = pairs_of(_count(folds), stream(score.seed, "differences").spawn(2)[1])
        scores = {
            name: left_out_scores(
                comparison.partitions("pairwise", name),
                folds,
                generation_codes(comparison, name)[0],
                name,
                score.scale,
                together,
            )
            for name in sides
        }
        return _LeftOut(folds, together, scores)

    of_all = left_out(*usable)
    of_pairs = {pair: (of_all or left_out(*pair)) if {*pair} <= {*usable} else None for pair in pairs}
    tests = sum(known is not None for known in of_pairs.values())
    done, found = counted(progress, "testing differences", len(pairs)), list[Difference]()
    for (first, second), known in of_pairs.items():
        paired, n = shared_units(comparison, first, second)
        if known is None:
            means = {name: comparison[first][name].mean - comparison[second][name].mean for name in SCORES}
            found += [untested(name, first, second, means[name], paired, n) for name in SCORES]
            done()
            continue
        sizes = sum(np.bincount(known.folds[name], minlength=known.count) for name in (HUMAN, first, second))
        both = known.scores[first], known.scores[second]
        if not _like_sizes(comparison, first, second):
            both = _at_equal_size(comparison, known, first, second)
        alike = _write_alike(comparison, first, second, device)
        for name in SCORES:
            values = both[0][name] - both[1][name]
            test = closer(values, np.asarray(sizes), known.together, score.confidence, SCORES[name].bounds, tests)
            found.append(Difference(name, first, second, *test[:4], test[3], alike[name], paired, n, test[4]))
        done()
    return adjusted(found)


def closer(
    values: _Numbers,
    sizes: NDArray[np.int64],
    together: NDArray[np.intp],
    confidence: float,
    bounds: tuple[float, float],
    tests: int,
) -> tuple[float, float, float, float, float]:
    """Difference of two scores, its interval, the p-value of no difference, and the difference that is detectable.

    Parameters
    ----------
    values : (1 + groups + pairs, seeds) array
        The difference of all texts, without each group, and without the pairs of groups.
    sizes : (groups,) int array
        Texts in each group, of all sides that count.
    together : (pairs, 2) array of int
    confidence : float in (0, 1)
    bounds : (float, float)
        Range of the scores.
    tests : int
        Differences that share the level.
    """
    means, by_seed, groups = values.mean(axis=1), values[0], sizes.size
    filled, without = sizes > 0, means[1 : 1 + groups]
    over_texts = whole = float((jackknife_parts(means[0], without[filled], sizes[filled]) ** 2).sum())
    count, first, second = int(filled.sum()), *together.T
    known = filled[first] & filled[second]
    if known.any():
        singles = without[first[known]] + without[second[known]]
        quadratic = count * means[0] - (count - 1) * singles + (count - 2) * means[1 + groups :][known]
        over_texts = max(over_texts - float(quadratic.var()) / 2, over_texts / 2)
    over_seeds = float(by_seed.var(ddof=1)) / by_seed.size if by_seed.size > 1 else 0.0
    if whole > 0:
        over_seeds *= 2 * over_texts / whole - 1
    sd, difference, most = float(np.sqrt(over_texts + over_seeds)), float(means[0]), bounds[1] - bounds[0]
    low, high = t_interval(difference, sd, count, confidence, bounds=(-most, most))
    # Of two copies of one file, leaving out any group changes nothing.
    p = float(difference == 0) if sd == 0 else 2 * float(stdtr(count - 1, -abs(difference) / sd))
    least = detectable(sd, SIGNIFICANT, tests=tests)
    return difference, low, high, max(p, float(np.finfo(np.float64).tiny)), least


def untested(name: str, first: str, second: str, difference: float, paired: bool, n: int) -> Difference:
    """A difference whose units support no test: its interval is the whole range, and its p-values are 1."""
    most = SCORES[name].bounds[1] - SCORES[name].bounds[0]
    return Difference(name, first, second, difference, -most, most, 1.0, 1.0, 1.0, paired, n)


def shared_units(comparison: Comparison, first: str, second: str) -> tuple[bool, int]:
    """Return whether two sources have a unit in common, and how many, or, without any, the units of both."""
    units = comparison.units(first, second)
    shared = np.intersect1d(units[first], units[second]).size
    return shared > 0, int(shared) or int(max(own.max() for own in units.values())) + 1


def deal_to_groups(
    units: Mapping[str, NDArray[np.integer]], seed: np.random.SeedSequence, *, most: int
) -> dict[str, NDArray[np.intp]]:
    """Deal units to groups at random, those that the same sides have evenly.

    Parameters
    ----------
    units : mapping of str to (n,) array of int
        Unit of each text of every side, by the same numbers.
    seed : SeedSequence
    most : int
        Groups; fewer if a side has fewer units.

    Returns
    -------
    dict of str to (n,) array of int
        Group of each text, from 0.
    """
    known, codes = np.unique(np.concatenate([*units.values()]), return_inverse=True)
    own = dict(zip(units, np.split(codes, np.cumsum([each.size for each in units.values()])[:-1]), strict=True))
    there = [np.isin(np.arange(known.size), codes_of) for codes_of in own.values()]
    count = min([most, *(int(each.sum()) for each in there)])
    order = np.lexsort((np.random.default_rng(seed).random(known.size), *there))
    group = np.empty(known.size, dtype=np.intp)
    group[order] = np.arange(known.size) % count
    return {name: group[codes_of] for name, codes_of in own.items()}


def left_out_scores(
    partitions: Sequence[Partition],
    groups: Mapping[str, NDArray[np.intp]],
    generations: NDArray[np.integer],
    name: str,
    scale: float,
    together: NDArray[np.intp] | None = None,
    rows: Sequence[NDArray[np.intp]] | None = None,
) -> dict[str, _Numbers]:
    """Scores of one side against the human one, of all texts, without each group and without pairs of groups.

    They are means over generations.

    Parameters
    ----------
    partitions : sequence of Partition
        With both sides, one per seed.
    groups : mapping of str to (n,) array of int
        Group of each text of every side, from :func:`deal_to_groups`.
    generations : (n,) array of int
        Of the side ``name``.
    name : str
    scale : float > 0
        The scaling constant c of MAUVE.
    together : (pairs, 2) array of int, optional
        Groups that are left out together, from :func:`pairs_of`. Default: none.
    rows : sequence of arrays of int, optional
        Under each seed, the texts of the side that count. Default: all.

    Returns
    -------
    dict of str to (1 + groups + pairs, seeds) float64 array
    """
    count = _count(groups)

    def tables(side: str, chosen: Sequence[NDArray[np.bool_]] | None) -> NDArray[np.int64]:
        parts = []
        for index, part in enumerate(partitions):
            kept = slice(None) if chosen is None else chosen[index]
            parts.append(_table(groups[side][kept], part.labels[side][kept], count, part.k))
        stacked = np.stack(parts, axis=1)
        return without_groups(stacked, together)

    p = tables(HUMAN, None)
    found: dict[str, list[_Numbers]] = {measure: [] for measure in SCORES}
    for generation in range(int(generations.max()) + 1):
        own = generations == generation
        counted_texts = [own] * len(partitions) if rows is None else [own & _mask(each, own.size) for each in rows]
        q = tables(name, counted_texts)
        at_once = max(1, TABLE_BYTES // (8 * REFERENCE_WEIGHTS.size * p[0].size))
        blocks = [
            score_counts(p[start : start + at_once], q[start : start + at_once], scale=scale)
            for start in range(0, len(p), at_once)
        ]
        for measure, values in found.items():
            values.append(np.concatenate([block[measure] for block in blocks]))
    return {measure: np.asarray(np.mean(values, axis=0)) for measure, values in found.items()}


def without_groups(tables: NDArray[np.int64], together: NDArray[np.intp] | None = None) -> NDArray[np.int64]:
    """(1 + G + pairs, ...) sums of (G, ...) tables over all groups, without each, and without pairs."""
    whole = tables.sum(axis=0, keepdims=True)
    found = [whole, whole - tables]
    if together is not None:
        found.append(whole - tables[together[:, 0]] - tables[together[:, 1]])
    return np.concatenate(found)


def pairs_of(groups: int, seed: np.random.SeedSequence) -> NDArray[np.intp]:
    """(pairs, 2) at most ``PAIRS`` different pairs of groups, at random."""
    every = np.stack(np.triu_indices(groups, 1), axis=1)
    chosen = np.random.default_rng(seed).permutation(len(every))[:PAIRS]
    return np.asarray(every[np.sort(chosen)], dtype=np.intp)


def _mask(rows: NDArray[np.intp], size: int) -> NDArray[np.bool_]:
    mask = np.zeros(size, dtype=np.bool_)
    mask[rows] = True
    return mask


def _table(groups: NDArray[np.intp], labels: NDArray[np.integer], count: int, k: int) -> NDArray[np.int64]:
    """(count, k) texts of each group in each cluster."""
    return np.bincount(groups * k + labels, minlength=count * k).reshape(count, k).astype(np.int64)


def _count(groups: Mapping[str, NDArray[np.intp]]) -> int:
    return max(int(own.max()) for own in groups.values()) + 1


def _like_sizes(comparison: Comparison, first: str, second: str) -> bool:
    sizes = [comparison.candidate(name).source.n_scored for name in (first, second)]
    return max(sizes) - min(sizes) <= LIKE_SIZES * max(sizes)


def _at_equal_size(
    comparison: Comparison, known: _LeftOut, first: str, second: str
) -> tuple[dict[str, _Numbers], dict[str, _Numbers]]:
    """:func:`left_out_scores` of both in the joint partition, of as many texts as the side with fewer has.

    Which texts of the larger side count is drawn anew under each seed.
    """
    joint, scale = comparison.joint, comparison.config.score.scale
    n = min(comparison.candidate(name).source.n_scored for name in (first, second))
    rng = np.random.default_rng(stream(comparison.config.score.seed, "differences").spawn(1)[0])
    found = []
    for name in (first, second):
        generations, _ = generation_codes(comparison, name)
        rows = [np.concatenate([rng.permutation(own)[:n] for own in comparison.generation_rows(name)]) for _ in joint]
        found.append(left_out_scores(joint, known.folds, generations, name, scale, known.together, rows))
    return found[0], found[1]


def _write_alike(comparison: Comparison, first: str, second: str, device: str) -> dict[str, float]:
    """p-values by score of the hypothesis that two candidates are one source."""
    score, partitions = comparison.config.score, comparison.joint
    slots, units = slots_of(comparison, first, second), comparison.units(first, second)
    codes = np.concatenate([units[first], units[second]])
    rng = np.random.default_rng(stream(score.seed, "exchange"))
    most = max(
        1, COUNT_BYTES // (24 * ((slots.of_first + slots.of_second) * sum(part.k for part in partitions) + codes.size))
    )

    def drawn(count: int) -> dict[str, _Numbers]:
        exchanged = draw_slots(slots.own, codes, slots.of_first, count, rng)
        return joint_differences_of(partitions, slots, exchanged, score.scale, device)

    observed = joint_differences_of(partitions, slots, slots.own[np.newaxis], score.scale)
    null = sequential_null(drawn, PERMUTATIONS, most, observed)
    return {name: sequential_p_value(null[name], float(observed[name][0]), STOP) for name in SCORES}


@dataclass(frozen=True, eq=False)
class Slots:
    """Who wrote which text of two candidates: every generation of either is a slot.

    Attributes
    ----------
    first, second : str
        The candidates.
    of_first, of_second : int
        Their generations. The slots of ``first`` are numbered from 0, those of ``second`` follow.
    own : (n + m,) int32 array
        Slot of each text, those of ``first`` first.
    """

    first: str
    second: str
    of_first: int
    of_second: int
    own: NDArray[np.int32]


def slots_of(comparison: Comparison, first: str, second: str) -> Slots:
    """Return the slots of two candidates of a comparison."""
    one, ones = generation_codes(comparison, first)
    other, others = generation_codes(comparison, second)
    return Slots(first, second, ones, others, np.concatenate([one, ones + other]).astype(np.int32))


def generation_codes(comparison: Comparison, name: str) -> tuple[NDArray[np.int32], int]:
    """Return the generation of each text, and how many there are."""
    own = comparison.generations.get(name)
    if own is None:
        source = comparison.human if name == HUMAN else comparison.candidate(name).source
        return np.zeros(source.n, dtype=np.int32), 1
    return own, int(own.max()) + 1


def joint_differences_of(
    partitions: Sequence[Partition], slots: Slots, drawn: NDArray[np.int32], scale: float, device: str = "cpu"
) -> dict[str, NDArray[np.float64]]:
    """Return the differences of two candidates' scores, averaged over seeds and generations, for rows of slots.

    Parameters
    ----------
    partitions : sequence of Partition
        Joint partitions of the human texts with both, one per seed.
    slots : Slots
    drawn : (b, n + m) int32 array
        Slot in which each text of the two counts; ``slots.own`` is the observed one.
    scale : float > 0
        The scaling constant c of MAUVE.
    device : str
        Where texts are counted.

    Returns
    -------
    dict of str to (b,) float64 array
        By score, first - second.
    """
    k = partitions[0].k
    p = np.stack([part.counts(HUMAN) for part in partitions])
    labels = np.stack(
        [np.concatenate([part.labels[name] for name in (slots.first, slots.second)]) for part in partitions]
    )
    arguments = labels, k, slots.of_first + slots.of_second
    if device == "cpu":
        histograms = counts_by_side(drawn, *arguments)
    else:
        from mauve_core.clusters.devices import counts_by_side_on

        histograms = counts_by_side_on(device, drawn, *arguments)
    found = []
    for counts in histograms:
        human = np.broadcast_to(p, counts.shape)
        found.append(spreads_of(basis_of(CountSamples(p, p, human, counts), "none"), scale))
    one, other = found[: slots.of_first], found[slots.of_first :]

    def mean(of: Sequence[Mapping[str, Spread]], name: str) -> NDArray[np.float64]:
        return np.asarray(np.mean([each[name].resampled for each in of], axis=0))

    return {name: (mean(one, name) - mean(other, name)).mean(axis=1) for name in SCORES}


def sequential_null(
    differences: Callable[[int], Mapping[str, NDArray[np.float64]]],
    draws: int,
    most: int,
    observed: Mapping[str, NDArray[np.float64]],
) -> dict[str, NDArray[np.float64]]:
    """Draw differences under the hypothesis until every score has ``STOP`` that are as far from 0 as observed.

    Parameters
    ----------
    differences : callable
        Number -> so many draws by score.
    draws, most : int
        Draws at most, altogether and at once.
    observed : mapping of str to (1,) array
        By score.
    """
    null = {name: np.empty(0) for name in SCORES}
    while (made := null[REFERENCE_SCORE].size) < draws:
        some = differences(min(max(FIRST_BLOCK, made), draws - made, most))
        null = {name: np.concatenate([null[name], some[name]]) for name in SCORES}
        if all((np.abs(null[name]) >= np.abs(observed[name])).sum() >= STOP for name in SCORES):
            break
    return null


def adjusted(found: Sequence[Difference]) -> tuple[Difference, ...]:
    """Set the p-values of all pairs that are tested under each score to those by Holm's method."""
    tested = [each for each in found if each.detectable is not None]
    by_score = {
        name: iter(holm([each.p_value for each in tested if each.score == name]))
        for name in {each.score for each in tested}
    }
    return tuple(
        each if each.detectable is None else dataclasses.replace(each, p_adjusted=float(next(by_score[each.score])))
        for each in found
    )
