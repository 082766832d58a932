"""The shapes of what commands print with ``--json`` whose types lie in modules that take long to import.

Imported only where a schema is asked for; other shapes are beside their commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypeAlias, TypedDict

from mauve_core.analysis.findings.rows import FindingJson
from mauve_core.analysis.gate import GateResult
from mauve_core.analysis.preflight import Preflight
from mauve_core.analysis.verdict import VerdictJson
from mauve_core.base.json_codec import Count, Joined, NotNegative, Within
from mauve_core.cli.outputs import OfRun
from mauve_core.cli.over_all_output import OverAllJson
from mauve_core.experiments.attributes_over_k import AttributeTable
from mauve_core.experiments.encoders import EncoderTable, Reference, Reversal
from mauve_core.experiments.encoders.positions import PositionTable
from mauve_core.experiments.methods import MethodTable
from mauve_core.experiments.methods.ranks import Joined as HowJoined
from mauve_core.experiments.robustness import Detection, ProbeTable
from mauve_core.experiments.sweeps import EstimatorSweep, Sweep
from mauve_core.experiments.text_measures import Measurements
from mauve_core.experiments.text_measures.differences import MeasureDifferenceJson
from mauve_core.experiments.text_measures.over_lengths import LengthTable
from mauve_core.experiments.text_measures.over_neighbours import NeighbourTable
from mauve_core.judgments import Correlation, Ranking
from mauve_core.scoring.gate_rule import GateTest, Verdict
from mauve_core.scoring.serialization import ComparisonJson, DifferenceJson, ScoreName
from mauve_core.scoring.tables import EmptyClustersJson


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
