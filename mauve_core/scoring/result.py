"""Result records of a comparison: frozen, plain, and detailed enough to get from a score back to the texts.

P is always the human side, Q a candidate. Labels are cluster numbers from 0 to k - 1, one per text in corpus order, so
a cluster's text ids can be looked up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import PurePath
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, CompareConfig, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.base.names import named
from mauve_core.base.validation import Count, Holds, NotNegative, PValue, Within
from mauve_core.base.words import Words
from mauve_core.corpus.kinds import KINDS, TEXT, kind_of
from mauve_core.corpus.normalizing_steps import Change, steps_of
from mauve_core.corpus.pairing import MatchedBy
from mauve_core.numerics.resampling.exchange import (
    PromptGroups,
    generation_groups,
    prompt_groups,
    separate_prompts,
)
from mauve_core.scoring.comparison_views import ComparisonViews
from mauve_core.scoring.spread import Estimate, Scores


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
        from mauve_core.scoring.summaries import summary_of_partition

        return summary_of_partition(self)

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
        What the items are: a name of ``mauve_core.corpus.kinds.KINDS``.
    source : str
        As :class:`mauve_core.corpus.corpus.Corpus`: of P, empty where it is people's.
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
        By name in ``mauve_core.base.config.SCORES``, from the pairwise partitions (as published).
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
        from mauve_core.scoring.summaries import summary_of_candidate

        return summary_of_candidate(self)

    def __getitem__(self, score: str) -> Estimate:
        """Return a score from the pairwise partitions; an UnknownNameError lists the names."""
        return named(score, self.scores, "score")

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.scores)

    @property
    def name(self) -> str:
        return self.source.name

    def estimate(self, score: str, kind: PartitionKind) -> Estimate:
        """Return the estimate of one score from the partitions of that kind."""
        return (self.joint_scores if kind == "joint" else self.scores)[score]


def lower_median(values: Sequence[float]) -> float:
    """Return the median of the values; of an even number, the lower of the two in the middle."""
    return sorted(values)[(len(values) - 1) // 2]


SIGNIFICANT = 0.05
"""Two candidates are told apart if the adjusted p-value of their difference is at most this."""


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
        Score of ``first`` minus that of ``second``, pairwise, averaged over seeds.
    low, high : float
        Bootstrap interval of the difference; both candidates' resamples draw the same prompts.
    joint_difference : float
        The same from joint partitions of the human texts with both candidates, which is what is tested.
    p_value : float
        Of the exchange of texts between the two, in (0, 1].
    p_adjusted : float
        By Holm's method over all pairs of candidates.
    paired : bool
        Whether texts were exchanged within prompts.
    n : int
        Prompts in common, or, without any, texts of both.
    """

    score: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    joint_difference: float
    p_value: PValue
    p_adjusted: PValue
    paired: bool
    n: Annotated[int, Within(1, 2**53)]

    @property
    def told_apart(self) -> bool:
        """Whether the difference is significant, and neither the joint partition nor the interval speaks against it.

        The exchange finds a difference in the joint partition. What is reported beside it is that of the pairwise
        partitions: its sign has to be the same, and its interval must not reach 0.
        """
        same_sign = self.difference * self.joint_difference > 0
        return self.p_adjusted <= SIGNIFICANT and same_sign and self.interval_excludes_0

    @property
    def interval_excludes_0(self) -> bool:
        """Whether the whole interval is on one side of 0."""
        return self.low > 0 or self.high < 0

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
            joint_difference=-self.joint_difference,
        )


OTHER_HALF = "the other half"
"""Name of the side that takes the candidate's place when one half of the human texts is compared with the other."""


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
        By name in ``mauve_core.base.config.SCORES``, from pairwise partitions; one value per split and k-means seed.
    """

    candidate: str
    n: Count
    k: Annotated[int, Within(1, 2**31)]
    scores: Scores


@dataclass(frozen=True)
class Comparison(ComparisonViews):
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
        The prompt of each text of every source: equal numbers, equal prompts (``mauve_core.corpus.pairing``). Texts of
        one prompt are resampled and exchanged together. None if no two sources have a prompt in common.
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

    @property
    def has_words(self) -> bool:
        """Whether the items are texts of a language; as :class:`mauve_core.corpus.kinds.Kind`."""
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

    def prompt_groups(self, candidate: str) -> PromptGroups:
        """Return the texts of the human side, P, and a candidate by prompt, all its generations together.

        Of a candidate without repeats, they are those of :meth:`generation_groups`.
        """
        source = self.candidate(candidate).source  # raises InputError if unknown
        if candidate not in self.generations:
            return self._groups_by_candidate[candidate][0]
        if self.prompts is None or not self.shared_prompts(candidate):
            return separate_prompts(self.human.n, source.n)
        return prompt_groups(self.prompts[self.human.name], self.prompts[candidate])

    def generation_rows(self, candidate: str) -> tuple[NDArray[np.intp], ...]:
        """Return the positions of a candidate's texts in each of its generations."""
        own = self.generations.get(candidate)
        if own is None:
            return (np.arange(self.candidate(candidate).source.n),)
        return tuple(np.flatnonzero(own == number) for number in range(int(own.max()) + 1))

    def generation_groups(self, candidate: str) -> tuple[PromptGroups, ...]:
        """Return the texts of the human side, P, and each generation of a candidate by prompt.

        All generations are drawn alike: equal random numbers draw equal prompts, as far as all of them answer these.
        """
        self.candidate(candidate)  # raises InputError if unknown
        return self._groups_by_candidate[candidate]

    def aligned_groups(self) -> dict[str, tuple[PromptGroups, ...]]:
        """Return :meth:`generation_groups` of every candidate so that all candidates are drawn alike, too.

        They are the same where all candidates that share prompts with P answer the same ones equally often.
        """
        together = [each.name for each in self.candidates if self.shared_prompts(each.name)]
        if self.prompts is None or not together:
            return self._groups_by_candidate
        own = {name: [self.prompts[name][rows] for rows in self.generation_rows(name)] for name in together}
        alike = iter(generation_groups(self.prompts[self.human.name], [each for name in own for each in own[name]]))
        return self._groups_by_candidate | {name: tuple(islice(alike, len(own[name]))) for name in together}

    @cached_property
    def _groups_by_candidate(self) -> dict[str, tuple[PromptGroups, ...]]:
        found: dict[str, tuple[PromptGroups, ...]] = {}
        for name in (each.name for each in self.candidates):
            rows = self.generation_rows(name)
            if self.prompts is None or not self.shared_prompts(name):
                found[name] = tuple(separate_prompts(self.human.n, own.size) for own in rows)
            else:
                codes = self.prompts[name]
                found[name] = generation_groups(self.prompts[self.human.name], [codes[own] for own in rows])
        return found

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 (the signature is IPython's)
        """Print the leaderboard under IPython, instead of every label."""
        from mauve_core.scoring.tables import to_table

        printer.text(to_table(self))

    def __repr__(self) -> str:
        from mauve_core.scoring.summaries import summary_of_comparison

        return summary_of_comparison(self)
