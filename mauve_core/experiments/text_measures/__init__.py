"""Text measures: properties of a collection of texts, and their gaps between a candidate and the human side.

    measure(human, {"greedy": greedy}, context=MeasureContext())

:data:`MEASURES` is the registry. A new measure is one file in this package and one line below; :func:`measure` adds
spread, gap and the tests of every two candidates to all of them. JMLR 2023, section 6.3; NeurIPS 2021, appendix C.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.text_measures.base import (
    Measure,
    MeasureDifference,
    Measurements,
    Need,
    NotDefinedError,
    Quantity,
    Row,
    Terms,
    Value,
)
from mauve_core.experiments.text_measures.collection import Collection, by_unit
from mauve_core.experiments.text_measures.context import MeasureContext
from mauve_core.experiments.text_measures.copied import Copied
from mauve_core.experiments.text_measures.coverage import Coverage
from mauve_core.experiments.text_measures.density import Density
from mauve_core.experiments.text_measures.differences import Measured, measure_differences
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
    mean_of,
    replicate,
    value_of,
)
from mauve_core.experiments.text_measures.token_js import TokenJS
from mauve_core.experiments.text_measures.vendi import Vendi
from mauve_core.experiments.text_measures.zipf import Zipf

__all__ = [
    "MEASURES",
    "Collection",
    "Measure",
    "MeasureContext",
    "MeasureDifference",
    "Measurements",
    "NotDefinedError",
    "Quantity",
    "Row",
    "Terms",
    "Value",
    "measure",
    "measure_title",
]

# All measures by name, in display order.
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
        Density(),
        Coverage(),
        Copied(),
        Vendi(),
        Length(),
    )
}


def measure_title(name: str) -> str:
    """The measure's title with its unit; a name outside the registry is returned unchanged."""
    if name not in MEASURES:
        return name
    known = MEASURES[name]
    return f"{known.title} ({known.unit})" if known.unit else known.title


# What is said where a need is not met.
NEEDED: Mapping[Need, str] = {
    "model": "a scoring model is needed",
    "features": "features of every side are needed",
    "words": "texts are needed",
}


@dataclass(frozen=True, eq=False)
class Side:
    """One collection, or one generation of a candidate, and its groups of texts."""

    texts: Collection
    groups: Groups


# The generations of a candidate, usually one.
Generations = tuple[Side, ...]


class TermsSource(Protocol):
    """What gives T of the collections: a measure, or terms that were made before."""

    def terms(
        self, texts: Collection, human: Collection, context: MeasureContext, progress: Progress = silent
    ) -> Terms: ...
    def human_terms(self, human: Collection, context: MeasureContext, progress: Progress = silent) -> Terms | None: ...


@dataclass(frozen=True)
class Found:
    """All rows of one measure, and its tests."""

    rows: tuple[Row, ...]
    differences: tuple[MeasureDifference, ...]


def measure(
    human: Collection,
    candidates: Mapping[str, Collection],
    names: Sequence[str] | None = None,
    *,
    context: MeasureContext,
    progress: Progress = silent,
) -> Measurements:
    """Measure every candidate and the human side, and test every two candidates.

    T of a candidate with several generations is the mean over them.

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
    without_features = any(texts.features is None for texts in (human, *candidates.values()))
    chosen, notes = choose(names, lacking(context, features=not without_features))
    side, sides = with_groups(*by_unit(human, candidates))
    found: list[Found] = []
    settings: dict[str, dict[str, Any]] = {}
    n = {HUMAN: len(human), **{name: min(side.groups.n for side in parts) for name, parts in sides.items()}}
    for item in chosen:
        found.append(measured(item, side, sides, context, progress))
        settings[item.name] = {**settings_of(item, context), "n": n}
    rows = tuple(row for each in found for row in each.rows)
    return Measurements(rows, settings, notes, tuple(test for each in found for test in each.differences))


def lacking(context: MeasureContext, *, features: bool) -> dict[Need, str]:
    """What measures may need and there is not, with what is said; ``features``: whether every side has some."""
    there: dict[Need, bool] = {"model": context.scorer is not None, "features": features, "words": context.has_words}
    return {need: NEEDED[need] for need, given in there.items() if not given}


def settings_of(item: Measure, context: MeasureContext) -> dict[str, Any]:
    """What decides a measure's numbers besides the texts."""
    jackknife = {"groups": GROUPS, "confidence": CONFIDENCE, "least_texts": MIN_TEXTS}
    return {**item.settings(context), "seed": context.seed, **jackknife}


def choose(
    names: Sequence[str] | None, missing: Mapping[Need, str], known: Mapping[str, Measure] = MEASURES
) -> tuple[list[Measure], tuple[str, ...]]:
    """The measures to compute in the order of ``known``, and a note on each that applies but is unavailable.

    Parameters
    ----------
    names : sequence of str, optional
        None takes all whose needs are met.
    missing : mapping of need to str
        Needs that are not met, with what is needed.

    Raises
    ------
    InputError
        No name, an unknown one, or that of a measure whose needs are not met.
    """
    unknown = [name for name in names or () if name not in known]
    if unknown or (names is not None and not names):
        wrong = f"No measure is named {', '.join(unknown)}" if unknown else "No measure is chosen"
        raise InputError(wrong, allowed=", ".join(known))
    chosen, notes = [], []
    for item in known.values():
        lacks = [missing[need] for need in sorted(item.needs) if need in missing]
        if names is not None and item.name in names and lacks:
            raise InputError(f"The measure {item.name} cannot be computed: {' and '.join(lacks)}")
        if names is None and NEEDED["words"] in lacks:
            continue  # nobody looks for it where there are no texts
        if names is None and lacks:
            notes.append(f"{item.name}: left out because {' and '.join(lacks)}")
        elif names is None or item.name in names:
            chosen.append(item)
    return chosen, tuple(notes)


def with_groups(human: Collection, candidates: Mapping[str, Collection]) -> tuple[Side, dict[str, Generations]]:
    """The human side and every generation of every candidate of :func:`by_unit`, as :func:`measured` takes them."""
    sides = {
        name: tuple(Side(part, groups_of(part)) for part in texts.by_generation()) for name, texts in candidates.items()
    }
    return Side(human, groups_of(human)), sides


def measured(
    item: Measure,
    human: Side,
    sides: Mapping[str, Generations],
    context: MeasureContext,
    progress: Progress,
    source: TermsSource | None = None,
) -> Found:
    """The rows and tests of one measure; its T comes from ``source``, by default the measure itself."""
    source = item if source is None else source
    stage = f"Measuring: {item.title}"
    progress(stage, 0, len(sides) + 1)
    collections = [side.texts for parts in sides.values() for side in parts]
    item.prepare(collections, human.texts, context, _of(HUMAN, progress))
    reference, value, note = _human_value(item, source, human, context, progress)
    rows, tested = [], {}
    for done, (name, generations) in enumerate(sides.items(), start=1):
        progress(stage, done, len(sides) + 1)
        row, replicates = _row(item, source, name, generations, human, reference, value, note, context, progress)
        rows.append(row)
        first = generations[0]
        tested[name] = Measured(first.texts, replace(first.groups, sizes=_sizes(generations)), replicates)
    progress(stage, len(sides) + 1, len(sides) + 1)
    return Found(tuple(rows), measure_differences(item, Measured(human.texts, human.groups, reference), tested))


def _human_value(
    item: Measure, source: TermsSource, human: Side, context: MeasureContext, progress: Progress
) -> tuple[Replicates | None, Value | None, str]:
    """T(P) with and without each group, with its spread, and a note."""
    try:
        terms = source.human_terms(human.texts, context, _of(HUMAN, progress))
        if terms is None:
            return None, None, ""
        replicates = replicate(terms, human.groups, human.groups, relational=False)
    except NotDefinedError as reason:
        return None, None, f"no T(P): {reason}"
    value, problem = value_of(replicates, human.groups.sizes, item.bounds)
    return replicates, value, _joined(terms.note, problem and f"T(P): {problem}")


def _row(
    item: Measure,
    source: TermsSource,
    name: str,
    generations: Generations,
    human: Side,
    reference: Replicates | None,
    human_value: Value | None,
    human_note: str,
    context: MeasureContext,
    progress: Progress,
) -> tuple[Row, Replicates | None]:
    found, notes = [], []
    try:
        for side in generations:
            terms = source.terms(side.texts, human.texts, context, _of(name, progress))
            found.append(replicate(terms, side.groups, human.groups, relational=item.relational))
            notes.append(terms.note)
    except NotDefinedError as reason:
        of = f" in generation {len(found) + 1} of {len(generations)}" if len(generations) > 1 else ""
        return Row(item.name, name, None, human_value, None, _joined(f"not defined{of}: {reason}", human_note)), None
    replicates, own = mean_of(found), _sizes(generations)
    both = own + human.groups.sizes
    value, problem = value_of(replicates, both if item.relational else own, item.bounds)
    gap = None
    if reference is not None:
        gap, _ = value_of(difference(replicates, reference), both, (0.0, float("inf")), absolute=True)
    sizes = ""
    n = min(side.groups.n for side in generations)
    if item.depends_on_n and n != human.groups.n:
        sizes = f"T depends on the size of a side: {n:,} here, {human.groups.n:,} in P"
    return Row(item.name, name, value, human_value, gap, _joined(*notes, problem, human_note, sizes)), replicates


def _sizes(generations: Generations) -> NDArray[np.int64]:
    """Prompts of each group with a text in some generation."""
    return np.asarray(np.max([side.groups.sizes for side in generations], axis=0))


def _of(name: str, progress: Progress) -> Progress:
    """The same progress with the collection's name in its stages."""
    return lambda stage, done, total: progress(f"{stage} of {name}", done, total)


def _joined(*parts: str) -> str:
    return "; ".join(dict.fromkeys(part for part in parts if part))
