"""The app's server with a page of faults instead of the app's: ``python -m tests.browser.faulty_app``."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit import runtime

from mauve_app.server import serve
from mauve_core.base.errors import InputError


def show() -> None:
    """Faults where they may happen: on a click, in a fragment that runs alone, and in the page."""
    st.button("Click", on_click=_divide)
    _part()
    what = st.radio("Page", ["whole", "fault", "error"])
    if what == "fault":
        _divide()
    if what == "error":
        raise InputError("This page takes no input")
    st.write(f"The end of the {what} page")


@st.fragment
def _part() -> None:
    if st.button("Part"):
        _divide()
    st.write("The end of the part")


def _divide() -> float:
    return 1 / 0


if __name__ == "__main__":
    if runtime.exists():
        show()
    else:
        serve.MAIN = Path(__file__)
        serve.main()
