"""A comparison as it is asked for: which files, which fields, which settings; and the one function that carries it out.

The command line and the background jobs share this, so that both read, compare and store in the same way. A task is
plain JSON on disk (:meth:`ComparisonTask.as_dict`), which is how a job's worker learns what to do.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mauve_core.analysis.precomputed import derive
from mauve_core.base.config import HUMAN, CompareConfig
from mauve_core.base.errors import InputError
from mauve_core.base.json_entries import check_entries
from mauve_core.base.names import require_text
from mauve_core.base.progress import Progress, silent
from mauve_core.corpus import Corpus, read_corpus
from mauve_core.encoders.external_features import features_of, require_one_width
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.scoring.result import Source
from mauve_core.store import Run, RunStore, run_id

READING = "Reading texts"
SAVING = "Saving the run"

JOB_VARIABLE = "MAUVE_LENS_JOB"
"""Environment variable of a worker: the job's id. A run notes it, so that a job which is resumed after its run was
stored does not make a second one."""


@dataclass(frozen=True)
class TextFile:
    """One side's file.

    Attributes
    ----------
    path : str
        A file or folder that :func:`mauve_core.corpus.read_corpus` reads.
    text_field, prompt_field, id_field : str or None
        None guesses.
    metadata_fields : tuple of str or None
        None keeps every other field with plain values.
    features : str or None
        A .npy file with a row for each text that is kept; None encodes the texts.
    """

    path: str
    text_field: str | None = None
    prompt_field: str | None = None
    id_field: str | None = None
    metadata_fields: tuple[str, ...] | None = None
    features: str | None = None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The file that ``dataclasses.asdict`` wrote; an unknown or missing entry is an InputError."""
        check_entries("a file", values, {item.name for item in dataclasses.fields(cls)}, {"path"})
        chosen = values.get("metadata_fields")
        return cls(**{**values, "metadata_fields": None if chosen is None else tuple(chosen)})

    def absolute(self) -> Self:
        """The same with absolute paths, for a process that runs in another folder."""
        features = None if self.features is None else str(Path(self.features).absolute())
        return replace(self, path=str(Path(self.path).absolute()), features=features)

    def read(self, name: str) -> Corpus:
        """The corpus in the file; InputError as ``read_corpus`` raises it."""
        return read_corpus(
            self.path,
            name=name,
            text_field=self.text_field,
            prompt_field=self.prompt_field,
            id_field=self.id_field,
            metadata_fields=self.metadata_fields,
        )


@dataclass(frozen=True)
class ComparisonTask:
    """One human file against any number of candidates' files.

    Attributes
    ----------
    name : str
        Name of the run that comes out.
    human : TextFile
    candidates : mapping of str to TextFile
        In the order in which they are shown; at least one.
    config : CompareConfig
        Its ``encoder`` is None exactly when every file brings features.
    device : str
        ``auto``, ``cpu``, ``cuda`` ...
    """

    name: str
    human: TextFile
    candidates: Mapping[str, TextFile]
    config: CompareConfig = field(default_factory=CompareConfig)
    device: str = "auto"

    def __post_init__(self) -> None:
        run_id(self.name)
        if not self.candidates:
            raise InputError("There is no candidate to compare", allowed="at least one model file")
        for name in self.candidates:
            require_text(name, "candidate")
            if not name.strip() or name == HUMAN:
                raise InputError(f"A candidate cannot be named {name!r}", allowed=f"any other name; {HUMAN!r} is taken")
        without = [name for name, file in self.files.items() if file.features is None]
        if without and len(without) < len(self.files):
            raise InputError(
                f"Features are given for some sources, but not for {', '.join(without)}",
                allowed="features for every source, or for none",
            )
        if (self.config.encoder is None) != (not without):
            todo = "Give features for every source, or name an encoder"
            raise InputError("Either an encoder or features are needed, and not both", todo=todo)

    @property
    def files(self) -> dict[str, TextFile]:
        """The file of each source, ``human`` first."""
        return {HUMAN: self.human, **self.candidates}

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "name": self.name,
            "human": dataclasses.asdict(self.human),
            "candidates": {name: dataclasses.asdict(file) for name, file in self.candidates.items()},
            "config": self.config.as_dict(),
            "device": self.device,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The task that ``as_dict`` wrote; ``config`` and ``device`` may be left out."""
        required = {"name", "human", "candidates"}
        check_entries("a task", values, required | {"config", "device"}, required)
        return cls(
            name=values["name"],
            human=TextFile.from_dict(values["human"]),
            candidates={name: TextFile.from_dict(file) for name, file in values["candidates"].items()},
            config=CompareConfig.from_dict(values.get("config", {})),
            device=values.get("device", "auto"),
        )

    def absolute(self) -> Self:
        """The same with absolute paths, for a process that runs in another folder."""
        candidates = {name: file.absolute() for name, file in self.candidates.items()}
        return replace(self, human=self.human.absolute(), candidates=candidates)

    def perform(self, progress: Progress = silent) -> str:
        """Carry it out, as :func:`perform` does; the id of the stored run."""
        return perform(self, progress=progress).id


def perform(
    task: ComparisonTask,
    *,
    store: RunStore | None = None,
    feature_store: FeatureStore | None = None,
    progress: Progress = silent,
) -> Run:
    """Read the files, compare, and store the run with its features.

    Parameters
    ----------
    task : ComparisonTask
    store, feature_store : RunStore, FeatureStore, optional
        The user's own when left out.
    progress : callable
        May raise CancelledError; finished features stay in the store and are not computed again next time.

    Raises
    ------
    InputError, StorageError, CancelledError
        See ``read_corpus``, ``features_of``, ``compare`` and ``RunStore.save``.
    """
    corpora: dict[str, Corpus] = {}
    given: dict[str, NDArray[np.floating]] = {}
    for done, (name, file) in enumerate(task.files.items()):
        progress(READING, done, len(task.files))
        corpora[name] = file.read(name)
        if file.features is not None:
            given[name] = features_of(name, corpora[name], file.features)
    progress(READING, len(task.files), len(task.files))
    require_one_width(given)
    return compare_and_store(
        task.name,
        corpora,
        task.config,
        features=given or None,
        device=task.device,
        store=store,
        feature_store=feature_store,
        progress=progress,
    )


def compare_and_store(
    name: str,
    corpora: Mapping[str, Corpus],
    config: CompareConfig,
    *,
    features: Mapping[str, NDArray[np.floating]] | None = None,
    known: Mapping[str, Source] | None = None,
    device: str = "auto",
    store: RunStore | None = None,
    feature_store: FeatureStore | None = None,
    progress: Progress = silent,
) -> Run:
    """Compare the human corpus with all others, and store the run with its features.

    Parameters
    ----------
    corpora : mapping of str to Corpus
        By source; ``human`` among them.
    features : mapping of str to (n, d) array, optional
        For every source; None encodes the texts.
    known : see :func:`mauve_core.scoring.compare.compare`
    device, store, feature_store, progress : see :func:`perform`
    """
    from mauve_core.scoring.compare import compare

    store = RunStore() if store is None else store
    job = os.environ.get(JOB_VARIABLE)
    made = None if job is None else _made_by(job, name, store)
    if made is not None:
        derive(made, progress)
        return made
    feature_store = FeatureStore() if feature_store is None else feature_store
    comparison = compare(
        corpora[HUMAN],
        {source: corpus for source, corpus in corpora.items() if source != HUMAN},
        config,
        features=features,
        known=known,
        feature_store=feature_store,
        device=device,
        progress=progress,
    )
    if job is not None:
        comparison = replace(comparison, environment={**comparison.environment, "job": job})
    progress(SAVING, 0, 1)
    arrays: dict[str, NDArray[np.floating]] = dict(features or {})
    for source in comparison.sources if features is None else ():
        stored = feature_store.get(source.features_key)
        if stored is not None:
            arrays[source.name] = stored.array
    run = store.save(name, comparison, corpora, arrays if len(arrays) == len(corpora) else None)
    progress(SAVING, 1, 1)
    derive(run, progress)
    return run


def _made_by(job: str, name: str, store: RunStore) -> Run | None:
    """The run that an earlier worker of the job has stored under an id made from that name."""
    base = run_id(name)
    for summary in store.list():
        if summary.id == base or summary.id.startswith(f"{base}-"):
            run = store.load(summary.id)
            if run.comparison.environment.get("job") == job:
                return run
    return None
