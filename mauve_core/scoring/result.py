"""Result records of a comparison: frozen, plain, and detailed enough to get from a score back to the texts.

P is always the human side, Q a candidate. Labels are cluster numbers from 0 to k - 1, one per text in corpus order, so
a cluster's text ids can be looked up. A score has its spread: over k-means seeds, over generations, and over texts as a
bootstrap interval. :class:`mauve_core.results.Results` has tables and figures of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import Annotated, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.arguments import named
from mauve_core.base.config import HUMAN, KINDS, TEXT, CompareConfig, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import (
    SCORE_DECIMALS,
    interval,
    short,
    summary,
    with_named_spreads,
    with_plain_spaces,
    with_spread,
)
from mauve_core.base.json_codec import Count, Holds, Named, NotNegative, PValue, Within
from mauve_core.base.words import Words
from mauve_core.stats.scores import LASTING, SCORES
from mauve_core.stats.units import Units, connected, generation_units, too_few, units_of
from mauve_core.texts.kinds import kind_of
from mauve_core.texts.normalizing_steps import Change, steps_of
from mauve_core.texts.pairing import MatchedBy

Values = Annotated[tuple[float, ...], Holds(bool, "one number or more")]
Generations = Annotated[tuple[float, ...], Holds(lambda values: len(values) > 1, "two numbers or more")]


@dataclass(frozen=True)
class Estimate:
    """A score with its spread.

    Attributes
    ----------
    mean : float
        Mean over the k-means seeds.
    sd : float or None
        Standard deviation over the seeds (denominator seeds - 1); None with one seed.
    low, high : float
        Bootstrap interval over texts of the mean over seeds (see ``mauve_core.stats.units``).
    values : tuple of float
        The score under each seed; of several generations, their mean.
    generations : tuple of float or None
        The mean over the seeds for each generation of a candidate with several; None otherwise.
    """

    mean: float
    sd: NotNegative | None
    low: float
    high: float
    values: Values
    generations: Generations | None = None

    def __float__(self) -> float:
        return self.mean

    def __format__(self, spec: str) -> str:
        """Format the mean; without a format, mean and spread: ``0.843 ± 0.012``.

        With several generations, both spreads are named: ``0.843 ± 0.012 (seeds) ± 0.020 (5 generations)``.
        """
        if spec:
            return format(self.mean, spec)
        if self.generations is None:
            return with_spread(self.mean, self.sd, SCORE_DECIMALS)
        count = len(self.generations)
        return with_named_spreads(self.mean, self.sd, self.generations_sd, count, SCORE_DECIMALS)

    def __str__(self) -> str:
        return f"{self}"

    def __repr__(self) -> str:
        seeds = len(self.values)
        return with_plain_spaces(f"<Estimate {self._with_interval}, {seeds:,} seed{'' if seeds == 1 else 's'}>")

    @property
    def _with_interval(self) -> str:
        return f"{self} ({interval(self.low, self.high, SCORE_DECIMALS)})"

    @property
    def generations_sd(self) -> float | None:
        """Standard deviation over the generations (denominator generations - 1); None without several."""
        return None if self.generations is None else float(np.std(self.generations, ddof=1))


ScoreName: TypeAlias = Annotated[str, Named(SCORES)]

# A candidate's scores by name. Those of a later version may be among them, and one that is newer than the run may not.
Scores = Annotated[Mapping[str, Estimate], Holds(lambda scores: set(scores) >= LASTING, ", ".join(sorted(LASTING)))]


def shared_scores(scores: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The scores that are among all of these, in display order."""
    every = [*scores]
    return tuple(name for name in SCORES if all(name in each for each in every))


@dataclass(frozen=True)
class SeedSpread:
    """A score under every k-means seed, or under every seed and split.

    Attributes
    ----------
    mean : float
        Mean of the values.
    sd : float or None
        Standard deviation of the values (denominator: their number - 1); None with one value.
    values : tuple of float
        By seed; if texts are split, in the order that the class with this field documents.
    """

    mean: float
    sd: NotNegative | None
    values: Values

    @classmethod
    def of(cls, values: Sequence[float] | NDArray[np.float64]) -> Self:
        """Return the spread of one or more values."""
        array = np.asarray(values, dtype=np.float64)
        sd = float(array.std(ddof=1)) if array.size > 1 else None
        return cls(float(array.mean()), sd, tuple(array.tolist()))


@dataclass(frozen=True)
class Partition:
    """A clustering of the human side with one candidate (pairwise) or with all candidates (joint), under one seed.

    Attributes
    ----------
    kind : {"pairwise", "joint"}
    seed : int
        Index of the seed, 0 to seeds - 1.
    k : int
    objective : float
        Sum of squared distances to the nearest center, in the reduced space.
    labels : mapping of str to (n,) int32 array
        For each source, the cluster of each of its texts.
    """

    kind: PartitionKind
    seed: int
    k: int
    objective: float
    labels: Mapping[str, NDArray[np.int32]]

    def __repr__(self) -> str:
        texts = sum(labels.size for labels in self.labels.values())
        return f"<Partition: {self.kind}, seed {self.seed}, {self.k:,} clusters of {texts:,} texts>"

    def counts(self, source: str) -> NDArray[np.int64]:
        """(k,) number of texts of ``source`` in each cluster."""
        if source not in self.labels:
            raise InputError(f"No source named {source!r} in this partition", allowed=", ".join(self.labels))
        return np.bincount(self.labels[source], minlength=self.k).astype(np.int64)

    def with_texts(self, source: str, rows: NDArray[np.intp]) -> Partition:
        """Return the human side with some texts of ``source``, in the same clusters."""
        return dataclasses.replace(self, labels={HUMAN: self.labels[HUMAN], source: self.labels[source][rows]})


@dataclass(frozen=True)
class Source:
    """One side as it entered the comparison.

    Attributes
    ----------
    name : str
        ``human`` for P, otherwise the candidate's name.
    n : int
        Number of texts, of all generations.
    origin : str
        File of the texts, or "memory".
    digest : str
        SHA-256 of ids and texts.
    features_key : str
        Key of the features in the store, or SHA-256 of the array if features were given.
    tokens_median : float or None
        Median length in the encoder's tokens after cutting; None if features were given.
    cut : int
        Number of texts that the encoder cut at its maximum length.
    max_tokens : int or None
        That length: the smaller of the setting and the model's own limit; None if it was not recorded.
    pooling : str
        How the vectors of a text's tokens became one, as ``Features.pooling``; empty if it was not recorded.
    notes : tuple of str
        Notes from reading the file: exclusions, duplicates, guesses.
    normalized : tuple of Change or None
        What normalizing did to the texts before they were encoded; None if they are as they were read.
    generations : int
        Number of generations: texts for each prompt. Scores are means over generations.
    n_smallest : int or None
        Texts of the smallest generation; None with one.
    kind : str
        What the items are: a name of ``mauve_core.base.config.KINDS``.
    source : str
        As :class:`mauve_core.texts.corpus.Corpus`: of P, empty where it is people's.
    """

    name: str
    n: Count
    origin: str
    digest: str
    features_key: str
    tokens_median: NotNegative | None
    cut: Count
    notes: tuple[str, ...] = ()
    normalized: tuple[Change, ...] | None = None
    generations: Annotated[int, Within(1, 2**31)] = 1
    n_smallest: Count | None = None
    max_tokens: Count | None = None
    pooling: str = ""
    kind: Annotated[str, Holds(KINDS.__contains__, ", ".join(KINDS))] = TEXT
    source: str = ""

    @property
    def words(self) -> Words:
        """What the items are called; of P, whether people wrote them."""
        return kind_of(self.kind).words.against(self.source)

    @property
    def file_name(self) -> str:
        """Name of the file of the texts, without the folders of the machine that read it; ``origin`` if no file."""
        return PurePath(self.origin).name or self.origin

    @property
    def n_scored(self) -> int:
        """Number of texts that one score takes: those of a generation, the smallest if they differ."""
        return self.n if self.n_smallest is None else self.n_smallest


@dataclass(frozen=True)
class Candidate:
    """Result of one candidate.

    Attributes
    ----------
    source : Source
    scores : mapping of str to Estimate
        By name in ``mauve_core.stats.scores.SCORES``, from the pairwise partitions (as published).
    joint_scores : mapping of str to Estimate
        The same from the joint partitions, whose clusters are comparable across candidates.
    partitions : tuple of Partition
        The pairwise partitions, one per seed.
    """

    source: Source
    scores: Mapping[str, Estimate]
    joint_scores: Mapping[str, Estimate]
    partitions: tuple[Partition, ...]

    def __repr__(self) -> str:
        lines = [f"{name} {estimate._with_interval}" for name, estimate in self.scores.items()]
        return summary(f"<Candidate {short(self.name)}: {self._size}>", lines, of="scores")

    def __getitem__(self, score: str) -> Estimate:
        """Return a score from the pairwise partitions; an UnknownNameError lists the names."""
        return named(score, self.scores, "score")

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.scores)

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def _size(self) -> str:
        return f"n = {self.source.n_scored:,}" + "".join(f", k = {each.k:,}" for each in self.partitions[:1])

    def estimate(self, score: str, kind: PartitionKind) -> Estimate:
        """Return the estimate of one score from the partitions of that kind."""
        return (self.joint_scores if kind == "joint" else self.scores)[score]


def lower_median(values: Sequence[float]) -> float:
    """Return the median of the values; of an even number, the lower of the two in the middle."""
    return sorted(values)[(len(values) - 1) // 2]


# Two candidates are told apart if the adjusted p-value of their difference is at most this.
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Difference:
    """Test of the difference of two candidates' scores (see ``mauve_core.scoring.differences``).

    Attributes
    ----------
    score : str
        Name of the score.
    first, second : str
        The candidates.
    difference : float
        Score of ``first`` minus that of ``second``, averaged over seeds, at equal numbers of texts.
    low, high : float
        Interval of the difference, from a jackknife over units.
    p_value : float
        Of the hypothesis that both are equally close to the human texts, in [0, 1].
    p_adjusted : float
        By Holm's method over all pairs of candidates.
    p_alike : float
        Of the hypothesis that both are one source, from exchanged units, in (0, 1].
    paired : bool
        Whether the two have units in common, such as prompts.
    n : int
        Units in common, or, without any, of both.
    detectable : float or None
        True difference that the test finds with probability .8, if the corrected level is the strictest of Holm's; None
        if nothing was tested.
    """

    score: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    p_value: PValue
    p_adjusted: PValue
    p_alike: PValue
    paired: bool
    n: Annotated[int, Within(1, 2**53)]
    detectable: NotNegative | None = None

    @property
    def told_apart(self) -> bool:
        """Whether one is significantly closer to the human texts."""
        return self.p_adjusted <= SIGNIFICANT

    def seen_from(self, candidate: str) -> Difference:
        """Return the same test with ``candidate``, one of the two, as ``first``."""
        if candidate == self.first:
            return self
        return dataclasses.replace(
            self,
            first=self.second,
            second=self.first,
            difference=-self.difference,
            low=-self.high,
            high=-self.low,
        )


def _of_sources(
    codes: Mapping[str, NDArray[np.int32]] | None, names: Sequence[str], sizes: Sequence[int]
) -> NDArray[np.int64]:
    """Numbers of the texts of some sources in a row; all different where none are known."""
    if not codes:
        return np.arange(sum(sizes))
    return np.concatenate([codes[name] for name in names]).astype(np.int64)


# Name of the side that takes the candidate's place when one half of the human texts is compared with the other.
OTHER_HALF = "the other half"


@dataclass(frozen=True)
class LikeForLike:
    """A candidate's scores at the size of human vs. human, against the same human texts.

    Attributes
    ----------
    candidate : str
    n, k : int
        Texts of the candidate, at least ``splits.LEAST_SHARE`` of those of ``Comparison.halves``, and clusters. They
        answer the prompts of the human texts whose place they take, so none is that of a text of P.
    scores : mapping of str to Estimate
        By name in ``mauve_core.stats.scores.SCORES``, from pairwise partitions; one value per split and k-means seed.
    """

    candidate: str
    n: Count
    k: Annotated[int, Within(1, 2**31)]
    scores: Scores


@dataclass(frozen=True)
class Comparison:
    """One human corpus against any number of candidates.

    Attributes
    ----------
    human : Source
    candidates : tuple of Candidate
        In the order given.
    joint : tuple of Partition
        Partitions of the human side and all candidates together, one per seed.
    config : CompareConfig
    warnings : tuple of str
        Advice that applies to these scores (JMLR 2023, section 8), and anything else a reader must know.
    environment : mapping
        Versions, device, start time (ISO 8601, UTC) and seconds of each stage.
    projection : (n_total, 2) float32 array or None
        UMAP positions, the human side first, then the candidates in order. For navigation only.
    halves : Candidate or None
        Human vs. human: one part of the human texts against another, ``OTHER_HALF``, with other prompts; about the
        score of a candidate that writes like people, at that size. Each k-means seed has a random split of its own into
        halves; clusters have as many texts as with a candidate of the human side's size. No joint scores. None if the
        human texts are too few or too alike to be split.
    map_fitted : int or None
        Number of texts on which the map was fitted; every other text is placed among its nearest of these. None
        without a map.
    prompts : mapping of str to (n,) int32 array, or None
        The prompt of each text of every source: equal numbers, equal prompts (``mauve_core.texts.pairing``). None if
        no two sources have a prompt in common.
    prompts_by : {"prompts", "ids", "rows"} or None
        Why texts belong to one prompt: their prompts are equal, or their ids, or they are of one row of a file. None
        without ``prompts``.
    differences : tuple of Difference
        Of every two candidates under every score, at the settings of the comparison. Empty on a leaderboard over two
        runs, whose candidates are not tested against each other.
    like_for_like : tuple of LikeForLike
        Each candidate's texts in the place of ``OTHER_HALF``, at the settings of the comparison; without candidates
        that answer too few of its prompts.
    generations : mapping of str to (n,) int32 array
        For each candidate with several generations, that of each text, from 0.
    groups, contents : mapping of str to (n,) int32 array
        The group of each text of every source, such as its prompt or its document, and equal numbers for equal texts:
        what :meth:`units` are made of. Empty in runs of earlier versions.
    """

    human: Source
    candidates: tuple[Candidate, ...]
    joint: tuple[Partition, ...]
    config: CompareConfig
    warnings: tuple[str, ...]
    environment: Mapping[str, Any]
    projection: NDArray[np.float32] | None = None
    halves: Candidate | None = None
    map_fitted: int | None = None
    prompts: Mapping[str, NDArray[np.int32]] | None = None
    differences: tuple[Difference, ...] = ()
    prompts_by: MatchedBy | None = None
    like_for_like: tuple[LikeForLike, ...] = ()
    generations: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)
    groups: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)
    contents: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Candidate:
        """Return the candidate of that name; an UnknownNameError, which is an InputError, lists the names."""
        return named(name, {candidate.name: candidate for candidate in self.candidates}, "candidate")

    def __contains__(self, name: object) -> bool:
        """Whether a candidate has that name, or is the one given."""
        return any(name == each.name or name is each for each in self.candidates)

    def __iter__(self) -> Iterator[Candidate]:
        """Go through the candidates in the order in which they were given."""
        return iter(self.candidates)

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self.candidates)

    def _ipython_key_completions_(self) -> list[str]:
        return [candidate.name for candidate in self.candidates]

    @property
    def has_words(self) -> bool:
        """Whether the items are texts of a language; as :class:`mauve_core.texts.kinds.Kind`."""
        return kind_of(self.human.kind).has_words

    @property
    def words(self) -> Words:
        """Return what the items are called."""
        return self.human.words

    @property
    def sources(self) -> tuple[Source, ...]:
        """The human side, then the candidates: the order of every stacked array."""
        return (self.human, *(candidate.source for candidate in self.candidates))

    def candidate(self, name: str) -> Candidate:
        """As ``comparison[name]``."""
        return self[name]

    def the_candidate(self, name: str | None) -> Candidate:
        """Return the candidate of that name, or the only one if no name is given; an InputError lists the names."""
        if name is None and len(self.candidates) != 1:
            raise InputError("Which candidate is meant must be said", allowed=", ".join(each.name for each in self))
        return self.candidates[0] if name is None else self.candidate(name)

    @property
    def score_names(self) -> tuple[str, ...]:
        """The scores that all sides have, in display order: a stored run may be older than a score."""
        sides = (*self.candidates, *([] if self.halves is None else [self.halves]))
        return shared_scores(own for each in sides for own in (each.scores, each.joint_scores) if own)

    @property
    def is_tested(self) -> bool:
        """Whether tests tell every two candidates apart, rather than their intervals."""
        return bool(self.differences) or len(self.candidates) < 2

    @property
    def normalization(self) -> tuple[str, ...]:
        """Return the steps of normalizing that were applied to every side; empty for texts as they were read."""
        return steps_of(self.human.normalized)

    def shared_prompts(self, candidate: str) -> int:
        """Return how many prompts the human side and a candidate have in common."""
        self.candidate(candidate)  # raises InputError if unknown
        if self.prompts is None:
            return 0
        return int(np.intersect1d(self.prompts[self.human.name], self.prompts[candidate]).size)

    def partitions(self, kind: PartitionKind, candidate: str) -> tuple[Partition, ...]:
        """Return the partitions of that kind, one per seed; the joint ones are the same for every candidate."""
        own = self.candidate(candidate)  # raises InputError if unknown
        return self.joint if kind == "joint" else own.partitions

    def median_seed(self, candidate: str, kind: PartitionKind = "pairwise") -> int:
        """Return the index of the seed whose partition is shown by default.

        It is the seed under which MAUVE, at the comparison's own settings and in partitions of that kind, is the median
        over the seeds: the lower of two medians, and the first of equal values. Pairwise, it is the candidate's MAUVE.
        Joint, it is the mean over all candidates, so that all of them are shown in the same clusters.
        """
        shown = (self.candidate(candidate),) if kind == "pairwise" else self.candidates
        self.candidate(candidate)  # raises InputError if unknown
        by_seed = zip(*(each.estimate("mauve", kind).values for each in shown), strict=True)
        values = [sum(under_seed) for under_seed in by_seed]
        return values.index(lower_median(values))

    def partition(self, kind: PartitionKind, candidate: str, seed: int | None = None) -> Partition:
        """Return the one of :meth:`partitions` under that seed index; None means :meth:`median_seed`."""
        partitions = self.partitions(kind, candidate)
        seed = self.median_seed(candidate, kind) if seed is None else seed
        if not 0 <= seed < len(partitions):
            raise InputError("No partition with that seed", allowed=f"0 to {len(partitions) - 1}", received=str(seed))
        return partitions[seed]

    def at_size_of_halves(self, candidate: str) -> LikeForLike | None:
        """Return the candidate's entry of ``like_for_like``, if there is one."""
        return next((each for each in self.like_for_like if each.candidate == candidate), None)

    def difference(self, score: str, one: str, other: str) -> Difference | None:
        """Return the tested difference of two candidates, in the order in which it is stored; None if not tested."""
        found = (each for each in self.differences if each.score == score and {each.first, each.second} == {one, other})
        return next(found, None)

    def units(self, *names: str) -> dict[str, NDArray[np.int64]]:
        """Return the unit of each text of some sources: what is resampled and exchanged as a whole.

        Units are components of texts with an equal group or equal texts among these sources alone: what a third source
        repeats says nothing of them.
        """
        sizes = [next(source.n for source in self.sources if source.name == name) for name in names]
        ends = np.cumsum(sizes)[:-1]
        groups = _of_sources(self.groups or self.prompts, names, sizes)
        codes = connected(groups, _of_sources(self.contents, names, sizes))
        return dict(zip(names, np.split(codes, ends), strict=True))

    def units_with(self, candidate: str) -> Units:
        """Return the units of the human side, P, and a candidate, all its generations together."""
        self.candidate(candidate)  # raises InputError if unknown
        return units_of(*self._units_by_candidate[candidate])

    def generation_units(self, candidate: str) -> tuple[Units, ...]:
        """Return the units of the human side, P, and each generation of a candidate: equal draws take equal units."""
        self.candidate(candidate)  # raises InputError if unknown
        human, own = self._units_by_candidate[candidate]
        return generation_units(human, [own[rows] for rows in self.generation_rows(candidate)])

    def why_no_interval(self, *names: str) -> str:
        """Say why units of these sources support neither an interval nor a test; empty if they do."""
        return too_few(*self.units(*names).values())

    @cached_property
    def _units_by_candidate(self) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
        found = {each.name: self.units(self.human.name, each.name) for each in self.candidates}
        return {name: (units[self.human.name], units[name]) for name, units in found.items()}

    def generation_rows(self, candidate: str) -> tuple[NDArray[np.intp], ...]:
        """Return the positions of a candidate's texts in each of its generations."""
        own = self.generations.get(candidate)
        if own is None:
            return (np.arange(self.candidate(candidate).source.n),)
        return tuple(np.flatnonzero(own == number) for number in range(int(own.max()) + 1))

    def __repr__(self) -> str:
        return self.in_lines("Comparison")

    def in_lines(self, title: str) -> str:
        """Below a title, say what was compared and each candidate's MAUVE, the best first, in a few lines."""
        warned = f", {len(self.warnings):,} in .warnings" if self.warnings else ""
        best = sorted(self.candidates, key=lambda each: each["mauve"].mean, reverse=True)
        lines = [f"{short(each.name)}, MAUVE {each['mauve']._with_interval}, {each._size}" for each in best]
        title = f"<{title}: {self.human.n:,} human texts{warned}, {self.config.made_by}>"
        return summary(title, lines, of="candidates")
