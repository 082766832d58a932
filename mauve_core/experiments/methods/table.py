"""Scores of several methods on a run, and where their rankings agree or differ; JSON in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import As, Count, Extended, NotNegative, PValue, Settings, Written, from_json
from mauve_core.experiments.methods.method import Method, parse_method
from mauve_core.runs import Run
from mauve_core.scoring.tables import overlap
from mauve_core.stats.multiple_tests import holm
from mauve_core.stats.rank_correlation import spearman

# Attachment name of the table.
ATTACHMENT = "methods"


@dataclass(frozen=True)
class MethodScore:
    """One method's score of a candidate, or of two halves of the human texts.

    Attributes
    ----------
    value : float
        Mean over the seeds.
    sd_seeds : float or None
        Standard deviation over the seeds; None for a deterministic method or one seed.
    sd_texts : float or None
        Standard deviation over texts, from a delete-a-group jackknife; None if unavailable.
    low, high : float or None
        Interval over texts, about 95 %.
    n : int
        Texts of the smaller side.
    p_value : float or None
        Permutation test of P = Q for the first seed; permutes texts within prompts that both sides share. None if not
        requested, or if the method has no bins or has a correction.
    z : float or None
        Standard score of the candidate's MMD against random halves of the human texts, scaled to equal size (see
        ``estimators``): mean 0 and standard deviation about 1 for equal sources. None for other estimators.
    """

    value: Extended
    sd_seeds: NotNegative | None
    sd_texts: NotNegative | None
    low: float | None
    high: float | None
    n: Count
    p_value: PValue | None = None
    z: float | None = None

    def overlaps(self, other: MethodScore) -> bool:
        """Whether the intervals overlap; True if either score has no interval."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return True
        return overlap((self.low, self.high), (other.low, other.high))


@dataclass(frozen=True)
class MethodResult:
    """One method on all candidates.

    Attributes
    ----------
    method : Method
        Its specification, such as ``kmeans:divergence=js``.
    scores : mapping of str to MethodScore
        By candidate.
    ceiling : MethodScore
        Human vs. human: score between two halves of the human texts, about that of a human-like candidate with half as
        many texts.
    seconds : float
        Time of the estimator for all candidates, shared by methods with that estimator.
    notes : tuple of str
        Choices and events of the estimator.
    """

    method: Annotated[Method, Written(str, attrgetter("spec"), parse_method)]
    scores: Mapping[str, MethodScore]
    ceiling: MethodScore | None
    seconds: NotNegative
    notes: tuple[str, ...] = ()

    def closeness(self, names: Sequence[str]) -> NDArray[np.float64]:
        """(len(names),) values with signs such that larger is closer to the human texts."""
        sign = 1.0 if self.method.higher_is_closer else -1.0
        return sign * np.array([self.scores[name].value for name in names])


@dataclass(frozen=True)
class Disagreement:
    """Two candidates that a method orders differently from the first method.

    Attributes
    ----------
    closer, farther : str
        This method's order; the first method of the table has the opposite.
    told_apart : bool
        Whether both methods tell the two apart; otherwise chance may explain the difference.
    """

    method: Method
    closer: str
    farther: str
    told_apart: bool

    @property
    def reason(self) -> str:
        """The papers' comment on the method's estimator."""
        return self.method.reason


@dataclass(frozen=True)
class MethodTable:
    """Several methods on the candidates of a run; the first is the reference for the others.

    Attributes
    ----------
    results : tuple of MethodResult
        By method.
    settings : mapping
        Inputs of the numbers, as plain JSON.
    notes : tuple of str
        Methods that are left out, and other caveats.
    """

    results: tuple[MethodResult, ...]
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.results or any(set(each.scores) != set(self.candidates) for each in self.results):
            raise InputError("A table of methods has no results, or results of different candidates")

    @property
    def candidates(self) -> tuple[str, ...]:
        """Candidates in run order."""
        return tuple(self.results[0].scores)

    def corrected_p_values(self) -> dict[tuple[Method, str], float]:
        """Every p-value after Holm's correction for all tests of the table, by method and candidate."""
        found = {
            (result.method, name): score.p_value
            for result in self.results
            for name, score in result.scores.items()
            if score.p_value is not None
        }
        return dict(zip(found, holm(list(found.values())).tolist(), strict=True)) if found else {}

    def agreement(self) -> NDArray[np.float64]:
        """(methods, methods) Spearman correlations of the candidates' closeness.

        nan if a method ties all candidates, or there is only one.
        """
        if len(self.candidates) < 2:
            return np.full((len(self.results), len(self.results)), np.nan)
        rows = [result.closeness(self.candidates) for result in self.results]
        return np.array([[spearman(a, b) for b in rows] for a in rows])


def stored_methods(run: Run) -> MethodTable | None:
    """The run's stored table, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    table = from_json(MethodTable, values)
    run.require_sources(table.candidates, "The table of methods")
    return table
