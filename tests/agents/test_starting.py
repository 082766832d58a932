"""An agent starts comparisons only where a folder is named, and only of files in it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from mauve_core.agents.access import Access, access_of
from mauve_core.agents.server import build_server
from mauve_core.analyses.comparison_task import ComparisonTask
from mauve_core.analyses.tasks import Amount, Task
from mauve_core.base import sharing
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.jobs import queue
from mauve_core.jobs.state import JobState
from tests.agents.calling import Session, talk
from tests.files_on_disk import write_study

PATIENCE_S = 240
CALL = {"name": "new", "human": "human.jsonl", "candidates": [{"name": "close", "file": "close.jsonl"}]}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv(sharing.READ_ONLY, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_study(tmp_path / "files")
    (tmp_path / "secret.jsonl").write_text('{"text": "secret"}\n')
    (tmp_path / "files" / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (tmp_path / "files" / "folder").mkdir()
    return tmp_path / "files"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """The tasks that were started; none of them runs."""
    found: list[Task] = []

    def start(task: Task, amount: Amount | None = None) -> JobState:
        found.append(task)
        return JobState("20260101-000000000001-abcd", name=task.title, status="queued")

    monkeypatch.setattr(queue, "start", start)
    return found


def refused(access: Access, **changes: Any) -> str:
    async def told(session: Session) -> str:
        return await session.refused("start_comparison", **{**CALL, **changes})

    return talk(build_server(access), told)


def test_a_read_only_server_starts_nothing(folder: Path, started: list[Task]) -> None:
    message = refused(Access(), human=str(folder / "human.jsonl"))
    assert "read-only" in message
    assert "--allow-comparisons" in message
    assert started == []


@pytest.mark.parametrize("path", ["../secret.jsonl", "link.jsonl", "/etc/passwd", "a\0b"])
@pytest.mark.parametrize("side", ["human", "candidate"])
def test_files_elsewhere_are_refused(folder: Path, started: list[Task], path: str, side: str) -> None:
    changed = {"human": path} if side == "human" else {"candidates": [{"name": "close", "file": path}]}
    assert "No such file may be compared" in refused(Access(folder=folder), **changed)
    assert started == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"encoder": "gpt2-large"}, "encoder cannot be used"),
        ({"candidates": CALL["candidates"] * 2}, "same name"),
        ({"candidates": [{"name": HUMAN, "file": "close.jsonl"}]}, "cannot be named"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    folder: Path, started: list[Task], changes: dict[str, Any], said: str
) -> None:
    assert said in refused(Access(folder=folder), **changes)
    assert started == []


def test_what_is_asked_for_is_started(folder: Path, started: list[Task]) -> None:
    async def told(session: Session) -> dict[str, Any]:
        return await session.ask("start_comparison", **CALL, encoder="minilm", seeds=2, seed=3)

    assert talk(build_server(Access(folder=folder)), told)["status"] == "queued"
    (task,) = started
    assert isinstance(task, ComparisonTask)
    assert {name: file.path for name, file in task.files.items()} == {
        HUMAN: str(folder / "human.jsonl"),
        "close": str(folder / "close.jsonl"),
    }
    assert task.config.encoder is not None
    assert (task.config.encoder.model, task.config.score.seeds, task.config.score.seed) == ("minilm", 2, 3)


def test_read_only_runs_and_a_folder_exclude_each_other(folder: Path) -> None:
    with pytest.raises(InputError, match="cannot be combined"):
        access_of(folder, {sharing.READ_ONLY: "demo"})
    with pytest.raises(InputError, match="names no folder"):
        access_of(folder / "human.jsonl", {})


@pytest.mark.slow
@pytest.mark.trial
def test_a_job_ends_in_a_run_that_can_be_read(folder: Path) -> None:
    async def told(session: Session) -> dict[str, Any]:
        state = await session.ask("start_comparison", **CALL, encoder="minilm", seeds=2)
        end = time.monotonic() + PATIENCE_S
        while state["status"] in ("queued", "running") and time.monotonic() < end:
            time.sleep(0.5)
            state = await session.ask("job", job=state["job"])
        assert state["status"] == "done", json.dumps(state)
        return await session.ask("verdict", run=state["run"])

    found = talk(build_server(Access(folder=folder)), told)
    assert found["settings"]["encoder"] == "minilm"
    assert found["settings"]["human_texts"] == 40
    for child in queue._children.values():
        child.wait()
    queue._children.clear()
