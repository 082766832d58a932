"""Report section on clusters: each candidate's histogram, error ledgers and texts of the leading clusters.

It uses the joint partition of the first seed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mauve_core.analysis.cluster_table import CONFIDENCE, cluster_table, error_intervals, ordered
from mauve_core.analysis.gap_table import ERRORS, TOGETHER, ledger_rows, row_labels
from mauve_core.analysis.precomputed import run_cluster_words, run_stability
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import MauveLensError
from mauve_core.base.formatting import NATS_DECIMALS, as_percent, percent_with_interval, written
from mauve_core.corpus import Corpus
from mauve_core.figures.clusters import cluster_figure
from mauve_core.figures.gap import common_reach, ledger_figure
from mauve_core.numerics.resampling.stability import LABELS
from mauve_core.reporting.blocks import Block, Card, Cards, Chart, Part, Remarks, Sample, Section, Side, Table
from mauve_core.reporting.score_sections import WEIGHT
from mauve_core.store import Run

KIND: PartitionKind = "joint"
SEED = 0

TOP_CLUSTERS = 3
"""Number of clusters per error whose texts are shown."""

SAMPLES = 2
"""Texts per side of a cluster."""

SAMPLE_LENGTH = 500
"""Characters per text."""

MOST_BARS = 300
"""Maximum number of clusters in a histogram; the shares of those shown differ the most."""

_WORDS, _WORDS_BY_BAR = 8, 3
_ERRORS = {
    "type_1": ("Adds", "the model writes what humans don't", "type I error, KL(Q|R)"),
    "type_2": ("Misses", "humans write what the model misses", "type II error, KL(P|R)"),
}


def clusters_section(run: Run, candidates: Sequence[str], left_out: int) -> Section:
    """One part per candidate in order, the first one open; ``left_out`` is the number of the run's other candidates."""
    lines = [
        "Joint partition of the first k-means seed: human texts clustered with all candidates at once, so that a "
        f"cluster is the same in every part. Errors are at a weight of {WEIGHT:g}; their intervals are "
        f"{CONFIDENCE:.0%} bootstrap intervals over texts, with clusters held fixed. Orange: the model; blue: humans.",
        "Is a cluster's difference real? " + "; ".join(f"{name}: {meaning}" for name, meaning in LABELS.items()) + ".",
    ]
    if left_out:
        lines.append(f"{len(candidates)} of {len(candidates) + left_out} candidates are shown.")
    parts = [_part(run, name, index) for index, name in enumerate(candidates)]
    return Section("clusters", "Clusters and gap", (Remarks(tuple(lines)), *parts))


def _part(run: Run, candidate: str, index: int) -> Part:
    partition = run.comparison.partition(KIND, candidate, SEED)
    counts = partition.counts(HUMAN), partition.counts(candidate)
    table = cluster_table(*counts, WEIGHT)
    intervals = error_intervals(*counts, WEIGHT)
    ledgers = {error: ledger_rows(table, error, intervals[error]) for error in ERRORS}
    labels, notes = _trusted(run, candidate)
    words = _words(run, candidate)
    reach = common_reach(*ledgers.values())
    blocks: list[Block] = [_histogram(table, candidate, index)]
    for error in ERRORS:
        short = {cluster: ", ".join(found[:_WORDS_BY_BAR]) for cluster, found in words.items()}
        blocks.append(_ledger(ledgers[error], table, error, short, reach, candidate, index))
        blocks.append(_ledger_table(ledgers[error], error, words, labels))
        blocks.append(_cards(run, candidate, error, ledgers[error], words, labels))
    if notes:
        blocks.append(Remarks(notes))
    return Part(candidate, tuple(blocks), open=index == 0)


def _histogram(table: pd.DataFrame, candidate: str, index: int) -> Chart:
    rows = ordered(table, "difference")
    shown = rows
    if len(rows) > MOST_BARS:
        most = rows["difference"].abs().nlargest(MOST_BARS).index
        shown = rows.loc[np.sort(most)].reset_index(drop=True)
    which = f"{len(shown):,} of {len(rows):,} clusters, those whose shares differ the most"
    return Chart(
        f"clusters-{index}",
        cluster_figure(shown, candidate),
        f"Texts in each cluster: human against {candidate}",
        f"Joint partition, first seed; {which if len(shown) < len(rows) else f'{len(rows):,} clusters'}, sorted by "
        f"the difference of the shares. {int(table['human'].sum()):,} human and {int(table['model'].sum()):,} model "
        "texts. Below: each cluster's share of the two errors; negative shares offset the error.",
    )


def _ledger(
    rows: pd.DataFrame,
    table: pd.DataFrame,
    error: str,
    words: dict[int, str],
    reach: tuple[float, float],
    candidate: str,
    index: int,
) -> Chart:
    title, meaning, name = _ERRORS[error]
    bars, nats = int((rows["cluster"] != TOGETHER).sum()), table[f"{error}_nats"].sum()
    return Chart(
        f"{title.lower()}-{index}",
        ledger_figure(rows, error, words, reach=reach),
        f"{title}: {meaning} ({candidate})",
        f"Joint partition, first seed. {name[0].upper()}{name[1:]}: {written(nats, NATS_DECIMALS)} nats; bars: the "
        f"{bars} of {len(table):,} clusters that add most; lines: intervals.",
    )


def _ledger_table(
    rows: pd.DataFrame, error: str, words: dict[int, list[str]], labels: NDArray[np.str_] | None
) -> Table:
    title, _, name = _ERRORS[error]
    cells = []
    for label, (_, row) in zip(row_labels(rows), rows.iterrows(), strict=True):
        cluster = int(row["cluster"])
        one = cluster != TOGETHER
        share = _share(row) if one else as_percent(row["share"], 1)
        trust = str(labels[cluster]) if one and labels is not None else ""
        top_words = ", ".join(words.get(cluster, ())) if one else ""
        sizes = (f"{int(row[side]):,}" for side in ("human", "model"))
        cells.append((label, written(row["nats"], NATS_DECIMALS), share, trust, *sizes, top_words))
    columns = ("Cluster", "nats", "share of the error", "stability", "human", "model", "distinctive words")
    return Table(f"{title}: the {name}, by cluster", columns, tuple(cells), folded=True)


def _cards(
    run: Run,
    candidate: str,
    error: str,
    rows: pd.DataFrame,
    words: dict[int, list[str]],
    labels: NDArray[np.str_] | None,
) -> Cards:
    title, _, name = _ERRORS[error]
    leading = rows[(rows["cluster"] != TOGETHER) & (rows["nats"] > 0)].head(TOP_CLUSTERS)
    cards = []
    for _, row in leading.iterrows():
        cluster = int(row["cluster"])
        facts = [f"{_share(row)} of the {name}", f"{int(row['human']):,} human and {int(row['model']):,} model texts"]
        if labels is not None:
            facts.append(str(labels[cluster]))
        sides = tuple(_side(run, source, candidate, cluster) for source in (HUMAN, candidate))
        cards.append(Card(cluster, tuple(facts), ", ".join(words.get(cluster, ())), sides))
    return Cards(f"{title}: leading clusters and texts in them", tuple(cards))


def _side(run: Run, source: str, candidate: str, cluster: int) -> Side:
    """The cluster's first texts in file order, to avoid a selected sample."""
    indices = np.flatnonzero(run.comparison.partition(KIND, candidate, SEED).labels[source] == cluster)
    corpus = run.corpora[source]
    samples = tuple(_sample(corpus, int(index)) for index in indices[:SAMPLES])
    return Side(source, source == HUMAN, int(indices.size), samples)


def _sample(corpus: Corpus, index: int) -> Sample:
    text = corpus.texts[index]
    return Sample(corpus.ids[index], text[:SAMPLE_LENGTH], max(len(text) - SAMPLE_LENGTH, 0))


def _share(row: pd.Series) -> str:
    return percent_with_interval(row["share"], row["low"], row["high"])


def _words(run: Run, candidate: str) -> dict[int, list[str]]:
    """The distinctive words of every cluster that has any; empty if the texts have no countable words."""
    try:
        found = run_cluster_words(run, KIND, candidate, SEED)
    except MauveLensError:
        return {}
    return {cluster: [each.word for each in words[:_WORDS]] for cluster, words in enumerate(found) if words}


def _trusted(run: Run, candidate: str) -> tuple[NDArray[np.str_] | None, tuple[str, ...]]:
    """Each cluster's stability label, or None with the reason."""
    try:
        found = run_stability(run, KIND, candidate, SEED)
    except MauveLensError as error:
        return None, (f"Whether the differences are real could not be determined: {error}",)
    return found.label, found.notes
