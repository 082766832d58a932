"""What clusters capture: the stored numbers against k, the form that computes them, and the purest clusters here.

A selected row of the list of clusters, which is ranked by purity in one metadata column, opens its cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from numpy.typing import NDArray

from mauve_app import cache
from mauve_app.bounded_cache import kept_by_run
from mauve_app.components import charts, comparison_settings, jobs, page_chrome, upload_cards
from mauve_app.components.focus import Focus
from mauve_app.components.jobs import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.components.page_chrome import words
from mauve_app.components.sweep_panel import read_numbers
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import ChartOrTable, State
from mauve_core.analyses.attributes_over_k import (
    ATTACHMENT,
    AttributesTask,
    AttributeTable,
    Line,
    stored_attributes,
    usual_ks,
)
from mauve_core.analyses.cluster_attributes import category_columns
from mauve_core.base.config import ALL_SIDES as ALL
from mauve_core.base.config import ATTRIBUTE_SPLITS as SPLITS
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.formatting import as_percent, percent_with_interval
from mauve_core.figures import attributes as figures
from mauve_core.findings.clusters import CONFIDENCE, purest_clusters
from mauve_core.findings.why_cards import labelled
from mauve_core.runs import ATTACHED, Run
from mauve_core.texts.kinds import kind_of
from mauve_core.texts.text_files import TextFile

T = TypeVar("T")
_Others = tuple[str | None, TextFile | None]
MAX_SPLITS = 100
TABS: dict[ChartOrTable, str] = {"chart": "Charts", "table": "Table"}

_TABLE_HEIGHT = 330
# Choices beside the ids of runs, which have no spaces.
_NO_OTHERS, _FILE = "", "a file"

_HELP = (
    "Each cluster is labeled with the most frequent value in one half of the {items}; the other half is guessed. Where "
    "that is no better than always guessing the most frequent value, the clusters say nothing about it."
)


def show(here: Focus) -> None:
    """The section, folded: stored results of the run, and the purest clusters of the partition shown."""
    state, usual = session.current(), State()
    asked = any(getattr(state, field) != getattr(usual, field) for field in _ASKED) or jobs.has_job(_slot(here.run))
    with page_chrome.expander("What clusters capture", "clusters_capture", "category", asked=asked) as part:
        if part.open:
            _section(here)


# Fields of a link to something in the section.
_ASKED = ("attributes_as", "categorical_columns", "numeric_columns", "purity_side", "purity_column")


def _section(here: Focus) -> None:
    run = here.run
    stamp = _stamp(run)
    table = or_error(_read, run.id, stamp)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.caption(run.comparison.words.fill(_HELP), width="stretch")
        if table is not None:
            frame = partial(figures.attributes_frame, table)
            charts.csv_button(frame, key="attributes_csv", file_name=f"{run.name}-attributes")
    if table is not None:
        _result(run, stamp, table)
    show_purest(here)
    if table is None:
        page_chrome.nothing_yet(
            "Nothing has been computed yet.",
            f"How well do clusters capture {_captured(run)}, as the number of clusters grows? If one of them alone "
            "explains the clusters, it may explain the score, too.",
            f"Press *Compute* below, or run `mauve-lens attributes {run.id}`.",
        )
    else:
        part = st.expander(
            "How these were computed", icon=":material/tune:", key="attributes_settings", on_change="rerun"
        )
        if part.open:
            with part:
                for note in table.notes:
                    st.text(note)
                comparison_settings.show_tree(table.settings)
    if access.may_change():
        again = None if table is None else f"Compute again with other columns, {words().items} or k"
        with jobs.box(_slot(run), again):
            _form(run, table)


def _captured(run: Run) -> str:
    if run.comparison.has_words:
        return "**metadata columns**, such as a topic, and **length, stop words and punctuation**"
    return f"**metadata columns**, such as {next(iter(kind_of(run.comparison.human.kind).properties))}"


def _stamp(run: Run) -> int | None:
    path = run.path / ATTACHED / f"{ATTACHMENT}.json"
    return path.stat().st_mtime_ns if path.is_file() else None


@kept_by_run(max_entries=8, show_spinner=False)
def _read(run_id: str, stamp: int | None) -> AttributeTable | None:  # noqa: ARG001 (the stamp is part of the key)
    return stored_attributes(cache.load_run(run_id))


@kept_by_run(max_entries=32, show_spinner=False)
def _figure(
    run_id: str,  # noqa: ARG001 (run and stamp are the key of the table)
    stamp: int | None,  # noqa: ARG001
    part: str,
    lines: tuple[Line, ...],
    _table: AttributeTable,
) -> go.Figure:
    """A chart of the stored table, cached because drawing it takes longer than the rest of the section."""
    return figures.part_figure(part, _table, lines)


def _result(run: Run, stamp: int | None, table: AttributeTable) -> None:
    categories = _chosen(run, "categorical_columns", "categories", figures.lines_of("accuracy", table))
    numbers = _chosen(run, "numeric_columns", "numbers", figures.lines_of("explained", table))
    shown_as, tab = bound.open_tab("attributes_as", TABS, "attributes_tabs")
    with tab:
        if shown_as == "chart":
            _charts((run, stamp, table), categories, numbers)
        else:
            st.dataframe(figures.shown_table(table), hide_index=True, key="attributes_table", height=_TABLE_HEIGHT)
    st.caption(figures.described(table, run.comparison.words, escaped))


def _chosen(run: Run, field: str, title: str, lines: Sequence[Line]) -> list[Line]:
    """The lines to draw: all if they are few, else those of ``field``, chosen in a picker of that title."""
    if len(lines) <= figures.MOST_LINES:
        return list(lines)
    usual = list(range(figures.MOST_LINES))
    wanted = getattr(session.current(), field)
    shown = usual if wanted is None else [index for index in wanted if index < len(lines)]
    bound.multiselect(
        field,
        f"{title.capitalize()} shown, of {len(lines):,}",
        range(len(lines)),
        shown,
        default=usual,
        format_func=lambda index: figures.line_title(lines[index]),
        key=f"url_{title}_{run.id}_{len(lines)}",
    )
    return [lines[index] for index in shown]


def _charts(
    stored: tuple[Run, int | None, AttributeTable], categories: Sequence[Line], numbers: Sequence[Line]
) -> None:
    run, stamp, table = stored
    lines_of = {"accuracy": categories, "agreement": categories, "explained": numbers}
    drawn = [part for part, lines in lines_of.items() if lines]
    if not drawn:
        st.caption("No column could be judged; see *How these were computed* below.")
        return
    for column, part in zip(st.columns(len(drawn), gap="medium"), drawn, strict=True):
        with column:
            head, meaning = figures.PARTS[part]
            st.markdown(f"**{head}**: {meaning}")
            charts.show_chart(
                _figure(run.id, stamp, part, tuple(lines_of[part]), table),
                key=f"attributes_{part}",
                file_name=f"{run.name}-attributes-{part}",
                alt=f"{head}: {meaning}, against the number of clusters; the table has the numbers.",
            )


def _form(run: Run, table: AttributeTable | None) -> None:
    settings = {} if table is None else table.settings
    suffix = f"{run.id}_{table is not None}"
    names = [candidate.name for candidate in run.comparison.candidates]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        candidate = _picker(
            "Clusters",
            [None, *names],
            settings.get("candidate"),
            format_func=lambda name: "joint" if name is None else f"pairwise with {name}",
            key=f"attributes_clusters_{suffix}",
            width=220,
        )
        sources = [HUMAN, *(names if candidate is None else [candidate]), *([] if ALL in names else [ALL])]
        key = f"attributes_source_{suffix}_{candidate}"
        words = run.comparison.words
        source = _picker(
            words.items.capitalize(), sources, settings.get("source"), format_func=words.source, key=key, width=180
        )
        splits = st.number_input(
            "Splits",
            1,
            MAX_SPLITS,
            int(settings.get("splits") or SPLITS),
            key=f"attributes_splits_{suffix}",
            width=120,
            help="Random halves: one labels the clusters, the other is guessed.",
        )
    looked_at = list(dict.fromkeys(sources[:-1] if source == ALL and ALL not in names else [source]))
    others = _others(run, settings, suffix)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        columns = st.multiselect(
            "Columns",
            _shared_columns(run, looked_at),
            key=f"attributes_columns_{suffix}_{candidate}_{source}",
            placeholder="All that can be judged",
        )
        text = st.text_input(
            "Numbers of clusters k",
            key=f"attributes_ks_{suffix}_{candidate}",
            placeholder=", ".join(map(str, usual_ks(run, candidate))),
            help="Numbers separated by commas. Empty: those shown.",
        )

    def task() -> AttributesTask:
        numbers = read_numbers(text)
        ks = None if numbers is None else tuple(int(k) if k.is_integer() else k for k in numbers)
        chosen = tuple(columns) or None
        return AttributesTask(run.id, chosen, ks, source, candidate, int(splits), *(others or ()))  # type: ignore[arg-type]

    jobs.button(_slot(run), "Compute", task, filled=others is not None, boxed=table is not None)


def _slot(run: Run) -> JobSlot:
    return JobSlot("attributes_start", AttributesTask.kind, run.id)


def _picker(label: str, offered: Sequence[T], initial: Any, **keywords: Any) -> T:
    """A list that initially shows ``initial``, or else its first."""
    first = offered.index(initial) if initial in offered else 0
    chosen: T = st.selectbox(label, offered, first, **keywords)
    return chosen


def _shared_columns(run: Run, sources: Sequence[str]) -> list[str]:
    first, *others = (run.corpora[name].metadata.columns for name in sources)
    return [str(name) for name in first if all(name in columns for columns in others)]


def _others(run: Run, settings: Mapping[str, Any], suffix: str) -> _Others | None:
    """The run or the file whose texts give other clusters as well, if any; None while a file is missing."""
    encoder = run.comparison.config.encoder
    if encoder is None:
        return None, None
    summaries = [each for each in cache.run_summaries() if each.id != run.id and each.encoder == encoder.model]
    titles = {_NO_OTHERS: "none", **{each.id: f"run {each.name}" for each in summaries}, _FILE: "a file"}
    earlier = settings.get("clusters_from", {}).get("title", _NO_OTHERS)
    chosen = _picker(
        f"Also clusters of other {run.comparison.words.items}",
        list(titles),
        earlier,
        format_func=titles.__getitem__,
        key=f"attributes_others_{suffix}",
        width=320,
        help=f"Clusters are also learned on the {words().reference_items} of another run, or on those of a file, with "
        f"this run's encoder and settings. What they capture of these {words().items} is what a score's clusters "
        "would.",
    )
    if chosen == _FILE:
        read = upload_cards.show_side("attributes", f"{words().items.capitalize()} to learn clusters on")
        file = next((each for each in read if each is not None), None)
        return None if file is None else (None, file.file)
    return (None if chosen == _NO_OTHERS else chosen), None


_LIST_HEIGHT = 248


def show_purest(here: Focus) -> None:
    """The list for the focus' partition, with pickers of the column and of the texts that count."""
    sides = {"human": (HUMAN,), "model": (here.candidate,), "both": (HUMAN, here.candidate)}
    usable = {side: columns for side, names in sides.items() if (columns := _columns(here.run.id, names))}
    if not usable:
        st.caption(f"These {words().items} have no metadata column that sorts them, so no cluster can be pure in one.")
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
            f"of all {words().items}": [as_percent(share, 1) for share in rows["of_all"]],
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
            f"of all {words().items}": st.column_config.TextColumn(
                help=f"Share of the value among all {words().items}"
            ),
            "texts": st.column_config.NumberColumn(
                words().items, help=f"{words().items.capitalize()} of the cluster that have a value"
            ),
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
