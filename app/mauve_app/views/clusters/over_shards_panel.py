"""Clusters over all texts of corpora in shards, where the run is a sample of these texts: shares, phrases and texts."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from mauve_app.caching import cache
from mauve_app.caching.by_run import kept_by_run
from mauve_app.components import charts, focus
from mauve_app.components.focus import Focus
from mauve_app.components.markup import escaped, swatch
from mauve_app.components.messages import or_error
from mauve_app.selection import clicked_value
from mauve_app.url import bound, session
from mauve_app.url.parameters import KeptTexts
from mauve_app.views.clusters import more_texts
from mauve_app.views.clusters.more_texts import More
from mauve_core.analysis.cluster_names import labelled
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import plural
from mauve_core.experiments.cluster_shares import (
    ABOUT,
    ABOUT_PHRASES,
    cluster_of,
    phrase_shares,
    sentence,
    share_label,
    share_table,
)
from mauve_core.experiments.clusters_over_shards import (
    ATTACHMENT,
    ClusterOverAll,
    ClustersOverAll,
    SideOverAll,
    stored_clusters_over_all,
)
from mauve_core.experiments.over_shards import is_sample, missing_sentence, stored_over_shards
from mauve_core.figures.clusters import ranked_figure
from mauve_core.figures.theme import HUMAN_COLOUR, short_name
from mauve_core.shards.cluster_texts import KeptText
from mauve_core.shards.result import ShardedComparison
from mauve_core.store import Run
from mauve_core.store.folder import ATTACHED

_CHART = "clusters_of_all_chart"
_HEIGHT, _TEXTS_HEIGHT = 560, 500
_TITLES: dict[KeptTexts, str] = {"random": "Random", "nearest": "Nearest to the center"}


def show(here: Focus) -> None:
    """The panel, and a heading for what follows on the page; nothing for runs that are no sample of shards."""
    read = or_error(_read, here.run.id, _stamp(here.run))
    if read is None:
        return
    found, clusters = read
    own = clusters[here.candidate]
    table = share_table(found, own)
    chosen = cluster_of(own, session.current().cluster_of_all)
    with st.container(border=True, key="clusters_of_all"):
        st.header("Clusters over all texts", anchor=False, help=ABOUT)
        if chosen is None:
            st.markdown("Both sides have the same share of their texts in every cluster.")
        else:
            st.markdown(sentence(table, f"**{escaped(short_name(here.candidate))}**", escaped))
            if missing := missing_sentence(found):
                st.warning(escaped(missing), icon=":material/visibility_off:")
            random = session.current().texts_of_all == "random"
            more = more_texts.of(here.run.id, found, own, chosen, random=random)
            _clusters(here, table, more, found[own.name].k)
    what = "sample" if is_sample(here.run, found) else "run"
    st.header(f"Clusters of the {what}", anchor=False, help=_ABOUT_SAMPLE)


_ABOUT_SAMPLE = (
    "Found by k-means among the texts of this run alone. Their numbers have nothing to do with those of the clusters "
    "over all texts."
)


def _clusters(here: Focus, table: pd.DataFrame, more: More, k: int) -> None:
    chosen = more.cluster
    names = dict(zip(table["cluster"].tolist(), table["name"], strict=True))
    _pickers(here, names, chosen)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        with st.container(height=_HEIGHT, key="clusters_of_all_list"):
            charts.show_chart(
                ranked_figure(table, here.candidate, names, colour=here.colour, chosen=chosen.number),
                key=_CHART,
                file_name=f"{here.run.name}-{here.candidate}-clusters-over-all",
                on_select=_choose_bar,
                selection_mode="points",
                alt=f"Share of all human and model texts in each of {len(table)} clusters, with intervals.",
            )
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(table):,} of {k:,} clusters", width="content")
            charts.csv_button(
                lambda: table,
                key="clusters_of_all_csv",
                file_name=f"{here.run.name}-{here.candidate}-clusters-over-all",
            )
    with right:
        _cluster(here, table[table["cluster"] == chosen.number].iloc[0], more)


def _pickers(here: Focus, names: dict[int, str], chosen: ClusterOverAll) -> None:
    with focus.row():
        candidates = [candidate.name for candidate in here.run.comparison.candidates]
        bound.selectbox(
            "candidate",
            "Candidate",
            candidates,
            candidates[0],
            key="candidate_of_all",
            omit_default=False,
            width=220,
        )
        bound.selectbox(
            "cluster_of_all",
            "Cluster of all texts",
            list(names),
            next(iter(names)),
            format_func=lambda number: labelled(names, number),
            width=320,
        )
        if chosen.human.sampled or chosen.model.sampled:
            bound.segmented_control("texts_of_all", "Texts", _TITLES)


def _cluster(here: Focus, row: pd.Series, more: More) -> None:
    way = session.current().texts_of_all
    cluster = more.cluster
    sides = (
        (HUMAN, HUMAN_COLOUR, "Human", cluster.human, "p"),
        (here.candidate, here.colour, short_name(here.candidate), cluster.model, "q"),
    )
    for column, (source, colour, title, side, share) in zip(st.columns(2, gap="medium"), sides, strict=True):
        with column:
            st.markdown(f"{swatch(colour)} **{escaped(title)}** · {plural(side.n, 'text')}, {share_label(row, share)}")
            if cluster.human.phrases or cluster.model.phrases:
                names = [HUMAN, escaped(short_name(here.candidate))]
                st.markdown(_phrases(cluster, side, *(names if share == "p" else names[::-1])), help=ABOUT_PHRASES)
            draw = partial(_texts, key=f"clusters_of_all_{share}")
            if way == "random" and (cluster.human.sampled or cluster.model.sampled):
                more.show(source, side, draw, share)
            elif cluster.human.sampled or cluster.model.sampled:
                draw(side.nearest)
    if way == "random":
        more.say_where()


def _phrases(cluster: ClusterOverAll, side: SideOverAll, own: str, other: str) -> str:
    """What the side says more often than the other, and in how many of its texts."""
    if not side.phrases:
        return f"No phrase is clearly in more {own} texts of this cluster."
    lines = (f"- *{escaped(said)}*: {here} against {there}" for said, here, there in phrase_shares(cluster, side))
    return "\n".join([f"In more {own} texts of this cluster than {other} texts:", *lines])


def _texts(texts: tuple[KeptText, ...], key: str) -> None:
    """Texts from files, which are untrusted: only ``st.text`` shows them."""
    if not texts:
        st.caption("No texts here.")
        return
    with st.container(height=_TEXTS_HEIGHT, key=key, gap="xsmall"):
        for place, text in enumerate(texts):
            if place:
                st.divider()
            st.text(text.id)
            if text.prompt:
                st.caption("Prompt")
                st.text(text.prompt)
                st.caption("Text")
            st.text(f"{text.text} …" if text.cut else text.text)


def _choose_bar() -> None:
    cluster = clicked_value(bound.selection_of(_CHART), 0)
    if cluster is not None:
        session.update(cluster_of_all=cluster)


def _stamp(run: Run) -> int | None:
    path = run.path / ATTACHED / f"{ATTACHMENT}.json"
    return path.stat().st_mtime_ns if path.is_file() else None


@kept_by_run(max_entries=8, show_spinner=False)
def _read(run_id: str, stamp: int | None) -> tuple[ShardedComparison, ClustersOverAll] | None:  # noqa: ARG001 (the stamp is part of the key)
    run = cache.load_run(run_id)
    clusters, found = stored_clusters_over_all(run), stored_over_shards(run)
    return None if clusters is None or found is None else (found, clusters)
