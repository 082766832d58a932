"""A worker that is killed again and again: its run comes out as if nothing had happened."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mauve_core.base.files import HOME_VARIABLE
from mauve_core.jobs import queue
from mauve_core.jobs.leftovers import remove_leftovers
from mauve_core.jobs.state import JobState, read_state
from mauve_core.store import RunStore
from tests.long_jobs import (
    contents,
    make_task,
    require_no_leftovers,
    require_nothing_partial,
    require_whole,
)

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 200
POLL_S = 0.002
IN_ENCODING, LATER = 7, 3
"""Kills while texts are encoded, and while they are clustered, scored, saved."""

MOST_DELAY_S = 0.1
"""Of a kill in one of the later stages, after it was seen to begin."""

Moment = tuple[str, int, float]
"""Stage, how much of it is done, seconds after that."""


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    yield
    for child in queue._children.values():
        child.kill()
        child.wait()
    queue._children.clear()


def stages_of(lines: tuple[str, ...]) -> dict[str, int]:
    """Stages in their order with how much there is to do, as a log tells them."""
    found = {}
    for line in lines:
        match = re.fullmatch(r"[\d-]+ [\d:]+  (?P<stage>\D[^:]*)(?:: (?P<total>[\d,]+))?", line)
        if match and not re.match("Worker|Done", match["stage"]):
            found[match["stage"]] = int((match["total"] or "1").replace(",", ""))
    return found


def drawn_moments(stages: dict[str, int], seed: int) -> list[Moment]:
    """Moments in the order of the work, spread over all tokens that are encoded and over the stages that follow."""
    rng = np.random.default_rng(seed)
    encoding = {stage: total for stage, total in stages.items() if stage.startswith("Encoding tokens")}
    ends = np.cumsum([*encoding.values()])
    moments: list[Moment] = []
    for token in sorted(rng.integers(ends[-1], size=IN_ENCODING).tolist()):
        place = int(np.searchsorted(ends, token, side="right"))
        moments.append(([*encoding][place], token - int(ends[place] - [*encoding.values()][place]), 0.0))
    later = [*stages][[*stages].index([*encoding][-1]) + 1 :]
    chosen = sorted(rng.choice(len(later), size=LATER, replace=False).tolist())
    return moments + [(later[place], 0, float(rng.uniform(0, MOST_DELAY_S))) for place in chosen]


def kill_at(job: str, moment: Moment, order: list[str]) -> JobState:
    """Kill the worker once it is there, or past it; the last state that it had written."""
    stage, done, delay = moment
    folder, end = queue.jobs_folder() / job, time.monotonic() + PATIENCE_S
    while True:
        state = read_state(folder)
        place = order.index(state.stage) if state.stage in order else -1
        if not state.active or place > order.index(stage) or (state.stage == stage and state.done >= done):
            break
        assert time.monotonic() < end, f"{moment}: {state}; {queue.log_lines(job)}"
        time.sleep(POLL_S)
    time.sleep(delay)
    os.kill(queue._children[job].pid, signal.SIGKILL)
    queue._children[job].wait()
    return read_state(folder)


def wait_until_ended(job: str) -> JobState:
    end = time.monotonic() + PATIENCE_S
    while (state := queue.status(job)).active:
        assert time.monotonic() < end, f"still {state}; {queue.log_lines(job)}"
        time.sleep(0.05)
    return state


@pytest.fixture
def every_batch_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers store each batch and say so at once: in half a second a fast machine has encoded all of a side."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import mauve_core.encoders.rows as rows, mauve_core.jobs.worker as worker\n"
        "rows.PART_SECONDS, rows.PART_SHARE, worker.WRITE_INTERVAL_S = 0.0, 1e9, 0.0\n"
    )
    # Before the interpreter starts the program's own folder is not on the path yet.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(ROOT)]))


@pytest.mark.trial
@pytest.mark.usefixtures("every_batch_kept")
def test_a_run_is_the_same_to_the_bit_however_often_its_worker_was_killed(tmp_path: Path) -> None:
    task = make_task(tmp_path / "files", 90)
    (tmp_path / "first").mkdir()
    os.environ[HOME_VARIABLE] = str(tmp_path / "first")
    first = wait_until_ended(queue.start(task).id)
    assert first.run == "study"
    stages = stages_of(queue.log_lines(first.id, 1000))
    expected = contents(RunStore().root / "study")

    os.environ[HOME_VARIABLE] = str(tmp_path / "home")
    job = queue.start(task)
    hit: list[str] = []
    for moment in drawn_moments(stages, seed=11):
        last = kill_at(job.id, moment, list(stages))
        require_whole(job)
        if not last.active:
            break
        hit.append(last.stage)
        assert queue.status(job.id).status == "interrupted"
        assert queue.resume(job.id).id == job.id
    ended = wait_until_ended(job.id)
    assert (ended.status, ended.run) == ("done", "study")
    assert contents(RunStore().root / "study") == expected
    require_whole(job)
    require_no_leftovers(ended)
    remove_leftovers()
    require_nothing_partial()
    assert len(hit) >= IN_ENCODING, f"most kills meet a worker at work: {hit}"
    assert sum(stage.startswith("Encoding tokens") for stage in hit) >= IN_ENCODING - 2
    lines = queue.log_lines(job.id, 10_000)
    assert sum("  Worker " in line for line in lines) == len(hit) + 1
    assert sum("already done" in line for line in lines) >= IN_ENCODING - 4, "finished batches are used again"
