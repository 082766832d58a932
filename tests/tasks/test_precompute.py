"""A run that came from elsewhere gets what a run that was made here has: the same files, found out once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mauve_core.analyses.task_registry import PrecomputeTask, read_task
from mauve_core.base.errors import CancelledError
from mauve_core.findings.precomputed import DERIVED, derive
from mauve_core.runs import Run, RunStore
from tests.synthetic import make_run

pytestmark = pytest.mark.integration


@pytest.fixture
def exported(tmp_path: Path) -> tuple[Run, Path]:
    """A run of another machine with all that pages need, and its file."""
    run = make_run(tmp_path / "elsewhere", n=60, seeds=2, projection=False)
    derive(run)
    return run, RunStore(run.path.parent).export(run.id, tmp_path)


def kept(run: Run) -> dict[str, dict[str, np.ndarray]]:
    """Every array below ``derived``, by file and name."""
    found = {}
    for path in sorted((run.path / DERIVED).glob("*.npz")):
        with np.load(path) as arrays:
            found[path.name] = {name: arrays[name] for name in arrays.files}
    return found


def assert_prepared(run: Run, as_in: Run) -> None:
    here, there = kept(run), kept(as_in)
    assert here.keys() == there.keys()
    assert here
    for name, arrays in there.items():
        for part, array in arrays.items():
            np.testing.assert_array_equal(here[name][part], array)


def test_the_job_finds_out_what_the_file_left_behind(exported: tuple[Run, Path]) -> None:
    run, path = exported
    store = RunStore()
    came = store.load(store.import_(path).id)
    assert kept(came) == {}
    task = read_task("prepare", PrecomputeTask(came.id).to_json())
    assert task.perform() == came.id
    assert_prepared(came, run)
    before = {path: path.stat().st_mtime_ns for path in (came.path / DERIVED).iterdir()}
    task.perform()
    assert {path: path.stat().st_mtime_ns for path in (came.path / DERIVED).iterdir()} == before


def test_a_run_stays_when_its_preparation_is_stopped(exported: tuple[Run, Path]) -> None:
    store = RunStore()
    came = store.load(store.import_(exported[1]).id)

    def stop(stage: str, done: int, total: int) -> None:
        if done == 2:
            raise CancelledError("stopped")

    with pytest.raises(CancelledError):
        PrecomputeTask(came.id).perform(stop)
    assert 0 < len(kept(came)) < len(kept(exported[0]))
    PrecomputeTask(came.id).perform()
    assert_prepared(came, exported[0])
