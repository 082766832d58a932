"""The comparison task: files, fields and settings, and the code that runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.arguments import require_text
from mauve_core.base.config import HUMAN, CompareConfig
from mauve_core.base.errors import InputError
from mauve_core.base.extras import require_map
from mauve_core.base.json_codec import NotBlank
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.external_features import features_of, require_one_width
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import Run, RunStore, run_id
from mauve_core.scoring.result import Source
from mauve_core.tasks.amounts import Amount, SideSize, amount_of_sides, settings_in_words
from mauve_core.tasks.base import NewRunTask, Stored, unheeded
from mauve_core.tasks.draw_map import with_map
from mauve_core.tasks.preview import tell_preview
from mauve_core.texts import Corpus
from mauve_core.texts.normalizing import normalize
from mauve_core.texts.normalizing_steps import parse_steps
from mauve_core.texts.pairing import drawn, equal_draws
from mauve_core.texts.text_files import Tables, TextFile, look_at

READING = "Reading files"
SAVING = "Saving the run"


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
        Texts that a candidate may have seen, such as those it was trained on: :mod:`mauve_core.analysis.copied` looks
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
            from mauve_core.analysis.copied import with_seen  # imports SciPy, which a refused task does not need

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
    job, progress, stored : see :meth:`mauve_core.tasks.base.Task.perform`

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
    progress(SAVING, 0, 1)
    arrays: dict[str, NDArray[np.floating]] = dict(features or {})
    for source in comparison.sources if features is None else ():
        found = feature_store.get(source.features_key)
        if found is not None:
            arrays[source.name] = found.array
    run = store.save(name, comparison, corpora, arrays if len(arrays) == len(corpora) else None)
    progress(SAVING, 1, 1)
    return _completed(run, config, stored, progress)


def _completed(run: Run, config: CompareConfig, stored: Stored, progress: Progress) -> Run:
    """Say that the run is stored, and add what pages need first and its map."""
    from mauve_core.analysis.precomputed import derive  # imports pandas and SciPy, which a refused task does not need

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
