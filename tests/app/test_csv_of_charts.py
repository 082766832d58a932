"""Charts have one way onto a page, and a camera; test_defaults.py saves the numbers of those that it sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from mauve_app.components import charts

ROOT = Path(__file__).resolve().parents[2]


def test_no_page_draws_a_chart_past_the_one_way() -> None:
    for path in (ROOT / "app").rglob("*.py"):
        if path.name != "charts.py":
            assert "plotly_chart(" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("chosen", ["PNG", "SVG"])
def test_the_camera_saves_in_the_chosen_format(monkeypatch: pytest.MonkeyPatch, chosen: str) -> None:
    sent: dict[str, Any] = {}
    monkeypatch.setattr(st, "plotly_chart", lambda figure, **options: sent.update(options))
    monkeypatch.setitem(st.session_state, charts._IMAGE_FORMAT, chosen)
    charts.show_chart(object(), key="k", file_name="a/b: c")
    assert sent["config"]["toImageButtonOptions"] == {"format": chosen.lower(), "scale": 3, "filename": "a-b-c"}
