"""A run is stored as soon as its scores are known; the map follows, and nothing in between harms the run."""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mauve_core.__main__ import main
from mauve_core.analyses.comparison_task import ComparisonTask, MapTask, with_map
from mauve_core.base.errors import CancelledError, InputError
from mauve_core.base.progress import Progress
from mauve_core.clusters import projection
from mauve_core.jobs import queue, worker
from mauve_core.jobs.state import CANCEL, TASK, JobState, read_state
from mauve_core.runs import Run, RunStore, archive
from mauve_core.scoring.compare import DRAWING, compare
from tests.files_on_disk import make_task, write_study
from tests.job_folders import job
from tests.synthetic import make_comparison_inputs, make_run

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def quick_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions that depend on the rows, the seed and the device, without UMAP, which is tested elsewhere."""

    def project(x: np.ndarray, *, seed: int, device: str, progress: Callable[[int, int], None]) -> np.ndarray:
        progress(1, 2)
        return (np.asarray(x)[:, :2] + seed % 7 + len(device)).astype(np.float32)

    monkeypatch.setattr(projection, "project", project)


@pytest.fixture
def task(tmp_path: Path) -> ComparisonTask:
    plain = make_task(tmp_path / "files")
    return dataclasses.replace(plain, config=dataclasses.replace(plain.config, projection=True))


def stop_at(stage: str) -> Progress:
    def progress(now: str, done: int, total: int) -> None:
        if now == stage:
            raise CancelledError("stopped")

    return progress


def files(run: Run) -> dict[str, bytes]:
    return {str(path.relative_to(run.path)): path.read_bytes() for path in run.path.rglob("*") if path.is_file()}


def test_a_run_is_stored_with_its_scores_before_its_map(task: ComparisonTask) -> None:
    seen: list[Run] = []
    stages: list[str] = []

    def stored(run: Run) -> None:
        seen.append(RunStore().load(run.id))
        assert DRAWING not in stages

    made = task.make(lambda stage, done, total: stages.append(stage), stored=stored)
    (first,) = seen
    assert first.comparison.projection is None
    assert first.comparison.config.projection, "asked for, and still to come"
    assert DRAWING in stages
    opened = RunStore().load(made.id)
    assert opened.comparison.projection is not None
    assert opened.comparison.map_fitted == len(opened.comparison.projection)
    assert "projection" in opened.comparison.environment["seconds"]
    np.testing.assert_array_equal(opened.comparison.projection, made.comparison.projection)
    for before, after in zip(first.comparison.candidates, opened.comparison.candidates, strict=True):
        assert before.scores == after.scores
    assert first.digest == opened.digest, "what was precomputed before the map came is still that of this run"


def test_a_run_whose_map_was_stopped_is_whole_and_gets_the_same_map_later(task: ComparisonTask) -> None:
    human, candidates, features = make_comparison_inputs(40)
    whole = compare(human, candidates, task.config, features=features)
    with pytest.raises(CancelledError):
        task.make(stop_at(DRAWING))
    assert RunStore().load("study").comparison.projection is None
    assert MapTask("study").perform() == "study"
    np.testing.assert_array_equal(RunStore().load("study").comparison.projection, whole.projection)


def test_a_map_half_written_is_none(task: ComparisonTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between its two files: the run opens without a map, is exported without it, and gets it later."""
    with pytest.raises(CancelledError):
        task.make(stop_at(DRAWING))
    run = RunStore().load("study")
    with monkeypatch.context() as patch:
        patch.setattr("mauve_core.runs.folder._write_record", lambda *_: None)  # as if killed before it
        with_map(run)
    assert (run.path / "projection.npy").exists()
    assert RunStore().load("study").comparison.projection is None
    path = RunStore().export("study", tmp_path / "run.zip")
    assert "projection.npy" not in zipfile.ZipFile(path).namelist()
    assert RunStore().load(RunStore().import_(path, name="elsewhere").id).comparison.projection is None
    with_map(run)
    path = RunStore().export("study", tmp_path / "run.zip")
    imported = RunStore().load(RunStore().import_(path, name="with it").id)
    np.testing.assert_array_equal(imported.comparison.projection, RunStore().load("study").comparison.projection)


def test_a_map_that_comes_during_an_export_leaves_the_archive_whole(
    task: ComparisonTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CancelledError):
        task.make(stop_at(DRAWING))
    names = archive._names

    def meanwhile(folder: Path) -> list[str]:
        with_map(RunStore().load("study"))
        return [*names(folder)]

    monkeypatch.setattr(archive, "_names", meanwhile)
    path = RunStore().export("study", tmp_path / "run.zip")
    assert RunStore().load("study").comparison.projection is not None
    assert RunStore().load(RunStore().import_(path, name="elsewhere").id).comparison.projection is None


def test_a_run_with_a_map_keeps_it(own_home: Path) -> None:
    run = make_run(own_home, n=40, seeds=2)
    before = files(run)
    assert with_map(run) is run
    bare = dataclasses.replace(run, comparison=dataclasses.replace(run.comparison, projection=None))
    drawn = dataclasses.replace(run.comparison, projection=run.comparison.projection + 1)  # type: ignore[operator]
    kept = RunStore().add_map(bare, drawn)
    np.testing.assert_array_equal(kept.comparison.projection, run.comparison.projection)
    assert files(run) == before


def test_a_map_of_another_run_of_that_id_is_refused(own_home: Path) -> None:
    run = make_run(own_home, n=40, seeds=2, projection=False)
    places = np.zeros((sum(source.n for source in run.comparison.sources), 2), dtype=np.float32)
    drawn = dataclasses.replace(run.comparison, projection=places, map_fitted=len(places))
    RunStore().delete(run.id)
    with pytest.raises(InputError, match="No run has the id"):
        RunStore().add_map(run, drawn)
    other = make_run(own_home, n=50, seeds=2, projection=False)
    assert other.id == run.id
    with pytest.raises(InputError, match="was replaced meanwhile"):
        RunStore().add_map(run, drawn)
    assert not (other.path / "projection.npy").exists()


def test_a_worker_tells_of_the_scores_and_keeps_them_when_it_is_stopped(
    task: ComparisonTask, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "nice", lambda increment: increment)
    with job(1, status="queued", kind="comparison") as state:
        folder = queue.jobs_folder() / state.id
    (folder / TASK).write_text(json.dumps(task.to_json()))
    seen: list[JobState] = []

    def project(x: np.ndarray, *, seed: int, device: str, progress: Callable[[int, int], None]) -> np.ndarray:
        seen.append(read_state(folder))
        (folder / CANCEL).touch()
        progress(1, 2)
        pytest.fail("the work went on")

    with monkeypatch.context() as patch:
        patch.setattr(projection, "project", project)
        with pytest.raises(CancelledError):
            worker.work(folder)
    assert [(each.status, each.stage, each.run) for each in seen] == [("running", DRAWING, "study")]
    ended = read_state(folder)
    assert (ended.status, ended.run) == ("cancelled", "study")
    assert "Scores stored as run study" in capsys.readouterr().err
    (folder / CANCEL).unlink()
    assert worker.work(folder).run == "study", "resumed: the same run, now with its map"
    assert [each.id for each in RunStore().list()] == ["study"]
    assert RunStore().load("study").comparison.projection is not None


def test_the_command_line_prints_the_scores_before_the_map_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_study(tmp_path, 40)
    arguments = ["compare", "--human", str(tmp_path / "human.jsonl"), "--model", f"close={tmp_path / 'close.jsonl'}"]
    arguments += [f"--features={name}={tmp_path / name}.npy" for name in ("human", "close")]
    printed: list[str] = []

    def project(x: np.ndarray, *, seed: int, device: str, progress: Callable[[int, int], None]) -> np.ndarray:
        printed.append(capsys.readouterr().out)
        return np.zeros((len(x), 2), dtype=np.float32)

    monkeypatch.setattr(projection, "project", project)
    assert main([*arguments, "--seeds", "2", "--bootstrap", "100", "--out", "told"]) == 0
    (before,) = printed
    assert "MAUVE" in before
    assert "Stored as run told" in before
    assert capsys.readouterr().out == "", "said once"
    assert main([*arguments, "--seeds", "2", "--bootstrap", "100", "--out", "as json", "--json", "--quiet"]) == 0
    assert printed[1] == ""
    assert json.loads(capsys.readouterr().out)["run"] == "as-json"


def test_a_resumed_job_finds_its_run_beside_a_damaged_one_of_that_name(task: ComparisonTask) -> None:
    damaged = task.make(job="another")
    (damaged.path / "texts-0.parquet").write_bytes(b"no table")
    made = task.make(job="j")
    assert task.make(job="j").id == made.id
