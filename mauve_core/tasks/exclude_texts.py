"""Compare a stored run's human side and one candidate again without some of their texts.

The features are the run's: leaving out texts does not change those of others. Clusters, scores and spreads are new.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import verb
from mauve_core.base.json_codec import NotBlank
from mauve_core.base.progress import Progress, silent
from mauve_core.runs import Run, RunStore
from mauve_core.runs.features import stored_features
from mauve_core.tasks.base import NewRunTask, Stored, unheeded
from mauve_core.tasks.comparison import compare_and_store
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import kind_of


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
