"""Jobs on a page: the button that starts one, what became of it in the button's place, and the panel of all others.

A form has one place, a container of its own. While the form's job waits or runs, its progress stands there and the
button does not; the page is drawn anew when it ends (:mod:`mauve_app.components.live_updates`). Forms that add to a run
show the newest job of their kind for that run, whoever started it. Forms that make a run from files show the job that
was started there in this visit, so that nobody waits for another person's job; while they are not filled in, they show
the newest at work.

The panel has progress with an estimate, cancel, errors, and a link to the resulting run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mauve_app.components import live_updates
from mauve_app.components.markup import escaped
from mauve_app.components.messages import change, or_error
from mauve_app.server import access
from mauve_app.url import session
from mauve_core.analyses.task_registry import KEPT, MAKING_RUNS
from mauve_core.analyses.tasks import Amount, Task
from mauve_core.base.errors import MauveLensError
from mauve_core.base.progress import format_seconds
from mauve_core.encoders import check_model
from mauve_core.jobs import estimates, queue
from mauve_core.jobs.state import TASK, JobState, read_json
from mauve_core.runs import RunStore

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
        Of the jobs, one of ``mauve_core.analyses.task_registry.KINDS``.
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


def button(
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
            _show_in_place(slot, job)
            return True
        show_undo(slot.key)
        has_results = job is not None and job.status == "done" and job.run is not None and job.kind in MAKING_RUNS
        with st.container(horizontal=True, vertical_alignment="center"):
            if job is not None and has_results:
                open_results(job)
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
                dismiss_button(job, slot.key)
        if pressed:
            _start(slot, task, amount, models, check or check_model)
        if job is not None and job.status != "done":
            show_ended(job, slot.key)
        is_done = job is not None and job.status == "done" and not boxed
        lines = [_done(job)] if job is not None and is_done else []
        if filled and not has_results:
            lines += [_estimate(slot.kind, amount)]
        if any(lines):
            said.caption("  \n".join(filter(None, lines)), width="stretch")
    if job is not None:
        live_updates.put_on_page(job.id)
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
    own = [job for job in jobs if run_of(job) == slot.run]
    first = next((job for job in own if job.active), next(iter(own), None))
    return None if first is None or (first.status == "done" and first.id not in (started, seen)) else first


def _show_in_place(slot: JobSlot, job: JobState) -> None:
    started = slot.run is None and st.session_state.get(_STARTED, {}).get(slot.key) == job.id
    is_new = st.session_state.get(_STARTED, {}).get(slot.key) == job.id != _seen(slot)
    st.session_state[_SEEN] = {**st.session_state.get(_SEEN, {}), slot.key: job.id}
    if slot.run is None:
        st.markdown(f"**{escaped(job.name)}**")
    with st.container(horizontal=True, vertical_alignment="center"):
        with suppress(MauveLensError):  # removed in another tab
            live_updates.show_progress(job, key="progress", place=f"{slot.key}_place", focus=is_new)
        cancel_button(job)
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
            open_results(job)
            st.caption(SCORES_READY, width="content")


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

    job = start_job(describe)
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
    return "" if told is None else f"{told.text}."


def _done(job: JobState) -> str:
    if job.started is None:
        return ":material/check: Done"
    seconds = (datetime.fromisoformat(job.updated) - datetime.fromisoformat(job.started)).total_seconds()
    return f":material/check: Done in {format_seconds(seconds)}"


# Number of ended jobs listed before the reader asks for all.
SHOWN = 5

# The same limit if the panel has jobs of all kinds and stands above other content.
FEW = 2

COMPARE_PAGE = "views/compare.py"
ENDINGS = {
    "done": ":green[done]",
    "failed": ":red[failed]",
    "cancelled": "cancelled",
    "interrupted": ":orange[interrupted]",
}

SCORES_READY = "The scores are ready; the rest follows by itself."

_ALL, _DISMISSED = "jobs_all", "jobs_dismissed"
_PANEL = "jobs_panel"


@dataclass(frozen=True)
class _JobFilter:
    """Which jobs the page lists; fields as for :func:`show`, and the ids of those that it shows elsewhere."""

    kinds: tuple[str, ...]
    run: str | None
    failed: bool
    unfinished: bool
    elsewhere: frozenset[str]

    def concern(self, job: JobState) -> bool:
        if job.id in self.elsewhere:
            return False
        if self.failed and job.status in ("failed", "interrupted"):
            return True
        if self.unfinished and job.status == "done":
            return False
        return job.kind in self.kinds and (self.run is None or self._has_this_run(job))

    def _has_this_run(self, job: JobState) -> bool:
        """Whether the job makes that run or adds to it; also if its description is gone, so that it can be found."""
        return job.run == self.run if job.kind in MAKING_RUNS else run_of(job) in (None, self.run)


def show_panel(
    kinds: Sequence[str] = MAKING_RUNS, run: str | None = None, *, failed: bool = False, unfinished: bool = False
) -> bool:
    """Show the panel of the jobs that the page has not shown yet.

    ``live_updates`` reruns the page when jobs start, stop or end, and draws progress.

    Parameters
    ----------
    kinds : sequence of str
        Kinds of ``mauve_core.analyses.task_registry.KINDS`` that the page lists.
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
    job_filter = _JobFilter(tuple(kinds), run, failed, unfinished, live_updates.on_page())
    jobs = or_error(queue.list)
    if jobs is None:
        return False
    at_work = _at_work([job for job in jobs if job_filter.concern(job)])
    st.fragment(_panel)(job_filter, at_work)
    return bool(at_work)


def start_job(describe: Callable[[], tuple[Task, Amount | None]]) -> JobState | None:
    """Start the task of ``describe``, or say why not; forget finished jobs of its kind that add to runs."""
    try:
        access.require_change()
        task, amount = describe()
        started = queue.start(task, amount)
        for job in queue.list():
            if job.kind == task.kind and _has_added(job):
                queue.remove(job.id)
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return None
    return started


def _panel(job_filter: _JobFilter, at_work: frozenset[tuple[str, str | None]]) -> None:
    jobs = [job for job in queue.list() if job_filter.concern(job)]
    if at_work != _at_work(jobs):
        st.rerun()  # the whole page: there is a new run or result
    active = [job for job in jobs if job.active]
    ended = [job for job in jobs if not job.active and not _has_added(job)]
    show_undo(_PANEL)
    for job in active:
        _show_in_panel(job, open_run=job.run is not None and job.run != job_filter.run)
    shown = ended if st.session_state.get(_ALL) else ended[: FEW if job_filter.failed else SHOWN]
    for job in shown:
        show_ended(job, _PANEL)
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


def run_of(job: JobState) -> str | None:
    """Id of the run that the job reads; None if it reads none or its description is gone."""
    try:
        run = read_json(queue.jobs_folder() / job.id / TASK).get("run")
    except MauveLensError:
        return None
    return run if isinstance(run, str) else None


def _run_gone(job: JobState) -> str | None:
    """Id of the run that an unfinished job needs, if that run was deleted."""
    run = run_of(job) if job.status != "done" else None
    try:
        return None if run is None or run in RunStore().fingerprints() else run
    except MauveLensError:  # the page itself reports the error
        return None


def _show_in_panel(job: JobState, *, open_run: bool) -> None:
    """Show a card; with ``open_run``, a way to the run that the job has stored and still adds to."""
    with st.container(border=True):
        name, button = st.columns([6, 1], vertical_alignment="center")
        name.markdown(f"**{escaped(job.name)}**")
        with button:
            cancel_button(job)
        with suppress(MauveLensError):  # removed in another tab
            live_updates.show_progress(job)
        if open_run:
            with st.container(horizontal=True, vertical_alignment="center"):
                open_results(job)
                st.caption(SCORES_READY, width="content")


def cancel_button(job: JobState) -> None:
    """Asks the job to stop."""
    st.button(
        "Cancel",
        key=f"cancel_{job.id}",
        type="tertiary",
        on_click=change,
        args=(queue.cancel, job.id),
        disabled=queue.is_stopping(job),
        help=_on_resuming(job.kind, "Cancelled work can be resumed"),
    )


def open_results(job: JobState) -> None:
    """A primary button that opens the run that the job has stored."""
    if job.run is not None and st.button(
        "Open results", key=f"open_{job.id}", type="primary", icon=":material/leaderboard:"
    ):
        st.switch_page(COMPARE_PAGE, query_params=session.link_to_run(job.run))


def dismiss_button(job: JobState, place: str) -> None:
    """Removes the job, which :func:`show_undo` in that place offers to undo."""
    st.button(
        "Dismiss",
        key=f"dismiss_{job.id}",
        type="tertiary",
        on_click=change,
        args=(_dismiss, job.id, place),
        help="Remove the job from the list. A run that it made is kept.",
    )


def show_ended(job: JobState, place: str) -> None:
    """Show the card of a job that has ended."""
    gone = _run_gone(job)
    with st.container(border=True):
        columns = st.columns([6, 2, 1], vertical_alignment="center")
        columns[0].markdown(f"**{escaped(job.name)}** · {ENDINGS[job.status]}")
        if job.run is not None:  # also if the work was stopped after the scores were stored
            columns[1].page_link(
                COMPARE_PAGE,
                label="Open results",
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
        with columns[2]:
            dismiss_button(job, place)
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


def show_undo(place: str) -> None:
    """Undo for the job dismissed last, in the place where it was, until the reader opens another page."""
    page, where, job_id, name = st.session_state.get(_DISMISSED) or ("", "", None, "")
    if job_id is None or page != session.page():
        st.session_state[_DISMISSED] = None
        return
    if where != place:
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
        lines = queue.log_lines(job.id, live_updates.LOG_LINES)
    except MauveLensError:  # dismissed in another tab
        return
    if lines:
        with st.expander("Log", key=f"log_{job.id}"):
            st.code("\n".join(lines), language=None, wrap_lines=True)
            st.caption(f"Full log: mauve-lens jobs log {job.id}")


def _on_resuming(kind: str, promise: str) -> str:
    return f"{promise}: {KEPT[kind]} are kept." if kind in KEPT else "Unfinished work of this kind is not kept."


def _dismiss(job_id: str, place: str) -> None:
    access.require_change()
    name = queue.status(job_id).name
    queue.remove(job_id)
    st.session_state[_DISMISSED] = session.page(), place, job_id, name


def _undo(job_id: str) -> None:
    access.require_change()
    st.session_state[_DISMISSED] = None
    queue.take_back(job_id)


def _show_all() -> None:
    st.session_state[_ALL] = True
