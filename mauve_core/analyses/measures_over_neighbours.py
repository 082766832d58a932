"""Precision, recall, density and coverage at several numbers of neighbors k (JMLR 2023, section 7.6: k = 1 to 25).

    neighbours_run(run, range(1, 26))

At the measures' own k = 5, the numbers are those of :func:`mauve_core.analyses.text_measures.measure`. The spread is
theirs at every k: a jackknife over texts, whose balls stay as they are without a text. T(P) is taken between the same
two random halves of the human side at every k.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from mauve_core.analyses.feature_measures import NEIGHBOURS, ManifoldMeasure
from mauve_core.analyses.measure_inputs import Collection, MeasureContext, by_unit
from mauve_core.analyses.measure_terms import (
    CONFIDENCE,
    GROUPS,
    MIN_TEXTS,
    MeasureDifference,
    OnAxis,
    OrderOver,
    Row,
    TableOver,
    Terms,
    notes_over,
    order_in_words,
    orders_of,
)
from mauve_core.analyses.tasks import RunTask
from mauve_core.analyses.text_measures import MEASURES, collection_of, known_rows, measure_title, measured, with_groups
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import As, Settings, from_json, whole_number
from mauve_core.base.progress import Progress, silent
from mauve_core.runs import Run

# Attachment name of the table.
ATTACHMENT = "neighbours"

# Default numbers of neighbors, those of the paper.
USUAL = range(1, 26)

# Most numbers of neighbors at once.
MOST_KS = 100

# The measures that have a number of neighbors, by name.
OVER_K: dict[str, ManifoldMeasure] = {
    name: item for name, item in MEASURES.items() if isinstance(item, ManifoldMeasure)
}


@dataclass(frozen=True)
class RowAtK(Row):
    """One measure of one candidate at one number of neighbors.

    Attributes
    ----------
    k : int
        Number of neighbors.
    """

    k: OnAxis = field(kw_only=True)


@dataclass(frozen=True)
class NeighbourTable(TableOver[RowAtK]):
    """Measures at all numbers of neighbors.

    Attributes
    ----------
    rows : tuple of RowAtK
        By measure, then candidate, each in ascending k.
    orders : tuple of OrderOver
        Of every two candidates by T(Q), by measure; empty with one candidate.
    settings : mapping
        n of every side, seed, groups, confidence, the measures' own k.
    notes : tuple of str
        What the spread covers, and caveats.
    """

    rows: tuple[RowAtK, ...]
    orders: tuple[OrderOver, ...] = ()
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def ks(self) -> tuple[int, ...]:
        """All numbers of neighbors, ascending."""
        return tuple(sorted({row.k for row in self.rows}))


@dataclass(frozen=True, eq=False)
class _AtPlace:
    """The terms of every collection at one of the numbers of neighbors."""

    made: Mapping[Collection, Sequence[Terms]]
    place: int

    def terms(
        self,
        texts: Collection,
        human: Collection,  # noqa: ARG002
        context: MeasureContext,  # noqa: ARG002
        progress: Progress = silent,  # noqa: ARG002
    ) -> Terms:
        return self.made[texts][self.place]

    def human_terms(
        self,
        human: Collection,
        context: MeasureContext,  # noqa: ARG002
        progress: Progress = silent,  # noqa: ARG002
    ) -> Terms:
        return self.made[human][self.place]


def neighbours_run(
    run: Run, ks: Sequence[int] | None = None, names: Sequence[str] | None = None, *, progress: Progress = silent
) -> NeighbourTable:
    """Measure every candidate of a stored run at several numbers of neighbors.

    Parameters
    ----------
    ks : sequence of int, optional
        From 1 to one less than the texts of the smallest side, at most :data:`MOST_KS`; default :data:`USUAL`, as far
        as the texts permit.
    names : sequence of str, optional
        Of :data:`OVER_K`; default all.
    progress : callable
        May raise CancelledError.

    Raises
    ------
    InputError
        A number or a measure cannot be used, or the run was stored without features.
    """
    sides = {
        source.name: collection_of(run.corpora[source.name], source.name, run.features(source.name))
        for source in run.comparison.sources
    }
    return neighbours(sides.pop(HUMAN), sides, ks, names, progress=progress)


def neighbours(
    human: Collection,
    candidates: Mapping[str, Collection],
    ks: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    *,
    progress: Progress = silent,
) -> NeighbourTable:
    """:func:`neighbours_run` of any collections with features; parameters and errors as there."""
    chosen = checked_names(names)
    human, candidates = by_unit(human, candidates)
    own, sides = with_groups(human, candidates)
    collections = [side.texts for generations in sides.values() for side in generations]
    if any(texts.features is None for texts in (human, *collections)):
        raise InputError("Neighbors cannot be found", allowed="features of every side", received="a run without them")
    n = {HUMAN: len(human), **{name: min(len(side.texts) for side in parts) for name, parts in sides.items()}}
    found_ks = _checked(ks, min(n.values()) - 1)
    context = MeasureContext()
    rows: list[RowAtK] = []
    orders: list[OrderOver] = []
    for name in chosen:
        item = OVER_K[name]
        made = {texts: item.over_k(item.terms(texts, human, context), found_ks) for texts in collections}
        made[human] = item.over_k(item.halves(human, context), found_ks)
        tests: dict[int, tuple[MeasureDifference, ...]] = {}
        by_k: list[RowAtK] = []
        for place, k in enumerate(found_ks):
            # the first k computes all
            found = measured(item, own, sides, context, silent if place else progress, _AtPlace(made, place))
            by_k += [RowAtK(**vars(row), k=k) for row in found.rows]
            tests[k] = tuple(test for test in found.differences if test.of == "value")
        rows += [row for candidate in sides for row in by_k if row.candidate == candidate]
        orders += orders_of(name, tests, list(sides))
    notes = notes_over([(row, row.k) for row in rows], lambda name: OVER_K[name].title, "k =")
    return NeighbourTable(tuple(rows), tuple(orders), _settings(n, context), notes)


def checked_names(names: Sequence[str] | None) -> tuple[str, ...]:
    """The measures in registry order; InputError for none, or one without neighbors."""
    unknown = [name for name in names or () if name not in OVER_K]
    if unknown or (names is not None and not names):
        wrong = f"No measure with neighbors is named {', '.join(unknown)}" if unknown else "No measure is chosen"
        raise InputError(wrong, allowed=", ".join(OVER_K))
    return tuple(name for name in OVER_K if names is None or name in names)


def numbers_of_neighbours(text: str) -> tuple[int, ...]:
    """Parse ``1-25`` or ``1,5,10-20``; InputError if a part is no number above 0 or range of such numbers."""
    allowed = f"numbers above 0 and ranges, such as 1,5,10-20; at most {MOST_KS}"
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        low, high = whole_number(first), whole_number(last if dash else first)
        if not low or not high or not 0 <= high - low < MOST_KS:
            raise InputError("The numbers of neighbors cannot be read", allowed=allowed, received=text)
        found += range(low, high + 1)
    return tuple(found)


def stored_neighbours(run: Run) -> NeighbourTable | None:
    """The run's stored table, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    table = from_json(NeighbourTable, values)
    return dataclasses.replace(table, rows=known_rows(run, table.rows, OVER_K))


def order_sentence(table: NeighbourTable, measure: str) -> str:
    """Whether the order of the candidates by one measure depends on k, in a sentence; empty with one candidate."""
    orders = [each for each in table.orders if each.measure == measure]
    if not orders or len(table.ks) < 2:
        return ""
    title = measure_title(measure)
    return order_in_words(orders, title, title.lower(), "k")


def _checked(ks: Sequence[int] | None, most: int) -> tuple[int, ...]:
    if ks is None:
        ks = [k for k in USUAL if k <= most]
    wrong = [k for k in ks if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= most]
    if wrong or not len(ks):
        received = ", ".join(map(repr, wrong[:5])) if wrong else "none"
        allowed = f"whole numbers from 1 to {most}, fewer than the texts of the smallest side"
        raise InputError("The numbers of neighbors are not usable", allowed=allowed, received=received)
    found = tuple(sorted(set(ks)))
    if len(found) > MOST_KS:
        received = f"{len(found):,}"
        raise InputError("Too many numbers of neighbors at once", allowed=f"at most {MOST_KS}", received=received)
    return found


def _settings(n: Mapping[str, int], context: MeasureContext) -> dict[str, Any]:
    return {
        "texts": dict(n),
        "seed": context.seed,
        "own_neighbours": NEIGHBOURS,
        "groups": GROUPS,
        "confidence": CONFIDENCE,
        "least_texts": MIN_TEXTS,
    }


@dataclass(frozen=True)
class NeighboursTask(RunTask):
    """Measures over k; the fields are parameters of :func:`neighbours_run`."""

    kind: ClassVar[str] = "neighbours"
    titled: ClassVar[str] = "measures over k of"

    ks: tuple[OnAxis, ...] | None = None
    measures: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_names(self.measures)
        if self.ks == ():
            raise InputError("No number of neighbors is given", allowed="one or more, or None for the default ones")

    def compute(self, progress: Progress = silent) -> NeighbourTable:
        """Measure, and keep the table in place of an earlier one."""
        run = self.load()
        return self.keep(run, ATTACHMENT, neighbours_run(run, self.ks, self.measures, progress=progress), progress)
