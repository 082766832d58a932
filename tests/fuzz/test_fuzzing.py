"""A minute of changed inputs of every kind, the same ones each time; ``make fuzz`` takes others."""

from __future__ import annotations

import sys

import pytest

from tests.fuzz.fuzzing import Fuzzing, in_words
from tests.fuzz.oracle import judged
from tests.fuzz.targets import TARGETS

pytestmark = [pytest.mark.slow, pytest.mark.trial, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

SECONDS = 60


@pytest.fixture(scope="module")
def fuzzing(tmp_path_factory: pytest.TempPathFactory) -> Fuzzing:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        return Fuzzing(list(TARGETS), "trial", tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("name", list(TARGETS))
def test_the_sample_itself_is_read(fuzzing: Fuzzing, name: str) -> None:
    sample = fuzzing.samples[name]
    found = judged(lambda: TARGETS[name].read(sample), sample.parent, seconds=60)
    assert (found.answer, found.wrong) == ("", "")


def test_nothing_goes_wrong(fuzzing: Fuzzing) -> None:
    cases = list(fuzzing.cases(SECONDS))
    wrong = [in_words(case) for case in cases if case.outcome.wrong]
    assert not wrong, "\n".join(wrong)
    assert {case.target for case in cases} == set(TARGETS)
