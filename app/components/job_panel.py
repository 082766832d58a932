"""Jobs at work: progress with an estimate, cancel, errors, and the way to the run that came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from app import access
from app.components.markup import escaped
from mauve_core import jobs
from mauve_core.errors import MauveLensError
from mauve_core.job_state import TASK, JobState, read_json
from mauve_core.progress import format_seconds
from mauve_core.tasks import KEPT

POLL_S, IDLE_POLL_S = 1.0, 4.0
"""Between looks at jobs at work, and at those that another tab may resume."""

SHOWN = 5
"""Ended jobs that are listed; older ones are counted."""

COMPARE_PAGE = "views/compare.py"
ENDINGS = {
    "done": ":green[done]",
    "failed": ":red[failed]",
    "cancelled": "cancelled",
    "interrupted": ":orange[interrupted]",
}
LOG_LINES = 12

MAKING_RUNS = ("comparison", "study", "without", "again")
"""Kinds of jobs that end in a run of their own; the others add to a run."""


def show(kinds: Sequence[str] = MAKING_RUNS, run: str | None = None) -> None:
    """The panel; it looks again every second while a job is at work, and now and then where one could be resumed.

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
        found = _concerning(jobs.list(), kinds, run)
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    active = _ids_at_work(found)
    resumable = any(job.status != "done" for job in found)
    poll = POLL_S if active else IDLE_POLL_S if resumable else None
    st.fragment(_panel, run_every=poll)(kinds, run, active)


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
    everything = jobs.list()
    found = _concerning(everything, kinds, run)
    if at_work != _ids_at_work(found):
        st.rerun()  # the whole page: a run or a result has come, or polling must begin
    active = [job for job in found if job.active]
    ended = [job for job in found if not job.active and not _has_added(job)]
    for job in active:
        _show_active(job, jobs.ahead_of(job.id, everything))
    for job in ended[:SHOWN]:
        _show_ended(job)
    if len(ended) > SHOWN:
        st.caption(f"{SHOWN} of {len(ended)} ended jobs shown")


def _concerning(found: Sequence[JobState], kinds: Sequence[str], run: str | None) -> list[JobState]:
    return [job for job in found if job.kind in kinds and (run is None or _adds_to(job) in (None, run))]


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
        return str(read_json(jobs.jobs_folder() / job.id / TASK).get("run"))
    except MauveLensError:
        return None


def progress_text(job: JobState, ahead: int = 0) -> str:
    """What the job is doing, how far it is and how long that will take, or how many it waits for, in one line."""
    if job.status == "queued":
        return f"Waiting: {ahead} job{'s' if ahead > 1 else ''} before it" if ahead else "Starting"
    left = job.seconds_left
    estimate = "" if left is None or job.done >= job.total else f", about {format_seconds(left)} left"
    stage = job.stage[:1].upper() + job.stage[1:] or "Starting"
    return f"{stage}: {job.done:,} of {job.total:,}{estimate}" if job.total > 1 else stage


def _show_active(job: JobState, ahead: int) -> None:
    with st.container(border=True):
        name, button = st.columns([6, 1], vertical_alignment="center")
        name.markdown(f"**{escaped(job.name)}**")
        button.button(
            "Cancel",
            key=f"cancel_{job.id}",
            type="tertiary",
            on_click=_try,
            args=(jobs.cancel, job.id),
            help=_on_resuming(job.kind, "Cancelled work can be resumed"),
        )
        share = min(job.done / job.total, 1.0) if job.total else 0.0
        st.progress(share, text=escaped(progress_text(job, ahead)))
        _show_log(job)


def _show_ended(job: JobState) -> None:
    with st.container(border=True):
        columns = st.columns([6, 2, 1], vertical_alignment="center")
        columns[0].markdown(f"**{escaped(job.name)}** · {ENDINGS[job.status]}")
        if job.status == "done" and job.run is not None:
            columns[1].page_link(
                COMPARE_PAGE,
                label="Open in Compare",
                icon=":material/leaderboard:",
                query_params={"run": job.run},
            )
        else:
            columns[1].button(
                "Resume" if job.kind in KEPT else "Start again",
                key=f"resume_{job.id}",
                type="tertiary",
                on_click=_try,
                args=(jobs.resume, job.id),
                help=_on_resuming(job.kind, "It goes on where it was"),
            )
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
        elif job.status == "interrupted":
            st.warning(escaped(job.message), icon=":material/power_off:")
        _show_log(job)


def _show_log(job: JobState) -> None:
    """The last lines of its log, as they are."""
    try:
        lines = jobs.log_lines(job.id, LOG_LINES)
    except MauveLensError:  # dismissed in another tab
        return
    if lines:
        with st.expander("Log", key=f"log_{job.id}"):
            st.code("\n".join(lines), language=None, wrap_lines=True)
            st.caption(f"The whole log: mauve-lens jobs log {job.id}")


def _on_resuming(kind: str, promise: str) -> str:
    """What is kept of unfinished work of that kind."""
    return f"{promise}: {KEPT[kind]} are kept." if kind in KEPT else "Nothing is kept of unfinished work of this kind."


def _try(act: Callable[[str], object], job_id: str) -> None:
    try:
        access.require_change()
        act(job_id)
    except MauveLensError as error:
        st.toast(escaped(str(error)), icon=":material/error:")
