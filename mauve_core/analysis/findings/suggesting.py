"""Statements that are to be tested: about texts what they say, about other items what can be measured of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mauve_core.analysis.findings.amounts import Amount, at_best_limit, limited
from mauve_core.analysis.findings.gibberish import garbled
from mauve_core.analysis.findings.marks import marked
from mauve_core.analysis.findings.sides import Sides
from mauve_core.analysis.findings.statements import Statement
from mauve_core.analysis.findings.templates import templated
from mauve_core.analysis.findings.wording import bounded, clustered, phrased
from mauve_core.texts.kinds import kind_of
from mauve_core.texts.properties import Property

_Chosen = NDArray[np.bool_]


def suggested(sides: Sides, suggesting: _Chosen, more: Iterable[Statement]) -> Iterator[Statement]:
    """Yield statements that some items have and others have not; of equal ones the first.

    Parameters
    ----------
    sides : Sides
    suggesting : (n,) bool array
        The items that limits, phrases and the like are taken from.
    more : iterable of Statement
        Further statements.
    """
    seen = set[bytes]()
    of_kind = _of_texts if kind_of(sides.kind).has_words else _of_items
    for each in (*of_kind(sides, suggesting), *more):
        packed = np.packbits(each.has).tobytes()
        if each.has.any() and not each.has.all() and packed not in seen:
            seen.add(packed)
            yield each


def _of_texts(sides: Sides, suggesting: _Chosen) -> Iterator[Statement]:
    of_model = sides.of_model
    yield from marked(sides.texts)
    yield from bounded(sides.texts, of_model, suggesting)
    yield from phrased(sides.texts, of_model, suggesting)
    yield from templated(sides.texts, of_model, suggesting)
    yield from _of_clusters(sides)
    yield from garbled(sides.texts, of_model, suggesting)
    yield from limited(sides.texts, of_model, suggesting)


def _of_items(sides: Sides, suggesting: _Chosen) -> Iterator[Statement]:
    yield from _of_clusters(sides)
    properties = kind_of(sides.kind).properties
    for name, values in sides.measured.items():
        for each in at_best_limit(_amount_of(properties[name]), values, sides.of_model, suggesting):
            yield replace(each, values=values)


def _of_clusters(sides: Sides) -> Iterator[Statement]:
    return iter(()) if sides.labels is None else clustered(sides.labels, sides.clusters, sides.words)


def _amount_of(found: Property) -> Amount:
    return Amount(found.name, found.more, found.less, found.unit, is_share=not found.unit, has=found.has)
