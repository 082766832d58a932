"""Figures in notebooks that are exported, such as by nbconvert.

Under ipykernel, Plotly shows a figure as its own type of data alone, which a program that turns the notebook into a
page does not draw: the figure is missing there. With Plotly's HTML beside it, the page has it, without a network.
"""

from __future__ import annotations

import os
import sys
from functools import cache

import plotly.io as pio

OWN_TYPE = "plotly_mimetype"
# Plotly's choice for notebooks that are not run by ipykernel.
WITH_HTML = "plotly_mimetype+notebook"


@cache
def show_in_exports() -> None:
    """Add HTML to what figures show, once in a process, where the kernel's default is in force and nobody chose it."""
    in_kernel = "ipykernel" in sys.modules and sys.modules["IPython"].get_ipython() is not None
    if in_kernel and pio.renderers.default == OWN_TYPE and "PLOTLY_RENDERER" not in os.environ:
        pio.renderers.default = WITH_HTML
