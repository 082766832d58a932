"""Every page opens on a run with something of every kind, and what follows the URL has its value as default, too.

A slow browser may see no run of the page but the second. What charts offer to save can be read.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.components import charts
from mauve_core.reporting.spreadsheets import csv_bytes
from tests.app.pages import PAGES
from tests.browser.full_run import FOLLOWED

OpenPage = Callable[..., AppTest]
pytestmark = pytest.mark.slow


def standing(item: Any) -> Any:
    """Where the value stands, in the terms of the control's default."""
    match item.type:
        case "selectbox":
            return item.index
        case "multiselect":
            return item.indices
        case "button_group" | "segmented_control" | "pills":
            return [item.options.index(item.format_func(value)) for value in _listed(item.value)]
        case "select_slider":
            return [item.options.index(item.format_func(item.value))]
        case "slider":
            return [item.value]
        case _:
            return item.value


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def default(item: Any) -> Any:
    given = item.proto.default
    if item.type in ("selectbox", "number_input"):
        return given if item.proto.HasField("default") else None
    return list(given) if hasattr(given, "extend") else given


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], pd.DataFrame]]:
    """What the buttons beside charts would save, by their keys."""
    found: dict[str, Callable[[], pd.DataFrame]] = {}
    monkeypatch.setattr(charts, "csv_button", lambda make, *, key, **_: found.update({key: make}))
    return found


@pytest.mark.usefixtures("full_home")
@pytest.mark.parametrize(("view", "query", "least"), FOLLOWED)
def test_the_default_is_the_value(
    open_page: OpenPage, saved: dict[str, Callable[[], pd.DataFrame]], view: str, query: dict[str, str], least: int
) -> None:
    app = open_page(f"views/{view}.py", run="synthetic", **query)
    assert not app.exception
    followers = app.session_state["_url_titles"]
    found = [item for item in app if getattr(item, "key", None) in followers and hasattr(item.proto, "default")]
    assert {item.key: default(item) for item in found} == {item.key: standing(item) for item in found}
    assert len(found) >= least, [item.key for item in found]
    assert bool(saved) == bool(app.get("plotly_chart"))
    for key, make in saved.items():
        table = make()
        assert len(pd.read_csv(io.BytesIO(csv_bytes(table)))) == len(table) > 0, key


@pytest.mark.parametrize("view", PAGES)
def test_a_page_opens_on_an_empty_home(open_page: OpenPage, view: str) -> None:
    app = open_page(f"views/{view}.py")
    assert not app.exception
    assert not app.error
