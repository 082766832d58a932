"""The clusters that the page shows by how pure they are in one column of metadata; a ticked row opens its cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from app.caching import cache
from app.caching.by_run import kept_by_run
from app.components import charts
from app.components.focus import Focus
from app.url import session
from mauve_core.analysis.attributes import category_columns
from mauve_core.analysis.cluster_table import CONFIDENCE
from mauve_core.analysis.purity_table import purest_clusters
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.formatting import percent_with_interval

_SIDES, _COLUMN, _TABLE, _SHOWN = "purity_sides", "purity_column", "purity_table", "purity_shown"
_LIST_HEIGHT = 248


def show(here: Focus) -> None:
    """The list of the focus' partition, with the choice of column and of the texts that count."""
    sides = {"human": (HUMAN,), "model": (here.candidate,), "both": (HUMAN, here.candidate)}
    usable = {side: columns for side, names in sides.items() if (columns := _columns(here.run.id, names))}
    if not usable:
        st.caption("These texts carry no column of metadata that sorts them, so that no cluster can be pure in one.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown("**Purest clusters**", width="content")
        side = _pick("whose", _SIDES, "Whose texts", list(usable), {"model": here.candidate})
        column = _pick("pure", _COLUMN, "Column", list(usable[side]), {})
        rows = _purest(*here.key, sides[side], column)
        st.space("stretch")
        name = f"{here.run.name}-{here.partition.kind}-purity"
        charts.csv_button(lambda: rows.assign(column=column), key="purity_csv", file_name=name)
    _purity_list(here, rows)
    st.caption(
        f"{len(rows):,} of {here.partition.k:,} clusters of the {here.partition.kind} partition have such texts; by "
        f"the lower end of Wilson's {CONFIDENCE:.0%} interval of the share, as if the value had been named beforehand. "
        "Tick a row to open its cluster above."
    )


def shown_purity(rows: pd.DataFrame) -> pd.DataFrame:
    """The table of pure clusters with the share and its interval as text."""
    shares = [
        percent_with_interval(share, low, high)
        for share, low, high in zip(rows["share"], rows["low"], rows["high"], strict=True)
    ]
    return pd.DataFrame(
        {
            "cluster": rows["cluster"],
            "most frequent value": rows["value"],
            "its share": shares,
            "texts": rows["n"],
            "of all texts": rows["of_all"],
        }
    )


def _pick(field: str, key: str, label: str, offered: Sequence[str], titles: dict[str, str]) -> str:
    """What the URL's ``field`` names of what is offered, else the first of it."""
    wanted = getattr(session.current(), field)
    shown = wanted if wanted in offered else offered[0]
    session.follow_url(key, shown)
    chosen = st.selectbox(
        label,
        offered,
        index=session.place(offered, shown),
        key=key,
        format_func=lambda item: titles.get(item, item),
        on_change=session.write_choice,
        args=(field, key, offered[0]),
        width=180,
    )
    return str(chosen)


def _purity_list(here: Focus, rows: pd.DataFrame) -> None:
    st.session_state[_SHOWN] = rows["cluster"].tolist()
    places = rows.index[rows["cluster"] == here.cluster].tolist()
    st.session_state[_TABLE] = {"selection": {"rows": places, "columns": [], "cells": []}}
    st.dataframe(
        shown_purity(rows),
        hide_index=True,
        height=_LIST_HEIGHT,
        key=_TABLE,
        on_select=_choose_row,
        selection_mode="single-row",
        column_config={
            "cluster": st.column_config.NumberColumn(width="small"),
            "of all texts": st.column_config.NumberColumn(format="percent", help="Share of the value in all of them"),
            "texts": st.column_config.NumberColumn(help="Of the cluster, with a value"),
        },
    )


def _choose_row() -> None:
    rows = st.session_state[_TABLE]["selection"]["rows"]
    session.update(cluster=st.session_state[_SHOWN][rows[0]] if rows else None)


@kept_by_run(max_entries=32, show_spinner=False)
def _purest(
    run_id: str, kind: PartitionKind, candidate: str, seed: int, sources: tuple[str, ...], column: str
) -> pd.DataFrame:
    partition = cache.load_run(run_id).comparison.partition(kind, candidate, seed)
    labels = np.concatenate([partition.labels[name] for name in sources])
    return purest_clusters(labels, partition.k, _columns(run_id, sources)[column])


@kept_by_run(max_entries=32, show_spinner="Reading columns")
def _columns(run_id: str, sources: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    corpora = cache.load_run(run_id).corpora
    return category_columns({name: corpora[name] for name in sources})
