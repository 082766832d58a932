"""What ``mauve-lens diversity --json`` prints."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypedDict

from mauve_core.base.formatting import with_plain_spaces
from mauve_core.base.json_codec import Count, Extended, NotNegative, Share, Within, dataclass_to_json
from mauve_core.experiments.diversity import (
    Agreement,
    MissedClusters,
    NeverReached,
    RunDiversity,
    never_reached,
)
from mauve_core.experiments.diversity.wording import sentence, threshold
from mauve_core.stats.diversity import ModeCount
from mauve_core.store import Run


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
