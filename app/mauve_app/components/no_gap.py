"""What a page says where the gap is no larger than between human texts, so that its shares would explain nothing."""

from __future__ import annotations

import streamlit as st

from mauve_app.caching import cache
from mauve_app.components.focus import Focus


def show(here: Focus) -> None:
    """The result of the test, in words."""
    run_id, kind, candidate, _ = here.key
    st.info(
        here.run.comparison.words.said(cache.gap_test(run_id, kind, candidate).in_words()), icon=":material/balance:"
    )
