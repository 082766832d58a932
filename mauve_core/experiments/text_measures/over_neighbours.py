"""Precision, recall, density and coverage at several numbers of neighbors k (JMLR 2023, section 7.6: k = 1 to 25).

    neighbours_run(run, range(1, 26))

At the measures' own k = 5, the numbers are those of :func:`mauve_core.experiments.text_measures.measure`. The spread is
theirs at every k: a jackknife over texts, whose balls stay as they are without a text. T(P) is taken between the same
two random halves of the human side at every k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import from_json
from mauve_core.base.progress import Progress, silent
from mauve_core.base.validation import As, Settings, Within
from mauve_core.experiments.text_measures import (
    MEASURES,
    Collection,
    MeasureContext,
    Terms,
    Value,
    measure_title,
    measured,
    with_groups,
)
from mauve_core.experiments.text_measures.base import MeasureDifference
from mauve_core.experiments.text_measures.manifold import NEIGHBOURS, ManifoldMeasure
from mauve_core.experiments.text_measures.spread import CONFIDENCE, GROUPS, MIN_TEXTS
from mauve_core.experiments.text_measures.stored import collection_of
from mauve_core.store import Run

ATTACHMENT = "neighbours"
"""Attachment name of the table."""

USUAL = range(1, 26)
"""Default numbers of neighbors, those of the paper."""

MOST_KS = 100
"""Most numbers of neighbors at once."""

OVER_K: dict[str, ManifoldMeasure] = {
    name: item for name, item in MEASURES.items() if isinstance(item, ManifoldMeasure)
}
"""The measures that have a number of neighbors, by name."""

Neighbours = Annotated[int, Within(1)]


@dataclass(frozen=True)
class RowAtK:
    """One measure of one candidate at one number of neighbors ``k``; the other fields are those of ``Row``."""

    measure: str
    candidate: str
    k: Neighbours
    model: Value | None
    human: Value | None
    gap: Value | None
    note: str = ""


@dataclass(frozen=True)
class OrderOverK:
    """In which order two candidates are told apart, by k.

    At each k, T(Q) of the two is tested, and Holm's method corrects for all pairs of candidates; it does not correct
    for the number of ks.

    Attributes
    ----------
    measure, first, second : str
    larger, smaller : tuple of int
        The ks at which T of ``first`` is told apart from that of ``second`` as larger, and as smaller, ascending.
    """

    measure: str
    first: str
    second: str
    larger: tuple[Neighbours, ...]
    smaller: tuple[Neighbours, ...]

    @property
    def turns(self) -> bool:
        """Whether the order depends on k."""
        return bool(self.larger) and bool(self.smaller)


@dataclass(frozen=True)
class NeighbourTable:
    """Measures at all numbers of neighbors.

    Attributes
    ----------
    rows : tuple of RowAtK
        By measure, then candidate, each in ascending k.
    orders : tuple of OrderOverK
        Of every two candidates, by measure; empty with one candidate.
    settings : mapping
        n of every side, seed, groups, confidence, the measures' own k.
    notes : tuple of str
        What the spread covers, and caveats.
    """

    rows: tuple[RowAtK, ...]
    orders: tuple[OrderOverK, ...] = ()
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures, in order."""
        return tuple(dict.fromkeys(row.measure for row in self.rows))

    @property
    def candidates(self) -> tuple[str, ...]:
        """Names of the candidates, in order."""
        return tuple(dict.fromkeys(row.candidate for row in self.rows))

    @property
    def ks(self) -> tuple[int, ...]:
        """All numbers of neighbors, ascending."""
        return tuple(sorted({row.k for row in self.rows}))

    def line(self, measure: str, candidate: str) -> tuple[RowAtK, ...]:
        """The rows of one measure and candidate in ascending k; empty if there are none."""
        return tuple(row for row in self.rows if (row.measure, row.candidate) == (measure, candidate))


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
    own, sides = with_groups(human, candidates)
    collections = [side.texts for generations in sides.values() for side in generations]
    if any(texts.features is None for texts in (human, *collections)):
        raise InputError("Neighbors cannot be found", allowed="features of every side", received="a run without them")
    n = {HUMAN: len(human), **{name: min(len(side.texts) for side in parts) for name, parts in sides.items()}}
    found_ks = _checked(ks, min(n.values()) - 1)
    context = MeasureContext()
    rows: list[RowAtK] = []
    orders: list[OrderOverK] = []
    for name in chosen:
        item = OVER_K[name]
        made = {texts: item.over_k(item.terms(texts, human, context), found_ks) for texts in collections}
        made[human] = item.over_k(item.halves(human, context), found_ks)
        tests: dict[int, tuple[MeasureDifference, ...]] = {}
        by_k: list[RowAtK] = []
        for place, k in enumerate(found_ks):
            # the first k computes all
            found = measured(item, own, sides, context, silent if place else progress, _AtPlace(made, place))
            by_k += [
                RowAtK(row.measure, row.candidate, k, row.model, row.human, row.gap, row.note) for row in found.rows
            ]
            tests[k] = tuple(test for test in found.differences if test.of == "value")
        rows += [row for candidate in sides for row in by_k if row.candidate == candidate]
        orders += _orders(name, tests, list(sides))
    return NeighbourTable(tuple(rows), tuple(orders), _settings(n, context), _notes(rows))


def checked_names(names: Sequence[str] | None) -> tuple[str, ...]:
    """The measures in registry order; InputError for none, or one without neighbors."""
    unknown = [name for name in names or () if name not in OVER_K]
    if unknown or (names is not None and not names):
        wrong = f"No measure with neighbors is named {', '.join(unknown)}" if unknown else "No measure is chosen"
        raise InputError(wrong, allowed=", ".join(OVER_K))
    return tuple(name for name in OVER_K if names is None or name in names)


def numbers_of_neighbours(text: str) -> tuple[int, ...]:
    """Parse ``1-25`` or ``1,5,10-20``; InputError if a part is no number or range of numbers."""
    allowed = f"numbers and ranges, such as 1,5,10-20; at most {MOST_KS}"
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and 0 <= int(last) - int(first) < MOST_KS):
            raise InputError("The numbers of neighbors cannot be read", allowed=allowed, received=text)
        found += range(int(first), int(last) + 1)
    return tuple(found)


def stored_neighbours(run: Run) -> NeighbourTable | None:
    """The run's stored table, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    return None if values is None else from_json(NeighbourTable, values)


def order_sentence(table: NeighbourTable, measure: str) -> str:
    """Whether the order of the candidates by one measure depends on k, in a sentence; empty with one candidate."""
    orders = [each for each in table.orders if each.measure == measure]
    if not orders or len(table.ks) < 2:
        return ""
    apart = sum(bool(each.larger or each.smaller) for each in orders)
    turning = sum(each.turns for each in orders)
    title = measure_title(measure)
    pairs = f"{len(orders):,} {'pair' if len(orders) == 1 else 'pairs'} of candidates"
    if not apart:
        return f"{title} tells none of the {pairs} apart at any k."
    if not turning:
        return f"{title} tells {apart:,} of the {pairs} apart at some k, each in the same order at every such k."
    return (
        f"The order by {title.lower()} depends on k: {turning:,} of the {pairs} {'is' if turning == 1 else 'are'} told "
        "apart one way at some k and the other way at another."
    )


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


def _orders(
    measure: str, tests: Mapping[int, Sequence[MeasureDifference]], candidates: Sequence[str]
) -> list[OrderOverK]:
    """Every two candidates with the ks at which they are told apart."""
    larger: dict[tuple[str, str], list[int]] = {}
    smaller: dict[tuple[str, str], list[int]] = {}
    for k, found in tests.items():
        for test in found:
            pair = (test.first, test.second)
            for signs, told in ((larger, test.difference > 0), (smaller, test.difference < 0)):
                signs.setdefault(pair, []).extend([k] if told and test.told_apart else [])
    pairs = ((first, second) for i, first in enumerate(candidates) for second in candidates[i + 1 :])
    return [OrderOverK(measure, *pair, tuple(larger.get(pair, ())), tuple(smaller.get(pair, ()))) for pair in pairs]


def _settings(n: Mapping[str, int], context: MeasureContext) -> dict[str, Any]:
    return {
        "texts": dict(n),
        "seed": context.seed,
        "own_neighbours": NEIGHBOURS,
        "groups": GROUPS,
        "confidence": CONFIDENCE,
        "least_texts": MIN_TEXTS,
    }


def _notes(rows: Sequence[RowAtK]) -> tuple[str, ...]:
    """Every caveat once, with its measure, candidates and ks unless it holds for all rows."""
    whose: dict[str, dict[tuple[str, str], list[int]]] = {}
    for row in rows:
        for part in filter(None, row.note.split("; ")):
            whose.setdefault(part, {}).setdefault((row.measure, row.candidate), []).append(row.k)
    notes = []
    for part, ks_of in whose.items():
        if sum(map(len, ks_of.values())) == len(rows):
            notes.append(part)
            continue
        candidates: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        for (measure, candidate), ks in ks_of.items():
            candidates.setdefault((measure, tuple(ks)), []).append(candidate)
        notes += [
            f"{OVER_K[measure].title} of {', '.join(names)} at k = {in_words(ks)}: {part}"
            for (measure, ks), names in candidates.items()
        ]
    return tuple(notes)


def in_words(ks: Sequence[int]) -> str:
    """Ascending whole numbers with their runs joined: ``1 to 3, 7``."""
    runs: list[list[int]] = []
    for k in ks:
        if runs and k == runs[-1][-1] + 1:
            runs[-1].append(k)
        else:
            runs.append([k])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
