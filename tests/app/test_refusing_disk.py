"""Pages on a home whose disk is read-only or broken: said once, no fault, and all is well when the disk is back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from mauve_app import uploads
from mauve_app.components import live_updates, messages
from mauve_app.server import middleware, serve
from mauve_core.base import faults
from mauve_core.base.errors import InputError
from mauve_core.jobs import queue
from mauve_core.runs import RunStore
from tests.app.test_new_run_view import N, jsonl, markdown, start_button, upload
from tests.handmade import make_comparison, make_corpora
from tests.job_folders import job
from tests.refusing_disk import BROKEN, READ_ONLY, refusing

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
RUNS, NEW_RUN, COMPARE = "views/runs.py", "views/new_run.py", "views/compare.py"
WORDS = {READ_ONLY: "Read-only file system", BROKEN: "Input/output error"}


@pytest.fixture(autouse=True)
def stored(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RunStore().save("earlier", make_comparison(), make_corpora())
    with job(1, status="done", run="earlier"):
        pass
    begin = ScriptRunner.__init__

    def with_handler(runner: ScriptRunner, *given: Any, **named: Any) -> None:
        begin(runner, *given, **named)
        if isinstance(runner, LocalScriptRunner):
            runner._on_script_error = messages.uncaught  # as in the app's own server

    monkeypatch.setattr(ScriptRunner, "__init__", with_handler)


def said(app: AppTest) -> list[str]:
    assert not app.exception
    assert faults.remembered() == []
    return [str(part.value).replace("\\", "") for part in (*app.error, *app.toast)]


@pytest.mark.parametrize(("view", "opened_before"), [(RUNS, False), (NEW_RUN, False), (COMPARE, True)])
def test_a_page_of_a_broken_disk(view: str, opened_before: bool, open_page: OpenPage, own_home: Path) -> None:
    usual = open_page(view)
    sound = said(usual), len(usual.button), len(usual.main.children)
    app = usual if opened_before else open_page(view)
    with refusing(own_home, BROKEN):
        app.run()
        (line,) = said(app)
        assert WORDS[BROKEN] in line
    app.run()
    assert (said(app), len(app.button), len(app.main.children)) == sound


@pytest.mark.parametrize("view", [RUNS, NEW_RUN, COMPARE])
def test_a_page_of_a_read_only_disk_is_whole(view: str, open_page: OpenPage, own_home: Path) -> None:
    usual = open_page(view)
    sound = said(usual), len(usual.button)
    with refusing(own_home, READ_ONLY):
        app = open_page(view)
        assert (said(app), len(app.button)) == sound


def test_a_deletion_that_the_disk_refuses(open_page: OpenPage, own_home: Path) -> None:
    code = READ_ONLY
    app = open_page(RUNS)
    with refusing(own_home, code):
        app.button(key="delete_earlier").click().run()
        assert any(WORDS[code] in line for line in said(app))
    assert [line.id for line in RunStore().list()] == ["earlier"]
    app.run()
    app.button(key="delete_earlier").click().run()
    assert said(app) == []
    assert RunStore().list() == []


def test_an_upload_and_a_start_that_the_disk_refuses(
    open_page: OpenPage, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = BROKEN
    monkeypatch.setattr(queue, "_spawn", lambda *_: None)
    app = open_page(NEW_RUN)
    upload(app, "human", ("human.jsonl", jsonl()))
    with refusing(own_home, code):
        upload(app, "models", ("greedy.jsonl", jsonl(prompt="another")))
        assert any(WORDS[code] in line for line in said(app))
    app.run()
    upload(app, "models", ("greedy.jsonl", jsonl(prompt="another")))
    assert said(app) == []
    app.selectbox(key="encoder_model_text").set_value("minilm").run()
    with refusing(own_home, code):
        start_button(app).click().run()
        assert any(WORDS[code] in line for line in said(app))
    assert [job.status for job in queue.list()] == ["done"]
    app.run()
    start_button(app).click().run()
    assert said(app) == []
    assert len(queue.list()) == 2


def test_a_file_that_could_not_be_read_is_read_once_the_disk_is_back(open_page: OpenPage, own_home: Path) -> None:
    app = open_page(NEW_RUN)
    upload(app, "human", ("human.jsonl", jsonl()))
    uploads._outline.clear()
    (path,) = (own_home / "uploads").glob("*/human.jsonl")
    with refusing(path, BROKEN), pytest.raises(InputError, match="Input/output error"):
        uploads.outline(str(path))
    app.run()
    assert said(app) == []
    assert f"**{N}** texts" in markdown(app)


@pytest.mark.parametrize("code", [READ_ONLY, BROKEN], ids=["read-only", "broken"])
def test_the_server_starts_and_says_that_it_cannot_clear_away(
    code: int, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with refusing(own_home, code):
        serve._remove_leftovers()
        (line,) = capsys.readouterr().err.splitlines()
        assert WORDS[code] in line
        assert (WORDS[code] in middleware.trouble_opening_files(), live_updates.sign() == "") == (
            code == BROKEN,
            code == BROKEN,
        )
    serve._remove_leftovers()
    assert capsys.readouterr().err == ""
    assert (middleware.trouble_opening_files(), live_updates.sign() == "") == ("", False)
