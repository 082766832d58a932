"""One text under the encoder: its cluster, its nearest texts on both sides, and where perturbations move it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from mauve_app.caching import cache
from mauve_app.components.markup import escaped
from mauve_app.components.texts import snippet
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import State, to_query
from mauve_app.views.probes import moved_texts, tried_text
from mauve_app.views.probes.probe_form import obstacle
from mauve_app.views.probes.tried_text import Tried
from mauve_core.analysis.cluster_names import labelled
from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import MauveLensError
from mauve_core.base.formatting import written
from mauve_core.corpus.perturbations import Perturbation, perturb
from mauve_core.experiments.robustness.text_space import Encoded, Neighbour, TextSpace, cosine_distance
from mauve_core.scoring.encoder_use import length_in_words
from mauve_core.store import Run

NEIGHBOURS = 5
# Id of a text that is not one of the run's; ids determine the random stream of a perturbation.
TYPED = "typed"


def show(run: Run) -> None:
    """The text box, or why there is none."""
    config = run.comparison.config.encoder
    wrong = obstacle(run)
    if wrong or config is None:
        st.info(escaped(wrong), icon=":material/info:")
        return
    if not access.may_change():
        st.info("Read-only: no encoder is loaded for visitors.", icon=":material/info:")
        return
    _lab(run, config)


def neighbours_frame(run: Run, found: Sequence[Neighbour]) -> pd.DataFrame:
    """One row per neighbor: distance, source, id, cluster (of the first joint partition), first words."""
    labels, names = run.comparison.joint[0].labels, _names(run)
    rows = []
    for item in found:
        corpus, row = run.corpora[item.source], item.row
        about = item.distance, item.source, corpus.ids[row], labelled(names, int(labels[item.source][row]))
        rows.append((*about, snippet(corpus.texts[row])))
    return pd.DataFrame(rows, columns=["distance", "source", "id", "cluster", "text"])


def _names(run: Run) -> tuple[str, ...]:
    """Names of the clusters of the first joint partition, by number; untrusted."""
    return cache.cluster_names(run.id, "joint", run.comparison.candidates[0].name, 0)


@st.fragment
def _lab(run: Run, config: EncoderConfig) -> None:
    state = session.current()
    left, right = st.columns([3, 2], gap="medium")
    with left:
        tried = tried_text.box(run, config, state)
        specs = tried_text.perturbations(run.id, state)
    if not tried.text.strip():
        st.info("Write a text.", icon=":material/info:")
        return
    try:
        encoder = cache.shared_encoder(config)
        waiting = (
            "Encoding" if encoder.loaded else f"Loading the encoder {escaped(config.model)}, once: ten seconds or more"
        )
        with st.spinner(waiting):
            encoded = cache.encoded(config, tried.prompt + tried.text)
        with st.spinner("Reading the features of the run, once"):
            space = cache.text_space(run.id)
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    with right:
        _where(run, state, tried, encoded, space, config)
    _neighbours(run, tried, encoded, space)
    _moves(run, config, tried, encoded, space, specs)


def _where(run: Run, state: State, tried: Tried, encoded: Encoded, space: TextSpace, config: EncoderConfig) -> None:
    partition = run.comparison.joint[0]
    (cluster,) = space.clusters([encoded.vector])
    names = _names(run)
    title = escaped(labelled(names, cluster))
    st.markdown(f"**Cluster: {title}**", help="The cluster with the nearest centroid.")
    counts = {name: int(partition.counts(name)[cluster]) for name in partition.labels}
    models = sum(count for name, count in counts.items() if name != HUMAN)
    st.caption(
        "Of the joint partition under the first k-means seed, as in *Which texts move*: texts of every candidate have "
        f"a cluster in it. It holds {counts[HUMAN]:,} {run.comparison.words.reference} and {models:,} model texts."
    )
    if not tried.edited:
        stored = int(partition.labels[tried.source][tried.row])
        if stored != cluster:
            left_in = escaped(labelled(names, stored))
            st.caption(f"k-means left this text in cluster {left_in}, whose centroid is not the nearest.")
    else:
        original = run.corpora[tried.source].ids[tried.row]
        st.caption(f"Edited version of {escaped(original)}.")
    if encoded.cut:
        st.caption(f":material/content_cut: The encoder reads {encoded.tokens:,} tokens; the rest is cut off.")
    else:
        st.caption(f"{encoded.tokens:,} of at most {length_in_words(config, run.comparison.human)}.")
    st.page_link(
        "views/clusters/clusters.py",
        label=f"Texts and words of {title}",
        icon=":material/bar_chart:",
        query_params=to_query(dataclasses.replace(state, partition="joint", seed=0, cluster=cluster)),
    )


def _neighbours(run: Run, tried: Tried, encoded: Encoded, space: TextSpace) -> None:
    usual = written(cache.usual_distance(run.id), 3)
    st.caption(
        "Cosine distance between features, in the clustering space before its dimension is reduced. Median distance "
        f"from a {run.comparison.words.reference} text of this run to the nearest other one: {usual}."
        + ("" if tried.edited else " The text itself is left out.")
    )
    _nearest(run, space.nearest(encoded.vector, HUMAN, NEIGHBOURS, exclude=tried.stored), HUMAN)
    _nearest(run, space.nearest(encoded.vector, "model", NEIGHBOURS, exclude=tried.stored), "model")


def _nearest(run: Run, neighbours: Sequence[Neighbour], side: str) -> None:
    """The list of one side; a selected text is shown below in full."""
    st.markdown(f"**Nearest {run.comparison.words.source(side)} texts**")
    frame = neighbours_frame(run, neighbours)
    key = f"lab_{side}_{'_'.join(f'{item.row}' for item in neighbours)}"
    st.dataframe(
        frame.drop(columns=["source"]) if side == HUMAN else frame,
        hide_index=True,
        key=key,
        on_select="rerun",
        selection_mode=["single-row", "single-cell"],
        column_config={
            "distance": st.column_config.NumberColumn(format="%.4f", width=70),
            "source": st.column_config.TextColumn(width=110),
            "id": st.column_config.TextColumn(width=80),
            "cluster": st.column_config.TextColumn(width=200),
            "text": st.column_config.TextColumn(width=560),
        },
    )
    rows = bound.selected_rows(key)
    if rows and rows[0] < len(neighbours):
        with st.container(border=True):
            st.text(run.corpora[neighbours[rows[0]].source].texts[neighbours[rows[0]].row])


def _moves(
    run: Run,
    config: EncoderConfig,
    tried: Tried,
    encoded: Encoded,
    space: TextSpace,
    perturbations: Sequence[Perturbation],
) -> None:
    """Each perturbation of the text: where it goes, how far, and what changed."""
    if not perturbations:
        return
    st.markdown("**Perturbed**")
    (before,) = space.clusters([encoded.vector])
    names, text_id = _names(run), TYPED if tried.edited else run.corpora[tried.source].ids[tried.row]
    seed = run.comparison.config.score.seed
    for item in perturbations:
        try:
            done = perturb([tried.text], [text_id], item, seed=seed)
            with st.spinner("Encoding"):
                other = cache.encoded(config, tried.prompt + done.texts[0])
        except MauveLensError as error:
            st.error(escaped(f"{item.title}: {error}"), icon=":material/error:")
            continue
        if not done.changed[0]:
            st.caption(f"**{escaped(item.title)}**: the text is unchanged. {escaped(' '.join(done.notes))}")
            continue
        (after,) = space.clusters([other.vector])
        moved = cosine_distance(encoded.vector, other.vector)
        here, there = (escaped(labelled(names, cluster)) for cluster in (before, after))
        went = f"stays in {here}" if after == before else f"{here} → **{there}**"
        with st.expander(f"{escaped(item.title)}: {went}, moved {written(moved, 4)}"):
            moved_texts.side_by_side(tried.text, done.texts[0])
