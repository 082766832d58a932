"""Scripts of Streamlit that a page asks for only when it draws a chart, named in the page's own response.

The browser then fetches and compiles them while it runs Streamlit's first script, not after it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

WANTED = ("PlotlyChart", "arrowFormatUtils", "BidiComponent", "Selectbox")
"""Names of the scripts, before the digest of their contents."""


@lru_cache(maxsize=1)
def preload_header() -> str:
    """The ``Link`` header of a page; empty if this version of Streamlit has no script of these names."""
    import streamlit

    return header_of(Path(streamlit.__file__).parent / "static")


def header_of(static: Path) -> str:
    """The header for the scripts in a folder that is served as ``/static/``'s parent."""
    found = [path for name in WANTED for path in sorted(static.glob(f"static/js/{name}.*.js"))]
    return ", ".join(f"</{path.relative_to(static).as_posix()}>; rel=modulepreload" for path in found)
