"""Present a comparison as one JSON object for programs: every score with its spread and interval."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict

from mauve_core.base.config import SCORE_BOUNDS, SCORES, CompareConfig
from mauve_core.base.json_codec import Count, Joined, NotNegative, PValue, Ranged, Within
from mauve_core.scoring.reduced_integral import Reduced, floor, reduced_integral
from mauve_core.scoring.result import Candidate, Comparison, Difference, LikeForLike, Source
from mauve_core.scoring.spread import Estimate
from mauve_core.scoring.tables import standings
from mauve_core.texts.normalizing_steps import Change
from mauve_core.texts.pairing import MatchedBy

ScoreName: TypeAlias = Literal["mauve", "mauve_star", "frontier_integral", "mid"]

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


class ScoresJson(TypedDict):
    """The scores of a candidate.

    Attributes
    ----------
    mauve : EstimateJson
        MAUVE, 0 to 1; 1 is the closest to the human texts.
    mauve_star : EstimateJson
        MAUVE*, 0 to 1: MAUVE of histograms with half a text added to every cluster; 1 is the closest.
    frontier_integral : EstimateJson
        Frontier integral, 0 to 1; 0 is the closest.
    mid : EstimateJson
        Mid-point of the divergence frontier, in nats, 0 to ln 2; 0 is the closest.
    """

    mauve: Annotated[EstimateJson, Ranged(*SCORE_BOUNDS["mauve"])]
    mauve_star: Annotated[EstimateJson, Ranged(*SCORE_BOUNDS["mauve_star"])]
    frontier_integral: Annotated[EstimateJson, Ranged(*SCORE_BOUNDS["frontier_integral"])]
    mid: Annotated[EstimateJson, Ranged(*SCORE_BOUNDS["mid"])]


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


SizedJson: TypeAlias = Annotated[dict[str, Any], Joined(ScoresJson, _SizesJson)]


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


CandidateJson: TypeAlias = Annotated[dict[str, Any], Joined(SourceJson, ScoresJson, _PlacedJson)]


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
    return {score: _estimate_json(scores[score]) for score in SCORES}


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
