"""The texts of a map area, or of the chosen cluster, next to the map; and the picture of the item under the mouse,
above the words of Plotly's own label.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from mauve_app import cache
from mauve_app.browser import component
from mauve_app.components import focus, texts
from mauve_app.components.focus import Focus
from mauve_app.components.markup import escaped
from mauve_app.components.page_chrome import words
from mauve_app.server import origins
from mauve_app.server.run_files import folder_url
from mauve_app.url import bound, session
from mauve_app.url.parameters import AreaTab
from mauve_core.analyses.selection import Stack
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import percent_with_interval
from mauve_core.findings.clusters import wilson_interval
from mauve_core.findings.why_cards import labelled
from mauve_core.reporting.spreadsheets import csv_bytes
from mauve_core.runs import Run
from mauve_core.texts.media import SIDES

TABS: dict[AreaTab, str] = {"texts": "{Items}", "counts": "Counts", "list": "List"}
AGAINST: dict[AreaTab, str] = {"against": "Against A"}

# Phrases of either area in the comparison.
MOST_PHRASES = 10

# Maximum number of rows in the page's list; the CSV has all.
MOST_LISTED = 1000

# Session key: how often the reader has cleared a selection with the button.
CLEARED = "map_cleared"


def show_area(
    here: Focus,
    stack: Stack,
    inside: NDArray[np.bool_],
    wanted: NDArray[np.bool_],
    hidden: tuple[int, ...],
    cluster: NDArray[np.int32],
    shares: NDArray[np.float64] | None = None,
    kept: NDArray[np.bool_] | None = None,
) -> None:
    """The texts where ``inside`` is true; all masks and labels cover the stacked texts.

    ``wanted`` are the texts that can be inside: those of the sources shown (``hidden`` are the others, by index) that
    the search found. ``shares`` are each cluster's share of the frontier integral, (k,); with them, the list starts
    with the texts of the costliest. ``kept`` are the texts of area A, if there is one.
    """
    _heading(f"{inside.sum():,} of {wanted.sum():,} {words().items} in the area", "lasso")
    if not inside.any():
        st.caption(f"No {words().item} lies in this area. Lasso another one.")
        return
    lasso = session.current().lasso
    with st.container(horizontal=True):
        st.button(
            "Keep as A" if kept is None else "Keep as A instead",
            icon=":material/select_all:",
            key="map_keep",
            help=f"Then lasso another area: its {words().items} and phrases are compared with those of A.",
            **bound.on_click(lasso=None, lasso_kept=lasso, area_tab="against"),
        )
        if kept is not None:
            st.button(
                "Clear A", type="tertiary", key="map_clear_a", **bound.on_click(lasso_kept=None, area_tab="texts")
            )
    _tabs(here, stack, inside, wanted, hidden, cluster, shares, kept)


def show_kept(kept: NDArray[np.bool_]) -> None:
    """Area A, while there is no second one."""
    _heading(f"Area A: {kept.sum():,} {words().items}", "lasso_kept")
    st.markdown(f":material/lasso_select: **Lasso another area** to compare its {words().items} with those of A.")


@st.fragment
def _tabs(
    here: Focus,
    stack: Stack,
    inside: NDArray[np.bool_],
    wanted: NDArray[np.bool_],
    hidden: tuple[int, ...],
    cluster: NDArray[np.int32],
    shares: NDArray[np.float64] | None,
    kept: NDArray[np.bool_] | None,
) -> None:
    """Build only the open tab; opening another one reruns nothing else."""
    if focus.of(here.run, session.current()).cluster != here.cluster:
        st.rerun()  # a row of the counts was selected, and the map shows it too
    titles = {tab: words().fill(title) for tab, title in (TABS if kept is None else {**AGAINST, **TABS}).items()}
    name, tab = bound.open_tab("area_tab", titles, "map_area_tabs" if kept is None else "map_areas_tabs")
    with tab:
        if name == "against" and kept is not None:
            _against(here, stack, inside, kept)
        elif name == "texts":
            _read(here, stack, inside, hidden)
        elif name == "counts":
            st.dataframe(_percentages(source_counts(stack, inside, wanted)), hide_index=True, key="map_area_sources")
            _clusters(here, stack, inside, wanted, cluster)
        else:
            _list(here, stack, inside, cluster, shares)


def _against(here: Focus, stack: Stack, inside: NDArray[np.bool_], kept: NDArray[np.bool_]) -> None:
    """Counts and phrases of the two areas; texts in both belong to neither."""
    own, others = inside & ~kept, kept & ~inside
    both = int((inside & kept).sum())
    st.dataframe(area_counts(stack, own, others), hide_index=True, key="map_areas_counts")
    if both:
        st.caption(f"{both:,} {words().items} lie in both areas and are left out.")
    if not own.any() or not others.any():
        st.caption(f"One area has no {words().item} of its own.")
        return
    found = cache.area_phrases(here.run.id, tuple(np.flatnonzero(own)), tuple(np.flatnonzero(others)), MOST_PHRASES)
    for title, phrases, size, other_size in (
        ("More often in this area", found[0], own.sum(), others.sum()),
        ("More often in A", found[1], others.sum(), own.sum()),
    ):
        st.markdown(f"**{title}**")
        if phrases:
            rows = [
                (each.text, f"{each.texts:,} of {size:,}", f"{each.other_texts:,} of {other_size:,}")
                for each in phrases
            ]
            st.dataframe(pd.DataFrame(rows, columns=["phrase", words().items, "in the other"]), hide_index=True)
        else:
            st.caption("No phrase stands out.")
    st.caption(
        "Phrases of up to three words by log odds with a Dirichlet prior; each one's 95% interval lies above 0. "
        f"Both sides' {words().items} count together."
    )


def area_counts(stack: Stack, inside: NDArray[np.bool_], kept: NDArray[np.bool_]) -> pd.DataFrame:
    """One row per source with a text in either area: its texts in this area and in A."""
    rows = []
    for index, name in enumerate(stack.names):
        own = stack.source == index
        counts = int((inside & own).sum()), int((kept & own).sum())
        if any(counts):
            rows.append((name, *counts))
    return pd.DataFrame(rows, columns=["source", "this area", "A"])


def show_cluster(here: Focus, stack: Stack, inside: NDArray[np.bool_], hidden: tuple[int, ...]) -> None:
    """Show the texts of the chosen cluster."""
    if here.cluster is not None:
        _heading(escaped(labelled(here.names, here.cluster)), "cluster")
    st.page_link("views/clusters.py", label="Words, metadata and errors", icon=":material/bar_chart:")
    _read(here, stack, inside, hidden)


def show_found(here: Focus, stack: Stack, found: NDArray[np.bool_], hidden: tuple[int, ...]) -> None:
    """The texts that the search found, while no area and no cluster is chosen."""
    st.header(f"{found.sum():,} {words().items} found", anchor=False)
    _read(here, stack, found, hidden)


def source_counts(stack: Stack, inside: NDArray[np.bool_], wanted: NDArray[np.bool_]) -> pd.DataFrame:
    """One row per source: its texts inside, those that can be, the share, and the share's Wilson interval.

    A source none of whose texts is ``wanted`` has no row: how many of them lie in the area was not asked.
    """
    rows = []
    for index, name in enumerate(stack.names):
        own = wanted & (stack.source == index)
        count, n = int((inside & own).sum()), int(own.sum())
        if not n:
            continue
        low, high = wilson_interval(count, n)
        rows.append({"source": name, "in area": count, "of": n, "share": count / n, "low": low, "high": high})
    return pd.DataFrame(rows)


def cluster_counts(
    stack: Stack,
    inside: NDArray[np.bool_],
    wanted: NDArray[np.bool_],
    cluster: NDArray[np.int32],
    names: tuple[str, ...],
) -> pd.DataFrame:
    """One row per cluster in the area: texts of two sources, their totals, and the cluster's share of both.

    ``share`` is the cluster's share of the area's texts, ``overall`` its share of all texts of these sources that are
    ``wanted``. A source without any has no column.
    """
    names = tuple(name for name in names if stack.positions(wanted, name).size)
    ours = np.isin(stack.source, [stack.names.index(name) for name in names]) & (cluster >= 0) & wanted
    total = np.bincount(cluster[ours])
    counts = np.bincount(cluster[ours & inside], minlength=total.size)
    table = pd.DataFrame({"cluster": np.arange(total.size)})
    for name in names:
        own = inside & ours & (stack.source == stack.names.index(name))
        table[name] = np.bincount(cluster[own], minlength=total.size)
    table["of"] = total
    table["share"] = counts / max(1, counts.sum())
    table["overall"] = total / max(1, total.sum())
    return table[counts > 0].sort_values(["share", "cluster"], ascending=[False, True], ignore_index=True)


def listed(
    here: Focus,
    stack: Stack,
    inside: NDArray[np.bool_],
    cluster: NDArray[np.int32],
    most: int | None,
    shares: NDArray[np.float64] | None = None,
) -> pd.DataFrame:
    """Source, id, cluster by name and number, and text of the selected texts.

    Texts are in full if ``most`` is None; else the first ``most``, cut.

    A text has no cluster if the partition leaves out its source.

    With ``shares`` by cluster, the largest come first, and texts without a cluster last.
    """
    indices = np.flatnonzero(inside)
    if shares is not None:
        own = np.where(cluster[indices] < 0, -np.inf, shares[cluster[indices]])
        indices = indices[np.argsort(-own, kind="stable")]
    indices = indices[:most]
    rows = []
    for index in indices:
        name = stack.names[stack.source[index]]
        corpus, position = here.run.corpora[name], stack.position[index]
        text = corpus.texts[position] if most is None else texts.snippet(corpus.texts[position])
        rows.append((name, corpus.ids[position], int(cluster[index]), text))
    table = pd.DataFrame(rows, columns=["source", "id", "cluster", "text"])
    named = [here.names[each] if each >= 0 else "" for each in table["cluster"]]
    table.insert(2, "cluster name", named)
    return table.assign(cluster=table["cluster"].astype("Int64").where(table["cluster"] >= 0))


def _heading(title: str, field: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(title, anchor=False)
        st.button("Clear", icon=":material/close:", type="tertiary", on_click=_clear, args=(field,), key="map_clear")


def _clear(field: str) -> None:
    session.update(**{field: None})
    st.session_state[CLEARED] = st.session_state.get(CLEARED, 0) + 1


def _read(here: Focus, stack: Stack, inside: NDArray[np.bool_], hidden: tuple[int, ...]) -> None:
    model = here.candidate, stack.positions(inside, here.candidate)
    texts.side_by_side(
        here.run,
        stack.positions(inside, HUMAN),
        model,
        colour=here.colour,
        key="map_texts",
        stacked=True,
        hidden=[stack.names[place] for place in hidden if place < len(stack.names)],
    )


def _percentages(table: pd.DataFrame) -> pd.DataFrame:
    shares = [
        percent_with_interval(share, low, high)
        for share, low, high in zip(table["share"], table["low"], table["high"], strict=True)
    ]
    return table.drop(columns=["low", "high"]).assign(share=shares)


def _clusters(
    here: Focus, stack: Stack, inside: NDArray[np.bool_], wanted: NDArray[np.bool_], cluster: NDArray[np.int32]
) -> None:
    table = cluster_counts(stack, inside, wanted, cluster, (HUMAN, here.candidate))
    percent = st.column_config.NumberColumn(format="percent")
    shares = {"share": percent, "overall": percent}
    named = table.assign(cluster=[labelled(here.names, each) for each in table["cluster"]])
    bound.table("cluster", named, table["cluster"].tolist(), key="map_area_clusters", column_config=shares)
    st.caption(
        f"share: of the area's {words().items}; overall: of all {words().items} that are shown or found. Select a row "
        "to choose a cluster."
    )


def _list(
    here: Focus,
    stack: Stack,
    inside: NDArray[np.bool_],
    cluster: NDArray[np.int32],
    shares: NDArray[np.float64] | None,
) -> None:
    rows = listed(here, stack, inside, cluster, MOST_LISTED, shares)
    st.dataframe(rows, hide_index=True, key="map_area_list")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{len(rows):,} of {inside.sum():,} {words().items} listed.", width="stretch")
        st.download_button(
            f"CSV with full {words().items}",
            lambda: csv_bytes(listed(here, stack, inside, cluster, None, shares)),
            file_name=f"{here.run.id}-area.csv",
            mime="text/csv",
            key="map_area_csv",
            icon=":material/download:",
            on_click="ignore",
            type="tertiary",
        )


# Points of a map whose pictures are shown: the browser gets the digest of each, 64 letters.
MOST_PICTURES = 5_000

_hovered = component("mauve_lens_hovered_picture", "hovered_picture", '<img class="picture" alt="" hidden>')


def show_hovered_picture(run: Run, stack: Stack, drawn: NDArray[np.intp], *, chart: str) -> None:
    """Show pictures over the chart of that key.

    Texts, and maps of more than ``MOST_PICTURES`` points, have none.

    Parameters
    ----------
    drawn : (m,) int array
        Places in the stack of the items that the map draws.
    """
    media = [run.corpora[name].media for name in stack.names]
    if origins.is_plain_streamlit() or drawn.size > MOST_PICTURES or any(each is None for each in media):
        return
    digests = [each.digests for each in media if each is not None]
    owners = zip(drawn.tolist(), stack.source[drawn].tolist(), stack.position[drawn].tolist(), strict=True)
    _hovered(
        key="map_picture",
        data={
            "chart": chart,
            "folders": [folder_url(run, name, SIDES[0]) for name in stack.names],
            "pictures": {str(place): [source, digests[source][row]] for place, source, row in owners},
        },
    )
