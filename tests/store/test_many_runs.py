"""A thousand runs and a hundred jobs in one home: what is listed, found, shown and changed, and what is read for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.__main__ import main
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.jobs import queue, waiting
from mauve_core.runs import RunStore, index
from tests.job_folders import job
from tests.synthetic import make_run

pytestmark = [pytest.mark.slow, pytest.mark.trial]

ROOT = Path(__file__).resolve().parents[2]
RUNS, JOBS = 1000, 100


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with so many runs, hard links of one, and as many jobs: some at work, some ended."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as alive:
        folder = tmp_path_factory.mktemp("many") / "home"
        patch.setenv(HOME_VARIABLE, str(folder))
        run = make_run(folder, n=40, seeds=2, projection=False)
        for number in range(1, RUNS):
            shutil.copytree(run.path, run.path.with_name(f"synthetic-{number + 1}"), copy_function=os.link)
        for number in range(JOBS):
            status = ("done", "failed", "running", *["queued"] * 7)[number % 10 if number >= 10 else 0]
            alive.enter_context(job(number, "One line.\n", status=status, kind="comparison"))
        yield folder


@pytest.fixture
def read(home: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs whose folders are read."""
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    found, read_summary = [], index.read_summary

    def counted(folder: Path) -> object:
        found.append(folder.name)
        return read_summary(folder)

    monkeypatch.setattr(index, "read_summary", counted)
    return found


def test_each_run_is_read_once_and_again_only_when_it_changes(read: list[str]) -> None:
    assert len(RunStore().list()) == RUNS
    assert len(read) == RUNS
    read.clear()
    store = RunStore()
    assert len(store.list()) == RUNS
    store.describe("synthetic-500", notes="the five hundredth")
    assert [summary.id for summary in store.list("hundredth")] == ["synthetic-500"]
    store.delete("synthetic-501")
    assert len(store.list()) == RUNS - 1
    store.restore(store.deleted()[0].token)
    assert len(store.list()) == RUNS
    assert set(read) <= {"synthetic-500", "synthetic-501"}
    assert len(read) <= 4


def test_commands_and_pages_show_them(
    read: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    RunStore().list()
    read.clear()
    assert main(["runs"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > RUNS
    assert main(["jobs"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > JOBS
    for page in ("views/runs.py", "views/compare.py"):
        app = AppTest.from_file(str(ROOT / "app" / "mauve_app" / "main.py"), default_timeout=120)
        app.switch_page(page)
        app.query_params["run"] = "synthetic-500"
        app.run()
        assert not app.exception
        assert len(app.selectbox(key="url_run").options) == RUNS
    assert read == []


def test_of_a_hundred_jobs_few_workers_go_on_and_each_can_be_stopped(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    jobs = queue.list()
    assert len(jobs) == JOBS
    active = sorted((each for each in jobs if each.active), key=lambda each: each.id)
    loading = [each.id for each in active if not waiting.must_wait(queue.jobs_folder() / each.id)]
    assert loading == [each.id for each in active[: waiting.AHEAD]]
    for each in active:
        queue.cancel(each.id)
    assert all(queue.is_stopping(queue.status(each.id)) for each in active)
