"""A function in a process of its own: what it returns and reports, and how it fails."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.progress import Progress
from mauve_core.images.decoding import ImageRefusedError
from mauve_core.jobs.aside import aside
from mauve_core.jobs.memory import MemoryLimitError
from mauve_core.texts import limits

pytestmark = pytest.mark.integration


def doubled(number: int, progress: Progress) -> tuple[int, int]:
    sys.stdout.write("what a library says")
    for done in range(3):
        progress("Doubling", done, 3)
    return 2 * number, os.getpid()


def refused(words: str, progress: Progress) -> None:
    raise (
        InputError(words, allowed="other words", received="these") if words else ImageRefusedError("a", "is b", "empty")
    )


def fails(progress: Progress) -> None:
    raise ZeroDivisionError("of its own")


def is_killed(progress: Progress) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def grows(progress: Progress) -> int:
    held = []
    while True:
        held.append(b"x" * 10_000_000)
        progress("Growing", len(held), 0)


def test_it_answers_from_another_process_with_its_progress() -> None:
    told = list[tuple[str, int, int]]()
    found, process = aside(doubled, 21, progress=lambda *each: told.append(each))
    assert found == 42
    assert process != os.getpid()
    assert told == [("Doubling", done, 3) for done in range(3)]


def test_our_errors_keep_their_words() -> None:
    words = "These are long words " * 60
    with pytest.raises(InputError) as expected:
        refused(words, lambda *_: None)
    with pytest.raises(InputError) as raised:
        aside(refused, words)
    assert str(raised.value) == str(expected.value)
    assert (raised.value.allowed, raised.value.received) == ("other words", "these")
    with pytest.raises(InputError, match="The image 'a' is b"):
        aside(refused, "")


def test_other_errors_are_faults_with_their_place() -> None:
    with pytest.raises(RuntimeError, match=r"in fails(.|\n)*ZeroDivisionError: of its own"):
        aside(fails)


def test_a_process_that_is_killed_is_named() -> None:
    with pytest.raises(StorageError, match=r"ended early \(SIGKILL\)"):
        aside(is_killed)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what a process takes")
def test_its_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.MEMORY_VARIABLE, "300")
    with pytest.raises(MemoryLimitError, match="took more memory than it may"):
        aside(grows)
