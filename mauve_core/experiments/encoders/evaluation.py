"""Score a stored run's texts under several encoders, each with the run's own score settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.devices import with_known_precision
from mauve_core.encoders.features import FeatureStore
from mauve_core.experiments.encoders.request import encoder_titles
from mauve_core.experiments.encoders.table import EncoderResult, EncoderTable
from mauve_core.runs import Run
from mauve_core.scoring.compare import compare
from mauve_core.scoring.result import Comparison
from mauve_core.texts.kinds import kind_of


def encoders_run(
    run: Run,
    encoders: Sequence[EncoderConfig],
    *,
    feature_store: FeatureStore | None = None,
    device: str = "auto",
    progress: Progress = silent,
) -> EncoderTable:
    """Score every candidate of a run under its own encoder and others.

    The scores of the run's own encoder are those of its leaderboard. Every other encoder gets a comparison of its own:
    the same texts, seeds, k, share of variance and scaling constant, and tests of every two candidates.

    Parameters
    ----------
    encoders : sequence of EncoderConfig
        At least one besides the run's own, without duplicates.
    feature_store : FeatureStore, optional
        Keeps features, so that stopped work resumes where it was; by default the user's own.
    device : str
        "auto", "cpu", "cuda", ...
    progress : callable
        May raise CancelledError.

    Raises
    ------
    InputError, ModelUnavailableError, StorageError
        No other encoder or a duplicate, an unknown model, or no encoder that can read the texts; see ``compare``. If
        only some encoders cannot read the texts, a note replaces them.
    """
    own, encoders = run.comparison.config.encoder, with_known_precision(encoders, device)
    others = [encoder for encoder in encoders if encoder != own]
    if not others or len(set(encoders)) < len(encoders):
        received = ", ".join(encoder_titles(encoders))
        allowed = "one or more besides the run's own, no duplicates"
        raise InputError("The encoders cannot be used", allowed=allowed, received=received)
    check = kind_of(run.comparison.human.kind).offer.check
    for encoder in others:
        check(encoder.model, encoder.revision)
    store = FeatureStore() if feature_store is None else feature_store
    results, left_out = [_own(run)], dict[str, InputError]()
    for title, encoder in zip(encoder_titles([own, *others])[1:], others, strict=True):

        def tell(stage: str, done: int, total: int, title: str = title) -> None:
            progress(f"{title}: {stage}", done, total)

        try:
            results.append(_under(run, encoder, store, device, tell))
        except InputError as error:
            left_out[title] = error
    if len(results) == 1:
        raise next(iter(left_out.values()))
    comparison = run.comparison
    settings = {
        "run": run.id,
        "created": run.created,
        "config": comparison.config.as_dict(),
        "sources": {source.name: {"n": source.n, "digest": source.digest} for source in comparison.sources},
    }
    notes = tuple(f"{title} is left out: {error}" for title, error in left_out.items())
    return EncoderTable(tuple(results), settings, notes)


def _own(run: Run) -> EncoderResult:
    features = run.features(HUMAN)
    return _result_of(run.comparison, None if features is None else features.shape[1])


def _under(run: Run, encoder: EncoderConfig, store: FeatureStore, device: str, progress: Progress) -> EncoderResult:
    corpora = {name: dataclasses.replace(corpus, notes=()) for name, corpus in run.corpora.items()}
    comparison = compare(
        corpora[HUMAN],
        {candidate.name: corpora[candidate.name] for candidate in run.comparison.candidates},
        CompareConfig(encoder=encoder, score=run.comparison.config.score, projection=False),
        feature_store=store,
        device=device,
        progress=progress,
    )
    stored = store.get(comparison.human.features_key)
    found = _result_of(comparison, None if stored is None else stored.array.shape[1])
    notes = dict.fromkeys(note for source in comparison.sources for note in source.notes)
    return dataclasses.replace(found, notes=tuple(notes))


def _result_of(comparison: Comparison, dimension: int | None) -> EncoderResult:
    return EncoderResult(
        encoder=comparison.config.encoder,
        scores={candidate.name: candidate.scores for candidate in comparison.candidates},
        ceiling=None if comparison.halves is None else comparison.halves.scores,
        differences=comparison.differences,
        dimension=dimension,
        tokens_median=comparison.human.tokens_median,
        cut=sum(source.cut for source in comparison.sources),
    )
