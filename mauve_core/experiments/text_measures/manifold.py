"""Shared by precision, recall, density and coverage: whether one sample's points lie in the other's manifold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.clusters.neighbours import Choices, coverage_over_k
from mauve_core.experiments.text_measures.base import HalvesTerms, Measure, Need, NotDefinedError, Rows, Terms
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext

# Default number of neighbors k.
NEIGHBOURS = 5

Statistic = Callable[[ArrayLike, ArrayLike, Sequence[int], Choices], NDArray[np.float64]]


class ManifoldMeasure(Measure):
    """A statistic of one side's texts in the manifold of the other side, exact, k = 5."""

    source: ClassVar[str] = "Kynkäänniemi et al. 2019; JMLR 2023, section 7.6"
    relational = True
    needs: ClassVar[frozenset[Need]] = frozenset({"features"})
    bounds = (0.0, 1.0)
    depends_on_n = True
    # Whether to look for human texts in the candidate's manifold, not the reverse.
    of_human: ClassVar[bool]

    def statistic(self, x: ArrayLike, manifold: ArrayLike, ks: Sequence[int], choices: Choices) -> NDArray[np.float64]:
        """(len(ks), len(choices)) values; see :mod:`mauve_core.clusters.neighbours`."""
        return coverage_over_k(x, manifold, ks, choices)

    def terms(
        self,
        texts: Collection,
        human: Collection,
        context: MeasureContext,  # noqa: ARG002
        progress: Progress = silent,  # noqa: ARG002
    ) -> Terms:
        if texts.features is None or human.features is None:
            raise InputError(f"{self.title} needs the features of both sides")
        sides = (human.features, texts.features) if self.of_human else (texts.features, human.features)
        return _ManifoldTerms(sides, swapped=self.of_human, statistic=self.statistic)

    def over_k(self, terms: Terms, ks: Sequence[int]) -> list[Terms]:
        """The same T at each number of neighbors; the distances are computed once for all of them.

        Parameters
        ----------
        terms : Terms
            From :meth:`terms` or :meth:`halves`.
        ks : sequence of int
            Each at least 1. T is undefined at those with too few texts.
        """
        if isinstance(terms, HalvesTerms):
            return [terms.of(inner) for inner in self.over_k(terms.inner, ks)]
        if not isinstance(terms, _ManifoldTerms):
            raise TypeError("terms of another measure")
        return terms.over_k(ks)

    def settings(self, context: MeasureContext) -> dict[str, Any]:  # noqa: ARG002
        return {"neighbours": NEIGHBOURS}


class _ManifoldTerms(Terms):
    """Leaving out a text removes its ball; the other balls stay, as :func:`coverage_over_k` explains."""

    def __init__(
        self,
        sides: tuple[NDArray[np.floating], NDArray[np.floating]],
        *,
        swapped: bool,
        statistic: Statistic,
        k: int = NEIGHBOURS,
    ) -> None:
        self._sides, self._swapped, self._statistic, self._k = sides, swapped, statistic, k

    def over_k(self, ks: Sequence[int]) -> list[Terms]:
        """The same at each number of neighbors; all of them share their distances."""
        shared = _OverK(self._statistic, [k for k in ks if k < len(self._sides[1])])
        return [_ManifoldTerms(self._sides, swapped=self._swapped, statistic=shared.values, k=k) for k in ks]

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:
        return float(self.values([(rows, human_rows)])[0])

    def values(self, row_pairs: Sequence[tuple[Rows, Rows]]) -> NDArray[np.float64]:
        points, centres = self._sides
        chosen = []
        for rows, human_rows in row_pairs:
            own, others = (human_rows, rows) if self._swapped else (rows, human_rows)
            chosen.append((_mask(own, len(points)), _mask(others, len(centres))))
        if len(centres) <= self._k or not all(own.any() and others.any() for own, others in chosen):
            raise NotDefinedError(f"a manifold needs more than {self._k} texts")
        return np.asarray(self._statistic(points, centres, (self._k,), chosen)[0])


class _OverK:
    """A statistic at all numbers of neighbors, computed for all of them when the first is asked for a selection."""

    def __init__(self, statistic: Statistic, ks: Sequence[int]) -> None:
        self._statistic, self._ks = statistic, sorted(set(ks))
        self._found: dict[bytes, NDArray[np.float64]] = {}

    def values(self, x: ArrayLike, manifold: ArrayLike, ks: Sequence[int], choices: Choices) -> NDArray[np.float64]:
        """(len(ks), len(choices)) values at some of its numbers of neighbors; always of the same two samples."""
        key = b"".join(np.concatenate(choice).tobytes() for choice in choices)
        if key not in self._found:
            self._found[key] = self._statistic(x, manifold, self._ks, choices)
        return np.asarray(self._found[key][[self._ks.index(k) for k in ks]])


def _mask(rows: Rows, n: int) -> NDArray[np.bool_]:
    mask = np.full(n, rows is None, dtype=np.bool_)
    if rows is not None:
        mask[rows] = True
    return mask
