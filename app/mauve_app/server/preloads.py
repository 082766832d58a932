"""Scripts of Streamlit that a page asks for only when it draws a chart, named in the page's own response.

The browser then fetches and compiles them while it runs Streamlit's first script, not after it. A page that opens
without a chart is not kept waiting for Plotly: the browser fetches that when it has nothing else to do.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

DRAWING = "PlotlyChart"
# Names of the scripts, before the digest of their contents.
WANTED = (DRAWING, "arrowFormatUtils", "BidiComponent", "Selectbox")

# Pages that open without a chart.
WITHOUT_CHARTS = ("texts", "judge", "runs", "new_run")


@lru_cache(maxsize=2)
def preload_header(charts: bool) -> str:
    """The ``Link`` header of a page with or without charts; empty if this Streamlit has no script of these names."""
    import streamlit

    return header_of(Path(streamlit.__file__).parent / "static", charts=charts)


def opens_with_charts(path: str) -> bool:
    return path.strip("/") not in WITHOUT_CHARTS


def header_of(static: Path, *, charts: bool) -> str:
    """The header for the scripts in a folder that is served as ``/static/``'s parent."""
    links = []
    for name in WANTED:
        relation = "modulepreload" if charts or name != DRAWING else "prefetch"
        for path in sorted(static.glob(f"static/js/{name}.*.js")):
            links.append(f"</{path.relative_to(static).as_posix()}>; rel={relation}")
    return ", ".join(links)
