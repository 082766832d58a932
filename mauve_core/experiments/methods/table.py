"""What methods said about the candidates of a run, how far they agree, and where they do not; JSON out and in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.json_entries import described
from mauve_core.base.validation import Count, NotNegative, Settings, Share, read, read_value
from mauve_core.experiments.methods.method import Method, parse_method
from mauve_core.numerics.statistics.rank_correlation import spearman


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

    value: float
    sd_seeds: NotNegative | None
    sd_texts: NotNegative | None
    low: float | None
    high: float | None
    n: Count
    p_value: Share | None = None
    z: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values; an infinite value is the text "inf"."""
        return {**asdict(self), "value": self.value if math.isfinite(self.value) else str(self.value)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The score that ``as_dict`` wrote."""
        with described("score of a method", values):
            value = values["value"]
            infinite = value in ("inf", "-inf")
            found = read(cls, {**values, "value": 0.0 if infinite else value}, "score of a method")
        return replace(found, value=float(value))

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

    method: Method
    scores: Mapping[str, MethodScore]
    ceiling: MethodScore | None
    seconds: float
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
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

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

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "results": [
                {
                    "method": result.method.spec,
                    "scores": {name: score.as_dict() for name, score in result.scores.items()},
                    "ceiling": None if result.ceiling is None else result.ceiling.as_dict(),
                    "seconds": result.seconds,
                    "notes": list(result.notes),
                }
                for result in self.results
            ],
            "settings": dict(self.settings),
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The table that ``as_dict`` wrote; InputError when it is none."""
        with described("table of methods", values):
            results = tuple(
                MethodResult(
                    method=parse_method(item["method"]),
                    scores={str(name): MethodScore.from_dict(score) for name, score in item["scores"].items()},
                    ceiling=None if item["ceiling"] is None else MethodScore.from_dict(item["ceiling"]),
                    seconds=read_value(NotNegative, item["seconds"], "time that a method took"),
                    notes=read_value(tuple[str, ...], item["notes"], "notes of a method"),
                )
                for item in values["results"]
            )
            if not results or any(set(each.scores) != set(results[0].scores) for each in results):
                raise ValueError("methods without scores, or of different candidates")
            settings = read_value(Settings, values["settings"], "settings of methods")
            return cls(results, settings, read_value(tuple[str, ...], values["notes"], "notes of methods"))
