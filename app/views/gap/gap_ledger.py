"""Shares of both errors by cluster: totals, a bar chart, and a list of the clusters with their words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from app.caching import cache
from app.components import charts, score_controls
from app.components.focus import Focus
from app.components.markup import escaped
from app.selection import clicked_value
from app.url import bound, session
from app.url.parameters import State
from mauve_core.analysis.cluster_table import CONFIDENCE
from mauve_core.analysis.gap_table import ERRORS, TOGETHER, error_totals, ledger_rows, row_labels
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import (
    NATS_DECIMALS,
    as_percent,
    decimals_of,
    percent_with_interval,
    with_spread,
    written,
)
from mauve_core.figures.gap import common_reach, ledger_figure
from mauve_core.numerics.resampling.stability import LABELS

TITLES = {
    "type_1": ("Adds: the model writes what humans don't", "orange", "Type I error, KL(Q|R)"),
    "type_2": ("Misses: humans write what the model misses", "blue", "Type II error, KL(P|R)"),
}

_STABILITY_HELP = "Is the difference in this cluster stable? " + "; ".join(
    f"{name}: {meaning}" for name, meaning in LABELS.items()
)
COUNTS_HELP = "Human texts : model texts"
_LIST_HEIGHT = 248
_WORDS_LISTED, _WORDS_BY_BAR = 5, 3
_CHART = "gap_ledger_{}"


def show(here: Focus, table: pd.DataFrame, weight: float, state: State) -> None:
    """Both columns; ``table`` is the partition's cluster table at that weight."""
    intervals = cache.error_intervals(*here.key, weight, state.smoothing)
    ledgers = {error: ledger_rows(table, error, intervals[error]) for error in ERRORS}
    totals = _totals(here, weight, state)
    reach = common_reach(*ledgers.values())
    for column, error in zip(st.columns(2, gap="small"), ERRORS, strict=True):
        with column:
            _error(here, error, ledgers[error], totals[error], reach)
    with st.container(key="gap_lists"):  # stacked if half the width is too narrow for words (page_chrome.css)
        for column, error in zip(st.columns(2, gap="small"), ERRORS, strict=True):
            with column:
                _list(here, error, ledgers[error])
    stability = cache.cluster_stability(*here.key)
    notes = "".join(f" {escaped(note)}." for note in stability.notes)
    run_id, kind, candidate, _ = here.key
    others, why_no_others = cache.other_clusterings(run_id, kind, candidate)
    basis = stability_basis(here.run.comparison.config.score.seeds, [part.k for part in others], why_no_others)
    st.caption(
        f"{here.partition.k} clusters of the {here.partition.kind} partition at weight {written(weight, 2)}, "
        f"{score_controls.smoothing_in_words(state)}. Lines and brackets: {CONFIDENCE:.0%} bootstrap intervals over "
        f"texts, clusters held fixed. Texts: human : model. Click a bar to read the cluster's texts."
        f"{notes} {basis}"
    )


def stability_basis(seeds: int, ks: Sequence[int], why_no_k: str) -> str:
    """What the partition was compared with, of a run with so many seeds; ``ks`` of the partitions with another k."""
    other_k = " and ".join(f"k = {k}" for k in ks) or "no other k"
    reason = f" {escaped(why_no_k)}." if why_no_k else ""
    if seeds > 1:
        return f"Stability: compared with {seeds - 1} other seeds and {other_k}.{reason}"
    if ks:
        return f"Stability: compared with {other_k} and no other seed.{reason}"
    return f"Stability: one seed and no other k.{reason}"


def shown_list(here: Focus, rows: pd.DataFrame, labels: NDArray[np.str_]) -> pd.DataFrame:
    """The ledger as a list: cluster, share with its interval, stability, human and model texts, words."""
    words = cache.leading_words(*here.key, _WORDS_LISTED)
    single = rows["cluster"] != TOGETHER
    return pd.DataFrame(
        {
            "cluster": row_labels(rows),
            "of error": [
                percent_with_interval(share, low, high) if one else as_percent(share, 1)
                for share, low, high, one in zip(rows["share"], rows["low"], rows["high"], single, strict=True)
            ],
            "stability": [
                labels[int(cluster)] if one else "" for cluster, one in zip(rows["cluster"], single, strict=True)
            ],
            "texts": [counts_label(human, model) for human, model in zip(rows["human"], rows["model"], strict=True)],
            "words": [words.get(int(cluster), "") for cluster in rows["cluster"]],
        }
    )


def counts_label(human: float, model: float) -> str:
    """Text counts of both sides in one cell, which leaves room for words in a narrow list."""
    return f"{written(human, 0)} : {written(model, 0)}"


def _totals(here: Focus, weight: float, state: State) -> dict[str, np.ndarray]:
    """Each error under every seed."""
    comparison, kind = here.run.comparison, here.partition.kind
    seeds = range(comparison.config.score.seeds)
    parts = [comparison.partition(kind, here.candidate, seed) for seed in seeds]
    p, q = (np.stack([part.counts(name) for part in parts]) for name in (HUMAN, here.candidate))
    return error_totals(p, q, weight, state.smoothing)


def _error(here: Focus, error: str, rows: pd.DataFrame, totals: np.ndarray, reach: tuple[float, float]) -> None:
    title, colour, name = TITLES[error]
    total = totals[here.partition.seed]
    st.markdown(f"**:{colour}[{title}]**  \n{name}: {_total_in_words(total, totals)}")
    words = cache.leading_words(*here.key, _WORDS_BY_BAR)
    charts.show_chart(
        ledger_figure(rows, error, words, reach=reach, chosen=here.cluster),
        key=_CHART.format(error),
        file_name=f"{here.run.name}-{here.candidate}-{error}",
        on_select=partial(_choose_bar, error),
        selection_mode="points",
        alt=f"Each cluster's share of the {name}; the list below has the same numbers.",
    )
    st.caption(_sum_in_words(rows, total))


def _total_in_words(total: float, totals: NDArray[np.float64]) -> str:
    if totals.size == 1:
        return f"**{written(total, NATS_DECIMALS)} nats**"
    mean, sd = totals.mean(), totals.std(ddof=1)
    here = written(total, decimals_of(mean, sd))
    return f"**{here} nats** here, {with_spread(mean, sd)} over {totals.size} seeds"


def _sum_in_words(rows: pd.DataFrame, total: float) -> str:
    """How the bars and the remaining clusters add up to the error."""
    single = rows["cluster"] != TOGETHER
    parts = [f"{single.sum()} clusters shown: {written(rows['nats'][single].sum(), NATS_DECIMALS)}"]
    together = rows[~single]
    parts += [
        f"{label}: together {written(nats, NATS_DECIMALS)}"
        for label, nats in zip(row_labels(together), together["nats"].tolist(), strict=True)
    ]
    return f"{'; '.join(parts)}; sum {written(total, NATS_DECIMALS)} nats."


def _list(here: Focus, error: str, rows: pd.DataFrame) -> None:
    title, colour, _ = TITLES[error]
    words = cache.leading_words(*here.key, _WORDS_BY_BAR)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**:{colour}[{title.partition(':')[0]}]**, cluster by cluster", width="stretch")
        charts.csv_button(
            lambda: rows.assign(words=[words.get(int(cluster), "") for cluster in rows["cluster"]]),
            key=f"gap_csv_{error}",
            file_name=f"{here.run.name}-{here.candidate}-{error}",
        )
    bound.table(
        "cluster",
        shown_list(here, rows, cache.cluster_stability(*here.key).label),
        [None if cluster == TOGETHER else cluster for cluster in rows["cluster"].tolist()],
        key=f"gap_list_{error}",
        height=_LIST_HEIGHT,
        column_config={
            "stability": st.column_config.TextColumn(help=_STABILITY_HELP),
            "texts": st.column_config.TextColumn(help=COUNTS_HELP),
        },
    )


def _choose_bar(error: str) -> None:
    cluster = clicked_value(st.session_state[_CHART.format(error)]["selection"], 0)
    if cluster is not None and cluster != TOGETHER:
        session.update(cluster=cluster)
