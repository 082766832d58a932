"""How many texts and clusters one candidate's score needs: errors measured by resampling, and empty clusters of all."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import charts
from mauve_app.components.markup import escaped, with_minus
from mauve_app.components.messages import or_error
from mauve_app.components.saying import said
from mauve_app.url import bound
from mauve_core.figures import sampling as figures
from mauve_core.figures.theme import Style, candidate_styles, short_name
from mauve_core.numerics.resampling.sampling_clusters import ClusterAdvice
from mauve_core.numerics.resampling.sampling_texts import TextAdvice
from mauve_core.scoring import empty_clusters
from mauve_core.store import Run


@st.fragment
def show(run_id: str) -> None:
    """Both figures with their advice, for the URL's candidate, else the run's first."""
    run = cache.load_run(run_id)
    items = run.comparison.words.items
    st.caption(
        f"{items.capitalize()} are drawn repeatedly from the candidate's histogram and scored. The resampling error is "
        "how far these scores lie from that of the histogram (JMLR 2023, section 7.8)."
    )
    titles = {candidate.name: short_name(candidate.name) for candidate in run.comparison.candidates}
    names = list(titles)
    candidate = bound.selectbox("candidate", "Candidate", titles, names[0], omit_default=False, width=260)
    advice = or_error(cache.sampling_advice, run.id, candidate)
    if advice is None:
        return
    texts, clusters = advice
    style = candidate_styles(names)[candidate]
    left, right = st.columns(2, gap="medium")
    with left:
        _texts(run, texts, style)
    with right:
        _clusters(run, clusters, texts.k, style)
    st.caption(
        f"Pairwise partition, the candidate's median seed; {texts.curve.replicates:,} draws at each point from the "
        f"histogram with half {run.comparison.words.one} added to every cluster; clusters are kept. ±: standard error "
        "over draws; band: one standard deviation. Fewer clusters: the run's own, merged in order of p/q. More need a "
        "new clustering: Decoders, Sweeps, k."
    )
    _empty_clusters(run)


def _empty_clusters(run: Run) -> None:
    """How many clusters lack a side, for every candidate."""
    rows = [
        (f"**{escaped(short_name(name))}**", *cells)
        for name, *cells in empty_clusters.empty_cluster_rows(run.comparison)
    ]
    said = run.comparison.words.said
    with st.expander(empty_clusters.TITLE, icon=":material/grid_off:", key="empty_clusters"):
        st.table(pd.DataFrame(rows, columns=[*map(said, empty_clusters.COLUMNS)]), border="horizontal", hide_index=True)
        st.caption(said(empty_clusters.NOTE))


def _texts(run: Run, advice: TextAdvice, style: Style) -> None:
    _head("Error against n", "sampling_n_csv", lambda: figures.texts_frame(advice), f"{run.name}-error-against-n")
    if advice.error > 0:
        charts.show_chart(
            figures.texts_figure(advice, style, run.comparison.words),
            key="sampling_n",
            file_name=f"{run.name}-error-against-n",
            alt=said("Resampling error against the number of texts; the sentence below says how many are needed."),
        )
    st.markdown(escaped(with_minus(said(advice.reason))))


def _clusters(run: Run, advice: ClusterAdvice, own: int, style: Style) -> None:
    _head("Error against k", "sampling_k_csv", lambda: figures.clusters_frame(advice), f"{run.name}-error-against-k")
    if len(advice.curve.k) > 1 and (advice.curve.mean > 0).any():
        charts.show_chart(
            figures.clusters_figure(advice, own, style),
            key="sampling_k",
            file_name=f"{run.name}-error-against-k",
            alt="Resampling error and loss against the number of clusters; the sentence below says where they balance.",
        )
    st.markdown(escaped(with_minus(said(advice.reason))))


def _head(title: str, key: str, make: Callable[[], pd.DataFrame], file_name: str) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown(f"**{title}**", width="content")
        st.space("stretch")
        charts.csv_button(make, key=key, file_name=file_name)
