"""Text measures: properties of a collection of texts, their gaps between a candidate and the human side, and tests.

    measure(human, {"greedy": greedy}, context=MeasureContext())

:data:`MEASURES` is the registry: a new measure is a class, in the file of its kind, and one line below (JMLR 2023,
section 6.3; NeurIPS 2021, appendix C.4). Ranks by the gap |T(Q) - T(P)| follow the rule of the leaderboard.

A test is of a weighted sum of T(A), T(B) and T(P) that is 0 under the hypothesis. A delete-a-group jackknife over the
same prompts on all sides gives its deviation; parts of groups are added, because sizes differ and a measure may depend
on the number of texts. The sum over it follows Student's t with one degree of freedom fewer than groups. Values are
equal if T(A) = T(B); gaps also if T(A) + T(B) = 2 T(P), so both are tested and the larger p-value counts (Berger,
Technometrics 1982): a jackknife of absolute values would not be smooth at T(P). With x = T(A) - T(B) and y = T(A) +
T(B) - 2 T(P), the difference of gaps is (|x + y| - |x - y|) / 2 over the intervals of x and y. Holm's method adjusts
over all pairs.
"""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, ClassVar, Protocol, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from mauve_core.analyses.feature_measures import Coverage, Density, Discriminator, Precision, Recall, Vendi
from mauve_core.analyses.lexical_measures import Copied, Distinct, Diversity, Length, Repetition, SelfBleu, Zipf
from mauve_core.analyses.likelihood_measures import EpsilonPerplexity, Perplexity, Sparsemax, TokenJS
from mauve_core.analyses.measure_inputs import Collection, MeasureContext, by_unit
from mauve_core.analyses.measure_terms import (
    CONFIDENCE,
    GROUPS,
    MIN_TEXTS,
    Groups,
    Measure,
    MeasureDifference,
    Measurements,
    Need,
    NotDefinedError,
    Quantity,
    Replicates,
    Row,
    Terms,
    Value,
    difference,
    groups_of,
    mean_of,
    replicate,
    value_of,
)
from mauve_core.analyses.tasks import Amount, RunTask
from mauve_core.base.config import DEFAULT_MODEL, HUMAN
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.formatting import decimals_of, printable
from mauve_core.base.json_codec import Count, NotBlank, NotNegative, Share, dataclass_to_json, from_json
from mauve_core.base.progress import Progress, silent
from mauve_core.base.words import TEXTS, Words
from mauve_core.decoding import parse_decoder
from mauve_core.encoders.catalogue import has_no_tokenizer, names_files
from mauve_core.encoders.features import DamagedEntryWarning
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.result import SIGNIFICANT
from mauve_core.scoring.tables import shared_ranks
from mauve_core.stats.multiple_tests import detectable, holm
from mauve_core.stats.resampling import jackknife_parts, t_interval
from mauve_core.texts import Corpus
from mauve_core.texts.generations import ids_of_prompts
from mauve_core.texts.pairing import column_of

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


# A standard deviation of this share of T or less is rounding: leaving out any group changes nothing.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Measured:
    """One side with T of it, with and without each group; ``replicates`` is None if T is undefined."""

    texts: Collection
    groups: Groups
    replicates: Replicates | None


@dataclass(frozen=True, eq=False)
class _Term:
    """T of one side, and the texts in each group that T depends on."""

    replicates: Replicates | None
    sizes: NDArray[np.int64]


@dataclass(frozen=True)
class _Sum:
    """A weighted sum of T over sides: its value, interval, two-sided p-value and sd; None where it has no spread."""

    value: float
    ends: tuple[float, float] | None = None
    p_value: float | None = None
    sd: float | None = None


def measure_differences(
    measure: Measure, human: Measured, candidates: Mapping[str, Measured]
) -> tuple[MeasureDifference, ...]:
    """Test every two candidates that have the measure.

    Parameters
    ----------
    human : Measured
        P, with T(P).
    candidates : mapping of str to Measured
        By name, with T(Q).

    Returns
    -------
    tuple of MeasureDifference
        Gaps, if T(P) is defined, then values; each by pair, in the order of the candidates.
    """
    pairs = list(combinations([name for name, side in candidates.items() if side.replicates is not None], 2))
    found: dict[Quantity, list[MeasureDifference]] = {"gap": [], "value": []}
    for first, second in pairs:
        one, other = candidates[first], candidates[second]
        paired, n = _pairing(measure, human, one, other)
        for of, tested in _sums(measure, human, one, other):
            low, high = tested.ends or (None, None)
            values = (tested.value, low, high, tested.p_value, tested.p_value)
            least = None if tested.sd is None else detectable(tested.sd, SIGNIFICANT, tests=len(pairs))
            found[of].append(MeasureDifference(measure.name, of, first, second, *values, paired, n, least))
    return tuple(each for tests in found.values() for each in _adjusted(tests))


class MeasureDifferenceJson(TypedDict):
    """Test of two candidates under one text measure, T.

    Attributes
    ----------
    measure : str
        Its name.
    a, b : str
        The candidates.
    difference : float
        T(Q) of ``a`` minus that of ``b``, in units of the measure.
    low, high : float or None
        Ends of its 95% interval; None if there is no spread.
    p, p_adjusted : float or None
        Two-sided p-value, and after Holm's correction for all pairs; None if there is no spread.
    told_apart : bool
        Whether the difference is significant after the correction.
    gap_difference, gap_low, gap_high, gap_p, gap_p_adjusted, gap_told_apart : float, bool or None
        The same of the gaps |T(Q) - T(P)|; below 0 if ``a`` is closer to the human texts. None where T(P) is not
        defined.
    detectable, gap_detectable : float or None
        True difference that the test finds with probability .8 at the strictest level of Holm's method. Four times as
        many texts halve it.
    paired : bool
        Whether the two have texts of the same prompts.
    n : int
        Prompts in common, or, without any, texts of both; human texts if the measure reads no candidate's texts.
    """

    measure: str
    a: str
    b: str
    difference: float
    low: float | None
    high: float | None
    p: Share | None
    p_adjusted: Share | None
    told_apart: bool
    gap_difference: float | None
    gap_low: float | None
    gap_high: float | None
    gap_p: Share | None
    gap_p_adjusted: Share | None
    gap_told_apart: bool | None
    detectable: NotNegative | None
    gap_detectable: NotNegative | None
    paired: bool
    n: Count


def difference_json(tests: Sequence[MeasureDifference]) -> dict[str, Any]:
    """Return the tests of one pair under one measure as JSON values, as ``mauve-lens test --measure`` prints them: the
    entries of :class:`MeasureDifferenceJson`."""
    by = {each.of: each for each in tests}
    value = by["value"]
    return {
        "measure": value.measure,
        "a": value.first,
        "b": value.second,
        **_numbers(value),
        **{f"gap_{name}": number for name, number in _numbers(by.get("gap")).items()},
        "paired": value.paired,
        "n": value.n,
    }


def _numbers(test: MeasureDifference | None) -> dict[str, float | bool | None]:
    names = {"difference": "difference", "low": "low", "high": "high", "p": "p_value", "p_adjusted": "p_adjusted"}
    return {
        key: getattr(test, name, None)
        for key, name in (names | {each: each for each in ("told_apart", "detectable")}).items()
    }


def _sums(measure: Measure, human: Measured, one: Measured, other: Measured) -> Iterator[tuple[Quantity, _Sum]]:
    """The test of gaps, if T(P) is defined, and that of values."""
    low, high = measure.bounds
    reach, own = high - low, human.groups.sizes if measure.relational else 0
    first, second = (_Term(side.replicates, side.groups.sizes + own) for side in (one, other))
    apart = _weighted([(1, first), (-1, second)])
    if human.replicates is not None:
        midway = _weighted([(1, first), (1, second), (-2, _Term(human.replicates, human.groups.sizes))])
        yield "gap", _within(_of_gaps(apart, midway), reach)
    yield "value", _within(apart, reach)


def _weighted(terms: Sequence[tuple[int, _Term]]) -> _Sum:
    """Test that a weighted sum of T over sides is 0."""
    known = [(weight, term.replicates, term.sizes) for weight, term in terms if term.replicates is not None]
    value = sum(weight * each.estimate for weight, each, _ in known)
    groups = min(int((sizes > 0).sum()) for *_, sizes in known)
    if any(each.left_out is None for _, each, _ in known) or groups < 2:
        return _Sum(value)
    parts = np.zeros(GROUPS)
    for weight, each, sizes in known:
        filled = sizes > 0
        left_out = np.asarray(each.left_out)[filled]
        parts[filled] += weight * jackknife_parts(each.estimate, left_out, sizes[filled])
    sd = float(np.sqrt((parts**2).sum()))
    if sd <= _ROUNDING * max(abs(each.estimate) for _, each, _ in known):
        return _Sum(value)
    return _Sum(value, t_interval(value, sd, groups, CONFIDENCE), float(2 * stdtr(groups - 1, -abs(value) / sd)), sd)


def _of_gaps(apart: _Sum, midway: _Sum) -> _Sum:
    """Test that two gaps are equal: that T(A) = T(B), or that T(P) lies midway."""
    value = _gap_difference(apart.value, midway.value)
    if apart.ends is None or apart.p_value is None or midway.ends is None or midway.p_value is None:
        return _Sum(value)
    sd = max(apart.sd or 0.0, midway.sd or 0.0)  # both must be found
    # Monotone in x and in y, so the extremes are at corners.
    corners = [_gap_difference(x, y) for x, y in product(apart.ends, midway.ends)]
    return _Sum(value, (min(corners), max(corners)), max(apart.p_value, midway.p_value), sd)


def _gap_difference(x: float, y: float) -> float:
    """|T(A) - T(P)| - |T(B) - T(P)| from x = T(A) - T(B) and y = T(A) + T(B) - 2 T(P)."""
    return float(np.sign(x) * np.sign(y) * min(abs(x), abs(y)))


def _within(tested: _Sum, reach: float) -> _Sum:
    """The same with the interval inside what T's range allows."""
    if tested.ends is None:
        return tested
    low, high = (float(np.clip(end, -reach, reach)) for end in tested.ends)
    return dataclasses.replace(tested, ends=(low, high))


def _pairing(measure: Measure, human: Measured, one: Measured, other: Measured) -> tuple[bool, int]:
    """Whether the two are compared on the same prompts, and the number of prompts, or else of texts."""
    if not measure.reads_candidate:
        return True, len(human.texts)
    shared = len(set(one.texts.ids) & set(other.texts.ids))
    return shared > 0, shared or len(one.texts) + len(other.texts)


def _adjusted(tests: Sequence[MeasureDifference]) -> list[MeasureDifference]:
    """The tests with Holm's p-values; pairs without a p-value are not counted."""
    p_values = [each.p_value for each in tests if each.p_value is not None]
    adjusted = iter(holm(p_values) if p_values else ())
    return [
        each if each.p_value is None else dataclasses.replace(each, p_adjusted=float(next(adjusted))) for each in tests
    ]


@dataclass(frozen=True)
class MeasureStanding:
    """A candidate's place by the gap of one measure.

    Attributes
    ----------
    rank : int
        1 has the smallest gap; tied candidates share a rank; 0 without a gap.
    tied : bool
        Whether another candidate has the same rank.
    row : Row
    """

    rank: int
    tied: bool
    row: Row


def measure_standings(measurements: Measurements, measure: str, order: Sequence[str]) -> list[MeasureStanding]:
    """Rank the candidates by gap, the smallest first; those without a gap come last, in ``order``."""
    rows = [row for name in order if (row := measurements.row(measure, name)) is not None]
    gaps = {row.candidate: row.gap for row in rows if row.gap is not None}
    ranked = sorted((row for row in rows if row.gap is not None), key=lambda row: gaps[row.candidate].value)
    apart = _told_apart(measurements, measure)
    ranks = shared_ranks([row.candidate for row in ranked], lambda *pair: frozenset(pair) not in apart)
    placed = [MeasureStanding(rank, shared, row) for (rank, shared), row in zip(ranks, ranked, strict=True)]
    return placed + [MeasureStanding(0, False, row) for row in rows if row.gap is None]


def ranked_tests(measurements: Measurements, measure: str, order: Sequence[str]) -> list[MeasureDifference]:
    """The tests of gaps, or of values without T(P), each seen from the candidate placed first, the best pairs first."""
    found = measurements.tests(measure) or measurements.tests(measure, "value")
    places = {each.row.candidate: place for place, each in enumerate(measure_standings(measurements, measure, order))}
    turned = [each.seen_from(min(each.first, each.second, key=places.__getitem__)) for each in found]
    return sorted(turned, key=lambda each: (places[each.first], places[each.second]))


def closest_sentence(
    measurements: Measurements,
    measure: str,
    order: Sequence[str],
    name_of: Callable[[str], str] = printable,
    words: Words = TEXTS,
) -> str:
    """Say who is closest to P by the measure and who is not told apart from it; empty if nothing is ranked.

    Parameters
    ----------
    name_of : callable
        Writes a candidate's name for where the sentence is shown.
    words : Words
        What the run compares.
    """
    closest = f"Closest to the {words.reference_items}"
    ranked = [each.row.candidate for each in measure_standings(measurements, measure, order) if each.rank]
    if len(ranked) < 2 or not measurements.tests(measure):
        return ""
    apart = _told_apart(measurements, measure)
    best, *others = ranked
    untold = [name for name in others if frozenset((best, name)) not in apart]
    if not untold:
        return f"{closest}: {name_of(best)}, told apart from every other candidate."
    if len(untold) == len(others) > 1:
        return f"Smallest gap: {name_of(best)}, but no other candidate is told apart from it."
    return f"{closest}: {name_of(best)}. Not told apart from it: {_listed(list(map(name_of, untold)))}."


def _told_apart(measurements: Measurements, measure: str) -> set[frozenset[str]]:
    """Every two candidates whose gaps the test tells apart."""
    return {frozenset((each.first, each.second)) for each in measurements.tests(measure) if each.told_apart}


def test_decimals(tests: Sequence[MeasureDifference]) -> int:
    """Decimals of differences shown together: those of the middle one, taking an interval as four spreads wide."""
    own = sorted(
        decimals_of(each.difference, None if each.low is None or each.high is None else (each.high - each.low) / 4)
        for each in tests
    )
    return own[len(own) // 2]


def measure_tests_sentence(tests: Sequence[MeasureDifference], words: Words) -> str:
    """Explain how differences under one measure were tested, in a sentence or two."""
    gaps = any(each.of == "gap" for each in tests)
    equal = "both T(A) = T(B) and T(P) midway between the two are rejected" if gaps else "T(A) = T(B) is rejected"
    return (
        f"Told apart: {equal} (jackknife t test over groups of {words.group}s; p at most {SIGNIFICANT:g} after "
        "Holm's correction for all pairs)."
    )


def _listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


# Attachment name of measurements.
ATTACHMENT = "measures"

# Metadata column for the decoder, as written by ``mauve-lens generate``.
DECODER_COLUMN = "decoder"

_Row = TypeVar("_Row", bound=Row)


def measure_run(
    run: Run,
    names: Sequence[str] | None = None,
    *,
    model: str | None = None,
    device: str = "auto",
    progress: Progress = silent,
) -> Measurements:
    """Measure every candidate of a stored run and save the result with it.

    Parameters
    ----------
    names : sequence of str, optional
        Measures of :data:`mauve_core.analyses.text_measures.MEASURES`; None takes all whose needs are met.
    model : str, optional
        Causal model that scores texts: catalog name, hub id, folder or GGUF file. Tokens always come from the
        encoder, or from the packaged model if the run has given features or word vectors.

    Returns
    -------
    Measurements
        New and earlier measurements; a repeated measure replaces its earlier rows. Damaged earlier measurements are
        replaced with a DamagedEntryWarning.

    Raises
    ------
    InputError
        See :func:`mauve_core.analyses.text_measures.measure`.
    StorageError
        Writing to disk fails; earlier measurements stay.
    """
    try:
        existing = stored_measurements(run)
    except (StorageError, InputError) as error:
        warnings.warn(f"The stored measures are replaced: {error}", DamagedEntryWarning, stacklevel=2)
        existing = None
    names_of = [source.name for source in run.comparison.sources]
    sides = {name: collection_of(run.corpora[name], name, run.features(name)) for name in names_of}
    human = sides.pop(HUMAN)
    context = run_context(run, model, device)
    fresh = measure(human, sides, names, context=context, progress=progress)
    merged = fresh if existing is None else _merged(existing, fresh, tuple(sides))
    RunStore(run.path.parent).attach(run.id, ATTACHMENT, dataclass_to_json(merged), of=run)
    return merged


def answering(run: Run, names: Sequence[str] | None = None, *, model: str | None = None) -> Measurements | None:
    """The stored measurements if :func:`measure_run` would repeat them; parameters and errors as there.

    None if a measure is not stored, or was stored with other settings.
    """
    found = stored_measurements(run)
    if found is None:
        return None
    context = run_context(run, model)
    features = all(run.features(source.name) is not None for source in run.comparison.sources)
    chosen, _ = choose(names, lacking(context, features=features))
    for item in chosen:
        wanted = json.loads(json.dumps(settings_of(item, context)))
        known = {name: value for name, value in found.settings.get(item.name, {}).items() if name != "n"}
        if item.name not in found.measures or known != wanted:
            return None
    return found


def run_context(run: Run, model: str | None = None, device: str = "auto") -> MeasureContext:
    """The context of a run's measures; parameters as of :func:`measure_run`."""
    encoder = run.comparison.config.encoder
    if encoder is None or has_no_tokenizer(encoder.model):
        tokenizer, revision = DEFAULT_MODEL, None
    else:
        tokenizer, revision = encoder.model, encoder.revision
    has_words = run.comparison.has_words
    return MeasureContext(model, tokenizer=tokenizer, tokenizer_revision=revision, device=device, has_words=has_words)


def stored_measurements(run: Run) -> Measurements | None:
    """The run's stored measurements, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    found = from_json(Measurements, values)
    rows = known_rows(run, found.rows, MEASURES)
    return dataclasses.replace(
        found, rows=rows, differences=tuple(each for each in found.differences if each.measure in MEASURES)
    )


def known_rows(run: Run, rows: Sequence[_Row], measures: Mapping[str, Measure]) -> tuple[_Row, ...]:
    """The rows of known measures: a later version may have written others. InputError if one is of another run."""
    run.require_sources((row.candidate for row in rows), "The table of measures")
    return tuple(row for row in rows if row.measure in measures)


def decoder_of(name: str, corpus: Corpus) -> str | None:
    """A candidate's decoder: the unique value of its ``decoder`` column, else its name if that is a decoder.

    The column takes precedence because it was written with the texts: a candidate named ``nucleus`` may have any p.
    """
    column = set(corpus.metadata[DECODER_COLUMN].astype(str)) if DECODER_COLUMN in corpus.metadata else set()
    for spec in (*(column if len(column) == 1 else ()), name):
        try:
            return parse_decoder(spec).spec
        except InputError:
            continue
    return None


def collection_of(corpus: Corpus, source: str, features: NDArray[np.float32] | None = None) -> Collection:
    """A corpus as input of measures, under its source's name."""
    several = source != HUMAN and bool(corpus.generations)
    return Collection(
        name=source,
        ids=tuple(ids_of_prompts(corpus.ids, corpus.generations)) if corpus.generations else corpus.ids,
        texts=corpus.texts,
        prompts=corpus.prompts,
        features=features,
        decoder=None if source == HUMAN else decoder_of(source, corpus),
        generations=tuple(corpus.generation_codes.tolist()) if several else None,
        numbered=corpus.numbered,
        column=column_of(corpus),
        groups=corpus.groups,
    )


def _merged(existing: Measurements, fresh: Measurements, candidates: tuple[str, ...]) -> Measurements:
    """Earlier and new rows, with new ones taking precedence, in registry and run order."""
    rows: dict[tuple[str, str], Row] = {(row.measure, row.candidate): row for row in (*existing.rows, *fresh.rows)}
    ordered = tuple(
        rows[key] for name in MEASURES for key in ((name, candidate) for candidate in candidates) if key in rows
    )
    measured = {row.measure for row in ordered}
    notes = tuple(note for note in (*existing.notes, *fresh.notes) if note.split(":")[0] not in measured)
    kept = [each for each in existing.differences if each.measure not in fresh.measures]
    found = [*kept, *fresh.differences]
    tests = [each for name in MEASURES for each in found if each.measure == name]
    settings = {**existing.settings, **fresh.settings}
    return Measurements(ordered, settings, tuple(dict.fromkeys(notes)), tuple(tests))


@dataclass(frozen=True)
class MeasureTask(RunTask):
    """Measures of a stored run; the fields are parameters of :func:`measure_run`."""

    kind: ClassVar[str] = "measures"
    titled: ClassVar[str] = "measures of"
    attachment: ClassVar[str] = ATTACHMENT
    kept: ClassVar[str] = "sources already scored by the model"

    measures: tuple[str, ...] | None = None
    model: NotBlank | None = None
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = [name for name in self.measures or () if name not in MEASURES]
        if unknown or self.measures == ():
            wrong = f"No measure is named {', '.join(unknown)}" if unknown else "No measure is chosen"
            raise InputError(wrong, allowed=", ".join(MEASURES))

    def amount(self, run: Run) -> Amount:
        """All texts, under the same measures and model."""
        texts = sum(source.n for source in run.comparison.sources)
        return Amount(
            (*sorted(self.measures or MEASURES), f"model {self.model}"), texts, run.comparison.words.count(texts)
        )

    def compute(self, progress: Progress = silent) -> Measurements:
        """Measure, and keep the result with earlier measurements; errors as in ``measure_run``."""
        return measure_run(self.load(), self.measures, model=self.model, device=self.device, progress=progress)

    def _answer(self, run: Run) -> Measurements | None:
        """The stored measurements, if nothing is missing. With a model from files, all is measured: they may have
        changed.
        """
        if self.model is not None and names_files(self.model):
            return None
        return answering(run, self.measures, model=self.model)
