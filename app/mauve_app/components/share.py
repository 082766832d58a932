"""Share, at the top right of every page: the link to the view, the view as one file, and the run's whole report."""

from __future__ import annotations

from functools import partial

import streamlit as st

from mauve_app import cache
from mauve_app.browser import component
from mauve_app.components import charts, tour
from mauve_app.components.page_chrome import words
from mauve_app.server import origins
from mauve_app.server.access import Visitor
from mauve_app.url import session
from mauve_app.url.parameters import State
from mauve_core.base.errors import MauveLensError
from mauve_core.base.sharing import Reach, reach_of
from mauve_core.reporting.html_report import html_report
from mauve_core.runs import Run

_WIDTH = 340
_SETTINGS = "making"
# The report's sections on what a page shows, by the page's path.
_SECTIONS: dict[str, tuple[str, ...]] = {
    "": ("findings", "trust", "format", "leaderboard", "frontier"),
    "decoders": ("measures", "variety", "sweeps"),
    "findings": ("findings",),
    "clusters": ("clusters", "captured"),
    "gap": ("clusters",),
    "map": ("map",),
    "probes": ("probes",),
    "judge": ("judgments",),
    "methods": ("methods", "encoders"),
}

# What the receiver of a link needs, by who can reach the app's address.
_WHO: dict[Reach, str] = {
    "machine": "This address works **on this machine only**. For others, start the app with `--host` and a password, "
    "and copy the link from the address that they reach, or send a file.",
    "network": "This address works **in this network only**. Send a file to others.",
    "anywhere": "",
}

_link = component("mauve_lens_share", "share", '<div class="share-link"></div>')


def show(page: str, visitor: Visitor | None) -> None:
    """The button and its panel, on a page with that path; the browser reads the link when it is copied."""
    if session.current().on_slide:
        return
    with (
        st.container(key="share"),
        st.popover("Share", icon=":material/share:", key="share_panel"),
        st.container(width=_WIDTH),
    ):
        _link(key="share_link")
        who = _WHO[_reach()] + (" The receiver signs in first." if visitor is not None else "")
        if who:
            st.caption(who)
        run = _run_if_any()
        if run is not None:
            _files(run, page, session.current())
            tour.present(run.id)


def _files(run: Run, page: str, state: State) -> None:
    name = charts.safe_file_name(run.name)
    if page in _SECTIONS:
        _file(
            "This view as one file",
            partial(
                html_report,
                run,
                _candidates(run, page, state),
                sections=(*_SECTIONS[page], _SETTINGS),
                cluster=_cluster(run, page, state),
            ),
            f"{name}-{page or 'compare'}.html",
            "share_view",
            ":material/web:",
        )
    _file("Whole report", partial(html_report, run), f"{name}-report.html", "share_report", ":material/summarize:")
    st.caption(
        f"HTML with interactive figures, {words().items} of the leading clusters, and settings; needs no network or "
        "server. Its scores are the run's own, whatever is set on the page. Made when asked for, which takes a few "
        "seconds, more for a run whose clusters nobody has looked at yet."
    )


def _file(label: str, make: partial[bytes], file_name: str, key: str, icon: str) -> None:
    st.download_button(
        label, make, file_name=file_name, mime="text/html", key=key, icon=icon, on_click="ignore", width="stretch"
    )


def _candidates(run: Run, page: str, state: State) -> tuple[str, ...]:
    """The candidate in focus, on the pages that have one; else the report's own choice."""
    names = [candidate.name for candidate in run.comparison.candidates]
    if not {"clusters", "findings"} & set(_SECTIONS[page]) or not page:
        return ()
    return (state.candidate if state.candidate in names else names[0],)


def _cluster(run: Run, page: str, state: State) -> int | None:
    """The cluster that is open, if it is one of the clusters that a report shows."""
    if "clusters" not in _SECTIONS[page] or state.partition != "pairwise":
        return None
    (candidate,) = _candidates(run, page, state)
    return state.cluster if state.seed in (None, run.comparison.median_seed(candidate)) else None


def _reach() -> Reach:
    host = origins.host_of(st.context.headers.get("Host") or "")
    return "anywhere" if host is None else reach_of(host.name)


def _run_if_any() -> Run | None:
    run_id = cache.opened_run_id(session.current().run)
    try:
        return None if run_id is None else cache.load_run(run_id)
    except MauveLensError:
        return None  # the page itself reports the error
