"""Of a long queue only the next workers load the program; the others wait with little in memory."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from mauve_core.jobs import queue, waiting
from mauve_core.jobs.state import CANCEL
from tests.job_folders import job

pytestmark = pytest.mark.integration

LONGEST_S = 20


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "INTERVAL_S", 0.01)


def begun(folder: Path) -> threading.Event:
    """Set once the worker of that job has waited."""
    event = threading.Event()
    threading.Thread(target=lambda: (waiting.wait(folder), event.set()), daemon=True).start()
    return event


def test_a_worker_waits_until_few_older_ones_are_alive() -> None:
    with ExitStack() as ended, ExitStack() as older:
        ended.enter_context(job(0, status="done"))
        for number in range(1, waiting.AHEAD):
            older.enter_context(job(number, status="queued"))
        with job(7, status="running"), job(8, status="queued") as own, job(9, status="queued"):
            waited = begun(queue.jobs_folder() / own.id)
            assert not waited.wait(0.3)
            older.close()
            assert waited.wait(LONGEST_S)


def test_a_worker_that_is_to_stop_does_not_wait() -> None:
    with ExitStack() as older:
        for number in range(waiting.AHEAD):
            older.enter_context(job(number, status="queued"))
        with job(8, status="queued") as own:
            folder = queue.jobs_folder() / own.id
            waited = begun(folder)
            assert not waited.wait(0.3)
            (folder / CANCEL).touch()
            assert waited.wait(LONGEST_S)


def test_waiting_takes_no_library() -> None:
    heavy = {"scipy", "pandas", "pyarrow", "sklearn", "torch", "plotly"}
    code = f"import sys, mauve_core.jobs.waiting; print({heavy} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
