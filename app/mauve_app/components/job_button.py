"""The button that starts a job, and in its place what became of the job: its progress, its failure, or its results.

A form has one place, a container of its own. While the form's job waits or runs, its progress stands there and the
button does not; ``news`` draws the page anew when it ends. Forms that add to a run show the newest job of their kind
for that run, whoever started it. Forms that make a run from files show the job that was started there in this visit, so
that nobody waits for another person's job; while they are not filled in, they show the newest at work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mauve_app.components import job_panel, job_progress
from mauve_app.components.markup import escaped
from mauve_app.components.saying import said
from mauve_app.server import access
from mauve_core.base.errors import MauveLensError
from mauve_core.base.progress import format_seconds
from mauve_core.encoders import check_model
from mauve_core.jobs import estimates, queue
from mauve_core.jobs.state import JobState
from mauve_core.tasks.amounts import Amount
from mauve_core.tasks.base import Task
from mauve_core.tasks.registry import MAKING_RUNS

# Session keys: by place, the id of the job that was last started there, and of the one that was last seen at work.
_STARTED, _SEEN = "job_button_started", "job_button_seen"


@dataclass(frozen=True)
class JobSlot:
    """Where a form's job stands.

    Attributes
    ----------
    key : str
        Of the button.
    kind : str
        Of the jobs, one of ``mauve_core.tasks.registry.KINDS``.
    run : str or None
        Id of the run whose jobs of that kind all stand here; None if only those do that were started here.
    adopts : bool
        Show the newest job of the kind at work while the form is not filled in.
    """

    key: str
    kind: str
    run: str | None = None
    adopts: bool = False


def no_amount() -> None:
    """Of work whose time cannot be estimated."""


def box(slot: JobSlot, again: str | None) -> DeltaGenerator:
    """Container of a form: in plain sight, or folded under the title ``again`` if there is a result already.

    It is open while its job waits or runs, and after a failure; above it, a line says how long the job took.
    """
    if again is None:
        return st.container(border=True)
    job = _job(slot, filled=True)
    if job is not None and job.status == "done":
        with st.container(key=f"{slot.key}_place_done"):
            st.caption(_done(job))
    return st.expander(again, icon=":material/replay:", expanded=job is not None and job.status != "done")


def show(
    slot: JobSlot,
    label: str,
    task: Callable[[], Task],
    *,
    amount: Callable[[], Amount | None] = no_amount,
    models: Sequence[tuple[str, str | None]] = (),
    check: Callable[[str, str | None], None] | None = None,
    filled: bool = True,
    icon: str = ":material/play_arrow:",
    primary: bool = True,
    boxed: bool = False,
    tip: str | None = None,
) -> bool:
    """Draw the button or what became of its job.

    Parameters
    ----------
    slot : JobSlot
    label : str
    task : callable
        What a press starts; may raise MauveLensError.
    amount : callable
        How much work that is, for an estimate beside the button; may raise MauveLensError.
    models : sequence of (model, revision)
        Looked for before the job starts.
    check : callable, optional
        How one is looked for: (model, revision) -> None, or raises MauveLensError; default: as one of texts.
    filled : bool
        Whether the form is filled in, so that the button can be pressed.
    icon : str
    primary : bool
        Whether it is the button of the page.
    boxed : bool
        Whether the form stands in a folded :func:`box`, which says when the job is done.
    tip : str, optional

    Returns
    -------
    bool
        Whether the job waits or runs, so that there is no button.
    """
    if not access.may_change():
        return False
    job = _job(slot, filled=filled)
    with st.container(key=f"{slot.key}_place", gap="xsmall"):
        if job is not None and job.active:
            _show_active(slot, job)
            return True
        job_panel.show_undo(slot.key)
        has_results = job is not None and job.status == "done" and job.run is not None and job.kind in MAKING_RUNS
        with st.container(horizontal=True, vertical_alignment="center"):
            if job is not None and has_results:
                job_panel.open_results(job)
            pressed = st.button(
                label,
                key=slot.key,
                type="primary" if primary and not has_results else "secondary",
                icon=icon,
                disabled=not filled,
                help=tip,
            )
            said = st.empty()
            if job is not None and has_results:
                job_panel.dismiss_button(job, slot.key)
        if pressed:
            _start(slot, task, amount, models, check or check_model)
        if job is not None and job.status != "done":
            job_panel.show_ended(job, slot.key)
        is_done = job is not None and job.status == "done" and not boxed
        lines = [_done(job)] if job is not None and is_done else []
        if filled and not has_results:
            lines += [_estimate(slot.kind, amount)]
        if any(lines):
            said.caption("  \n".join(filter(None, lines)), width="stretch")
    if job is not None:
        job_progress.put_on_page(job.id)
    return False


def has_job(slot: JobSlot) -> bool:
    """Whether a job stands there: at work, failed, or done while somebody looked on."""
    return _job(slot, filled=True) is not None


def _job(slot: JobSlot, *, filled: bool) -> JobState | None:
    """The job that stands in that place; a job that is done only if it was seen at work there."""
    try:
        jobs = [job for job in queue.list() if job.kind == slot.kind]
    except MauveLensError:  # the page itself reports the error
        return None
    started, seen = (st.session_state.get(key, {}).get(slot.key) for key in (_STARTED, _SEEN))
    if slot.run is None:
        known = {job.id: job for job in jobs}
        others = (job for job in jobs if job.active or job.id == seen)
        return known.get(started) or (next(others, None) if slot.adopts and not filled else None)
    own = [job for job in jobs if job_panel.run_of(job) == slot.run]
    first = next((job for job in own if job.active), next(iter(own), None))
    return None if first is None or (first.status == "done" and first.id not in (started, seen)) else first


def _show_active(slot: JobSlot, job: JobState) -> None:
    started = slot.run is None and st.session_state.get(_STARTED, {}).get(slot.key) == job.id
    is_new = st.session_state.get(_STARTED, {}).get(slot.key) == job.id != _seen(slot)
    st.session_state[_SEEN] = {**st.session_state.get(_SEEN, {}), slot.key: job.id}
    if slot.run is None:
        st.markdown(f"**{escaped(job.name)}**")
    with st.container(horizontal=True, vertical_alignment="center"):
        with suppress(MauveLensError):  # removed in another tab
            job_progress.show(job, key="progress", place=f"{slot.key}_place", focus=is_new)
        job_panel.cancel_button(job)
        if started:
            st.button(
                "Set up another",
                key=f"{slot.key}_another",
                icon=":material/add:",
                type="tertiary",
                help="This job goes on, and stands in the sidebar",
                on_click=_leave,
                args=(slot,),
            )
    if job.run is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            job_panel.open_results(job)
            st.caption(job_panel.SCORES_READY, width="content")


def _leave(slot: JobSlot) -> None:
    """Give the place back to the button, whatever its job does."""
    for key in (_STARTED, _SEEN):
        st.session_state[key] = {name: job for name, job in st.session_state.get(key, {}).items() if name != slot.key}


def _seen(slot: JobSlot) -> str | None:
    found: str | None = st.session_state.get(_SEEN, {}).get(slot.key)
    return found


def _start(
    slot: JobSlot,
    task: Callable[[], Task],
    amount: Callable[[], Amount | None],
    models: Sequence[tuple[str, str | None]],
    check: Callable[[str, str | None], None],
) -> None:
    def describe() -> tuple[Task, Amount | None]:
        described = task()
        with st.spinner("Looking for the models"):
            for model, revision in models:
                check(model, revision)
        try:
            return described, amount()
        except MauveLensError:  # the job itself will say what is wrong
            return described, None

    job = job_panel.start(describe)
    if job is not None:
        st.session_state[_STARTED] = {**st.session_state.get(_STARTED, {}), slot.key: job.id}
        st.rerun()


def _estimate(kind: str, amount: Callable[[], Amount | None]) -> str:
    """How long the job will take, from earlier ones; empty if they do not say."""
    if not estimates.is_known(kind):
        return ""
    try:
        found = amount()
    except MauveLensError:
        return ""
    told = None if found is None else estimates.estimate(kind, found)
    return "" if told is None else f"{said(told.text)}."


def _done(job: JobState) -> str:
    if job.started is None:
        return ":material/check: Done"
    seconds = (datetime.fromisoformat(job.updated) - datetime.fromisoformat(job.started)).total_seconds()
    return f":material/check: Done in {format_seconds(seconds)}"
