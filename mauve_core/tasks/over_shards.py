"""Store a run of texts from shards: a sample to read and look at, beside the scores over all texts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import CompareConfig
from mauve_core.base.errors import InputError, MauveLensError, StorageError
from mauve_core.base.formatting import plural
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.clusters_over_shards import ATTACHMENT as CLUSTERS
from mauve_core.experiments.clusters_over_shards import ClustersOverAll, stored_clusters_over_all
from mauve_core.experiments.encoders.request import written
from mauve_core.experiments.over_shards import ATTACHMENT, stored_over_shards
from mauve_core.runs import Run, RunStore
from mauve_core.shards.encoding import SampledText, feature_rows, sample_of
from mauve_core.shards.places import name_of
from mauve_core.shards.plan import Note, ShardedComparison, Work, notes_of, take_note
from mauve_core.shards.texts import id_of_text
from mauve_core.tasks.base import Stored, unheeded
from mauve_core.tasks.comparison import compare_and_store
from mauve_core.texts.building import corpus_from_texts
from mauve_core.texts.corpus import Corpus


def store_sample(
    name: str,
    work: Work,
    found: ShardedComparison,
    clusters: ClustersOverAll,
    *,
    projection: bool = True,
    progress: Progress = silent,
    stored: Stored = unheeded,
) -> Run:
    """Compare a sample of every side with features from the work folder, and store it with what is known of all texts:
    scores, and the clusters that tell the sides apart most. Where the work folder is, is noted beside all runs.

    Parameters
    ----------
    name : str
        Name of the run.
    work : Work
        Where ``found`` was computed; of texts.
    found : ShardedComparison
    clusters : ClustersOverAll
        Of ``work``.
    projection : bool
        Whether the run gets a map.
    progress, stored : see :meth:`mauve_core.tasks.base.Task.perform`

    Returns
    -------
    Run
        Of at most ``Plan.run_texts`` texts a side. Its scores are those of the sample.

    Raises
    ------
    InputError
        The shards hold features, so there are no texts.
    StorageError
        The disk refuses.
    """
    encoder = work.plan.encoder
    if encoder is None:
        raise InputError("Shards of features have no texts to show", todo="Read the scores: shard-merge --json")
    # In the order of the shards, so that a run of all texts has the scores over all texts.
    samples = {
        source: sorted(sample_of(work, source, work.plan.run_texts), key=lambda text: (text.shard, text.row))
        for source in work.plan.sources
    }
    corpora = {source: _corpus(source, texts, _origin(work.plan.sides[source])) for source, texts in samples.items()}
    features = {source: _features(work, source, texts) for source, texts in samples.items()}
    origin = f"{written(encoder)}, from shards"
    config = CompareConfig(encoder=None, score=work.plan.score, projection=projection, features_from=origin)

    def attach(run: Run) -> None:
        RunStore().attach(run.id, ATTACHMENT, dataclass_to_json(found))
        RunStore().attach(run.id, CLUSTERS, dataclass_to_json(clusters))
        take_note(work, found, run.id)
        stored(run)

    return compare_and_store(name, corpora, config, features=features, progress=progress, stored=attach)


def stored_before(
    name: str, work: Work, found: ShardedComparison, clusters: ClustersOverAll, *, projection: bool
) -> Run | None:
    """The run that an earlier call of :func:`store_sample` has stored of the same, if it is still there."""
    notes = tuple[Note, ...]()
    with suppress(StorageError):  # damaged notes, which the next run replaces
        notes = notes_of(found)
    for note in notes:
        if note.folder != work.folder:
            continue
        with suppress(MauveLensError):  # a run that was deleted, or is damaged
            run = RunStore().load(note.run)
            kept, of = stored_clusters_over_all(run), stored_over_shards(run)
            same = kept is not None and of is not None and kept.digest() == clusters.digest()
            settings = (run.name, run.comparison.config.projection, of and (of.digest(), of.texts_missing))
            if same and settings == (name, projection, (found.digest(), found.texts_missing)):
                return run
    return None


def _origin(shards: Sequence[str]) -> str:
    """Where a sample is from: the number of shards, and the name of the first one's folder."""
    return f"a sample of {plural(len(shards), 'shard')} in {PurePosixPath(name_of(shards[0])).parent.name}"


def _corpus(source: str, texts: Sequence[SampledText], origin: str) -> Corpus:
    prompts = [text.prompt for text in texts]
    corpus = corpus_from_texts(
        [text.text for text in texts],
        name=source,
        ids=_distinct([text.id for text in texts]),
        prompts=None if None in prompts else prompts,
        origin=origin,
    )
    return replace(corpus, numbered=all(text.id == id_of_text(text.text) for text in texts))


def _distinct(ids: Sequence[str]) -> list[str]:
    """Number ids that repeat: equal texts without an id of their own have equal ones."""
    seen: dict[str, int] = {}
    found = []
    for identifier in ids:
        seen[identifier] = seen.get(identifier, 0) + 1
        found.append(identifier if seen[identifier] == 1 else f"{identifier}-{seen[identifier]}")
    return found


def _features(work: Work, source: str, texts: Sequence[SampledText]) -> NDArray[np.float32]:
    """(n, d) features of the texts, from the shards that hold them."""
    shards = np.array([text.shard for text in texts])
    rows = np.array([text.row for text in texts])
    parts: dict[int, NDArray[np.float32]] = {}
    for index in np.unique(shards).tolist():
        with feature_rows(work, source, index) as table:
            parts[index] = table.take(rows[shards == index])
    found = np.empty((len(texts), next(iter(parts.values())).shape[1]), dtype=np.float32)
    for index, part in parts.items():
        found[shards == index] = part
    return found
