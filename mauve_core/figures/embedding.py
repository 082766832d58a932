"""Figures as JSON for a page of one's own, beside Plotly's script: what a report needs to draw them offline."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import plotly.graph_objects as go
from plotly.io.json import to_json_plotly
from plotly.offline import get_plotlyjs


def plotly_script() -> str:
    """Plotly's script, as the installed package brings it."""
    script: str = get_plotlyjs()
    return script


def figures_json(figures: Mapping[str, go.Figure]) -> str:
    """``{name: {data, layout}}`` as JSON for a ``script`` element: no ``<``, ``>`` or ``/`` is left in it.

    Templates are left out, because the page has its own for light and dark. WebGL traces become SVG ones: Plotly's
    WebGL makes functions of strings, which a page that forbids that for safety cannot allow.
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
