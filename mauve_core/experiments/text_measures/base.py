"""What a text measure is, what it is given, and what comes out.

A measure computes T of a collection of texts. What the papers report beside the score of a comparison is the gap
|T(Q) - T(P)| between a candidate and the human side (JMLR 2023, section 6.3). Every measure hands over :class:`Terms`,
T as a function of the texts that are kept, so that one mechanism (:mod:`mauve_core.experiments.text_measures.spread`)
gives all of them their spread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.progress import Progress, silent
from mauve_core.base.validation import As, Count, NotNegative
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MetricContext

Need = Literal["model", "features"]
"""What a measure cannot do without: a causal model that scores texts, or the features of both sides."""

Rows = NDArray[np.int64] | None
"""Positions of the texts that are kept; None keeps all."""


class NotDefinedError(Exception):
    """The measure has no value for this collection; the message says why and becomes the row's note."""


@dataclass(frozen=True)
class Value:
    """A number with its spread over texts.

    Attributes
    ----------
    value : float
    sd : float or None
        Standard deviation from the delete-a-group jackknife over texts; None when there are too few texts for one, or
        when every group gives the same value. The row's note says which.
    low, high : float or None
        95 % interval, value +- t quantile x sd; None with ``sd``.
    """

    value: float
    sd: NotNegative | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Row:
    """One measure of one candidate.

    Attributes
    ----------
    measure, candidate : str
    model : Value or None
        T(Q); None when the measure is not defined for this candidate, and ``note`` says why.
    human : Value or None
        T(P); for a relational measure between two random halves of the human side. None where there is none.
    gap : Value or None
        |T(Q) - T(P)|, its spread that of the signed difference with groups of texts paired across the sides.
    note : str
        What a reader must know of this row; may be empty.
    """

    measure: str
    candidate: str
    model: Value | None
    human: Value | None
    gap: Value | None
    note: str = ""


class _MeasureSettings(TypedDict, total=False):
    """What is read of a measure's settings."""

    n: Mapping[str, Count]


@dataclass(frozen=True)
class Measurements:
    """Every measure of every candidate.

    Attributes
    ----------
    rows : tuple of Row
        In the order of the measures, then of the candidates.
    settings : mapping
        For each measure by name, how it was computed: scorer, tokenizer, seed, groups, number of texts.
    notes : tuple of str
        What concerns no single row, such as measures that were left out; ``<measure>: <why>``.
    """

    rows: tuple[Row, ...]
    settings: Annotated[Mapping[str, Mapping[str, Any]], As(Mapping[str, _MeasureSettings])]
    notes: tuple[str, ...] = ()

    @property
    def candidates(self) -> tuple[str, ...]:
        """Names of the candidates, in their order."""
        return tuple(dict.fromkeys(row.candidate for row in self.rows))

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures, in their order."""
        return tuple(dict.fromkeys(row.measure for row in self.rows))

    def row(self, measure: str, candidate: str) -> Row | None:
        """The row of that measure and candidate; None when there is none."""
        return next((row for row in self.rows if (row.measure, row.candidate) == (measure, candidate)), None)


class Terms(ABC):
    """T of one collection as a function of the texts that are kept, with everything costly done beforehand."""

    note: str = ""
    """What a reader must know of this value, such as a sample."""

    @abstractmethod
    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:
        """T of the texts at ``rows``, against the human texts at ``human_rows`` where T is relational.

        Raises
        ------
        NotDefinedError
            These texts have no such value.
        """

    def values(self, kept: Sequence[tuple[Rows, Rows]]) -> NDArray[np.float64]:
        """(len(kept),) T of each choice of rows; a measure that can share work between them overrides this."""
        return np.array([self.value(rows, human_rows) for rows, human_rows in kept], dtype=np.float64)


class MeanTerms(Terms):
    """The mean of one number a text."""

    def __init__(self, numbers: NDArray[np.float64]) -> None:
        self._numbers = numbers

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002
        return float((self._numbers if rows is None else self._numbers[rows]).mean())


class Measure(ABC):
    """One text measure; a new one is a subclass in a file of its own and a line in
    :data:`mauve_core.experiments.text_measures.MEASURES`.

    Attributes
    ----------
    name : str
        As it is asked for.
    title : str
        As it is shown.
    unit : str
        Unit of T; empty for a plain number.
    description : str
        One sentence: what T is.
    larger : str
        What a larger T means.
    source : str
        Where the definition comes from.
    relational : bool
        Whether T(Q) is computed against P; if so T(P) is that between two random halves of the human side.
    needs : frozenset of {"model", "features"}
    bounds : (float, float)
        Range of T, to which intervals are cut.
    depends_on_n : bool
        Whether T changes with the number of texts alone, so that only equal numbers can be compared.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    unit: ClassVar[str] = ""
    description: ClassVar[str]
    larger: ClassVar[str]
    source: ClassVar[str]
    relational: ClassVar[bool] = False
    needs: ClassVar[frozenset[Need]] = frozenset()
    bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    depends_on_n: ClassVar[bool] = False

    def prepare(  # noqa: B027 (few measures share work)
        self, candidates: Sequence[Collection], human: Collection, context: MetricContext, progress: Progress
    ) -> None:
        """Do once, before the first candidate, what the candidates share."""

    @abstractmethod
    def terms(self, texts: Collection, human: Collection, context: MetricContext, progress: Progress = silent) -> Terms:
        """T of ``texts``, against ``human`` where T is relational.

        Raises
        ------
        NotDefinedError
            The measure is not defined for these texts.
        """

    def human_terms(self, human: Collection, context: MetricContext, progress: Progress = silent) -> Terms | None:
        """T(P); None where there is no such thing."""
        return self.halves(human, context, progress) if self.relational else self.terms(human, human, context, progress)

    def halves(self, human: Collection, context: MetricContext, progress: Progress = silent) -> Terms:
        """T between two random halves of the human side, the first in the place of a candidate."""
        order = context.rng("halves of the human side").permutation(len(human))
        first, second = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
        if not len(first):
            raise NotDefinedError("one human text cannot be split into halves")
        inner = self.terms(human.take(first), human.take(second), context, progress)
        return _Halves(inner, first, second)

    def settings(self, context: MetricContext) -> dict[str, Any]:  # noqa: ARG002 (measures that have settings use it)
        """What decided the numbers apart from the texts."""
        return {}


class _Halves(Terms):
    """Terms between two parts of one collection, as a function of the rows of the whole."""

    def __init__(self, inner: Terms, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        self._inner, self._first, self._second = inner, first, second
        sizes = f"{len(first):,} and {len(second):,} texts"
        self.note = f"T(P) is taken between two random halves of the human side ({sizes})"

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002 (both are the human side)
        return self._inner.value(*self._split(rows))

    def values(self, kept: Sequence[tuple[Rows, Rows]]) -> NDArray[np.float64]:
        return self._inner.values([self._split(rows) for rows, _ in kept])

    def _split(self, rows: Rows) -> tuple[Rows, Rows]:
        if rows is None:
            return None, None
        return np.flatnonzero(np.isin(self._first, rows)), np.flatnonzero(np.isin(self._second, rows))
