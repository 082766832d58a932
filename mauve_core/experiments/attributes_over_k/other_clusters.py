"""Clusters learned on another corpus: k-means on its texts, and the run's texts in the clusters nearest to them.

ICLR 2023, section 6.1 and figure 3, predict an attribute twice: from clusters of the analyzed texts themselves, which
show what clusters could capture, and from clusters of other texts, as scores use them. Principal components and
centers come from the other texts alone, under the run's own settings; each of the run's texts belongs to the center
nearest to it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, PartitionKind, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import verb
from mauve_core.base.progress import Progress, counted, silent
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.reduction import reduce_features
from mauve_core.encoders.encoder import encode
from mauve_core.encoders.features import FeatureStore
from mauve_core.experiments.robustness.frozen import FrozenClusters
from mauve_core.runs import Run
from mauve_core.runs.features import stored_features
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.scoring.result import Partition
from mauve_core.scoring.streams import stream
from mauve_core.texts import Corpus
from mauve_core.texts.normalizing import normalize
from mauve_core.texts.normalizing_steps import titles_of_steps

# Progress stage; counts clusterings.
STAGE = "Clustering the other side"


@dataclass(frozen=True, eq=False)
class OtherTexts:
    """Texts on which clusters are learned.

    Attributes
    ----------
    title : str
        Where they come from: a run's id or a file's name.
    corpus : Corpus
    features : (n, d) array
        Made by the encoder of the run whose texts are assigned.
    """

    title: str
    corpus: Corpus
    features: NDArray[np.floating]


def texts_of_run(run: Run, other: Run, feature_store: FeatureStore | None = None) -> OtherTexts:
    """The human texts of another run, with the features that it was scored with.

    Raises
    ------
    InputError
        Encoder, maximum length or normalization differ from the run's, features were given to one of the two, those of
        the other run were not kept, or its human texts are the run's own.
    """
    for each in (run, other):
        if each.comparison.config.encoder is None:
            raise _given(each)
    differing = _differences(run, other)
    if differing:
        raise InputError(
            f"Clusters of run {other.id} cannot hold the texts of run {run.id}: their features differ",
            allowed="the same encoder, maximum length and normalization",
            received="; ".join(differing),
            todo="Compare the other texts again with the settings of this run, or give them as a file",
        )
    corpus = other.corpora[HUMAN]
    if corpus.digest == run.corpora[HUMAN].digest:
        raise InputError(
            f"The human texts of run {other.id} are those of run {run.id}", allowed="a run with other human texts"
        )
    return OtherTexts(other.id, corpus, stored_features(other, feature_store)[HUMAN])


def encoded_texts(
    run: Run,
    corpus: Corpus,
    title: str,
    *,
    feature_store: FeatureStore | None = None,
    device: str = "auto",
    progress: Progress = silent,
) -> OtherTexts:
    """Texts of a file, normalized as the run's and encoded by its encoder.

    Parameters
    ----------
    feature_store : FeatureStore, optional
        Default the user's own.
    device : str
        See :func:`mauve_core.encoders.encode`.
    progress : callable
        May raise CancelledError.

    Raises
    ------
    InputError
        The run was made from given features, the texts lack prompts that its encoder reads, or nothing of them is left.
    ModelUnavailableError, StorageError, CancelledError
        As raised by ``encode``.
    """
    encoder = run.comparison.config.encoder
    if encoder is None:
        raise _given(run)
    steps = run.comparison.normalization
    if steps:
        corpus = normalize({HUMAN: corpus}, steps, progress)[HUMAN]
    store = FeatureStore() if feature_store is None else feature_store
    found = encode(corpus.encoder_inputs(encoder.with_prompt), encoder, store=store, device=device, progress=progress)
    return OtherTexts(title, corpus, found.array)


def partitions_of_others(
    run: Run,
    other: OtherTexts,
    ks: Sequence[int],
    sources: Sequence[str],
    kind: PartitionKind,
    *,
    feature_store: FeatureStore | None = None,
    progress: Progress = silent,
) -> tuple[list[Partition], list[str]]:
    """Put the run's texts into clusters of other texts.

    Parameters
    ----------
    ks : sequence of int
    sources : sequence of str
        Sources of the run whose texts are assigned.
    kind : {"joint", "pairwise"}
        Written into the partitions.

    Returns
    -------
    list of Partition
        By ascending k, then seed; ``objective`` is that of the other texts.
    list of str
        Notes: ks with fewer different texts than clusters, and texts that both corpora have.

    Raises
    ------
    InputError
        There are too few texts, no k is left, or features of the run were not kept.
    """
    score = run.comparison.config.score
    if len(other.corpus) < MIN_TEXTS:
        received = f"{len(other.corpus)} of {other.title}"
        raise InputError("Too few texts to learn clusters on", allowed=f"at least {MIN_TEXTS}", received=received)
    features = stored_features(run, feature_store)
    width = features[HUMAN].shape[1]
    if other.features.shape[1] != width:
        received = f"{other.features.shape[1]} and {width} columns"
        raise InputError("The features of the two corpora do not fit together", received=received)
    notes = _overlap(run, other, sources)
    reduced = reduce_features(other.features, explained_variance=score.explained_variance, unit_rows=score.unit_rows)
    seeds = stream(score.seed, "attributes").spawn(score.seeds)
    advance = counted(progress, STAGE, len(ks) * score.seeds)
    found: list[Partition] = []
    for k in sorted(ks):
        settings, parts = replace(score, k=k), list[Partition]()
        try:
            for index, seed in enumerate(seeds):
                clusters, objective = _learned(reduced.array, settings, seed)
                frozen = FrozenClusters(reduced.projection, clusters, kept_share=1.0)
                labels = {name: frozen.nearest(features[name]) for name in sources}
                parts.append(Partition(kind=kind, seed=index, k=k, objective=objective, labels=labels))
                advance()
        except InputError as error:
            notes.append(f"k = {k} is left out for clusters of {other.title}: {error}")
        else:
            found += parts
    if not found:
        raise InputError(f"The texts of {other.title} could not be clustered", received="; ".join(notes))
    return found, notes


def _learned(
    rows: NDArray[np.float32], score: ScoreConfig, seed: np.random.SeedSequence
) -> tuple[NDArray[np.float64], float]:
    """(k, c) centers of the rows, and the objective."""
    if score.k is None:
        raise InputError("No number of clusters is given")
    found = kmeans(rows, score.k, restarts=score.restarts, max_iterations=score.max_iterations, seed=seed)
    return found.centers, found.objective


def _differences(run: Run, other: Run) -> list[str]:
    first, second = run.comparison.config.encoder, other.comparison.config.encoder
    if first is None or second is None:
        return []
    fields = ((item.name, getattr(first, item.name), getattr(second, item.name)) for item in dataclasses.fields(first))
    found = [f"{name} {_written(one)} and {_written(two)}" for name, one, two in fields if one != two]
    steps = [titles_of_steps(each.comparison.normalization) or "none" for each in (run, other)]
    return found + ([f"normalization {steps[0]} and {steps[1]}"] if steps[0] != steps[1] else [])


def _written(value: object) -> str:
    return "default" if value is None else str(value)


def _given(run: Run) -> InputError:
    return InputError(
        f"Run {run.id} was made from given features, so no other texts have features of the same encoder",
        allowed="runs with an encoder",
    )


def _overlap(run: Run, other: OtherTexts, sources: Sequence[str]) -> list[str]:
    own = {text for name in sources for text in run.corpora[name].texts}
    shared = sum(text in own for text in other.corpus.texts)
    if not shared:
        return []
    are = verb(shared, "is", "are")
    return [f"{shared:,} of the {len(other.corpus):,} texts of {other.title} {are} among the texts looked at."]
