"""Progress on the console, and the clocks of nested and repeated stages, under a clock that the test sets."""

from __future__ import annotations

import json
import pickle
import time

import pytest

from mauve_core.base.progress import ConsoleProgress, Paced, StageClocks, format_seconds, remaining_seconds


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time in seconds, to be changed by the test."""
    shown = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: shown[0])
    return shown


def test_estimates_of_the_time_left() -> None:
    assert remaining_seconds(10, 0, 5) is None
    assert remaining_seconds(10, 2, 6) == 20
    assert [format_seconds(s) for s in (0.2, 45, 200, 4800)] == ["1 s", "45 s", "3 min", "1 h 20 min"]


def test_what_an_earlier_worker_did_does_not_count_for_the_pace() -> None:
    clocks = StageClocks()
    clocks.clock_of("encoding", 80, 100, now=0.0)
    assert clocks.clock_of("encoding", 90, 100, now=5.0).seconds_left(5.0) == pytest.approx(5.0, rel=1e-12)


def test_the_pace_of_a_stage_is_shown_and_changes_no_clock(
    now: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    show = ConsoleProgress()
    show("encoding", 0, 640)
    for done in (6, 12, 640):
        now[0] += 60.0
        show(Paced("encoding", "8,400 texts/s"), done, 640)
    assert capsys.readouterr().err.splitlines() == [
        "encoding: 0 of 640",
        "encoding: 6 of 640, 8,400 texts/s, about 1 h 46 min left",
        "encoding: 12 of 640, 8,400 texts/s, about 1 h 45 min left",
        "encoding: 640 of 640, 8,400 texts/s, done",
    ]
    assert json.loads(json.dumps(Paced("encoding", "fast"))) == "encoding"
    assert pickle.loads(pickle.dumps(Paced("encoding", "fast"))) == "encoding"
