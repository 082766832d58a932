"""Result records of a comparison: frozen, plain, and detailed enough to get from a score back to the texts.

P is always the human side, Q a candidate. Labels are cluster numbers from 0 to k - 1, one per text in corpus order, so
a cluster's text ids can be looked up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import CompareConfig, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.base.validation import Count, NotNegative, Within
from mauve_core.numerics.resampling.exchange import PromptGroups, prompt_groups, separate_prompts


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
        Bootstrap interval over texts of the mean over seeds (see ``mauve_core.numerics.resampling.bootstrap``).
    values : tuple of float
        The score under each seed.
    """

    mean: float
    sd: NotNegative | None
    low: float
    high: float
    values: tuple[float, ...]


@dataclass(frozen=True)
class SeedSpread:
    """A score under every k-means seed, or under every seed and split.

    Attributes
    ----------
    mean : float
    sd : float or None
        Standard deviation of the values (denominator: their number - 1); None with one value.
    values : tuple of float
        By seed; if texts are split, in the order that the class with this field documents.
    """

    mean: float
    sd: NotNegative | None
    values: tuple[float, ...]

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

    def counts(self, source: str) -> NDArray[np.int64]:
        """(k,) number of texts of ``source`` in each cluster."""
        if source not in self.labels:
            raise InputError(f"No source named {source!r} in this partition", allowed=", ".join(self.labels))
        return np.bincount(self.labels[source], minlength=self.k).astype(np.int64)


@dataclass(frozen=True)
class Source:
    """One side as it entered the comparison.

    Attributes
    ----------
    name : str
        ``human`` for P, otherwise the candidate's name.
    n : int
        Number of texts scored.
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
    notes : tuple of str
        Notes from reading the file: exclusions, duplicates, guesses.
    """

    name: str
    n: Count
    origin: str
    digest: str
    features_key: str
    tokens_median: NotNegative | None
    cut: Count
    notes: tuple[str, ...] = ()


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

    @property
    def name(self) -> str:
        return self.source.name

    def estimate(self, score: str, kind: PartitionKind) -> Estimate:
        """Return the estimate of one score from the partitions of that kind."""
        return (self.joint_scores if kind == "joint" else self.scores)[score]


SIGNIFICANT = 0.05
"""Two candidates are told apart if the adjusted p-value of their difference is at most this."""


@dataclass(frozen=True)
class Difference:
    """Test of the difference of two candidates' scores (see ``mauve_core.scoring.differences``).

    Attributes
    ----------
    score : str
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
    p_value: Annotated[float, Within(0, 1)]
    p_adjusted: Annotated[float, Within(0, 1)]
    paired: bool
    n: Count

    @property
    def told_apart(self) -> bool:
        """Whether the difference is significant and has the same sign in the pairwise and the joint partitions."""
        return self.p_adjusted <= SIGNIFICANT and self.difference * self.joint_difference > 0

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
        Ceiling: one random half of the human texts against the other, ``OTHER_HALF``, under every k-means seed; about
        the score of a candidate that writes like people. Half as many texts in half as many clusters; no joint scores.
        None if the human texts are too few or too alike to be halved.
    map_fitted : int or None
        Number of texts on which the map was fitted; every other text is placed among its nearest of these. None
        without a map, or in a run stored before large maps were made this way.
    prompts : mapping of str to (n,) int32 array, or None
        The prompt of each text of every source: equal numbers, equal prompts (``mauve_core.corpus.pairing``). Texts of
        one prompt are resampled and exchanged together. None if no two sources have a prompt in common.
    differences : tuple of Difference, or None
        Of every two candidates under every score, at the settings of the comparison. None in a run stored before
        differences were tested.
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
    differences: tuple[Difference, ...] | None = None

    @property
    def sources(self) -> tuple[Source, ...]:
        """The human side, then the candidates: the order of every stacked array."""
        return (self.human, *(candidate.source for candidate in self.candidates))

    def candidate(self, name: str) -> Candidate:
        """Return the candidate of that name; an InputError lists the names."""
        for candidate in self.candidates:
            if candidate.name == name:
                return candidate
        raise InputError(
            f"No candidate named {name!r} in this comparison", allowed=", ".join(c.name for c in self.candidates)
        )

    def partitions(self, kind: PartitionKind, candidate: str) -> tuple[Partition, ...]:
        """Return the partitions of that kind, one per seed; the joint ones are the same for every candidate."""
        own = self.candidate(candidate)  # raises InputError if unknown
        return self.joint if kind == "joint" else own.partitions

    def partition(self, kind: PartitionKind, candidate: str, seed: int = 0) -> Partition:
        """Return the one of :meth:`partitions` under that seed index."""
        partitions = self.partitions(kind, candidate)
        if not 0 <= seed < len(partitions):
            raise InputError("No partition with that seed", allowed=f"0 to {len(partitions) - 1}", received=str(seed))
        return partitions[seed]

    def difference(self, score: str, one: str, other: str) -> Difference | None:
        """Return the tested difference of two candidates, in the order in which it is stored; None if not tested."""
        found = (
            each for each in self.differences or () if each.score == score and {each.first, each.second} == {one, other}
        )
        return next(found, None)

    def prompt_groups(self, candidate: str) -> PromptGroups:
        """Return the texts of the human side, P, and a candidate by prompt."""
        source = self.candidate(candidate).source  # raises InputError if unknown
        if self.prompts is None:
            return separate_prompts(self.human.n, source.n)
        return prompt_groups(self.prompts[self.human.name], self.prompts[candidate])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 (the signature is IPython's)
        """Print the leaderboard under IPython, instead of every label."""
        from mauve_core.scoring.tables import to_table

        printer.text(to_table(self))
