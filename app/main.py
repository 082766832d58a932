"""The frame: navigation, the open run, and the page."""

from __future__ import annotations

import streamlit as st

from app import session
from app.components import sidebar

st.set_page_config(page_title="MAUVE Lens", page_icon=":material/lens_blur:", layout="wide")

page = st.navigation(
    [
        st.Page("views/compare.py", title="Compare", icon=":material/leaderboard:", default=True),
        st.Page("views/clusters.py", title="Clusters", icon=":material/bar_chart:"),
        st.Page("views/map.py", title="Map", icon=":material/scatter_plot:"),
        st.Page("views/new_run.py", title="New run", icon=":material/add_circle:"),
    ]
)
session.keep_url(page.url_path)
sidebar.show()
page.run()
