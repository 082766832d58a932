"""The fuzzing sees what it looks for."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from tests.fuzz.mutate import in_bytes, in_json
from tests.fuzz.oracle import MEGABYTES, judged

pytestmark = pytest.mark.integration


def refuse(error: Exception) -> None:
    raise error


class BellError(InputError):
    """An error whose message rings a terminal's bell."""

    def __str__(self) -> str:
        return "\a"


@pytest.mark.parametrize(
    ("work", "wrong"),
    [
        (lambda: 1 // 0, "ZeroDivisionError"),
        (lambda: refuse(SystemExit(3)), "SystemExit"),
        (lambda: refuse(BellError("bell")), "does not print"),
        (lambda: np.ones(80 << 20), "MB"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "died"),
        (lambda: time.sleep(30), "took more than 1 s"),
    ],
)
def test_it_sees_what_must_not_happen(work: Callable[[], object], wrong: str, tmp_path: Path) -> None:
    limit = 1 if "took" in wrong else 60  # pages of memory come slowly on a busy machine
    found = judged(work, tmp_path, seconds=limit)
    assert wrong in found.wrong
    assert found.seconds < limit + 6


def test_an_answer_and_a_refusal_are_fine(tmp_path: Path) -> None:
    assert not judged(lambda: None, tmp_path).wrong
    refused = judged(lambda: refuse(InputError(f"{tmp_path}/a is empty")), tmp_path)
    assert not refused.wrong
    assert refused.answer == f"{tmp_path}/a is empty."


def test_it_measures_what_a_case_takes(tmp_path: Path) -> None:
    taken = judged(lambda: np.ones(25 << 20), tmp_path).megabytes
    assert 190 < taken < MEGABYTES


def test_a_number_makes_the_same_case() -> None:
    data = b'{"a": [1, 2, {"b": "text"}], "c": null}' * 1
    for change in (in_bytes, in_json):
        made = [change(data, random.Random(f"x {number}")) for number in range(50)]
        assert made == [change(data, random.Random(f"x {number}")) for number in range(50)]
        assert len(set(made)) > 30
