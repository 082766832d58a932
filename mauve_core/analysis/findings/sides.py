"""The items of two sides that findings are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.words import Words
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import TEXT, Kind, common_kind, kind_of


@dataclass(frozen=True, eq=False)
class Sides:
    """The texts of a reference, the human side unless another takes its place, and of a candidate.

    Attributes
    ----------
    candidate : str
    texts : tuple of str
        Those of the reference first; of items of other kinds, what stands for them.
    humans : int
        Number of texts of the reference.
    units : (n,) int array
        Unit of each text (:mod:`mauve_core.stats.units`).
    labels : (n,) int array or None
        Cluster of each text, found without looking at the sides.
    clusters : sequence of str
        A name of each cluster.
    reference : str
    kind : str
        What the items are, as in ``mauve_core.texts.kinds.KINDS``.
    source : str
        Who wrote the reference, as :attr:`mauve_core.texts.corpus.Corpus.source`.
    measured : mapping of str to (n,) float64 array
        Properties of items that are no texts, by name; nan where an item lacks one.
    """

    candidate: str
    texts: tuple[str, ...]
    humans: int
    units: NDArray[np.integer]
    labels: NDArray[np.integer] | None = None
    clusters: Sequence[str] = ()
    reference: str = HUMAN
    kind: str = TEXT
    source: str = ""
    measured: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def of_model(self) -> NDArray[np.bool_]:
        return np.arange(len(self.texts)) >= self.humans

    @property
    def words(self) -> Words:
        """What the items are called."""
        return kind_of(self.kind).words.against(self.source)


def kind_and_measured(reference: Corpus, candidate: Corpus) -> tuple[Kind, dict[str, NDArray[np.float64]]]:
    """Return the kind of two corpora and, of items that are no texts, their properties, those of the reference first.

    Raises
    ------
    InputError
        The corpora are of different kinds.
    """
    kind = common_kind({each.name: each.kind for each in (reference, candidate)})
    if kind.has_words:
        return kind, {}
    own, other = kind.measure(candidate), kind.measure(reference)
    return kind, {name: np.concatenate([other[name], own[name]]) for name in kind.properties}
