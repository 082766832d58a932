"""``mauve-lens jobs``: what is there, what a worker wrote, cancel, resume, remove."""

from __future__ import annotations

import json

import pytest

from mauve_core.__main__ import DONE, WRONG_INPUT, main
from mauve_core.jobs import queue
from mauve_core.jobs import state as job_state
from tests.job_folders import job

LOG = "".join(f"2026-01-01 10:00:{second:02d}  line {second}\n" for second in range(60))


def test_jobs_are_listed_with_how_far_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    with (
        job(1, status="done", run="study"),
        job(2, status="running", stage="Encoding", done=1500, total=4000),
        job(3, status="queued", name="a\tname\x1b[31m"),
        job(4, status="failed", message="No space left.\nFree some."),
    ):
        assert main(["jobs"]) == DONE
        rows = capsys.readouterr().out.splitlines()
        assert main(["jobs", "--json"]) == DONE
        found = json.loads(capsys.readouterr().out)["jobs"]
    assert [row.split()[0] for row in rows[1:]] == [f"20260101-00000000{n:04d}-abcd" for n in (4, 3, 2, 1)]
    assert rows[1].rstrip().endswith("No space left. Free some.")
    assert rows[2].rstrip().endswith("1 ahead of it")
    assert "\x1b" not in rows[2]
    assert "Encoding: 1,500 of 4,000" in rows[3]
    assert rows[4].rstrip().endswith("run study")
    assert [entry["status"] for entry in found] == ["failed", "queued", "running", "done"]
    assert [entry["jobs_before"] for entry in found] == [0, 1, 0, 0]


def test_damaged_folders_hide_no_other_job(capsys: pytest.CaptureFixture[str]) -> None:
    with job(1, status="running"), job(2, status="running") as wrong, job(3, status="running") as dead:
        folders = [queue.jobs_folder() / state.id for state in (wrong, dead)]
        (folders[0] / job_state.STATE).write_text('{"id": 1}')
        (folders[0] / job_state.LOG).unlink()
        (folders[0] / job_state.LOG).mkdir()
        (folders[1] / job_state.ALIVE).unlink()
        assert main(["jobs", "--json"]) == DONE
        found = json.loads(capsys.readouterr().out)["jobs"]
        assert [entry["status"] for entry in found] == ["interrupted", "failed", "running"]
        assert main(["jobs"]) == DONE
        assert "state.json is not the state of a job" in capsys.readouterr().out
        for action in ("log", "remove"):
            assert main(["jobs", action, wrong.id]) == DONE
    assert len(queue.list()) == 2


def test_the_end_of_a_log_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with job(1, status="running", log=LOG) as state:
        assert main(["jobs", "log", state.id]) == DONE
        assert capsys.readouterr().out == "".join(LOG.splitlines(keepends=True)[-queue.LOG_LINES :])
        assert main(["jobs", "log", state.id, "--lines", "2", "--json"]) == DONE
        found = json.loads(capsys.readouterr().out)
    assert (found["id"], found["log"]) == (state.id, LOG.splitlines()[-2:])


def test_a_job_is_cancelled_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    with job(1, status="running") as state:
        assert main(["jobs", "remove", state.id]) == WRONG_INPUT
        assert "has not ended yet" in capsys.readouterr().err
        assert main(["jobs", "cancel", state.id]) == DONE
        assert (queue.jobs_folder() / state.id / job_state.CANCEL).exists()
        assert capsys.readouterr().out == f"Requested to stop: {state.id}\n"
        assert main(["jobs"]) == DONE
        assert capsys.readouterr().out.rstrip().endswith(", stopping")
    assert main(["jobs", "cancel", state.id]) == DONE
    assert capsys.readouterr().out == f"Nothing to stop; the job is cancelled: {state.id}\n"
    assert main(["jobs", "remove", state.id]) == DONE
    assert queue.list() == ()


def test_an_unknown_job_is_wrong_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jobs", "cancel", "../jobs"]) == WRONG_INPUT
    assert "No job has the id" in capsys.readouterr().err
