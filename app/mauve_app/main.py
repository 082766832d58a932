"""The app's frame: navigation, the open run, and the page."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

import streamlit as st

from mauve_app.components import charts, live_updates, page_chrome, share, sidebar, tour
from mauve_app.server import access, connections, origins
from mauve_app.url import session
from mauve_core.encoders import hub
from mauve_core.figures.theme import HUMAN_COLOUR, MODEL_COLOUR

# Inline, because a named icon or an emoji would be fetched from a foreign server.
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="32" height="32">'
    f'<circle cx="12" cy="16" r="10" fill="{HUMAN_COLOUR}"/>'
    f'<circle cx="20" cy="16" r="10" fill="{MODEL_COLOUR}" fill-opacity="0.75"/></svg>'
)

st.set_page_config(page_title="MAUVE Lens", page_icon=ICON, layout="wide")
sidebar.show_product(ICON)

connections.note_session()
hub.never_ask()  # pages never go online; the jobs that they start may
origins.warn_of_plain_streamlit()
visitor = access.require_visitor()
with st.sidebar:
    session.recall(live_updates.watch())
kind = page_chrome.begin_words()
# Whether the navigation has pages about texts alone; a link to them opens them for any run, and they say why not.
of_texts: Literal["visible", "hidden"] = "visible" if kind.has_words else "hidden"
sections = {
    "Compare": [
        st.Page("views/compare.py", title="Compare", icon=":material/leaderboard:", default=True),
        st.Page("views/decoders.py", title="Decoders" if kind.has_words else "Measures", icon=":material/tune:"),
    ],
    "Look inside": [
        st.Page("views/findings.py", title="Findings", icon=":material/lightbulb:"),
        st.Page("views/clusters.py", title="Clusters", icon=":material/bar_chart:"),
        st.Page("views/gap.py", title="Gap", icon=":material/balance:"),
        st.Page("views/map.py", title="Map", icon=":material/scatter_plot:"),
        st.Page("views/texts.py", title=page_chrome.words().items.capitalize(), icon=":material/article:"),
    ],
    "Test": [
        st.Page("views/probes.py", title="Probes", icon=":material/experiment:"),
        st.Page("views/judge.py", title="Judge", icon=":material/thumbs_up_down:", visibility=of_texts),
    ],
    "For papers": [
        st.Page("views/methods.py", title="Methods", icon=":material/compare_arrows:"),
        st.Page("views/published.py", title="Published", icon=":material/menu_book:"),
    ],
}
if access.may_change():
    sections["Library"] = [
        st.Page("views/runs.py", title="Runs", icon=":material/inventory_2:"),
        st.Page("views/new_run.py", title="New run", icon=":material/add_circle:"),
    ]
page = st.navigation(sections, expanded=True)
session.keep_url(page.url_path)
page_chrome.styles()
access.note()
shown = sidebar.show()
with st.sidebar:
    jobs = st.container()
    charts.image_format_picker()
    tour.starter()
    sidebar.show_visitor(visitor)
share.show(page.url_path, visitor)
tour.show(page.url_path, shown)
live_updates.begin_page()
with suppress(page_chrome.EndOfPageError):
    page.run()
with jobs:  # those that the page does not show itself
    sidebar.show_jobs()
