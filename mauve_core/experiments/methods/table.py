"""What methods said about the candidates of a run, how far they agree, and where they do not; JSON out and in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from operator import attrgetter
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import from_json
from mauve_core.base.validation import As, Count, Extended, NotNegative, Settings, Share, Written
from mauve_core.experiments.methods.method import Method, parse_method
from mauve_core.numerics.statistics.rank_correlation import spearman
from mauve_core.store import Run

ATTACHMENT = "methods"
"""Name under which the table is kept beside a run."""


@dataclass(frozen=True)
class MethodScore:
    """What one method says of one candidate, or of two halves of the human texts.

    Attributes
    ----------
    value : float
        Mean over the seeds.
    sd_seeds : float or None
        Standard deviation over the seeds; None where the method draws nothing, or with one seed.
    sd_texts : float or None
        Standard deviation over texts, by a delete-a-group jackknife; None where it cannot be told.
    low, high : float or None
        Interval over texts, about 95 %.
    n : int
        Texts of the smaller side.
    p_value : float or None
        Of P = Q by permuting texts between the sides, within prompts where both have texts for them; under the first
        seed. None where it was not asked for, or the method has no bins.
    z : float or None
        Standard scores of the candidate's MMD above random halves of the human texts, brought to as many texts (see
        ``numerics.mmd``): mean 0 and standard deviation about 1 for equal sources. None for other estimators.
    """

    value: Extended
    sd_seeds: NotNegative | None
    sd_texts: NotNegative | None
    low: float | None
    high: float | None
    n: Count
    p_value: Share | None = None
    z: float | None = None

    def overlaps(self, other: MethodScore) -> bool:
        """Whether the intervals share a point; scores without an interval are never told apart."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return True
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True)
class MethodResult:
    """One method on all candidates.

    Attributes
    ----------
    method : Method
    scores : mapping of str to MethodScore
        By candidate.
    ceiling : MethodScore
        Between two halves of the human texts: what a candidate that writes like them would come near. Halves hold
        half as many texts.
    seconds : float
        Time that the estimator took for all candidates; methods that share an estimator share it.
    notes : tuple of str
    """

    method: Annotated[Method, Written(str, attrgetter("spec"), parse_method)]
    scores: Mapping[str, MethodScore]
    ceiling: MethodScore | None
    seconds: NotNegative
    notes: tuple[str, ...] = ()

    def closeness(self, names: Sequence[str]) -> NDArray[np.float64]:
        """(len(names),) values, turned so that more is closer to the human texts."""
        sign = 1.0 if self.method.higher_is_closer else -1.0
        return sign * np.array([self.scores[name].value for name in names])


@dataclass(frozen=True)
class Disagreement:
    """Two candidates that a method puts in the other order than the first method does.

    Attributes
    ----------
    method : Method
    closer, farther : str
        Candidates as this method has them; the first method of the table has them the other way round.
    told_apart : bool
        Whether neither method has overlapping intervals for the two; otherwise chance may have turned them.
    """

    method: Method
    closer: str
    farther: str
    told_apart: bool

    @property
    def reason(self) -> str:
        """What the papers say of the method's estimator."""
        return self.method.estimator_kind.reason


@dataclass(frozen=True)
class MethodTable:
    """Several methods on the candidates of a run; the first is the one that the others are held against.

    Attributes
    ----------
    results : tuple of MethodResult
    settings : mapping
        What the numbers come from; plain JSON.
    notes : tuple of str
    """

    results: tuple[MethodResult, ...]
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.results or any(set(each.scores) != set(self.candidates) for each in self.results):
            raise InputError("A table of methods has no results, or results of different candidates")

    @property
    def candidates(self) -> tuple[str, ...]:
        """In the order of the run."""
        return tuple(self.results[0].scores)

    def agreement(self) -> NDArray[np.float64]:
        """(methods, methods) Spearman correlations of the candidates' closeness; nan where a method ties all."""
        rows = [result.closeness(self.candidates) for result in self.results]
        return np.array([[spearman(a, b) for b in rows] for a in rows])

    def disagreements(self) -> tuple[Disagreement, ...]:
        """Every pair of candidates that a method orders otherwise than the first one, those told apart first."""
        first, *others = self.results
        found = []
        for result in others:
            for one, other in combinations(self.candidates, 2):
                ours, theirs = (item.closeness((one, other)) for item in (first, result))
                if (ours[0] - ours[1]) * (theirs[0] - theirs[1]) >= 0:
                    continue
                closer, farther = (one, other) if theirs[0] > theirs[1] else (other, one)
                apart = not any(item.scores[one].overlaps(item.scores[other]) for item in (first, result))
                found.append(Disagreement(result.method, closer, farther, apart))
        return tuple(sorted(found, key=lambda item: not item.told_apart))


def stored_methods(run: Run) -> MethodTable | None:
    """The table kept beside the run; None when there is none, StorageError or InputError when it is damaged."""
    values = run.attachment(ATTACHMENT)
    return None if values is None else from_json(MethodTable, values)
