"""Text measures: properties of a collection of texts, and their gaps between a candidate and the human side.

    measure(human, {"greedy": greedy}, context=MeasureContext())

:data:`MEASURES` is the registry. A new measure is one file in this package and one line below; :func:`measure` adds
spread and gap to all of them. JMLR 2023, section 6.3; NeurIPS 2021, appendix C.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.text_measures.base import (
    Measure,
    Measurements,
    NotDefinedError,
    Row,
    Terms,
    Value,
)
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext
from mauve_core.experiments.text_measures.discriminator import Discriminator
from mauve_core.experiments.text_measures.distinct import Distinct
from mauve_core.experiments.text_measures.diversity import Diversity
from mauve_core.experiments.text_measures.epsilon_perplexity import EpsilonPerplexity
from mauve_core.experiments.text_measures.length import Length
from mauve_core.experiments.text_measures.perplexity import Perplexity
from mauve_core.experiments.text_measures.precision import Precision
from mauve_core.experiments.text_measures.recall import Recall
from mauve_core.experiments.text_measures.repetition import Repetition
from mauve_core.experiments.text_measures.self_bleu import SelfBleu
from mauve_core.experiments.text_measures.sparsemax import Sparsemax
from mauve_core.experiments.text_measures.spread import (
    CONFIDENCE,
    GROUPS,
    MIN_TEXTS,
    Groups,
    Replicates,
    difference,
    groups_of,
    replicate,
    value_of,
)
from mauve_core.experiments.text_measures.token_js import TokenJS
from mauve_core.experiments.text_measures.zipf import Zipf

__all__ = [
    "MEASURES",
    "Collection",
    "Measure",
    "MeasureContext",
    "Measurements",
    "NotDefinedError",
    "Row",
    "Terms",
    "Value",
    "measure",
    "measure_title",
]

MEASURES: dict[str, Measure] = {
    item.name: item
    for item in (
        Perplexity(),
        Zipf(),
        Repetition(),
        Distinct(),
        Diversity(),
        SelfBleu(),
        Discriminator(),
        Sparsemax(),
        TokenJS(),
        EpsilonPerplexity(),
        Precision(),
        Recall(),
        Length(),
    )
}
"""All measures by name, in display order."""


def measure_title(name: str) -> str:
    """The measure's title with its unit; a name outside the registry is returned unchanged."""
    if name not in MEASURES:
        return name
    known = MEASURES[name]
    return f"{known.title} ({known.unit})" if known.unit else known.title


_MISSING = {"model": "a scoring model is needed", "features": "features of every side are needed"}


@dataclass(frozen=True, eq=False)
class _Side:
    texts: Collection
    groups: Groups


def measure(
    human: Collection,
    candidates: Mapping[str, Collection],
    names: Sequence[str] | None = None,
    *,
    context: MeasureContext,
    progress: Progress = silent,
) -> Measurements:
    """Measure every candidate and the human side.

    Parameters
    ----------
    human : Collection
        The human side, P.
    candidates : mapping of str to Collection
        The candidates, Q, by name.
    names : sequence of str, optional
        Measures of :data:`MEASURES`; None takes all whose needs are met and notes the others.
    context : MeasureContext
        Tokenizer, scoring model, seed.
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    InputError
        Nothing to measure, an unknown name, or a requested measure lacks what it needs.
    StorageError
        Likelihoods could not be stored.
    """
    if not candidates or HUMAN in candidates:
        raise InputError("There is nothing to measure", allowed=f"at least one candidate, none named {HUMAN!r}")
    chosen, notes = _choose([human, *candidates.values()], names, context)
    side = _Side(human, groups_of(human))
    sides = {name: _Side(texts, groups_of(texts)) for name, texts in candidates.items()}
    rows: list[Row] = []
    settings: dict[str, dict[str, Any]] = {}
    n = {HUMAN: len(human), **{name: len(texts) for name, texts in candidates.items()}}
    for item in chosen:
        rows += _rows(item, side, sides, context, progress)
        jackknife = {"groups": GROUPS, "confidence": CONFIDENCE, "least_texts": MIN_TEXTS}
        settings[item.name] = {**item.settings(context), "seed": context.seed, **jackknife, "n": n}
    return Measurements(tuple(rows), settings, notes)


def _choose(
    collections: Sequence[Collection], names: Sequence[str] | None, context: MeasureContext
) -> tuple[list[Measure], tuple[str, ...]]:
    """The measures to compute in registry order, and a note on each that is unavailable."""
    unknown = [name for name in names or () if name not in MEASURES]
    if unknown or (names is not None and not names):
        wrong = f"No measure is named {', '.join(unknown)}" if unknown else "No measure is chosen"
        raise InputError(wrong, allowed=", ".join(MEASURES))
    missing = {"model": context.scorer is None, "features": any(texts.features is None for texts in collections)}
    chosen, notes = [], []
    for item in MEASURES.values():
        lacks = [_MISSING[need] for need in sorted(item.needs) if missing[need]]
        if names is not None and item.name in names and lacks:
            raise InputError(f"The measure {item.name} cannot be computed: {' and '.join(lacks)}")
        if names is None and lacks:
            notes.append(f"{item.name}: left out because {' and '.join(lacks)}")
        elif names is None or item.name in names:
            chosen.append(item)
    return chosen, tuple(notes)


def _rows(
    item: Measure, human: _Side, sides: Mapping[str, _Side], context: MeasureContext, progress: Progress
) -> list[Row]:
    stage = f"Measuring: {item.title}"
    progress(stage, 0, len(sides) + 1)
    item.prepare([side.texts for side in sides.values()], human.texts, context, _of(HUMAN, progress))
    reference, value, note = _human_value(item, human, context, progress)
    rows = []
    for done, (name, side) in enumerate(sides.items(), start=1):
        progress(stage, done, len(sides) + 1)
        rows.append(_row(item, name, side, human, reference, value, note, context, progress))
    progress(stage, len(sides) + 1, len(sides) + 1)
    return rows


def _human_value(
    item: Measure, human: _Side, context: MeasureContext, progress: Progress
) -> tuple[Replicates | None, Value | None, str]:
    """T(P) with and without each group, with its spread, and a note."""
    try:
        terms = item.human_terms(human.texts, context, _of(HUMAN, progress))
        if terms is None:
            return None, None, ""
        replicates = replicate(terms, human.groups, human.groups, relational=False)
    except NotDefinedError as reason:
        return None, None, f"no T(P): {reason}"
    value, problem = value_of(replicates, human.groups.sizes, item.bounds)
    return replicates, value, _joined(terms.note, problem and f"T(P): {problem}")


def _row(
    item: Measure,
    name: str,
    side: _Side,
    human: _Side,
    reference: Replicates | None,
    human_value: Value | None,
    human_note: str,
    context: MeasureContext,
    progress: Progress,
) -> Row:
    try:
        terms = item.terms(side.texts, human.texts, context, _of(name, progress))
        replicates = replicate(terms, side.groups, human.groups, relational=item.relational)
    except NotDefinedError as reason:
        return Row(item.name, name, None, human_value, None, _joined(f"not defined: {reason}", human_note))
    both = side.groups.sizes + human.groups.sizes
    value, problem = value_of(replicates, both if item.relational else side.groups.sizes, item.bounds)
    gap = None
    if reference is not None:
        gap, _ = value_of(difference(replicates, reference), both, (0.0, float("inf")), absolute=True)
    sizes = ""
    if item.depends_on_n and side.groups.n != human.groups.n:
        sizes = f"T depends on the number of texts: {side.groups.n:,} here, {human.groups.n:,} on the human side"
    return Row(item.name, name, value, human_value, gap, _joined(terms.note, problem, human_note, sizes))


def _of(name: str, progress: Progress) -> Progress:
    """The same progress with the collection's name in its stages."""
    return lambda stage, done, total: progress(f"{stage} of {name}", done, total)


def _joined(*parts: str) -> str:
    return "; ".join(dict.fromkeys(part for part in parts if part))
