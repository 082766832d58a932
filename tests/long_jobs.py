"""Encoding jobs that last long enough to be disturbed, and what must hold of a home whatever was killed in it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from mauve_core.analyses.comparison_task import ComparisonTask
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.files import HOME_VARIABLE, home
from mauve_core.encoders.features import FeatureStore
from mauve_core.jobs import queue
from mauve_core.jobs.state import JobState
from mauve_core.runs import RunStore
from mauve_core.runs.placing import BIN
from mauve_core.texts.text_files import TextFile
from tests.synthetic import make_comparison_inputs
from tests.tiny_models import make_gpt2

SIDES = (HUMAN, "close", "collapsed")
# Of the model: about 0.3 ms a token on one core.
WIDTH, LAYERS = 256, 6


def write_sides(folder: Path, n: int) -> dict[str, Path]:
    """A file for each side, n texts of about 60 tokens."""
    human, candidates, _ = make_comparison_inputs(n)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, corpus in {HUMAN: human, **candidates}.items():
        if name in SIDES:
            rows = ({"id": i, "text": text} for i, text in zip(corpus.ids, corpus.texts, strict=True))
            paths[name] = folder / f"{name}.jsonl"
            paths[name].write_text("".join(json.dumps(row) + "\n" for row in rows))
    return paths


def make_task(folder: Path, n: int, *, name: str = "study") -> ComparisonTask:
    """A comparison of these sides under such a model."""
    model = make_gpt2(folder / "model", width=WIDTH, layers=LAYERS)
    files = {side: TextFile(str(path)) for side, path in write_sides(folder, n).items()}
    config = CompareConfig(
        encoder=EncoderConfig(str(model)), score=ScoreConfig(seeds=2, restarts=1, bootstrap=100), projection=False
    )
    return ComparisonTask(name, files.pop(HUMAN), files, config)


def undisturbed(task: ComparisonTask, home: Path) -> dict[str, Any]:
    """What the run holds when nothing happens to it."""
    before = os.environ[HOME_VARIABLE]
    os.environ[HOME_VARIABLE] = str(home)
    try:
        return contents(task.make().path)
    finally:
        os.environ[HOME_VARIABLE] = before


def contents(run: Path) -> dict[str, Any]:
    """Scores, settings and sources of a stored run, and every array to the last bit; its circumstances left out."""
    record = json.loads((run / "comparison.json").read_bytes())["comparison"]
    record.pop("environment")
    return {"record": record, **{path.name: path.read_bytes() for path in sorted(run.glob("*.npy"))}}


def require_whole(job: JobState) -> None:
    """Nothing half-written is visible: every run that is listed loads, every entry of features is as it was written.

    A damaged entry or part would warn, which is an error in tests.
    """
    assert [found.id for found in queue.list()] == [job.id]
    runs = RunStore()
    for summary in runs.list():
        run = runs.load(summary.id)
        assert all(run.features(source.name) is not None for source in run.comparison.sources)
    store = FeatureStore()
    for path in store.root.glob("[!.]*"):
        if path.is_dir():
            assert store.get(path.name) is not None
        else:
            require_whole_part(path, store)


def require_whole_part(path: Path, store: FeatureStore) -> None:
    """Finished rows, or the entry that a worker which lives has made of them meanwhile."""
    try:
        with np.load(path, allow_pickle=False) as part:
            assert len(part["indices"]) == len(part["array"]) > 0
    except FileNotFoundError:
        assert store.get(path.name.partition(".")[0]) is not None


def require_no_leftovers(job: JobState) -> None:
    """A job that is done has left one run, no parts of features, and no file under a name for the time being."""
    assert [summary.id for summary in RunStore().list()] == [job.run]
    assert list(FeatureStore().root.glob("*.npz")) == []
    assert list((queue.jobs_folder() / job.id).glob(".*")) == []


def require_nothing_partial() -> None:
    """Nothing in the home has a hidden name but the bin."""
    assert [path for path in home().rglob(".*") if path.name != BIN] == []
