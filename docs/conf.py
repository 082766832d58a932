"""The documentation site: ``make docs`` takes its pictures, writes the demo's report and builds it, warnings as errors.

Pages link to files of the repository as they do where code is read. What they link to becomes a page of the site here:
the results of the benchmarks and the notes on data are copied to ``docs/measured``, which is not kept.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

project = "MAUVE Lens"
author = "The authors of MAUVE Lens"
version = release = installed("mauve-lens")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.githubpages", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 3
suppress_warnings = ["ref.python"]  # words such as `name` in the types of docstrings, which are no references

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "MAUVE Lens"
html_show_sphinx = False
html_copy_source = False
html_extra_path = ["made"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2f6fb0", "color-brand-content": "#2f6fb0"},
    "dark_css_variables": {"color-brand-primary": "#6aa7e0", "color-brand-content": "#6aa7e0"},
}

MEASURED = "measured"
COPIED = {"../data/README.md": "data.md", "../data/published/README.md": "published.md"}
_LITERAL_OR_BAR = re.compile(r"(``.*?``)|\|")


def copy_measured(_app: Any) -> None:
    """Results of the benchmarks and notes on data, as pages of the site."""
    folder = HERE / MEASURED
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "benchmarks" / "results", folder)
    for source, name in COPIED.items():
        shutil.copyfile(HERE / source, folder / name)
    (folder / "index.md").write_text(
        "# Results of the benchmarks\n\n```{toctree}\n:maxdepth: 1\n:glob:\n\n*\n```\n", encoding="utf-8"
    )


def link_to_pages(_app: Any, docname: str, source: list[str]) -> None:
    """Links that leave ``docs`` lead to the copied pages."""
    text = source[0].replace("](../benchmarks/results/", f"]({MEASURED}/")
    for path, name in COPIED.items():
        text = text.replace(f"]({path})", f"]({MEASURED}/{name})")
    source[0] = text.replace("](published/README.md)", "](published.md)") if docname == f"{MEASURED}/data" else text


def keep_bars(*event: Any) -> None:
    """The bars of |x| are no substitutions; the lines of a docstring come last."""
    lines: list[str] = event[-1]
    lines[:] = [_LITERAL_OR_BAR.sub(lambda found: found[1] or r"\|", line) for line in lines]


def setup(app: Any) -> None:
    app.connect("builder-inited", copy_measured)
    app.connect("source-read", link_to_pages)
    app.connect("autodoc-process-docstring", keep_bars)
