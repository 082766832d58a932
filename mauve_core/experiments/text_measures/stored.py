"""Text measures of a stored run, saved with it."""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import DEFAULT_MODEL, HUMAN
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.json_codec import dataclass_to_json, from_json
from mauve_core.base.progress import Progress, silent
from mauve_core.decoding import parse_decoder
from mauve_core.encoders.catalogue import has_no_tokenizer
from mauve_core.encoders.features import DamagedEntryWarning
from mauve_core.experiments.text_measures import MEASURES, choose, lacking, measure, settings_of
from mauve_core.experiments.text_measures.base import Measure, Measurements, Row
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext
from mauve_core.runs import Run, RunStore
from mauve_core.texts import Corpus
from mauve_core.texts.generations import ids_of_prompts
from mauve_core.texts.pairing import column_of

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
        Measures of :data:`mauve_core.experiments.text_measures.MEASURES`; None takes all whose needs are met.
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
        See :func:`mauve_core.experiments.text_measures.measure`.
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
