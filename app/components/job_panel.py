"""Panel of jobs: progress with an estimate, cancel, errors, and a link to the resulting run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import streamlit as st

from app.components import job_progress
from app.components.markup import escaped
from app.components.messages import change, or_error
from app.server import access
from app.url import session
from mauve_core.base.errors import MauveLensError
from mauve_core.jobs import queue
from mauve_core.jobs.state import TASK, JobState, read_json
from mauve_core.store import RunStore
from mauve_core.tasks.base import Task
from mauve_core.tasks.registry import KEPT, MAKING_RUNS

SHOWN = 5
"""Number of ended jobs listed before the reader asks for all."""

FEW = 2
"""The same limit if the panel has jobs of all kinds and stands above other content."""

COMPARE_PAGE = "views/compare/compare.py"
ENDINGS = {
    "done": ":green[done]",
    "failed": ":red[failed]",
    "cancelled": "cancelled",
    "interrupted": ":orange[interrupted]",
}

_ALL, _DISMISSED = "jobs_all", "jobs_dismissed"


@dataclass(frozen=True)
class _JobFilter:
    """Which jobs the page lists; fields as for :func:`show`."""

    kinds: tuple[str, ...]
    run: str | None
    failed: bool
    unfinished: bool

    def concern(self, job: JobState) -> bool:
        if self.failed and job.status in ("failed", "interrupted"):
            return True
        if self.unfinished and job.status == "done":
            return False
        return job.kind in self.kinds and (self.run is None or self._has_this_run(job))

    def _has_this_run(self, job: JobState) -> bool:
        """Whether the job makes that run or adds to it; also if its description is gone, so that it can be found."""
        return job.run == self.run if job.kind in MAKING_RUNS else _run_of(job) in (None, self.run)


def show(
    kinds: Sequence[str] = MAKING_RUNS, run: str | None = None, *, failed: bool = False, unfinished: bool = False
) -> bool:
    """Show the panel; ``news`` reruns the page when jobs start, stop or end, and ``job_progress`` draws progress.

    Parameters
    ----------
    kinds : sequence of str
        Kinds of ``mauve_core.tasks.registry.KINDS`` that the page lists.
    run : str or None
        If given, leave out jobs that make other runs or add to them.
    failed : bool
        List every failed or interrupted job of any kind, so that jobs of deleted runs can be found.
    unfinished : bool
        Leave out jobs that are done.

    Returns
    -------
    bool
        Whether a listed job waits or runs.
    """
    if not access.may_change():
        return False
    job_filter = _JobFilter(tuple(kinds), run, failed, unfinished)
    jobs = or_error(queue.list)
    if jobs is None:
        return False
    at_work = _at_work([job for job in jobs if job_filter.concern(job)])
    st.fragment(_panel)(job_filter, at_work)
    return bool(at_work)


def start(describe: Callable[[], Task]) -> None:
    """Start and show the task of ``describe``, or say why not; forget finished jobs of its kind that add to runs."""
    try:
        access.require_change()
        task = describe()
        queue.start(task)
        for job in queue.list():
            if job.kind == task.kind and _has_added(job):
                queue.remove(job.id)
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    st.rerun()


def _panel(job_filter: _JobFilter, at_work: frozenset[tuple[str, str | None]]) -> None:
    jobs = [job for job in queue.list() if job_filter.concern(job)]
    if at_work != _at_work(jobs):
        st.rerun()  # the whole page: there is a new run or result
    active = [job for job in jobs if job.active]
    ended = [job for job in jobs if not job.active and not _has_added(job)]
    _show_undo()
    for job in active:
        _show_active(job, open_results=job.run is not None and job.run != job_filter.run)
    shown = ended if st.session_state.get(_ALL) else ended[: FEW if job_filter.failed else SHOWN]
    gone = _runs_gone(shown)
    for job in shown:
        _show_ended(job, gone.get(job.id))
    if len(ended) > len(shown):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(shown)} of {len(ended)} ended jobs shown", width="content")
            st.button("Show all", key="jobs_show_all", type="tertiary", on_click=_show_all)


def _at_work(jobs: Sequence[JobState]) -> frozenset[tuple[str, str | None]]:
    """The jobs that wait or run, each with the run that it has stored."""
    return frozenset((job.id, job.run) for job in jobs if job.active)


def _has_added(job: JobState) -> bool:
    """Whether the page already shows the job's result, so that the panel can leave the job out."""
    return job.status == "done" and job.kind not in MAKING_RUNS


def _run_of(job: JobState) -> str | None:
    """Id of the run that the job reads; None if it reads none or its description is gone."""
    try:
        run = read_json(queue.jobs_folder() / job.id / TASK).get("run")
    except MauveLensError:
        return None
    return run if isinstance(run, str) else None


def _runs_gone(jobs: Sequence[JobState]) -> dict[str, str]:
    """For each job that is not done and whose run was deleted: job id to run id."""
    needed = {job.id: run for job in jobs if job.status != "done" and (run := _run_of(job)) is not None}
    try:
        existing = RunStore().fingerprints() if needed else {}
    except MauveLensError:  # the page itself reports the error
        return {}
    return {job_id: run for job_id, run in needed.items() if run not in existing}


def _show_active(job: JobState, *, open_results: bool) -> None:
    """Show a card; with ``open_results``, a way to the run that the job has stored and still adds to."""
    stopping = queue.is_stopping(job)
    with st.container(border=True):
        name, button = st.columns([6, 1], vertical_alignment="center")
        name.markdown(f"**{escaped(job.name)}**")
        button.button(
            "Cancel",
            key=f"cancel_{job.id}",
            type="tertiary",
            on_click=change,
            args=(queue.cancel, job.id),
            disabled=stopping,
            help=_on_resuming(job.kind, "Cancelled work can be resumed"),
        )
        with suppress(MauveLensError):  # removed in another tab
            job_progress.show(job)
        if open_results and job.run is not None:
            _open_results(job.id, job.run)


def _open_results(job_id: str, run: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        opened = st.button("Open results", key=f"open_{job_id}", type="primary", icon=":material/leaderboard:")
        st.caption("The scores are ready; the rest follows by itself.", width="content")
    if opened:
        st.switch_page(COMPARE_PAGE, query_params=session.link_to_run(run))


def _show_ended(job: JobState, gone: str | None) -> None:
    """Show a card; ``gone`` is the id of the run that the job needs, if that run was deleted."""
    with st.container(border=True):
        columns = st.columns([6, 2, 1], vertical_alignment="center")
        columns[0].markdown(f"**{escaped(job.name)}** · {ENDINGS[job.status]}")
        if job.run is not None:  # also if the work was stopped after the scores were stored
            columns[1].page_link(
                COMPARE_PAGE,
                label="Open in Compare",
                icon=":material/leaderboard:",
                query_params=session.link_to_run(job.run),
            )
        if job.status != "done" or job.run is None:
            columns[1].button(
                "Resume" if job.kind in KEPT else "Start again",
                key=f"resume_{job.id}",
                type="tertiary",
                on_click=change,
                args=(queue.resume, job.id),
                disabled=gone is not None,
                help=_on_resuming(job.kind, "It resumes where it stopped") if gone is None else "Its run was deleted",
            )
        columns[2].button(
            "Dismiss",
            key=f"dismiss_{job.id}",
            type="tertiary",
            on_click=change,
            args=(_dismiss, job.id),
            help="Remove the job from the list. A run that it made is kept.",
        )
        if job.status == "failed":
            st.error(escaped(job.message), icon=":material/error:")
        elif job.status == "interrupted":
            st.warning(escaped(job.message), icon=":material/power_off:")
        if gone is not None:
            st.caption(
                f"It needs the run **{escaped(gone)}**, which was deleted. While the run is in the bin, you can "
                "restore it (*Runs*, *Bin and disk*) and start this job again."
            )
        _show_log(job)


def _show_undo() -> None:
    """Undo for the job dismissed last, until the reader opens another page."""
    page, job_id, name = st.session_state.get(_DISMISSED) or ("", None, "")
    if job_id is None or page != session.page():
        st.session_state[_DISMISSED] = None
        return
    with st.container(horizontal=True, vertical_alignment="center", key="jobs_undo"):
        st.caption(f"**{escaped(name)}** was dismissed.", width="content")
        st.button(
            "Undo",
            key="jobs_undo_button",
            type="tertiary",
            icon=":material/undo:",
            on_click=change,
            args=(_undo, job_id),
        )


def _show_log(job: JobState) -> None:
    try:
        lines = queue.log_lines(job.id, job_progress.LOG_LINES)
    except MauveLensError:  # dismissed in another tab
        return
    if lines:
        with st.expander("Log", key=f"log_{job.id}"):
            st.code("\n".join(lines), language=None, wrap_lines=True)
            st.caption(f"Full log: mauve-lens jobs log {job.id}")


def _on_resuming(kind: str, promise: str) -> str:
    return f"{promise}: {KEPT[kind]} are kept." if kind in KEPT else "Unfinished work of this kind is not kept."


def _dismiss(job_id: str) -> None:
    access.require_change()
    name = queue.status(job_id).name
    queue.remove(job_id)
    st.session_state[_DISMISSED] = session.page(), job_id, name


def _undo(job_id: str) -> None:
    access.require_change()
    st.session_state[_DISMISSED] = None
    queue.take_back(job_id)


def _show_all() -> None:
    st.session_state[_ALL] = True
