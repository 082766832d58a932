"""The shapes of what commands print with ``--json`` whose types lie in modules that take long to import.

Imported only where a schema is asked for, or the JSON of ``mauve-lens diversity``; others are with their commands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict

from mauve_core.analyses.attributes_over_k import AttributeTable
from mauve_core.analyses.diversity import (
    Agreement,
    MissedClusters,
    NeverReached,
    RunDiversity,
    never_reached,
    sentence,
    threshold,
)
from mauve_core.analyses.encoders import EncoderTable, Reference, Reversal
from mauve_core.analyses.estimator_sweeps import EstimatorSweep
from mauve_core.analyses.gate import GateResult
from mauve_core.analyses.human_ranking import Correlation, Ranking
from mauve_core.analyses.measure_terms import Measurements
from mauve_core.analyses.measures_over_lengths import LengthTable
from mauve_core.analyses.measures_over_neighbours import NeighbourTable
from mauve_core.analyses.method_scores import Joined as HowJoined
from mauve_core.analyses.method_scores import MethodTable
from mauve_core.analyses.positions import PositionTable
from mauve_core.analyses.probe_results import Detection, ProbeTable
from mauve_core.analyses.sweeps import Sweep
from mauve_core.analyses.text_measures import MeasureDifferenceJson
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.base.json_codec import Count, Extended, Joined, NotNegative, Share, Within, dataclass_to_json
from mauve_core.cli.options import OfRun, OverAllJson
from mauve_core.findings.finding import FindingJson
from mauve_core.findings.format_checks import Preflight
from mauve_core.findings.verdicts import VerdictJson
from mauve_core.runs import Run
from mauve_core.scoring.gate_rule import GateTest, Verdict
from mauve_core.scoring.result import ScoreName
from mauve_core.scoring.serialization import ComparisonJson, DifferenceJson
from mauve_core.scoring.tables import EmptyClustersJson
from mauve_core.stats.diversity import ModeCount


class _ShownJson(TypedDict):
    """A stored run: what it says, its scores, and what was checked before they are believed.

    Attributes
    ----------
    verdict : VerdictJson
        What it says, in sentences.
    preflight : Preflight
        Formats in which candidates differ from the human texts.
    empty_clusters : list of EmptyClustersJson
        By candidate, in the order given.
    over_all_texts : OverAllJson or None
        Scores over all texts in shards, of which the run holds a sample and all other scores are; null for other runs.
    run : str
        Id of the stored run.
    """

    verdict: VerdictJson
    preflight: Preflight
    empty_clusters: list[EmptyClustersJson]
    over_all_texts: OverAllJson | None
    run: str


RunJson: TypeAlias = Annotated[dict[str, Any], Joined(ComparisonJson, _ShownJson)]


class _MeasuredJson(TypedDict):
    """All measures of all candidates, of a run or of files.

    Attributes
    ----------
    run : str
        Id of the stored run; absent for files.
    """

    run: NotRequired[str]


# Without options, with ``--neighbors``, and with ``--lengths``.
MeasureJson: TypeAlias = (
    Annotated[dict[str, Any], Joined(Measurements, _MeasuredJson)]
    | Annotated[dict[str, Any], Joined(OfRun, NeighbourTable)]
    | Annotated[dict[str, Any], Joined(OfRun, LengthTable)]
)


class _PlaceJson(TypedDict):
    """A candidate under one method.

    Attributes
    ----------
    candidate : str
        Its name.
    rank : int
        Place of the first of its group, from 1, the closest to the human texts.
    tied : bool
        Whether the group has other members.
    joined : {"", "test", "overlap", "unknown"}
        How the candidate joins the previous one's group: not at all, because a test does not tell it from the group's
        first, because their intervals overlap, or because one of the two has no interval.
    """

    candidate: str
    rank: Annotated[int, Within(1)]
    tied: bool
    joined: HowJoined


class _RanksJson(TypedDict):
    """The ranks of the candidates under one method.

    Attributes
    ----------
    method : str
        Its specification.
    as_leaderboard : bool
        Whether these are the ranks of the leaderboard.
    candidates : list of _PlaceJson
        From the closest on.
    """

    method: str
    as_leaderboard: bool
    candidates: list[_PlaceJson]


class _RankedJson(TypedDict):
    """Several methods on the candidates of a run, and their ranks; the first method is the reference for the others.

    Attributes
    ----------
    ranks : list of _RanksJson
        One per method.
    """

    ranks: list[_RanksJson]


MethodsJson: TypeAlias = Annotated[dict[str, Any], Joined(MethodTable, OfRun, _RankedJson)]


_Correlated: TypeAlias = Annotated[float, Within(-1, 1)]


class _BetweenJson(TypedDict):
    """Two candidates that two encoders order differently.

    Attributes
    ----------
    score : str
        Name of the score.
    first, second : int
        Places of the two encoders among the results, from 0.
    """

    score: ScoreName
    first: Count
    second: Count


class _EncodersJson(TypedDict):
    """Several encoders on the candidates of a run, and how far they agree; the first is the run's own.

    Attributes
    ----------
    titles : list of str
        A short name of each encoder.
    agreement : mapping
        By score, a row and a column per encoder: Spearman correlations of the candidates' closeness; None where an
        encoder ties all candidates, or there are too few.
    reversals : list
        Pairs of candidates that two encoders order differently, by score and encoders.
    references : mapping
        By score: correlations with the gaps of text measures and with ratings.
    """

    titles: list[str]
    agreement: Mapping[ScoreName, list[list[_Correlated | None]]]
    reversals: list[Annotated[dict[str, Any], Joined(Reversal, _BetweenJson)]]
    references: Mapping[ScoreName, list[Reference]]


# Without options, and with ``--positions``.
EncodersJson: TypeAlias = (
    Annotated[dict[str, Any], Joined(EncoderTable, OfRun, _EncodersJson)]
    | Annotated[dict[str, Any], Joined(OfRun, PositionTable)]
)


class ExplainJson(TypedDict):
    """Findings about the candidates of a stored run, or about the texts of files.

    Attributes
    ----------
    run : str
        Id of the stored run; empty for files.
    q : float
        Expected share of false findings of a candidate, at most.
    findings : list of FindingJson
        By candidate, the largest difference first.
    notes : list of str
        What reading the files has guessed, left out and counted, by side; empty for a run, which has its own.
    """

    run: str
    q: Annotated[float, Within(0, 1)]
    findings: list[FindingJson]
    notes: list[str]


# Every pair under a score, one pair, and the same under a text measure.
TestJson: TypeAlias = list[DifferenceJson] | DifferenceJson | list[MeasureDifferenceJson] | MeasureDifferenceJson


class _AgreeingJson(TypedDict):
    """The sources under one question, the best first.

    Attributes
    ----------
    correlations : list of Correlation
        Agreement of scores, measures and methods with the ranking.
    """

    correlations: list[Correlation]


class RankingsJson(TypedDict):
    """Bradley-Terry rankings of human ratings.

    Attributes
    ----------
    source : str
        Id of the run, or file of the ratings.
    rankings : list
        One per question.
    notes : list of str
        What could not be read or compared.
    """

    source: str
    rankings: list[Annotated[dict[str, Any], Joined(Ranking, _AgreeingJson)]]
    notes: list[str]


class _SaidJson(TypedDict):
    """What the test says of one perturbation.

    Attributes
    ----------
    sentence : str
        The same in words.
    """

    sentence: str


class _ProbedJson(TypedDict):
    """How the score responds to deliberately changed texts or images.

    Attributes
    ----------
    summary : str
        What MAUVE detects, in words; empty if nothing was tested.
    detections : list
        One per perturbation, those detected first.
    """

    summary: str
    detections: list[Annotated[dict[str, Any], Joined(Detection, _SaidJson)]]


ProbeJson: TypeAlias = Annotated[dict[str, Any], Joined(ProbeTable, OfRun, _ProbedJson)]


AttributesJson: TypeAlias = Annotated[dict[str, Any], Joined(OfRun, AttributeTable)]


# Over a setting, and over a parameter of estimators without bins.
SweepJson: TypeAlias = (
    Annotated[dict[str, Any], Joined(OfRun, Sweep)] | Annotated[dict[str, Any], Joined(OfRun, EstimatorSweep)]
)


class _JudgedJson(TypedDict):
    """The gate under one measure.

    Attributes
    ----------
    verdict : {"pass", "fail", "undecided"}
        By this measure alone.
    detectable : float
        True difference beyond the margin that fails with probability .8, in units of the measure.
    """

    verdict: Verdict
    detectable: NotNegative


class _GateJson(TypedDict):
    """What a gate found.

    Attributes
    ----------
    verdict : {"pass", "fail", "undecided"}
        "fail" if any measure fails; else "undecided", too few texts to tell, if any is; else "pass".
    sentence : str
        The verdict in one sentence.
    rule : str
        How the verdict follows from the tests.
    tests : list
        One per measure.
    """

    verdict: Verdict
    sentence: str
    rule: str
    tests: list[Annotated[dict[str, Any], Joined(GateTest, _JudgedJson)]]


GateJson: TypeAlias = Annotated[dict[str, Any], Joined(GateResult, _GateJson)]


class _ModesJson(TypedDict):
    """Modes of a prompt's answers.

    Attributes
    ----------
    modes : float or "inf"
        Mean number per prompt, estimated; "inf" if no two answers to a prompt are of one mode.
    low, high : float or "inf"
        95% interval from resampled prompts.
    met : float
        Mean number that the answers show.
    together : float
        Probability that two answers to a prompt are of one mode.
    """

    modes: Extended
    low: Extended
    high: Extended
    met: Annotated[float, Within(1)]
    together: Share


class _ShareJson(TypedDict):
    """A share, and its range.

    Attributes
    ----------
    value : float
        Mean over draws.
    low, high : float
        Range of 95% of the draws.
    """

    value: Share
    low: Share
    high: Share


class _MeanJson(TypedDict):
    """A mean over groups of answers.

    Attributes
    ----------
    value : float
        The mean.
    low, high : float
        Its 95% interval over prompts.
    """

    value: NotNegative
    low: NotNegative
    high: NotNegative


class _ContrastJson(TypedDict):
    """A measure of as many answers.

    Attributes
    ----------
    within : _MeanJson
        Of answers to one prompt.
    between : _MeanJson or None
        Of answers to different prompts; None if there are fewer prompts.
    """

    within: _MeanJson
    between: _MeanJson | None


class _MissedJson(TypedDict):
    """Joint clusters of human texts that the candidate does not reach.

    Attributes
    ----------
    seed : int
        Index of the k-means seed of the joint clusters.
    n : int
        Texts of a draw, human ones, others of them, and the candidate's.
    share : _ShareJson
        Of the clusters that the human texts of a draw reach, those that the candidate's do not; mean over draws, and
        the range of 95% of them.
    human_share : _ShareJson
        The same of the other human texts.
    never : list of NeverReached
        Those that it reaches in no draw, those with most human texts first.
    """

    seed: Count
    n: Count
    share: _ShareJson
    human_share: _ShareJson
    never: list[NeverReached]


class _CandidateJson(TypedDict):
    """Variety of a candidate's answers.

    Attributes
    ----------
    candidate : str
        Its name.
    sentence : str
        How many different answers it gives to a prompt.
    prompts, of_prompts : int
        Prompts that are measured, and all that it answers.
    answers : int
        Answers to each prompt that are measured.
    modes : _ModesJson or None
        None if modes are not separate in the features.
    different : _ModesJson
        The same with answers of one mode only if their texts are equal.
    distance, vendi, clusters, self_bleu : _ContrastJson
        Mean cosine distance of two answers; Vendi score, joint clusters reached (None without joint clusters) and
        self-BLEU of so many answers.
    vendi_over_prompts, vendi_low, vendi_high : float
        Vendi score of one answer to each prompt: mean, smallest and largest of some draws.
    missed : _MissedJson or None
        Human clusters that it does not reach; None without joint clusters.
    """

    candidate: str
    sentence: str
    prompts: Count
    of_prompts: Count
    answers: Count
    modes: _ModesJson | None
    different: _ModesJson
    distance: _ContrastJson
    vendi: _ContrastJson
    clusters: _ContrastJson | None
    self_bleu: _ContrastJson
    vendi_over_prompts: Annotated[float, Within(1)]
    vendi_low: Annotated[float, Within(1)]
    vendi_high: Annotated[float, Within(1)]
    missed: _MissedJson | None


class _GapJson(TypedDict):
    """What separates modes.

    Attributes
    ----------
    distance : float
        Two answers at this cosine distance or less are of one mode.
    kind : {"within prompts", "identical answers", "between prompts"}
        Where the distances have a gap.
    """

    distance: Annotated[float, Within(0, 2)]
    kind: Literal["within prompts", "identical answers", "between prompts"]


class DiversityJson(TypedDict):
    """How different the answers of a run's candidates are.

    Attributes
    ----------
    run : str
        Id of the stored run.
    gap : _GapJson or None
        What separates the modes of all candidates; None if they are not separate.
    candidates : list of _CandidateJson
        Those with several answers to a prompt.
    single : list of str
        Candidates with one answer to a prompt, which are not measured.
    pairs : list of Agreement
        Every two candidates of which at least one has several answers.
    """

    run: str
    gap: _GapJson | None
    candidates: list[_CandidateJson]
    single: list[str]
    pairs: list[Agreement]


def diversity_json(run: Run, found: RunDiversity) -> dict[str, Any]:
    """A run's diversity as :class:`DiversityJson`."""
    gap = found.gap
    return {
        "run": run.id,
        "gap": None if gap is None else {"distance": threshold(gap), "kind": gap.kind},
        "candidates": [_candidate(run, name, found) for name in found.candidates],
        "single": list(found.single),
        "pairs": [dataclass_to_json(each) for each in found.pairs],
    }


def _candidate(run: Run, name: str, found: RunDiversity) -> dict[str, Any]:
    own, missed = found.candidates[name], found.missed.get(name)
    return {
        "candidate": name,
        "sentence": with_plain_spaces(sentence(name, own, found.gap)),
        **dataclass_to_json(own),
        "modes": None if own.modes is None else _modes(own.modes),
        "different": _modes(own.different),
        "missed": None if missed is None else _missed(run, missed),
    }


def _modes(count: ModeCount) -> dict[str, Any]:
    values = dataclass_to_json(count)
    return {name: value if math.isfinite(value) else "inf" for name, value in values.items()}


def _missed(run: Run, missed: MissedClusters) -> dict[str, Any]:
    never = [dataclass_to_json(each) for each in never_reached(run, missed)]
    return {**dataclass_to_json(missed), "never": never}
