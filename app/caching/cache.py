"""Thin caches over the core, so that a rerun of a page costs milliseconds.

All sessions share the cached values; views must not change them. Streamlit shows no spinner for cached calls inside
another cached function, so the outer one has the message. It appears after half a second.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from app.caching.bounded import kept
from app.caching.by_run import kept_by_run
from app.server import access
from mauve_core.analysis import cluster_table, gap_table, why
from mauve_core.analysis.precomputed import (
    run_basis,
    run_cluster_words,
    run_preflight,
    run_properties,
    run_repartition,
    run_sampling_advice,
    run_stability,
    run_words,
)
from mauve_core.analysis.preflight import Preflight
from mauve_core.analysis.selection import Stack
from mauve_core.analysis.what_if import Prepared, WhatIf, prepare, what_if
from mauve_core.analysis.why import WhyCard, WhySource, why_source
from mauve_core.analysis.words import DistinctiveWord, WordCounts, joined
from mauve_core.base.config import HUMAN, EncoderConfig, PartitionKind, Smoothing
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.experiments.perturbations import parse_perturbation, perturb
from mauve_core.experiments.robustness.text_space import Encoded, SharedEncoder, TextSpace
from mauve_core.figures import frontier
from mauve_core.figures.frontier import ErrorCurve
from mauve_core.numerics.divergences.greedy import greedy
from mauve_core.numerics.resampling.sampling_clusters import ClusterAdvice
from mauve_core.numerics.resampling.sampling_texts import TextAdvice
from mauve_core.numerics.resampling.stability import Stability
from mauve_core.scoring import estimates
from mauve_core.scoring.estimates import ScoreBasis
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.store import Run, RunStore, RunSummary
from mauve_core.store.about import ABOUT
from mauve_core.store.features import stored_features

DEMO = "demo"
"""Prefix of the id of the run that opens if the URL names none."""


def run_summaries() -> list[RunSummary]:
    """Every stored run that visitors may see, newest first.

    The index is read again when a run's comparison, description or attached results change. Precomputed data changes
    only the run's size on disk, so that size may be out of date here.
    """
    shown, store = access.shown_runs(), RunStore()
    found = _summaries(str(store.root), tuple(sorted(store.fingerprints().items())))
    return [summary for summary in found if shown is None or summary.id in shown]


@st.cache_resource(max_entries=1, show_spinner=False)
def _summaries(root: str, fingerprints: tuple[tuple[str, str], ...]) -> Sequence[RunSummary]:  # noqa: ARG001 (the cache's key)
    return RunStore().list()


def opened_run_id(wanted: str | None) -> str | None:
    """The run that the URL names, even if it does not exist, else :func:`usual_run_id`."""
    return usual_run_id(run_summaries()) if wanted is None else wanted


def usual_run_id(summaries: Sequence[RunSummary]) -> str | None:
    """The run to show if none is named: the demo, else the newest."""
    ids = [summary.id for summary in summaries]
    demos = [run_id for run_id in ids if run_id.startswith(DEMO)]
    return next(iter(demos or ids), None)


def load_run(run_id: str) -> Run:
    """Load a stored run.

    Raises
    ------
    InputError, StorageError
        The run does not exist, or its files are damaged.
    """
    access.require_shown(run_id)
    return _load_run(run_id, _described(run_id))


@kept_by_run(max_entries=4, show_spinner="Opening the run")
def _load_run(run_id: str, described: tuple[int, int]) -> Run:  # noqa: ARG001 (part of the cache's key: a run may be renamed)
    return RunStore().load(run_id)


def _described(run_id: str) -> tuple[int, int]:
    """Modification time and inode of the file with the run's name, tags and notes; zeros if it was never written."""
    try:
        status = (RunStore().root / run_id / ABOUT).stat()
    except (OSError, ValueError):
        return 0, 0
    return status.st_mtime_ns, status.st_ino


@kept_by_run(max_entries=8, show_spinner=False)
def _score_basis(run_id: str, kind: PartitionKind, smoothing: Smoothing) -> dict[str, ScoreBasis]:
    return run_basis(load_run(run_id), kind, smoothing)


@kept_by_run(max_entries=64, show_spinner="Resampling")
def rescored(run_id: str, kind: PartitionKind, scale: float | None, smoothing: Smoothing) -> Comparison:
    """The run's comparison with one partition rescored; the run's own settings (scale None) keep the stored scores."""
    comparison = load_run(run_id).comparison
    own = comparison.config.score.scale
    if (scale is None or scale == own) and smoothing == "none":
        return comparison
    return estimates.rescored(comparison, kind, _score_basis(run_id, kind, smoothing), own if scale is None else scale)


@kept_by_run(max_entries=16, show_spinner="Checking the format")
def preflight_of(run_id: str) -> Preflight:
    """As ``mauve_core.analysis.precomputed.run_preflight``."""
    return run_preflight(load_run(run_id))


@kept_by_run(max_entries=16, show_spinner=False)
def error_curves(run_id: str, kind: PartitionKind, smoothing: Smoothing) -> list[ErrorCurve]:
    """Both errors of every candidate as functions of the mixture weight, for each seed."""
    return frontier.error_curves(load_run(run_id).comparison, kind, smoothing)


@kept_by_run(max_entries=32, show_spinner="Measuring errors")
def sampling_advice(run_id: str, candidate: str) -> tuple[TextAdvice, ClusterAdvice]:
    """As ``mauve_core.analysis.precomputed.run_sampling_advice``."""
    return run_sampling_advice(load_run(run_id), candidate)


# The gap

GREEDY_STEPS = 10
"""Number of clusters in the list of those that make most of the gap."""


@kept_by_run(max_entries=32, show_spinner="Clustering with other values of k")
def cluster_stability(run_id: str, kind: PartitionKind, candidate: str, seed: int) -> Stability:
    """As ``mauve_core.analysis.precomputed.run_stability``."""
    return run_stability(load_run(run_id), kind, candidate, seed)


def other_clusterings(run_id: str, kind: PartitionKind, candidate: str) -> tuple[tuple[Partition, ...], str]:
    """The run's partitions into fewer and more clusters; if there are none, an empty tuple and the reason."""
    first = load_run(run_id).comparison.candidates[0].name
    return _other_clusterings(run_id, kind, candidate if kind == "pairwise" else first)


@kept_by_run(max_entries=16, show_spinner=False)
def _other_clusterings(run_id: str, kind: PartitionKind, candidate: str) -> tuple[tuple[Partition, ...], str]:
    try:
        return run_repartition(load_run(run_id), candidate, kind), ""
    except MauveLensError as error:
        return (), str(error)


@kept_by_run(max_entries=4, show_spinner="Resampling")
def _prepared(run_id: str, kind: PartitionKind, candidate: str, smoothing: Smoothing) -> Prepared:
    """Uses the run's own scaling constant; callers may replace it."""
    basis = _score_basis(run_id, kind, smoothing)[candidate]
    return prepare(load_run(run_id).comparison, candidate, kind, smoothing, basis)


@kept_by_run(max_entries=64, show_spinner="Scoring")
def what_if_scores(
    run_id: str,
    kind: PartitionKind,
    candidate: str,
    smoothing: Smoothing,
    scale: float,
    human: NDArray[np.float64] | None,
    model: NDArray[np.float64] | None,
) -> WhatIf:
    """The candidate's scores before and after weighting texts, under every seed.

    Raises
    ------
    InputError
        As ``mauve_core.analysis.what_if.what_if``, or the smoothing needs whole counts and the weights are not whole.
    """
    prepared = dataclasses.replace(_prepared(run_id, kind, candidate, smoothing), scale=scale)
    return what_if(prepared, human=human, model=model)


@kept_by_run(max_entries=64, show_spinner=False)
def greedy_list(
    run_id: str,
    kind: PartitionKind,
    candidate: str,
    seed: int,
    action: str,
    score: str,
    scale: float,
    smoothing: Smoothing,
) -> pd.DataFrame:
    """``mauve_core.analysis.gap_table.step_rows`` for the clusters that close most of the gap."""
    comparison = load_run(run_id).comparison
    shown = comparison.partition(kind, candidate, seed)
    counts = shown.counts(HUMAN), shown.counts(candidate)
    settings = {"action": action, "score": score, "smoothing": smoothing}
    steps = greedy(*counts, **settings, steps=GREEDY_STEPS, scale=scale)
    partitions = [comparison.partition(kind, candidate, index) for index in range(comparison.config.score.seeds)]
    return gap_table.step_rows(steps, partitions, shown, candidate, **settings, scale=scale)


# Probes


@kept_by_run(max_entries=32, show_spinner="Perturbing texts")
def perturbed_texts(run_id: str, source: str, spec: str, ids: tuple[str, ...]) -> dict[str, str]:
    """Perturbed texts of a probe's flow, by id. Perturbing again gives the same texts.

    Raises
    ------
    InputError
        The source has no such texts, or a pattern takes too long.
    """
    run = load_run(run_id)
    texts = dict(zip(run.corpora[source].ids, run.corpora[source].texts, strict=True))
    if not texts.keys() >= set(ids):
        raise InputError("These probes were made from other texts", todo="Probe the run again")
    seed = run.comparison.config.score.seed
    done = perturb([texts[text_id] for text_id in ids], ids, parse_perturbation(spec), seed=seed)
    return dict(zip(ids, done.texts, strict=True))


@kept_by_run(max_entries=2, show_spinner=False)
def text_space(run_id: str) -> TextSpace:
    """The run's features with its first joint partition, for placing one more text.

    Raises
    ------
    InputError
        The run does not store its features.
    """
    run = load_run(run_id)
    features = stored_features(run)
    return TextSpace(features, run.comparison.joint[0], run.comparison.config.score)


@kept_by_run(max_entries=8, show_spinner=False)
def usual_distance(run_id: str) -> float:
    """As ``TextSpace.usual_distance``."""
    return text_space(run_id).usual_distance()


def shared_encoder(config: EncoderConfig) -> SharedEncoder:
    """The app's only encoder with this configuration; it loads its model with the first text."""
    return _shared_encoder(json.dumps(config.as_dict()))


@st.cache_resource(max_entries=1, show_spinner=False)
def _shared_encoder(config: str) -> SharedEncoder:
    return SharedEncoder(EncoderConfig.from_dict(json.loads(config)))


def encoded(config: EncoderConfig, text: str) -> Encoded:
    """Encode a text with the app's encoder; raises MauveLensError as :meth:`SharedEncoder.encode` does."""
    return _encoded(json.dumps(config.as_dict()), text)


@kept(max_entries=256, show_spinner=False)
def _encoded(config: str, text: str) -> Encoded:
    return _shared_encoder(config).encode(text)


# Words and map


@kept_by_run(max_entries=8, show_spinner=False)
def stack(run_id: str) -> Stack:
    """All texts of the run, in map order."""
    return Stack.of(load_run(run_id).comparison)


@kept_by_run(max_entries=64, show_spinner=False)
def error_intervals(
    run_id: str, kind: PartitionKind, candidate: str, seed: int, weight: float, smoothing: Smoothing
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Bootstrap intervals of every cluster's share of the two errors."""
    counts, resampled = _resampled_counts(run_id, kind, candidate, seed)
    return cluster_table.error_intervals(*counts, weight, smoothing, resampled=resampled)


_TwoSides = tuple[NDArray[np.int64], NDArray[np.int64]]


@kept_by_run(max_entries=8, show_spinner=False)
def _resampled_counts(run_id: str, kind: PartitionKind, candidate: str, seed: int) -> tuple[_TwoSides, _TwoSides]:
    partition = load_run(run_id).comparison.partition(kind, candidate, seed)
    counts = partition.counts(HUMAN), partition.counts(candidate)
    return counts, cluster_table.resampled_counts(*counts)


@kept_by_run(max_entries=4, show_spinner=False)
def _why_source(run_id: str, kind: PartitionKind, candidate: str, seed: int) -> WhySource:
    run = load_run(run_id)
    stored = run.features(HUMAN), run.features(candidate)
    features = None if stored[0] is None or stored[1] is None else (stored[0], stored[1])
    partition = run.comparison.partition(kind, candidate, seed)
    properties = run_properties(run, HUMAN), run_properties(run, candidate)
    return why_source(partition, run.corpora[HUMAN], run.corpora[candidate], candidate, features, properties)


@kept_by_run(max_entries=256, show_spinner="Reading the texts")
def why_card(run_id: str, kind: PartitionKind, candidate: str, seed: int, cluster: int) -> WhyCard:
    """The explanation card of one cluster."""
    return why.why_card(_why_source(run_id, kind, candidate, seed), cluster)


@kept_by_run(max_entries=8, show_spinner=False)
def word_counts(run_id: str, candidate: str) -> WordCounts:
    """Word counts of the human texts, followed by the candidate's."""
    return joined(*(_words(run_id, source) for source in (HUMAN, candidate)))


@kept_by_run(max_entries=8, show_spinner=False)
def _words(run_id: str, source: str) -> WordCounts:
    return run_words(load_run(run_id), source)


@kept_by_run(max_entries=64, show_spinner="Counting words")
def cluster_words(run_id: str, kind: PartitionKind, candidate: str, seed: int) -> list[tuple[DistinctiveWord, ...]]:
    """For each cluster, words that distinguish its human and its candidate texts from those of other clusters."""
    return run_cluster_words(load_run(run_id), kind, candidate, seed)


@kept_by_run(max_entries=16, show_spinner=False)
def leading_words(run_id: str, kind: PartitionKind, candidate: str, seed: int, most: int) -> dict[int, str]:
    """The first ``most`` of the ``cluster_words`` in one line, for every cluster that has any."""
    found = cluster_words(run_id, kind, candidate, seed)
    return {cluster: ", ".join(word.word for word in words[:most]) for cluster, words in enumerate(found) if words}


@kept_by_run(max_entries=512, show_spinner=False)
def contrasting_words(
    run_id: str, kind: PartitionKind, candidate: str, seed: int, cluster: int
) -> tuple[tuple[DistinctiveWord, ...], tuple[DistinctiveWord, ...]]:
    """Within one cluster, words typical of the human texts and words typical of the candidate's."""
    labels = load_run(run_id).comparison.partition(kind, candidate, seed).labels
    human = np.flatnonzero(labels[HUMAN] == cluster)
    model = labels[HUMAN].size + np.flatnonzero(labels[candidate] == cluster)
    return word_counts(run_id, candidate).contrast(human, model, top=12)
