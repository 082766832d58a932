"""Under a notebook's kernel, a figure has HTML for programs that turn the notebook into a page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import plotly.io as pio
import pytest

from mauve_core.figures.by_name import OWN_TYPE, WITH_HTML, figure, show_in_exports
from tests.handmade import make_comparison

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def renderer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start from what Plotly chooses under ipykernel, and leave its choice as it was."""
    before = pio.renderers.default
    monkeypatch.delenv("PLOTLY_RENDERER", raising=False)
    pio.renderers.default = OWN_TYPE
    show_in_exports.cache_clear()
    yield
    pio.renderers.default = before
    show_in_exports.cache_clear()


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("IPython")
    module.get_ipython = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))


def test_in_a_kernel_a_figure_shows_itself_as_html_too(kernel: None) -> None:
    drawn = figure(make_comparison(), "leaderboard")
    assert pio.renderers.default == WITH_HTML
    assert "Plotly.newPlot(" in drawn._repr_html_()


@pytest.mark.browser
@pytest.mark.trial
def test_a_figure_is_written_as_an_image(tmp_path: Path) -> None:
    file = tmp_path / "leaderboard.png"
    figure(make_comparison(), "leaderboard").write_image(file)
    assert file.read_bytes().startswith(b"\x89PNG")
