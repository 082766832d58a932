"""Shared by all sweep axes: the request, validation of values, and collection of points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import numpy as np

from mauve_core.base.config import HUMAN, SCORES, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import dataclass_to_json, from_json
from mauve_core.base.progress import Progress
from mauve_core.encoders.features import FeatureStore
from mauve_core.experiments.sweeps.sweep import SweepPoint
from mauve_core.runs import Run
from mauve_core.runs.checkpoints import FinishedParts
from mauve_core.scoring.result import Partition, SeedSpread
from mauve_core.stats.divergences import score_counts

# Progress stage; counts partitions.
STAGE = "Clustering"


@dataclass(frozen=True)
class Request:
    """A sweep request; ``values`` None takes the axis' defaults, ``seeds`` None the run's number.

    ``finished`` saves points for a restart; None saves none.
    """

    run: Run
    values: Sequence[float] | None
    seeds: int | None
    device: str
    feature_store: FeatureStore
    progress: Progress
    finished: FinishedParts | None = None

    @property
    def score(self) -> ScoreConfig:
        """The run's settings with the requested number of seeds."""
        own = self.run.comparison.config.score
        return own if self.seeds is None else replace(own, seeds=self.seeds)

    @property
    def names(self) -> tuple[str, ...]:
        """Candidates in run order."""
        return tuple(candidate.name for candidate in self.run.comparison.candidates)

    @property
    def fewest(self) -> int:
        """Number of texts of the smallest side, including the human side."""
        return min(source.n for source in self.run.comparison.sources)

    def stored_seeds(self) -> int:
        """Number of seeds for an axis that reads the run's own partitions; InputError if the run has fewer."""
        stored = self.run.comparison.config.score.seeds
        seeds = stored if self.seeds is None else self.seeds
        if seeds > stored:
            raise InputError(
                "This sweep uses the run's own partitions, and there are fewer of them",
                allowed=f"1 to {stored} seeds",
                received=str(seeds),
            )
        return seeds


@dataclass(frozen=True)
class Swept:
    """Result of an axis: points in any order, and notes."""

    points: tuple[SweepPoint, ...]
    notes: tuple[str, ...]


class Collector:
    """Collects points as they finish; a point that cannot be clustered is left out with a note.

    It starts with the previously finished points; see :meth:`missing`.
    """

    def __init__(self, request: Request, values: Sequence[float]) -> None:
        self._request = request
        self._left_out: list[str] = []
        wanted = [(float(value), name) for value in values for name in request.names]
        self._points = {key: point for key in wanted if (point := self._stored_point(*key)) is not None}
        self._done, self._total = (len(found) * request.score.seeds for found in (self._points, wanted))
        request.progress(STAGE, self._done, self._total)

    def missing(self, value: float, candidate: str) -> bool:
        """Whether the point is still to be computed."""
        return (float(value), candidate) not in self._points

    def advance(self) -> None:
        """Count a finished partition."""
        self._done += 1
        self._request.progress(STAGE, self._done, self._total)

    @contextmanager
    def point(self, value: float, candidate: str) -> Iterator[list[Partition]]:
        """Yield the list for the point's partitions, one per seed; an InputError becomes a note."""
        before, parts = self._done, list[Partition]()
        try:
            yield parts
        except InputError as error:
            self._left_out.append(f"{candidate} at {value:g} is left out: {error}")
            self._done = before + self._request.score.seeds
        else:
            point = point_of(value, candidate, parts, self._request.score.scale)
            self._points[float(value), candidate] = point
            if self._request.finished is not None:
                self._request.finished.keep(_name(value, candidate), dataclass_to_json(point))

    def finished(self, notes: Iterable[str]) -> Swept:
        """All points and the nonempty notes; InputError without any point."""
        if not self._points:
            raise InputError("No point of this sweep could be scored", received=self._left_out[0])
        return Swept(tuple(self._points.values()), (*filter(None, notes), *self._left_out))

    def _stored_point(self, value: float, candidate: str) -> SweepPoint | None:
        found = None if self._request.finished is None else self._request.finished.get(_name(value, candidate))
        with suppress(InputError):  # if the stored point is invalid, compute it again
            return None if found is None else from_json(SweepPoint, found)
        return None


def point_of(value: float, candidate: str, parts: Sequence[Partition], scale: float) -> SweepPoint:
    """Scores of one candidate from its partitions, one per seed (JMLR 2023, sections 3.2 and 4.1)."""
    p, q = (np.stack([part.counts(side) for part in parts]) for side in (HUMAN, candidate))
    scores = score_counts(p, q, scale=scale)
    n = min(int(p[0].sum()), int(q[0].sum()))
    spreads = {name: SeedSpread.of(scores[name].tolist()) for name in SCORES}
    return SweepPoint(float(value), candidate, candidate, n, parts[0].k, spreads)


def whole_values(what: str, values: Sequence[float], low: int, high: int) -> tuple[int, ...]:
    """Distinct whole numbers, ascending; InputError for none, or one not whole or outside ``low`` to ``high``."""
    allowed = f"whole numbers from {low} to {high}"
    _require(what, values, lambda value: low <= value <= high and value == int(value), allowed)
    return tuple(sorted({int(value) for value in values}))


def positive_values(what: str, values: Sequence[float]) -> tuple[float, ...]:
    """Distinct positive finite numbers, ascending; InputError if there are none or one is invalid."""
    _require(what, values, lambda value: value > 0, "positive finite numbers")
    return tuple(sorted({float(value) for value in values}))


def numbers_within(what: str, values: Sequence[float], low: float, high: float) -> tuple[float, ...]:
    """Distinct numbers, ascending; InputError if there are none or one is outside ``low`` to ``high``."""
    _require(what, values, lambda value: low <= value <= high, f"numbers from {low:g} to {high:g}")
    return tuple(sorted({float(value) for value in values}))


def halved(top: int, low: int, most: int) -> tuple[int, ...]:
    """``top``, its half, its quarter ...: at most ``most`` values, none below ``low``, ascending."""
    values = [round(top / 2**step) for step in range(most)]
    return tuple(sorted({top, *(value for value in values if value >= low)}))


def _name(value: float, candidate: str) -> str:
    return f"{float(value)!r} {candidate}"


def _require(what: str, values: Sequence[float], usable: Callable[[float], bool], allowed: str) -> None:
    wrong = [value for value in values if not (_is_number(value) and usable(value))]
    if wrong or not len(values):
        received = ", ".join(map(str, wrong)) if wrong else "no value"
        raise InputError(f"{what} cannot be swept over these values", allowed=allowed, received=received)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
