"""Pages look nothing up, whatever is picked on them; a hub model is fetched by the job that a person starts."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.components import comparison_settings
from mauve_core.base.config import DEFAULT_MODEL, PAPERS_MODEL
from mauve_core.encoders import AvailableModel, hub, text_kind
from mauve_core.runs import Run
from tests.app.pages import PAGES
from tests.app.test_new_run_view import VIEW, jsonl, start_button, upload
from tests.lookups import ROOT, looked_up, watched

pytestmark = pytest.mark.integration


WALK = """
import sys
from streamlit.testing.v1 import AppTest

for view in sys.argv[1:]:
    for section in ("", "generate", "sweeps") if view == "decoders" else ("",):
        app = AppTest.from_file("app/mauve_app/main.py", default_timeout=120)
        app.switch_page(f"views/{view}.py")
        app.query_params["run"] = "synthetic"
        if section:
            app.query_params["section"] = section
        app.run()
        assert not app.exception, (view, app.exception)
        for box in app.selectbox:
            if box.label in ("Encoder", "Scoring model", "Generating model"):
                box.set_value("gpt2-large")
        app.run()
        assert not app.exception, (view, app.exception)
        print(view, app.title[0].value if app.title else "")
"""


@pytest.mark.slow
def test_no_page_looks_anything_up(full_run: Run, tmp_path: Path) -> None:
    log = tmp_path / "lookups"
    shutil.copytree(full_run.path.parent, tmp_path / "home/runs")
    environment = {**watched(log), "MAUVE_LENS_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-c", WALK, *sorted(PAGES)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert result.returncode == 0, result.stderr[-3000:]
    assert [line.split()[0] for line in result.stdout.splitlines()] == sorted([*PAGES, *["decoders"] * 2])
    assert looked_up(log) == []


def captions(app: AppTest) -> list[str]:
    """As a reader sees them."""
    return [element.value.replace("\\", "") for element in app.caption]


@pytest.fixture
def reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the hub might be asked; whoever does fails the test."""
    monkeypatch.setattr(hub, "_by_environment", False)
    monkeypatch.setattr("huggingface_hub.resolve_revision", lambda *_, **__: pytest.fail("the hub was asked"))


@pytest.mark.usefixtures("reachable")
def test_a_hub_model_is_left_to_the_job(open_page: Callable[..., AppTest], started: list[tuple[str, Any]]) -> None:
    app = open_page(VIEW)
    assert app.selectbox(key="encoder_model_text").value == DEFAULT_MODEL
    assert any("4-bit quantized" in text for text in captions(app))
    upload(app, "human", ("human.jsonl", jsonl()))
    upload(app, "models", ("greedy.jsonl", jsonl()))
    app.selectbox(key="encoder_model_text").set_value(PAPERS_MODEL).run()
    said = captions(app)
    assert any("the encoder of the papers" in text and comparison_settings.TO_FETCH in text for text in said)
    start_button(app).click().run()
    assert not app.exception
    assert not app.error
    assert [task.config.encoder.model for _, task in started] == [PAPERS_MODEL]


@pytest.mark.parametrize(
    ("offline", "expected"), [(False, comparison_settings.TO_FETCH), (True, comparison_settings.NO_HUB)]
)
def test_a_typed_hub_id_says_how_it_comes(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, offline: bool, expected: str
) -> None:
    monkeypatch.setattr(hub, "_by_environment", offline)
    # AppTest cannot type a new option, so it is offered one whose description is empty.
    monkeypatch.setattr(text_kind, "available_models", lambda: (AvailableModel("some/model", "", ready=False),))
    app = open_page(VIEW)
    app.selectbox(key="encoder_model_text").set_value("some/model").run()
    assert expected in captions(app)
