"""Gap: which clusters make up the gap between the two sides, and what would close it.

The ledger shows the frontier integral by cluster, what the model adds and what it misses, as bars and as lists. What
would close the gap: texts dropped, thinned or weighted, with every score before and after and its spread; and the few
clusters that make up most of it, one after the other, with the score after each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from mauve_app import cache
from mauve_app.components import charts, cluster_detail, focus, jobs, page_chrome, scores, text_search
from mauve_app.components.focus import Focus, hidden_sources
from mauve_app.components.jobs import JobSlot
from mauve_app.components.markup import escaped, swatch
from mauve_app.components.page_chrome import words
from mauve_app.components.sidebar import opened_run
from mauve_app.components.text_search import Found
from mauve_app.selection import clicked_value
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import FACTORS, MAX_CHOSEN, Action, GapTab, GreedyAction, Selection, Side, State
from mauve_core.analyses.comparison_task import ExcludeTextsTask
from mauve_core.analyses.gap import DIRECTIONS, TOGETHER, WhatIf, ledger_rows, row_labels
from mauve_core.analyses.selection import (
    OF_THE_MODEL,
    Groups,
    groups_of_clusters,
    inside_polygon,
    one_group,
    slice_mask,
    slice_values,
    weights_of,
)
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import (
    SCORE_DECIMALS,
    as_percent,
    even_parts,
    interval,
    percent_interval,
    percent_with_interval,
    with_spread,
    written,
)
from mauve_core.figures.gap import common_reach, ledger_figure, steps_figure, what_if_figure
from mauve_core.figures.leaderboard import titled
from mauve_core.figures.theme import HUMAN_COLOUR, short_name
from mauve_core.findings.clusters import ADDS, CONFIDENCE, MISSES, has_costs, has_found, with_found
from mauve_core.findings.why_cards import labelled
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.scoring.result import Estimate
from mauve_core.scoring.tables import texts_interval
from mauve_core.stats.divergences import ADDED_COUNT
from mauve_core.stats.scores import SCORES
from mauve_core.stats.stability import LABELS

TABS: dict[GapTab, str] = {
    "texts": "{Items} of a cluster",
    "what-if": "What would close the gap",
    "few": "The few clusters that make up most of it",
}
_LINKS = {
    "views/clusters.py": ("In Clusters", ":material/bar_chart:"),
    "views/map.py": ("On the map", ":material/scatter_plot:"),
}


def main() -> None:
    """Lay out the page."""
    head = page_chrome.head(
        "Gap",
        f"Which clusters make up the gap between {words().reference} and model {words().items}, and what closes it?",
    )
    run, state = opened_run(), session.current()
    here, search = focus.of(run, state), text_search.of(run, state)
    with head:
        text_search.search_button(run, state)
    weight, scale = scores.shown_weight(state), scores.scale_of(state, run.comparison)
    table = cache.costed_table(*here.key, weight, state.smoothing)
    focus.show_answer(here, table)
    with focus.rows():
        focus.controls(here, state)
    focus.score_line(here, state)
    masks = text_search.found(run, search)
    text_search.line(here, search, masks)
    if masks is not None:
        table = with_found(table, here.partition, here.candidate, masks)
    _ledger(here, table, state)
    scores.note_generations(here.run, here.candidate)
    if state.cluster is not None and here.cluster is None:
        st.info(f"There is no cluster {state.cluster} here: clusters are numbered 0 to {here.partition.k - 1}.")
    _tabs(here, table, weight, scale, masks)


@st.fragment
def _tabs(here: Focus, table: pd.DataFrame, weight: float, scale: float, masks: Found | None) -> None:
    """The part below the ledger: builds only the open tab; actions in it rerun nothing else."""
    state = session.current()
    if focus.of(here.run, state).cluster != here.cluster:
        st.rerun()  # a row was selected or the cluster closed, and the ledger shows it too
    name, tab = bound.open_tab("gap_tab", {tab: words().fill(title) for tab, title in TABS.items()}, "gap_tabs")
    with tab:
        if name == "texts":
            _texts(here, table, weight, masks)
        elif name == "what-if":
            _what_if(here, state, scale, masks)
        elif not has_costs(table):
            focus.show_no_gap(here)
        else:
            _few_clusters(here, state, scale)


def _texts(here: Focus, table: pd.DataFrame, weight: float, masks: Found | None) -> None:
    if here.cluster is None:
        words = here.run.comparison.words
        st.caption(
            f":material/ads_click: Click a bar, select a row or choose a name to see the {words.items} of a cluster."
        )
        return
    cluster_detail.heading(here, here.cluster, _LINKS, close="gap_close")
    cluster_detail.show(here, here.cluster, table, weight, masks)


DIRECTION_TITLES = {
    ADDS: "Adds: the model has what the {reference_items} lack",
    MISSES: "Misses: the {reference_items} have what the model lacks",
}

_STABILITY_HELP = "Is the difference in this cluster stable? " + "; ".join(
    f"{name}: {meaning}" for name, meaning in LABELS.items()
)
COST_HELP = (
    "The cluster's part of the frontier integral: (p + q)/2 − p q/(p − q) log(p/q) for its {reference} share p and its "
    "model share q. It is 0 if they are equal and never negative; all clusters together make 100%."
)
COUNTS_HELP = "{Reference_items} : model {items}"
_FOUND_HELP = "Those of them that the search found, {reference} : model"
_LIST_HEIGHT = 248
_CHART = "gap_ledger_{}"


def _ledger(here: Focus, table: pd.DataFrame, state: State) -> None:
    """Both columns; ``table`` is the partition's, from ``cache.costed_table``."""
    if not has_costs(table):
        _counts(here, table)
        return
    ledgers = {direction: ledger_rows(table, direction) for direction in DIRECTIONS}
    parts = shown_parts(ledgers)
    st.markdown(_headline(here, table, parts, state))
    reach = common_reach(*ledgers.values())
    for column, (direction, rows) in zip(st.columns(2, gap="small"), ledgers.items(), strict=True):
        with column:
            _ledger_bars(here, direction, rows, parts[direction], reach)
    with st.container(key="gap_lists"):  # stacked if half the width is too narrow for words (page_chrome.css)
        for column, (direction, rows) in zip(st.columns(2, gap="small"), ledgers.items(), strict=True):
            with column:
                _ledger_list(here, direction, rows)
    st.caption(_how_computed(here, table, state))


def _how_computed(here: Focus, table: pd.DataFrame, state: State) -> str:
    equal = int((table["direction"] == "").sum())
    free = f" ({equal} of them cost nothing: both sides have as much there)" if equal else ""
    stability = cache.cluster_stability(*here.key)
    notes = "".join(f" {escaped(note)}." for note in stability.notes)
    run_id, kind, candidate, _ = here.key
    others, why_no_others = cache.other_clusterings(run_id, kind, candidate)
    basis = stability_basis(here.run.comparison.config.score.seeds, [part.k for part in others], why_no_others)
    tested = cache.gap_test(run_id, kind, candidate)
    words = here.run.comparison.words
    return (
        f"{here.partition.k} clusters{free} of the {here.partition.kind} partition, "
        f"{scores.smoothing_in_words(state)}. Lines and brackets: {CONFIDENCE:.0%} bootstrap intervals over "
        f"{words.group}s at this n and k, for all clusters at once, clusters held fixed. With {words.items} exchanged "
        f"between the two sides, the gap was as large in {tested.reached:,} of {tested.draws:,} draws. "
        f"{words.items.capitalize()}: {words.reference} : model. Click a bar to see the cluster's "
        f"{words.items}.{notes} {basis}"
    )


def stability_basis(seeds: int, ks: Sequence[int], why_no_k: str) -> str:
    """What the partition was compared with, of a run with so many seeds; ``ks`` of the partitions with another k."""
    other_k = " and ".join(f"k = {k}" for k in ks) or "no other k"
    reason = f" {escaped(why_no_k)}." if why_no_k else ""
    if seeds > 1:
        return f"Stability: compared with {seeds - 1} other seeds and {other_k}.{reason}"
    if ks:
        return f"Stability: compared with {other_k} and no other seed.{reason}"
    return f"Stability: one seed and no other k.{reason}"


def shown_parts(ledgers: Mapping[str, pd.DataFrame]) -> dict[str, list[float]]:
    """For each direction, the share of the clusters with bars and that of the others, rounded so that all add up."""
    single = {direction: rows["cluster"] != TOGETHER for direction, rows in ledgers.items()}
    shares = [
        float(rows["share"][mask].sum())
        for direction, rows in ledgers.items()
        for mask in (single[direction], ~single[direction])
    ]
    parts = even_parts(shares)
    return {direction: parts[2 * place : 2 * place + 2] for place, direction in enumerate(ledgers)}


def _headline(here: Focus, table: pd.DataFrame, parts: Mapping[str, Sequence[float]], state: State) -> str:
    """The frontier integral with its spread, and how much of it is added and missed."""
    run_id, kind, candidate, _ = here.key
    found = cache.rescored(run_id, kind, None, state.smoothing).candidate(candidate).estimate("frontier_integral", kind)
    value = with_spread(found.mean, found.sd, SCORE_DECIMALS)
    seeds, own = len(found.values), ""
    if seeds > 1:
        value += f" over {seeds} seeds"
        own = f" With these clusters it is {written(table['cost'].sum(), SCORE_DECIMALS)}."
    low, high = cache.costs_of(*here.key, state.smoothing).adds
    adds, misses = (as_percent(sum(parts[direction]), 1) for direction in DIRECTIONS)
    return (
        f"**Frontier integral {value}** ({interval(found.low, found.high, SCORE_DECIMALS)}).{own} "
        f"{_swatch(here, ADDS)} **{adds}** ({percent_interval(low, high)}) is what the model adds, "
        f"{_swatch(here, MISSES)} **{misses}** "
        f"({percent_interval(1 - high, 1 - low)}) what it misses."
    )


def _swatch(here: Focus, direction: str) -> str:
    return swatch(here.colour if direction == ADDS else HUMAN_COLOUR)


def shown_list(here: Focus, rows: pd.DataFrame, labels: NDArray[np.str_]) -> pd.DataFrame:
    """The ledger as a list: cluster, cost with its interval, stability, human and model texts."""
    single = rows["cluster"] != TOGETHER
    return pd.DataFrame(
        {
            "cluster": row_labels(rows, here.names),
            "cost": [
                percent_with_interval(share, low, high) if one else as_percent(share, 1)
                for share, low, high, one in zip(rows["share"], rows["low"], rows["high"], single, strict=True)
            ],
            "stability": [
                labels[int(cluster)] if one else "" for cluster, one in zip(rows["cluster"], single, strict=True)
            ],
            "texts": [counts_label(human, model) for human, model in zip(rows["human"], rows["model"], strict=True)],
            **_found_column(rows),
        }
    )


def _found_column(rows: pd.DataFrame) -> dict[str, list[str]]:
    """The texts that a search found, likewise; nothing without a search."""
    if not has_found(rows):
        return {}
    pairs = zip(rows["found_human"], rows["found_model"], strict=True)
    return {"found": [counts_label(human, model) for human, model in pairs]}


def counts_label(human: float, model: float) -> str:
    """Text counts of both sides in one cell, which leaves room for names in a narrow list."""
    return f"{written(human, 0)} : {written(model, 0)}"


def _ledger_bars(
    here: Focus, direction: str, rows: pd.DataFrame, parts: Sequence[float], reach: tuple[float, float]
) -> None:
    title = words().fill(DIRECTION_TITLES[direction])
    st.markdown(f"{_swatch(here, direction)} **{title}**  \n{as_percent(sum(parts), 1)} of the frontier integral")
    charts.show_chart(
        ledger_figure(
            rows,
            direction,
            here.names,
            colour=here.colour,
            reach=reach,
            chosen=here.cluster,
            words=here.run.comparison.words,
        ),
        key=_CHART.format(direction),
        file_name=f"{here.run.name}-{here.candidate}-{direction}",
        on_select=partial(_choose_bar, direction),
        selection_mode="points",
        alt=f"{title}: each cluster's share of the frontier integral; the list below has the same numbers.",
    )
    st.caption(sum_in_words(rows, parts))


def sum_in_words(rows: pd.DataFrame, parts: Sequence[float]) -> str:
    """How the bars and the remaining clusters of a direction add up."""
    single = rows["cluster"] != TOGETHER
    count = int(single.sum())
    shown = f"{count:,} cluster{'' if count == 1 else 's'} shown: {as_percent(parts[0], 1)}"
    rest = [f"{label}: {as_percent(parts[1], 1)}" for label in row_labels(rows[~single], ())]
    return f"{'; '.join([shown, *rest])}; together {as_percent(sum(parts), 1)}."


def _ledger_list(here: Focus, direction: str, rows: pd.DataFrame) -> None:
    title = DIRECTION_TITLES[direction]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{_swatch(here, direction)} **{title.partition(':')[0]}**, cluster by cluster", width="stretch")
        charts.csv_button(
            lambda: rows.assign(name=[here.names[int(c)] if c != TOGETHER else "" for c in rows["cluster"]]),
            key=f"gap_csv_{direction}",
            file_name=f"{here.run.name}-{here.candidate}-{direction}",
        )
    bound.table(
        "cluster",
        shown_list(here, rows, cache.cluster_stability(*here.key).label),
        [None if cluster == TOGETHER else cluster for cluster in rows["cluster"].tolist()],
        key=f"gap_list_{direction}",
        height=_LIST_HEIGHT,
        column_config={
            "cost": st.column_config.TextColumn(help=words().fill(COST_HELP)),
            "stability": st.column_config.TextColumn(help=_STABILITY_HELP),
            "texts": st.column_config.TextColumn(words().items, help=words().fill(COUNTS_HELP)),
            "found": st.column_config.TextColumn(help=words().fill(_FOUND_HELP)),
        },
    )


def _counts(here: Focus, table: pd.DataFrame) -> None:
    """The clusters with their counts alone, the largest first."""
    size = table["human"] + table["model"]
    rows = table.loc[size.sort_values(ascending=False, kind="stable").index, ["cluster", "human", "model"]]
    bound.table(
        "cluster",
        rows.assign(cluster=[labelled(here.names, cluster) for cluster in rows["cluster"]]),
        rows["cluster"].tolist(),
        key="gap_list_counts",
        height=_LIST_HEIGHT,
        column_config={
            "human": st.column_config.NumberColumn(here.run.comparison.words.reference, format="localized"),
            "model": st.column_config.NumberColumn(here.candidate, format="localized"),
        },
    )
    st.caption(
        f"{len(rows):,} clusters of the {here.partition.kind} partition, with their {words().items} on either side."
    )


def _choose_bar(direction: str) -> None:
    cluster = clicked_value(bound.selection_of(_CHART.format(direction)), 0)
    if cluster is not None and cluster != TOGETHER:
        session.update(cluster=cluster)


T = TypeVar("T")

SELECTIONS: dict[Selection, str] = {
    "clusters": "Clusters",
    "lasso": "Map area",
    "slice": "Metadata",
    "found": "{Items} found",
}
ACTIONS: dict[Action, str] = {
    "drop": "Drop",
    "cap": "Cap at the {reference} share",
    "match": "Match the {reference} share",
    "weight": "Weight",
}
SIDES: dict[Side, str] = {"model": "the model's {items}", "human": "{reference_items}", "both": "both"}

KEPT_CLUSTERS = "Uses the run's own clusters, unchanged; a full recomputation would cluster again."


def _what_if(here: Focus, state: State, scale: float, masks: Found | None = None) -> None:
    """Controls and, once texts are chosen, the answer; ``masks`` are the texts that a search found."""
    groups = _choice(here, state, masks)
    side = _action(state)
    if groups is None or not _show_chosen(here, groups, side):
        st.caption(f":material/ads_click: Choose {words().items} to see what the scores would be without them.")
    else:
        _answer(here, state, groups, side, scale)
    jobs.show_panel(("without",))


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
            "what_if_selection", f"Which {words().items}", _titles(SELECTIONS), key="url_selection", wrap=True
        )
    with right:
        if selection == "found":
            return _found_texts(here, masks)
        return {"clusters": _some_clusters, "lasso": _map_area, "slice": _slice}[selection](here, state)


def _found_texts(here: Focus, masks: Found | None) -> Groups | None:
    if masks is None:
        st.caption(f":material/search: Find {words().items} first, with the button at the top.")
        return None
    st.caption(f"The {words().items} that the search found, as one group.")
    return one_group(here.candidate, masks[HUMAN], masks[here.candidate])


def chosen_clusters(here: Focus, state: State) -> list[int]:
    """The what-if's clusters that exist in the partition; without a choice, the cluster in focus."""
    if state.what_if_clusters is None:
        return [] if here.cluster is None else [here.cluster]
    return [cluster for cluster in state.what_if_clusters if cluster < here.partition.k]


def _some_clusters(here: Focus, state: State) -> Groups | None:
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


def _map_area(here: Focus, state: State) -> Groups | None:
    projection = here.run.comparison.projection
    if projection is None or state.lasso is None:
        why = (
            "This run has no map yet: the page *Map* can make it."
            if projection is None
            else "Lasso an area on the map first."
        )
        st.caption(f":material/lasso_select: {why}")
        if projection is not None:
            st.page_link("views/map.py", label="Map", icon=":material/scatter_plot:")
        return None
    stack = cache.stack(here.run.id)
    inside = inside_polygon(projection, np.array(state.lasso)) & stack.visible(
        hidden_sources(stack, here.candidate, state)
    )
    masks = {}
    for name in (HUMAN, here.candidate):
        masks[name] = np.zeros(len(here.run.corpora[name]), dtype=np.bool_)
        masks[name][stack.positions(inside, name)] = True
    st.caption(f"The {words().items} inside the area, from the sources that the map shows, as one group.")
    return one_group(here.candidate, masks[HUMAN], masks[here.candidate])


def _slice(here: Focus, _state: State) -> Groups | None:
    human, model = (here.run.corpora[name].metadata for name in (HUMAN, here.candidate))
    fields = list(dict.fromkeys([*human.columns, *model.columns]))
    if not fields:
        st.caption(f"These {words().items} have no metadata.")
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
            help="Cap: where a group (a cluster, the area, the slice) has a larger share of the model's "
            f"{words().items} than of the {words().reference} ones, its {words().items} count less, so that it has the "
            f"{words().reference} share. Match: each group gets the {words().reference} share, and all other "
            f"{words().items} are scaled alike.",
        )
        if state.what_if_action == "weight":
            low, high = FACTORS
            factor = bound.bind("what_if_factor", state.what_if_factor)
            st.number_input(f"Weight per {words().item}", low, high, step=0.1, format="%g", width=130, **factor)
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
            help=f"Deselects all {words().items}, so that all scores are unchanged",
            **bound.on_click(what_if_clusters=(), what_if_field=None, what_if_value=None, what_if_selection=None),
        )
    return side


def _titles(titles: Mapping[T, str]) -> dict[T, str]:
    """The same titles in the words of the page."""
    return {name: words().fill(title) for name, title in titles.items()}


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
        obstacle = f"Only for dropped {words().items}: {words().one} cannot be compared in part."
    elif min(left.values()) < MIN_TEXTS:
        obstacle = f"Fewer than {MIN_TEXTS} {words().items} would be left on one side."
    jobs.button(
        JobSlot("what_if_start", ExcludeTextsTask.kind),
        "Compute in full",
        lambda: _task(here, gone),
        filled=obstacle is None,
        primary=False,
        tip=obstacle
        or f"Makes a new run of the {words().reference_items} and this candidate without these {words().items}, "
        "clustered again under the run's settings. It continues in the background.",
    )


def _task(here: Focus, gone: dict[str, NDArray[np.intp]]) -> ExcludeTextsTask:
    count = sum(indices.size for indices in gone.values())
    dropped = {name: tuple(here.run.corpora[name].ids[index] for index in indices) for name, indices in gone.items()}
    name = f"{here.run.name}, {short_name(here.candidate)} without {here.run.comparison.words.count(count)}"
    dropped = {side: ids for side, ids in dropped.items() if ids}
    return ExcludeTextsTask(name, here.run.id, here.candidate, dropped)


GREEDY_ACTIONS: dict[GreedyAction, str] = {
    "match": "Match the {reference} share in each",
    "drop": "Drop the model's {items} in each",
}


def _few_clusters(here: Focus, state: State, scale: float) -> None:
    """Show controls, the line and the table."""
    with st.container(horizontal=True, gap="medium"):
        bound.segmented_control(
            "score",
            "Score",
            {score: titled(score) for score in SCORES},
            help="Each step takes the cluster that moves this score the most. ↑ larger is closer to the "
            f"{words().reference_items}.",
        )
        bound.segmented_control(
            "greedy_action",
            "Action",
            {action: words().fill(title) for action, title in GREEDY_ACTIONS.items()},
            key="url_greedy_action",
            help=f"Match: the model's {words().items} there count as much as the {words().reference_items} do. Drop: "
            "they do not count.",
        )
    if state.smoothing not in ADDED_COUNT:
        known = " or ".join(title for name, title in scores.SMOOTHING_TITLES.items() if name in ADDED_COUNT)
        st.info(f"This list needs one of these smoothings: {known}. Choose one above.")
        return
    rows = cache.greedy_list(*here.key, state.greedy_action, state.score, scale, state.smoothing)
    if len(rows) == 1:
        st.info("No cluster brings the score closer to that of equal sides under this action.")
        return
    st.markdown(_steps_in_words(here, rows, state.score))
    with st.container(key="greedy_steps"):  # stacked if the list would be too narrow for words (page_chrome.css)
        left, right = st.columns([2, 3], gap="small")
    name = f"{here.run.name}-{here.candidate}-clusters-of-the-gap"
    with left:
        charts.show_chart(
            steps_figure(rows, state.score, here.names, here.colour, words=here.run.comparison.words),
            key="greedy_chart",
            file_name=name,
            alt=f"{SCORES[state.score].title} after each cluster; the table beside it has the same numbers.",
        )
    with right:
        _steps_table(here, rows, state)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(_about_steps(here, rows, state, scale), width="stretch")
        st.button(
            "Try these as a what-if",
            icon=":material/science:",
            type="tertiary",
            key="greedy_try",
            help="Shows every score with its interval, under What would close the gap",
            **bound.on_click(
                what_if_selection="clusters",
                what_if_clusters=rows["cluster"].iloc[1:].tolist(),
                what_if_action=state.greedy_action,
                what_if_side="model",
            ),
        )
        charts.csv_button(lambda: rows, key="greedy_csv", file_name=name)


def shown_steps(here: Focus, rows: pd.DataFrame, score: str) -> pd.DataFrame:
    """The list: cluster, the score here and over seeds, share of the gap closed, texts of both sides."""
    steps = rows.iloc[1:]
    human, model = here.partition.counts(HUMAN), here.partition.counts(here.candidate)
    clusters = steps["cluster"].astype(int)
    return pd.DataFrame(
        {
            "cluster": [labelled(here.names, cluster) for cluster in clusters],
            SCORES[score].title: steps[score],
            "over seeds": [_with_spread(row) for _, row in steps.iterrows()],
            "closed": 100 * steps["closed"],
            "texts": [counts_label(human[cluster], model[cluster]) for cluster in clusters],
        }
    ).reset_index(drop=True)


def _steps_in_words(here: Focus, rows: pd.DataFrame, score: str) -> str:
    first, last, spread = rows.iloc[0], rows.iloc[-1], rows[rows["mean"].notna()].iloc[-1]
    before, after = (written(row[score], SCORE_DECIMALS) for row in (first, last))
    sentence = (
        f"**{len(rows) - 1} of {here.partition.k} clusters close {as_percent(last['closed'])} of the gap in this "
        f"partition:** {SCORES[score].title} goes from {before} to {after}"
    )
    if pd.isna(spread["sd"]) or spread["step"] == first["step"]:
        return f"{sentence}."
    after_step = "" if spread["step"] == last["step"] else f" after step {int(spread['step'])}"
    change = f"from {_with_spread(first)} to {_with_spread(spread)}{after_step}"
    return f"{sentence}; over seeds, with the same {here.run.comparison.words.items}, {change}."


def _with_spread(row: pd.Series) -> str:
    return with_spread(row["mean"], row["sd"], SCORE_DECIMALS)


def _steps_table(here: Focus, rows: pd.DataFrame, state: State) -> None:
    shown = shown_steps(here, rows, state.score)
    bound.table(
        "cluster",
        shown,
        rows["cluster"].iloc[1:].astype(int).tolist(),
        key="greedy_table",
        column_config={
            SCORES[state.score].title: st.column_config.NumberColumn("here", format="%.3f"),
            "closed": st.column_config.NumberColumn("closed", format="%.0f%%"),
            "texts": st.column_config.TextColumn(words().items, help=words().fill(COUNTS_HELP)),
        },
    )


def _about_steps(here: Focus, rows: pd.DataFrame, state: State, scale: float) -> str:
    seeds = here.run.comparison.config.score.seeds
    about = (
        "Each step takes the cluster that brings the score closest to that of equal sides (the dashed line), "
        "given all before it; another set of the same size may close more. The list is made in one partition, so the "
        "gain here is the best case"
    )
    if seeds > 1:
        about += (
            f"; over seeds: the same {here.run.comparison.words.items}, in the clusters of all {seeds} seeds, mean ± sd"
        )
    about += f". c = {scale:g}, {scores.smoothing_in_words(state)}."
    filled = [escaped(labelled(here.names, int(row["cluster"]))) for _, row in rows.iterrows() if row["filled"]]
    if filled:
        name = escaped(here.candidate)
        about += (
            f" {name} has no {here.run.comparison.words.item} in {'; '.join(filled)}: the score is what it would be "
            f"with some there; no weighting of its {here.run.comparison.words.items} can do that, so no value over "
            "seeds is given."
        )
    return about


if __name__ == "__main__":
    main()
