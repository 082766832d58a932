"""Panel of one cluster: its name, what was found, sizes, cost, texts, explanation, words and metadata."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from mauve_app.caching import cache
from mauve_app.components import text_search, texts, why_panel
from mauve_app.components.focus import Focus
from mauve_app.components.markup import escaped
from mauve_app.components.saying import said
from mauve_app.components.text_search import Found
from mauve_app.url import bound, session
from mauve_app.url.parameters import ClusterTab, to_query
from mauve_core.analysis.central_texts import paired, side_by_side
from mauve_core.analysis.cluster_table import ADDS, CONFIDENCE, has_costs, value_counts, wilson_interval
from mauve_core.analysis.text_search import TextSearch
from mauve_core.analysis.words import DistinctiveWord
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import (
    NATS_DECIMALS,
    as_percent,
    percent_interval,
    percent_with_interval,
    significant,
    written,
)
from mauve_core.numerics.resampling.stability import LABELS, Stability

TABS: dict[ClusterTab, str] = {"texts": "Texts", "why": "Why", "words": "Words", "metadata": "Metadata"}

# Texts of each side that are shown whole.
MOST_TEXTS = 3

# Maximum number of rows in a table of metadata values.
MOST_VALUES = 200


_STABILITY_COLORS: dict[str, Literal["green", "yellow", "gray"]] = {
    "stable": "green", "unsure": "yellow", "noise": "gray"
}  # fmt: skip


def heading(focus: Focus, cluster: int, links: Mapping[str, tuple[str, str]], *, close: str = "") -> None:
    """The cluster's name and number, whether its difference is stable, and links.

    Parameters
    ----------
    links : mapping of str to (str, str)
        Label and icon of each page to link to, with this cluster.
    close : str
        Key of the button that closes the cluster; without one, it cannot be closed.
    """
    judged = cache.cluster_stability(*focus.key)
    label = str(judged.label[cluster])
    linked = to_query(dataclasses.replace(session.current(), cluster=cluster))
    st.header(escaped(focus.names[cluster]), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Cluster {cluster}", width="content")
        st.badge(label, color=_STABILITY_COLORS[label], help=_stability_in_words(judged, cluster))
        for page, (title, icon) in links.items():
            st.page_link(page, label=title, icon=icon, query_params=linked)
        if close:
            bound.close_button("cluster", key=close)


def _stability_in_words(judged: Stability, cluster: int) -> str:
    meaning = LABELS[str(judged.label[cluster])].capitalize()
    return said(
        f"{meaning}. p = {significant(judged.p[cluster])} when texts switch sides, "
        f"{significant(judged.adjusted[cluster])} adjusted for all clusters; the same sign in "
        f"{as_percent(judged.agreement[cluster])} of the partitions with other seeds and k."
    )


def show(focus: Focus, cluster: int, table: pd.DataFrame, weight: float, masks: Found | None = None) -> None:
    """Show a cluster of the focus' partition; ``table`` is the partition's, from ``cache.costed_table``.

    ``masks`` are the texts that a search found, which are the only ones to read then.
    """
    inside = {name: focus.partition.labels[name] == cluster for name in (HUMAN, focus.candidate)}
    wanted = inside if masks is None else {name: mask & masks[name] for name, mask in inside.items()}
    in_human, in_model = (np.flatnonzero(wanted[name]).astype(np.int32) for name in (HUMAN, focus.candidate))
    st.markdown(why_panel.finding(focus, cluster))
    st.caption(_figures(focus, cluster, table))
    if masks is not None:
        words = focus.run.comparison.words
        counts = [
            f"{wanted[name].sum():,} of {mask.sum():,} {escaped(words.source(name))}" for name, mask in inside.items()
        ]
        partners = said(", beside the other side's text of the same prompt") if session.current().texts_paired else ""
        st.markdown(
            f":material/search: **Found here:** {' and '.join(counts)} {words.items}. Only these are listed{partners}."
        )
    search = None if masks is None else text_search.of(focus.run, session.current())
    _tabs(focus, cluster, in_human, in_model, search)
    if has_costs(table):
        with st.expander("At a mixture weight"):
            st.markdown(_terms_in_words(table.iloc[cluster], table, weight))


@st.fragment
def _tabs(
    focus: Focus, cluster: int, in_human: NDArray[np.int32], in_model: NDArray[np.int32], search: TextSearch | None
) -> None:
    """Build only the open tab; opening another one reruns nothing else."""
    titles = {tab: focus.run.comparison.words.said(title) for tab, title in TABS.items()}
    name, tab = bound.open_tab("cluster_tab", titles, "cluster_detail_tabs")
    with tab:
        if name == "texts":
            _texts(focus, cluster, in_human, in_model, search)
        elif name == "why":
            why_panel.show(focus, cluster)
        elif name == "words":
            _words(focus, cluster)
        else:
            _metadata(focus, in_human, in_model)


def _texts(
    focus: Focus, cluster: int, in_human: NDArray[np.int32], in_model: NDArray[np.int32], search: TextSearch | None
) -> None:
    """The most typical texts of both sides, whole; below, folded, the lists of all."""
    state, codes = session.current(), cache.prompt_pairs(focus.run.id, focus.candidate)
    human_rows, model_rows = cache.central_texts(*focus.key, cluster)
    central = human_rows[np.isin(human_rows, in_human)], model_rows[np.isin(model_rows, in_model)]
    if focus.run.corpora[HUMAN].media is not None:
        texts.side_by_side(
            focus.run,
            central[0].astype(np.int32),
            (focus.candidate, central[1].astype(np.int32)),
            colour=focus.colour,
            key="cluster_items",
        )
        st.caption("Nearest to the cluster's center first.")
        return
    pairing = codes is not None and state.texts_paired
    if codes is not None:
        st.toggle(said("Pair by prompt"), help=said(_PAIRS_HELP), **bound.bind("texts_paired", pairing))
    both = side_by_side(*central, MOST_TEXTS)
    rows = both if codes is None or not pairing else paired(*central, codes, MOST_TEXTS)
    why_panel.marked_rows(focus, cluster, rows, in_rows=pairing, search=search)
    asked_for = state.human_text is not None or state.model_text is not None
    # One label for every cluster: a browser folds an expander again when its label changes.
    with st.expander(said("All texts of this cluster"), expanded=asked_for):
        texts.side_by_side(focus.run, in_human, (focus.candidate, in_model), colour=focus.colour, key="cluster_texts")


_PAIRS_HELP = (
    "Shows each text beside the other side's text of the same prompt, in whichever cluster that one is. Otherwise the "
    "texts of each side come in the order of their distance to the cluster's center."
)


def _figures(focus: Focus, cluster: int, table: pd.DataFrame) -> str:
    """Sizes with Wilson intervals; the cost with its bootstrap interval, if there is a gap to explain."""
    row = table.iloc[cluster]
    parts = []
    said = focus.run.comparison.words.said
    for name, side in ((said("Human"), "human"), (escaped(focus.candidate), "model")):
        n = int(table[side].sum())
        low, high = map(float, wilson_interval(row[side], n))
        share = said(f"{as_percent(row[side] / n, 1)} of its texts ({percent_interval(low, high, 1)})")
        parts.append(f"{name}: {int(row[side]):,} of {n:,}, {share}")
    if not has_costs(table):
        return f"{'. '.join(parts)}. {CONFIDENCE:.0%} intervals by Wilson. No cost is shown without a gap to explain."
    cost = percent_with_interval(row["cost_share"], row["low"], row["high"])
    parts.append(f"Cost: {cost} of the frontier integral. {said(_direction_in_words(row))}")
    return f"{'. '.join(parts)} {CONFIDENCE:.0%} intervals: Wilson; of costs, for all clusters at once."


def _direction_in_words(row: pd.Series) -> str:
    """Whether the model adds or misses texts of the cluster."""
    if not row["direction"]:
        return "Both sides write as much of it."
    return "The model adds: it writes more of it." if row["direction"] == ADDS else "The model misses: it writes less."


def _terms_in_words(row: pd.Series, table: pd.DataFrame, weight: float) -> str:
    """The cluster's terms of the two errors."""
    lines = [
        f"{title}: **{written(row[name], NATS_DECIMALS)}** of {written(table[name].sum(), NATS_DECIMALS)} nats"
        for title, name in (("Type I error, KL(Q|R)", "type_1_nats"), ("type II error, KL(P|R)", "type_2_nats"))
    ]
    return (
        f"At weight λ = {written(weight, 2)} of P in R = λ P + (1 − λ) Q. {'; '.join(lines)}. A term is negative, "
        "and offsets those of other clusters, where its side has less than the mixture."
    )


def _words(focus: Focus, cluster: int) -> None:
    human, model = cache.contrasting_words(*focus.key, cluster)
    columns = st.columns(3, gap="medium")
    said = focus.run.comparison.words.said
    lists = (
        ("This cluster against all others", cache.cluster_words(*focus.key)[cluster]),
        (said("Over-represented in human texts"), human),
        (f"{said('Over-represented in texts')} of {focus.candidate}", model),
    )
    for column, (title, words) in zip(columns, lists, strict=True):
        column.markdown(f"**{escaped(title)}**")
        if words:
            column.dataframe(words_frame(words), hide_index=True)
        else:
            column.caption("No distinctive words.")
    st.caption(
        said(
            "Class-based TF-IDF over the human texts and this candidate's, without common English words. Against other "
            "clusters: only words in two or more texts. Within the cluster: the difference between the sides."
        )
    )


def words_frame(words: tuple[DistinctiveWord, ...]) -> pd.DataFrame:
    """One row per word: its occurrences in the group and the number of texts that contain it."""
    return pd.DataFrame(
        {
            "word": [word.word for word in words],
            "times": [word.count for word in words],
            said("texts"): [word.texts for word in words],
        }
    )


def _metadata(focus: Focus, in_human: np.ndarray, in_model: np.ndarray) -> None:
    human, model = focus.run.corpora[HUMAN].metadata, focus.run.corpora[focus.candidate].metadata
    fields = list(dict.fromkeys([*human.columns, *model.columns]))
    if not fields:
        st.caption(said("These texts have no metadata."))
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
                "human": said("human, here"),
                "all_human": said("human, total"),
                "model": "model, here",
                "all_model": "model, total",
            }
        ),
        hide_index=True,
        key="cluster_metadata",
    )
    st.caption(f"{len(shown):,} of {len(values):,} values that occur in this cluster.")
