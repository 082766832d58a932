"""Interface of text measures, and their results.

A measure computes T of a collection of texts. Besides a comparison's score, the papers report the gap |T(Q) - T(P)|
between a candidate and the human side (JMLR 2023, section 6.3). Every measure returns :class:`Terms`, T as a function
of the kept texts, so that :mod:`mauve_core.experiments.text_measures.spread` computes the spread for all.
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
from mauve_core.experiments.text_measures.context import MeasureContext

Need = Literal["model", "features"]
"""Requirements of a measure: a causal model that scores texts, or the features of both sides."""

Rows = NDArray[np.int64] | None
"""Indices of the kept texts; None keeps all."""


class NotDefinedError(Exception):
    """The measure has no value for this collection; the message becomes the row's note."""


@dataclass(frozen=True)
class Value:
    """A number with its spread over texts.

    Attributes
    ----------
    sd : float or None
        Standard deviation from the delete-a-group jackknife over texts; None if there are too few texts or every
        group gives the same value. The row's note gives the reason.
    low, high : float or None
        95 % interval, value +- t quantile x sd; None without ``sd``.
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


class _MeasureSettings(TypedDict, total=False):
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
    """

    rows: tuple[Row, ...]
    settings: Annotated[Mapping[str, Mapping[str, Any]], As(Mapping[str, _MeasureSettings])]
    notes: tuple[str, ...] = ()

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


class Terms(ABC):
    """T of one collection as a function of the kept texts, with all costly work done in advance."""

    note: str = ""
    """Caveats for this value, such as sampling."""

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
    :data:`mauve_core.experiments.text_measures.MEASURES`.

    Attributes
    ----------
    name : str
        Name in the registry.
    title : str
        Display name.
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
    needs : frozenset of {"model", "features"}
    bounds : (float, float)
        Range of T; clips intervals.
    depends_on_n : bool
        Whether T depends on the number of texts, so that only equal numbers are comparable.
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
        return _Halves(inner, first, second)

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


class _Halves(Terms):
    """Terms between two parts of one collection, as a function of the rows of the whole."""

    def __init__(self, inner: Terms, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        self._inner, self._first, self._second = inner, first, second
        sizes = f"{len(first):,} and {len(second):,} texts"
        self.note = f"T(P) is taken between two random halves of the human side ({sizes})"

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002 (both are the human side)
        return self._inner.value(*self._split(rows))

    def values(self, row_pairs: Sequence[tuple[Rows, Rows]]) -> NDArray[np.float64]:
        return self._inner.values([self._split(rows) for rows, _ in row_pairs])

    def _split(self, rows: Rows) -> tuple[Rows, Rows]:
        if rows is None:
            return None, None
        return np.flatnonzero(np.isin(self._first, rows)), np.flatnonzero(np.isin(self._second, rows))
