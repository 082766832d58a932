"""The frontier integral by cluster: what the model adds and what it misses, as bars and as lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from mauve_app.caching import cache
from mauve_app.components import charts, score_controls
from mauve_app.components.focus import Focus
from mauve_app.components.markup import escaped, swatch
from mauve_app.components.saying import said
from mauve_app.selection import clicked_value
from mauve_app.url import bound, session
from mauve_app.url.parameters import State
from mauve_core.analysis.cluster_names import labelled
from mauve_core.analysis.cluster_table import ADDS, CONFIDENCE, MISSES, has_costs, has_found
from mauve_core.analysis.gap_table import DIRECTIONS, TOGETHER, ledger_rows, row_labels
from mauve_core.base.formatting import (
    SCORE_DECIMALS,
    as_percent,
    even_parts,
    interval,
    percent_interval,
    percent_with_interval,
    with_spread,
    written,
)
from mauve_core.figures.gap import common_reach, ledger_figure
from mauve_core.figures.theme import HUMAN_COLOUR
from mauve_core.numerics.resampling.stability import LABELS

TITLES = {
    ADDS: "Adds: the model writes what humans don't",
    MISSES: "Misses: humans write what the model misses",
}

_STABILITY_HELP = "Is the difference in this cluster stable? " + "; ".join(
    f"{name}: {meaning}" for name, meaning in LABELS.items()
)
COST_HELP = (
    "The cluster's part of the frontier integral: (p + q)/2 − p q/(p − q) log(p/q) for its human share p and its model "
    "share q. It is 0 if they are equal and never negative; all clusters together make 100%."
)
COUNTS_HELP = "Human texts : model texts"
_FOUND_HELP = "Those of them that the search found, human : model"
_LIST_HEIGHT = 248
_CHART = "gap_ledger_{}"


def show(here: Focus, table: pd.DataFrame, state: State) -> None:
    """Both columns; ``table`` is the partition's, from ``cache.costed_table``."""
    if not has_costs(table):
        _counts(here, table)
        return
    ledgers = {direction: ledger_rows(table, direction) for direction in DIRECTIONS}
    parts = shown_parts(ledgers)
    st.markdown(_headline(here, table, parts, state))
    reach = common_reach(*ledgers.values())
    for column, (direction, rows) in zip(st.columns(2, gap="small"), ledgers.items(), strict=True):
        with column:
            _bars(here, direction, rows, parts[direction], reach)
    with st.container(key="gap_lists"):  # stacked if half the width is too narrow for words (page_chrome.css)
        for column, (direction, rows) in zip(st.columns(2, gap="small"), ledgers.items(), strict=True):
            with column:
                _list(here, direction, rows)
    st.caption(_how_computed(here, table, state))


def _how_computed(here: Focus, table: pd.DataFrame, state: State) -> str:
    equal = int((table["direction"] == "").sum())
    free = said(f" ({equal} of them cost nothing: both sides write as much there)") if equal else ""
    stability = cache.cluster_stability(*here.key)
    notes = "".join(f" {escaped(note)}." for note in stability.notes)
    run_id, kind, candidate, _ = here.key
    others, why_no_others = cache.other_clusterings(run_id, kind, candidate)
    basis = stability_basis(here.run.comparison.config.score.seeds, [part.k for part in others], why_no_others)
    tested = cache.gap_test(run_id, kind, candidate)
    return here.run.comparison.words.said(
        f"{here.partition.k} clusters{free} of the {here.partition.kind} partition, "
        f"{score_controls.smoothing_in_words(state)}. Lines and brackets: {CONFIDENCE:.0%} bootstrap intervals over "
        "prompts at this n and k, for all clusters at once, clusters held fixed. With texts exchanged between "
        f"the two sides, the gap was as large in {tested.reached:,} of {tested.draws:,} draws. Texts: human : model. "
        f"Click a bar to read the cluster's texts.{notes} {basis}"
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


def shown_parts(ledgers: Mapping[str, pd.DataFrame]) -> dict[str, list[float]]:
    """For each direction, the share of the clusters with bars and that of the others, rounded so that all add up."""
    single = {direction: rows["cluster"] != TOGETHER for direction, rows in ledgers.items()}
    shares = [
        float(rows["share"][mask].sum())
        for direction, rows in ledgers.items()
        for mask in (single[direction], ~single[direction])
    ]
    parts = even_parts(shares)
    return {direction: parts[2 * place : 2 * place + 2] for place, direction in enumerate(ledgers)}


def _headline(here: Focus, table: pd.DataFrame, parts: Mapping[str, Sequence[float]], state: State) -> str:
    """The frontier integral with its spread, and how much of it is added and missed."""
    run_id, kind, candidate, _ = here.key
    found = cache.rescored(run_id, kind, None, state.smoothing).candidate(candidate).estimate("frontier_integral", kind)
    value = with_spread(found.mean, found.sd, SCORE_DECIMALS)
    seeds, own = len(found.values), ""
    if seeds > 1:
        value += f" over {seeds} seeds"
        own = f" With these clusters it is {written(table['cost'].sum(), SCORE_DECIMALS)}."
    low, high = cache.costs_of(*here.key, state.smoothing).adds
    adds, misses = (as_percent(sum(parts[direction]), 1) for direction in DIRECTIONS)
    return (
        f"**Frontier integral {value}** ({interval(found.low, found.high, SCORE_DECIMALS)}).{own} "
        f"{_swatch(here, ADDS)} **{adds}** ({percent_interval(low, high)}) is what the model adds, "
        f"{_swatch(here, MISSES)} **{misses}** "
        f"({percent_interval(1 - high, 1 - low)}) what it misses."
    )


def _swatch(here: Focus, direction: str) -> str:
    return swatch(here.colour if direction == ADDS else HUMAN_COLOUR)


def shown_list(here: Focus, rows: pd.DataFrame, labels: NDArray[np.str_]) -> pd.DataFrame:
    """The ledger as a list: cluster, cost with its interval, stability, human and model texts."""
    single = rows["cluster"] != TOGETHER
    return pd.DataFrame(
        {
            "cluster": row_labels(rows, here.names),
            "cost": [
                percent_with_interval(share, low, high) if one else as_percent(share, 1)
                for share, low, high, one in zip(rows["share"], rows["low"], rows["high"], single, strict=True)
            ],
            "stability": [
                labels[int(cluster)] if one else "" for cluster, one in zip(rows["cluster"], single, strict=True)
            ],
            "texts": [counts_label(human, model) for human, model in zip(rows["human"], rows["model"], strict=True)],
            **_found_column(rows),
        }
    )


def _found_column(rows: pd.DataFrame) -> dict[str, list[str]]:
    """The texts that a search found, likewise; nothing without a search."""
    if not has_found(rows):
        return {}
    pairs = zip(rows["found_human"], rows["found_model"], strict=True)
    return {"found": [counts_label(human, model) for human, model in pairs]}


def counts_label(human: float, model: float) -> str:
    """Text counts of both sides in one cell, which leaves room for names in a narrow list."""
    return f"{written(human, 0)} : {written(model, 0)}"


def _bars(here: Focus, direction: str, rows: pd.DataFrame, parts: Sequence[float], reach: tuple[float, float]) -> None:
    title = said(TITLES[direction])
    st.markdown(f"{_swatch(here, direction)} **{title}**  \n{as_percent(sum(parts), 1)} of the frontier integral")
    charts.show_chart(
        ledger_figure(
            rows,
            direction,
            here.names,
            colour=here.colour,
            reach=reach,
            chosen=here.cluster,
            words=here.run.comparison.words,
        ),
        key=_CHART.format(direction),
        file_name=f"{here.run.name}-{here.candidate}-{direction}",
        on_select=partial(_choose_bar, direction),
        selection_mode="points",
        alt=f"{title}: each cluster's share of the frontier integral; the list below has the same numbers.",
    )
    st.caption(sum_in_words(rows, parts))


def sum_in_words(rows: pd.DataFrame, parts: Sequence[float]) -> str:
    """How the bars and the remaining clusters of a direction add up."""
    single = rows["cluster"] != TOGETHER
    count = int(single.sum())
    shown = f"{count:,} cluster{'' if count == 1 else 's'} shown: {as_percent(parts[0], 1)}"
    rest = [f"{label}: {as_percent(parts[1], 1)}" for label in row_labels(rows[~single], ())]
    return f"{'; '.join([shown, *rest])}; together {as_percent(sum(parts), 1)}."


def _list(here: Focus, direction: str, rows: pd.DataFrame) -> None:
    title = TITLES[direction]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{_swatch(here, direction)} **{title.partition(':')[0]}**, cluster by cluster", width="stretch")
        charts.csv_button(
            lambda: rows.assign(name=[here.names[int(c)] if c != TOGETHER else "" for c in rows["cluster"]]),
            key=f"gap_csv_{direction}",
            file_name=f"{here.run.name}-{here.candidate}-{direction}",
        )
    bound.table(
        "cluster",
        shown_list(here, rows, cache.cluster_stability(*here.key).label),
        [None if cluster == TOGETHER else cluster for cluster in rows["cluster"].tolist()],
        key=f"gap_list_{direction}",
        height=_LIST_HEIGHT,
        column_config={
            "cost": st.column_config.TextColumn(help=said(COST_HELP)),
            "stability": st.column_config.TextColumn(help=_STABILITY_HELP),
            "texts": st.column_config.TextColumn(said("texts"), help=said(COUNTS_HELP)),
            "found": st.column_config.TextColumn(help=said(_FOUND_HELP)),
        },
    )


def _counts(here: Focus, table: pd.DataFrame) -> None:
    """The clusters with their counts alone, the largest first."""
    size = table["human"] + table["model"]
    rows = table.loc[size.sort_values(ascending=False, kind="stable").index, ["cluster", "human", "model"]]
    bound.table(
        "cluster",
        rows.assign(cluster=[labelled(here.names, cluster) for cluster in rows["cluster"]]),
        rows["cluster"].tolist(),
        key="gap_list_counts",
        height=_LIST_HEIGHT,
        column_config={
            "human": st.column_config.NumberColumn(here.run.comparison.words.reference, format="localized"),
            "model": st.column_config.NumberColumn(here.candidate, format="localized"),
        },
    )
    st.caption(said(f"{len(rows):,} clusters of the {here.partition.kind} partition, with their texts on either side."))


def _choose_bar(direction: str) -> None:
    cluster = clicked_value(bound.selection_of(_CHART.format(direction)), 0)
    if cluster is not None and cluster != TOGETHER:
        session.update(cluster=cluster)
