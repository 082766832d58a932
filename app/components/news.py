"""What other tabs and programs do meanwhile: a page looks now and then, and is drawn anew when something changed."""

from __future__ import annotations

import streamlit as st

from app import access
from mauve_core import jobs
from mauve_core.errors import MauveLensError
from mauve_core.store import RunStore

BEAT_S = 3.0
"""Between looks. A look reads small files, times of folders and locks, and sends nothing while all is as it was."""

Sign = tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]


def watch() -> None:
    """Once a page, before anything that it shows is read, so that no change falls in between."""
    st.fragment(_look, run_every=BEAT_S)(sign())


def sign() -> Sign:
    """What changes with the runs and jobs that the visitor sees, but not with a job's progress, which a panel shows."""
    shown = access.shown_runs()
    try:
        runs = tuple(sorted(item for item in RunStore().signs().items() if shown is None or item[0] in shown))
        found = jobs.list() if access.may_change() else ()
    except MauveLensError:  # the page itself says what is wrong
        return (), ()
    return runs, tuple((job.id, "active" if job.active else job.status) for job in found)


def _look(seen: Sign) -> None:
    if sign() != seen:
        st.rerun()
