"""How long a task will take, from made-up histories of jobs that were done before."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mauve_core.analyses.comparison_task import ComparisonTask
from mauve_core.analyses.tasks import Amount, SideSize, amount_of_sides
from mauve_core.base.config import CompareConfig, EncoderConfig
from mauve_core.base.errors import MauveLensError, StorageError
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.base.progress import Progress
from mauve_core.jobs import estimates, queue, worker
from mauve_core.jobs.estimates import FARTHEST, estimate, is_known, remember
from mauve_core.jobs.state import AMOUNT, LOG, TASK, JobState, write_json, write_state
from mauve_core.texts.text_files import TextFile

KIND = "comparison"
FILES = {"human": TextFile("/human.jsonl"), "close": TextFile("/close.jsonl")}


def texts(count: int, *like: str) -> Amount:
    return Amount(like or ("usual",), count, f"{count:,} texts", "all")


def task(**changes: object) -> ComparisonTask:
    given = {"config": CompareConfig(EncoderConfig()), **changes}
    return ComparisonTask("x", FILES["human"], {"close": FILES["close"]}, **given)  # type: ignore[arg-type]


def said(amount: Amount, kind: str = KIND) -> str:
    found = estimate(kind, amount)
    return "" if found is None else found.text


def test_the_last_job_of_the_kind_says_how_long_the_next_takes(own_home: Path) -> None:
    remember(KIND, texts(500), 300.0)
    remember(KIND, texts(500), 95.0)
    remember("measures", texts(500), 7.0)
    assert said(texts(500)) == "About 2 min (last time 2 min for 500 texts)"
    assert said(texts(500), "measures") == "About 7 s (last time 7 s for 500 texts)"
    assert said(texts(500), "sweep") == ""
    assert is_known(KIND)
    assert not is_known("sweep")


def test_other_sizes_take_in_proportion_if_they_are_not_far(own_home: Path) -> None:
    remember(KIND, texts(500), 30.0)
    found = estimate(KIND, texts(1000))
    assert found is not None
    assert found.seconds == pytest.approx(60.0, rel=1e-12)
    assert found.text == "About 60 s (last time 30 s for 500 texts)"
    for factor in (FARTHEST, 1 / FARTHEST):
        assert estimate(KIND, texts(int(500 * factor))) is not None
        assert estimate(KIND, texts(int(500 * factor**1.1))) is None


def test_another_encoder_or_setting_says_nothing(own_home: Path) -> None:
    sides = {name: SideSize(500, stored=False) for name in FILES}
    remember(KIND, task().amount(sides), 30.0)
    assert estimate(KIND, task().amount(sides)) is not None
    for changed in (
        CompareConfig(EncoderConfig("gpt2")),
        CompareConfig(EncoderConfig(max_tokens=64)),
        CompareConfig(EncoderConfig(), projection=False),
    ):
        assert estimate(KIND, task(config=changed).amount(sides)) is None
    assert estimate(KIND, task(normalize=("whitespace",)).amount(sides)) is None


def test_texts_whose_features_are_stored_are_told_apart() -> None:
    new, old = SideSize(300, stored=False), SideSize(200, stored=True)
    amounts = [amount_of_sides(("x",), sides) for sides in ([new, new], [new, old], [old, old])]
    assert [(each.encodes, each.size, each.words) for each in amounts] == [
        ("all", 600, "600 texts"),
        ("some", 300, "300 texts to encode"),
        ("none", 400, "400 texts"),
    ]


def test_a_damaged_history_says_nothing_and_is_begun_anew(own_home: Path) -> None:
    path = own_home / "jobs" / estimates.TIMES
    path.parent.mkdir(parents=True)
    path.write_text('{"jobs": [{"kind": "comparison"}]}')
    assert estimate(KIND, texts(500)) is None
    remember(KIND, texts(500), 3.0)
    assert estimate(KIND, texts(500)) is not None


Work = Callable[[Progress], str]


def carry_out(monkeypatch: pytest.MonkeyPatch, work: Work, *, amount: Amount | None, log: str = "") -> None:
    """A job of that amount in this process, with ``work`` in the place of the comparison."""
    state = JobState(id="20300101-000000000001-abcd", name="x", status="queued")
    folder = queue.jobs_folder() / state.id
    folder.mkdir(parents=True)
    write_json(folder / TASK, task().to_json())
    if amount is not None:
        write_json(folder / AMOUNT, dataclass_to_json(amount))
    (folder / LOG).write_text(log)
    write_state(folder, state)
    clock = [100.0]

    def perform(_task: ComparisonTask, progress: Progress, *_: object) -> str:
        clock[0] += 42.0
        return work(progress)

    monkeypatch.setattr(os, "nice", lambda increment: increment)
    monkeypatch.setattr(worker.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(ComparisonTask, "perform", perform)
    worker.work(folder)


def encode(progress: Progress) -> str:
    progress("Tokenizing texts of human", 0, 500)
    progress("Encoding tokens of human", 0, 80_000)
    return "run"


def test_a_worker_keeps_the_time_of_a_job_that_is_done(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carry_out(monkeypatch, encode, amount=texts(500))
    assert said(texts(500)) == "About 42 s (last time 42 s for 500 texts)"


def fail(progress: Progress) -> str:
    encode(progress)
    raise StorageError("No space left")


@pytest.mark.parametrize(
    ("work", "log"),
    [(fail, ""), (encode, "an earlier worker\n"), (lambda _: "run", "")],
    ids=["failed", "resumed", "expected to encode"],
)
def test_a_worker_keeps_no_other_time(own_home: Path, monkeypatch: pytest.MonkeyPatch, work: Work, log: str) -> None:
    try:
        carry_out(monkeypatch, work, amount=texts(500), log=log)
    except MauveLensError:
        assert work is fail
    assert not is_known(KIND)


def test_a_job_is_started_with_its_amount(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "_spawn", lambda *_: None)
    state = queue.start(task(), texts(500))
    assert json.loads((queue.jobs_folder() / state.id / AMOUNT).read_text())["size"] == 500
