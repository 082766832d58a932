"""The shown clusters ranked by purity in one metadata column; a selected row opens its cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from mauve_app.caching import cache
from mauve_app.caching.by_run import kept_by_run
from mauve_app.components import charts
from mauve_app.components.focus import Focus
from mauve_app.components.saying import said
from mauve_app.url import bound
from mauve_core.analysis.attributes import category_columns
from mauve_core.analysis.cluster_names import labelled
from mauve_core.analysis.cluster_table import CONFIDENCE
from mauve_core.analysis.purity_table import purest_clusters
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.formatting import as_percent, percent_with_interval

_LIST_HEIGHT = 248


def show(here: Focus) -> None:
    """The list for the focus' partition, with pickers of the column and of the texts that count."""
    sides = {"human": (HUMAN,), "model": (here.candidate,), "both": (HUMAN, here.candidate)}
    usable = {side: columns for side, names in sides.items() if (columns := _columns(here.run.id, names))}
    if not usable:
        st.caption(said("These texts have no metadata column that sorts them, so no cluster can be pure in one."))
        return
    items = here.run.comparison.words.items
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown("**Purest clusters**", width="content")
        titles = {
            side: here.candidate if side == "model" else here.run.comparison.words.source(side) for side in usable
        }
        side = bound.selectbox(
            "purity_side",
            f"{here.run.comparison.words.items.capitalize()} of",
            titles,
            next(iter(usable)),
            key="url_purity_side",
            width=180,
        )
        offered = list(usable[side])
        column = bound.selectbox("purity_column", "Column", offered, offered[0], key="url_purity_column", width=180)
        rows = _purest(*here.key, sides[side], column)
        st.space("stretch")
        name = f"{here.run.name}-{here.partition.kind}-purity"
        charts.csv_button(lambda: rows.assign(column=column), key="purity_csv", file_name=name)
    _purity_list(here, rows)
    st.caption(
        f"{len(rows):,} of {here.partition.k:,} clusters of the {here.partition.kind} partition have such {items}, "
        f"sorted by the lower limit of Wilson's {CONFIDENCE:.0%} interval of the share, as if the value had been "
        "named in advance. Select a row to open its cluster above."
    )


def shown_purity(rows: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The table of pure clusters, by name, with shares and their intervals as text."""
    shares = [
        percent_with_interval(share, low, high)
        for share, low, high in zip(rows["share"], rows["low"], rows["high"], strict=True)
    ]
    return pd.DataFrame(
        {
            "cluster": [labelled(names, cluster) for cluster in rows["cluster"]],
            "most frequent value": rows["value"],
            "its share": shares,
            "texts": rows["n"],
            said("of all texts"): [as_percent(share, 1) for share in rows["of_all"]],
        }
    )


def _purity_list(here: Focus, rows: pd.DataFrame) -> None:
    bound.table(
        "cluster",
        shown_purity(rows, here.names),
        rows["cluster"].tolist(),
        key="purity_table",
        height=_LIST_HEIGHT,
        column_config={
            said("of all texts"): st.column_config.TextColumn(help=said("Share of the value among all texts")),
            "texts": st.column_config.NumberColumn(said("texts"), help=said("Texts of the cluster that have a value")),
        },
    )


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
