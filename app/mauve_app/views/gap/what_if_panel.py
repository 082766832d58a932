"""What would close the gap: texts dropped, thinned or weighted, and every score before and after, with its spread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from mauve_app.caching import cache
from mauve_app.components import charts, job_button, job_panel
from mauve_app.components.focus import Focus, hidden_sources
from mauve_app.components.job_button import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.components.saying import said
from mauve_app.components.text_search import Found
from mauve_app.server import access
from mauve_app.url import bound
from mauve_app.url.codecs import MAX_CHOSEN
from mauve_app.url.parameters import FACTORS, Action, Selection, Side, State
from mauve_core.analysis.cluster_names import labelled
from mauve_core.analysis.selection import inside_polygon
from mauve_core.analysis.what_if import WhatIf
from mauve_core.analysis.what_if_weights import (
    OF_THE_MODEL,
    Groups,
    groups_of_clusters,
    one_group,
    slice_mask,
    slice_values,
    weights_of,
)
from mauve_core.base.config import HUMAN, SCORES
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import SCORE_DECIMALS, interval, with_spread, written
from mauve_core.figures.gap import what_if_figure
from mauve_core.figures.leaderboard import titled
from mauve_core.figures.theme import short_name
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.scoring.spread import Estimate
from mauve_core.scoring.tables import texts_interval
from mauve_core.tasks.exclude_texts import ExcludeTextsTask

T = TypeVar("T")

SELECTIONS: dict[Selection, str] = {
    "clusters": "Clusters",
    "lasso": "Map area",
    "slice": "Metadata",
    "found": "Texts found",
}
ACTIONS: dict[Action, str] = {
    "drop": "Drop",
    "cap": "Cap at the human share",
    "match": "Match the human share",
    "weight": "Weight",
}
SIDES: dict[Side, str] = {"model": "the model's texts", "human": "human texts", "both": "both"}

KEPT_CLUSTERS = "Uses the run's own clusters, unchanged; a full recomputation would cluster again."


def show(here: Focus, state: State, scale: float, masks: Found | None = None) -> None:
    """Controls and, once texts are chosen, the answer; ``masks`` are the texts that a search found."""
    groups = _choice(here, state, masks)
    side = _action(state)
    if groups is None or not _show_chosen(here, groups, side):
        st.caption(said(":material/ads_click: Choose texts to see what the scores would be without them."))
    else:
        _answer(here, state, groups, side, scale)
    job_panel.show(("without",))


def shown_scores(found: WhatIf) -> pd.DataFrame:
    """One row per score: before, after and their difference, each as mean ± sd over seeds above its interval."""
    return pd.DataFrame(
        {
            "Score": [f"**{escaped(titled(score))}**" for score in SCORES],
            "As it is": [_cell(found.before[score]) for score in SCORES],
            "Then": [_cell(found.after[score]) for score in SCORES],
            "Change": [_cell(found.change[score], signed=True) for score in SCORES],
        }
    )


def scores_frame(found: WhatIf) -> pd.DataFrame:
    """The same as numbers for the CSV, one row per score and state."""
    return pd.DataFrame(
        [
            {"score": score, "state": name, "mean": each.mean, "sd": each.sd, "low": each.low, "high": each.high}
            for score in SCORES
            for name, each in (
                ("before", found.before[score]), ("after", found.after[score]), ("change", found.change[score])
            )
        ]
    )  # fmt: skip


def _cell(estimate: Estimate, *, signed: bool = False) -> str:
    score = with_spread(estimate.mean, estimate.sd, SCORE_DECIMALS, signed=signed, value_in="**{}**")
    return f"{score}  \n{interval(estimate.low, estimate.high, SCORE_DECIMALS, signed=signed)}"


def _choice(here: Focus, state: State, masks: Found | None) -> Groups | None:
    left, right = st.columns([2, 3], gap="medium")
    with left:
        selection = bound.segmented_control(
            "what_if_selection", said("Which texts"), _titles(SELECTIONS), key="url_selection", wrap=True
        )
    with right:
        if selection == "found":
            return _found(here, masks)
        return {"clusters": _clusters, "lasso": _area, "slice": _slice}[selection](here, state)


def _found(here: Focus, masks: Found | None) -> Groups | None:
    if masks is None:
        st.caption(said(":material/search: Find texts first, with the button at the top."))
        return None
    st.caption(said("The texts that the search found, as one group."))
    return one_group(here.candidate, masks[HUMAN], masks[here.candidate])


def chosen_clusters(here: Focus, state: State) -> list[int]:
    """The what-if's clusters that exist in the partition; without a choice, the cluster in focus."""
    if state.what_if_clusters is None:
        return [] if here.cluster is None else [here.cluster]
    return [cluster for cluster in state.what_if_clusters if cluster < here.partition.k]


def _clusters(here: Focus, state: State) -> Groups | None:
    unknown = [cluster for cluster in state.what_if_clusters or () if cluster >= here.partition.k]
    if unknown:
        st.info(f"There is no cluster {', '.join(map(str, unknown))} here.")
    clusters = chosen_clusters(here, state)
    bound.multiselect(
        "what_if_clusters",
        "Clusters",
        range(here.partition.k),
        clusters,
        format_func=lambda cluster: labelled(here.names, cluster),
        max_selections=MAX_CHOSEN,
        placeholder="Choose clusters, or click a bar above",
    )
    return groups_of_clusters(here.partition, here.candidate, clusters) if clusters else None


def _area(here: Focus, state: State) -> Groups | None:
    projection = here.run.comparison.projection
    if projection is None or state.lasso is None:
        why = (
            "This run has no map yet: the page *Map* can make it."
            if projection is None
            else "Lasso an area on the map first."
        )
        st.caption(f":material/lasso_select: {why}")
        if projection is not None:
            st.page_link("views/map/map.py", label="Map", icon=":material/scatter_plot:")
        return None
    stack = cache.stack(here.run.id)
    inside = inside_polygon(projection, np.array(state.lasso)) & stack.visible(
        hidden_sources(stack, here.candidate, state)
    )
    masks = {}
    for name in (HUMAN, here.candidate):
        masks[name] = np.zeros(len(here.run.corpora[name]), dtype=np.bool_)
        masks[name][stack.positions(inside, name)] = True
    st.caption(said("The texts inside the area, from the sources that the map shows, as one group."))
    return one_group(here.candidate, masks[HUMAN], masks[here.candidate])


def _slice(here: Focus, _state: State) -> Groups | None:
    human, model = (here.run.corpora[name].metadata for name in (HUMAN, here.candidate))
    fields = list(dict.fromkeys([*human.columns, *model.columns]))
    if not fields:
        st.caption(said("These texts have no metadata."))
        return None
    left, right = st.columns(2)
    with left:
        field = bound.selectbox("what_if_field", "Field", fields, None, placeholder="Choose a field")
    if field is None:
        return None
    values = slice_values(human, model, field)
    with right:
        value = bound.selectbox("what_if_value", "Value", values, None, placeholder=f"Choose one of {len(values):,}")
    if value is None:
        return None
    return one_group(here.candidate, slice_mask(human, field, value), slice_mask(model, field, value))


def _action(state: State) -> Side:
    """Controls for what to do with the texts; returns the side whose texts change."""
    of_the_model = state.what_if_action in OF_THE_MODEL
    side: Side = "model" if of_the_model else state.what_if_side
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        bound.selectbox(
            "what_if_action",
            "Action",
            _titles(ACTIONS),
            None,
            width=230,
            help=said(
                "Cap: where a group (a cluster, the area, the slice) has a larger share of the model's texts than of "
                "the human ones, its texts count less, so that it has the human share. Match: each group gets the "
                "human share, and all other texts are scaled alike."
            ),
        )
        if state.what_if_action == "weight":
            low, high = FACTORS
            factor = bound.bind("what_if_factor", state.what_if_factor)
            st.number_input(said("Weight per text"), low, high, step=0.1, format="%g", width=130, **factor)
        st.segmented_control(
            "Of",
            list(SIDES),
            required=True,
            format_func=_titles(SIDES).__getitem__,
            disabled=of_the_model,
            **bound.bind("what_if_side", side, keyword="default"),
        )
        st.button(
            "Clear selection",
            icon=":material/undo:",
            type="tertiary",
            key="what_if_clear",
            help=said("Deselects all texts, so that all scores are unchanged"),
            **bound.on_click(what_if_clusters=(), what_if_field=None, what_if_value=None, what_if_selection=None),
        )
    return side


def _titles(titles: Mapping[T, str]) -> dict[T, str]:
    """The same titles in the words of the page."""
    return {name: said(title) for name, title in titles.items()}


def _sources(here: Focus, side: Side) -> tuple[str, ...]:
    return {"model": (here.candidate,), "human": (HUMAN,), "both": (HUMAN, here.candidate)}[side]


def _show_chosen(here: Focus, groups: Groups, side: Side) -> bool:
    """Say how many texts are chosen; returns whether there are any."""
    words = here.run.comparison.words
    counted = {name: int(groups.chosen(name).sum()) for name in _sources(here, side)}
    parts = [
        f"{count:,} of {words.count(len(here.run.corpora[name]))} of {escaped(words.source(name))}"
        for name, count in counted.items()
    ]
    st.markdown(f"**Chosen: {' and '.join(parts)}**")
    return any(counted.values())


def _answer(here: Focus, state: State, groups: Groups, side: Side, scale: float) -> None:
    try:
        weights = weights_of(groups, here.candidate, state.what_if_action, side, state.what_if_factor)
        scores = cache.what_if_scores(
            here.run.id,
            here.partition.kind,
            here.candidate,
            state.smoothing,
            scale,
            weights.get(HUMAN),
            weights.get(here.candidate),
        )
    except InputError as error:
        st.info(escaped(str(error)), icon=":material/info:")
        return
    name = f"{here.run.name}-{here.candidate}-what-if"
    charts.show_chart(
        what_if_figure(scores.before, scores.after, here.colour),
        key="what_if_chart",
        file_name=name,
        alt="Every score before and after the change, with intervals; the table below has the numbers.",
    )
    st.table(shown_scores(scores), border="horizontal", hide_index=True)
    with st.container(horizontal=True, vertical_alignment="center"):
        words = here.run.comparison.words
        confidence, seeds = here.run.comparison.config.score.confidence, here.run.comparison.config.score.seeds
        counted = ", ".join(
            f"{escaped(words.source(side))} {written(texts, 0 if texts == round(texts) else 1)}"
            for side, texts in scores.texts.items()
        )
        st.caption(
            f"{KEPT_CLUSTERS} Mean ± sd over {seeds} seeds of the {here.partition.kind} partition; below it the "
            f"{texts_interval(confidence, words.items)}. Total weight of the {words.items} then: {counted}.",
            width="stretch",
        )
        charts.csv_button(lambda: scores_frame(scores), key="what_if_csv", file_name=name)
    _in_full(here, state, groups, side)


def _in_full(here: Focus, state: State, groups: Groups, side: Side) -> None:
    """The button that starts a job to compare the remaining texts from scratch."""
    if not access.may_change():
        return
    gone = {name: np.flatnonzero(groups.chosen(name)) for name in _sources(here, side)}
    left = {name: len(here.run.corpora[name]) - gone.get(name, np.array([])).size for name in (HUMAN, here.candidate)}
    obstacle = None
    if state.what_if_action != "drop":
        obstacle = said("Only for dropped texts: a text cannot be compared in part.")
    elif min(left.values()) < MIN_TEXTS:
        obstacle = said(f"Fewer than {MIN_TEXTS} texts would be left on one side.")
    job_button.show(
        JobSlot("what_if_start", ExcludeTextsTask.kind),
        "Compute in full",
        lambda: _task(here, gone),
        filled=obstacle is None,
        primary=False,
        tip=obstacle
        or said(
            "Makes a new run of the human side and this candidate without these texts, clustered again under the run's "
            "settings. It continues in the background."
        ),
    )


def _task(here: Focus, gone: dict[str, NDArray[np.intp]]) -> ExcludeTextsTask:
    count = sum(indices.size for indices in gone.values())
    dropped = {name: tuple(here.run.corpora[name].ids[index] for index in indices) for name, indices in gone.items()}
    name = f"{here.run.name}, {short_name(here.candidate)} without {here.run.comparison.words.count(count)}"
    dropped = {side: ids for side, ids in dropped.items() if ids}
    return ExcludeTextsTask(name, here.run.id, here.candidate, dropped)
