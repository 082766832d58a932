"""The server of the app: ``python -m app.serve`` and the options of ``streamlit run``.

What the pages import is imported before the server answers, so that the first reader of a page does not wait for it.
Streamlit by itself imports a page's modules when a reader first opens it.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

from mauve_core.figures import draw

LATE = ("sklearn.feature_extraction.text", "huggingface_hub.file_download", "huggingface_hub.hf_api")
"""Libraries that functions import when they are first called."""


def prepare() -> None:
    """Import what the pages are made of, and let figures go without Plotly's check of every property."""
    draw.CHECKED = False
    for name in ("mauve_core.figures", "app.components"):
        package = importlib.import_module(name)
        for module in pkgutil.iter_modules(package.__path__, f"{name}."):
            importlib.import_module(module.name)
    for name in LATE:
        importlib.import_module(name)


def main() -> None:
    """Import, then serve."""
    prepare()
    from streamlit.web.cli import main as streamlit

    sys.argv = ["streamlit", "run", str(Path(__file__).resolve().parent / "main.py"), *sys.argv[1:]]
    streamlit()


if __name__ == "__main__":
    main()
