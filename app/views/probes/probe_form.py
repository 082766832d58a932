"""Form that starts a job: texts to probe, and perturbations from pills, a builder or typed specs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.components import focus, job_panel
from app.components.markup import escaped
from app.components.messages import or_error
from app.components.score_controls import PARTITION_TITLES
from app.url.parameters import State
from mauve_core.analysis.selection import rows_in_cluster, rows_in_lasso, rows_with_values, value_counts
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.experiments.perturbations import PERTURBATIONS, Parameter, Perturbation, parse_perturbation
from mauve_core.experiments.robustness import SPLITS, ProbeTable
from mauve_core.figures.theme import short_name
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.store import Run
from mauve_core.store.features import without_features
from mauve_core.tasks.probe import ProbeTask

MAX_SPLITS = 100

LABELS = {"words": "Share of words", "rate": "Share of letters", "times": "Times", "pattern": "Pattern", "with": "With"}
"""Titles of parameters in the builder."""

_OFFERED = [name for name, kind in PERTURBATIONS.items() if not kind.is_control]
_PILLS = [name for name in _OFFERED if not PERTURBATIONS[name].has_pattern]
_ALL, _CLUSTER, _LASSO, _METADATA = "all", "cluster", "lasso", "metadata"


def obstacle(run: Run) -> str:
    """Why the run cannot be probed; empty if it can, or if only trying will tell."""
    if run.comparison.config.encoder is None:
        return "This run was made from given features, so changed texts cannot be encoded."
    missing = without_features(run)
    if missing:
        return f"The features of {', '.join(missing)} were not kept with this run. Compare the texts again."
    return ""


def show(run: Run, state: State, table: ProbeTable | None) -> None:
    """The form, initially with the settings of ``table``, else with the perturbations of ICLR 2023."""
    suffix = f"{run.id}_{table is not None}"
    source, rows, enough = _texts(run, state, table, suffix)
    key = f"probes_chosen_{suffix}"
    initial = ProbeTask.perturbations if table is None else _stored(table)
    _pills(key, initial, suffix)
    chosen = _chosen(key, initial)
    _builder(key, suffix)
    splits = _splits(table, suffix)
    n = (len(run.corpora[source]) if rows is None else len(rows)) // 2
    encoded = n if splits == 1 else min(2 * n, n * splits)
    st.caption(
        f"Each half has {n:,} texts. Changed texts are encoded again, up to {encoded:,} per perturbation, and kept. "
        "All other texts have the run's features."
    )
    ready = enough and bool(chosen)
    if st.button("Probe", type="primary", icon=":material/play_arrow:", key="probes_start", disabled=not ready):
        _start(run.id, chosen, source, rows, splits)


def _stored(table: ProbeTable) -> tuple[str, ...]:
    return tuple(line.name for line in table.lines if line.kind == "perturbation")


# Texts


def _texts(run: Run, state: State, table: ProbeTable | None, suffix: str) -> tuple[str, tuple[int, ...] | None, bool]:
    """The source, its rows (None for all), and whether these are enough for two halves."""
    sources = list(run.corpora)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        source = st.selectbox(
            "Texts of",
            sources,
            index=sources.index(table.source) if table is not None and table.source in sources else 0,
            key=f"probes_source_{suffix}",
            format_func=lambda name: "human" if name == HUMAN else short_name(name),
            width=240,
            help="They are split into two halves; one is perturbed and compared with the other.",
        )
        which = st.segmented_control(
            "Subset",
            [_ALL, _CLUSTER, _LASSO, _METADATA],
            default=_ALL,
            required=True,
            key=f"probes_which_{suffix}",
            format_func={
                _ALL: "All", _CLUSTER: "Chosen cluster", _LASSO: "Map area", _METADATA: "By metadata"
            }.__getitem__,
        )  # fmt: skip
    rows = _rows(run, state, source, which, suffix)
    count = len(run.corpora[source]) if rows is None else len(rows)
    enough = count >= 2 * MIN_TEXTS
    if rows is not None or not enough:
        short = "" if enough else f" Two halves need at least {2 * MIN_TEXTS}."
        st.caption(f"{count:,} of {len(run.corpora[source]):,} texts.{short}")
    return source, rows, enough


def _rows(run: Run, state: State, source: str, which: str, suffix: str) -> tuple[int, ...] | None:
    """The chosen rows of the source; None for all. Without a choice, the page says how to make one."""
    if which == _ALL:
        return None
    if which == _METADATA:
        return _by_metadata(run, source, suffix)
    if which == _LASSO:
        rows = rows_in_lasso(run.comparison, source, state.lasso)
        st.caption(
            "The area drawn on the map." if state.lasso else "No area is drawn on the map: draw one there first."
        )
        return rows
    here = focus.of(run, state)
    if here.cluster is None:
        st.caption("No cluster is chosen: choose one under Clusters first.")
    elif source not in here.partition.labels:
        st.caption("The pairwise partition in focus leaves this source out: choose the joint one under Clusters.")
    else:
        st.caption(f"Cluster {here.cluster} of the partition: {PARTITION_TITLES[here.partition.kind].lower()}.")
    return rows_in_cluster(here.partition, source, here.cluster)


def _by_metadata(run: Run, source: str, suffix: str) -> tuple[int, ...]:
    metadata = run.corpora[source].metadata
    if not len(metadata.columns):
        st.caption("These texts have no metadata.")
        return ()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        field = st.selectbox("Field", list(metadata.columns), key=f"probes_field_{suffix}_{source}", width=240)
        counts = value_counts(metadata[field])
        values = st.multiselect(
            "Values",
            list(counts),
            key=f"probes_values_{suffix}_{source}_{field}",
            format_func=lambda value: f"{short_name(value)} ({counts[value]:,})",
        )
    return rows_with_values(metadata[field], values)


# Perturbations


def _pills(key: str, initial: Sequence[str], suffix: str) -> None:
    """Pills that are lit if the perturbation is chosen with its usual settings; a press adds or removes that one."""
    chosen = st.session_state.get(key, initial)
    lit = [name for name in _PILLS if name in chosen]
    pills = f"probes_pills_{suffix}"
    if st.session_state.get(pills) != lit:
        st.session_state[pills] = lit
    st.pills(
        "Perturb",
        _PILLS,
        selection_mode="multi",
        default=lit,
        key=pills,
        format_func=lambda name: PERTURBATIONS[name].title,
        on_change=_press,
        args=(key, pills),
        help="  \n".join(f"{PERTURBATIONS[name].title}: {PERTURBATIONS[name].summary}" for name in _PILLS),
    )


def _press(key: str, pills: str) -> None:
    """Apply the pills, which alone decide on their perturbations, so that quick presses are not lost."""
    after = st.session_state[pills]
    remaining = [spec for spec in st.session_state[key] if spec not in _PILLS or spec in after]
    st.session_state[key] = [*remaining, *(name for name in after if name not in remaining)]


def _chosen(key: str, initial: Sequence[str]) -> list[str]:
    """The chosen perturbations as specs, without duplicates; empty while one of them is invalid."""
    custom = [spec for spec in st.session_state.get(key, initial) if title_of(spec) != spec]
    chosen: list[str] = st.multiselect(
        "Perturbations",
        list(dict.fromkeys([*custom, *_PILLS])),
        default=list(initial),
        accept_new_options=True,
        key=key,
        persist_state="session",
        format_func=title_of,
        placeholder="Click a perturbation, add one, or type one",
        help="Or type one, such as typos:rate=0.1, drop-articles@0.5 (half of the texts) or replace:/colou?r/hue/.",
    )
    read = [or_error(parse_perturbation, written) for written in chosen]
    items = [item for item in read if item is not None]
    return [] if len(items) < len(read) else list(dict.fromkeys(i.spec for i in items if not i.kind.is_control))


def title_of(spec: str) -> str:
    """The perturbation's title; the spec itself if it is invalid."""
    try:
        return parse_perturbation(spec).title
    except InputError:
        return spec


def _builder(key: str, suffix: str) -> None:
    """One more perturbation from its parts: kind, strength, and share of the texts."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Perturbation to add",
            _OFFERED,
            key=f"probes_kind_{suffix}",
            format_func=lambda name: PERTURBATIONS[name].title,
            width=230,
        )
        kind = PERTURBATIONS[name]
        values = {item.name: _parameter(item, name, suffix) for item in kind.parameters}
        dose = st.number_input(
            "Share of texts",
            0.01,
            1.0,
            1.0,
            step=0.05,
            key=f"probes_dose_{suffix}",
            width=130,
            help="The dose. A larger dose perturbs the texts of a smaller one, and more.",
        )
        try:
            spec = Perturbation(kind, values, dose).spec
            wrong = ""
        except InputError as error:
            spec, wrong = "", str(error)
        if kind.has_pattern and not values["pattern"]:
            spec, wrong = "", ""  # nothing has been entered yet
        st.button(
            "Add",
            icon=":material/add:",
            key=f"probes_add_{suffix}",
            on_click=_add,
            args=(key, spec),
            disabled=not spec,
        )
    st.caption(escaped(kind.summary))
    if wrong:
        st.error(escaped(wrong), icon=":material/error:")


def _parameter(item: Parameter, name: str, suffix: str) -> float | str:
    key = f"probes_{item.name}_{name}_{suffix}"
    if item.kind is str:
        return st.text_input(
            LABELS[item.name], key=key, width=170, help=f"{item.allowed[:1].upper()}{item.allowed[1:]}"
        )
    if item.kind is int:
        return int(st.number_input(LABELS[item.name], 1, 100, int(item.default or 1), key=key, width=110))
    return float(
        st.number_input(
            LABELS[item.name],
            0.0,
            1.0,
            item.default or 0.0,
            step=0.05,
            format="%.3g",
            key=key,
            width=140,
            help=item.allowed,
        )
    )


def _add(key: str, spec: str) -> None:
    chosen = st.session_state[key]
    if spec not in chosen:
        st.session_state[key] = [*chosen, spec]


def _splits(table: ProbeTable | None, suffix: str) -> int:
    stored = None if table is None else table.settings.get("splits")
    usual = stored if isinstance(stored, int) and 1 <= stored <= MAX_SPLITS else SPLITS
    return int(
        st.number_input(
            "Splits",
            1,
            MAX_SPLITS,
            usual,
            key=f"probes_splits_{suffix}",
            width=160,
            help="How often the texts are split into two halves. The spread is over splits and k-means seeds.",
        )
    )


def _start(run: str, chosen: Sequence[str], source: str, rows: tuple[int, ...] | None, splits: int) -> None:
    job_panel.start(lambda: ProbeTask(run, tuple(chosen), source, rows, splits))
