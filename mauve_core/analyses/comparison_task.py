"""Comparisons as tasks: of files, of a stored run with other settings or without some texts; and the map.

The texts of a stored run are its own. Where encoder and texts are unchanged, so are its features, and a run from
another machine needs no encoder here; otherwise texts are encoded or found in the feature store. Leaving out texts
does not change the features of others; clusters, scores and spreads are new. A preview tells the scores of a few texts
a side while the rest is still to be encoded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mauve_core.analyses.tasks import (
    SAVING,
    Amount,
    NewRunTask,
    RunTask,
    SideSize,
    Stored,
    amount_of_sides,
    settings_in_words,
    unheeded,
)
from mauve_core.base.arguments import require_text
from mauve_core.base.config import HUMAN, TEXT, CompareConfig, EncoderConfig, ScoreConfig, names_server
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.base.extras import require_map
from mauve_core.base.formatting import SCORE_DECIMALS, interval, printable, verb, with_plain_spaces, with_spread
from mauve_core.base.json_codec import NotBlank
from mauve_core.base.progress import Progress, Told, silent
from mauve_core.encoders.catalogue import identify
from mauve_core.encoders.external_features import features_of, require_one_width
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import Run, RunStore, run_id
from mauve_core.runs.features import stored_features, without_features
from mauve_core.scoring.result import Source
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import common_kind, kind_of
from mauve_core.texts.normalizing import normalize
from mauve_core.texts.normalizing_steps import parse_steps
from mauve_core.texts.pairing import drawn, equal_draws
from mauve_core.texts.text_files import Tables, TextFile, look_at

READING = "Reading files"
SAVING_RUN = "Saving the run"


@dataclass(frozen=True)
class ComparisonTask(NewRunTask):
    """One human file against any number of candidate files.

    Attributes
    ----------
    human : TextFile
    candidates : mapping of str to TextFile
        In display order; at least one.
    config : CompareConfig
        Its ``encoder`` is None exactly if every file brings features.
    device : str
        ``auto``, ``cpu``, ``cuda`` ...
    normalize : tuple of str or None
        Steps for the texts of every side, as for :func:`mauve_core.texts.normalizing.normalize`.
    equalize : bool
        Draw equal numbers of texts from every side, with the seed of the scores (:mod:`mauve_core.texts.pairing`).
    skip_unencodable : bool
        As for :func:`mauve_core.scoring.compare.compare`; what is drawn comes first.
    seen : TextFile or None
        Texts that a candidate may have seen, such as those it was trained on: :mod:`mauve_core.findings.copied` looks
        for copies of them, too.
    """

    kind: ClassVar[str] = "comparison"
    kept: ClassVar[str] = "features already computed"

    human: TextFile
    candidates: Mapping[str, TextFile]
    config: CompareConfig = field(default_factory=CompareConfig)
    device: NotBlank = "auto"
    normalize: tuple[str, ...] | None = None
    equalize: bool = False
    skip_unencodable: bool = False
    seen: TextFile | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if parse_steps(self.normalize or ()) and self.config.encoder is None:
            raise InputError(
                "Texts cannot be normalized if their features are given",
                todo="Name an encoder in place of the features",
            )
        if self.skip_unencodable and self.config.encoder is None:
            raise InputError("Nothing is encoded, so skip_unencodable does not apply", todo="Leave it out")
        if not self.candidates:
            raise InputError("There is no candidate to compare", allowed="at least one model file")
        for name in self.candidates:
            require_text(name, "candidate")
            if not name.strip() or name == HUMAN:
                raise InputError(f"A candidate cannot be named {name!r}", allowed=f"any other name; {HUMAN!r} is taken")
        without_features = [name for name, file in self.files.items() if file.features is None]
        if without_features and len(without_features) < len(self.files):
            raise InputError(
                f"Features are given for some sources, but not for {', '.join(without_features)}",
                allowed="features for every source, or for none",
            )
        if (self.config.encoder is None) != (not without_features):
            todo = "Give features for every source, or name an encoder"
            raise InputError("Either an encoder or features are needed, not both", todo=todo)

    @property
    def files(self) -> dict[str, TextFile]:
        """Return the file of each source, ``human`` first."""
        return {HUMAN: self.human, **self.candidates}

    @property
    def all_files(self) -> list[TextFile]:
        """Return all files that the task reads."""
        return [*self.files.values(), *([] if self.seen is None else [self.seen])]

    def amount(self, sides: Mapping[str, SideSize]) -> Amount:
        """Return how much work this is; ``sides`` are those of :attr:`files`."""
        like = settings_in_words(self.config), self.device, *(self.normalize or ())
        least = min(side.texts for side in sides.values())
        counted = [replace(side, texts=least) for side in sides.values()] if self.equalize else sides.values()
        return amount_of_sides(like, counted)

    def make(
        self,
        progress: Progress = silent,
        job: str | None = None,
        stored: Stored = unheeded,
        tables: Tables | None = None,
    ) -> Run:
        """Read the files, compare, and store the run with its features.

        ``tables`` is what :func:`look_at` has read; it is emptied.

        Raises
        ------
        InputError, StorageError, CancelledError
            See ``read_corpus``, ``features_of`` and ``compare_and_store``.
        """

        corpora: dict[str, Corpus] = {}
        tables = look_at(self.all_files) if tables is None else tables
        features: dict[str, NDArray[np.floating]] = {}
        for done, (name, file) in enumerate(self.files.items()):
            progress(READING, done, len(self.files))

            def tell(stage: str, read: int, total: int, name: str = name) -> None:
                progress(f"{stage} of {'the reference' if name == HUMAN else name}", read, total)

            corpora[name] = file.read(name, tables, tell, reference=name == HUMAN)
            if file.features is not None:
                features[name] = features_of(name, corpora[name], file.features)
        seen = None if self.seen is None else self.seen.read("seen", tables)
        tables.clear()
        progress(READING, len(self.files), len(self.files))
        require_one_width(features)
        if self.normalize:
            corpora = normalize(corpora, self.normalize, progress)
        if self.equalize:
            seed = self.config.score.seed
            draws = equal_draws(corpora, seed)
            corpora = drawn(corpora, draws, seed)
            features = {name: array[draws[name]] for name, array in features.items()}
        if seen is not None:
            from mauve_core.findings.copied import with_seen  # imports SciPy, which a refused task does not need

            corpora = with_seen(corpora, seen.texts)
        return compare_and_store(
            self.name,
            corpora,
            self.config,
            features=features or None,
            skip_unencodable=self.skip_unencodable,
            device=self.device,
            job=job,
            progress=progress,
            stored=stored,
        )


def compare_and_store(
    name: str,
    corpora: Mapping[str, Corpus],
    config: CompareConfig,
    *,
    features: Mapping[str, NDArray[np.floating]] | None = None,
    known: Mapping[str, Source] | None = None,
    skip_unencodable: bool = False,
    device: str = "auto",
    job: str | None = None,
    progress: Progress = silent,
    stored: Stored = unheeded,
) -> Run:
    """Compare the human corpus with all others, and store the run with its features; then add what takes long.

    The run is stored as soon as its scores are known. What pages need first and the map follow; if they are stopped,
    the run is whole without them, and another worker of the same job adds what is missing.

    Parameters
    ----------
    corpora : mapping of str to Corpus
        By source, including ``human``.
    features : mapping of str to (n, d) array, optional
        For every source; None encodes the texts.
    known, skip_unencodable, device : see :func:`mauve_core.scoring.compare.compare`
    job, progress, stored : see :meth:`mauve_core.analyses.tasks.Task.perform`

    Raises
    ------
    InputError, StorageError, CancelledError
        See ``compare`` and ``RunStore.save``; finished features stay in the store and are not computed again.
    """
    from mauve_core.scoring.compare import compare
    from mauve_core.scoring.sides import encode_sides

    if config.projection:
        require_map()
    store, feature_store = RunStore(), FeatureStore()
    existing = None if job is None else _run_of_job(job, name, store)
    if existing is not None:
        return _completed(existing, config, stored, progress)
    if features is None:
        tell_preview(corpora, config, feature_store, device, progress)
    if skip_unencodable:  # the run keeps the texts that are left; compare() takes their features from the store
        sides, _ = encode_sides(corpora, config, feature_store, device, progress, skip_unencodable=True)
        corpora = {source: side.corpus for source, side in sides.items()}
    comparison = compare(
        corpora[HUMAN],
        {source: corpus for source, corpus in corpora.items() if source != HUMAN},
        config,
        features=features,
        known=known,
        feature_store=feature_store,
        device=device,
        progress=progress,
        draw_map=False,
    )
    if job is not None:
        comparison = replace(comparison, environment={**comparison.environment, "job": job})
    progress(SAVING_RUN, 0, 1)
    arrays: dict[str, NDArray[np.floating]] = dict(features or {})
    for source in comparison.sources if features is None else ():
        found = feature_store.get(source.features_key)
        if found is not None:
            arrays[source.name] = found.array
    run = store.save(name, comparison, corpora, arrays if len(arrays) == len(corpora) else None)
    progress(SAVING_RUN, 1, 1)
    return _completed(run, config, stored, progress)


def _completed(run: Run, config: CompareConfig, stored: Stored, progress: Progress) -> Run:
    """Say that the run is stored, and add what pages need first and its map."""
    from mauve_core.findings.precomputed import derive  # imports pandas and SciPy, which a refused task does not need

    stored(run)
    derive(run, progress)
    return with_map(run, progress) if config.projection else run


def _run_of_job(job: str, name: str, store: RunStore) -> Run | None:
    """Return the run that an earlier worker of the job has stored under an id made from that name."""
    base = run_id(name)
    for summary in store.list():
        is_namesake = summary.id == base or summary.id.startswith(f"{base}-")
        if is_namesake and store.environment(summary.id).get("job") == job:
            return store.load(summary.id)
    return None


@dataclass(frozen=True)
class MapTask(RunTask):
    """The map of a run that was stored without one."""

    kind: ClassVar[str] = "map"
    titled: ClassVar[str] = "map of"

    def compute(self, progress: Progress = silent) -> Run:
        """Draw the map and add it to the run."""
        return with_map(self.load(), progress)


def with_map(run: Run, progress: Progress = silent) -> Run:
    """Draw the map of a run from its stored features and add it in one step; a run with a map is returned as it is.

    Equal features and settings give equal positions on equal devices, whether the map is drawn with the scores or
    later: a run that was clustered on the CPU has its map drawn there, another one on a GPU if there is one.

    Raises
    ------
    InputError
        The features are not found, the run has no joint partition, or it was deleted or replaced in the meantime.
    StorageError, CancelledError
        The run stays as it was.
    """
    if run.comparison.projection is not None:
        return run
    if not run.comparison.joint:
        raise InputError(f"Run {run.id} has no joint partition, which its map needs", todo="Compare the texts again")
    from mauve_core.scoring.compare import CLUSTERING_DEVICE, array_device, mapped
    from mauve_core.scoring.partitioning import measured

    clustered_on = run.comparison.environment.get(CLUSTERING_DEVICE, "auto")
    used = array_device(clustered_on if clustered_on == "cpu" else "auto")
    sides = measured(stored_features(run), run.comparison.config.score, used)
    drawn = mapped(run.comparison, sides, progress, used)
    progress(SAVING, 0, 1)
    run = RunStore().add_map(run, drawn)
    progress(SAVING, 1, 1)
    return run


PREVIEWED = 200  # texts a side
LEAST = 4  # times as many are left to encode: a preview adds at most a quarter to that
QUICK = "minilm"  # takes seconds where the default encoder takes minutes


def tell_preview(
    corpora: Mapping[str, Corpus], config: CompareConfig, store: FeatureStore, device: str, progress: Progress
) -> None:
    """Compare ``PREVIEWED`` texts a side and tell ``progress`` their MAUVE, if encoding all of them takes far longer.

    The texts are drawn with the seed, of the same prompts where sides share them, and have a tenth as many clusters.
    They are encoded by ``QUICK`` where it is installed. If not, no server is asked, which would be asked for the same
    again. What keeps the texts from being compared is left to the comparison of all to tell. May raise CancelledError.
    """
    from mauve_core.scoring.compare import compare

    if config.encoder is None:
        return
    kind = common_kind({name: corpus.kind for name, corpus in corpora.items()})
    quick = config.encoder
    if kind.name == TEXT:
        with suppress(ModelUnavailableError):
            identify(QUICK)
            quick = EncoderConfig(QUICK)
    if names_server(quick.model):
        return
    encoder = kind.encoder(config.encoder, device)
    left = sum(len(corpus) for corpus in corpora.values() if not store.has(encoder.key(corpus)))
    if left < LEAST * PREVIEWED * len(corpora):
        return
    draws = equal_draws(corpora, config.score.seed, most=PREVIEWED)
    few = {name: corpus.take(draws[name]) for name, corpus in corpora.items()}
    human, n = few.pop(HUMAN), len(draws[HUMAN])
    with suppress(InputError):
        found = compare(
            human,
            few,
            replace(config, encoder=quick, score=replace(config.score, k=None)),
            device=device,
            progress=lambda stage, done, total: progress(f"Preview: {stage[:1].lower()}{stage[1:]}", done, total),
            draw_map=False,
        )
        told = []
        for candidate in sorted(found.candidates, key=lambda each: -each.scores["mauve"].mean):
            score = candidate.scores["mauve"]
            told.append(
                f"{printable(candidate.name)} {with_spread(score.mean, score.sd, SCORE_DECIMALS)} "
                f"({interval(score.low, score.high, SCORE_DECIMALS)})"
            )
        sides = f"{kind.words.count(n)} a side, {printable(quick.model)}"
        line = f"Preview ({sides}), whose scores differ from those of the whole run: MAUVE {', '.join(told)}"
        progress(Told(with_plain_spaces(line)), 1, 1)


@dataclass(frozen=True)
class ExcludeTextsTask(NewRunTask):
    """A comparison of a run's texts without some of them.

    Attributes
    ----------
    run : str
        Id of the run with the texts.
    candidate : str
        The candidate to compare.
    dropped : mapping of str to tuple of str
        Ids of the texts to leave out, by source: the human side, the candidate, or both.
    """

    kind: ClassVar[str] = "without"

    run: NotBlank
    candidate: NotBlank
    dropped: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not set(self.dropped) <= {HUMAN, self.candidate} or not any(self.dropped.values()):
            raise InputError(
                "None of the compared texts is left out",
                allowed=f"ids of texts of {HUMAN!r} or of {self.candidate!r}",
                received=", ".join(self.dropped),
            )

    def make(self, progress: Progress = silent, job: str | None = None, stored: Stored = unheeded) -> Run:
        """Compare and store the run.

        Raises
        ------
        InputError, StorageError, CancelledError
            See ``RunStore.load``, ``stored_features`` and ``compare_and_store``; an unknown text id.
        """
        run = RunStore().load(self.run)
        run.comparison.candidate(self.candidate)  # raises InputError if unknown
        rows_by_source = {name: self._remaining_rows(run, name) for name in (HUMAN, self.candidate)}
        corpora = {name: self._noted(run, name, rows) for name, rows in rows_by_source.items()}
        features = stored_features(run)
        remaining_features = {name: features[name][rows] for name, rows in rows_by_source.items()}
        config = dataclasses.replace(run.comparison.config, encoder=None)
        return compare_and_store(
            self.name, corpora, config, features=remaining_features, job=job, progress=progress, stored=stored
        )

    def _remaining_rows(self, run: Run, name: str) -> NDArray[np.intp]:
        """Return the rows of the texts that stay."""
        ids, gone = run.corpora[name].ids, set(self.dropped.get(name, ()))
        unknown = sorted(gone - set(ids))
        if unknown:
            raise InputError(f"{name!r} has no text with that id", received=", ".join(unknown[:5]))
        return np.array([index for index, each in enumerate(ids) if each not in gone], dtype=np.intp)

    def _noted(self, run: Run, name: str, rows: NDArray[np.intp]) -> Corpus:
        """Return the texts that stay, with a note on the origin of the texts and their features."""
        corpus, encoder = run.corpora[name], run.comparison.config.encoder
        model = "given" if encoder is None else f"encoder {encoder.model}"
        whole = kind_of(corpus.kind).words.count(len(corpus))
        left_out = len(corpus) - len(rows)
        gone = f"{left_out:,} of {whole} of run {run.id} {verb(left_out, 'is', 'are')} left out"
        note = f"{gone}; features from that run ({model})."
        return dataclasses.replace(corpus.take(rows), notes=(*corpus.notes, note))


# Encoder settings whose meaning depends on the model.
OF_THE_MODEL = ("revision", "pooling", "layer")


@dataclass(frozen=True)
class RecompareTask(NewRunTask):
    """A comparison of a run's texts with other settings.

    Attributes
    ----------
    run : str
        Id of the run with the texts.
    config : CompareConfig
        Its ``encoder`` is None only if the run's is, because its features were given.
    left_out : tuple of str
        Candidates of the run to leave out.
    device : str
    normalize : tuple of str or None
        Steps for the texts of every side, as for :func:`mauve_core.texts.normalizing.normalize`.
    """

    kind: ClassVar[str] = "again"
    kept: ClassVar[str] = "features already computed"

    run: NotBlank
    config: CompareConfig
    left_out: tuple[str, ...] = ()
    device: NotBlank = "auto"
    normalize: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if parse_steps(self.normalize or ()) and self.config.encoder is None:
            raise InputError("Normalized texts need an encoder: the run's features were given", todo="Name an encoder")

    def make(self, progress: Progress = silent, job: str | None = None, stored: Stored = unheeded) -> Run:
        """Compare and store the run.

        Raises
        ------
        InputError, StorageError, CancelledError
            See ``RunStore.load``, ``stored_features`` and ``compare_and_store``; an unknown candidate, or none left;
            no encoder although the run has one.
        """
        run = RunStore().load(self.run)
        names = self._sources(run)
        note = f"The {run.comparison.words.items} of run {run.id}, compared again."
        corpora = {
            name: dataclasses.replace(run.corpora[name], notes=(*run.corpora[name].notes, note)) for name in names
        }
        features = known = None
        if self.normalize:
            corpora = normalize(corpora, self.normalize, progress)
        elif self.config.encoder == run.comparison.config.encoder and self._has_features(run, names):
            own = stored_features(run)
            features = {name: own[name] for name in names}
            known = {
                source.name: dataclasses.replace(source, notes=(*source.notes, note))
                for source in run.comparison.sources
                if source.name in names
            }
        return compare_and_store(
            self.name,
            corpora,
            self.config,
            features=features,
            known=known,
            device=self.device,
            job=job,
            progress=progress,
            stored=stored,
        )

    def _sources(self, run: Run) -> list[str]:
        """Return the sources to compare, ``human`` first."""
        candidates = [candidate.name for candidate in run.comparison.candidates]
        unknown = [name for name in self.left_out if name not in candidates]
        remaining = [name for name in candidates if name not in self.left_out]
        if unknown or not remaining:
            wrong = "A candidate to leave out is not in the run" if unknown else "No candidate is left to compare"
            raise InputError(wrong, allowed=", ".join(candidates), received=", ".join(unknown or self.left_out))
        if self.config.encoder is None and run.comparison.config.encoder is not None:
            raise InputError("No encoder is given", allowed=f"{run.comparison.config.encoder.model}, or another one")
        return [HUMAN, *remaining]

    def _has_features(self, run: Run, names: list[str]) -> bool:
        """Whether the run's features exist; if nothing could make them again, loading them raises the error."""
        return self.config.encoder is None or not set(without_features(run)) & set(names)


def changed(config: CompareConfig, changes: Mapping[str, Any]) -> CompareConfig:
    """Return the settings with some replaced.

    Parameters
    ----------
    changes : mapping of str to value
        By field name of EncoderConfig (``encoder`` for its model) and ScoreConfig, and ``projection``. Another model
        takes its own revision, pooling and layer, unless they are given too.

    Raises
    ------
    InputError
        An unknown setting, an invalid value, or encoder settings without an encoder.
    """
    of_score = {item.name for item in dataclasses.fields(config.score)}
    of_encoder = {"encoder", *(item.name for item in dataclasses.fields(EncoderConfig))} - {"model"}
    unknown = sorted(set(changes) - of_score - of_encoder - {"projection"})
    if unknown:
        allowed = ", ".join(sorted(of_score | of_encoder | {"projection"}))
        raise InputError(f"No setting is named {', '.join(unknown)}", allowed=allowed)
    return CompareConfig(
        encoder=_encoder(config.encoder, {name: changes[name] for name in changes if name in of_encoder}),
        score=dataclasses.replace(config.score, **{name: changes[name] for name in changes if name in of_score}),
        projection=changes.get("projection", config.projection),
    )


def suggested_name(
    run_name: str, before: CompareConfig, after: CompareConfig, normalize: Sequence[str] | None = None
) -> str:
    """Suggest a name that states the changed settings: ``demo, k 50, seeds 3``, and the steps of normalizing."""
    parts = _departures(before.score, after.score)
    old, new = before.encoder, after.encoder
    if new is not None and old is not None and old.model == new.model:
        parts = _departures(old, new) + parts
    elif new is not None:
        parts = [new.model.rstrip("/").rpartition("/")[2], *parts]
    if normalize:
        parts.append(f"normalized {' '.join(parse_steps(normalize)).replace(':', ' ')}")
    return ", ".join([run_name, *parts]) if parts else f"{run_name}, again"


def _departures(old: EncoderConfig | ScoreConfig, new: EncoderConfig | ScoreConfig) -> list[str]:
    changed_fields = [
        item.name for item in dataclasses.fields(new) if getattr(new, item.name) != getattr(old, item.name)
    ]
    return [f"{name} {getattr(new, name)}".replace("_", " ") for name in changed_fields]


def _encoder(before: EncoderConfig | None, changes: dict[str, Any]) -> EncoderConfig | None:
    if not changes:
        return before
    model = changes.pop("encoder", None if before is None else before.model)
    if model is None:
        raise InputError(
            f"There is no encoder for {', '.join(sorted(changes))} to apply to: the run's features were given",
            todo="Name an encoder too",
        )
    if before is None:
        return EncoderConfig(model=model, **changes)
    own = {} if model == before.model else {name: getattr(EncoderConfig(), name) for name in OF_THE_MODEL}
    return dataclasses.replace(before, model=model, **{**own, **changes})
