"""Methods: whether the ranking depends on the estimator or the encoder, and whether texts and clusters are enough.

How many texts and clusters one candidate's score needs is read from errors measured by resampling, and from the empty
clusters of all.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from mauve_app import cache
from mauve_app.components import charts, jobs, page_chrome, sidebar
from mauve_app.components.markup import escaped, with_minus
from mauve_app.components.messages import or_error
from mauve_app.components.page_chrome import words
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import MethodsSection
from mauve_app.views import methods_encoders, methods_estimators
from mauve_core.analyses.encoders import stored_encoders
from mauve_core.analyses.method_scores import stored_methods
from mauve_core.figures import sampling as figures
from mauve_core.figures.theme import Style, candidate_styles, short_name
from mauve_core.runs import Run
from mauve_core.scoring import tables
from mauve_core.stats.sampling_error import ClusterAdvice, TextAdvice

SECTIONS: dict[MethodsSection, str] = {"methods": "Estimators", "encoders": "Encoders"}


def main() -> None:
    """Lay out the page."""
    head = page_chrome.head(
        "Methods", f"Does the ranking depend on how the gap is estimated, and are there enough {words().items}?"
    )
    run = sidebar.opened_run()
    with head:
        section = bound.segmented_control(
            "methods_section", "Section", SECTIONS, key="url_methods_section", label_visibility="collapsed"
        )
    if section == "encoders":
        _encoders(run)
    else:
        _methods(run)


def _methods(run: Run) -> None:
    table = or_error(stored_methods, run)
    if table is None:
        page_chrome.nothing_yet(
            "Nothing has been computed yet.",
            "A score involves three choices: an **estimator** that turns features into two histograms, a "
            "**divergence** between them, and a **summary** of its frontier. MAUVE uses k-means, Kullback–Leibler and "
            "the area under the curve. Where other methods rank the candidates alike, the ranking does not depend on "
            "these choices.",
            f"Press *Compute* below, or run `mauve-lens methods {run.id} --preset divergences`. The preselected "
            "methods take seconds.",
        )
    else:
        methods_estimators.show(run, table)
    if access.may_change():
        again = None if table is None else "Compute again with other methods"
        with jobs.box(methods_estimators.slot(run), again):
            methods_estimators.show_form(run, table)
    title = f"How many {run.comparison.words.items}, how many clusters"
    with page_chrome.expander(title, "methods_sampling", "straighten", asked=False) as part:
        if part.open:
            _enough(run.id)


_OF_TEXTS = (
    ": a causal model's last token, an average over tokens, word vectors that know no order, or a sentence encoder "
    "that knows topics better than style"
)


def _encoders(run: Run) -> None:
    table = or_error(stored_encoders, run)
    if table is None:
        page_chrome.nothing_yet(
            f"The run's {words().items} have been scored under one encoder only.",
            f"A score sees what its **encoder** sees{_OF_TEXTS if run.comparison.has_words else ''}. Where encoders "
            "rank the candidates alike, the ranking does not depend on this choice.",
            f"Press *Compute* below, or run `mauve-lens encoders {run.id}`. {words().items.capitalize()} that are not "
            "encoded yet take minutes.",
        )
    else:
        methods_encoders.show(run, table, session.current())
    methods_encoders.show_positions(run)
    if access.may_change():
        again = None if table is None else "Compute again with other encoders"
        with jobs.box(methods_encoders.slot(run), again):
            methods_encoders.show_form(run, table)


@st.fragment
def _enough(run_id: str) -> None:
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
        _enough_texts(run, texts, style)
    with right:
        _enough_clusters(run, clusters, texts.k, style)
    st.caption(
        f"Pairwise partition, the candidate's median seed; {texts.curve.replicates:,} draws at each point from the "
        f"histogram with half {run.comparison.words.one} added to every cluster; clusters are kept. ±: standard error "
        "over draws; band: one standard deviation. Fewer clusters: the run's own, merged in order of p/q. More need a "
        "new clustering: Decoders, Sweeps, k."
    )
    _empty_clusters(run)


def _empty_clusters(run: Run) -> None:
    """How many clusters lack a side, for every candidate."""
    rows = [(f"**{escaped(short_name(name))}**", *cells) for name, *cells in tables.empty_cluster_rows(run.comparison)]
    words = run.comparison.words
    with st.expander(tables.EMPTY_CLUSTERS_TITLE, icon=":material/grid_off:", key="empty_clusters"):
        st.table(
            pd.DataFrame(rows, columns=[*map(words.fill, tables.EMPTY_CLUSTERS_COLUMNS)]),
            border="horizontal",
            hide_index=True,
        )
        st.caption(words.fill(tables.EMPTY_CLUSTERS_NOTE))


def _enough_texts(run: Run, advice: TextAdvice, style: Style) -> None:
    _enough_head(
        "Error against n", "sampling_n_csv", lambda: figures.texts_frame(advice), f"{run.name}-error-against-n"
    )
    if advice.error > 0:
        charts.show_chart(
            figures.texts_figure(advice, style, run.comparison.words),
            key="sampling_n",
            file_name=f"{run.name}-error-against-n",
            alt=f"Resampling error against the number of {words().items}; the sentence below says how many are needed.",
        )
    st.markdown(escaped(with_minus(advice.reason)))


def _enough_clusters(run: Run, advice: ClusterAdvice, own: int, style: Style) -> None:
    _enough_head(
        "Error against k", "sampling_k_csv", lambda: figures.clusters_frame(advice), f"{run.name}-error-against-k"
    )
    if len(advice.curve.k) > 1 and (advice.curve.mean > 0).any():
        charts.show_chart(
            figures.clusters_figure(advice, own, style),
            key="sampling_k",
            file_name=f"{run.name}-error-against-k",
            alt="Resampling error and loss against the number of clusters; the sentence below says where they balance.",
        )
    st.markdown(escaped(with_minus(advice.reason)))


def _enough_head(title: str, key: str, make: Callable[[], pd.DataFrame], file_name: str) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown(f"**{title}**", width="content")
        st.space("stretch")
        charts.csv_button(make, key=key, file_name=file_name)


if __name__ == "__main__":
    main()
