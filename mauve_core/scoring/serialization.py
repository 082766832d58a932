"""A comparison as JSON: a record with a few arrays, read back without losing a bit, and an object for programs.

The record holds names, settings and scores; Python writes floats so that they read back equal. Labels and map are
arrays: ``joint``, ``pairwise-<i>`` and ``halves`` are (seeds, n) int32 with the human side first, ``projection`` is (n,
2), ``prompts`` and ``generations`` are (n,) int32. :func:`to_json` is what programs get: every score with its spread
and interval, without arrays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, NotRequired, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, CompareConfig, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import As, Count, Joined, NotNegative, PValue, Ranged, Within, dataclass_to_json
from mauve_core.scoring.result import (
    Candidate,
    Comparison,
    Difference,
    Estimate,
    LikeForLike,
    Partition,
    ScoreName,
    Scores,
    Source,
    shared_scores,
)
from mauve_core.scoring.tables import Reduced, floor, reduced_integral, standings
from mauve_core.stats.scores import LASTING, SCORES
from mauve_core.texts.normalizing_steps import Change
from mauve_core.texts.pairing import MatchedBy

JOINT, PROJECTION, HALVES, PROMPTS, GENERATIONS = "joint", "projection", "halves", "prompts", "generations"
GROUPS, CONTENTS = "groups", "contents"


def record_of_comparison(comparison: Comparison) -> dict[str, Any]:
    """Return everything of a comparison but the arrays, as JSON values."""
    return {
        "human": dataclass_to_json(comparison.human),
        "candidates": [_record_of_candidate(candidate) for candidate in comparison.candidates],
        "joint": [_record_of_partition(partition) for partition in comparison.joint],
        "config": comparison.config.as_dict(),
        "warnings": list(comparison.warnings),
        "environment": dict(comparison.environment),
        "projection": comparison.projection is not None,
        "map_fitted": comparison.map_fitted,
        "prompts": comparison.prompts is not None,
        "prompts_by": comparison.prompts_by,
        "generations": bool(comparison.generations),
        "units": bool(comparison.groups),
        "differences": [dataclasses.asdict(each) for each in comparison.differences],
        "halves": None if comparison.halves is None else _record_of_candidate(comparison.halves),
        "like_for_like": [dataclasses.asdict(each) for each in comparison.like_for_like],
    }


def arrays_of_comparison(comparison: Comparison) -> dict[str, NDArray[Any]]:
    """Return the arrays that belong to the record, by key."""
    arrays: dict[str, NDArray[Any]] = {}
    names = [source.name for source in comparison.sources]
    if comparison.joint:
        arrays[JOINT] = _stack(comparison.joint, names)
    for index, candidate in enumerate(comparison.candidates):
        arrays[_pairwise(index)] = _stack(candidate.partitions, [names[0], candidate.name])
    if comparison.halves is not None:
        arrays[HALVES] = _stack(comparison.halves.partitions, [names[0], comparison.halves.name])
    if comparison.projection is not None:
        arrays[PROJECTION] = np.asarray(comparison.projection, dtype=np.float32)
    if comparison.prompts is not None:
        arrays[PROMPTS] = np.concatenate([comparison.prompts[name] for name in names]).astype(np.int32)
    for key, codes in ((GROUPS, comparison.groups), (CONTENTS, comparison.contents)):
        if codes:
            arrays[key] = np.concatenate([codes[name] for name in names]).astype(np.int32)
    if comparison.generations:
        none = {source.name: np.zeros(source.n, dtype=np.int32) for source in comparison.sources}
        arrays[GENERATIONS] = np.concatenate([comparison.generations.get(name, none[name]) for name in names])
    return arrays


@dataclass(frozen=True)
class PartitionRecord:
    """A partition without its labels."""

    seed: Count
    k: Annotated[int, Within(1, 2**31)]
    objective: NotNegative


@dataclass(frozen=True)
class CandidateRecord:
    """A candidate without the labels of its partitions."""

    source: Source
    scores: Scores
    joint_scores: Mapping[str, Estimate]
    partitions: tuple[PartitionRecord, ...]

    def __post_init__(self) -> None:
        _require_values(self.scores, self.partitions)


class Environment(TypedDict, total=False):
    """The parts of a comparison's environment that are read."""

    started: str
    seconds: Mapping[str, NotNegative]
    device: str
    clustering_device: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class ComparisonRecord:
    """A comparison without its arrays; ``projection``, ``prompts``, ``generations`` and ``units`` say which exist."""

    human: Source
    candidates: tuple[CandidateRecord, ...]
    joint: tuple[PartitionRecord, ...]
    config: CompareConfig
    warnings: tuple[str, ...]
    environment: Annotated[Mapping[str, Any], As(Environment)]
    projection: bool
    map_fitted: Annotated[int, Within(1, 2**53)] | None
    halves: CandidateRecord | None
    prompts: bool
    differences: tuple[Difference, ...]
    prompts_by: MatchedBy | None
    like_for_like: tuple[LikeForLike, ...]
    generations: bool
    units: bool = False

    def __post_init__(self) -> None:
        names = [source.name for source in self.sources]
        distinct = all(names) and len(set(names)) == len(names)
        if names[0] != HUMAN or not distinct or not all(0 < each.n < 2**31 for each in self.sources):
            raise InputError(
                "The sources cannot be used", allowed=f"{HUMAN} first, all names different, each with texts"
            )
        for partitions in (self.joint, *(candidate.partitions for candidate in self.candidates)):
            if partitions and len(partitions) != self.config.score.seeds:
                raise InputError("There is not one partition for each seed")
        for candidate in self.candidates if self.joint else ():
            if not set(candidate.joint_scores) >= LASTING:
                raise InputError(f"The candidate {candidate.source.name} lacks scores of the joint partitions")
            _require_values(candidate.joint_scores, self.joint)
        scores = shared_scores(own for each in self.candidates for own in (each.scores, each.joint_scores) if own)
        tested = [(each.first, each.second, each.score) for each in self.differences if each.score in scores]
        if tested != [(*pair, score) for pair in combinations(names[1:], 2) for score in scores]:
            raise InputError("The tested differences are not those of every two candidates' scores, in order")
        repeated = any(candidate.source.generations > 1 for candidate in self.candidates)
        if repeated != self.generations or self.human.generations > 1:
            raise InputError("The sources do not say which candidates have several generations")
        if self.prompts and self.prompts_by is None:
            raise InputError("The run has prompts, but not what they were matched by")

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self.human, *(candidate.source for candidate in self.candidates))

    @property
    def array_keys(self) -> list[str]:
        """Keys of the arrays that belong to the record."""
        keys = [JOINT] if self.joint else []
        keys += [_pairwise(index) for index in range(len(self.candidates))]
        exist = {HALVES: self.halves, PROJECTION: self.projection, PROMPTS: self.prompts, GENERATIONS: self.generations}
        exist |= dict.fromkeys((GROUPS, CONTENTS), self.units)
        return keys + [key for key, part in exist.items() if part]


def comparison_from_record(record: ComparisonRecord, arrays: Mapping[str, NDArray[Any]]) -> Comparison:
    """Rebuild the comparison from ``record_of_comparison`` and ``arrays_of_comparison``.

    Raises
    ------
    ValueError, KeyError
        The two do not belong together or are damaged.
    """
    projection = arrays[PROJECTION] if record.projection else None
    if projection is not None and projection.shape != (sum(source.n for source in record.sources), 2):
        raise ValueError(f"a map of shape {projection.shape}")
    if projection is not None and not np.isfinite(projection).all():
        raise ValueError("a map with positions that are not finite")
    halves = record.halves
    one_half = None if halves is None else dataclasses.replace(halves.source, name=HUMAN)
    return Comparison(
        human=record.human,
        candidates=tuple(
            _candidate(item, arrays[_pairwise(index)], record.human) for index, item in enumerate(record.candidates)
        ),
        joint=_partitions("joint", record.joint, arrays[JOINT], record.sources) if record.joint else (),
        config=record.config,
        warnings=record.warnings,
        environment=record.environment,
        projection=projection,
        halves=None if halves is None or one_half is None else _candidate(halves, arrays[HALVES], one_half),
        map_fitted=record.map_fitted,
        prompts=_codes(PROMPTS, arrays, record.sources) if record.prompts else None,
        differences=tuple(each for each in record.differences if each.score in SCORES),
        prompts_by=record.prompts_by if record.prompts else None,
        like_for_like=record.like_for_like,
        generations=_generations(arrays[GENERATIONS], record.sources) if record.generations else {},
        groups=_codes(GROUPS, arrays, record.sources) if record.units else {},
        contents=_codes(CONTENTS, arrays, record.sources) if record.units else {},
    )


def _codes(
    key: str, arrays: Mapping[str, NDArray[np.int32]], sources: Sequence[Source]
) -> dict[str, NDArray[np.int32]]:
    """Numbers of each source's texts, from 0."""
    codes, ends = arrays[key], np.cumsum([source.n for source in sources])
    if codes.dtype != np.int32 or codes.shape != (int(ends[-1]),) or codes.min() < 0:
        raise ValueError(f"{key} of shape {codes.shape} and type {codes.dtype}")
    return dict(zip([source.name for source in sources], np.split(codes, ends[:-1]), strict=True))


def _generations(codes: NDArray[np.int32], sources: Sequence[Source]) -> dict[str, NDArray[np.int32]]:
    ends = np.cumsum([source.n for source in sources])
    usable = codes.dtype == np.int32 and codes.shape == (int(ends[-1]),)
    if not usable or codes.min() < 0 or codes.max() >= codes.size:
        raise ValueError(f"generations of shape {codes.shape} and type {codes.dtype}")
    by_source = dict(zip([source.name for source in sources], np.split(codes, ends[:-1]), strict=True))
    for source in sources:
        sizes = np.bincount(by_source[source.name])
        if sizes.size != source.generations or (sizes.size > 1 and int(sizes.min()) != source.n_smallest):
            raise ValueError(f"generations of {source.name} of {sizes.tolist()} texts")
    return {source.name: by_source[source.name] for source in sources if source.generations > 1}


def _candidate(item: CandidateRecord, labels: NDArray[np.int32], human: Source) -> Candidate:
    partitions = _partitions("pairwise", item.partitions, labels, [human, item.source])
    scores, joint = ({name: own[name] for name in SCORES if name in own} for own in (item.scores, item.joint_scores))
    return Candidate(item.source, scores, joint, partitions)


def _require_values(scores: Mapping[str, Estimate], partitions: Sequence[PartitionRecord]) -> None:
    if any(len(scores[name].values) != len(partitions) for name in SCORES if name in scores):
        raise InputError("A candidate does not have one value of each score for each partition")


def _record_of_candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "source": dataclass_to_json(candidate.source),
        "scores": {name: dataclass_to_json(score) for name, score in candidate.scores.items()},
        "joint_scores": {name: dataclass_to_json(score) for name, score in candidate.joint_scores.items()},
        "partitions": [_record_of_partition(partition) for partition in candidate.partitions],
    }


def _record_of_partition(partition: Partition) -> dict[str, Any]:
    return {"seed": partition.seed, "k": partition.k, "objective": float(partition.objective)}


def _stack(partitions: Sequence[Partition], names: Sequence[str]) -> NDArray[np.int32]:
    rows = [np.concatenate([partition.labels[name] for name in names]) for partition in partitions]
    return np.stack(rows).astype(np.int32)


def _pairwise(index: int) -> str:
    return f"pairwise-{index}"


def _partitions(
    kind: PartitionKind, records: Sequence[PartitionRecord], labels: NDArray[np.int32], sources: Sequence[Source]
) -> tuple[Partition, ...]:
    ends = np.cumsum([source.n for source in sources])
    if labels.dtype != np.int32 or labels.shape != (len(records), int(ends[-1])):
        raise ValueError(f"labels of shape {labels.shape} and type {labels.dtype}")
    partitions = []
    for record, row in zip(records, labels, strict=True):
        if record.k > row.size:
            raise ValueError(f"{record.k} clusters of {row.size} texts")
        if row.min() < 0 or row.max() != record.k - 1:  # k-means leaves no cluster empty
            raise ValueError(f"labels {row.min()} to {row.max()} of {record.k} clusters")
        parts = np.split(row, ends[:-1])
        by_source = {source.name: part for source, part in zip(sources, parts, strict=True)}
        partitions.append(Partition(kind, record.seed, record.k, record.objective, by_source))
    return tuple(partitions)


# A difference of two scores.
Apart: TypeAlias = Annotated[float, Within(-1, 1)]


class EstimateJson(TypedDict):
    """A score with its spread.

    Attributes
    ----------
    mean : float
        Mean over the k-means seeds, in the unit and range of the score.
    sd : float or None
        Standard deviation over the seeds, in the unit of the score; None with one seed.
    low, high : float
        Ends of the bootstrap interval over texts, in the unit and range of the score.
    generations_sd : float
        Standard deviation over the generations, in the unit of the score; only where there are several.
    generations : list of float
        The score of each generation, in its unit and range; only where there are several.
    """

    mean: float
    sd: NotNegative | None
    low: float
    high: float
    generations_sd: NotRequired[NotNegative]
    generations: NotRequired[list[float]]


def scores_kind() -> type:
    """A TypedDict of the scores of a candidate, each an :class:`EstimateJson`."""
    fields: dict[str, Any] = {name: Annotated[EstimateJson, Ranged(*score.bounds)] for name, score in SCORES.items()}
    fields = {name: each if name in LASTING else NotRequired[each] for name, each in fields.items()}
    kind: Any = TypedDict("ScoresJson", fields)  # type: ignore[misc]
    about = "".join(f"{name} : EstimateJson\n    {score.about}\n" for name, score in SCORES.items())
    kind.__doc__ = f"The scores of a candidate.\n\nAttributes\n----------\n{about}"
    return kind


ScoresJson: TypeAlias = Annotated[dict[str, Any], Joined(scores_kind)]


class _SizesJson(TypedDict):
    """Scores at a number of texts of their own.

    Attributes
    ----------
    n : int
        Texts per side.
    k : int
        Number of clusters.
    """

    n: Count
    k: Count


class ReducedJson(TypedDict):
    """The frontier integral less its bias.

    Attributes
    ----------
    value : float
        The estimate; negative where the sides are more alike than two samples of one source are on average.
    low, high : float
        Ends of its interval.
    """

    value: Apart
    low: Apart
    high: Apart


SizedJson: TypeAlias = Annotated[dict[str, Any], Joined(scores_kind, _SizesJson)]


class SourceJson(TypedDict):
    """One side as it entered the comparison.

    Attributes
    ----------
    name : str
        ``human``, or the candidate's name.
    n : int
        Number of texts, of all generations.
    origin : str
        File of the texts, or "memory".
    digest : str
        SHA-256 of ids and texts.
    tokens_median : float or None
        Median length in the encoder's tokens, after cutting; None if features were given.
    cut : int
        Number of texts that the encoder cut at its maximum length.
    notes : list of str
        Notes from reading the file: exclusions, duplicates, guesses.
    normalized : list of Change
        What normalizing did to the texts; empty if they are as they were read.
    generations : int
        Number of generations; only if there are several.
    n_scored : int
        Texts that one score takes; only if there are several generations.
    """

    name: str
    n: Count
    origin: str
    digest: str
    tokens_median: NotNegative | None
    cut: Count
    notes: list[str]
    normalized: list[Change]
    generations: NotRequired[Count]
    n_scored: NotRequired[Count]


class _PlacedJson(TypedDict):
    """A candidate: how its texts entered the comparison, and its scores from pairwise partitions.

    Attributes
    ----------
    k : int
        Number of clusters.
    rank : int
        From 1, by MAUVE; candidates that no test tells apart from the first of their group share its rank.
    letters : str
        Two candidates share a letter exactly if they are not told apart; empty for one candidate.
    bias_reduced : ReducedJson or None
        The frontier integral without most of the bias of finite samples; None where there is no interval.
    floor : float
        Mean frontier integral of two samples of one source at this n and k, of independent texts.
    like_for_like : SizedJson or None
        Its scores at the size of ``halves``; None if there are none.
    """

    k: Count
    rank: Annotated[int, Within(1)]
    letters: str
    bias_reduced: ReducedJson | None
    floor: NotNegative
    like_for_like: SizedJson | None


CandidateJson: TypeAlias = Annotated[dict[str, Any], Joined(SourceJson, scores_kind, _PlacedJson)]


class DifferenceJson(TypedDict):
    """Test of two candidates under one score.

    Attributes
    ----------
    score : str
        Name of the score.
    a, b : str
        The candidates.
    difference : float
        Score of ``a`` minus that of ``b``, averaged over seeds, at equal numbers of texts; -1 to 1, mid in nats.
    low, high : float
        Ends of its interval from a jackknife over units, -1 to 1.
    p : float
        p-value of the hypothesis that both are equally close, above 0, up to 1.
    p_adjusted : float
        The p-value by Holm's method over all pairs of candidates, above 0, up to 1.
    p_alike : float
        p-value of the hypothesis that both are one source, above 0, up to 1.
    told_apart : bool
        Whether one is significantly closer.
    paired : bool
        Whether the two have units in common, such as prompts.
    n : int
        Number of units in common, or, without any, of both.
    detectable : float or None
        True difference that the test finds with probability .8 at the strictest level of Holm's method, in the unit of
        the score; None if nothing was tested. Four times as many texts halve it.
    """

    score: ScoreName
    a: str
    b: str
    difference: Apart
    low: Apart
    high: Apart
    p: PValue
    p_adjusted: PValue
    p_alike: PValue
    told_apart: bool
    paired: bool
    n: Count
    detectable: NotNegative | None


class PairingJson(TypedDict):
    """Which texts belong to one prompt.

    Attributes
    ----------
    by : {"prompts", "ids", "rows"}
        Whether texts are matched by equal prompts, by equal ids, or as columns of one file by its rows.
    shared : mapping of str to int
        By candidate, the number in common with the human side.
    """

    by: MatchedBy
    shared: Mapping[str, Count]


class ComparisonJson(TypedDict):
    """A comparison without its arrays.

    Attributes
    ----------
    human : SourceJson
        The human side.
    settings : CompareConfig
        All settings.
    warnings : list of str
        Advice that applies to these scores, and anything else a reader must know.
    candidates : list of CandidateJson
        In the order given.
    halves : SizedJson or None
        Human vs. human: about the scores of a candidate that writes like people, at that size; None if the human texts
        could not be split.
    differences : list of DifferenceJson
        Of every two candidates under every score.
    normalization : list of str
        Steps applied to the texts of every side.
    pairing : PairingJson or None
        None if no candidate has a prompt in common with the human side.
    environment : mapping
        Versions, device, start time (ISO 8601, UTC) and seconds of each stage.
    """

    human: SourceJson
    settings: CompareConfig
    warnings: list[str]
    candidates: list[CandidateJson]
    halves: SizedJson | None
    differences: list[DifferenceJson]
    normalization: list[str]
    pairing: PairingJson | None
    environment: Mapping[str, Any]


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison without its arrays, as JSON values: the entries of :class:`ComparisonJson`."""
    places = {standing.candidate.name: standing for standing in standings(comparison)}
    return {
        "human": _source_json(comparison.human),
        "settings": comparison.config.as_dict(),
        "warnings": list(comparison.warnings),
        "candidates": [
            {
                **_source_json(candidate.source),
                "k": candidate.partitions[0].k,
                "rank": places[candidate.name].rank,
                "letters": places[candidate.name].letters,
                **scores_json(candidate.scores),
                "bias_reduced": _reduced_json(reduced_integral(comparison, candidate.name)),
                "floor": floor(comparison, candidate),
                "like_for_like": _like_for_like_json(comparison.at_size_of_halves(candidate.name)),
            }
            for candidate in comparison.candidates
        ],
        "halves": None if comparison.halves is None else _halves_json(comparison.halves),
        "differences": [*map(difference_json, comparison.differences)],
        "normalization": list(comparison.normalization),
        "pairing": _pairing_json(comparison),
        "environment": dict(comparison.environment),
    }


def _reduced_json(found: Reduced | None) -> dict[str, float] | None:
    return None if found is None else found._asdict()


def _pairing_json(comparison: Comparison) -> dict[str, Any] | None:
    if comparison.prompts is None:
        return None
    shared = {candidate.name: comparison.shared_prompts(candidate.name) for candidate in comparison.candidates}
    return {"by": comparison.prompts_by, "shared": shared}


def difference_json(difference: Difference) -> dict[str, Any]:
    """Return the test of two candidates as JSON values, as ``mauve-lens test --json`` prints it."""
    return {
        "score": difference.score,
        "a": difference.first,
        "b": difference.second,
        "difference": difference.difference,
        "low": difference.low,
        "high": difference.high,
        "p": difference.p_value,
        "p_adjusted": difference.p_adjusted,
        "p_alike": difference.p_alike,
        "told_apart": difference.told_apart,
        "paired": difference.paired,
        "n": difference.n,
        "detectable": difference.detectable,
    }


def _halves_json(halves: Candidate) -> dict[str, Any]:
    return {"n": halves.source.n, "k": halves.partitions[0].k, **scores_json(halves.scores)}


def _like_for_like_json(found: LikeForLike | None) -> dict[str, Any] | None:
    return None if found is None else {"n": found.n, "k": found.k, **scores_json(found.scores)}


def scores_json(scores: Mapping[str, Estimate]) -> dict[str, Any]:
    """Return the scores of a candidate, each with its spread and interval."""
    return {score: _estimate_json(scores[score]) for score in SCORES if score in scores}


def _source_json(source: Source) -> dict[str, Any]:
    return {
        "name": source.name,
        "n": source.n,
        "origin": source.origin,
        "digest": source.digest,
        "tokens_median": source.tokens_median,
        "cut": source.cut,
        "notes": list(source.notes),
        "normalized": [dataclasses.asdict(change) for change in source.normalized or ()],
        **({"generations": source.generations, "n_scored": source.n_scored} if source.generations > 1 else {}),
    }


def _estimate_json(estimate: Estimate) -> dict[str, Any]:
    shown = {"mean": estimate.mean, "sd": estimate.sd, "low": estimate.low, "high": estimate.high}
    if estimate.generations is None:
        return shown
    return {**shown, "generations_sd": estimate.generations_sd, "generations": list(estimate.generations)}
