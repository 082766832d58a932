"""What other tabs and programs do meanwhile: an open page asks now and then, and is drawn anew when something changed.

The browser asks over a route of our own. A fragment that Streamlit reruns by the clock would do it too, but it makes
Streamlit forget the end of whatever run it meets: what that run took off the page then stays on it.

Ratings and cached results are not news.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.server import access, own_server
from mauve_core.base.errors import MauveLensError
from mauve_core.jobs import queue
from mauve_core.store import RunStore

NEWS = "/news"
BEAT_S = 3.0
"""Between looks. A look reads small files, times of folders and locks."""

_in_browser = st.components.v2.component(
    "mauve_lens_news", html="", js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
)


def watch() -> None:
    """Once a page, before anything that it shows is read, so that no change falls in between."""
    if own_server.is_missing():  # who would answer?
        return
    data = {"seen": sign(), "address": NEWS, "beat_ms": 1000 * BEAT_S}
    _in_browser(key="news", data=data, height="content", on_changed_change=_drawn_anew)


def sign() -> str:
    """A digest of the runs and jobs that visitors see; a job's progress, which a panel shows, does not change it."""
    shown = access.shown_runs()
    try:
        runs = sorted(item for item in RunStore().fingerprints().items() if shown is None or item[0] in shown)
        found = queue.list() if access.may_change() else ()
    except MauveLensError:  # the page itself says what is wrong
        return ""
    at_work = [(job.id, "active" if job.active else job.status, queue.is_stopping(job)) for job in found]
    return hashlib.sha256(repr((runs, at_work)).encode()).hexdigest()


def routes() -> list[Route]:
    """The route that browsers ask; ``app.server.middleware`` keeps strangers from it."""
    return [Route(NEWS, _told, methods=["GET"])]


async def _told(_: Request) -> Response:
    return PlainTextResponse(await run_in_threadpool(sign), headers={"Cache-Control": "no-store"})


def _drawn_anew() -> None:
    """The rerun that the browser asks for is all there is to do."""
