"""Interface of text measures: T as a function of the kept texts, its spread, and tables of it over an axis.

Besides a comparison's score, the papers report the gap |T(Q) - T(P)| between a candidate and the human side (JMLR
2023, section 6.3). Every measure returns :class:`Terms`, so that a delete-a-group jackknife over texts gives the
spread of all. A text's group depends only on its unit (:mod:`mauve_core.stats.units`): all texts of a
prompt are in the same group on both sides, and shared prompt effects cancel in the gap.
"""

from __future__ import annotations

import dataclasses
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, Literal, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from mauve_core.analyses.measure_inputs import Collection, MeasureContext
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import As, Count, NotNegative, Within
from mauve_core.base.progress import Progress, silent
from mauve_core.scoring.result import SIGNIFICANT, Generations
from mauve_core.stats.resampling import jackknife_sd, t_interval
from mauve_core.stats.units import too_few

# Requirements of a measure: a causal model that scores texts, or the features of both sides.
Need = Literal["model", "features", "words"]

# What a measure looks at: the distance to the human texts, a collection's own variety, or a model's probabilities.
Group = Literal["closeness", "diversity", "likelihood"]

# What two candidates differ in: |T(Q) - T(P)|, the gap to the human side, or T(Q) itself.
Quantity = Literal["gap", "value"]

# Indices of the kept texts; None keeps all.
Rows = NDArray[np.int64] | None


class NotDefinedError(Exception):
    """The measure has no value for this collection; the message becomes the row's note."""


@dataclass(frozen=True)
class Value:
    """A number with its spread over texts.

    Attributes
    ----------
    value : float
        In units of the measure.
    sd : float or None
        Standard deviation from the delete-a-group jackknife over texts; None if there are too few texts or every
        group gives the same value. The row's note gives the reason.
    low, high : float or None
        95 % interval, value +- t quantile x sd; None without ``sd``.
    generations : tuple of float or None
        T of each generation of a candidate with several, of which ``value`` is the mean; of a gap, T(Q) - T(P) of
        each. None without several.
    """

    value: float
    sd: NotNegative | None = None
    low: float | None = None
    high: float | None = None
    generations: Generations | None = None

    @property
    def generations_sd(self) -> float | None:
        """Standard deviation over the generations (denominator generations - 1); None without several."""
        return None if self.generations is None else float(np.std(self.generations, ddof=1))


@dataclass(frozen=True)
class Row:
    """One measure of one candidate.

    Attributes
    ----------
    measure, candidate : str
        Their names.
    model : Value or None
        T(Q); None if undefined for this candidate, with the reason in ``note``.
    human : Value or None
        T(P); for a relational measure, T between two random halves of the human side. None if undefined.
    gap : Value or None
        |T(Q) - T(P)|, with the spread of the signed difference; groups of texts are paired across sides.
    note : str
        Caveats for this row; may be empty.
    """

    measure: str
    candidate: str
    model: Value | None
    human: Value | None
    gap: Value | None
    note: str = ""


@dataclass(frozen=True)
class MeasureDifference:
    """Test of two candidates under one measure (see :mod:`mauve_core.analyses.text_measures`).

    Attributes
    ----------
    measure : str
        Its name.
    of : {"gap", "value"}
        Whether the gaps |T(Q) - T(P)| or the values T(Q) are compared.
    first, second : str
        The candidates.
    difference : float
        That of ``first`` minus that of ``second``. A negative difference of gaps: ``first`` is closer to people.
    low, high : float or None
        95 % interval; it contains 0 exactly if ``p_value`` is above 0.05. None if there is no spread.
    p_value : float or None
        Two-sided; None if there is no spread.
    p_adjusted : float or None
        By Holm's method over all pairs of candidates under this measure, gaps and values apart.
    paired : bool
        Whether the two have texts of the same prompts (:mod:`mauve_core.texts.pairing`).
    n : int
        Prompts in common, or, without any, texts of both; human texts if the measure reads no candidate's texts.
    detectable : float or None
        True difference that the test finds with probability .8 at the strictest level of Holm's method; None if there
        is no spread.
    """

    measure: str
    of: Quantity
    first: str
    second: str
    difference: float
    low: float | None
    high: float | None
    p_value: Annotated[float, Within(0, 1)] | None
    p_adjusted: Annotated[float, Within(0, 1)] | None
    paired: bool
    n: Count
    detectable: NotNegative | None = None

    @property
    def told_apart(self) -> bool:
        """Whether the difference is significant after Holm's correction."""
        return self.p_adjusted is not None and self.p_adjusted <= SIGNIFICANT

    def seen_from(self, candidate: str) -> MeasureDifference:
        """Return the same test with ``candidate``, one of the two, as ``first``."""
        if candidate == self.first:
            return self
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return dataclasses.replace(
            self, first=self.second, second=self.first, difference=-self.difference, low=low, high=high
        )


class _MeasureSettings(TypedDict, total=False):
    """How one measure was computed.

    Attributes
    ----------
    n : mapping of str to int
        Number of texts by source.
    """

    n: Mapping[str, Count]


@dataclass(frozen=True)
class Measurements:
    """All measures of all candidates.

    Attributes
    ----------
    rows : tuple of Row
        Ordered by measure, then candidate.
    settings : mapping
        How each measure was computed, by name: scorer, tokenizer, seed, groups, number of texts.
    notes : tuple of str
        Notes outside single rows, such as omitted measures; ``<measure>: <why>``.
    differences : tuple of MeasureDifference
        Of every two candidates that have the measure: gaps, if T(P) is defined, then values.
    """

    rows: tuple[Row, ...]
    settings: Annotated[Mapping[str, Mapping[str, Any]], As(Mapping[str, _MeasureSettings])]
    notes: tuple[str, ...] = ()
    differences: tuple[MeasureDifference, ...] = ()

    def __post_init__(self) -> None:
        rows = {(row.measure, row.candidate) for row in self.rows}
        tested = {(each.measure, name) for each in self.differences for name in (each.first, each.second)}
        if not tested <= rows:
            unknown = ", ".join(f"{measure} of {name}" for measure, name in sorted(tested - rows))
            raise InputError("Measurements have tests of values that they do not have", received=unknown)

    @property
    def candidates(self) -> tuple[str, ...]:
        """Names of the candidates, in order."""
        return tuple(dict.fromkeys(row.candidate for row in self.rows))

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures, in order."""
        return tuple(dict.fromkeys(row.measure for row in self.rows))

    def row(self, measure: str, candidate: str) -> Row | None:
        """The row of that measure and candidate, or None."""
        return next((row for row in self.rows if (row.measure, row.candidate) == (measure, candidate)), None)

    def tests(self, measure: str, of: Quantity = "gap") -> tuple[MeasureDifference, ...]:
        """The tests of every two candidates under that measure, in order; empty if there are none."""
        return tuple(each for each in self.differences if (each.measure, each.of) == (measure, of))


class Terms(ABC):
    """T of one collection as a function of the kept texts, with all costly work done in advance."""

    # Caveats for this value, such as sampling.
    note: str = ""

    @abstractmethod
    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:
        """T of the texts at ``rows``, against the human texts at ``human_rows`` if T is relational.

        Raises
        ------
        NotDefinedError
            T is undefined for these texts.
        """

    def values(self, row_pairs: Sequence[tuple[Rows, Rows]]) -> NDArray[np.float64]:
        """(len(kept),) T of each choice of rows; override to share work between choices."""
        return np.array([self.value(rows, human_rows) for rows, human_rows in row_pairs], dtype=np.float64)


class MeanTerms(Terms):
    """The mean of one number per text."""

    def __init__(self, numbers: NDArray[np.float64]) -> None:
        self._numbers = numbers

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002
        return float((self._numbers if rows is None else self._numbers[rows]).mean())


class Measure(ABC):
    """One text measure. Add one as a subclass, or as one of :class:`PlainMeasure`, in its own file and a line in
    :data:`mauve_core.analyses.text_measures.MEASURES`.

    Attributes
    ----------
    name : str
        Name in the registry.
    title : str
        Display name.
    group : {"closeness", "diversity", "likelihood"}
    unit : str
        Unit of T; empty for a plain number.
    description : str
        One sentence: what T is.
    larger : str
        Meaning of a larger T.
    source : str
        Source of the definition.
    relational : bool
        Whether T(Q) is computed against P; T(P) is then computed between two random halves of the human side.
    needs : frozenset of {"model", "features", "words"}
        A scoring model, features of every side, or items that are texts.
    bounds : (float, float)
        Range of T; clips intervals.
    depends_on_n : bool
        Whether T depends on the number of texts, so that only equal numbers are comparable.
    reads_candidate : bool
        Whether T depends on the candidate's texts, not only on how it decodes.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    group: ClassVar[Group]
    unit: ClassVar[str] = ""
    description: ClassVar[str]
    larger: ClassVar[str]
    source: ClassVar[str]
    relational: ClassVar[bool] = False
    needs: ClassVar[frozenset[Need]] = frozenset({"words"})
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    depends_on_n: ClassVar[bool] = False
    reads_candidate: ClassVar[bool] = True

    def prepare(  # noqa: B027 (few measures share work)
        self, candidates: Sequence[Collection], human: Collection, context: MeasureContext, progress: Progress
    ) -> None:
        """Do shared work once, before the first candidate."""

    @abstractmethod
    def terms(
        self, texts: Collection, human: Collection, context: MeasureContext, progress: Progress = silent
    ) -> Terms:
        """T of ``texts``, against ``human`` if T is relational.

        Raises
        ------
        NotDefinedError
            The measure is undefined for these texts.
        """

    def human_terms(self, human: Collection, context: MeasureContext, progress: Progress = silent) -> Terms | None:
        """T(P), or None if undefined."""
        return self.halves(human, context, progress) if self.relational else self.terms(human, human, context, progress)

    def halves(self, human: Collection, context: MeasureContext, progress: Progress = silent) -> Terms:
        """T between two random halves of the human side, the first in the role of a candidate."""
        order = context.rng("halves of the human side").permutation(len(human))
        first, second = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
        if not len(first):
            raise NotDefinedError("one human text cannot be split into halves")
        inner = self.terms(human.take(first), human.take(second), context, progress)
        return HalvesTerms(inner, first, second)

    def settings(self, context: MeasureContext) -> dict[str, Any]:  # noqa: ARG002 (measures that have settings use it)
        """Settings, other than the texts, that decide the numbers."""
        return {}


class PlainMeasure(Measure):
    """A measure of the texts alone: T(Q) ignores the human side, and T(P) is T of all human texts."""

    @abstractmethod
    def terms_of(self, texts: Collection, context: MeasureContext, progress: Progress = silent) -> Terms:
        """T of ``texts``; raises as :meth:`terms`."""

    def terms(
        self,
        texts: Collection,
        human: Collection,  # noqa: ARG002
        context: MeasureContext,
        progress: Progress = silent,
    ) -> Terms:
        return self.terms_of(texts, context, progress)


class HalvesTerms(Terms):
    """Terms between two parts of one collection, ``inner``, as a function of the rows of the whole."""

    def __init__(self, inner: Terms, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        self.inner, self._first, self._second = inner, first, second
        self.note = f"T(P) is taken between two random halves of P ({len(first):,} and {len(second):,})"

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002 (both are the human side)
        return self.inner.value(*self._split(rows))

    def values(self, row_pairs: Sequence[tuple[Rows, Rows]]) -> NDArray[np.float64]:
        return self.inner.values([self._split(rows) for rows, _ in row_pairs])

    def of(self, inner: Terms) -> HalvesTerms:
        """Other terms between the same parts."""
        return HalvesTerms(inner, self._first, self._second)

    def _split(self, rows: Rows) -> tuple[Rows, Rows]:
        if rows is None:
            return None, None
        return np.flatnonzero(np.isin(self._first, rows)), np.flatnonzero(np.isin(self._second, rows))


GROUPS = 20
CONFIDENCE = 0.95
# Minimum number of texts for a spread: two per group on average.
MIN_TEXTS = 40

TOO_FEW = f"no spread: n is under {MIN_TEXTS}"
ALL_EQUAL = "no spread: leaving out any group changes nothing"
NOT_WITHOUT = "no spread: without some group there is no value"

# For each group, the rows kept when it is left out; None if the group has no text on this side.
JackknifeRows = list[Rows]


@dataclass(frozen=True, eq=False)
class Groups:
    """The texts of one side in groups.

    Attributes
    ----------
    sizes : (GROUPS,) int64 array
    jackknife_rows : list of (m,) int64 arrays or None
        Rows left without each group.
    too_few : str
        Why units support no spread; empty if they do.
    """

    sizes: NDArray[np.int64]
    jackknife_rows: JackknifeRows
    too_few: str = ""

    @property
    def n(self) -> int:
        return int(self.sizes.sum())


@dataclass(frozen=True, eq=False)
class Replicates:
    """T of all texts, and T without each group; ``left_out`` is None if unavailable, with the reason in ``problem``.

    Of several generations, both are means, and ``generations`` has T of each.
    """

    estimate: float
    left_out: NDArray[np.float64] | None
    problem: str = ""
    generations: tuple[float, ...] | None = None


def group_of(ids: Sequence[str]) -> NDArray[np.int64]:
    """(n,) group of each text, 0 to GROUPS - 1, from a digest of its prompt's name."""
    digests = (hashlib.blake2b(identifier.encode(), digest_size=8).digest() for identifier in ids)
    return np.array([int.from_bytes(digest, "little") % GROUPS for digest in digests], dtype=np.int64)


def groups_of(texts: Collection) -> Groups:
    """The groups of a collection from ``by_unit``, where equal ids are one unit."""
    labels = group_of(texts.ids)
    sizes = np.bincount(labels, minlength=GROUPS)
    kept = [np.flatnonzero(labels != group) if sizes[group] else None for group in range(GROUPS)]
    return Groups(sizes, kept, too_few(np.unique(texts.ids, return_inverse=True)[1]))


def replicate(terms: Terms, texts: Groups, human: Groups, *, relational: bool) -> Replicates:
    """T, and T without each group on both sides; NotDefinedError if T of all texts is undefined."""
    estimate = terms.value()
    if min(texts.n, human.n if relational else texts.n) < MIN_TEXTS:
        return Replicates(estimate, None, TOO_FEW)
    why = texts.too_few or (human.too_few if relational else "")
    if why:
        return Replicates(estimate, None, f"no spread: {why}")
    try:
        left_out = terms.values(list(zip(texts.jackknife_rows, human.jackknife_rows, strict=True)))
    except NotDefinedError as reason:
        return Replicates(estimate, None, f"{NOT_WITHOUT} ({reason})")
    return Replicates(estimate, left_out)


def mean_of(found: Sequence[Replicates]) -> Replicates:
    """The mean over generations; a group's prompts are left out of all generations together."""
    if len(found) == 1:
        return found[0]
    estimates = tuple(each.estimate for each in found)
    problem = next((each.problem for each in found if each.left_out is None), "")
    left_out = [each.left_out for each in found if each.left_out is not None]
    mean = np.mean(left_out, axis=0) if len(left_out) == len(found) else None
    return Replicates(float(np.mean(estimates)), mean, problem, estimates)


def value_of(
    replicates: Replicates, sizes: NDArray[np.int64], bounds: tuple[float, float], *, absolute: bool = False
) -> tuple[Value, str]:
    """The value with its spread, and a note if it has none.

    Parameters
    ----------
    sizes : (GROUPS,) int array
        Texts in each group, of both sides if both count.
    absolute : bool
        Whether the value is the absolute value of a signed difference.
    """
    point = abs(replicates.estimate) if absolute else replicates.estimate
    generations = replicates.generations
    if replicates.left_out is None:
        return Value(point, generations=generations), replicates.problem
    filled = sizes > 0
    left_out = replicates.left_out[filled]
    if filled.sum() < 2:
        return Value(point, generations=generations), TOO_FEW
    if np.all(left_out == replicates.estimate):
        return Value(point, generations=generations), ALL_EQUAL
    sd = jackknife_sd(replicates.estimate, left_out, sizes[filled])
    low, high = t_interval(point, sd, int(filled.sum()), CONFIDENCE, bounds=bounds)
    return Value(point, sd, low, high, generations), ""


def difference(model: Replicates, human: Replicates) -> Replicates:
    """T(Q) - T(P), group by group."""
    generations = None if model.generations is None else tuple(each - human.estimate for each in model.generations)
    if model.left_out is None or human.left_out is None:
        return Replicates(model.estimate - human.estimate, None, model.problem or human.problem, generations)
    return Replicates(model.estimate - human.estimate, model.left_out - human.left_out, generations=generations)


# A place on the axis, such as a number of neighbors.
OnAxis = Annotated[int, Within(1)]


@dataclass(frozen=True)
class OrderOver:
    """In which order two candidates are told apart, by place on the axis.

    At each place, the two are tested, and Holm's method corrects for all pairs of candidates; it does not correct for
    the number of places.

    Attributes
    ----------
    measure : str
        Its name.
    first, second : str
        The candidates.
    larger, smaller : tuple of int
        The places at which ``first`` is told apart from ``second`` as larger, and as smaller, ascending.
    """

    measure: str
    first: str
    second: str
    larger: tuple[OnAxis, ...]
    smaller: tuple[OnAxis, ...]

    @property
    def turns(self) -> bool:
        """Whether the order depends on the place."""
        return bool(self.larger) and bool(self.smaller)


RowOver = TypeVar("RowOver", bound=Row)


class TableOver(Generic[RowOver]):
    """A table with rows by measure, then candidate, each in ascending places."""

    rows: tuple[RowOver, ...]

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures, in order."""
        return tuple(dict.fromkeys(row.measure for row in self.rows))

    @property
    def candidates(self) -> tuple[str, ...]:
        """Names of the candidates, in order."""
        return tuple(dict.fromkeys(row.candidate for row in self.rows))

    def line(self, measure: str, candidate: str) -> tuple[RowOver, ...]:
        """The rows of one measure and candidate in ascending places; empty if there are none."""
        return tuple(row for row in self.rows if (row.measure, row.candidate) == (measure, candidate))


def orders_of(
    measure: str, tests: Mapping[int, Sequence[MeasureDifference]], candidates: Sequence[str]
) -> list[OrderOver]:
    """Every two candidates with the places at which they are told apart; ``tests`` of each place."""
    larger: dict[tuple[str, str], list[int]] = {}
    smaller: dict[tuple[str, str], list[int]] = {}
    for place, found in tests.items():
        for test in found:
            pair = (test.first, test.second)
            for signs, told in ((larger, test.difference > 0), (smaller, test.difference < 0)):
                signs.setdefault(pair, []).extend([place] if told and test.told_apart else [])
    pairs = ((first, second) for i, first in enumerate(candidates) for second in candidates[i + 1 :])
    return [OrderOver(measure, *pair, tuple(larger.get(pair, ())), tuple(smaller.get(pair, ()))) for pair in pairs]


def order_in_words(orders: Sequence[OrderOver], what: str, by: str, axis: str) -> str:
    """Whether the order of the candidates depends on the axis, in a sentence.

    Parameters
    ----------
    orders : sequence of OrderOver
        Of one measure, at least one.
    what, by, axis : str
        What tells candidates apart, at the beginning of a sentence and within one; the name of the axis.
    """
    apart = sum(bool(each.larger or each.smaller) for each in orders)
    turning = sum(each.turns for each in orders)
    pairs = f"{len(orders):,} {'pair' if len(orders) == 1 else 'pairs'} of candidates"
    if not apart:
        return f"{what} tells none of the {pairs} apart at any {axis}."
    if not turning:
        return (
            f"{what} tells {apart:,} of the {pairs} apart at some {axis}, each in the same order at every such {axis}."
        )
    return (
        f"The order by {by} depends on {axis}: {turning:,} of the {pairs} {'is' if turning == 1 else 'are'} told "
        f"apart one way at some {axis} and the other way at another."
    )


def notes_over(rows: Sequence[tuple[Row, int]], title: Callable[[str], str], axis: str) -> tuple[str, ...]:
    """Every caveat of rows, with their places, once: with its measure, candidates and places unless all rows have it.

    Parameters
    ----------
    title : callable
        Name of a measure -> its title.
    axis : str
        Written before the places, such as ``k =``.
    """
    whose: dict[str, dict[tuple[str, str], list[int]]] = {}
    for row, place in rows:
        for part in filter(None, row.note.split("; ")):
            whose.setdefault(part, {}).setdefault((row.measure, row.candidate), []).append(place)
    notes = []
    for part, places_of in whose.items():
        if sum(map(len, places_of.values())) == len(rows):
            notes.append(part)
            continue
        candidates: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        for (measure, candidate), places in places_of.items():
            candidates.setdefault((measure, tuple(places)), []).append(candidate)
        notes += [
            f"{title(measure)} of {', '.join(names)} at {axis} {in_words(places)}: {part}"
            for (measure, places), names in candidates.items()
        ]
    return tuple(notes)


def in_words(places: Sequence[int]) -> str:
    """Ascending whole numbers with their runs joined: ``1 to 3, 7``."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
