"""What a run's clusters capture of metadata and simple text properties, for several numbers of clusters.

    attributes_run(run, columns=["topic"])
    attributes_run(run, others=texts_of_run(run, other_run))  # and what clusters learned on other texts capture

At the run's own k this uses the stored partitions. At any other k it clusters the stored features again, in the same
space and from the same random streams. k-means sees all texts but no columns; a column's values are guessed for
held-out texts (ICLR 2023, section 6.1). The paper predicts an attribute twice (figure 3): from clusters of the
analyzed texts, which show what clusters could capture, and from clusters of other texts, as scores use them. For
these, principal components and centers come from the other texts alone, and each text belongs to the center nearest to
it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mauve_core.analyses.cluster_attributes import Attribute, attributes, require_columns
from mauve_core.analyses.frozen_clusters import FrozenClusters
from mauve_core.analyses.sweeps import Request
from mauve_core.analyses.tasks import RunTask, Splits
from mauve_core.base.config import ALL_SIDES, ATTRIBUTE_SPLITS, HUMAN, PartitionKind, ScoreConfig
from mauve_core.base.config import ATTRIBUTE_SPLITS as SPLITS
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import verb
from mauve_core.base.json_codec import As, NotBlank, Settings, Within, from_json
from mauve_core.base.progress import Progress, counted, silent
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.reduction import reduce_features
from mauve_core.encoders.encoder import encode
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import Run, RunStore
from mauve_core.runs.features import stored_features
from mauve_core.scoring.partitioning import MIN_TEXTS, clustering_seeds, partition, reduced_together
from mauve_core.scoring.result import Partition
from mauve_core.scoring.sides import FEW_PER_CLUSTER
from mauve_core.scoring.streams import stream
from mauve_core.texts import Corpus
from mauve_core.texts.normalizing import normalize
from mauve_core.texts.normalizing_steps import titles_of_steps
from mauve_core.texts.text_files import TextFile

# Attachment name of the table.
ATTACHMENT = "attributes"

# Title of the run's own clusters beside those of other texts.
OWN = "this run"

# Column and kind; a metadata column can share a text property's name.
Line = tuple[str, str]


@dataclass(frozen=True)
class AttributeTable:
    """All columns at every number of clusters.

    Attributes
    ----------
    rows : tuple of Attribute
        Grouped by column, in ascending k.
    foreign : tuple of Attribute or None
        The same from clusters that were learned on other texts, if any.
    settings : mapping
        Inputs of the numbers, as plain JSON.
    notes : tuple of str
        Exclusions with reasons, and caveats.
    """

    rows: tuple[Attribute, ...]
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    foreign: tuple[Attribute, ...] | None = None

    @property
    def ks(self) -> tuple[int, ...]:
        """All numbers of clusters, ascending."""
        return tuple(sorted({row.k for row in self.rows}))

    @property
    def other_rows(self) -> tuple[Attribute, ...]:
        """The rows of ``foreign``; empty without any."""
        return self.foreign or ()

    @property
    def clusters_from(self) -> str:
        """Where the other texts come from; empty without any."""
        return str(self.settings.get("clusters_from", {}).get("title", ""))

    @property
    def lines(self) -> dict[Line, tuple[Attribute, ...]]:
        """Rows of each column in ascending k, in column order."""
        return _by_line(self.rows)

    @property
    def other_lines(self) -> dict[Line, tuple[Attribute, ...]]:
        """The same of ``other_rows``."""
        return _by_line(self.other_rows)


def _by_line(rows: Iterable[Attribute]) -> dict[Line, tuple[Attribute, ...]]:
    found: dict[Line, list[Attribute]] = {}
    for row in rows:
        found.setdefault((row.column, row.kind), []).append(row)
    return {line: tuple(sorted(rows, key=lambda row: row.k)) for line, rows in found.items()}


def stored_attributes(run: Run) -> AttributeTable | None:
    """The run's stored table, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    return from_json(AttributeTable, values)


# Progress stage; counts clusterings.
LEARNING = "Clustering the other side"


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
    advance = counted(progress, LEARNING, len(ks) * score.seeds)
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
    return [
        f"{shared:,} of the {run.comparison.words.count(len(other.corpus))} of {other.title} {are} among those looked "
        "at."
    ]


# Default numbers of clusters, relative to the run's own.
FACTORS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)

# Progress stage; counts partitions.
STAGE = "Clustering"


@dataclass(frozen=True)
class _Clustering:
    """The partitions to use: joint, or those of one candidate."""

    run: Run
    candidate: str | None

    @property
    def kind(self) -> PartitionKind:
        return "joint" if self.candidate is None else "pairwise"

    @property
    def own(self) -> tuple[Partition, ...]:
        """The stored partitions, one per seed; InputError if the run lacks the candidate."""
        comparison = self.run.comparison
        return comparison.joint if self.candidate is None else comparison.candidate(self.candidate).partitions

    @property
    def sizes(self) -> dict[str, int]:
        """Number of texts of each clustered side, the human side first."""
        return {name: labels.size for name, labels in self.own[0].labels.items()}


def usual_ks(run: Run, candidate: str | None = None) -> tuple[int, ...]:
    """Default numbers of clusters: from an eighth to four times the run's own, as far as texts permit.

    All are at least 2 and, except for the run's own, at most half the texts of the smaller side.
    """
    clustering = _Clustering(run, candidate)
    own, most = clustering.own[0].k, min(clustering.sizes.values()) // 2
    return tuple(sorted({own, *(k for k in (round(own * factor) for factor in FACTORS) if 2 <= k <= most)}))


def attributes_run(
    run: Run,
    ks: Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
    *,
    source: str = HUMAN,
    candidate: str | None = None,
    splits: int = ATTRIBUTE_SPLITS,
    others: OtherTexts | None = None,
    feature_store: FeatureStore | None = None,
    progress: Progress = silent,
) -> AttributeTable:
    """Measure what a run's clusters capture of metadata and simple text properties, under the run's seeds.

    Parameters
    ----------
    ks : sequence of int, optional
        Numbers of clusters, from 2 to the number of texts of the smaller side; default :func:`usual_ks`.
    columns : sequence of str, optional
        Metadata columns; None takes all suitable ones.
    source : str
        Texts to use: ``human``, a candidate's, or ``all`` of the partition.
    candidate : str, optional
        Use this candidate's pairwise partitions; default the joint partitions.
    splits : int
        Number of random splits into one half for counting and one for guessing.
    others : OtherTexts, optional
        Judge clusters learned on these texts as well, at the same numbers of clusters and on the same splits.
    feature_store : FeatureStore, optional
        Default the user's own.
    progress : callable
        May raise CancelledError.

    Raises
    ------
    InputError
        Unknown source, candidate or column, a k out of range, or required features that were not kept.
    """
    clustering = _Clustering(run, candidate)
    looked_at = _sources(clustering, source)
    chosen = _checked(clustering, ks)
    corpora = {name: run.corpora[name] for name in looked_at}
    require_columns(corpora, columns)  # before the clustering, which may take minutes
    parts, notes = _partitions(clustering, chosen, required=ks is not None, store=feature_store, progress=progress)
    score = run.comparison.config.score
    table = attributes(
        parts, corpora, columns=columns, splits=splits, seed=stream(score.seed, "attributes"), progress=progress
    )
    n, ks_found = sum(map(len, corpora.values())), sorted({part.k for part in parts})
    settings = _settings(clustering, source, looked_at, splits)
    other_rows: tuple[Attribute, ...] = ()
    if others is not None:
        foreign, more = partitions_of_others(
            run, others, ks_found, looked_at, clustering.kind, feature_store=feature_store, progress=progress
        )
        other_rows = attributes(
            foreign, corpora, columns=columns, splits=splits, seed=stream(score.seed, "attributes"), progress=progress
        ).rows
        notes += more
        settings["clusters_from"] = {"title": others.title, "n": len(others.corpus), "digest": others.corpus.digest}
    rows = (*table.rows, *other_rows)
    notes += [
        *table.notes,
        *_on_spread(n, ks_found, splits, score, run.comparison.words.items),
        *_on_explained(rows, run.comparison.words.items),
    ]
    return AttributeTable(table.rows, settings, tuple(notes), other_rows or None)


def _sources(clustering: _Clustering, source: str) -> tuple[str, ...]:
    """The sides that ``source`` means; a candidate named ``all`` takes precedence."""
    names = tuple(clustering.sizes)
    if source in names:
        return (source,)
    if source == ALL_SIDES:
        return names
    raise InputError("No such texts in this partition", allowed=", ".join((*names, ALL_SIDES)), received=repr(source))


def _checked(clustering: _Clustering, ks: Sequence[int] | None) -> tuple[int, ...]:
    if ks is None:
        return usual_ks(clustering.run, clustering.candidate)
    most = min(clustering.sizes.values())
    wrong = [k for k in ks if isinstance(k, bool) or not isinstance(k, int) or not 2 <= k <= most]
    if wrong or not len(ks):
        received = ", ".join(map(repr, wrong)) if wrong else "none"
        raise InputError(
            "The numbers of clusters are not usable", allowed=f"whole numbers from 2 to {most}", received=received
        )
    return tuple(sorted(set(ks)))


def _partitions(
    clustering: _Clustering, ks: Sequence[int], *, required: bool, store: FeatureStore | None, progress: Progress
) -> tuple[list[Partition], list[str]]:
    """Partitions by ascending k, then seed, and notes; uses the run's own partitions at its own k."""
    own = clustering.own
    others = [k for k in ks if k != own[0].k]
    by_k: dict[int, list[Partition]] = {own[0].k: list(own)} if own[0].k in ks else {}
    notes = [f"The run's own k is {own[0].k}."]
    if not others:
        return [part for parts in by_k.values() for part in parts], notes
    request = Request(clustering.run, None, None, "cpu", FeatureStore() if store is None else store, progress)
    try:
        stored = stored_features(request.run, request.feature_store)
    except InputError as error:
        if required:
            raise
        return list(own), [*notes, f"Only at the run's own k: {error}"]
    score, sizes = request.score, clustering.sizes
    chosen = clustering_seeds(score)["joint" if clustering.candidate is None else "pairwise"]
    total = len(others) * score.seeds
    progress(STAGE, 0, total)
    reduced = reduced_together({name: stored[name] for name in sizes}, score)
    for step, k in enumerate(others):
        settings, parts = replace(score, k=k), list[Partition]()
        try:
            for index, seed in enumerate(chosen):
                parts.append(partition(clustering.kind, reduced, sizes, seed_index=index, seed=seed, score=settings))
                progress(STAGE, step * score.seeds + index + 1, total)
        except InputError as error:
            notes.append(f"k = {k} is left out: {error}")
        else:
            by_k[k] = parts
    if not by_k:
        raise InputError("The texts could not be clustered at any of these numbers", received=notes[-1])
    return [part for k in sorted(by_k) for part in by_k[k]], notes


def _on_spread(n: int, ks: Sequence[int], splits: int, score: ScoreConfig, items: str) -> list[str]:
    """What the spread covers, and when it is unreliable."""
    few = ", ".join(str(k) for k in ks if n < FEW_PER_CLUSTER * k)
    notes = [f"Accuracy and R² are of held-out {items}, half of the {items} in each split."]
    if few:
        notes.append(f"At k = {few}, a cluster has fewer than {FEW_PER_CLUSTER} of these {items} on average.")
    if score.seeds == 1:
        notes.append(f"With one seed, what is computed from all {items} at once has no spread.")
    if score.seeds * splits == 1:
        notes.append("With one seed and one split, there is no spread at all.")
    return notes


def _on_explained(rows: Sequence[Attribute], items: str) -> list[str]:
    worse = [row for row in rows if "r2" in row.scores and row.scores["r2"].mean < 0]
    if not worse:
        return []
    return [f"R² is below 0 where the mean of a cluster's few {items} is a worse guess than the mean of all {items}."]


def _settings(clustering: _Clustering, source: str, looked_at: Sequence[str], splits: int) -> dict[str, Any]:
    run, comparison = clustering.run, clustering.run.comparison
    return {
        "run": run.id,
        "created": run.created,
        "partition": clustering.kind,
        "candidate": clustering.candidate,
        "source": source,
        "texts": {name: len(run.corpora[name]) for name in looked_at},
        "own_k": clustering.own[0].k,
        "seeds": comparison.config.score.seeds,
        "splits": splits,
        "config": comparison.config.as_dict(),
        "sources": {item.name: {"n": item.n, "digest": item.digest} for item in comparison.sources},
    }


@dataclass(frozen=True)
class AttributesTask(RunTask):
    """What a stored run's clusters capture; the other fields are parameters of ``attributes_over_k.attributes_run``.

    Attributes
    ----------
    other_run : str or None
        Id of a stored run; its human texts give other clusters.
    other_file : TextFile or None
        The same of a file, whose texts are encoded as the run's are.
    device : str
        For encoding the file: ``auto``, ``cpu``, ``cuda`` ...
    """

    kind: ClassVar[str] = "attributes"
    titled: ClassVar[str] = "attributes of"

    columns: tuple[str, ...] | None = None
    ks: tuple[Annotated[int, Within(2)], ...] | None = None
    source: NotBlank = HUMAN
    candidate: NotBlank | None = None
    splits: Splits = SPLITS
    other_run: NotBlank | None = None
    other_file: TextFile | None = None
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.columns is not None and len(set(self.columns)) < len(self.columns):
            received = ", ".join(self.columns)
            raise InputError("The columns cannot be used", allowed="no duplicates", received=received)
        if self.ks == ():
            raise InputError("No number of clusters is given", allowed="one or more, or None for the default ones")
        if self.other_run is not None and self.other_file is not None:
            raise InputError("Other clusters come from one corpus", allowed="a run or a file, not both")
        if self.other_file is not None and self.other_file.features is not None:
            raise InputError("The texts of the other corpus are encoded as the run's are", allowed="no features")

    def compute(self, progress: Progress = silent) -> AttributeTable:
        """Judge the run's clusters and keep the table."""
        run = self.load()
        others = self._others(run, progress)
        table = attributes_run(
            run,
            self.ks,
            self.columns,
            source=self.source,
            candidate=self.candidate,
            splits=self.splits,
            others=others,
            progress=progress,
        )
        if others is not None and self.other_file is not None:
            table = replace(table, notes=(*(f"{others.title}: {note}" for note in others.corpus.notes), *table.notes))
        return self.keep(run, ATTACHMENT, table, progress)

    def _others(self, run: Run, progress: Progress) -> OtherTexts | None:
        if self.other_run is not None:
            return texts_of_run(run, RunStore().load(self.other_run))
        if self.other_file is None:
            return None
        path = Path(self.other_file.path)
        corpus = self.other_file.read(path.name)
        return encoded_texts(run, corpus, path.name, device=self.device, progress=progress)
