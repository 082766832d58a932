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

from mauve_app.bounded_cache import kept, kept_by_run
from mauve_app.server import access
from mauve_app.uploaded_files import bare, perturbed
from mauve_core.analyses import attached_results, gap
from mauve_core.analyses.attached_results import Finding as RunFinding
from mauve_core.analyses.diversity import RunDiversity, diversity_of_run
from mauve_core.analyses.frozen_clusters import Encoded, SharedEncoder, TextSpace
from mauve_core.analyses.gap import Prepared, WhatIf, prepare, what_if
from mauve_core.analyses.selection import Shown, Stack, TextSearch, found_texts
from mauve_core.base.config import HUMAN, EncoderConfig, PartitionKind, Smoothing
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.figures import frontier
from mauve_core.figures.frontier import ErrorCurve
from mauve_core.findings import clusters, why_cards
from mauve_core.findings.clusters import CostIntervals, GapTest
from mauve_core.findings.distinctive_words import DistinctiveWord, Phrase, WordCounts, distinctive_phrases, joined
from mauve_core.findings.finding import Finding, masks, run_findings
from mauve_core.findings.format_checks import Preflight
from mauve_core.findings.precomputed import (
    run_basis,
    run_cluster_names,
    run_cluster_words,
    run_exchange_rate,
    run_gap_test,
    run_main_reason,
    run_preflight,
    run_repartition,
    run_sampling_advice,
    run_stability,
    run_why_source,
    run_words,
)
from mauve_core.findings.verdicts import Verdict
from mauve_core.findings.why_cards import Reason, WhyCard, WhySource
from mauve_core.jobs.aside import aside
from mauve_core.runs import Run, RunStore, RunSummary
from mauve_core.runs.features import stored_features
from mauve_core.runs.folder import ABOUT
from mauve_core.scoring import estimates
from mauve_core.scoring.estimates import ScoreBasis
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.stats.sampling_error import ClusterAdvice, TextAdvice
from mauve_core.stats.stability import Stability
from mauve_core.stats.what_if import greedy
from mauve_core.texts.kinds import parse_perturbation
from mauve_core.texts.pairing import shared_prompts
from mauve_core.texts.perturbations import perturb
from mauve_core.texts.properties import stop_words

# Texts that are encoded to measure an encoder's pace.
TIMED_TEXTS = 5

# Prefix of the id of the run that opens if the URL names none and the browser has shown none yet.
DEMO = "demo"

# Cookie: id of the run that the browser showed last (page_chrome.js).
LAST_RUN = "mauve_lens_run"


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
    """The run to show if none is named: the last one in this browser, if it exists, else the demo, else the newest."""
    ids = [summary.id for summary in summaries]
    last = st.context.cookies.to_dict().get(LAST_RUN)
    return last if last in ids else _demo_among(ids) or next(iter(ids), None)


def demo_run_id() -> str | None:
    """The run of the demo; None if it is not installed."""
    return _demo_among([summary.id for summary in run_summaries()])


def _demo_among(ids: Sequence[str]) -> str | None:
    return next((run_id for run_id in ids if run_id.startswith(DEMO)), None)


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
    """As ``mauve_core.findings.precomputed.run_preflight``."""
    return run_preflight(load_run(run_id))


@kept_by_run(max_entries=64, show_spinner="Looking for the main reasons")
def main_reason(run_id: str, candidate: str) -> Reason | None:
    """As ``mauve_core.findings.precomputed.run_main_reason``."""
    return run_main_reason(load_run(run_id), candidate)


def _results_stamp(run_id: str) -> str | None:
    """What changes with the results that are attached to a run."""
    return RunStore().fingerprints().get(run_id)


@kept(max_entries=16, show_spinner="Looking for the main reason", version=_results_stamp)
def verdict_of(run_id: str) -> Verdict:
    """As ``mauve_core.analyses.attached_results.verdict``."""
    return attached_results.verdict(load_run(run_id))


@kept(max_entries=32, version=_results_stamp)
def findings(run_id: str) -> tuple[RunFinding, ...]:
    """As ``mauve_core.analyses.attached_results``."""
    return attached_results.findings(load_run(run_id))


@kept_by_run(max_entries=16, show_spinner=False)
def error_curves(run_id: str, kind: PartitionKind, smoothing: Smoothing) -> list[ErrorCurve]:
    """Both errors of every candidate as functions of the mixture weight, for each seed."""
    return frontier.error_curves(load_run(run_id).comparison, kind, smoothing)


@kept_by_run(max_entries=16, show_spinner=False)
def leading_clusters(
    run_id: str, kind: PartitionKind, smoothing: Smoothing
) -> dict[str, tuple[Sequence[str], Sequence[str]]]:
    """``frontier.leading_in_words`` of every candidate with a gap to explain."""
    comparison = load_run(run_id).comparison
    found: dict[str, tuple[Sequence[str], Sequence[str]]] = {}
    for candidate in comparison.candidates:
        if gap_test(run_id, kind, candidate.name).explains:
            leading = frontier.leading_clusters(comparison, kind, candidate.name, smoothing)
            names = cluster_names(run_id, kind, candidate.name, comparison.median_seed(candidate.name, kind))
            found[candidate.name] = frontier.leading_in_words(leading, names)
    return found


@kept_by_run(max_entries=32, show_spinner="Measuring errors")
def sampling_advice(run_id: str, candidate: str) -> tuple[TextAdvice, ClusterAdvice]:
    """As ``mauve_core.findings.precomputed.run_sampling_advice``."""
    return run_sampling_advice(load_run(run_id), candidate)


# The gap

# Number of clusters in the list of those that make most of the gap.
GREEDY_STEPS = 10


@kept_by_run(max_entries=64, show_spinner=False)
def gap_test(run_id: str, kind: PartitionKind, candidate: str) -> GapTest:
    """As ``mauve_core.findings.precomputed.run_gap_test``."""
    return run_gap_test(load_run(run_id), kind, candidate)


@kept_by_run(max_entries=64, show_spinner="Resampling")
def costs_of(run_id: str, kind: PartitionKind, candidate: str, seed: int, smoothing: Smoothing) -> CostIntervals:
    """As ``mauve_core.findings.clusters.cost_intervals``."""
    run = load_run(run_id)
    rate = run_exchange_rate(run, kind, candidate)
    return clusters.cost_intervals(run.comparison, kind, candidate, seed, smoothing, rate=rate)


def costed_table(
    run_id: str, kind: PartitionKind, candidate: str, seed: int, weight: float, smoothing: Smoothing
) -> pd.DataFrame:
    """The cluster table of one partition, with the intervals of the costs if there is a gap to explain."""
    partition = load_run(run_id).comparison.partition(kind, candidate, seed)
    table = clusters.cluster_table(partition.counts(HUMAN), partition.counts(candidate), weight, smoothing)
    if not gap_test(run_id, kind, candidate).explains:
        return table
    return clusters.with_intervals(table, *costs_of(run_id, kind, candidate, seed, smoothing).of_clusters)


@kept_by_run(max_entries=32, show_spinner="Clustering with other values of k")
def cluster_stability(run_id: str, kind: PartitionKind, candidate: str, seed: int) -> Stability:
    """As ``mauve_core.findings.precomputed.run_stability``."""
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
        As ``mauve_core.analyses.gap.what_if``, or the smoothing needs whole counts and the weights are not whole.
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
    """``mauve_core.analyses.gap.step_rows`` for the clusters that close most of the gap."""
    comparison = load_run(run_id).comparison
    shown = comparison.partition(kind, candidate, seed)
    counts = shown.counts(HUMAN), shown.counts(candidate)
    settings = {"action": action, "score": score, "smoothing": smoothing}
    steps = greedy(*counts, **settings, steps=GREEDY_STEPS, scale=scale)
    partitions = [comparison.partition(kind, candidate, index) for index in range(comparison.config.score.seeds)]
    return gap.step_rows(steps, partitions, shown, candidate, **settings, scale=scale)


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


@kept_by_run(max_entries=64, show_spinner="Perturbing images")
def perturbed_pictures(run_id: str, source: str, spec: str, images: tuple[str, ...]) -> tuple[bytes, ...]:
    """Pictures in WebP of the images with those ids after a perturbation, made from the originals, in another process.

    Raises
    ------
    InputError
        The source has no such image, or an original has gone or changed.
    """
    run = load_run(run_id)
    corpus = run.corpora[source]
    rows = {image: row for row, image in enumerate(corpus.ids)}
    if not rows.keys() >= set(images):
        raise InputError("These probes were made from other images", todo="Probe the run again")
    chosen = bare(corpus.take([rows[image] for image in images]))
    return aside(perturbed, chosen, spec, run.comparison.config.score.seed)


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


@kept_by_run(max_entries=32, show_spinner=False)
def seconds_per_text(run_id: str, source: str) -> float:
    """Seconds that the app's encoder takes for a text of the run's source; loads its model first.

    Raises
    ------
    MauveLensError
        The model is unavailable, or the run was made from given features.
    """
    run = load_run(run_id)
    config = run.comparison.config.encoder
    if config is None:
        raise InputError("This run was made from given features", allowed="a run with an encoder")
    corpus = run.corpora[source]
    rows = np.linspace(0, len(corpus) - 1, min(TIMED_TEXTS, len(corpus))).astype(int)
    return shared_encoder(config).seconds_per_text(corpus.take(rows).encoder_inputs(config.with_prompt))


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


@kept_by_run(max_entries=4, show_spinner=False)
def _why_source(run_id: str, kind: PartitionKind, candidate: str, seed: int) -> WhySource:
    return run_why_source(load_run(run_id), kind, candidate, seed)


@kept_by_run(max_entries=256, show_spinner="Reading the run")
def why_card(run_id: str, kind: PartitionKind, candidate: str, seed: int, cluster: int) -> WhyCard:
    """The explanation card of one cluster."""
    return why_cards.why_card(_why_source(run_id, kind, candidate, seed), cluster)


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


@kept_by_run(max_entries=64, show_spinner="Naming the clusters")
def cluster_names(run_id: str, kind: PartitionKind, candidate: str, seed: int) -> tuple[str, ...]:
    """The name of each cluster, by number; made of words of the texts, so untrusted."""
    return run_cluster_names(load_run(run_id), kind, candidate, seed)


@kept_by_run(max_entries=256, show_spinner=False)
def central_texts(
    run_id: str, kind: PartitionKind, candidate: str, seed: int, cluster: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """As ``mauve_core.findings.why_cards.central_texts``."""
    return why_cards.central_texts(_why_source(run_id, kind, candidate, seed), cluster)


@kept_by_run(max_entries=16, show_spinner=False)
def prompt_pairs(run_id: str, candidate: str) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
    """The number of each human and each candidate text's prompt; None if the two sides share none."""
    corpora = load_run(run_id).corpora
    shared = shared_prompts({name: corpora[name] for name in (HUMAN, candidate)})
    if shared is None or not np.intersect1d(shared.codes[HUMAN], shared.codes[candidate]).size:
        return None
    return shared.codes[HUMAN], shared.codes[candidate]


@kept_by_run(max_entries=512, show_spinner=False)
def contrasting_words(
    run_id: str, kind: PartitionKind, candidate: str, seed: int, cluster: int
) -> tuple[tuple[DistinctiveWord, ...], tuple[DistinctiveWord, ...]]:
    """Within one cluster, words typical of the human texts and words typical of the candidate's."""
    labels = load_run(run_id).comparison.partition(kind, candidate, seed).labels
    human = np.flatnonzero(labels[HUMAN] == cluster)
    model = labels[HUMAN].size + np.flatnonzero(labels[candidate] == cluster)
    return word_counts(run_id, candidate).contrast(human, model, top=12)


@kept_by_run(max_entries=16, show_spinner="Searching the texts")
def texts_found(run_id: str, search: TextSearch) -> dict[str, NDArray[np.bool_]]:
    """As ``mauve_core.analyses.selection.found_texts``, of the sources in the order of the map."""
    run = load_run(run_id)
    corpora = {source.name: run.corpora[source.name] for source in run.comparison.sources}
    return found_texts(corpora, search, shown=None if search.shown is None else _texts_of_finding(run_id, search.shown))


def _texts_of_finding(run_id: str, shown: Shown) -> dict[str, NDArray[np.bool_]]:
    (finding,) = (each for each in text_findings(run_id, shown.candidate, shown.reference) if each.key == shown.key)
    names, run = (shown.reference, shown.candidate), load_run(run_id)
    return dict(zip(names, masks(finding, *(len(run.corpora[name]) for name in names)), strict=True))


@kept_by_run(max_entries=32, show_spinner="Testing statements about the texts")
def text_findings(run_id: str, candidate: str, reference: str = HUMAN) -> tuple[Finding, ...]:
    """As ``mauve_core.findings.finding.run_findings``."""
    return run_findings(load_run(run_id), candidate, reference=reference)


@kept_by_run(max_entries=8, show_spinner="Comparing the answers to each prompt")
def answer_diversity(run_id: str) -> RunDiversity:
    """As ``mauve_core.analyses.diversity.diversity_of_run``."""
    return diversity_of_run(load_run(run_id))


@kept_by_run(max_entries=32, show_spinner=False)
def answers_by_prompt(run_id: str, candidate: str) -> list[list[int]]:
    """The texts of each prompt with several answers, by place; prompts with the fewest different ones first."""
    run = load_run(run_id)
    codes, corpus = (run.comparison.prompts or {})[candidate], run.corpora[candidate].texts
    order = np.argsort(codes, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    several = [group.tolist() for group in groups if len(group) > 1]
    return sorted(several, key=lambda rows: len({corpus[row] for row in rows}) / len(rows))


@kept_by_run(max_entries=8, show_spinner=False)
def prompt_numbers(run_id: str) -> dict[str, NDArray[np.int32]] | None:
    """The number of each text's prompt by source; None if the sources share none."""
    run = load_run(run_id)
    shared = shared_prompts({source.name: run.corpora[source.name] for source in run.comparison.sources})
    return None if shared is None else dict(shared.codes)


def excerpts(run_id: str, length: int, places: NDArray[np.intp]) -> dict[int, str] | None:
    """The first ``length`` characters of the texts at these places in map order, by place; None without any."""
    if not length:
        return None
    known = _excerpts(run_id, length)
    return {place: known[place] for place in places.tolist()}


@kept_by_run(max_entries=4, show_spinner=False)
def _excerpts(run_id: str, length: int) -> list[str]:
    run = load_run(run_id)
    texts = (text for source in run.comparison.sources for text in run.corpora[source.name].texts)
    return [text if len(text) <= length else f"{text[:length]}…" for text in texts]


@kept_by_run(max_entries=16, show_spinner="Counting phrases")
def area_phrases(
    run_id: str, first: tuple[int, ...], second: tuple[int, ...], top: int
) -> tuple[tuple[Phrase, ...], tuple[Phrase, ...]]:
    """Phrases that tell two sets of texts apart, given by their places in map order."""
    run, order = load_run(run_id), stack(run_id)
    sets = [
        [run.corpora[order.names[order.source[place]]].texts[order.position[place]] for place in places]
        for places in (first, second)
    ]
    return distinctive_phrases(*sets, top=top, stop_words=stop_words())
