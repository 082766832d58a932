"""Text measures against the length of the texts: all texts cut to their first L tokens (JMLR 2023, figures 8 and 22).

    lengths_run(run, [32, 64, 128], ["frechet", "perplexity", "sparsemax"], model="gpt2")

What L counts depends on what a measure reads. Features: tokens of the run's encoder, as in the sweep over length.
Likelihoods: tokens of the scoring model, of the text without its prompt. All others: tokens of the run's tokenizer;
words are those of the text up to the end of its last token. At a length that cuts nothing, the numbers are those of
:func:`mauve_core.analyses.text_measures.measure`, and the Fréchet distance is that of the method of that name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mauve_core.analyses.feature_measures import Frechet
from mauve_core.analyses.measure_inputs import Collection, CutContext, MeasureContext, by_unit
from mauve_core.analyses.measure_terms import (
    CONFIDENCE,
    GROUPS,
    MIN_TEXTS,
    Measure,
    MeasureDifference,
    Need,
    OnAxis,
    OrderOver,
    Row,
    TableOver,
    groups_of,
    notes_over,
    order_in_words,
    orders_of,
)
from mauve_core.analyses.sweeps import RunPrefixes, usual_lengths
from mauve_core.analyses.tasks import RunTask
from mauve_core.analyses.text_measures import (
    MEASURES,
    NEEDED,
    Generations,
    Side,
    choose,
    collection_of,
    known_rows,
    measure_title,
    measured,
    run_context,
)
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import As, NotBlank, Settings, from_json
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import Run
from mauve_core.texts.kinds import require_words

# Attachment name of the table.
ATTACHMENT = "lengths"

# Most lengths at once.
MOST_LENGTHS = 20

# Largest length in tokens.
LONGEST = 1_000_000

# The measures that can be taken of cut texts, by name.
OVER_LENGTH: dict[str, Measure] = {item.name: item for item in (Frechet(), *MEASURES.values())}


@dataclass(frozen=True)
class RowAtLength(Row):
    """One measure of one candidate with all texts cut to one length.

    Attributes
    ----------
    length : int
        In tokens.
    """

    length: OnAxis = field(kw_only=True)


@dataclass(frozen=True)
class LengthTable(TableOver[RowAtLength]):
    """Measures at all lengths.

    Attributes
    ----------
    rows : tuple of RowAtLength
        By measure, then candidate, each in ascending length.
    orders : tuple of OrderOver
        Of every two candidates, by measure: by gap, or by T(Q) for a measure without T(P). Empty with one candidate.
    settings : mapping
        n of every side, scorer, tokenizer, seed, groups, confidence.
    notes : tuple of str
        What counts as a token, how many texts are cut, and caveats.
    """

    rows: tuple[RowAtLength, ...]
    orders: tuple[OrderOver, ...] = ()
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def lengths(self) -> tuple[int, ...]:
        """All lengths, ascending."""
        return tuple(sorted({row.length for row in self.rows}))

    def has_gaps(self, measure: str) -> bool:
        """Whether some candidate has a gap |T(Q) - T(P)| under the measure."""
        return any(row.measure == measure and row.gap is not None for row in self.rows)


def lengths_run(
    run: Run,
    lengths: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    *,
    model: str | None = None,
    device: str = "auto",
    progress: Progress = silent,
) -> LengthTable:
    """Measure every candidate of a stored run with all texts cut at several lengths.

    Parameters
    ----------
    lengths : sequence of int, optional
        Tokens, from 1 to :data:`LONGEST`, at most :data:`MOST_LENGTHS`; by default the longest text's, its half, its
        quarter and so on, as in the sweep over length.
    names : sequence of str, optional
        Of :data:`OVER_LENGTH`; default: all whose needs are met.
    model : str, optional
        Causal model that scores texts.
    device : str
        Device of the scorer and the encoder.
    progress : callable
        May raise CancelledError.

    Raises
    ------
    InputError
        A length or a measure cannot be used, a measure lacks what it needs, or the run is not of texts.
    StorageError
        Features or likelihoods could not be stored.
    """
    require_words(run.comparison.human.kind, "Cutting to a length")
    context = run_context(run, model, device)
    sides = {source.name: collection_of(run.corpora[source.name], source.name) for source in run.comparison.sources}
    encoded = run.comparison.config.encoder is not None
    prefixes = RunPrefixes(run, FeatureStore(), device, progress) if encoded else None
    return over_lengths(sides.pop(HUMAN), sides, lengths, names, context=context, prefixes=prefixes, progress=progress)


def over_lengths(
    human: Collection,
    candidates: Mapping[str, Collection],
    lengths: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    *,
    context: MeasureContext,
    prefixes: RunPrefixes | None = None,
    progress: Progress = silent,
) -> LengthTable:
    """:func:`lengths_run` of any collections; parameters and errors as there.

    Parameters
    ----------
    context : MeasureContext
        Tokenizer, scoring model, seed.
    prefixes : RunPrefixes, optional
        Features of the cut texts; None leaves out the measures that need features.
    """
    missing: dict[Need, str] = {} if context.scorer is not None else {"model": NEEDED["model"]}
    if prefixes is None:
        missing["features"] = "texts cannot be cut and encoded again without the run's encoder"
    chosen, left_out = choose(names, missing, OVER_LENGTH)
    human, candidates = by_unit(human, candidates)
    read = prefixes if any("features" in item.needs for item in chosen) else None
    wanted = (
        _usual((human, *candidates.values()), context, read, progress) if lengths is None else checked_lengths(lengths)
    )
    at = _cut_at(human, candidates, wanted, context, read, progress)
    rows: list[RowAtLength] = []
    orders: list[OrderOver] = []
    for item in chosen:
        tests: dict[int, tuple[MeasureDifference, ...]] = {}
        by_length: list[RowAtLength] = []
        for length, sides in at.items():
            found = measured(item, sides.human, sides.candidates, sides.context, _at_length(length, progress))
            by_length += [RowAtLength(**vars(row), length=length) for row in found.rows]
            tests[length] = found.differences
        rows += [row for candidate in candidates for row in by_length if row.candidate == candidate]
        orders += orders_of(item.name, _of_one_kind(tests), list(candidates))
    notes = [*_about(chosen, context, read, wanted), *left_out]
    notes += notes_over([(row, row.length) for row in rows], lambda name: OVER_LENGTH[name].title, "length")
    return LengthTable(tuple(rows), tuple(orders), _settings(at[wanted[0]], context), tuple(notes))


def checked_lengths(lengths: Sequence[int]) -> tuple[int, ...]:
    """Distinct lengths, ascending; InputError for none, too many, or one that cannot be used."""
    wrong = [
        each for each in lengths if isinstance(each, bool) or not isinstance(each, int) or not 1 <= each <= LONGEST
    ]
    if wrong or not len(lengths):
        received = ", ".join(map(repr, wrong[:5])) if wrong else "none"
        allowed = f"whole numbers from 1 to {LONGEST:,}, in tokens"
        raise InputError("Texts cannot be cut at these lengths", allowed=allowed, received=received)
    found = tuple(sorted(set(lengths)))
    if len(found) > MOST_LENGTHS:
        received = f"{len(found):,}"
        raise InputError("Too many lengths at once", allowed=f"at most {MOST_LENGTHS}", received=received)
    return found


def checked_names(names: Sequence[str] | None) -> None:
    """InputError for no name, or that of no measure."""
    choose(names, {}, OVER_LENGTH)


def lengths_in(text: str) -> tuple[int, ...]:
    """Parse ``32,64,128``; InputError if a part is no whole number, or no usable length."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and len(part) <= len(str(LONGEST)) for part in parts):
        allowed = f"whole numbers from 1 to {LONGEST:,}, such as 32,64,128"
        raise InputError("The lengths cannot be read", allowed=allowed, received=text)
    return checked_lengths([int(part) for part in parts])


def stored_lengths(run: Run) -> LengthTable | None:
    """The run's stored table, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    table = from_json(LengthTable, values)
    return dataclasses.replace(table, rows=known_rows(run, table.rows, OVER_LENGTH))


def length_measure_title(name: str) -> str:
    """The measure's title with its unit; a name outside :data:`OVER_LENGTH` is returned unchanged."""
    return OVER_LENGTH[name].title if name not in MEASURES and name in OVER_LENGTH else measure_title(name)


def order_sentence(table: LengthTable, measure: str) -> str:
    """Whether the order of the candidates by one measure depends on length; empty with one candidate or length."""
    orders = [each for each in table.orders if each.measure == measure]
    if not orders or len(table.lengths) < 2:
        return ""
    what, by = ("The gap", "the gap") if table.has_gaps(measure) else ("T(Q)", "T(Q)")
    return f"{length_measure_title(measure)}. {order_in_words(orders, what, by, 'length')}"


@dataclass(frozen=True)
class _Sides:
    """All sides with their texts cut at one length."""

    human: Side
    candidates: Mapping[str, Generations]
    context: CutContext


def _cut_at(
    human: Collection,
    candidates: Mapping[str, Collection],
    lengths: Sequence[int],
    context: MeasureContext,
    prefixes: RunPrefixes | None,
    progress: Progress,
) -> dict[int, _Sides]:
    """All sides at each length, with features if there are ``prefixes``."""
    contexts = {length: CutContext(context, length) for length in lengths}

    def cut(texts: Collection, parts: Sequence[NDArray[np.int64] | None]) -> dict[int, Generations]:
        features = {} if prefixes is None else prefixes.features(texts.name, lengths)
        found: dict[int, list[Side]] = {length: [] for length in lengths}
        for rows in parts:
            whole = texts if rows is None else dataclasses.replace(texts.take(rows), generations=None)
            beginnings = context.beginnings(whole, lengths, progress)
            groups = groups_of(whole)
            for length, sides in found.items():
                own = features.get(length)
                own = own if own is None or rows is None else own[rows]
                sides.append(Side(contexts[length].cut(whole, beginnings[length], own), groups))
        return {length: tuple(sides) for length, sides in found.items()}

    people = cut(human, [None])
    others = {name: cut(texts, texts.rows_by_generation()) for name, texts in candidates.items()}
    return {
        length: _Sides(people[length][0], {name: found[length] for name, found in others.items()}, contexts[length])
        for length in lengths
    }


def _usual(
    sides: Sequence[Collection], context: MeasureContext, prefixes: RunPrefixes | None, progress: Progress
) -> tuple[int, ...]:
    """Halves of the longest text's tokens; by the tokenizer or by the encoder, whichever has more."""
    longest = max(int(context.tokens(texts, progress).lengths.max()) for texts in sides)
    return usual_lengths(max(longest, 1, 0 if prefixes is None else prefixes.longest))


def _of_one_kind(tests: Mapping[int, Sequence[MeasureDifference]]) -> dict[int, list[MeasureDifference]]:
    """The tests of gaps; of values if there is none of gaps."""
    has_gaps = any(test.of == "gap" for found in tests.values() for test in found)
    of = "gap" if has_gaps else "value"
    return {length: [test for test in found if test.of == of] for length, found in tests.items()}


def _at_length(length: int, progress: Progress) -> Progress:
    """The same progress with the length in its stages."""
    return lambda stage, done, total: progress(f"{stage}, length {length:,}", done, total)


def _settings(sides: _Sides, context: MeasureContext) -> dict[str, Any]:
    n = {name: min(side.groups.n for side in parts) for name, parts in sides.candidates.items()}
    return {
        "texts": {HUMAN: sides.human.groups.n, **n},
        "seed": context.seed,
        "scorer": context.scorer,
        "tokenizer": context.tokenizer,
        "groups": GROUPS,
        "confidence": CONFIDENCE,
        "least_texts": MIN_TEXTS,
    }


def _about(
    chosen: Sequence[Measure], context: MeasureContext, prefixes: RunPrefixes | None, lengths: Sequence[int]
) -> list[str]:
    """What counts as a token for which measures, and how many texts are cut."""

    def titles(need: Need) -> str:
        return ", ".join(item.title for item in chosen if need in item.needs)

    plain = ", ".join(item.title for item in chosen if item.needs == {"words"})

    notes = []
    if prefixes is not None:
        reached, tokens = prefixes.notes(lengths)
        notes += [f"{titles('features')}: features of the cut texts. {tokens}", reached]
    if scored := titles("model"):
        notes.append(
            f"{scored}: the first tokens of {context.scorer}, after the prompt, whose tokens do not count. The model "
            "reads the whole texts, once."
        )
    if plain:
        notes.append(
            f"{plain}: the first tokens of {context.tokenizer}, without special ones and without the prompt; words are "
            "those up to the end of the last token."
        )
    return notes


@dataclass(frozen=True)
class LengthsTask(RunTask):
    """Measures over length; the fields are parameters of :func:`lengths_run`."""

    kind: ClassVar[str] = "lengths"
    titled: ClassVar[str] = "measures over length of"
    kept: ClassVar[str] = "features already computed and sources already scored by the model"

    lengths: tuple[OnAxis, ...] | None = None
    measures: tuple[str, ...] | None = None
    model: NotBlank | None = None
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_names(self.measures)
        if self.lengths is not None:
            checked_lengths(self.lengths)

    def compute(self, progress: Progress = silent) -> LengthTable:
        """Measure, and keep the table in place of an earlier one."""
        run = self.load()
        found = lengths_run(run, self.lengths, self.measures, model=self.model, device=self.device, progress=progress)
        return self.keep(run, ATTACHMENT, found, progress)
