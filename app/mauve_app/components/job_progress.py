"""A job's progress: its stage, a bar, an estimate and the end of its log, kept up to date by the browser.

The browser polls a route (see :mod:`mauve_app.components.news`) and draws the answers, so that no rerun disturbs the
reader.
"""

from __future__ import annotations

from typing import Any

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from mauve_app.browser import component
from mauve_app.server import access, own_server
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.base.progress import format_seconds
from mauve_core.jobs import queue
from mauve_core.jobs.state import JobState

PROGRESS = "/progress/"
# Seconds between polls of a running job.
BEAT_S = 1.0

LOG_LINES = 12

# Session key: ids of the jobs that the page shows.
_ON_PAGE = "jobs_on_page"

_in_browser = component("mauve_lens_job_progress", "job_progress", '<div class="job"></div>')


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


def show(job: JobState, *, key: str = "progress", log: bool = True, place: str = "", focus: bool = False) -> None:
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
        "address": "" if own_server.is_missing() else f"{PROGRESS}{job.id}",
        "beat_ms": 1000 * BEAT_S,
    }
    _in_browser(key=f"{key}_{job.id}", data=data)


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


def routes() -> list[Route]:
    """The route that browsers poll; ``mauve_app.server.middleware`` blocks strangers."""
    return [Route(f"{PROGRESS}{{job_id}}", _job_progress, methods=["GET"])]


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
