"""Scripts of Streamlit that a page asks for only when it draws a chart, named in the page's own response.

The browser then fetches and compiles them while it runs Streamlit's first script, not after it. Plotly's script, which
takes the browser longer to run than all others together, also runs at once, while the page waits for the server.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

WANTED = ("PlotlyChart", "arrowFormatUtils", "BidiComponent", "Selectbox")
"""Names of the scripts, before the digest of their contents."""

DRAWING = WANTED[0]
STARTS = b"/static/js/index."
"""In the page that starts the app, and in no other."""


@lru_cache(maxsize=1)
def preload_header() -> str:
    """The ``Link`` header of a page; empty if this version of Streamlit has no script of these names."""
    import streamlit

    return header_of(Path(streamlit.__file__).parent / "static")


def header_of(static: Path) -> str:
    """The header for the scripts in a folder that is served as ``/static/``'s parent."""
    found = [path for name in WANTED for path in sorted(static.glob(f"static/js/{name}.*.js"))]
    return ", ".join(f"</{path.relative_to(static).as_posix()}>; rel=modulepreload" for path in found)


@lru_cache(maxsize=1)
def drawing_tag() -> bytes:
    """The element that runs Plotly's script; empty if this version of Streamlit has none of that name."""
    import streamlit

    return tag_of(Path(streamlit.__file__).parent / "static")


def tag_of(static: Path) -> bytes:
    """The element for the script in a folder that is served as ``/static/``'s parent."""
    found = sorted(static.glob(f"static/js/{DRAWING}.*.js"))
    return b"".join(
        f'<script type="module" crossorigin src="./static/js/{path.name}"></script>'.encode() for path in found
    )


def with_drawing(page: bytes, tag: bytes) -> bytes:
    """The page that starts the app with the element at its head's end; any other page as it is."""
    return page.replace(b"</head>", tag + b"</head>", 1) if STARTS in page else page
