"""A file of word vectors where a page asks for an encoder."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.encoders import AvailableModel, text_kind
from tests.app.test_new_run_view import VIEW, jsonl, start_button, upload

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]


def with_encoder(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, path: Path) -> AppTest:
    """The page New run with files and that encoder chosen.

    AppTest cannot type a new option, so it is offered one.
    """
    monkeypatch.setattr(text_kind, "available_models", lambda: (AvailableModel(str(path), "offered", ready=True),))
    app = open_page(VIEW)
    upload(app, "human", ("human.jsonl", jsonl()))
    upload(app, "models", ("greedy.jsonl", jsonl()))
    app.selectbox(key="encoder_model_text").set_value(str(path)).run()
    return app


def test_a_run_starts_with_the_path(
    open_page: OpenPage, started: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "tiny.6B.2d.vec.gz"
    path.write_bytes(gzip.compress(b"2 2\ntext 1 0\nof 0 1\n"))
    app = with_encoder(open_page, monkeypatch, path)
    start_button(app).click().run()
    assert not app.exception
    assert len(app.error) == 0
    encoder = started[0][1].config.encoder
    assert encoder is not None
    assert encoder.model == str(path)


def test_a_file_that_is_none_is_said_before_a_job_starts(
    open_page: OpenPage, started: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "prose.txt"
    path.write_text("It was a dark night.\n")
    app = with_encoder(open_page, monkeypatch, path)
    start_button(app).click().run()
    assert started == []
    assert "is not a word vector" in app.error[0].value.replace("\\", "")
