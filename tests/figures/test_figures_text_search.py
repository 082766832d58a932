"""The share of each source's texts that a search found."""

from __future__ import annotations

import pytest

from mauve_core.analyses.selection import SourceShare
from mauve_core.base.config import HUMAN
from mauve_core.figures.findings import shares_figure
from mauve_core.figures.theme import HUMAN_COLOUR, candidate_styles

SHARES = [SourceShare(HUMAN, 2, 10, 0.05, 0.5), SourceShare("<b>", 0, 10, 0.0, 0.28)]


NAMES = ["other", "<b>"]


def test_each_row_has_its_share_interval_and_color() -> None:
    figure = shares_figure(SHARES, NAMES)
    dots = [trace for trace in figure.data if trace.type == "scatter"]
    assert [dot.x[0] for dot in dots] == [0.2, 0.0]
    assert [dot.x[0] + dot.error_x.array[0] for dot in dots] == pytest.approx([0.5, 0.28])
    assert [dot.x[0] - dot.error_x.arrayminus[0] for dot in dots] == pytest.approx([0.05, 0.0])
    assert [dot.marker.color for dot in dots] == [HUMAN_COLOUR, candidate_styles(NAMES)["<b>"].colour]
    says = figure.data[-1].text
    assert "2 of 10 texts" in says[0]
    assert "<b>&lt;b&gt;</b>" in says[1]
    assert list(figure.layout.yaxis.ticktext) == [HUMAN, "&lt;b&gt;"]
    assert figure.layout.xaxis.range[1] >= 0.5
