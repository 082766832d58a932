"""Progress on the console, and the clocks of nested and repeated stages, under a clock that the test sets."""

from __future__ import annotations

import json
import pickle
import sys
import time

import pytest

from mauve_core.base.progress import REPEATED_S, ConsoleProgress, Paced, StageClocks, format_seconds, remaining_seconds


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


def test_a_stage_that_starts_over_begins_its_clock_anew() -> None:
    clocks = StageClocks()
    for done in range(21):
        assert not clocks.clock_of("fit", done, 20, now=float(done)).is_repeated
    assert clocks.clock_of("fit", 0, 20, now=600.0).seconds_left(600.0) is None
    clock = clocks.clock_of("fit", 1, 20, now=602.0)
    assert clock.is_repeated
    assert clock.seconds_left(602.0) == pytest.approx(19 * 2.0, rel=1e-12)


def test_a_stage_that_goes_on_after_another_keeps_its_clock() -> None:
    clocks = StageClocks()
    clocks.clock_of("candidates", 0, 4, now=0.0)
    for done in (0, 1):
        clocks.clock_of("fit", done, 1, now=5.0)
    clock = clocks.clock_of("candidates", 1, 4, now=10.0)
    assert not clock.is_repeated
    assert clock.seconds_left(10.0) == pytest.approx(30.0, rel=1e-12)


def test_what_an_earlier_worker_did_does_not_count_for_the_pace() -> None:
    clocks = StageClocks()
    clocks.clock_of("encoding", 80, 100, now=0.0)
    assert clocks.clock_of("encoding", 90, 100, now=5.0).seconds_left(5.0) == pytest.approx(5.0, rel=1e-12)


@pytest.mark.parametrize("up_s", [0.0, 5e6])
def test_console_progress_draws_the_first_and_last_state_of_a_stage(
    up_s: float, now: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    now[0] = up_s  # since the machine has started
    show = ConsoleProgress(interval_s=1000)
    for done in range(4):
        show("reading", done, 3)
    show("reading", 3, 3)
    assert capsys.readouterr().err.splitlines() == ["reading: 0 of 3", "reading: 3 of 3 done"]


def repetitions(now: list[float], *, rounds: int, step_s: float) -> None:
    """Two candidates, each fitted in rounds of 4 steps."""
    show = ConsoleProgress()
    for candidate in range(2):
        show("candidates", candidate, 2)
        for _ in range(rounds):
            for done in range(5):
                show("fit", done, 4)
                now[0] += step_s
    show("candidates", 2, 2)


def test_a_short_nested_stage_is_printed_once(now: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    repetitions(now, rounds=50, step_s=0.1)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "candidates: 0 of 2",
        "fit: 0 of 4",
        "fit: 4 of 4 done",
        "candidates: 1 of 2 about 25 s left",
        "candidates: 2 of 2 done",
    ]


def test_a_long_repetition_is_printed_with_its_own_time_left(
    now: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    repetitions(now, rounds=2, step_s=REPEATED_S)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("fit: 1 of 4")]
    assert lines == ["fit: 1 of 4 about 2 min left"] * 4


def test_a_terminal_redraws_a_repetition_in_place(
    now: list[float], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    repetitions(now, rounds=50, step_s=0.1)
    assert capsys.readouterr().err.count("fit: ") == 2
    repetitions(now, rounds=2, step_s=2.0)
    written = capsys.readouterr().err
    assert written.count("fit: 4 of 4 done\n") == 4
    assert written.count("\r\033[Kfit: 1 of 4 about 6 s left") == 4


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
