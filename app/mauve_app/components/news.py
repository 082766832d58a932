"""Updates from other tabs and programs: an open page polls now and then and reruns when something changed.

A page whose connection was lost reruns once it is back and sends its query string: the session may be a new one.

The browser polls a route of the app. A timed Streamlit fragment may interrupt a run of the page; the end of that run is
then skipped, and elements that it removed stay on the page. Ratings and cached results are not tracked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from mauve_app.browser import component
from mauve_app.components.markup import escaped
from mauve_app.server import access, own_server
from mauve_core.base.errors import MauveLensError
from mauve_core.jobs import queue
from mauve_core.jobs.state import JobState
from mauve_core.store import RunStore

NEWS = "/news"
# Seconds between polls. A poll reads small files, modification times of folders, and locks.
BEAT_S = 3.0

# Session key: ids of the jobs that a page still waited for when it was last drawn.
_AWAITED = "news_awaited"

# Session key: ids of the jobs whose runs have become ready in this visit and have not been opened since.
_READY = "news_ready"

_in_browser = component("mauve_lens_news", "news")


def watch() -> str:
    """Call once per page before it reads anything that it shows, so that no change is missed.

    Returns
    -------
    str
        The page's query string when its connection was last lost and came back; empty if it never was.
    """
    _announce()
    if own_server.is_missing():  # no server would answer
        return ""
    data = {"seen": sign(), "address": NEWS, "beat_ms": 1000 * BEAT_S}
    told = _in_browser(
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


def ready(open_run: str | None) -> list[JobState]:
    """Jobs whose runs have become ready in this visit; the one that made ``open_run`` is no news any more."""
    noted = st.session_state.get(_READY, frozenset())
    found = [job for job in queue.list() if job.id in noted and job.run not in (None, open_run)] if noted else []
    st.session_state[_READY] = frozenset(job.id for job in found)
    return found


def routes() -> list[Route]:
    """The route that browsers poll; ``mauve_app.server.middleware`` blocks strangers."""
    return [Route(NEWS, _digest, methods=["GET"])]


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
    from mauve_core.tasks.registry import MAKING_RUNS  # imports all tasks, for which the server does not wait

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
