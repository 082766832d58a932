"""Form that starts a job: perturbations, chosen or typed; which texts to probe; how long that takes."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from mauve_app import cache
from mauve_app.components import focus, jobs
from mauve_app.components.jobs import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.components.page_chrome import words
from mauve_app.url.parameters import State
from mauve_core.analyses.probe_results import ProbeTable
from mauve_core.analyses.probes import ProbeTask
from mauve_core.analyses.selection import rows_in_cluster, rows_in_lasso, rows_with_values, value_counts
from mauve_core.analyses.tasks import Amount
from mauve_core.base.config import HUMAN
from mauve_core.base.config import PROBE_SPLITS as SPLITS
from mauve_core.base.errors import InputError
from mauve_core.base.progress import format_seconds
from mauve_core.figures.theme import short_name
from mauve_core.runs import Run
from mauve_core.runs.features import without_features
from mauve_core.scoring.partitioning import MIN_TEXTS
from mauve_core.texts.kinds import Kind, kind_of, parse_perturbation
from mauve_core.texts.perturbations import parse

MAX_SPLITS = 100

TYPED_TEXTS = "typos:rate=0.1, drop-articles@0.5 (half of the texts) or replace:/colou?r/hue/"

# Session key: the run whose encoder was asked for its pace.
_TIMED = "probes_timed"

_ALL, _CLUSTER, _LASSO, _METADATA = "all", "cluster", "lasso", "metadata"


def obstacle(run: Run) -> str:
    """Why the run cannot be probed; empty if it can, or if only trying will tell."""
    if run.comparison.config.encoder is None:
        return f"This run was made from given features, so changed {run.comparison.words.items} cannot be encoded."
    missing = without_features(run)
    if missing:
        items = run.comparison.words.items
        return f"The features of {', '.join(missing)} were not kept with this run. Compare the {items} again."
    return ""


def show(run: Run, state: State, table: ProbeTable | None) -> None:
    """The form, initially with the settings of ``table``, else with the usual perturbations."""
    suffix = f"{run.id}_{table is not None}"
    initial = ProbeTask(run.id).specs(run) if table is None else _stored(table)
    chosen = _chosen(kind_of(run.comparison.human.kind), f"probes_chosen_{suffix}", initial)
    press = st.container(gap="small")
    with st.popover(
        f"{run.comparison.words.items.capitalize()} and splits", icon=":material/tune:", key=f"probes_more_{suffix}"
    ):
        source, rows, enough = _texts(run, state, table, suffix)
        splits = _splits(table, suffix)
    ready = enough and bool(chosen)

    def task() -> ProbeTask:
        return ProbeTask(run.id, tuple(chosen), source, rows, splits)

    def amount() -> Amount | None:
        is_stored = table is not None and (_stored(table), table.source) == (tuple(chosen), source)
        return None if is_stored and rows is None else task().amount(run)  # what it changes has been encoded

    with press:
        boxed = table is not None
        at_work = jobs.button(slot(run), "Probe", task, amount=amount, filled=ready, boxed=boxed)
        if ready and not at_work:
            n = (len(run.corpora[source]) if rows is None else len(rows)) // 2
            _pace(run, source, task().encodings(run), n)


def slot(run: Run) -> JobSlot:
    """Where the form's job stands."""
    return JobSlot("probes_start", ProbeTask.kind, run.id)


def _pace(run: Run, source: str, encodings: int, n: int) -> None:
    """How much is encoded again and, once an encoder of texts is loaded into the app, how long that takes at most."""
    config, items = run.comparison.config.encoder, run.comparison.words.items
    if config is None:
        return
    amount = f"Each half has {n:,} {items}; at most {encodings:,} changed {items} are encoded again"
    if not run.comparison.has_words:
        st.caption(f"{amount}.")
        return
    if not (cache.shared_encoder(config).loaded or st.session_state.get(_TIMED) == run.id):
        row = st.container(horizontal=True, vertical_alignment="center")
        row.caption(f"{amount}.", width="content")
        row.button(
            "How long?",
            icon=":material/timer:",
            type="tertiary",
            key="probes_time",
            on_click=_time,
            args=(run.id,),
            help=f"Loads the encoder and encodes {cache.TIMED_TEXTS} {words().items} to measure its pace.",
        )
        return
    with st.spinner("Measuring the pace of the encoder"):
        seconds = or_error(cache.seconds_per_text, run.id, source)
    pace = "" if seconds is None else f", in at most about {format_seconds(seconds * encodings)} on this machine"
    st.caption(f"{amount}{pace}.", width="stretch")


def _time(run_id: str) -> None:
    st.session_state[_TIMED] = run_id


def _stored(table: ProbeTable) -> tuple[str, ...]:
    return tuple(line.name for line in table.lines if line.kind == "perturbation")


# Texts


def _texts(run: Run, state: State, table: ProbeTable | None, suffix: str) -> tuple[str, tuple[int, ...] | None, bool]:
    """The source, its rows (None for all), and whether these are enough for two halves."""
    sources = list(run.corpora)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        source = st.selectbox(
            f"{run.comparison.words.items.capitalize()} of",
            sources,
            index=sources.index(table.source) if table is not None and table.source in sources else 0,
            key=f"probes_source_{suffix}",
            format_func=lambda name: run.comparison.words.reference if name == HUMAN else short_name(name),
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
        st.caption(f"{count:,} of {run.comparison.words.count(len(run.corpora[source]))}.{short}")
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
        st.caption(
            "The pairwise partition in focus leaves this source out: choose the joint one under Clusters, Sensitivity."
        )
    else:
        st.caption(
            f"Cluster {here.cluster} of the {here.partition.kind} partition of {escaped(here.candidate)}, seed "
            f"{here.partition.seed + 1} of {run.comparison.config.score.seeds}."
        )
    return rows_in_cluster(here.partition, source, here.cluster)


def _by_metadata(run: Run, source: str, suffix: str) -> tuple[int, ...]:
    metadata = run.corpora[source].metadata
    if not len(metadata.columns):
        st.caption(f"These {run.comparison.words.items} have no metadata.")
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


def _chosen(kind: Kind, key: str, initial: Sequence[str]) -> list[str]:
    """The chosen perturbations as specs, without duplicates; empty while one of them is invalid."""
    offered = _offered(kind)
    custom = [spec for spec in st.session_state.get(key, initial) if title_of(spec) != spec]
    chosen: list[str] = st.multiselect(
        "Perturbations",
        list(dict.fromkeys([*custom, *offered])),
        default=list(initial),
        accept_new_options=True,
        key=key,
        persist_state="session",
        format_func=title_of,
        placeholder="Choose a perturbation, or type one",
        help=_about(kind),
    )
    read = [or_error(parse, written, kind.perturbations) for written in chosen]
    items = [item for item in read if item is not None]
    return [] if len(items) < len(read) else list(dict.fromkeys(i.spec for i in items if not i.kind.is_control))


def _offered(kind: Kind) -> list[str]:
    """The usual perturbations, and all others that need no value."""
    plain = [
        name
        for name, each in kind.perturbations.items()
        if not each.is_control and all(parameter.default is not None for parameter in each.parameters)
    ]
    return list(dict.fromkeys([*kind.probes, *plain]))


def _about(kind: Kind) -> str:
    """What can be typed, and what each perturbation does."""
    typed = TYPED_TEXTS if kind.has_words else f"jpeg-10, blur-1.5@0.5 (half of the {kind.words.items}) or crop-0.8"
    every = [each for each in kind.perturbations.values() if not each.is_control and not each.has_pattern]
    return "  \n".join(
        [
            f"Or type one, such as {typed}. ",
            *(f"{f'{each.form}: ' if each.inline else ''}{each.title}: {each.summary}" for each in every),
        ]
    )


def title_of(spec: str) -> str:
    """The perturbation's title; the spec itself if it is invalid."""
    try:
        return parse_perturbation(spec).title
    except InputError:
        return spec


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
            help="How often they are split into two halves. The spread is over splits and k-means seeds.",
        )
    )
