"""Turn partitions into scores, with standard deviations over k-means seeds and bootstrap intervals over texts.

The input is the labels that a comparison keeps, so another scaling constant or smoothing needs no new clustering and is
fast enough for a slider, for two reasons. First, a frontier does not depend on the scaling constant (JMLR 2023, section
3.1): the frontiers of all resamples are kept, and only the area under exp(-c x), exp(-c y) is recomputed. Second, a
bin's share of an error depends only on its two counts, unless the smoothing needs the other counts. Few pairs of counts
are distinct, so shares are tabulated by pair and summed by a sparse product. Histograms of resamples are computed in
blocks.

:func:`divergence` applies a function of two histograms from elsewhere in the same way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, PartitionKind, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.scoring.result import OTHER_HALF, Candidate, Comparison, Estimate, LikeForLike, Partition
from mauve_core.scoring.streams import half_seeds, splits_of, stream
from mauve_core.stats.divergences import added_count, count_pairs, integral_terms, probabilities
from mauve_core.stats.scores import SCORES, Score, score_parts
from mauve_core.stats.units import (
    RATE_REPLICATES,
    Draws,
    Units,
    centred_interval,
    draw_blocks,
    exchange_rate,
    fits,
    units_of,
)

# Memory of the resamples' histograms that are held at once.
COUNT_BYTES = 2**27

# Numbers taken for every pair of counts; where resamples have unequally many texts, hardly two bins share a pair.
PAIR_NUMBERS = 52


@dataclass(frozen=True)
class CountSamples:
    """Histograms of one candidate, for the texts and for the bootstrap resamples.

    Attributes
    ----------
    p, q : (seeds, k) int64 arrays
        Human and candidate counts under each k-means seed.
    p_resampled, q_resampled : (B, seeds, k) int64 arrays
        The same for each resample of the texts; all seeds share the resamples.
    rate : float
        The exchange rate of the resamples.
    """

    p: NDArray[np.int64]
    q: NDArray[np.int64]
    p_resampled: NDArray[np.int64]
    q_resampled: NDArray[np.int64]
    rate: float = 1.0


@dataclass(frozen=True)
class TwoSides:
    """The partitions of the human side with one candidate, and how their texts are drawn.

    Attributes
    ----------
    candidate : str
    partitions : tuple of Partition
        One per seed, all of the same texts.
    units : Units
        The human side is P.
    seed : numpy.random.SeedSequence
    device : str
        Where resamples are counted, as in :func:`mauve_core.clusters.k_means.kmeans`.
    """

    candidate: str
    partitions: tuple[Partition, ...]
    units: Units
    seed: np.random.SeedSequence
    device: str = "cpu"

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Histograms of the texts under each seed, (seeds, k) for either side."""
        p, q = (np.stack([part.counts(side) for part in self.partitions]) for side in (HUMAN, self.candidate))
        return p, q

    def resampled(self, draws: Draws, rate: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Histograms of resamples at an exchange rate, (B, seeds, k) for either side."""
        labels = [np.concatenate([part.labels[side] for side in (HUMAN, self.candidate)]) for part in self.partitions]
        table, k = np.stack(labels), self.partitions[0].k
        if self.device == "cpu":
            return draws.counts(table, k, rate)
        from mauve_core.clusters.devices import weighted_counts_on

        p, q = (weighted_counts_on(self.device, table, k, weights) for weights in draws.weights(rate))
        return p, q

    def draws(self, replicates: int, most: int | None = None) -> Iterator[Draws]:
        """Yield the resamples, at most ``most`` at once."""
        return draw_blocks(self.units, replicates, np.random.default_rng(self.seed), most=most)

    def exchange_rate(self, replicates: int) -> float:
        """The exchange rate at which the mean frontier integral over seeds is that of the texts.

        It is found without smoothing and serves every score, smoothing and scaling constant.
        """
        count = min(replicates, RATE_REPLICATES)
        kept = list(self.draws(count)) if fits(self.units, count) else None

        def mean_at(rate: float) -> float:
            blocks = kept or self.draws(count)  # what does not fit is drawn again
            return float(np.concatenate([_integrals(*self.resampled(draws, rate)) for draws in blocks]).mean())

        return exchange_rate(float(_integrals(*self.counts()).mean()), mean_at)


def _integrals(p_counts: NDArray[np.int64], q_counts: NDArray[np.int64]) -> NDArray[np.float64]:
    pairs = count_pairs(p_counts, q_counts)
    return pairs.sums(integral_terms(*pairs.probabilities(0.0))[:, np.newaxis])


def count_blocks(sides: TwoSides, score: ScoreConfig) -> Iterator[CountSamples]:
    """Yield the counts of one candidate in blocks of resamples, so that memory does not grow with their number."""
    p, q = sides.counts()
    rate = sides.exchange_rate(score.bootstrap)
    numbers = 2 if sides.units.even else PAIR_NUMBERS
    most = max(1, COUNT_BYTES // (8 * numbers * p.size))
    for draws in sides.draws(score.bootstrap, most):
        yield CountSamples(p, q, *sides.resampled(draws, rate), rate)


CURVES_AT_ONCE = 2**14


def two_sides(comparison: Comparison, kind: PartitionKind, candidate: str, device: str = "cpu") -> TwoSides:
    """Return the human side with a candidate, all its generations together, and how their texts are drawn.

    Raises
    ------
    InputError
        The candidate is unknown.
    """
    partitions = comparison.partitions(kind, candidate)
    seed = stream(comparison.config.score.seed, "bootstrap")
    return TwoSides(candidate, partitions, comparison.units_with(candidate), seed, device)


def generation_sides(
    comparison: Comparison, kind: PartitionKind, candidate: str, device: str = "cpu"
) -> tuple[TwoSides, ...]:
    """Return :func:`two_sides` of each generation of a candidate; all generations draw the same units.

    Raises
    ------
    InputError
        The candidate is unknown.
    """
    whole = two_sides(comparison, kind, candidate, device)
    if candidate not in comparison.generations:
        return (whole,)
    rows, units = comparison.generation_rows(candidate), comparison.generation_units(candidate)
    return tuple(
        dataclasses.replace(
            whole, partitions=tuple(part.with_texts(candidate, own) for part in whole.partitions), units=each
        )
        for own, each in zip(rows, units, strict=True)
    )


def _sides_of_splits(comparison: Comparison, name: str, partitions: Sequence[Partition], device: str) -> list[TwoSides]:
    """Part of the human texts with another part, or with a candidate in its place, in each split."""
    seed, found = half_seeds(comparison.config.score).resampling, []
    units = comparison.units(HUMAN) if name == OTHER_HALF else comparison.units(HUMAN, name)
    for split, part in zip(splits_of(comparison), partitions, strict=True):
        rows = split.other if name == OTHER_HALF else comparison.generation_rows(name)[0][split.candidates[name]]
        of_parts = units_of(units[HUMAN][split.one], units[HUMAN if name == OTHER_HALF else name][rows])
        found.append(TwoSides(name, (part,), of_parts, seed, device))
    return found


def _by_split(counts: Sequence[CountSamples]) -> CountSamples:
    """Put histograms of one seed each side by side, as those of several seeds."""
    if len(counts) == 1:
        return counts[0]
    names = ("p", "q", "p_resampled", "q_resampled")
    p, q, *drawn = (np.concatenate([getattr(each, name) for each in counts], axis=-2) for name in names)
    return CountSamples(p, q, drawn[0], drawn[1])


def resamples(comparison: Comparison, candidate: str) -> dict[str, NDArray[np.int32]]:
    """Return how often each bootstrap resample draws each text, as (B, n) for the human side and the candidate.

    Units are drawn as wholes and never change sides.
    """
    sides, count = two_sides(comparison, "joint", candidate), comparison.config.score.bootstrap
    units, done = sides.units, 0
    found = {
        source: np.empty((count, size), dtype=np.int32) for source, size in ((HUMAN, units.n), (candidate, units.m))
    }
    for draws in draw_blocks(units, count, np.random.default_rng(sides.seed)):
        on_p, on_q = draws.weights(0.0)
        found[HUMAN][done : done + len(on_p)] = on_p[:, : units.n]
        found[candidate][done : done + len(on_q)] = on_q[:, units.n :]
        done += len(on_p)
    return found


@dataclass(frozen=True)
class Spread:
    """A quantity of one candidate: ``values`` (seeds,) of the texts, ``resampled`` (B, seeds) of their resamples.

    With several generations, the seeds of the first come first, then those of the second, and so on. ``rate`` is the
    exchange rate of the resamples.
    """

    values: NDArray[np.float64]
    resampled: NDArray[np.float64]
    generations: int = 1
    rate: float = 1.0


@dataclass(frozen=True)
class ScoreBasis:
    """The parts of one candidate's scores, under one smoothing, that do not depend on the scaling constant.

    Attributes
    ----------
    parts : mapping of str to Spread
        By score, those of :class:`mauve_core.stats.scores.Score`: (seeds, ...) and (B, seeds, ...).
    generations : int
        Their number; the seeds of all are in a row, as in :class:`Spread`.
    rate : float
        The exchange rate of the resamples, on average over generations.
    """

    parts: Mapping[str, Spread]
    generations: int = 1
    rate: float = 1.0


def score_basis(
    comparison: Comparison, kind: PartitionKind, smoothing: str, device: str = "cpu"
) -> dict[str, ScoreBasis]:
    """Compute the score basis of every candidate; keep it between calls of :func:`rescored`.

    With pairwise partitions, the key ``human`` holds the basis of human vs. human, if there is any. The smoothing is as
    in :func:`mauve_core.stats.divergences.probabilities`, the device as in :class:`TwoSides`.

    Raises
    ------
    InputError
        The smoothing is unknown.
    """
    added_count(smoothing)  # raises InputError before anything is drawn
    score, halves = comparison.config.score, comparison.halves
    names = [candidate.name for candidate in comparison.candidates]
    sides = {name: generation_sides(comparison, kind, name, device) for name in names}
    basis = {name: basis_of_generations(each, score, smoothing) for name, each in sides.items()}
    if kind == "pairwise" and halves is not None:
        sides_of_halves = _sides_of_splits(comparison, halves.name, halves.partitions, device)
        basis[HUMAN] = _basis_side_by_side(sides_of_halves, score, smoothing)
    return basis


def basis_of_generations(generations: Sequence[TwoSides], score: ScoreConfig, smoothing: str) -> ScoreBasis:
    """Compute the score basis of every generation of a candidate, from :func:`generation_sides`, and join them."""
    found = [basis_of_sides(sides, score, smoothing) for sides in generations]
    if len(found) == 1:
        return found[0]

    rate = float(np.mean([each.rate for each in found]))
    return ScoreBasis({name: _side_by_side([each.parts[name] for each in found]) for name in SCORES}, len(found), rate)


def basis_of_sides(sides: TwoSides, score: ScoreConfig, smoothing: str) -> ScoreBasis:
    return _basis_side_by_side([sides], score, smoothing)


def _basis_side_by_side(sides: Sequence[TwoSides], score: ScoreConfig, smoothing: str) -> ScoreBasis:
    blocks = zip(*(count_blocks(each, score) for each in sides), strict=True)
    found = [basis_of(_by_split(block), smoothing) for block in blocks]
    if len(found) == 1:
        return found[0]
    return basis_of_parts(
        {name: each.values for name, each in found[0].parts.items()},
        [{name: each.resampled for name, each in block.parts.items()} for block in found],
        found[0].rate,
    )


def basis_of_parts(
    own: Mapping[str, NDArray[np.float64]], drawn: Sequence[Mapping[str, NDArray[np.float64]]], rate: float
) -> ScoreBasis:
    """The basis of the parts of every score, of the texts and of blocks of resamples."""
    joined = {name: np.concatenate([block[name] for block in drawn]) for name in SCORES}
    return ScoreBasis({name: Spread(own[name], joined[name]) for name in SCORES}, rate=rate)


def scored(
    comparison: Comparison,
    like_for_like: Mapping[str, tuple[Partition, ...]],
    progress: Progress = silent,
    device: str = "cpu",
) -> Comparison:
    """Score the joint and pairwise partitions of a comparison under its own settings.

    Parameters
    ----------
    like_for_like : mapping of str to tuple of Partition
        By candidate, the partitions of its texts in the place of one part of the human texts, each with its own split.
    progress : callable
    device : str
        As in :class:`TwoSides`.
    """
    kinds: tuple[PartitionKind, ...] = ("joint", "pairwise")
    for done, kind in enumerate(kinds):
        progress("scoring", done, len(kinds) + 1)
        basis = score_basis(comparison, kind, "none", device)
        comparison = rescored(comparison, kind, basis, comparison.config.score.scale)
    progress("scoring", len(kinds), len(kinds) + 1)
    references = tuple(_like_for_like(comparison, name, parts, device) for name, parts in like_for_like.items())
    progress("scoring", len(kinds) + 1, len(kinds) + 1)
    return dataclasses.replace(comparison, like_for_like=references)


def _like_for_like(comparison: Comparison, name: str, partitions: tuple[Partition, ...], device: str) -> LikeForLike:
    score = comparison.config.score
    basis = _basis_side_by_side(_sides_of_splits(comparison, name, partitions, device), score, "none")
    scores = estimates_of(basis, score.scale, score.confidence, splits=True)
    scores = if_known(scores, comparison.why_no_interval(HUMAN, name))
    return LikeForLike(name, min(each.labels[name].size for each in partitions), partitions[0].k, scores)


def rescored(comparison: Comparison, kind: PartitionKind, basis: Mapping[str, ScoreBasis], scale: float) -> Comparison:
    """Score the partitions of one kind again under ``scale`` and the smoothing of ``basis``.

    Parameters
    ----------
    kind : {"pairwise", "joint"}
        The partitions that ``basis`` was made from; the scores of the other kind stay.
    basis : mapping
        From :func:`score_basis`.
    scale : float > 0
        The scaling constant c of MAUVE; becomes ``config.score.scale`` of the result.

    Returns
    -------
    Comparison
        Without ``like_for_like`` scores, which hold for the comparison's own settings.
    """
    score = dataclasses.replace(comparison.config.score, scale=scale)
    candidates = []
    for candidate in comparison.candidates:
        estimates = estimates_of(basis[candidate.name], scale, score.confidence)
        estimates = if_known(estimates, comparison.why_no_interval(HUMAN, candidate.name))
        candidates.append(_with_scores(candidate, kind, estimates))
    halves = comparison.halves
    if halves is not None and HUMAN in basis:
        estimates = estimates_of(basis[HUMAN], scale, score.confidence, splits=True)
        halves = _with_scores(halves, kind, if_known(estimates, comparison.why_no_interval(HUMAN)))
    config = dataclasses.replace(comparison.config, score=score)
    return dataclasses.replace(comparison, candidates=tuple(candidates), config=config, halves=halves, like_for_like=())


def if_known(
    estimates: Mapping[str, Estimate], why_not: str, bounds: Mapping[str, tuple[float, float]] | None = None
) -> dict[str, Estimate]:
    """Estimates whose intervals are the whole range if units support none."""
    if not why_not:
        return dict(estimates)
    ends = {name: SCORES[name].bounds if bounds is None else bounds[name] for name in estimates}
    return {name: dataclasses.replace(each, low=ends[name][0], high=ends[name][1]) for name, each in estimates.items()}


def _with_scores(candidate: Candidate, kind: PartitionKind, scores: Mapping[str, Estimate]) -> Candidate:
    if kind == "joint":
        return dataclasses.replace(candidate, joint_scores=scores)
    return dataclasses.replace(candidate, scores=scores)


def basis_of(counts: CountSamples, smoothing: str) -> ScoreBasis:
    """Compute the score basis from one candidate's histograms."""
    sides = (counts.p, counts.q), (counts.p_resampled, counts.q_resampled)
    own, drawn = (score_parts(*pair, smoothing, count_pairs(*pair)) for pair in sides)
    return basis_of_parts(own, [drawn], counts.rate)


def estimates_of(basis: ScoreBasis, scale: float, confidence: float, *, splits: bool = False) -> dict[str, Estimate]:
    """Return one candidate's scores: mean and standard deviation over seeds, and the bootstrap interval of the mean.

    The interval is centered on the mean (see :func:`mauve_core.stats.units.centred_interval`). If
    each seed has a split of its own (``splits``), its width is that of a single split: the splits share texts, so the
    width of their mean is unknown, but not larger.
    """
    spreads = spreads_of(basis, scale)
    if splits:
        spreads = {score: Spread(each.values, _about_their_means(each.resampled)) for score, each in spreads.items()}
    return {score: estimate_of(spread, confidence, SCORES[score].bounds) for score, spread in spreads.items()}


def _about_their_means(resampled: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pool the deviations of every split's resamples from their mean, (B, splits) -> (B x splits, 1)."""
    deviations: NDArray[np.float64] = resampled - resampled.mean(axis=0)
    return deviations.reshape(-1, 1)


def spreads_of(basis: ScoreBasis, scale: float) -> dict[str, Spread]:
    """Return every score of one candidate under each seed, for the texts and for their resamples."""
    found = {}
    for name, score in SCORES.items():
        own, drawn = (_values(score, each, scale) for each in (basis.parts[name].values, basis.parts[name].resampled))
        found[name] = Spread(own, drawn, basis.generations, basis.rate)
    return found


def _values(score: Score, parts: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Compute areas a few curves at a time, because a curve takes more memory than its frontier."""
    rows = range(0, len(parts), CURVES_AT_ONCE)
    return np.concatenate([score.value(parts[start : start + CURVES_AT_ONCE], scale) for start in rows])


def estimate_of(spread: Spread, confidence: float, bounds: tuple[float, float]) -> Estimate:
    """Return mean and standard deviation over seeds, and the interval from the resamples, centered on the mean.

    Resamples keep the partitions, so the variance of the mean over seeds is added, as far as texts are not exchanged:
    where most are, simulations find the interval wide enough without it (``benchmarks/calibration.py``).

    Of several generations, the score under a seed is their mean, and so is that of a resample, which draws the same
    prompts for all of them.
    """
    mean = float(spread.values.mean())
    values, generations = spread.values, None
    if spread.generations > 1:
        table = spread.values.reshape(spread.generations, -1)
        values, generations = table.mean(axis=0), tuple(table.mean(axis=1).tolist())
    sd = float(values.std(ddof=1)) if len(values) > 1 else None
    drawn = spread.resampled.mean(axis=1)
    over_texts, over_seeds = float(drawn.var(ddof=1)), ((1 - spread.rate) * (sd or 0.0)) ** 2 / len(values)
    if over_texts > 0:
        drawn = drawn.mean() + (drawn - drawn.mean()) * (1 + over_seeds / over_texts) ** 0.5
    low, high = centred_interval(mean, drawn, confidence, bounds=bounds)
    return Estimate(mean, sd, low, high, tuple(float(value) for value in values), generations)


# A function of (k,) probabilities of the human side and of the model's, with a number as its value.
Divergence = Callable[[NDArray[np.float64], NDArray[np.float64]], Any]


def divergence(
    comparison: Comparison,
    function: Divergence,
    *,
    kind: PartitionKind = "pairwise",
    smoothing: str = "none",
    bounds: tuple[float, float] = (0.0, np.inf),
) -> dict[str, Estimate]:
    """Apply a divergence to the histograms of every candidate, with the spread that the scores have.

    Parameters
    ----------
    function : callable
        Called with two arrays of k probabilities each, of the human texts and of the candidate's, for every k-means
        seed, and for every resample of the texts under it.
    kind : {"pairwise", "joint"}
    smoothing : str
        As in :func:`mauve_core.stats.divergences.probabilities`; without, some probabilities are 0.
    bounds : (float, float)
        The smallest and the largest value that there can be; intervals end there.

    Returns
    -------
    dict of str to Estimate
        By candidate: mean and standard deviation over k-means seeds, and the bootstrap interval over texts, at the
        comparison's confidence level.

    Raises
    ------
    InputError
        A value is no finite number within the bounds, or the smoothing is unknown. What the function itself raises
        passes through.

    Examples
    --------
    >>> import numpy as np
    >>> from mauve_core import compare
    >>> from mauve_core.scoring.estimates import divergence
    >>> rng = np.random.default_rng(0)
    >>> texts = {name: [f"{name} {number}" for number in range(40)] for name in ("human", "greedy")}
    >>> features = {"human": rng.normal(size=(40, 8)), "greedy": rng.normal(1, size=(40, 8))}
    >>> result = compare(texts["human"], {"greedy": texts["greedy"]}, features=features, seeds=3, draw_map=False)
    >>> distances = divergence(result, lambda p, q: np.abs(p - q).sum() / 2)
    >>> distances["greedy"]
    <Estimate 0... ± 0... (0... to ...), 3 seeds>
    """
    added_count(smoothing)  # raises InputError before anything is drawn
    confidence = comparison.config.score.confidence
    found = {}
    for candidate in comparison.candidates:
        sides = generation_sides(comparison, kind, candidate.name)
        spreads = [_spread(each, comparison, function, smoothing, bounds) for each in sides]
        found[candidate.name] = estimate_of(_side_by_side(spreads), confidence, bounds)
    return found


def _spread(
    sides: TwoSides, comparison: Comparison, function: Divergence, smoothing: str, bounds: tuple[float, float]
) -> Spread:
    values: NDArray[np.float64] | None = None
    resampled, rate = [], 1.0
    for block in count_blocks(sides, comparison.config.score):
        if values is None:
            values = _applied(function, block.p, block.q, smoothing, bounds)
        resampled.append(_applied(function, block.p_resampled, block.q_resampled, smoothing, bounds))
        rate = block.rate
    return Spread(np.empty(0) if values is None else values, np.concatenate(resampled), rate=rate)


def _applied(
    function: Divergence,
    p_counts: NDArray[np.int64],
    q_counts: NDArray[np.int64],
    smoothing: str,
    bounds: tuple[float, float],
) -> NDArray[np.float64]:
    """Apply the function along the last axis."""
    p, q = probabilities(p_counts, smoothing), probabilities(q_counts, smoothing)
    values = np.empty(p.shape[:-1])
    for place in np.ndindex(values.shape):
        values[place] = _number(function(p[place].copy(), q[place].copy()), bounds)
    return values


def _number(value: Any, bounds: tuple[float, float]) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InputError(
            "The divergence returned no number", allowed="a finite number", received=type(value).__name__
        ) from error
    if not np.isfinite(number):
        raise InputError(
            "The divergence is not finite",
            allowed="a finite number",
            received=str(number),
            todo="Smooth the histograms, such as smoothing='krichevsky-trofimov', so that no probability is 0",
        )
    if not bounds[0] <= number <= bounds[1]:
        raise InputError(
            "The divergence is out of its bounds",
            allowed=f"{bounds[0]:g} to {bounds[1]:g}",
            received=str(number),
            todo="Give the bounds that it has: divergence(function, bounds=(low, high))",
        )
    return number


def _side_by_side(spreads: Sequence[Spread]) -> Spread:
    """Return the spreads of several generations as one."""
    if len(spreads) == 1:
        return spreads[0]
    values = np.concatenate([each.values for each in spreads])
    rate = float(np.mean([each.rate for each in spreads]))
    return Spread(values, np.concatenate([each.resampled for each in spreads], axis=1), len(spreads), rate)
