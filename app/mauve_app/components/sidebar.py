"""The sidebar of every page: which run is open, facts about it, jobs, and sign-out for visitors who signed in."""

from __future__ import annotations

import textwrap
from contextlib import suppress

import streamlit as st

from mauve_app import cache
from mauve_app.browser import component
from mauve_app.components import jobs, live_updates, page_chrome
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.server import access
from mauve_app.server.access import Visitor
from mauve_app.url import bound, session
from mauve_core.analyses.over_shards import is_sample, sizes_over_all, stored_over_shards
from mauve_core.base.errors import MauveLensError
from mauve_core.jobs import queue
from mauve_core.runs import Run
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import length_in_words

NEW_RUN_PAGE = "views/new_run.py"
_MOST_JOBS = 3
# Characters of the run's notes that are shown.
_NOTES_LENGTH = 160

PRODUCT = "MAUVE Lens"
# Colors of the product's name, as of all text (streamlit_config.toml): an image does not take them from the page.
_INK = {"light": "#10161f", "dark": "#e6e9ee"}


def show_product(mark: str) -> None:
    """The product's mark, an SVG of 32 by 32 units, and its name above the navigation."""
    ink = _INK.get(st.context.theme.type or "light", _INK["light"])
    logo = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 160 32" width="160" height="32">'
        f"<title>{PRODUCT}</title><g>{mark}</g>"
        f'<text x="40" y="23" font-family="system-ui, sans-serif" font-size="20" font-weight="650" textLength="116" '
        f'lengthAdjust="spacingAndGlyphs" fill="{ink}">'
        f"{PRODUCT}</text></svg>"
    )
    st.logo(logo, size="large")


def show() -> str:
    """The run picker and facts about the run, below the navigation; returns the id of the run, empty without one."""
    summaries = cache.run_summaries()
    run_id = session.current().run or cache.usual_run_id(summaries)
    if run_id is None:
        return ""
    session.name_run(run_id)
    with st.sidebar:
        titles = {summary.id: f"{summary.name}  ({summary.created[:10]})" for summary in summaries}
        bound.selectbox("run", "Run", titles, None, placeholder="Choose a run")
        if run_id in titles:
            _facts(run_id)
    return run_id if run_id in titles else ""


def show_jobs() -> None:
    """How far the jobs at work are that the page does not show itself, and runs that have become ready meanwhile.

    ``live_updates`` reruns it when a job starts or ends.
    """
    if not access.may_change():
        return
    try:
        active = [job for job in queue.list() if job.active and not live_updates.is_on_page(job.id)]
        ready = [
            job for job in live_updates.jobs_with_new_runs(session.current().run) if not live_updates.is_on_page(job.id)
        ]
    except MauveLensError:  # the page itself reports the error
        return
    for job in active[:_MOST_JOBS]:
        with st.container(key=f"sidebar_job_{job.id}", gap="xsmall"), suppress(MauveLensError):  # removed elsewhere
            st.caption(f"**{escaped(job.name)}**")
            live_updates.show_progress(job, key="sidebar_progress", log=False)
    for job in ready[:_MOST_JOBS]:
        with st.container(key=f"sidebar_ready_{job.id}", gap="xsmall"):
            st.caption(f"**{escaped(job.name)}** is ready")
            jobs.open_results(job)
    if len(active) > _MOST_JOBS:
        st.caption(f"{len(active) - _MOST_JOBS:,} more at work or waiting")


def opened_run() -> Run:
    """The run to show; without one, the page says what to do and stops here."""
    run_id = cache.opened_run_id(session.current().run)
    if run_id is None:
        _no_run_yet(session.page())
        page_chrome.end()
    run = or_error(cache.load_run, run_id)
    if run is None:
        st.caption("Choose another run in the sidebar, or start one under New run.")
        page_chrome.end()
    return run


def _facts(run_id: str) -> None:
    try:
        run = cache.load_run(run_id)
    except MauveLensError:
        return  # the page itself reports the error
    comparison = run.comparison
    sizes = sorted({source.n for source in comparison.sources})
    size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    clusters = sorted({p.k for c in comparison.candidates for p in c.partitions} | {p.k for p in comparison.joint})
    candidates, seeds = len(comparison.candidates), comparison.config.score.seeds
    lines = [
        f"**{size}** {comparison.words.items} per side{_sampled_from(run)}",
        f"**{candidates}** candidate{'s' * (candidates > 1)}",
        _encoder(comparison),
        f"**k = {', '.join(map(str, clusters))}** clusters, **{seeds}** seed{'s' * (seeds > 1)}",
    ]
    st.caption("  \n".join(lines))
    if run.notes:
        st.caption(escaped(textwrap.shorten(run.notes, _NOTES_LENGTH, placeholder=" …")))


def _sampled_from(run: Run) -> str:
    with suppress(MauveLensError):  # Compare reports the error
        whole = stored_over_shards(run)
        if whole is not None and is_sample(run, whole):
            return f", sampled from **{sizes_over_all(whole)}**"
    return ""


# What each page would show without a run, by its path.
_WOULD_BE = {
    "": "This page will show the leaderboard: every set of model texts with its score, spread and rank.",
    "decoders": "This page will show what each decoder does to a model's texts, measure by measure, beside the human "
    "values.",
    "methods": "This page will show whether other estimators and divergences rank the candidates alike.",
    "clusters": "This page will show the clusters of all texts: how much each side writes in each, and the texts "
    "themselves.",
    "gap": "This page will show which clusters make up the gap, which differences are real, and what would close it.",
    "map": "This page will show every text as a dot, similar ones near each other, to lasso and read.",
    "probes": "This page will show what the score notices when texts are changed on purpose.",
    "judge": "This page will show pairs of texts to rate, and how far people agree with the scores.",
}


def _no_run_yet(page: str) -> None:
    st.header("No runs yet", anchor=False)
    st.markdown(
        "MAUVE Lens compares a set of **human** texts with one or more sets of **model** texts, scores the gap, and "
        "leads you from a score to the texts behind it."
    )
    st.markdown(_WOULD_BE.get(page, _WOULD_BE[""]))
    if not access.may_change():
        return
    st.page_link(NEW_RUN_PAGE, label="Start a run with your own files", icon=":material/upload_file:")
    st.caption(
        "Or install the demo study with `mauve-lens demo --no-open` and reload this page: eleven decoders against "
        "Wikipedia, with a guided tour of two minutes."
    )


def _encoder(comparison: Comparison) -> str:
    encoder = comparison.config.encoder
    if encoder is None:
        origin = comparison.config.features_from
        return "features given" if origin is None else f"features of **{escaped(origin)}**"
    length = f", {length_in_words(encoder, comparison.human)}" if comparison.has_words else ""
    return f"encoder **{escaped(encoder.model)}**{length}"


_sign_out = component("mauve_lens_visit", "sign_out", '<div class="visit"></div>')


def show_visitor(visitor: Visitor | None) -> None:
    """The visitor's name and the button; nothing where no sign-in is needed."""
    if visitor is not None:
        st.caption(escaped(visitor.name))
        _sign_out(key="visit")
