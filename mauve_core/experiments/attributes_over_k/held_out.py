"""Cluster a run's texts at several k and measure what each clustering captures of them.

At the run's own k this uses the stored partitions. At any other k it clusters the stored features again, in the same
space and from the same random streams. k-means sees all texts but no columns; a column's values are guessed for
held-out texts (ICLR 2023, section 6.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mauve_core.analysis.attributes import Attribute, attributes, require_columns
from mauve_core.base.config import ALL_SIDES, ATTRIBUTE_SPLITS, HUMAN, PartitionKind, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.features import FeatureStore
from mauve_core.experiments.attributes_over_k.other_clusters import OtherTexts, partitions_of_others
from mauve_core.experiments.attributes_over_k.table import AttributeTable
from mauve_core.experiments.sweeps.request import Request
from mauve_core.runs import Run
from mauve_core.runs.features import stored_features
from mauve_core.scoring.partitioning import clustering_seeds, partition, reduced_together
from mauve_core.scoring.result import Partition
from mauve_core.scoring.sides import FEW_PER_CLUSTER
from mauve_core.scoring.streams import stream

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
        *map(run.comparison.words.said, (*_on_spread(n, ks_found, splits, score), *_on_explained(rows))),
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


def _on_spread(n: int, ks: Sequence[int], splits: int, score: ScoreConfig) -> list[str]:
    """What the spread covers, and when it is unreliable."""
    few = ", ".join(str(k) for k in ks if n < FEW_PER_CLUSTER * k)
    notes = ["Accuracy and R² are of held-out texts, half of the texts in each split."]
    if few:
        notes.append(f"At k = {few}, a cluster has fewer than {FEW_PER_CLUSTER} of these texts on average.")
    if score.seeds == 1:
        notes.append("With one seed, what is computed from all texts at once has no spread.")
    if score.seeds * splits == 1:
        notes.append("With one seed and one split, there is no spread at all.")
    return notes


def _on_explained(rows: Sequence[Attribute]) -> list[str]:
    worse = [row for row in rows if "r2" in row.scores and row.scores["r2"].mean < 0]
    if not worse:
        return []
    return ["R² is below 0 where the mean of a cluster's few texts is a worse guess than the mean of all texts."]


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
