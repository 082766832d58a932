"""Panel of one cluster: sizes, shares of both errors, texts, explanation, words and metadata."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from app.caching import cache
from app.components import texts, why_panel
from app.components.focus import Focus
from app.components.markup import escaped
from app.url import bound
from app.url.parameters import ClusterTab
from mauve_core.analysis.cluster_table import CONFIDENCE, value_counts, wilson_interval
from mauve_core.analysis.words import DistinctiveWord
from mauve_core.base.config import HUMAN, Smoothing
from mauve_core.base.formatting import NATS_DECIMALS, as_percent, percent_interval, written

TABS: dict[ClusterTab, str] = {"texts": "Texts", "why": "Why", "words": "Words", "metadata": "Metadata"}

MOST_VALUES = 200
"""Maximum number of rows in a table of metadata values."""


def show(focus: Focus, cluster: int, table: pd.DataFrame, weight: float, smoothing: Smoothing) -> None:
    """Show a cluster of the focus' partition; ``table`` is the partition's cluster table."""
    indices = {name: np.flatnonzero(focus.partition.labels[name] == cluster) for name in (HUMAN, focus.candidate)}
    in_human, in_model = (indices[name].astype(np.int32) for name in (HUMAN, focus.candidate))
    _figures(focus, cluster, table, weight, smoothing)
    _tabs(focus, cluster, in_human, in_model)


@st.fragment
def _tabs(focus: Focus, cluster: int, in_human: NDArray[np.int32], in_model: NDArray[np.int32]) -> None:
    """Build only the open tab; opening another one reruns nothing else."""
    name, tab = bound.open_tab("cluster_tab", TABS, "cluster_detail_tabs")
    with tab:
        if name == "texts":
            _words_line(focus, cluster)
            human, model = focus.run.corpora[HUMAN], focus.run.corpora[focus.candidate]
            texts.side_by_side((human, in_human), (focus.candidate, model, in_model), key="cluster_texts")
        elif name == "why":
            why_panel.show(focus, cluster)
        elif name == "words":
            _words(focus, cluster)
        else:
            _metadata(focus, in_human, in_model)


def _figures(focus: Focus, cluster: int, table: pd.DataFrame, weight: float, smoothing: Smoothing) -> None:
    """Sizes with Wilson intervals, shares of the errors with bootstrap intervals."""
    row = table.iloc[cluster]
    errors = cache.error_intervals(*focus.key, weight, smoothing)
    columns = st.columns(4)
    for column, name, side in ((columns[0], "Human", "human"), (columns[1], focus.candidate, "model")):
        n = int(table[side].sum())
        low, high = map(float, wilson_interval(row[side], n))
        column.metric(escaped(name), f"{int(row[side]):,} of {n:,}")
        column.caption(f"{as_percent(row[side] / n, 1)} of its texts ({percent_interval(low, high, 1)})")
    for column, title, name in ((columns[2], "type I error", "type_1"), (columns[3], "type II error", "type_2")):
        lowest, highest = (limit[cluster] for limit in errors[name])
        column.metric(f"Share of the {title}", as_percent(row[name], 1), help=_ERROR_HELP[name])
        nats = written(table[f"{name}_nats"].sum(), NATS_DECIMALS)
        column.caption(f"of {nats} nats ({percent_interval(lowest, highest, 1)})")
    st.caption(
        f"{CONFIDENCE:.0%} intervals. Sizes: Wilson. Errors, at weight {written(weight, 2)}: bootstrap over texts "
        "with the clusters held fixed; too narrow where both sides nearly agree."
    )


_ERROR_HELP = {
    "type_1": "This cluster's share of KL(Q|R); all clusters sum to 100%. Negative: the model writes less here than "
    "the mixture does, offsetting part of the error.",
    "type_2": "This cluster's share of KL(P|R); all clusters sum to 100%. Negative: humans write less here than the "
    "mixture does, offsetting part of the error.",
}


def _words_line(focus: Focus, cluster: int) -> None:
    words = cache.cluster_words(*focus.key)[cluster]
    st.text("  ·  ".join(word.word for word in words) or "No words to count here.")


def _words(focus: Focus, cluster: int) -> None:
    human, model = cache.contrasting_words(*focus.key, cluster)
    columns = st.columns(3, gap="medium")
    lists = (
        ("This cluster against all others", cache.cluster_words(*focus.key)[cluster]),
        ("Over-represented in human texts", human),
        (f"Over-represented in texts of {focus.candidate}", model),
    )
    for column, (title, words) in zip(columns, lists, strict=True):
        column.markdown(f"**{escaped(title)}**")
        if words:
            column.dataframe(words_frame(words), hide_index=True)
        else:
            column.caption("No distinctive words.")
    st.caption(
        "Class-based TF-IDF over the human texts and this candidate's, without common English words. Against other "
        "clusters: only words in two or more texts. Within the cluster: the difference between the sides."
    )


def words_frame(words: tuple[DistinctiveWord, ...]) -> pd.DataFrame:
    """One row per word: its occurrences in the group and the number of texts that contain it."""
    return pd.DataFrame(
        {
            "word": [word.word for word in words],
            "times": [word.count for word in words],
            "texts": [word.texts for word in words],
        }
    )


def _metadata(focus: Focus, in_human: np.ndarray, in_model: np.ndarray) -> None:
    human, model = focus.run.corpora[HUMAN].metadata, focus.run.corpora[focus.candidate].metadata
    fields = list(dict.fromkeys([*human.columns, *model.columns]))
    if not fields:
        st.caption("These texts have no metadata.")
        return
    name = fields[0]
    if len(fields) > 1:
        name = bound.selectbox("metadata_column", "Field", fields, fields[0], width=260)
    values = value_counts(human.get(name), model.get(name), in_human, in_model)
    shown = values.head(MOST_VALUES)
    st.dataframe(
        shown.rename(
            columns={
                "value": str(name),
                "human": "human, here",
                "all_human": "human, total",
                "model": "model, here",
                "all_model": "model, total",
            }
        ),
        hide_index=True,
        key="cluster_metadata",
    )
    st.caption(f"{len(shown):,} of {len(values):,} values that occur in this cluster.")
