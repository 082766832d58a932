"""Finished parts of unfinished work: a sweep that was stopped goes on at the point where it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mauve_core.analyses.estimator_sweeps import SweepTask
from mauve_core.analyses.sweeps import stored_sweep
from mauve_core.base.errors import CancelledError, StorageError
from mauve_core.base.progress import Progress, silent
from mauve_core.runs import Run, RunStore, checkpoints
from mauve_core.runs.checkpoints import FinishedParts
from mauve_core.scoring.partitioning import partition
from tests.synthetic import make_run

pytestmark = pytest.mark.integration

SEEDS, KS = 2, (2, 4, 8)
POINTS = 3 * len(KS)


@pytest.fixture
def run(own_home: Path) -> Run:
    return make_run(own_home, n=40, seeds=SEEDS, projection=False)


@pytest.fixture
def clustered(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The settings of every clustering."""
    calls: list[Any] = []

    def spy(*args: Any, **named: Any) -> Any:
        calls.append(named["score"])
        return partition(*args, **named)

    monkeypatch.setattr("mauve_core.analyses.sweeps.partition", spy)
    return calls


def stop_after(partitions: int) -> Progress:
    def progress(stage: str, done: int, total: int) -> None:
        if done >= partitions:
            raise CancelledError("enough")

    return progress


def unfinished(home: Path) -> list[Path]:
    return sorted((home / "unfinished").glob("*/*.json"))


def test_a_sweep_that_was_stopped_goes_on_at_its_next_point(own_home: Path, run: Run, clustered: list[Any]) -> None:
    task = SweepTask(run.id, "k", KS)
    expected = task.compute()
    assert len(clustered) == POINTS * SEEDS
    assert unfinished(own_home) == []
    clustered.clear()
    with pytest.raises(CancelledError):
        task.compute(stop_after(2 * SEEDS + 1))  # two points, and one partition of the third
    assert len(unfinished(own_home)) == 2
    clustered.clear()
    seen: list[tuple[str, int, int]] = []
    again = task.compute(lambda *state: seen.append(state))
    assert seen[0] == ("Clustering", 2 * SEEDS, POINTS * SEEDS)
    assert len(clustered) == (POINTS - 2) * SEEDS
    assert again == expected
    assert stored_sweep(RunStore().load(run.id), "k") == expected
    assert unfinished(own_home) == []


def test_a_damaged_part_is_made_again_and_another_sweep_takes_none(own_home: Path, run: Run) -> None:
    task = SweepTask(run.id, "k", KS)
    expected = task.compute()
    with pytest.raises(CancelledError):
        task.compute(stop_after(4 * SEEDS + 1))
    first, second, *_ = unfinished(own_home)
    first.write_bytes(b'{"value": 2')
    second.write_text('{"value": 2.0}')
    other = SweepTask(run.id, "k", (2, 4))
    seen: list[int] = []
    other.compute(lambda stage, done, total: seen.append(done))
    assert seen[0] == 0
    assert task.compute(silent) == expected


def test_parts_are_kept_apart_and_forgotten_together(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = FinishedParts({"work": 1}), FinishedParts({"work": 2})
    mine.keep("a/../b", {"value": 0.1})
    assert FinishedParts({"work": 1}).get("a/../b") == {"value": 0.1}
    assert mine.get("a") is None
    assert other.get("a/../b") is None
    other.keep("a", {})
    mine.discard()
    assert mine.get("a/../b") is None
    assert other.get("a") == {}
    for path in (own_home / "unfinished").glob("*"):
        os.utime(path, (0, 0))
    mine.discard()
    assert other.get("a") is None, "work that nobody went on with is forgotten"

    def full(path: Path, write: object) -> None:
        raise StorageError("No space left")

    monkeypatch.setattr(checkpoints, "write_atomically", full)
    mine.keep("a", {})
    assert mine.get("a") is None
