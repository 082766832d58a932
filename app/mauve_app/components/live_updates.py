"""What an open page asks the server for now and then: whether something changed, and how far jobs are.

A page reruns when other tabs or programs changed runs or jobs; ratings and cached results are not tracked. A page whose
connection was lost reruns once it is back and sends its query string: the session may be a new one. A job's stage, bar,
estimate and log are drawn from the answers alone, so that no rerun disturbs the reader.

The browser polls routes of the app. A timed Streamlit fragment may interrupt a run of the page; the end of that run is
then skipped, and elements that it removed stay on the page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from mauve_app.browser import component
from mauve_app.components.markup import escaped
from mauve_app.server import access, origins
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.base.progress import format_seconds
from mauve_core.jobs import queue
from mauve_core.jobs.state import JobState
from mauve_core.runs import RunStore

NEWS = "/news"
# Seconds between polls. A poll reads small files, modification times of folders, and locks.
BEAT_S = 3.0

# Session key: ids of the jobs that a page still waited for when it was last drawn.
_AWAITED = "news_awaited"

# Session key: ids of the jobs whose runs have become ready in this visit and have not been opened since.
_READY = "news_ready"

_watcher = component("mauve_lens_news", "news")


def watch() -> str:
    """Call once per page before it reads anything that it shows, so that no change is missed.

    Returns
    -------
    str
        The page's query string when its connection was last lost and came back; empty if it never was.
    """
    _announce()
    if origins.is_plain_streamlit():  # no server would answer
        return ""
    data = {"seen": sign(), "address": NEWS, "beat_ms": 1000 * BEAT_S}
    told = _watcher(
        key="news",
        data=data,
        height="content",
        default={"query": ""},
        on_query_change=_drawn_anew,
        on_changed_change=_drawn_anew,
    )
    return str(told["query"] or "")


def sign() -> str:
    """A digest of the runs and jobs that visitors see, without jobs' progress, which a panel shows."""
    shown = access.shown_runs()
    try:
        runs = sorted(item for item in RunStore().fingerprints().items() if shown is None or item[0] in shown)
        jobs = queue.list() if access.may_change() else ()
    except MauveLensError:  # the page itself reports the error
        return ""
    job_states = [(job.id, "active" if job.active else job.status, job.run, queue.is_stopping(job)) for job in jobs]
    return hashlib.sha256(repr((runs, job_states)).encode()).hexdigest()


def jobs_with_new_runs(open_run: str | None) -> list[JobState]:
    """Jobs whose runs have become ready in this visit; the one that made ``open_run`` is no news any more."""
    noted = st.session_state.get(_READY, frozenset())
    found = [job for job in queue.list() if job.id in noted and job.run not in (None, open_run)] if noted else []
    st.session_state[_READY] = frozenset(job.id for job in found)
    return found


def routes() -> list[Route]:
    """The routes that browsers poll; ``mauve_app.server.middleware`` blocks strangers."""
    return [
        Route(NEWS, _digest, methods=["GET"]),
        Route(f"{PROGRESS}{{job_id}}", _job_progress, methods=["GET"]),
    ]


async def _digest(_: Request) -> Response:
    return PlainTextResponse(await run_in_threadpool(sign), headers={"Cache-Control": "no-store"})


def _announce() -> None:
    """Say once what has come of the jobs at work since a page was last drawn: scores, results, or a failure."""
    if not access.may_change():
        return
    try:
        jobs: Sequence[JobState] = queue.list()
    except MauveLensError:  # the page itself reports the error
        return
    awaited = st.session_state.get(_AWAITED, frozenset())
    for job in jobs:
        if job.id in awaited and not _is_awaited(job):
            _toast(job)
    st.session_state[_AWAITED] = frozenset(job.id for job in jobs if _is_awaited(job))


def _is_awaited(job: JobState) -> bool:
    """Whether there is nothing to say yet: more may be added to a run whose scores are known."""
    return job.active and (not _makes_a_run(job) or job.run is None)


def _makes_a_run(job: JobState) -> bool:
    from mauve_core.analyses.task_registry import MAKING_RUNS  # imports all tasks, for which the server does not wait

    return job.kind in MAKING_RUNS


def _toast(job: JobState) -> None:
    """What came of a job; nothing if a person stopped it."""
    name = f"**{escaped(job.name)}**"
    if _makes_a_run(job) and job.run is not None:
        st.session_state[_READY] = st.session_state.get(_READY, frozenset()) | {job.id}
        st.toast(f"The scores of {name} are ready.", icon=":material/leaderboard:")
    elif job.status == "done":
        st.toast(f"{name} is done.", icon=":material/check_circle:")
    elif job.status != "cancelled":
        st.toast(f"{name} failed.", icon=":material/error:")


def _drawn_anew() -> None:
    """Does nothing: the rerun that the browser asks for is enough."""


PROGRESS = "/progress/"
# Seconds between polls of a running job.
PROGRESS_BEAT_S = 1.0

LOG_LINES = 12

# Session key: ids of the jobs that the page shows.
_ON_PAGE = "jobs_on_page"

_progress = component("mauve_lens_job_progress", "job_progress", '<div class="job"></div>')


def begin_page() -> None:
    """A page is about to be drawn, with no job on it yet."""
    st.session_state[_ON_PAGE] = frozenset()


def is_on_page(job_id: str) -> bool:
    """Whether the page that is being drawn shows the progress of that job."""
    return job_id in on_page()


def on_page() -> frozenset[str]:
    """Ids of the jobs that the page that is being drawn shows so far."""
    found: frozenset[str] = st.session_state[_ON_PAGE]
    return found


def put_on_page(job_id: str) -> None:
    """Note that the page shows that job, so that it is not listed again."""
    st.session_state[_ON_PAGE] |= {job_id}


def show_progress(
    job: JobState, *, key: str = "progress", log: bool = True, place: str = "", focus: bool = False
) -> None:
    """The line, the bar and, unless ``log`` is false, the log of a running job.

    Parameters
    ----------
    job : JobState
    key : str
        Tells apart two places on one page.
    log : bool
    place : str
        Key of the container whose button gets the keyboard's focus if the progress has it when it goes.
    focus : bool
        Take the focus if the button that stood here had it.
    """
    put_on_page(job.id)
    data = {
        "place": place,
        "focus": focus,
        "logged": log,
        "told": progress_data(job),
        "id": job.id,
        "name": job.name,
        "address": "" if origins.is_plain_streamlit() else f"{PROGRESS}{job.id}",
        "beat_ms": 1000 * PROGRESS_BEAT_S,
    }
    _progress(key=f"{key}_{job.id}", data=data)


def progress_data(job: JobState) -> dict[str, Any]:
    """What the browser draws: ``text``, ``share`` in [0, 1], what the work has ``said``, ``log`` (lines), ``run``, and
    whether it is ``active``.

    Raises
    ------
    InputError
        The job has been removed.
    """
    text = progress_text(job, queue.ahead_of(job.id, queue.list()) if job.status == "queued" else 0)
    return {
        "active": job.active,
        "run": job.run,
        "text": f"Stopping. {text}" if queue.is_stopping(job) else text,
        "said": job.told,
        "share": min(job.done / job.total, 1.0) if job.total else 0.0,
        "log": queue.log_lines(job.id, LOG_LINES),
    }


def progress_text(job: JobState, ahead: int = 0) -> str:
    """One line: the stage, the progress and the time left, or the number of jobs ahead."""
    if job.status == "queued":
        return f"Waiting: {ahead} job{'s' if ahead > 1 else ''} ahead of it" if ahead else "Starting"
    left = job.seconds_left
    estimate = "" if left is None or job.done >= job.total else f", about {format_seconds(left)} left"
    stage = job.stage[:1].upper() + job.stage[1:] or "Starting"
    return f"{stage}: {job.done:,} of {job.total:,}{estimate}" if job.total > 1 else stage


async def _job_progress(request: Request) -> Response:
    if not access.may_change():  # as for the panel
        return PlainTextResponse(access.READ_ONLY_TEXT, 403)
    try:
        answer = await run_in_threadpool(lambda: progress_data(queue.status(request.path_params["job_id"])))
    except InputError as error:
        return PlainTextResponse(str(error), 404)
    except MauveLensError as error:
        return PlainTextResponse(str(error), 500)
    return JSONResponse(answer, headers={"Cache-Control": "no-store"})
