"""Map: all texts in the plane, for orientation, next to the texts of an area or a cluster.

A run without a map says that it is being made, or that it can be made on a press.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mauve_app import cache
from mauve_app.components import charts, focus, jobs, page_chrome, scores, text_search
from mauve_app.components.focus import Focus
from mauve_app.components.jobs import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.components.page_chrome import words
from mauve_app.components.sidebar import opened_run
from mauve_app.selection import polygon_of_event
from mauve_app.url import bound, session
from mauve_app.url.parameters import Point, State
from mauve_app.views import map_selection
from mauve_core.analyses.comparison_task import MapTask
from mauve_core.analyses.selection import Stack, inside_polygon
from mauve_core.analyses.task_registry import MAKING_RUNS
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import as_percent
from mauve_core.base.words import Words
from mauve_core.figures.text_map import (
    COLOURINGS,
    MOST_POINTS,
    PLAIN_POINTS,
    REGIONS,
    Colouring,
    Points,
    excerpt_length,
    map_figure,
    points_frame,
    signed_costs,
    stratified_sample,
)
from mauve_core.findings.clusters import has_costs
from mauve_core.runs import Run
from mauve_core.scoring.result import Comparison

_CHART = "map_chart"
_COST: Colouring = "cost"
# A mixture weight for the columns of the cluster table that the map does not show.
MIDDLE = 0.5
# Session key: what the figure shows, and whether it includes the selection's outline.
_FIGURE = "map_figure"
# Session key: the figure and the lasso that the reader drew on it. While both hold, the figure stays as it is.
_DRAWN = "map_drawn"


def main() -> None:
    """Lay out the page."""
    head = page_chrome.head(
        "Map", f"Where do {words().reference} and model {words().items} lie, and what is in an area?"
    )
    run, state = opened_run(), session.current()
    projection = run.comparison.projection
    if projection is None:
        _without_map(run)
        page_chrome.end()
    here = focus.of(run, state)
    stack = cache.stack(run.id)
    hidden = focus.hidden_sources(stack, here.candidate, state)
    search = text_search.of(run, state)
    with head:
        text_search.search_button(run, state)
        with st.popover("Sources", icon=":material/visibility:"):
            _source_picker(stack, run.comparison.words, here.candidate, hidden)
        scores.sensitivity(state, run.comparison, here.candidate, here.partition.seed)
    focus.show_answer(here, cache.costed_table(*here.key, MIDDLE, state.smoothing))
    with focus.rows():
        focus.pickers(here)
        with focus.row():
            colouring = _colouring_picker()
    visible = stack.visible(hidden)
    if not visible.any():
        st.info("Choose a source to show.")
        page_chrome.end()
    points = _points(here, stack, projection, state)
    focus.score_line(here, state)
    masks = text_search.found(run, search)
    text_search.line(here, search, masks)
    found = None if masks is None else text_search.stacked(masks, stack.names)
    if np.isnan(points.cost).all() and colouring == _COST:
        colouring = "source"
    left, right = st.columns([2, 1], gap="medium")
    wanted = visible if found is None else visible & found
    inside = None if state.lasso is None else inside_polygon(points.xy, _corners(state.lasso)) & wanted
    with left:
        _map(here, points, visible, inside, colouring, state, hidden, found)
        scores.note_generations(run, here.candidate)
    with right:
        kept = None if state.lasso_kept is None else inside_polygon(points.xy, _corners(state.lasso_kept)) & wanted
        if inside is not None:
            shares = np.abs(points.cost) if colouring == _COST else None
            map_selection.show_area(here, stack, inside, wanted, hidden, points.cluster, shares, kept)
        elif kept is not None:
            map_selection.show_kept(kept)
        elif here.cluster is not None:
            map_selection.show_cluster(here, stack, (points.cluster == here.cluster) & wanted, hidden)
        elif found is not None:
            map_selection.show_found(here, stack, wanted, hidden)
        else:
            _how_to(here.run.comparison.words)


def _how_to(words: Words) -> None:
    with st.container(border=True):
        st.markdown(
            f":material/lasso_select: **Lasso an area to see its {words.items}**, or choose a cluster above.\n\n"
            f"- *Log ratio* colors each {words.item} by how much more one side has of its cluster; *Cost*, by the "
            "cluster's share of the frontier integral.\n"
            f"- Lines enclose the densest {_regions_in_words()} of each side's {words.items}.\n"
            "- Names stand in the middle of their clusters, the costliest first. Hover over a point for more of it.\n"
            "- *Keep as A* compares an area with a second one.\n"
            f"- Nearby {words.items} are alike; distant ones need not differ, and the axes mean nothing."
        )


def _regions_in_words() -> str:
    shares = [as_percent(share) for share in REGIONS]
    return f"{', '.join(shares[:-1])} and {shares[-1]}"


def _colouring_picker() -> Colouring:
    return bound.segmented_control(
        "map_colour",
        "Color",
        COLOURINGS,
        help=f"Log ratio: {words().reference} share over the candidate's share of the {words().item}'s cluster. Blue: "
        f"more {words().reference_items}; the other end: more of the candidate's. Cost: the cluster's share of the "
        "frontier integral, as in Gap; blue: what the model misses, the other end: what it adds. That end has the "
        "candidate's color, or orange if several candidates are shown. The list of an area then starts with the "
        "largest share.",
    )


def _source_picker(stack: Stack, words: Words, candidate: str, hidden: tuple[int, ...]) -> None:
    sources = range(len(stack.names))
    others = tuple(source for source in sources if stack.names[source] not in (HUMAN, candidate))

    def all_but(some: Sequence[int]) -> list[int]:
        return [source for source in sources if source not in some]

    def left_out(shown: Sequence[int]) -> dict[str, tuple[int, ...] | None]:
        left = tuple(all_but(shown))
        return {"map_hidden": None if left == others else left}

    link = bound.bind("map_hidden", all_but(hidden), keyword="default", changes=left_out)
    st.pills(
        "Show",
        sources,
        selection_mode="multi",
        format_func=lambda source: escaped(words.source(stack.names[source])),
        wrap=True,
        help="Sources that are left out are neither drawn nor counted in an area.",
        **link,
    )
    if not others:
        return
    with st.container(horizontal=True, gap="small"):
        st.button(
            f"Only {words.source(HUMAN)} and {escaped(candidate)}",
            key="map_only_two",
            type="tertiary",
            disabled=hidden == others,
            **bound.on_click(map_hidden=None),
        )
        st.button("All sources", key="map_all", type="tertiary", disabled=not hidden, **bound.on_click(map_hidden=()))


def _points(here: Focus, stack: Stack, projection: NDArray[np.float32], state: State) -> Points:
    table = cache.costed_table(*here.key, MIDDLE, state.smoothing)
    return Points(
        xy=projection,
        source=stack.source,
        names=stack.names,
        cluster=stack.labels(here.partition),
        log2_ratio=table["log2_ratio"].to_numpy(),
        cost=signed_costs(table) if has_costs(table) else np.full(len(table), np.nan),
        cluster_names=here.names,
        words=here.run.comparison.words,
    )


def _map(
    here: Focus,
    points: Points,
    visible: NDArray[np.bool_],
    inside: NDArray[np.bool_] | None,
    colouring: Colouring,
    state: State,
    hidden: tuple[int, ...],
    found: NDArray[np.bool_] | None,
) -> None:
    """The figure. It keeps the reader's lasso until something else changes; any other lasso is drawn into it."""
    plain = not page_chrome.draws_webgl()
    drawn = stratified_sample(points.source, visible, PLAIN_POINTS if plain else MOST_POINTS)
    total = int(visible.sum())
    view = (colouring, state.smoothing) if colouring == _COST else (colouring,)
    cleared = st.session_state.get(map_selection.CLEARED, 0)
    searched = None if found is None else text_search.of(here.run, state)
    shows = (plain, *here.key, *view, here.cluster, hidden, state.lasso_kept, searched, cleared)
    drawn_by_reader = st.session_state.get(_DRAWN) == (shows, state.lasso)
    outlined = state.lasso is not None and not drawn_by_reader
    st.session_state[_FIGURE] = (shows, outlined)
    figure = map_figure(
        points,
        drawn,
        colouring=colouring,
        candidate=here.candidate,
        chosen=here.cluster,
        outline=state.lasso if outlined else None,
        inside=inside if outlined else None,
        revision=shows[-1],
        density=visible if drawn.size < total else None,
        plain=plain,
        regions=[place for place in (0, points.names.index(here.candidate)) if place not in hidden],
        named=True,
        excerpts=cache.excerpts(here.run.id, excerpt_length(drawn.size), drawn),
        kept=state.lasso_kept,
        found=found,
    )
    if plain:
        _without_webgl(drawn.size, total)
    charts.show_chart(
        figure,
        key=_CHART,
        file_name=f"{here.run.name}-map",
        selecting=True,
        on_select=_select,
        selection_mode=("box", "lasso"),
        alt=f"Map of {total:,} {words().items}. The Clusters page has the same {words().items} without a map.",
    )
    map_selection.show_hovered_picture(here.run, cache.stack(here.run.id), drawn, chart=_CHART)
    with st.container(horizontal=True, vertical_alignment="center"):
        whose = _how_fitted(here.run.comparison) + _who_is_clustered(here, hidden)
        st.caption(
            f"{drawn.size:,} of {total:,} {here.run.comparison.words.items} shown. {whose}"
            "The map is for orientation: clusters were made in the feature space, not here.",
            width="stretch",
        )
        charts.csv_button(
            lambda: points_frame(points, _ids(here.run))[visible], key="map_csv", file_name=f"{here.run.name}-map"
        )


def _without_webgl(drawn: int, total: int) -> None:
    with st.container(key="map_plain"):
        st.info(
            f"This browser has no WebGL, so the map is drawn without it: {drawn:,} of {total:,} {words().items}"
            + (", a sample that keeps each source's share. " if drawn < total else ". ")
            + "For WebGL, turn on hardware acceleration in the browser's settings, or use another browser.",
            icon=":material/info:",
        )


def _ids(run: Run) -> list[str]:
    return [text_id for source in run.comparison.sources for text_id in run.corpora[source.name].ids]


def _how_fitted(comparison: Comparison) -> str:
    fitted, total = comparison.map_fitted, sum(source.n for source in comparison.sources)
    if fitted is None or fitted == total:
        return ""
    fitted_on = f"The map was fitted on {fitted:,} of {words().count(total)}"
    return f"{fitted_on}; the others are placed among the nearest of these. "


def _who_is_clustered(here: Focus, hidden: tuple[int, ...]) -> str:
    names = [source.name for place, source in enumerate(here.run.comparison.sources) if place not in hidden]
    if set(names) <= here.partition.labels.keys():
        return ""
    return (
        f"Clusters are those of the {here.partition.kind} partition: {here.run.comparison.words.items} of candidates "
        f"other than {escaped(here.candidate)} are in none of them. "
    )


def _select() -> None:
    """Make the reader's lasso or box the selection; a double click, which sends none, clears it."""
    if (selection := bound.selection_of(_CHART)) is None:
        return
    lasso = session.update(lasso=polygon_of_event(selection)).lasso
    shows, outlined = st.session_state[_FIGURE]
    if not outlined:
        st.session_state[_DRAWN] = (shows, lasso)


def _corners(lasso: tuple[Point, ...]) -> NDArray[np.float64]:
    return np.array(lasso, dtype=np.float64)


_WHAT = (
    "A map shows every {item} as a dot, similar ones close together; lasso an area to see its {items}. The "
    "clusters, which the scores come from, are all there without it."
)


def _without_map(run: Run) -> None:
    """Say where the map is; the page is drawn anew when it is there (``mauve_app.components.live_updates``)."""
    title = st.container()
    coming = jobs.show_panel(MAKING_RUNS, run.id, unfinished=True)
    if not coming:
        slot = JobSlot("map_start", MapTask.kind, run.id)
        coming = jobs.button(slot, "Make the map", lambda: MapTask(run.id), icon=":material/map:")
    with title:
        if coming:
            page_chrome.nothing_yet(
                "The map is still being made.",
                words().fill(_WHAT),
                "It appears here by itself; the scores are ready on **Compare**.",
            )
        else:
            page_chrome.nothing_yet(
                "This run has no map yet.",
                words().fill(_WHAT),
                "It can be made from its features; the scores stay as they are.",
            )
    st.page_link("views/clusters.py", label="Go to the clusters", icon=":material/bar_chart:")


if __name__ == "__main__":
    main()
