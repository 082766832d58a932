"""Jobs at work: progress with an estimate, cancel, errors, and the way to the run that came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from app import access
from app.components.markup import escaped
from mauve_core import jobs
from mauve_core.errors import MauveLensError
from mauve_core.jobs import JobState
from mauve_core.progress import format_seconds

POLL_S = 1.0
SHOWN = 5
"""Ended jobs that are listed; older ones are counted."""

COMPARE_PAGE = "views/compare.py"
MAKING_RUNS = ("comparison", "study", "without", "again")
"""Kinds of jobs that end in a run of their own; the others add to a run."""


def show(kinds: Sequence[str] = MAKING_RUNS, run: str | None = None) -> None:
    """The panel; it looks again every second while a job is at work, and not at all otherwise.

    Parameters
    ----------
    kinds : sequence of str
        Kinds of ``mauve_core.tasks.KINDS`` that concern the page.
    run : str or None
        Leave out jobs that add to another run than this one.
    """
    if not access.may_change():
        return
    try:
        active = _ids_at_work(_found(kinds, run))
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    st.fragment(_panel, run_every=POLL_S if active else None)(kinds, run, active)


def start(kind: str, spec: Mapping[str, Any]) -> None:
    """Start a job and show it; on refusal say why. Jobs of its kind that have added what they should are forgotten."""
    try:
        access.require_change()
        jobs.start(kind, spec)
        for job in jobs.list():
            if job.kind == kind and _has_added(job):
                jobs.remove(job.id)
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    st.rerun()


def _panel(kinds: Sequence[str], run: str | None, at_work: frozenset[str]) -> None:
    found = _found(kinds, run)
    if at_work != _ids_at_work(found):
        st.rerun()  # the whole page: a run or a result has come, or polling must begin
    active = [job for job in found if job.active]
    ended = [job for job in found if not job.active and not _has_added(job)]
    for job in active:
        _show_active(job)
    for job in ended[:SHOWN]:
        _show_ended(job)
    if len(ended) > SHOWN:
        st.caption(f"{SHOWN} of {len(ended)} ended jobs shown")


def _found(kinds: Sequence[str], run: str | None) -> list[JobState]:
    return [job for job in jobs.list() if job.kind in kinds and (run is None or _adds_to(job) in (None, run))]


def _ids_at_work(found: Sequence[JobState]) -> frozenset[str]:
    return frozenset(job.id for job in found if job.active)


def _has_added(job: JobState) -> bool:
    """Whether its result is on the page already, so that nothing is left to say."""
    return job.status == "done" and job.kind not in MAKING_RUNS


def _adds_to(job: JobState) -> str | None:
    """Id of the run that the job adds to; None when it makes one, or when its description is gone."""
    if job.kind in MAKING_RUNS:
        return None
    try:
        return str(jobs.read_json(jobs.jobs_folder() / job.id / jobs.TASK).get("run"))
    except MauveLensError:
        return None


def progress_text(job: JobState) -> str:
    """What the job is doing, how far it is and how long that will take, in one line."""
    if job.status == "queued":
        return "Waiting for its turn"
    left = job.seconds_left
    estimate = "" if left is None or job.done >= job.total else f", about {format_seconds(left)} left"
    stage = job.stage[:1].upper() + job.stage[1:] or "Starting"
    return f"{stage}: {job.done:,} of {job.total:,}{estimate}" if job.total > 1 else stage


def _show_active(job: JobState) -> None:
    with st.container(border=True):
        name, button = st.columns([6, 1], vertical_alignment="center")
        name.markdown(f"**{escaped(job.name)}**")
        button.button("Cancel", key=f"cancel_{job.id}", type="tertiary", on_click=_try, args=(jobs.cancel, job.id))
        share = min(job.done / job.total, 1.0) if job.total else 0.0
        st.progress(share, text=escaped(progress_text(job)))


def _show_ended(job: JobState) -> None:
    with st.container(border=True):
        columns = st.columns([6, 2, 1], vertical_alignment="center")
        label = {"done": ":green[done]", "failed": ":red[failed]", "cancelled": "cancelled"}[job.status]
        columns[0].markdown(f"**{escaped(job.name)}** · {label}")
        if job.status == "done" and job.run is not None:
            columns[1].page_link(
                COMPARE_PAGE,
                label="Open in Compare",
                icon=":material/leaderboard:",
                query_params={"run": job.run},
            )
        else:
            again = "Start again"
            columns[1].button(again, key=f"again_{job.id}", type="tertiary", on_click=_try, args=(jobs.restart, job.id))
        columns[2].button(
            "Dismiss",
            key=f"dismiss_{job.id}",
            type="tertiary",
            on_click=_try,
            args=(jobs.remove, job.id),
            help="Forget the job. A run that it made stays.",
        )
        if job.status == "failed":
            st.error(escaped(job.message), icon=":material/error:")


def _try(act: Callable[[str], object], job_id: str) -> None:
    try:
        access.require_change()
        act(job_id)
    except MauveLensError as error:
        st.toast(escaped(str(error)), icon=":material/error:")
