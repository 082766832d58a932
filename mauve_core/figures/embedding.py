"""Plotly figures as JSON, with Plotly's script, for pages that work offline such as reports."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import plotly.graph_objects as go
from plotly.io.json import to_json_plotly
from plotly.offline import get_plotlyjs


def plotly_script() -> str:
    """Plotly's script from the installed package."""
    script: str = get_plotlyjs()
    return script


def figures_json(figures: Mapping[str, go.Figure]) -> str:
    """``{name: {data, layout}}`` as JSON for a ``script`` element, free of ``<``, ``>`` and ``/``.

    Templates are left out because the page has its own for light and dark. WebGL traces become SVG: Plotly's WebGL
    compiles functions from strings, which a strict content security policy forbids.
    """
    found: str = to_json_plotly({name: _plain(figure) for name, figure in figures.items()})
    return found


def _plain(figure: go.Figure) -> dict[str, object]:
    spec = copy.deepcopy(figure.to_dict())
    spec["layout"].pop("template", None)
    for trace in spec["data"]:
        if trace["type"] == "scattergl":
            trace["type"] = "scatter"
    return {"data": spec["data"], "layout": spec["layout"]}
