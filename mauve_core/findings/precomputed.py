"""Precomputed results of a run, kept beside it: scores, words, stability, errors.

Each file below ``derived`` in the run's folder holds one item as plain arrays, without pickle. The results depend only
on the run, so the files may be deleted at any time. An item that is missing, damaged, of another format, run or item
(each file names its own) is computed again and stored. If the folder is not writable, everything is computed each
time.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from mauve_core.base.archives import load_arrays
from mauve_core.base.config import HUMAN, PartitionKind, Smoothing
from mauve_core.base.errors import MauveLensError, StorageError
from mauve_core.base.files import write_atomically
from mauve_core.base.json_codec import dataclass_to_json, from_json
from mauve_core.base.progress import Progress, silent
from mauve_core.findings.clusters import (
    DRAWS,
    GapTest,
    assess_stability,
    costed_table,
    exchange_rate,
    gap_test,
    repartition,
)
from mauve_core.findings.distinctive_words import DistinctiveWord, WordCounts, item_words, joined
from mauve_core.findings.format_checks import Preflight, preflight
from mauve_core.findings.why_cards import Reason, WhySource, cluster_names, main_reason, usual_tags, why_source
from mauve_core.runs import Run
from mauve_core.runs.placing import locked
from mauve_core.scoring.estimates import ScoreBasis, Spread, score_basis
from mauve_core.scoring.result import Partition
from mauve_core.stats.sampling_error import (
    ClusterAdvice,
    SamplingError,
    Slope,
    TextAdvice,
    merged,
    recommend_clusters,
    recommend_texts,
)
from mauve_core.stats.scores import SCORES
from mauve_core.stats.stability import Stability
from mauve_core.texts.kinds import kind_of

DERIVED = "derived"
# Version of the files; other versions are computed again.
FORMAT = 2

# Entry of a file that names its version, run and item.
ABOUT = "about"

# Smoothings whose score bases are kept; about 2 MB per candidate, partition and smoothing.
KEPT_SMOOTHINGS: tuple[Smoothing, ...] = ("none", "krichevsky-trofimov", "laplace")

# A mixture weight, which costs do not depend on.
ANY_WEIGHT = 0.5

# Cells of drawn histograms at each number of texts or clusters: a third of a second in all for a thousand texts.
SAMPLED_CELLS = 100_000

# Progress stage.
READING = "Preparing the pages"

_STABILITY_ARRAYS = [each.name for each in dataclasses.fields(Stability) if each.name not in ("permutations", "notes")]
_KINDS: tuple[PartitionKind, ...] = ("pairwise", "joint")
_Arrays = dict[str, NDArray[Any]]


def derive(run: Run, progress: Progress = silent) -> None:
    """Precompute what a page needs first, for a run that was just made; existing results stay.

    Words and cluster stability are those of the clusters that pages show by default, each candidate's pairwise
    partition under its median seed, and score bases those without smoothing; others are kept on first request.
    """
    sources = [source.name for source in run.comparison.sources]
    first = [(name, run.comparison.median_seed(name)) for name in sources if name != HUMAN]
    steps: list[Callable[[], object]] = [
        lambda: run_preflight(run),
        *(lambda kind=kind: run_basis(run, kind, "none") for kind in _KINDS),
        *(lambda name=name: _if_any(run_words, run, name) for name in sources),
        *(lambda name=name: _if_any(run_properties, run, name) for name in sources),
        *(lambda name=name, seed=seed: _if_any(run_cluster_words, run, "pairwise", name, seed) for name, seed in first),
        *(lambda name=name, seed=seed: _if_any(run_cluster_names, run, "pairwise", name, seed) for name, seed in first),
        *(lambda name=name, seed=seed: _if_any(run_stability, run, "pairwise", name, seed) for name, seed in first),
        *(lambda name=name: run_gap_test(run, "pairwise", name) for name, _ in first),
        *(lambda name=name: run_exchange_rate(run, "pairwise", name) for name, _ in first),
        *(lambda name=name: run_main_reason(run, name) for name, _ in first),
        *(lambda name=name: _if_any(run_sampling_advice, run, name) for name, _ in first),
    ]
    for done, step in enumerate(steps):
        progress(READING, done, len(steps))
        step()
    progress(READING, len(steps), len(steps))


def run_basis(run: Run, kind: PartitionKind, smoothing: Smoothing) -> dict[str, ScoreBasis]:
    """As ``mauve_core.scoring.estimates.score_basis``; kept for ``KEPT_SMOOTHINGS``."""
    if smoothing not in KEPT_SMOOTHINGS:
        return score_basis(run.comparison, kind, smoothing)
    names = [candidate.name for candidate in run.comparison.candidates]
    names += [HUMAN] if kind == "pairwise" and run.comparison.halves is not None else []

    def make() -> _Arrays:
        found = score_basis(run.comparison, kind, smoothing)
        return {
            f"{index}-{part}": array
            for index, name in enumerate(names)
            for part, array in _arrays_of_basis(found[name]).items()
        }

    arrays = cached(run, f"basis-{kind}-{smoothing}", make, *SCORES)
    repeats = {candidate.name: candidate.source.generations for candidate in run.comparison.candidates}
    return {name: _basis(arrays, index, repeats.get(name, 1)) for index, name in enumerate(names)}


def run_preflight(run: Run) -> Preflight:
    """As ``mauve_core.findings.format_checks.preflight`` of the run's texts."""

    def make() -> _Arrays:
        return {"json": np.array(json.dumps(dataclass_to_json(preflight(run.corpora, comparison=run.comparison))))}

    return from_json(Preflight, json.loads(str(cached(run, "preflight-copied", make)["json"])))


def run_words(run: Run, source: str) -> WordCounts:
    """Words of one source's items, from ``mauve_core.findings.distinctive_words``."""

    def make() -> _Arrays:
        corpus = run.corpora[source]
        kind = kind_of(corpus.kind)
        everything = [each for other in run.corpora.values() for each in kind.described(other)]
        counts = item_words(kind, kind.described(corpus), everything)
        return {
            "vocabulary": np.array(counts.vocabulary.tolist(), dtype=np.str_),
            "data": counts.matrix.data,
            "indices": counts.matrix.indices,
            "indptr": counts.matrix.indptr,
        }

    arrays = cached(run, f"words-{run.index_of(source)}", make)
    shape = len(run.corpora[source]), arrays["vocabulary"].size
    matrix = csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    return WordCounts(arrays["vocabulary"].astype(object), matrix)


def run_cluster_words(run: Run, kind: PartitionKind, candidate: str, seed: int) -> list[tuple[DistinctiveWord, ...]]:
    """For each cluster, at most 12 words that tell its human and candidate texts from those of the other clusters."""
    names = [field.name for field in dataclasses.fields(DistinctiveWord)]

    def make() -> _Arrays:
        partition = run.comparison.partition(kind, candidate, seed)
        labels = np.concatenate([partition.labels[HUMAN], partition.labels[candidate]])
        words = joined(run_words(run, HUMAN), run_words(run, candidate))
        found = words.by_group(labels, partition.k, top=12, min_texts=2)
        if not run.comparison.has_words:
            sizes = np.bincount(labels, minlength=partition.k).tolist()
            found = [usual_tags(group, size) for group, size in zip(found, sizes, strict=True)]
        flat = [word for group in found for word in group]
        arrays: _Arrays = {name: np.array([getattr(word, name) for word in flat]) for name in names}
        return arrays | {"word": arrays["word"].astype(np.str_), "sizes": np.array([len(group) for group in found])}

    arrays = cached(run, f"cluster-words-{kind}-{run.index_of(candidate)}-{seed}", make)
    flat = [DistinctiveWord(*values) for values in zip(*(arrays[name].tolist() for name in names), strict=True)]
    ends = np.cumsum(arrays["sizes"]).tolist()
    return [tuple(flat[end - size : end]) for size, end in zip(arrays["sizes"].tolist(), ends, strict=True)]


def run_cluster_names(run: Run, kind: PartitionKind, candidate: str, seed: int) -> tuple[str, ...]:
    """As ``mauve_core.findings.why_cards.cluster_names``, of the texts of all sides of the partition."""

    def make() -> _Arrays:
        partition = run.comparison.partition(kind, candidate, seed)
        sources = list(partition.labels)
        words = functools.reduce(joined, (run_words(run, source) for source in sources))
        each = [run_properties(run, source) for source in sources]
        properties = {name: np.concatenate([values[name] for values in each]) for name in each[0]}
        labels = np.concatenate([partition.labels[source] for source in sources])
        return {
            "names": np.array(
                cluster_names(words, properties, labels, partition.k, tags=not run.comparison.has_words), dtype=np.str_
            )
        }

    which = kind if kind == "joint" else f"{kind}-{run.index_of(candidate)}"
    return tuple(cached(run, f"cluster-names-{which}-{seed}", make)["names"].tolist())


def run_properties(run: Run, source: str) -> dict[str, NDArray[np.float64]]:
    """Properties of one source's items, as their kind measures them."""
    corpus = run.corpora[source]
    kind = kind_of(corpus.kind)
    arrays = cached(run, f"properties-{run.index_of(source)}", lambda: kind.measure(corpus))
    return {name: arrays[name] for name in kind.properties}


def run_repartition(run: Run, candidate: str, kind: PartitionKind) -> tuple[Partition, ...]:
    """As ``mauve_core.findings.clusters.repartition``, errors included; all candidates share joint partitions."""
    own = run.comparison.partition(kind, candidate, 0)

    def make() -> _Arrays:
        arrays: _Arrays = {}
        for index, part in enumerate(repartition(run, candidate, kind)):
            arrays[f"{index}-about"] = np.array([part.k, part.objective])
            arrays |= {f"{index}-labels-{run.index_of(name)}": labels for name, labels in part.labels.items()}
        return arrays

    which = kind if kind == "joint" else f"{kind}-{run.index_of(candidate)}"
    arrays = cached(run, f"other-partitions-{which}", make)
    found = []
    for index in range(sum(name.endswith("-about") for name in arrays)):
        k, objective = arrays[f"{index}-about"].tolist()
        labels = {name: arrays[f"{index}-labels-{run.index_of(name)}"] for name in own.labels}
        found.append(Partition(kind, 0, int(k), objective, labels))
    return tuple(found)


def run_stability(run: Run, kind: PartitionKind, candidate: str, seed: int) -> Stability:
    """Find the clusters that differ beyond chance, and also do so in other seeds' partitions and under other k.

    Without features, there are no partitions of other k, and stability depends on the other seeds alone.

    Raises
    ------
    InputError
        As ``mauve_core.findings.clusters.assess_stability``.
    """

    others: tuple[Partition, ...] = ()
    with suppress(MauveLensError):  # a direct request reports why there are none
        others = run_repartition(run, candidate, kind)

    def make() -> _Arrays:
        found = assess_stability(run.comparison, candidate, kind, seed, others=others)
        arrays: _Arrays = {name: getattr(found, name) for name in _STABILITY_ARRAYS}
        return arrays | {"permutations": np.array(found.permutations), "notes": np.array(found.notes, dtype=np.str_)}

    # The number of partitions is in the name: a result without those of other k must not replace one with them.
    arrays = cached(run, f"trust-{kind}-{run.index_of(candidate)}-{seed}-{len(others)}", make)
    return Stability(
        **{name: arrays[name] for name in _STABILITY_ARRAYS},
        permutations=int(arrays["permutations"]),
        notes=tuple(arrays["notes"].tolist()),
    )


def run_gap_test(run: Run, kind: PartitionKind, candidate: str) -> GapTest:
    """As ``mauve_core.findings.clusters.gap_test``."""

    def make() -> _Arrays:
        return {
            name: np.array(each) for name, each in dataclasses.asdict(gap_test(run.comparison, kind, candidate)).items()
        }

    arrays = cached(run, f"gap-test-{kind}-{run.index_of(candidate)}-{DRAWS}", make)
    return GapTest(**{field.name: arrays[field.name].item() for field in dataclasses.fields(GapTest)})


def run_exchange_rate(run: Run, kind: PartitionKind, candidate: str) -> float:
    """As ``mauve_core.findings.clusters.exchange_rate``."""

    def make() -> _Arrays:
        return {"rate": np.array(exchange_rate(run.comparison, kind, candidate))}

    return float(cached(run, f"exchange-rate-{kind}-{run.index_of(candidate)}", make)["rate"])


def run_why_source(run: Run, kind: PartitionKind, candidate: str, seed: int) -> WhySource:
    """As ``mauve_core.findings.why_cards.why_source``, of the stored texts, features and properties."""
    stored = run.features(HUMAN), run.features(candidate)
    features = None if stored[0] is None or stored[1] is None else (stored[0], stored[1])
    partition = run.comparison.partition(kind, candidate, seed)
    properties = run_properties(run, HUMAN), run_properties(run, candidate)
    return why_source(partition, run.corpora[HUMAN], run.corpora[candidate], candidate, features, properties)


def run_main_reason(run: Run, candidate: str) -> Reason | None:
    """As ``mauve_core.findings.why_cards.main_reason``; None as well where the gap test shows no gap."""

    seed = run.comparison.median_seed(candidate)

    def make() -> _Arrays:
        found = _main_reason(run, candidate, seed) if run_gap_test(run, "pairwise", candidate).explains else None
        return {"json": np.array(json.dumps(None if found is None else dataclass_to_json(found)))}

    found = json.loads(str(cached(run, f"main-reason-{run.index_of(candidate)}-{seed}", make)["json"]))
    return None if found is None else from_json(Reason, found)


def _main_reason(run: Run, candidate: str, seed: int) -> Reason | None:
    partition = run.comparison.partition("pairwise", candidate, seed)
    rate = run_exchange_rate(run, "pairwise", candidate)
    table = costed_table(run.comparison, "pairwise", candidate, seed, ANY_WEIGHT, rate=rate)
    properties = run_properties(run, HUMAN), run_properties(run, candidate)
    source = why_source(partition, run.corpora[HUMAN], run.corpora[candidate], candidate, properties=properties)
    labels = words = None
    with suppress(MauveLensError):  # a direct request reports why there is none
        labels = run_stability(run, "pairwise", candidate, seed).label.tolist()
    with suppress(MauveLensError):
        found = run_cluster_words(run, "pairwise", candidate, seed)
        words = [[each.word for each in group] for group in found]
    return main_reason(table, source, labels, words)


def run_sampling_advice(run: Run, candidate: str) -> tuple[TextAdvice, ClusterAdvice]:
    """Advise how many texts and clusters to use, from the pairwise partition under the candidate's median seed.

    Fewer clusters than the run's are its own, merged; their number is halved down to two.

    Raises
    ------
    InputError
        As ``recommend_texts`` and ``recommend_clusters``.
    """

    own = run.comparison.median_seed(candidate)

    def make() -> _Arrays:
        partition = run.comparison.partition("pairwise", candidate, own)
        p, q, k = partition.counts(HUMAN), partition.counts(candidate), partition.k
        draws, seed = min(max(SAMPLED_CELLS // k, 100), 1000), run.comparison.config.score.seed
        sizes = sorted({max(k // 2**power, min(k, 2)) for power in range(k.bit_length())})
        # The run's own k keeps the order of its clusters: the same draws then give both the same error.
        histograms = [(p, q) if size == k else merged(p, q, size) for size in sizes]
        clusters = recommend_clusters(histograms, replicates=draws, seed=seed)
        return _flat({"texts": recommend_texts(p, q, replicates=draws, seed=seed), "clusters": clusters})

    arrays = cached(run, f"sampling-{run.index_of(candidate)}-{own}", make)
    slope = _fields(arrays, "texts-slope", Slope)
    texts = {**_fields(arrays, "texts", TextAdvice), "slope": Slope(**slope) if slope else None}
    clusters = _fields(arrays, "clusters", ClusterAdvice)
    curves = [SamplingError(**_fields(arrays, f"{name}-curve", SamplingError)) for name in ("texts", "clusters")]
    for name in ("needed_n", "needed_m"):
        texts.setdefault(name, None)
    alike = tuple(clusters.pop("alike").tolist())
    return TextAdvice(**texts, curve=curves[0]), ClusterAdvice(**clusters, curve=curves[1], alike=alike)


def _flat(parts: Mapping[str, Any]) -> _Arrays:
    """Return the fields of dataclasses, nested ones included, as arrays; None is left out."""
    arrays: _Arrays = {}
    for name, value in parts.items():
        if dataclasses.is_dataclass(value):
            arrays |= _flat({f"{name}-{field.name}": getattr(value, field.name) for field in dataclasses.fields(value)})
        elif value is not None:
            arrays[name] = np.array(value)
    return arrays


def _fields(arrays: Mapping[str, NDArray[Any]], name: str, kind: type) -> dict[str, Any]:
    """Restore a dataclass' plain fields from :func:`_flat`; a single number or word becomes a scalar again."""
    found = {field.name: arrays.get(f"{name}-{field.name}") for field in dataclasses.fields(kind)}
    return {key: each if each.ndim else each.item() for key, each in found.items() if each is not None}


def _if_any(find: Callable[..., object], *about: Any) -> None:
    with suppress(MauveLensError):  # the page that needs it reports why there is none
        find(*about)


def cached(run: Run, name: str, make: Callable[[], Mapping[str, NDArray[Any]]], *of: str) -> _Arrays:
    """Return the arrays stored under that name, if they are ``of`` the same, or store and return those of ``make``."""
    path, about = run.path / DERIVED / f"{name}.npz", " ".join([f"{FORMAT} {run.digest} {name}", *of])
    try:
        arrays = load_arrays(path)
        if str(arrays[ABOUT]) == about:
            return arrays
    except (OSError, ValueError, TypeError, KeyError):
        pass  # missing, damaged or of another format: computed again
    arrays = dict(make())
    with suppress(StorageError), locked(run.path.parent):  # a full or read-only home can still be viewed
        if run.path.is_dir():  # and is not deleted as its folder is written to
            write_atomically(path, lambda stream: np.savez(stream, **{ABOUT: np.array(about)}, **arrays))  # type: ignore[arg-type]
    return arrays


def _arrays_of_basis(basis: ScoreBasis) -> _Arrays:
    arrays: _Arrays = {"rate": np.array(basis.rate)}
    for name, spread in basis.parts.items():
        arrays |= {f"{name}-own": spread.values, f"{name}-resampled": spread.resampled}
    return arrays


def _basis(arrays: Mapping[str, NDArray[Any]], index: int, generations: int) -> ScoreBasis:
    parts = {name: Spread(arrays[f"{index}-{name}-own"], arrays[f"{index}-{name}-resampled"]) for name in SCORES}
    return ScoreBasis(parts, generations, float(arrays[f"{index}-rate"]))
