"""A stored run's human side and one of its candidates compared afresh without some of their texts.

The features are those of the run: leaving out texts changes no other text's. Clusters, scores and spreads are new.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.json_entries import check_entries
from mauve_core.base.progress import Progress, silent
from mauve_core.corpus import Corpus
from mauve_core.store import Run, RunStore, run_id
from mauve_core.store.features import stored_features
from mauve_core.tasks.comparison import compare_and_store


@dataclass(frozen=True)
class WithoutTask:
    """A comparison of a run's texts but for some.

    Attributes
    ----------
    name : str
        Name of the run that comes out.
    run : str
        Id of the run that the texts are in.
    candidate : str
        The one candidate that is compared.
    dropped : mapping of str to tuple of str
        Ids of the texts that are left out, by source: of the human side, of the candidate, or of both.
    """

    name: str
    run: str
    candidate: str
    dropped: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        run_id(self.name)
        for what, value in (("run's id", self.run), ("candidate", self.candidate)):
            if not isinstance(value, str) or not value.strip():
                raise InputError(f"The {what} is missing", allowed="text", received=repr(value))
        if not set(self.dropped) <= {HUMAN, self.candidate} or not any(self.dropped.values()):
            raise InputError(
                "Nothing is left out that is compared",
                allowed=f"ids of texts of {HUMAN!r} or of {self.candidate!r}",
                received=", ".join(self.dropped),
            )

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        values = dataclasses.asdict(self)
        return {**values, "dropped": {source: list(ids) for source, ids in self.dropped.items()}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The task that ``as_dict`` wrote."""
        entries = {item.name for item in dataclasses.fields(cls)}
        check_entries("a comparison without some texts", values, entries, entries)
        dropped = values["dropped"]
        if not isinstance(dropped, Mapping) or not all(isinstance(ids, (list, tuple)) for ids in dropped.values()):
            raise InputError("The texts to leave out cannot be read", allowed="lists of ids by source")
        return cls(**{**values, "dropped": {source: tuple(ids) for source, ids in dropped.items()}})

    def absolute(self) -> Self:
        """The same: nothing here is a path."""
        return self

    def perform(self, progress: Progress = silent) -> str:
        """Compare and store the run; its id.

        Raises
        ------
        InputError, StorageError, CancelledError
            See ``RunStore.load``, ``stored_features`` and ``compare_and_store``; an id that no text has.
        """
        store = RunStore()
        run = store.load(self.run)
        run.comparison.candidate(self.candidate)  # for its error
        places = {name: self._kept(run, name) for name in (HUMAN, self.candidate)}
        corpora = {name: self._noted(run, name, kept) for name, kept in places.items()}
        features = stored_features(run)
        given = {name: features[name][kept] for name, kept in places.items()}
        config = dataclasses.replace(run.comparison.config, encoder=None)
        return compare_and_store(self.name, corpora, config, features=given, store=store, progress=progress).id

    def _kept(self, run: Run, name: str) -> NDArray[np.intp]:
        """Places of the texts that stay."""
        ids, gone = run.corpora[name].ids, set(self.dropped.get(name, ()))
        unknown = sorted(gone - set(ids))
        if unknown:
            raise InputError(f"{name!r} has no text of that id", received=", ".join(unknown[:5]))
        return np.array([place for place, each in enumerate(ids) if each not in gone], dtype=np.intp)

    def _noted(self, run: Run, name: str, kept: NDArray[np.intp]) -> Corpus:
        """The texts that stay, with a note on where they and their features come from."""
        corpus, encoder = run.corpora[name], run.comparison.config.encoder
        model = "given there too" if encoder is None else f"of the encoder {encoder.model}"
        gone = f"{len(corpus) - len(kept)} of {len(corpus)} texts of run {run.id} are left out"
        note = f"{gone}; features as there, {model}."
        return dataclasses.replace(corpus.take(kept), notes=(*corpus.notes, note))
