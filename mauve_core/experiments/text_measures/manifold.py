"""Shared by generative precision and recall: whether one sample's points lie in the other's manifold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.text_measures.base import Measure, Need, NotDefinedError, Rows, Terms
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext
from mauve_core.numerics.feature_space.neighbours import coverage

NEIGHBOURS = 5


class ManifoldMeasure(Measure):
    """Share of one side's texts within the manifold of the other side, exact, k = 5."""

    source = "Kynkäänniemi et al. 2019; JMLR 2023, section 7.6"
    relational = True
    needs: ClassVar[frozenset[Need]] = frozenset({"features"})
    bounds = (0.0, 1.0)
    depends_on_n = True
    of_human: ClassVar[bool]
    """Whether to look for human texts in the candidate's manifold, not the reverse."""

    def terms(
        self,
        texts: Collection,
        human: Collection,
        context: MeasureContext,  # noqa: ARG002
        progress: Progress = silent,  # noqa: ARG002
    ) -> Terms:
        if texts.features is None or human.features is None:
            raise InputError("Precision and recall need the features of both sides")
        return _ManifoldTerms(texts.features, human.features, swapped=self.of_human)

    def settings(self, context: MeasureContext) -> dict[str, Any]:  # noqa: ARG002
        return {"neighbours": NEIGHBOURS}


class _ManifoldTerms(Terms):
    """Leaving out a text removes its ball; the other balls stay, as :func:`coverage` explains."""

    def __init__(self, texts: NDArray[np.floating], human: NDArray[np.floating], *, swapped: bool) -> None:
        self._sides = (human, texts) if swapped else (texts, human)
        self._swapped = swapped

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:
        return float(self.values([(rows, human_rows)])[0])

    def values(self, row_pairs: Sequence[tuple[Rows, Rows]]) -> NDArray[np.float64]:
        points, centres = self._sides
        chosen = []
        for rows, human_rows in row_pairs:
            own, others = (human_rows, rows) if self._swapped else (rows, human_rows)
            chosen.append((_mask(own, len(points)), _mask(others, len(centres))))
        if len(centres) <= NEIGHBOURS or not all(own.any() and others.any() for own, others in chosen):
            raise NotDefinedError(f"a manifold needs more than {NEIGHBOURS} texts")
        return coverage(points, centres, NEIGHBOURS, chosen)


def _mask(rows: Rows, n: int) -> NDArray[np.bool_]:
    mask = np.full(n, rows is None, dtype=np.bool_)
    if rows is not None:
        mask[rows] = True
    return mask
