"""Clusters over all texts of corpora in shards, where the run is a sample of these texts: shares, phrases and texts.

Further random texts of a cluster are read from their shards when a reader asks for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from mauve_app import cache
from mauve_app.bounded_cache import kept_by_run, run_stamp
from mauve_app.components import charts, focus
from mauve_app.components.focus import Focus
from mauve_app.components.markup import escaped, swatch
from mauve_app.components.messages import or_error
from mauve_app.selection import clicked_value
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import KeptTexts
from mauve_core.analyses.over_shards import (
    ABOUT_CLUSTERS,
    ABOUT_PHRASES,
    CLUSTERS_ATTACHMENT,
    MOST_READ,
    CandidateOverAll,
    ClusterOverAll,
    ClustersOverAll,
    SideOverAll,
    cluster_of,
    cluster_sentence,
    find_work,
    is_sample,
    may_have_more,
    missing_sentence,
    phrase_shares,
    share_label,
    share_table,
    stored_clusters_over_all,
    stored_over_shards,
)
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import plural
from mauve_core.figures.clusters import ranked_figure
from mauve_core.figures.theme import HUMAN_COLOUR, short_name
from mauve_core.findings.why_cards import labelled
from mauve_core.runs import Run
from mauve_core.runs.folder import ATTACHED
from mauve_core.shards.cluster_texts import KeptText, Rows, rows_of_cluster, texts_of_rows
from mauve_core.shards.plan import ShardedComparison, Work

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
        st.header("Clusters over all texts", anchor=False, help=ABOUT_CLUSTERS)
        if chosen is None:
            st.markdown("Both sides have the same share of their texts in every cluster.")
        else:
            st.markdown(cluster_sentence(table, f"**{escaped(short_name(here.candidate))}**", escaped))
            if missing := missing_sentence(found):
                st.warning(escaped(missing), icon=":material/visibility_off:")
            random = session.current().texts_of_all == "random"
            more = of(here.run.id, found, own, chosen, random=random)
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
    path = run.path / ATTACHED / f"{CLUSTERS_ATTACHMENT}.json"
    return path.stat().st_mtime_ns if path.is_file() else None


@kept_by_run(max_entries=8, show_spinner=False)
def _read(run_id: str, stamp: int | None) -> tuple[ShardedComparison, ClustersOverAll] | None:  # noqa: ARG001 (the stamp is part of the key)
    run = cache.load_run(run_id)
    clusters, found = stored_clusters_over_all(run), stored_over_shards(run)
    return None if clusters is None or found is None else (found, clusters)


Texts = tuple[KeptText, ...]

# Session key of what was read of the cluster that is shown.
_READ = "more_texts_of_all"

# Places that are looked up together, because that takes a walk through the labels of all texts.
_ROWS = 1000


@dataclass
class _Read:
    """What a session has read of one cluster, by side: texts, and whether there are no more."""

    of: tuple[object, ...]
    texts: dict[str, Texts] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class More:
    """The cluster that is shown.

    Attributes
    ----------
    run_id, candidate : str
    cluster : ClusterOverAll
    work : Work, str or None
        Where further texts are found, or why they are not; None if nobody is to read them.
    """

    run_id: str
    candidate: str
    cluster: ClusterOverAll
    work: Work | str | None

    def show(self, source: str, side: SideOverAll, draw: Callable[[Texts], None], key: str) -> None:
        """The random texts of a side as ``draw`` shows them, how many these are, and a button that reads more."""
        read = self._read()
        texts = (*side.random, *read.texts.get(source, ()))
        draw(texts)
        if not side.n:
            return
        ended = source in read.ended or not may_have_more(side) or len(texts) >= side.n
        pressed, equal = (
            False,
            "; those with equal ids and prompts are shown once" if ended and len(texts) < side.n else "",
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(texts):,} of {plural(side.n, 'text')}{equal}", width="content")
            if isinstance(self.work, Work) and not ended:
                number = min(MOST_READ, side.n - len(texts))
                label = f"Read {number} more from the shards"
                pressed = st.button(label, key=f"read_{key}", icon=":material/add:", type="tertiary")
        if pressed and isinstance(self.work, Work):
            with st.spinner("Reading the shards"):
                more = or_error(_read_more, self.run_id, self.work, self.candidate, source, self.cluster, len(texts))
            if more is not None:
                read.texts[source] = (*read.texts.get(source, ()), *more)
                if len(more) < MOST_READ:
                    read.ended.add(source)
                st.rerun()  # with these texts above the button

    def say_where(self) -> None:
        """Say where the other texts are if they cannot be read."""
        if isinstance(self.work, str):
            st.caption(escaped(self.work))

    def _read(self) -> _Read:
        of = (*run_stamp(self.run_id), self.run_id, self.candidate, self.cluster.number)
        read = st.session_state.get(_READ)
        if not isinstance(read, _Read) or read.of != of:
            read = st.session_state[_READ] = _Read(of)
        return read


def of(run_id: str, found: ShardedComparison, own: CandidateOverAll, cluster: ClusterOverAll, *, random: bool) -> More:
    """What a visitor may read of a cluster: of runs that are shown read-only, only what they keep.

    ``random`` says that random texts are shown, of which there may be more.
    """
    work = None
    if random and access.may_change() and (may_have_more(cluster.human) or may_have_more(cluster.model)):
        work = or_error(find_work, found, own)
    return More(run_id, own.name, cluster, work)


def _read_more(run_id: str, work: Work, candidate: str, source: str, cluster: ClusterOverAll, first: int) -> Texts:
    access.require_change()
    last = first + MOST_READ
    rows = _rows(run_id, str(work.folder), candidate, source, cluster.number, -(-last // _ROWS) * _ROWS)
    return texts_of_rows(work, source, rows.at(np.arange(first, min(last, len(rows.place)))))


@kept_by_run(max_entries=16)
def _rows(run_id: str, folder: str, candidate: str, source: str, cluster: int, most: int) -> Rows:  # noqa: ARG001 (part of the key)
    return rows_of_cluster(Work.open(Path(folder)), candidate, source, cluster, most)
