"""Jobs at work: progress with an estimate, cancel, errors, and the way to the run that came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import streamlit as st

from app.components import job_progress
from app.components.markup import escaped
from app.server import access
from app.url import session
from mauve_core.base.errors import MauveLensError
from mauve_core.jobs import queue
from mauve_core.jobs.state import TASK, JobState, read_json
from mauve_core.store import RunStore
from mauve_core.tasks.base import Task
from mauve_core.tasks.registry import KEPT

SHOWN = 5
"""Ended jobs that are listed before the reader asks for all."""

FEW = 2
"""The same where those of all kinds stand above something else."""

COMPARE_PAGE = "views/compare/compare.py"
ENDINGS = {
    "done": ":green[done]",
    "failed": ":red[failed]",
    "cancelled": "cancelled",
    "interrupted": ":orange[interrupted]",
}

MAKING_RUNS = ("comparison", "study", "without", "again")
"""Kinds of jobs that end in a run of their own; the others add to a run."""

_ALL, _DISMISSED = "jobs_all", "jobs_dismissed"


@dataclass(frozen=True)
class _Asked:
    """Which jobs concern the page; as :func:`show`."""

    kinds: tuple[str, ...]
    run: str | None
    failed: bool

    def concern(self, job: JobState) -> bool:
        """Whether the page lists the job."""
        if self.failed and job.status in ("failed", "interrupted"):
            return True
        return job.kind in self.kinds and (self.run is None or _adds_to(job) in (None, self.run))


def show(kinds: Sequence[str] = MAKING_RUNS, run: str | None = None, *, failed: bool = False) -> None:
    """The panel. Jobs that come, are to stop or end are ``news``, and their progress is ``job_progress``'s.

    Parameters
    ----------
    kinds : sequence of str
        Kinds of ``mauve_core.tasks.registry.KINDS`` that concern the page.
    run : str or None
        Leave out jobs that add to another run than this one.
    failed : bool
        List every job that failed or was interrupted, whatever its kind, so that one is found whose run is gone.
    """
    if not access.may_change():
        return
    asked = _Asked(tuple(kinds), run, failed)
    try:
        found = [job for job in queue.list() if asked.concern(job)]
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    active = _ids_at_work(found)
    st.fragment(_panel)(asked, active)


def start(describe: Callable[[], Task]) -> None:
    """Start a job on the task that ``describe`` returns and show it; on refusal, that of ``describe`` too, say why.

    Jobs of its kind that have added what they should are forgotten.
    """
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


def _panel(asked: _Asked, at_work: frozenset[str]) -> None:
    found = [job for job in queue.list() if asked.concern(job)]
    if at_work != _ids_at_work(found):
        st.rerun()  # the whole page: a run or a result has come
    active = [job for job in found if job.active]
    ended = [job for job in found if not job.active and not _has_added(job)]
    _show_undo()
    for job in active:
        _show_active(job)
    shown = ended if st.session_state.get(_ALL) else ended[: FEW if asked.failed else SHOWN]
    gone = _runs_gone(shown)
    for job in shown:
        _show_ended(job, gone.get(job.id))
    if len(ended) > len(shown):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(shown)} of {len(ended)} ended jobs shown", width="content")
            st.button("Show all", key="jobs_show_all", type="tertiary", on_click=_show_all)


def _ids_at_work(found: Sequence[JobState]) -> frozenset[str]:
    return frozenset(job.id for job in found if job.active)


def _has_added(job: JobState) -> bool:
    """Whether its result is on the page already, so that nothing is left to say."""
    return job.status == "done" and job.kind not in MAKING_RUNS


def _adds_to(job: JobState) -> str | None:
    """Id of the run that the job adds to; None when it makes one, or when its description is gone."""
    return None if job.kind in MAKING_RUNS else _run_of(job)


def _run_of(job: JobState) -> str | None:
    """Id of the run that the job reads; None when it reads none, or when its description is gone."""
    try:
        run = read_json(queue.jobs_folder() / job.id / TASK).get("run")
    except MauveLensError:
        return None
    return run if isinstance(run, str) else None


def _runs_gone(found: Sequence[JobState]) -> dict[str, str]:
    """By id of a job that was not done, the id of the run that it needs, where that was deleted."""
    needed = {job.id: run for job in found if job.status != "done" and (run := _run_of(job)) is not None}
    try:
        there = RunStore().fingerprints() if needed else {}
    except MauveLensError:  # the page itself says what is wrong
        return {}
    return {job_id: run for job_id, run in needed.items() if run not in there}


def _show_active(job: JobState) -> None:
    stopping = queue.is_stopping(job)
    with st.container(border=True):
        name, button = st.columns([6, 1], vertical_alignment="center")
        name.markdown(f"**{escaped(job.name)}**")
        button.button(
            "Cancel",
            key=f"cancel_{job.id}",
            type="tertiary",
            on_click=_try,
            args=(queue.cancel, job.id),
            disabled=stopping,
            help=_on_resuming(job.kind, "Cancelled work can be resumed"),
        )
        with suppress(MauveLensError):  # removed in another tab
            job_progress.show(job)


def _show_ended(job: JobState, gone: str | None) -> None:
    """A card; ``gone`` is the id of the run that it needs, where that was deleted."""
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
                args=(queue.resume, job.id),
                disabled=gone is not None,
                help=_on_resuming(job.kind, "It goes on where it was") if gone is None else "Its run was deleted",
            )
        columns[2].button(
            "Dismiss",
            key=f"dismiss_{job.id}",
            type="tertiary",
            on_click=_try,
            args=(_dismiss, job.id),
            help="Forget the job. A run that it made stays.",
        )
        if job.status == "failed":
            st.error(escaped(job.message), icon=":material/error:")
        elif job.status == "interrupted":
            st.warning(escaped(job.message), icon=":material/power_off:")
        if gone is not None:
            st.caption(
                f"It needs the run **{escaped(gone)}**, which was deleted. While that lies in the bin it can be "
                "restored (*Runs*, *Bin and disk*) and this started again."
            )
        _show_log(job)


def _show_undo() -> None:
    """The way back of the job that was dismissed last, until the reader goes to another page."""
    page, job_id, name = st.session_state.get(_DISMISSED) or ("", None, "")
    if job_id is None or page != session.page():
        st.session_state[_DISMISSED] = None
        return
    with st.container(horizontal=True, vertical_alignment="center", key="jobs_undo"):
        st.caption(f"**{escaped(name)}** is dismissed.", width="content")
        st.button(
            "Undo", key="jobs_undo_button", type="tertiary", icon=":material/undo:", on_click=_try, args=(_undo, job_id)
        )


def _show_log(job: JobState) -> None:
    """The last lines of its log, as they are."""
    try:
        lines = queue.log_lines(job.id, job_progress.LOG_LINES)
    except MauveLensError:  # dismissed in another tab
        return
    if lines:
        with st.expander("Log", key=f"log_{job.id}"):
            st.code("\n".join(lines), language=None, wrap_lines=True)
            st.caption(f"The whole log: mauve-lens jobs log {job.id}")


def _on_resuming(kind: str, promise: str) -> str:
    """What is kept of unfinished work of that kind."""
    return f"{promise}: {KEPT[kind]} are kept." if kind in KEPT else "Nothing is kept of unfinished work of this kind."


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


def _try(act: Callable[[str], object], job_id: str) -> None:
    try:
        access.require_change()
        act(job_id)
    except MauveLensError as error:
        st.toast(escaped(str(error)), icon=":material/error:")
