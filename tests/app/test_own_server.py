"""Pages under Streamlit's own server, which lets pages of every port of this machine connect."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from streamlit.runtime.context import ContextProxy, StreamlitHeaders
from streamlit.testing.v1 import AppTest

from mauve_app.server import origins
from mauve_core.runs import Run

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("origin", "shown"),
    [("http://127.0.0.1:8501", True), (None, True), ("http://127.0.0.1:8719", False), ("http://localhost:8501", False)],
)
def test_a_page_of_another_port_is_shown_nothing(
    run_home: object,
    stored_run: Run,
    open_page: Callable[..., AppTest],
    monkeypatch: pytest.MonkeyPatch,
    origin: str | None,
    shown: bool,
) -> None:
    monkeypatch.setattr(origins, "_own_server", threading.Event())
    monkeypatch.setattr(origins, "begin_own_server", lambda: None)
    sent = [("Host", "127.0.0.1:8501"), *([("Origin", origin)] if origin else [])]
    monkeypatch.setattr(ContextProxy, "headers", StreamlitHeaders(sent))
    app = open_page(run=stored_run.id)
    assert not app.exception
    assert bool(app.title or app.markdown or app.button or app.selectbox) is shown
    assert [error.value for error in app.error] == ([] if shown else ["A page of another server requested this one."])
