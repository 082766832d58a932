"""What the program does with each kind of input; each function takes a sample's path."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np

from app.url.parameters import parse, to_query
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.corpus import corpus_from_texts
from mauve_core.encoders import encode
from mauve_core.encoders.external_features import features_of
from mauve_core.jobs import queue
from mauve_core.reporting.html_report import html_report
from mauve_core.scoring.compare import compare
from mauve_core.store import RunStore
from mauve_core.store.folder import COMPARISON
from mauve_core.tasks.registry import read_task
from tests.files_on_disk import FAST
from tests.fuzz.samples import ROWS, texts


def scored(path: Path) -> object:
    """A comparison with the array as one side's features."""
    human, model = (corpus_from_texts(texts(), name=name) for name in (HUMAN, "model"))
    array = features_of("model", model, path)
    sides = {HUMAN: np.random.default_rng(1).normal(size=(ROWS, array.shape[1])), "model": array}
    return compare(human, {"model": model}, CompareConfig(encoder=None, score=FAST, projection=False), features=sides)


def encoded(path: Path) -> None:
    """Features of two texts by the model; they are finite."""
    os.environ[HOME_VARIABLE] = str(path.parent / "home")
    array = encode(["Some text.", "Another one, and longer."], EncoderConfig(str(path)), device="cpu").array
    assert np.isfinite(array).all(), "features that are not finite"


def imported(path: Path) -> object:
    """A report of the run in the archive, imported into a home of its own; nothing is written elsewhere."""
    home = path.parent / "target"
    os.environ[HOME_VARIABLE] = str(home)
    store, before = RunStore(home / "runs"), _names(path.parent)
    try:
        return html_report(store.load(store.import_(path).id))
    finally:
        outside = [name for name in _names(path.parent) - before if not name.startswith("target")]
        assert not outside, f"files outside the home: {outside}"


def _names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def opened(home: Path) -> object:
    """The library, which names the run whatever its state, and a report of the run."""
    os.environ[HOME_VARIABLE] = str(home)
    store = RunStore(home / "runs")
    found = [summary.id for summary in store.list()] + list(store.damaged())
    is_run = (home / "runs" / "synthetic" / COMPARISON).exists()  # a folder without it is none
    assert found == (["synthetic"] if is_run else []), f"the library lists {found}"
    store.disk_use()
    store.tags()
    return html_report(store.load("synthetic"))


def restored(home: Path) -> object:
    """What the bin offers, put back; what it does not, removed for good."""
    os.environ[HOME_VARIABLE] = str(home)
    store = RunStore(home / "runs")
    store.list()
    store.disk_use()
    for entry in store.deleted():
        store.restore(entry.token)
    store.purge()
    return store.list()


def listed_jobs(home: Path) -> None:
    """All jobs with their logs, then removed."""
    os.environ[HOME_VARIABLE] = str(home)
    for job in queue.list():
        queue.log_tail(job.id)
        queue.remove(job.id)


def task(path: Path) -> object:
    """The task, as a worker reads it."""
    try:
        values = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None  # what a worker says to this is the queue's matter
    return read_task("comparison", values)


def address(path: Path) -> None:
    """The state that an address describes, and back."""
    query = {name: values[-1] for name, values in parse_qs(path.read_bytes().decode("latin-1")).items()}
    state = parse(query)
    assert parse(to_query(state)) == state, "the state changes on its way through the address"
